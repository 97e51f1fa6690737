"""Sweeps to start tests from: a file, a work, runs as a supervisor leaves them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import yaml

from bench.providers import Dialect
from bench.proxy.form import Exchange, Outcome
from bench.sealed import json_bytes, write_whole
from bench.sweeps.cells import Cell
from bench.sweeps.sheet import Sweep, read_sweep
from bench.sweeps.works import Work
from kbsite.model.run import Run
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from tests.bench.sweeps.drive import work
from tests.bench.toys import TOY

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

SHEET: dict[str, Any] = {
    "board": "night",
    "hardware": "cpu",
    "problems": ["toy"],
    "contenders": [{"harness": "codex", "model": "works", "provider": "here"}],
    "budget_seconds": 60.0,
    "retries": {"most": 2, "lost": 3, "backoff_seconds": 100.0, "longest_seconds": 1000.0},
}


def write_sheet(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**SHEET, **changes}, sort_keys=False))
    return path


def sheet(folder: Path, **changes: Any) -> Sweep:
    return read_sweep(write_sheet(folder / "night.yaml", **changes))


def contender(**changes: Any) -> dict[str, Any]:
    return {**SHEET["contenders"][0], **changes}


def works(home: Path, **changes: Any) -> Work:
    """A sweep on disk, with its problem, and stand-ins for what it starts."""
    problems = home / "problems"
    if not problems.exists():
        shutil.copytree(TOY, problems / "toy")
    return work(write_sheet(home / "night.yaml", **changes), home / "runs", problems)


@dataclass
class Ticks:
    """A clock that goes when it is told to."""

    at: float = 1000.0
    set_back: float = 0.0

    def __call__(self) -> float:
        return self.at - self.set_back

    def steady(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds


class Even(Random):
    """Chance without any."""

    def random(self) -> float:
        return 0.0


def exchange(status: int | None = 200, **told: Any) -> str:
    """A line of a proxy's log; an answer of status 400 or more is an error."""
    wrong = status is not None and status >= 400
    made = Exchange(
        number=1, started=STARTED, seconds=1.0, first_byte_seconds=0.1, method="POST",
        path="/v1/responses", dialect=Dialect.RESPONSES, model="works", answered_by="works",
        status=status, outcome=Outcome.ERROR if wrong else Outcome.COMPLETE, stop=None,
        request_id=None,
    )  # fmt: skip
    return msgspec.json.encode(replace(made, **told)).decode() + "\n"


def put_run(
    made: Work, cell: Cell, *, told: Mapping[str, Any] | None = None, ordered: bool = True,
    solution: bool = True, files: Mapping[str, str] | None = None,
) -> Path:  # fmt: skip
    """A complete run of a cell; `told` is what run.json says otherwise."""
    who, sweep = cell.contender, made.sweep
    number = len(list(made.board.glob("2026*"))) if made.board.is_dir() else 0
    run_id = f"20260102_0304{number:02d}_{who.harness}_{who.model}_{cell.problem}"
    partial = new_run_folder(made.board, run_id)
    if ordered:
        write_whole(partial / "order.json", json_bytes({"cell": cell.key}))
    if solution:
        (partial / "solution.py").write_text("def solve(x, w, b, y): ...\n")
    for name, text in (files or {}).items():
        (partial / name).write_text(text)
    usual = Run(
        format=1, id=run_id, board=sweep.board, problem=cell.problem, harness=who.harness,
        problem_hash=cell.problem_hash, prompt_hash=None, harness_version="1", model=who.model,
        effort=who.effort, variant=who.variant, provider=who.provider, hardware=sweep.hardware,
        budget_seconds=sweep.budget_seconds, started=STARTED + timedelta(seconds=number),
        ended=STARTED + timedelta(seconds=number + 30), end_reason=EndReason.FINISHED,
        usage=Usage(input=1_000_000, output=100_000),
    )  # fmt: skip
    return complete(partial, replace(usual, **(told or {})), None)
