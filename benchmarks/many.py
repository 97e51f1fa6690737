"""What a build costs in a site of many runs where little changed: `python -m benchmarks.many`.

The runs are small ones, varied from runs/demo, with transcripts that the CLIs left in
tests/harnesses/captures. Each build is a process of its own. It prints what was measured and judges
nothing: times hang on the machine and on what else it does; processor time does so less.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.builds import spent
from kbsite.store.files import folder_digest

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "tests" / "harnesses" / "captures"
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_CELLS = 4
"""Attempts of a cell."""
_BOARDS = 2
_SESSIONS = {
    "claude": "claude/quick", "codex": "codex/quick", "opencode": "opencode/quick",
    "gemini": "gemini/quick", "qwen": "qwen/quick", "kimi-cli": "kimi/kimi-cli-quick",
}  # fmt: skip
"""The captured session of each harness that its runs hold."""
_LONGEST = 60_000
"""Bytes of the longest file of a session that is taken: the runs are to be small."""


_TOLD = re.compile(
    r"([\d,]+) transcripts? read, ([\d,]+) pages? rendered, ([\d,]+) files? written, [\d,]+ kept"
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a build took."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of processor time, of the process and of its copies."""
    memory: int
    """Bytes at most."""
    parsed: int
    rendered: int
    written: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=3, help="Changes of each kind")
    options = parser.parse_args(arguments)
    shown = Table(title=f"kbsite build, {options.runs} runs: the cheapest of {options.times}")
    for heading in ("changed", "wall", "processor", "memory", "parsed", "rendered", "written"):
        shown.add_column(heading, justify="right" if heading != "changed" else "left")
    with TemporaryDirectory() as folder:
        write_many(Path(folder), options.runs)
        for name, one in costs(Path(folder), options.runs, options.times).items():
            shown.add_row(
                name, f"{one.wall:.2f} s", f"{one.processor:.2f} s",
                f"{one.memory / 1e6:.0f} MB", str(one.parsed), str(one.rendered), str(one.written),
            )  # fmt: skip
    Console(width=max(110, Console().width)).print(shown)


def costs(home: Path, count: int, times: int) -> dict[str, Cost]:
    """What builds cost after each kind of change; the first one makes all."""
    runs = sorted((home / "runs").glob("*/*"))
    changes: Mapping[str, Callable[[int], object]] = {
        "nothing": lambda _: None,
        "an audit": lambda n: note(runs[n], f"Read for the time of number {n}."),
        "a run more": lambda n: write_run(home, count + n),
        "a line more": lambda n: line(runs[n]),
    }
    found = {"all": built(home)}
    for name, change in changes.items():
        held = []
        for number in range(times):
            change(number)
            held.append(built(home))
        found[name] = min(held, key=lambda cost: cost.processor)
    return found


def built(home: Path, *options: str, started: Callable[[int], object] = lambda _: None) -> Cost:
    """Build the site in a process of its own, which `started` is told.

    CalledProcessError where that fails, ValueError where it does not say what it did.
    """
    command = [sys.executable, "-m", "kbsite", "build", "--config", str(home / "kbsite.yaml")]
    took = spent([*command, *options], started)
    return Cost(took.wall, took.processor, took.peak, *counts(took.told))


def counts(told: str) -> tuple[int, int, int]:
    """What a build says that it read, rendered and wrote; ValueError where it does not."""
    said = _TOLD.search(told)
    if said is None:
        message = f"expected what a build read, rendered and wrote, and it said: {told}"
        raise ValueError(message)
    parsed, rendered, written = (int(count.replace(",", "")) for count in said.groups())
    return parsed, rendered, written


def write_many(home: Path, count: int) -> None:
    """Write settings, the problems of this repository and so many runs: the same each time."""
    shutil.copytree(ROOT / "problems", home / "problems")
    (home / "kbsite.yaml").write_text("title: Many runs\n")
    problems = sorted(path.name for path in (home / "problems").iterdir())
    for number in range(count):
        write_run(home, number, problems)


@dataclass(frozen=True, slots=True)
class Place:
    """Which run it is."""

    number: int
    board: str
    problem: str
    harness: str
    model: str

    @property
    def started(self) -> datetime:
        """When it started: no two at once."""
        return _FIRST + timedelta(seconds=200 * self.number)

    @property
    def name(self) -> str:
        """Its id."""
        return f"{self.started:%Y%m%d_%H%M%S}_{self.harness}_{self.model}_{self.problem}"


def write_run(home: Path, number: int, problems: list[str] | None = None) -> Path:
    """Write one run of them, which is returned: cells fill up first, then decks, then boards."""
    held = problems or sorted(path.name for path in (home / "problems").iterdir())
    cell, attempt = divmod(number, _CELLS)
    row, column = divmod(cell, len(held))
    row, board = divmod(row, _BOARDS)
    harness = list(_SESSIONS)[row % len(_SESSIONS)]
    model = f"model-{row // len(_SESSIONS)}"
    place = Place(number, f"board-{board}", held[column], harness, model)
    chance = random.Random(number)  # noqa: S311 - no secret
    run = write_at(home, place, _session(CAPTURES / _SESSIONS[harness]), chance, solution(chance))
    if attempt == 0:
        note(run, f"The run of number {number} does what was asked.")
    return run


def write_at(
    home: Path,
    place: Place,
    transcript: Iterable[tuple[str, bytes]],
    chance: random.Random,
    solution: str,
    **said: object,
) -> Path:
    """Write the run of a place, which is returned; what the demo's has beside is as it is there.

    `said` stands in its run.json instead of what the demo's says.
    """
    run = home / "runs" / place.board / place.name
    shutil.copytree(
        _sources()[place.harness], run, ignore=shutil.ignore_patterns("transcript", "audit.yaml")
    )
    for name, data in transcript:
        target = run / "transcript" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (run / "solution.py").write_text(solution)
    ended = place.started + timedelta(seconds=chance.randrange(20, 110))
    told = json.loads((run / "run.json").read_text())
    told |= {
        "id": place.name, "board": place.board, "problem": place.problem, "model": place.model,
        "problem_hash": _hash(home / "problems" / place.problem),
        "started": f"{place.started:%Y-%m-%dT%H:%M:%SZ}",
        "ended": f"{ended:%Y-%m-%dT%H:%M:%SZ}", **said,
    }  # fmt: skip
    _write(run / "run.json", told)
    _write(run / "metrics.json", _metrics(chance))
    hashes = {
        path.relative_to(run).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    _write(run / "manifest.json", {"format": 1, "files": hashes})
    return run


@cache
def _hash(problem: Path) -> str:
    return folder_digest(problem)


@cache
def _sources() -> dict[str, Path]:
    """A run of the demo of each harness; its last one."""
    return {path.name.split("_")[2]: path for path in sorted((ROOT / "runs/demo").iterdir())}


def note(run: Path, summary: str) -> None:
    """Write the audit of a run."""
    (run / "audit.yaml").write_text(
        f"verdict: clean\nsummary: {summary}\nauditor: A. Reader\ndate: 2026-01-03\n"
    )


def line(run: Path) -> None:
    """Let the transcript of a run grow by a line."""
    log = next(path for path in sorted(run.rglob("*.jsonl")) if "transcript" in path.parts)
    with log.open("a") as stream:
        stream.write('{"type": "system", "subtype": "note"}\n')


def _session(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size <= _LONGEST:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def solution(chance: random.Random, length: int = 24) -> str:
    """A solution of so many lines, and two; no two are the same."""
    names = [f"{chance.choice('abcdefgh')}{chance.randrange(100)}" for _ in range(length)]
    lines = ["def solve(x):"]
    for at, name in enumerate(names):
        left, sign = chance.choice(["x", *names[:at]]), chance.choice("+-*/")
        lines.append(f"    {name} = {left} {sign} {chance.random():f}")
    return "\n".join([*lines, f"    return {names[-1]}\n"])


def _metrics(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.2:
        return {"format": 1, "status": chance.choice(["wrong", "crashed"]), "grader": "grader 1"}
    fraction = round(chance.uniform(0.02, 0.8), 6)
    shape = {"shape": "n=1024", "ms": 1.0, "ceiling_ms": fraction, "peak_fraction": fraction}
    return {
        "format": 1, "status": "passed", "peak_fraction": fraction,
        "interval": [fraction - 0.01, fraction + 0.01], "shapes": [shape], "grader": "grader 1",
    }  # fmt: skip


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    main()
