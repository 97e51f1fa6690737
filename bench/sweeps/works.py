"""Where a sweep's own files lie, and the command lines that its cells become."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.providers import Provider
from bench.records import plain
from bench.running.form import Order, Places, SessionLimits
from bench.sweeps.cells import Cell
from bench.sweeps.sheet import CPU, Sweep
from bench.sweeps.states import Kind
from bench.sweeps.tries import HIDDEN, ORDER_PLACE, Task
from kbsite.errors import InputError
from kbsite.store.files import folder_digest
from kbsite.store.problems import PROBLEM


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What is started for a try; tests put others in their place."""

    supervisor: tuple[str, ...] = (sys.executable, "-m", "bench.running", ORDER_PLACE)
    grader: tuple[str, ...] = (sys.executable, "-m", "bench", "grade")


@dataclass(frozen=True, kw_only=True)
class Work:
    """A sweep and all that it reads and writes."""

    name: str
    """Of its file, without the ending."""
    sweep: Sweep
    places: Places
    providers: Mapping[str, Provider]
    providers_file: Path | None = None
    tools: Tools = field(default_factory=Tools)

    @property
    def board(self) -> Path:
        """The folder that its runs go to."""
        return self.places.runs / self.sweep.board

    @property
    def ledger(self) -> Path:
        """The file of its ledger."""
        return self.board / HIDDEN / f"{self.name}.sqlite"

    @property
    def lock(self) -> Path:
        """The file that its driver locks."""
        return self.board / HIDDEN / f"{self.name}.lock"

    @property
    def tries(self) -> Path:
        """Folder of its tries."""
        return self.board / HIDDEN / self.name / "tries"

    @property
    def aside(self) -> Path:
        """Where runs go that were broken off."""
        return self.board / HIDDEN / self.name / "aside"

    @property
    def gpus(self) -> bool:
        """Whether its sessions and grades need a GPU."""
        return self.sweep.hardware != CPU

    def hashes(self) -> dict[str, str]:
        """The hashes of its problems; InputError for a problem that is not there."""
        found = {}
        for name in self.sweep.problems:
            folder = self.places.problems / name
            if not (folder / PROBLEM).is_file():
                raise InputError("no such problem; `problems` of the sweep names it", path=folder)
            found[name] = folder_digest(folder)
        return found

    def slots(self, provider: str) -> int:
        """Sessions that a provider takes at once."""
        return self.sweep.slots.get(provider, self.providers[provider].slots)

    @property
    def session_seconds(self) -> float:
        """How long a session takes at most, until it is ended."""
        return self.sweep.budget_seconds + self.sweep.limits.first_request_seconds

    def session(self, cell: Cell) -> Task:
        """A new try of a cell's session."""
        sweep, who = self.sweep, cell.contender
        order = Order(
            board=sweep.board, problem=cell.problem, harness=who.harness, model=who.model,
            provider=who.provider, effort=who.effort, variant=who.variant,
            budget_seconds=sweep.budget_seconds, hardware=sweep.hardware, cell=cell.key,
        )  # fmt: skip
        told = {
            "order": plain(order),
            "runs": str(self.places.runs.absolute()),
            "problems": str(self.places.problems.absolute()),
            "clis": str(self.places.clis.absolute()),
            "providers": str(self.providers_file.absolute()) if self.providers_file else None,
            "limits": plain(self._limits()),
            "sandbox": sweep.sandbox,
            "problem_hash": cell.problem_hash,
        }
        return Task(
            folder=self._folder(cell, Kind.AGENT), cell=cell.key, kind=Kind.AGENT,
            command=self.tools.supervisor, order=told, provider=who.provider, gpu=self.gpus,
            board=self.board.absolute(),
        )  # fmt: skip

    def _limits(self) -> SessionLimits:
        """Those of the sweep; a runner that finds others on its GPU has to know that it may."""
        shared = self.sweep.executor.agents_per_gpu > 1
        return replace(self.sweep.limits, share_gpu=True) if shared else self.sweep.limits

    def grade(self, cell: Cell, run: str) -> Task:
        """A new try of the grade of a cell's run."""
        where = ("--problems", str(self.places.problems.absolute()),
                 "--runs", str(self.places.runs.absolute()))  # fmt: skip
        on = ("--device", "cuda", "--hardware", self.sweep.hardware) if self.gpus else (
            "--device", "cpu")  # fmt: skip
        path = str((self.board / run).absolute())
        return Task(
            folder=self._folder(cell, Kind.GRADE), cell=cell.key, kind=Kind.GRADE,
            command=(*self.tools.grader, path, *where, *on), gpu=self.gpus,
            board=self.board.absolute(), run=run,
        )  # fmt: skip

    def _folder(self, cell: Cell, kind: Kind) -> Path:
        return self.tries.absolute() / f"{cell.key}-{kind.value}-{secrets.token_hex(4)}"
