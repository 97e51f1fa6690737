"""The benchmark measures the same thing each time, and tells what it measured."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from rich.console import Console

from benchmarks.builds import Cost, Program, cost
from benchmarks.opening import Opening
from benchmarks.session import write_session
from benchmarks.transcripts import building, opening
from kbsite.importers.transcript import import_transcripts
from kbsite.store.runs import read_run
from kbsite.transcripts import transcript

MB = 1_000_000


def printed(*tables: object) -> str:
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(*tables)
    return captured.get()


def writes(size: int) -> Program:
    code = f"import sys, pathlib; pathlib.Path(sys.argv[1], 'x.html').write_text({size} * 'x')"
    return Program(
        "writer",
        lambda out: [sys.executable, "-c", code, str(out)],
        lambda out: out / "x.html",
    )


def test_the_session_is_the_same_each_time_and_about_as_large_as_asked(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write_session(one, MB)
    write_session(other, MB)

    assert one.read_bytes() == other.read_bytes()
    assert one.stat().st_size == pytest.approx(MB, rel=0.1)


def test_the_session_has_calls_edits_and_answers_and_nothing_unknown(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    write_session(session, 200_000)
    run = read_run(import_transcripts([session], tmp_path / "run"))
    shown = transcript(run.run.harness, run.transcripts)

    assert shown is not None
    assert not shown.unknown
    assert not shown.malformed
    calls = [step for step in shown.main.steps if step.event.kind == "call"]
    assert calls
    assert all(step.result for step in calls)
    assert any(step.diffs for step in calls)


def test_the_cost_of_a_program_counts_its_pages_and_each_of_its_builds(tmp_path: Path) -> None:
    held = cost(writes(1234), tmp_path / "out", times=2)

    assert held.html == 1234
    assert len(held.walls) == 2
    assert held.wall <= held.usual
    assert held.peak > MB


def test_a_program_that_fails_stops_the_benchmark_with_what_it_said(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "raise SystemExit(3)"]
    broken = Program("broken", lambda _: failing, lambda _: None)

    with pytest.raises(CalledProcessError):
        cost(broken, tmp_path / "out", times=1)


def test_the_table_tells_what_part_of_a_peers_time_is_ours() -> None:
    ours = Cost("ours", (1.0, 2.0, 3.0), 0.5, 80 * MB, 4 * MB)
    peer = Cost("peer", (4.0,), 2.0, 160 * MB, 8 * MB)

    text = printed(building([ours, peer], 10 * MB))

    assert "10.0 MB" in text
    assert text.count("0.25 x") == 2
    assert "2.00" in text


def test_the_table_of_openings_names_every_page() -> None:
    text = printed(opening({"ours": Opening(1614, 80_000, 82.4), "peer": Opening(35_453, MB, 900)}))

    assert "1,614" in text
    assert "35,453" in text
    assert "82" in text
