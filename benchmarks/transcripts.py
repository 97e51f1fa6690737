"""kbsite beside others that make pages of a transcript: `python -m benchmarks.transcripts`.

It prints what was measured and judges nothing: times hang on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.builds import Cost, Program, costs
from benchmarks.moving import WORD, Moving, common_word, movings
from benchmarks.opening import MINUTES, SLOW, Opening, openings
from benchmarks.session import write_session

ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = _options().parse_args(arguments)
    with TemporaryDirectory() as name:
        home = Path(name)
        session = options.session
        if session is None:
            session = home / "session.jsonl"
            write_session(session, options.megabytes * 1_000_000)
        size = session.stat().st_size
        programs = [_kbsite(session, home), *_peers(session, options.peers)]
        built = costs(programs, home / "out", options.times)
        pages = {held.name: held.page(home / "out" / held.name) for held in programs}
        found = {name: page for name, page in pages.items() if page}
        opened = openings(found, options.times)
        ours = found.get("kbsite")
        moved = movings(ours, word=common_word(ours) if options.session else WORD) if ours else []
    console = Console(width=max(110, Console().width))
    console.print(building(built, size))
    if opened:
        console.print(opening(opened))
        console.print(safety(opened))
    if moved:
        console.print(moving(moved))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", type=Path, help="A session log of Claude Code; made if absent")
    parser.add_argument("--megabytes", type=int, default=10, help="Size of a session that is made")
    parser.add_argument("--times", type=int, default=3, help="How often each program builds")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench" / "bin")
    return parser


def _kbsite(session: Path, home: Path) -> Program:
    """A site of the transcript alone: the others make no pages of problems."""
    own = shutil.which("kbsite", path=str(Path(sys.executable).parent)) or "kbsite"
    config = home / "kbsite.yaml"
    config.write_text("title: One transcript\n")
    held = ["import", "transcript", str(session), "--out", str(home / "runs" / "bench")]
    subprocess.run([own, *held], check=True, capture_output=True)  # noqa: S603 - our own program
    return Program(
        "kbsite",
        lambda out: [own, "build", "--config", str(config), "--out", str(out)],
        lambda out: next(out.glob("runs/*/index.html"), None),
    )  # fmt: skip


def _peers(session: Path, folder: Path) -> list[Program]:
    """The other programs, those of them that are installed."""
    known = [
        Program(
            "claude-code-transcripts",
            lambda out: [str(folder / "claude-code-transcripts"), "json", str(session),
                         "-o", str(out)],
            lambda out: next(iter(sorted(out.glob("page-*.html"))), None),
        ),
        Program(
            "claude-code-log",
            lambda out: [str(folder / "claude-code-log"), "--no-cache", str(session), "-o",
                         str(out / "session.html")],
            lambda out: out / "session.html",
        ),
    ]  # fmt: skip
    return [program for program in known if (folder / program.name).exists()]


def building(built: Sequence[Cost], size: int) -> Table:
    """What the builds cost, and what part of each peer's time kbsite takes."""
    table = Table(title=f"building the pages of one transcript of {size / 1e6:.1f} MB")
    heads = (
        "",
        "wall min s",
        "wall median s",
        "CPU min s",
        "peak MB",
        "HTML MB",
        "of raw",
        "wall",
        "CPU",
    )
    for head in heads:
        table.add_column(head, justify="left" if not head else "right")
    first = built[0]
    for held in built:
        ratios = [f"{first.part_of(held):.2f} x", f"{first.processor / held.processor:.2f} x"]
        table.add_row(
            held.name, f"{held.wall:.2f}", f"{held.usual:.2f}", f"{held.processor:.2f}",
            f"{held.peak / 1e6:.0f}", f"{held.html / 1e6:.1f}", f"{held.html / size:.3f}",
            *(ratios if held is not first else ("", "")),
        )  # fmt: skip
    table.caption = (
        "HTML: the run's own pages, not those of the site around them; the last two columns: "
        f"{first.name}'s time as a part of the other's, of wall time the median of rounds in turns"
    )
    return table


def opening(opened: Mapping[str, Opening]) -> Table:
    """What the first page of each costs the browser."""
    table = _table(
        "opening the first page, from a server on this machine",
        "elements", "requests", "kB gzipped", "text ms", "load ms", "blocked ms",
        f"load ms, {SLOW}x slower", "heap MB",
    )  # fmt: skip
    for name, held in opened.items():
        table.add_row(
            name, f"{held.elements:,}", f"{held.requests}", f"{held.weight / 1e3:,.0f}",
            f"{held.text:,.0f}", f"{held.load:,.0f}", f"{held.blocked:,.0f}",
            f"{held.slow:,.0f}" if held.slow < MINUTES else f"over {MINUTES:,}", f"{held.heap:.1f}",
        )  # fmt: skip
    return table


def safety(opened: Mapping[str, Opening]) -> Table:
    """What the first page of each lets others do, and whom it shuts out."""
    table = _table(
        "the same pages",
        "scripts of the transcript executed", "requests to other hosts", "WCAG 2.1 AA rules broken",
    )  # fmt: skip
    for name, held in opened.items():
        table.add_row(
            name,
            str(held.probes),
            str(held.foreign),
            "–" if held.violations is None else str(held.violations),
        )
    return table


def moving(moved: Sequence[Moving]) -> Table:
    """How long a reader of kbsite's page waits for a place in the transcript."""
    table = _table(
        "getting to a place in the transcript, kbsite",
        "first find ms", "hits", "next ms", "link to a step ms", "px off at most",
    )  # fmt: skip
    for held in moved:
        table.add_row(
            f"from {held.opened}", f"{held.found:.0f}", f"{held.hits:,}", f"{held.following:.0f}",
            f"{held.linked:.0f}", f"{held.off:.0f}",
        )  # fmt: skip
    return table


def _table(title: str, *heads: str) -> Table:
    table = Table(title=title)
    for head in ("", *heads):
        table.add_column(head, justify="left" if not head else "right")
    return table


if __name__ == "__main__":
    main()
