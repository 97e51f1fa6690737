"""What the first build of a site costs: `python -m benchmarks.cold FOLDERS`.

Redaction is on, and the site is of these transcripts alone: it has none of our problems, whose
pages no other program makes. Built are the transcripts in some folders, many of a megabyte beside
another program, runs so small that their pages are what costs, and such as hold no more than an
article with a block of code, which makers of static pages are measured by: by one process, and by
two, in turns. How many times as fast two are, and what part of the other's time they take, are
medians of the rounds. It prints what was measured and judges nothing: times hang on the machine
and on what else it does, those of two processes most of all; processor time does so less.

What two processes can gain at most is measured too, in the same rounds: two builds by one process
each, which share no work and run at once. Where two processors are one core's two threads, or its
host gives them less than two cores, that is well below 2.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.builds import Cost, Program, costs
from benchmarks.session import write_exchange, write_session
from kbsite.errors import KbsiteError
from kbsite.importers.transcript import import_transcripts

ROOT = Path(__file__).parents[1]
PEER = "claude-code-transcripts"
_MEGABYTE = 1_000_000
_SMALL = 20_000
"""Bytes of a session whose pages cost more than its parsing."""


@dataclass(frozen=True)
class Cold:
    """What was built, and what it cost."""

    name: str
    runs: int
    size: int
    """Bytes of transcripts."""
    cost: Cost
    """By one process."""
    two: Cost
    """By two."""
    pair: Cost
    """Of two such builds, by one process each, at once."""
    pages: int
    peer: Cost | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = _options().parse_args(arguments)
    folders = {folder: _files(folder) for folder in options.folders}
    with TemporaryDirectory() as name:
        home = Path(name)
        made = [_sessions(home / "sessions", 20, _MEGABYTE, options.times, options.peers)]
        made.append(_sessions(home / "small", 200, _SMALL, options.times, None))
        made.append(_exchanges(home / "exchanges", 1000, options.times))
        for folder, files in folders.items():
            made.append(_built(folder.name, home / folder.name, files, options.times))
    Console(width=max(150, Console().width)).print(table(made))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of transcripts to build")
    parser.add_argument("--times", type=int, default=2, help="how often each is built")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench" / "bin")
    return parser


def _files(folder: Path) -> list[Path]:
    """The files of a folder of transcripts; SystemExit where it has none, before all is built."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        sys.exit(f"{folder}: no files; expected a folder of transcripts")
    return files


def _sessions(home: Path, count: int, size: int, times: int, peers: Path | None) -> Cold:
    """Sessions of the same size: built as one site, and each by the other program."""
    files = [home / "files" / f"session-{number}.jsonl" for number in range(count)]
    (home / "files").mkdir(parents=True)
    for file in files:
        write_session(file, size)
    name = f"{count} sessions of {size / _MEGABYTE:g} MB"
    return _built(name, home, files, times, (peers or home) / PEER)


def _exchanges(home: Path, count: int, times: int) -> Cold:
    """Sessions of one question and answer."""
    files = [home / "files" / f"session-{number}.jsonl" for number in range(count)]
    (home / "files").mkdir(parents=True)
    for file in files:
        write_exchange(file)
    return _built(f"{count:,} sessions of one answer", home, files, times)


def _built(
    name: str, home: Path, files: Sequence[Path], times: int, peer: Path | None = None
) -> Cold:
    """What a site of some transcripts costs, each a run of its own; others are passed over."""
    home.mkdir(parents=True, exist_ok=True)
    taken = list(_imported(files, home / "runs" / "bench"))
    config = home / "kbsite.yaml"
    config.write_text("title: First builds\n")
    own = shutil.which("kbsite", path=str(Path(sys.executable).parent)) or "kbsite"
    command = [own, "build", "--config", str(config)]
    programs = [_with(command, "1"), _with(command, "2"), _at_once(command)]
    if peer and peer.exists():
        programs.append(_peer(peer, taken))
    one, two, pair, *others = costs(programs, home / "out", times)
    pages = sum(1 for _ in (home / "out" / two.name / "site").rglob("*.html"))
    size = sum(file.stat().st_size for file in taken)
    return Cold(name, len(taken), size, one, two, pair, pages, *others)


def _with(command: Sequence[str], jobs: str) -> Program:
    """The builds of a command by so many processes."""
    given = [*command, "--jobs", jobs, "--out"]
    return Program(f"kbsite-{jobs}", lambda out: [*given, str(out / "site")], lambda _: None)


def _at_once(command: Sequence[str]) -> Program:
    """Two builds of a command at once, by one process each, into folders of their own."""
    script = 'out=$1; shift; "$@" "$out/one" & "$@" "$out/other"; own=$?; wait $! && exit $own'
    given = [*command, "--jobs", "1", "--out"]
    return Program(
        "kbsite-1-twice", lambda out: ["sh", "-c", script, "sh", str(out), *given], lambda _: None
    )


def _imported(files: Sequence[Path], board: Path) -> Iterator[Path]:
    for file in files:
        try:
            import_transcripts([file], board)
        except (KbsiteError, OSError):
            continue
        yield file


def _peer(program: Path, files: Sequence[Path]) -> Program:
    """The builds of the other program: a process for each session, as it is called."""
    script = 'out=$1; shift; for one; do "$0" json "$one" -o "$out/${one##*/}" || exit 1; done'
    given = ["sh", "-c", script, str(program)]
    return Program(PEER, lambda held: [*given, str(held), *map(str, files)], lambda _: None)


def table(built: Sequence[Cold]) -> Table:
    """What was measured, for a terminal."""
    shown = Table(title="first builds, redaction on")
    heads = (
        "", "runs", "MB", "pages", "wall s", "CPU s", "MB a CPU s", "pages a CPU s", "peak MB",
        "two jobs: as fast", "two builds at once", "their CPU", "pages a s",
        f"their wall, of {PEER}", "CPU",
    )  # fmt: skip
    for head in heads:
        shown.add_column(head, justify="left" if not head else "right")
    for one in built:
        held, two, peer = one.cost, one.two, one.peer
        ratios = (
            (f"{two.part_of(peer):.2f} x", f"{two.processor / peer.processor:.2f} x")
            if peer
            else ("", "")
        )
        shown.add_row(
            one.name, f"{one.runs:,}", f"{one.size / _MEGABYTE:.1f}", f"{one.pages:,}",
            f"{held.wall:.1f}", f"{held.processor:.1f}",
            f"{one.size / _MEGABYTE / held.processor:.1f}", f"{one.pages / held.processor:.0f}",
            f"{max(held.peak, two.peak) / _MEGABYTE:.0f}", f"{1 / two.part_of(held):.2f} x",
            f"{2 / one.pair.part_of(held):.2f} x", f"{two.processor / held.processor:.2f} x",
            f"{one.pages / two.wall:.0f}", *ratios,
        )  # fmt: skip
    return shown


if __name__ == "__main__":
    main()
