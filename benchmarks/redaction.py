"""What looking for secrets costs: `python -m benchmarks.redaction`.

It prints megabytes a second of one core, and judges nothing: they hang on the machine and on what
else it does.
"""

from __future__ import annotations

import argparse
import base64
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.session import write_session
from kbsite.engines import Here
from kbsite.hiding import Hiding
from kbsite.model.config import Redact
from kbsite.redaction.scan import Looker

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Speed:
    """What was looked at, and how fast."""

    name: str
    size: int
    """Bytes."""
    looked: float
    """Seconds of processor time to look at the bytes once."""
    whole: float
    """Seconds of processor time for all of a run: look, look again, count lines."""
    hidden: int
    """Passages that are hidden."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of transcripts to look at")
    parser.add_argument("--megabytes", type=int, default=20, help="size of the session made here")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        made, hostile = Path(name) / "session", Path(name) / "hostile line"
        made.mkdir()
        hostile.mkdir()
        write_session(made / "session.jsonl", options.megabytes * MEGABYTE)
        write_hostile(hostile / "session.jsonl", options.megabytes * MEGABYTE)
        Console().print(table([speed(folder) for folder in (made, hostile, *options.folders)]))


def write_hostile(path: Path, size: int) -> None:
    """Write one line of JSON of about some bytes, in which rules find something everywhere."""
    chance = random.Random(3)  # noqa: S311 - it has to be the same each time
    with path.open("w", encoding="ascii") as out:
        out.write('{"type": "user", "message": "')
        for _ in range(size // 40):
            out.write(f"api_key={base64.b64encode(chance.randbytes(22)).decode()} ")
        out.write('"}\n')


def speed(folder: Path) -> Speed:
    """How fast the files of a folder are looked at, once everything is loaded."""
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    looker = Looker()
    looker.look(b"warm")
    start = time.process_time()
    for data in files:
        looker.look(data)
    looked = time.process_time() - start
    start = time.process_time()
    # In this process: the time of a copy would not be counted.
    hidden = Hiding(Redact(), engine=Here()).of(folder)
    whole = time.process_time() - start
    count = sum(map(len, hidden.files.values()))
    return Speed(folder.name, sum(map(len, files)), looked, whole, count)


def table(speeds: Sequence[Speed]) -> Table:
    """What was measured, for a terminal."""
    shown = Table(title="redaction")
    for heading in ("transcripts", "MB", "looked at, MB/s", "a whole run, MB/s", "hidden"):
        shown.add_column(heading, justify="left" if heading == "transcripts" else "right")
    for one in speeds:
        rates = (one.size / MEGABYTE / max(spent, 1e-9) for spent in (one.looked, one.whole))
        row = (f"{one.size / MEGABYTE:.1f}", *(f"{rate:.0f}" for rate in rates), f"{one.hidden:,}")
        shown.add_row(one.name, *row)
    return shown


if __name__ == "__main__":
    main()
