"""The benchmark of first builds builds what it says, and tells what it measured."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from benchmarks.builds import Cost
from benchmarks.cold import Cold, _built, table
from benchmarks.session import write_exchange, write_session


def test_what_is_no_transcript_is_passed_over_and_the_rest_is_built(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    files = [tmp_path / "files" / name for name in ("session.jsonl", "README.md")]
    write_session(files[0], 20_000)
    files[1].write_text("# No transcript\n")
    held = _built("both", tmp_path, files, 1)

    assert (held.runs, held.size) == (1, files[0].stat().st_size)
    made = [tmp_path / "out" / f"kbsite-{jobs}" / "site" for jobs in (1, 2)]
    made += [tmp_path / "out" / "kbsite-1-twice" / name for name in ("one", "other")]
    assert all((site / "index.html").is_file() for site in made)
    assert held.pair.processor > held.cost.processor
    assert {held.pages} == {len(list(site.rglob("*.html"))) for site in made}
    assert held.cost.processor > 0
    assert held.peer is None


def test_a_session_of_one_answer_is_a_run_with_a_page(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "session.jsonl"
    write_exchange(file)
    held = _built("one", tmp_path, [file], 1)
    (page,) = (tmp_path / "out" / "kbsite-2" / "site" / "runs").glob("*/index.html")

    assert held.runs == 1
    assert "How is it done?" in page.read_text()
    assert page.read_text().count("<pre><i>python</i>") == 1


def test_it_prints_megabytes_and_pages_a_second_and_its_part_of_a_peers_time() -> None:
    own = Cost("kbsite", (7.0,), 5.0, 90_000_000, 1)
    two = Cost("kbsite", (4.0,), 5.5, 60_000_000, 1)
    pair = Cost("kbsite", (8.0,), 10.0, 90_000_000, 1)
    peer = Cost("other", (8.0,), 20.0, 1, 1)
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(table([Cold("some", 20, 60_000_000, own, two, pair, 2500, peer)]))
    row = captured.get().splitlines()[-2]

    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "some", "20", "60.0", "2,500", "7.0", "5.0", "12.0", "500", "90",
        "1.75 x", "1.75 x", "1.10 x", "625", "0.50 x", "0.28 x",
    ]  # fmt: skip
