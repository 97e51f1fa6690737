"""How long a page waits for a change under `kbsite serve --watch`: `python -m benchmarks.watching`.

From the moment a file is written until open pages are told. It prints what was measured and judges
nothing: times hang on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.many import line, note, write_many
from kbsite.serving.builder import Outcome, Source
from kbsite.serving.served import Serving, Told

_LIMIT = 600.0


@dataclass(frozen=True, kw_only=True)
class Waited:
    """What changes of one kind took, seconds."""

    build: float
    """Of it the build, median."""
    told: float
    """Until pages are told, median."""
    worst: float
    rendered: int
    written: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=5, help="Changes of each kind")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_many(home, options.runs)
        held = asyncio.run(waited(home, options.times))
    shown = Table(title=f"kbsite serve --watch, {options.runs} runs: from a change to open pages")
    for heading in ("changed", "pages told", "worst", "of it the build", "rendered", "written"):
        shown.add_column(heading, justify="right" if heading != "changed" else "left")
    for name, one in held.items():
        times = [f"{1000 * seconds:.0f} ms" for seconds in (one.told, one.worst, one.build)]
        shown.add_row(name, *times, str(one.rendered), str(one.written))
    Console(width=max(110, Console().width)).print(shown)


async def waited(home: Path, times: int) -> dict[str, Waited]:
    """Serve the site, change it so often in each way, and wait for each.

    After a build the builder leaves to the next one what it knows: that takes no longer than it.
    """
    outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
    serving = Serving(home / "site", watch=Source(home / "kbsite.yaml"))
    served = asyncio.create_task(
        serving.serve(Told(ready=lambda _: None, built=outcomes.put_nowait))
    )
    runs = sorted((home / "runs").glob("*/*"))
    try:
        first = await asyncio.wait_for(outcomes.get(), _LIMIT)
        await asyncio.sleep(first.seconds)
        return {
            name: await _changes(change, runs[at : at + times], outcomes)
            for name, change, at in (("an audit", _note, 0), ("a line more", line, times))
        }
    finally:
        serving.end()
        await served


async def _changes(
    change: Callable[[Path], None], runs: Sequence[Path], outcomes: asyncio.Queue[Outcome]
) -> Waited:
    seconds, held = [], []
    for run in runs:
        before = time.perf_counter()
        change(run)
        held.append(await asyncio.wait_for(outcomes.get(), _LIMIT))
        seconds.append(time.perf_counter() - before)
        await asyncio.sleep(held[-1].seconds)
    return Waited(
        build=median(one.seconds for one in held), told=median(seconds), worst=max(seconds),
        rendered=held[-1].rendered, written=held[-1].written,
    )  # fmt: skip


def _note(run: Path) -> None:
    note(run, f"Read at {time.time():.3f}.")


if __name__ == "__main__":
    main()
