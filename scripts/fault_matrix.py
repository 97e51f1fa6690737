"""Play every fault to every CLI, in real runs, and see how each run ends: a table.

    python scripts/fault_matrix.py [--out FOLDER] [--only claude e401 codex/cut] [--budget 40]

Each cell is a run in a process of its own against the scripted server. It has to end for the right
reason, within its budget and ten seconds, and leave no process behind. What is in the folder
already is not played again (`--again` does); the folder gets matrix.json and matrix.md. The exit
code is 1 if a cell is wrong. Processes left are those of the box's own user, so that root is needed
to see them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.harnesses import ADAPTERS  # noqa: E402
from bench.installing import default_prefix, programs  # noqa: E402
from bench.sandbox.users import processes_of  # noqa: E402
from bench.scripted import Server, load_scripts, scripted_provider, serve  # noqa: E402
from kbsite.store.writing import json_text, write_text  # noqa: E402

HARNESSES = tuple(one.id for one in ADAPTERS)
MATRIX = "matrix.json"
BUDGET_S = 40.0
ALLOWED_S = 10.0
"""How long a run may take after its budget."""

LIMITS = {"look_seconds": 0.5, "grace_seconds": 3.0, "stall_seconds": 600.0, "failures": 12}
FINISHED, PROVIDER, BUDGET = "finished", "provider_error", "budget"
TRUNCATED, HARNESS = "truncated", "harness_error"

EXPECTED: Mapping[str, str] = {
    "quick": FINISHED, "e400": PROVIDER, "e401": PROVIDER, "e429": PROVIDER, "e500": PROVIDER,
    "late400": HARNESS, "late401": PROVIDER, "late500": PROVIDER, "e429once": FINISHED,
    "e500once": FINISHED,
    "dropbefore": PROVIDER, "dropmid": PROVIDER, "dropmidonce": FINISHED, "cut": PROVIDER,
    "streamerr": PROVIDER, "maxtok": TRUNCATED, "badtool": FINISHED, "asks": FINISHED,
    "hang": BUDGET, "stall": BUDGET, "longtool": BUDGET, "bgtool": FINISHED,
}  # fmt: skip
"""Why a run has to end, by scenario, whatever the CLI's exit code is."""

_WHOLE = "It asks again for the answer in one piece, which comes whole."
OTHERWISE: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("cut", "claude"): ((FINISHED,), _WHOLE),
    ("streamerr", "claude"): ((FINISHED,), _WHOLE),
    ("longtool", "codex"): (
        (FINISHED,),
        "It asks the model again while the command goes on, and the model ends.",
    ),
    ("dropmidonce", "gemini"): (
        (FINISHED, PROVIDER),
        "It asks again at times, and at others ends at once: who is faster decides.",
    ),
}
"""Where a CLI has another right reason, and why."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What became of a scenario with a CLI."""

    harness: str
    scenario: str
    reason: str
    detail: str
    exit_code: int | None
    seconds: float
    """From the first request to the end of the supervisor; from its start where none was made."""
    left: int
    """Processes of the session a moment after its end."""
    requests: int
    budget: float

    @property
    def expected(self) -> tuple[str, ...]:
        """The right reasons."""
        other = OTHERWISE.get((self.scenario, self.harness))
        return other[0] if other else (EXPECTED[self.scenario],)

    @property
    def wrong(self) -> str:
        """What is not as it has to be; empty if all is."""
        right = self.expected
        said = [] if self.reason in right else [f"expected {' or '.join(right)}"]
        if self.seconds > self.budget + ALLOWED_S:
            said.append("too late")
        if self.left:
            said.append(f"{self.left} left")
        return ", ".join(said)


def main(words: Sequence[str] | None = None) -> int:
    """Play what is missing, print the table and write it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("fault-matrix"))
    parser.add_argument("--only", nargs="*", default=(), help="CLIs, scenarios, or CLI/SCENARIO")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds; 40 without it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="play also what was played before")
    given = parser.parse_args(words)
    cells = read(given.out)
    wanted = [one for one in every(given.only) if given.again or one not in cells]
    console = Console(stderr=True)
    with serve(load_scripts()) as server, ThreadPoolExecutor(given.jobs) as pool:
        under_way = [
            pool.submit(play, harness, scenario, server, given.out, given.budget)
            for harness, scenario in wanted
        ]
        for cell in (one.result() for one in as_completed(under_way)):
            cells[cell.harness, cell.scenario] = cell
            write(given.out, cells)
            told = f"{cell.harness}/{cell.scenario}: {cell.reason}, {cell.seconds:.0f} s"
            console.print(f"{told} {cell.wrong}", style="red" if cell.wrong else None, markup=False)
    if cells:
        write(given.out, cells)
    Console().print(table(cells))
    return 1 if any(cell.wrong for cell in cells.values()) else 0


def every(only: Collection[str]) -> Iterator[tuple[str, str]]:
    """CLIs with scenarios, all or those that were asked for."""
    asked = {name for name in only if "/" not in name}
    for scenario in EXPECTED:
        for harness in HARNESSES:
            parts = {harness, scenario}
            fits = asked <= parts | set(HARNESSES) | set(EXPECTED) and all(
                parts & asked & names for names in (set(HARNESSES), set(EXPECTED)) if asked & names
            )
            if f"{harness}/{scenario}" in only or (fits and (asked or not only)):
                yield harness, scenario


def play(harness: str, scenario: str, server: Server, out: Path, budget: float) -> Cell:
    """Play a scenario to a CLI in a run of its own."""
    name = f"{harness}-{scenario}"
    place = out / "cells" / name / f"{time.time_ns()}"
    place.mkdir(parents=True)
    run = f"{name}-{place.name}"
    write_text(place / "order.json", json_text(order(harness, scenario, place, budget)))
    bases = scripted_provider(server.url, run, scenario).bases
    told = {"providers": {"scripted": {"bases": {one.value: base for one, base in bases.items()}}}}
    write_text(place / "providers.yaml", yaml.safe_dump(told))
    command = [sys.executable, "-m", "bench.running", str(place / "order.json")]
    began = datetime.now(UTC)
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)  # noqa: S603
    said, errors = done.communicate()
    over = datetime.now(UTC)
    if done.returncode:
        detail = errors.decode(errors="replace")[-2000:]
        ended: Mapping[str, Any] = {"reason": "no run", "detail": detail, "folder": None}
    else:
        ended = json.loads(said)
    since = first_request(ended["folder"]) or began
    return Cell(
        harness=harness, scenario=scenario, reason=ended["reason"], detail=ended["detail"],
        exit_code=exit_code(ended["folder"]), seconds=round((over - since).total_seconds(), 1),
        left=len(list(processes_of(done.pid))), requests=len(server.requests_of(run)),
        budget=budget,
    )  # fmt: skip


def order(harness: str, scenario: str, place: Path, budget: float) -> dict[str, Any]:
    """ORDER.json of a cell."""
    told = {
        "board": "faults", "problem": "add", "harness": harness, "model": "scripted-1",
        "provider": "scripted", "budget_seconds": budget, "variant": scenario,
    }  # fmt: skip
    return {
        "order": told, "limits": LIMITS, "runs": str((place / "runs").absolute()),
        "problems": str(ROOT / "problems"), "clis": str(default_prefix(ROOT)),
        "providers": str((place / "providers.yaml").absolute()),
    }  # fmt: skip


def first_request(run: str | None) -> datetime | None:
    """When a run's CLI first asked a model: its budget begins there; None where it never did."""
    if run is None:
        return None
    told = json.loads((Path(run) / "session.json").read_text())["first_request"]
    return None if told is None else datetime.fromisoformat(told)


def exit_code(run: str | None) -> int | None:
    """The CLI's own exit code, for comparison; None where it was killed."""
    if run is None:
        return None
    code: int | None = json.loads((Path(run) / "run.json").read_text())["exit_code"]
    return code


def read(out: Path) -> dict[tuple[str, str], Cell]:
    """What was played into a folder before."""
    path = out / MATRIX
    held = json.loads(path.read_text())["cells"] if path.is_file() else []
    cells = [Cell(**one) for one in held]
    return {(cell.harness, cell.scenario): cell for cell in cells}


def write(out: Path, cells: Mapping[tuple[str, str], Cell]) -> None:
    """Write all cells as JSON and as Markdown."""
    plain = [asdict(cells[key]) for key in sorted(cells)]
    write_text(out / MATRIX, json_text({"cells": plain}))
    write_text(out / "matrix.md", markdown(cells))


def markdown(cells: Mapping[tuple[str, str], Cell]) -> str:
    """The table in Markdown, and the sentence of each cell below it."""
    rows = [["scenario", *HARNESSES], ["---"] * (len(HARNESSES) + 1)]
    rows += [[scenario, *words] for scenario, words in _rows(cells)]
    lines = ["# How runs end, by fault and CLI", "", _about(cells), ""]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", "| cell | how it was decided |", "|---|---|"]
    for (harness, scenario), cell in sorted(cells.items()):
        detail = " ".join(cell.detail.split()).replace("|", "\\|").rstrip(".") + "."
        other = OTHERWISE.get((scenario, harness), ((), ""))[1]
        lines.append(f"| {harness}, {scenario} | {f'{detail} {other}'.strip()} |")
    return "\n".join(lines) + "\n"


def _about(cells: Mapping[tuple[str, str], Cell]) -> str:
    """What was played, and what a cell says."""
    installed = programs(default_prefix(ROOT))
    versions = ", ".join(f"{name} {one.version}" for name, one in sorted(installed.items()))
    budgets = sorted({cell.budget for cell in cells.values()})
    wrong = sum(bool(cell.wrong) for cell in cells.values())
    return (
        f"Written by `scripts/fault_matrix.py`: {len(cells)} real runs in a sandbox against the "
        f"scripted server, with a budget of {', '.join(f'{one:g}' for one in budgets)} s from the "
        f"first request; {wrong} ended otherwise than they have to. {versions}. A cell says why "
        "the run ended, after how many seconds from the first request, with which exit code of "
        "the CLI (or that it was killed), and how many processes were left."
    )


def table(cells: Mapping[tuple[str, str], Cell]) -> Table:
    """The table for a terminal; what is wrong is red."""
    made = Table("scenario", *HARNESSES, title="How runs end")
    for scenario, words in _rows(cells):
        wrong = [one is not None and bool(one.wrong) for one in _row(cells, scenario)]
        made.add_row(
            scenario,
            *(f"[red]{word}[/]" if bad else word for word, bad in zip(words, wrong, strict=True)),
        )
    return made


def _row(cells: Mapping[tuple[str, str], Cell], scenario: str) -> list[Cell | None]:
    return [cells.get((harness, scenario)) for harness in HARNESSES]


def _rows(cells: Mapping[tuple[str, str], Cell]) -> Iterator[tuple[str, list[str]]]:
    for scenario in EXPECTED:
        row = _row(cells, scenario)
        if any(row):
            yield scenario, [_words(one) if one else "" for one in row]


def _words(cell: Cell) -> str:
    code = "killed" if cell.exit_code is None else str(cell.exit_code)
    said = f"{cell.reason} {cell.seconds:.0f} s, {code}, {cell.left}"
    return f"{said}: {cell.wrong}" if cell.wrong else said


if __name__ == "__main__":
    sys.exit(main())
