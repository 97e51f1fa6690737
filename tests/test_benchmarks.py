"""The benchmark measures the same thing each time, and tells what it measured."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from subprocess import CalledProcessError
from typing import TypeVar

import pytest
from rich.console import Console

from benchmarks.builds import Cost, Program, costs
from benchmarks.moving import WORD, movings
from benchmarks.opening import CHROMIUM, Opening, _slow, browser, openings
from benchmarks.session import PROBES, write_session
from benchmarks.transcripts import building, moving, opening, safety
from kbsite.build import build, override
from kbsite.importers.transcript import import_transcripts
from kbsite.store.runs import read_run
from kbsite.store.settings import CONFIG, read_settings
from kbsite.transcripts import transcript
from tests.browser.conftest import SHELLS

MB = 1_000_000
T = TypeVar("T")
ROOT = Path(__file__).parents[1]


def printed(*tables: object) -> str:
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(*tables)
    return captured.get()


def alone(measured: Callable[[], T]) -> T:
    """What is measured in a thread of its own: another browser of the tests may hold this one."""
    with ThreadPoolExecutor(1) as own:
        return own.submit(measured).result()


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
    (held,) = costs([writes(1234)], tmp_path / "out", times=2)

    assert held.html == 1234
    assert len(held.walls) == 2
    assert held.wall <= held.usual
    assert held.peak > MB


def test_a_build_is_not_measured_with_what_was_deleted_before_it(tmp_path: Path) -> None:
    costs([writes(12)], tmp_path / "made" / "out", times=3)

    assert len(list((tmp_path / "made").glob("**/*.html"))) == 3


def test_a_program_that_fails_stops_the_benchmark_with_what_it_said(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "raise SystemExit(3)"]
    broken = Program("broken", lambda _: failing, lambda _: None)

    with pytest.raises(CalledProcessError):
        costs([broken], tmp_path / "out", times=1)


def test_programs_build_in_turns_each_in_a_folder_of_its_own(tmp_path: Path) -> None:
    order = tmp_path / "order"

    def noting(name: str) -> Program:
        told = f"open({str(order)!r}, 'a').write({name!r})"
        return Program(name, lambda _: [sys.executable, "-c", told], lambda _: None)

    held = costs([noting("a"), noting("b")], tmp_path / "out", times=2)

    assert order.read_text() == "abab"
    assert [one.name for one in held] == ["a", "b"]
    assert (tmp_path / "out" / "b").is_dir()


def test_what_part_of_a_time_another_is_is_the_median_of_the_rounds() -> None:
    ours, peer = (Cost("", walls, 1, 1, 1) for walls in ((1.0, 2.0, 9.0), (4.0, 4.0, 4.0)))

    assert ours.part_of(peer) == 0.5


def test_the_table_tells_what_part_of_a_peers_time_is_ours() -> None:
    ours = Cost("ours", (1.0, 2.0, 3.0), 0.5, 80 * MB, 4 * MB)
    peer = Cost("peer", (4.0,), 2.0, 160 * MB, 8 * MB)

    text = printed(building([ours, peer], 10 * MB))

    assert "10.0 MB" in text
    assert text.count("0.25 x") == 2
    assert "2.00" in text


def test_the_table_of_openings_names_every_page() -> None:
    ours = Opening(1614, 6, 81_000, 150.2, 82.4, 0, 301, 1.3, 0, 0, 0)
    peer = Opening(35_453, 1, MB, 400, 900, 512, 4_100, 9.8, 2, 3, 4)
    text = printed(opening({"ours": ours, "peer": peer}), safety({"ours": ours, "peer": peer}))

    for told in ("1,614", "35,453", "82", "4,100", "1.3"):
        assert told in text
    assert re.search(r"peer\W+2\W+3\W+4\b", text)


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a short session: those of the run, and one that executes what it is told."""
    home = tmp_path_factory.mktemp("measured")
    write_session(home / "session.jsonl", MB)
    runs = home / "runs" / "bench"
    run = import_transcripts([home / "session.jsonl"], runs)
    chosen = override(read_settings(ROOT / CONFIG), home / "runs", home / "problems", home / "site")
    return build(chosen).out / "runs" / run.name / "index.html"


@pytest.fixture(name="shell")
def _shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium without its window, where there is one: it opens the same pages in half the time.

    There is no window to wait for then.
    """
    monkeypatch.setattr("benchmarks.opening.CHROMIUM", (*SHELLS, *CHROMIUM))
    monkeypatch.setattr("benchmarks.opening.REST", 0)


@pytest.mark.usefixtures("shell")
def test_a_page_that_executes_its_transcript_is_told_from_one_that_does_not(
    site: Path, tmp_path: Path
) -> None:
    naive = tmp_path / "naive.html"
    naive.write_text(f"<title>x</title><body>{''.join(PROBES)}<img src='https://host.example/x'>")
    found = alone(lambda: openings({"kbsite": site, "naive": naive}, 1))

    ours, peer = found["kbsite"], found["naive"]
    assert (ours.probes, ours.foreign, ours.violations) == (0, 0, 0)
    assert peer.probes > 0
    assert peer.foreign == 1
    assert peer.violations
    assert ours.requests <= 6
    assert ours.weight <= 100_000
    assert ours.elements <= 3_000


@pytest.mark.usefixtures("shell")
def test_a_page_that_does_not_open_on_a_slow_processor_takes_no_other_figure_along(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow() -> float:
        with browser() as driven:
            assert driven
            return _slow(driven, site.as_uri(), 1)

    monkeypatch.setattr("benchmarks.opening.MINUTES", 1)
    held = Opening(35_453, 1, MB, 400, 900, 512, alone(slow), 9.8, 2, 3, 4)

    assert held.slow == math.inf
    assert "over 120,000" in printed(opening({"peer": held}))


@pytest.mark.usefixtures("shell")
def test_moving_finds_every_hit_and_lands_on_the_steps_that_are_linked(site: Path) -> None:
    session = (site.parent / "raw").rglob("*.jsonl")
    said = next(session).read_text().casefold().count(WORD)
    served, from_disk = alone(lambda: movings(site, links=3))

    assert (served.opened, from_disk.opened) == ("server", "disk")
    assert served.hits == from_disk.hits >= said
    assert max(served.off, from_disk.off) <= 50
    assert "px off" in printed(moving([served, from_disk]))
