"""kbsite beside others that make pages of a transcript: `python -m benchmarks.transcripts`.

It prints what was measured and judges nothing: times hang on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.builds import Cost, Program, cost
from benchmarks.opening import Opening, openings
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
        programs = [_kbsite(session, home / "runs"), *_peers(session, options.peers)]
        costs = [cost(held, home / "out" / held.name, options.times) for held in programs]
        pages = {held.name: held.page(home / "out" / held.name) for held in programs}
        opened = openings({n: page for n, page in pages.items() if page}, options.times)
    console = Console(width=max(110, Console().width))
    console.print(building(costs, size))
    if opened:
        console.print(opening(opened))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", type=Path, help="A session log of Claude Code; made if absent")
    parser.add_argument("--megabytes", type=int, default=10, help="Size of a session that is made")
    parser.add_argument("--times", type=int, default=3, help="How often each program builds")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench" / "bin")
    return parser


def _kbsite(session: Path, runs: Path) -> Program:
    own = shutil.which("kbsite", path=str(Path(sys.executable).parent)) or "kbsite"
    held = ["import", "transcript", str(session), "--out", str(runs / "bench")]
    subprocess.run([own, *held], check=True, capture_output=True)  # noqa: S603 - our own program
    return Program(
        "kbsite",
        lambda out: [own, "build", "--config", str(ROOT / "kbsite.yaml"), "--runs", str(runs),
                     "--out", str(out)],
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


def building(costs: Sequence[Cost], size: int) -> Table:
    """What the builds cost, and what part of each peer's time kbsite takes."""
    table = Table(title=f"building the pages of one transcript of {size / 1e6:.1f} MB")
    heads = ("", "wall min s", "wall median s", "CPU min s", "peak MB", "HTML MB", "wall", "CPU")
    for head in heads:
        table.add_column(head, justify="left" if not head else "right")
    first = costs[0]
    for held in costs:
        ratios = [f"{first.wall / held.wall:.2f} x", f"{first.processor / held.processor:.2f} x"]
        table.add_row(
            held.name, f"{held.wall:.2f}", f"{held.usual:.2f}", f"{held.processor:.2f}",
            f"{held.peak / 1e6:.0f}", f"{held.html / 1e6:.1f}",
            *(ratios if held is not first else ("", "")),
        )  # fmt: skip
    table.caption = f"the last two columns: {first.name}'s time as a part of the other's"
    return table


def opening(opened: dict[str, Opening]) -> Table:
    """What the first page of each costs the browser."""
    table = Table(title="opening the first page, from disk")
    for head in ("", "elements", "page MB", "load min ms"):
        table.add_column(head, justify="left" if not head else "right")
    for name, held in opened.items():
        table.add_row(name, f"{held.elements:,}", f"{held.size / 1e6:.2f}", f"{held.load:.0f}")
    return table


if __name__ == "__main__":
    main()
