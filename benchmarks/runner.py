"""What runner, sandbox and proxy cost beside the bare CLI: `python -m benchmarks.runner`.

Both ways take turns, so that what else the machine does falls on both. It prints what was measured
and judges nothing: times hang on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.installing import default_prefix, programs
from benchmarks.runner_memory import Watching, Weight
from benchmarks.runner_sessions import ROOT, Case, Took, bare, load, scripted, through

MEGABYTE = 1_000_000
SCRIPTS = ("main", "work")
_PARTS: tuple[tuple[str, Callable[[Took], float]], ...] = (
    ("wall time", lambda took: took.wall),
    ("  to the first request", lambda took: took.before),
    ("  to the last answer", lambda took: took.between),
    ("  to the end", lambda took: took.after),
    ("processor time", lambda took: took.processor),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A session both ways, each as often; pairs were made one after the other."""

    name: str
    bare: tuple[Took, ...]
    through: tuple[Took, ...]

    def more(self, part: Callable[[Took], float]) -> float:
        """Seconds that the runner's way takes more: the median of the pairs."""
        pairs = zip(self.bare, self.through, strict=True)
        return median(part(other) - part(one) for one, other in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="How often each way, each session")
    parser.add_argument("--side", type=int, default=4, help="How many runs side by side")
    parser.add_argument("--clis", type=Path, default=default_prefix(ROOT))
    parser.add_argument("--harness", action="append", help="codex and claude, if left out")
    parser.add_argument("--script", action="append", help=f"{' and '.join(SCRIPTS)}, if left out")
    options = parser.parse_args(arguments)
    console = Console(width=max(110, Console().width))
    found = programs(options.clis)
    wanted = options.harness or ["codex", "claude"]
    missing = [name for name in wanted if name not in found]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}; run: kbsite bench install")
    scripts = options.script or SCRIPTS
    cases = [
        Case(program=found[name], script=script, clis=options.clis)
        for script in scripts
        for name in wanted
    ]
    for case in cases:
        console.print(table(compared(case, options.times)))
        console.print(_loaded())
    if options.side:
        console.print(memory(cases[-1].name, side_by_side(cases[-1], options.side)))
        console.print(_loaded())


def compared(case: Case, times: int) -> Compared:
    """Measure a session both ways, in turns, after one of each that does not count."""
    ones, others = [], []
    with scripted() as server:
        for _ in range(times + 1):
            ones.append(bare(case, server))
            others.append(through(case, server))
    return Compared(name=case.name, bare=tuple(ones[1:]), through=tuple(others[1:]))


def side_by_side(case: Case, count: int) -> list[Weight]:
    """What of our own processes lies in memory while so many runs are made at once."""
    with scripted() as server, Watching() as watching, ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(through, case, server, watching.add) for _ in range(count)]
        for one in runs:
            one.result()
    return watching.weights


def table(held: Compared) -> Table:
    """The medians of both ways side by side; what is more is the median of pairs.

    The fastest of each way show what is left where a machine does much else.
    """
    shown = Table(title=f"A session by itself and by way of the runner: {held.name}")
    for heading in ("", "the bare CLI", "the runner", "ratio", "more", "of the bare CLI"):
        shown.add_column(heading, justify="left" if not heading else "right")
    whole = median(took.wall for took in held.bare)
    for name, part in _PARTS:
        one, other = (median(map(part, ways)) for ways in (held.bare, held.through))
        more = held.more(part)
        of = one if part is _PARTS[-1][1] else whole
        shown.add_row(name, *_figures(one, other, more, of))
    one, other = (min(took.wall for took in ways) for ways in (held.bare, held.through))
    shown.add_row("wall time, fastest", *_figures(one, other, other - one, one))
    return shown


def _figures(one: float, other: float, more: float, of: float) -> tuple[str, ...]:
    ratio = f"{other / one:.2f} x" if one else ""
    return f"{one:.2f} s", f"{other:.2f} s", ratio, f"{more:+.2f} s", f"{100 * more / of:+.1f} %"


def memory(name: str, weights: Sequence[Weight]) -> Table:
    """What each run's own processes held, without those of its CLI."""
    count = len(weights)
    shown = Table(title=f"Memory of our own, of each of {count} runs side by side: {name}")
    for heading in ("", "usual PSS", "most PSS", "usual USS", "most USS", "processes"):
        shown.add_column(heading, justify="left" if not heading else "right")
    for number, one in enumerate(weights, 1):
        figures = (one.usual_pss, one.most_pss, one.usual_uss, one.most_uss)
        sizes = (f"{figure / MEGABYTE:.0f} MB" for figure in figures)
        shown.add_row(f"run {number}", *sizes, str(one.processes))
    return shown


def _loaded() -> str:
    return f"Load {load():.1f} on {os.cpu_count()} processors.\n"


if __name__ == "__main__":
    main()
