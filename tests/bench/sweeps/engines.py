"""An engine that starts nothing: tests say how its tasks end, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.sealed import json_bytes, seal, write_whole
from bench.sweeps.driver import Clock, Driver, Wish
from bench.sweeps.executors.form import Finished
from bench.sweeps.ledger import Held, Ledger
from bench.sweeps.states import Kind
from bench.sweeps.tries import ERR, Task
from bench.sweeps.works import Work
from kbsite.errors import MachineError
from kbsite.model.status import EndReason
from tests.bench.sweeps.sweeps import Even, Ticks, put_run


@dataclass
class Engine:
    """Keeps what it was given until a test ends it."""

    running: dict[str, Task] = field(default_factory=dict)
    started: list[Task] = field(default_factory=list)
    adopted: dict[str, str | None] = field(default_factory=dict)
    called_off: list[str] = field(default_factory=list)
    over: list[Finished] = field(default_factory=list)
    rooms: dict[Kind, int] = field(default_factory=lambda: {Kind.AGENT: 99, Kind.GRADE: 99})
    broken: bool = False

    def room(self, kind: Kind) -> bool:
        return sum(task.kind is kind for task in self.running.values()) < self.rooms[kind]

    def start(self, task: Task) -> None:
        if self.broken:
            raise MachineError("this host starts nothing")
        self.started.append(task)
        self.running[task.id] = task

    def adopt(self, task: Task, gpu: str | None) -> None:
        self.adopted[task.id] = gpu

    def release(self, task_id: str) -> None:
        del self.adopted[task_id]

    def poll(self) -> Sequence[Finished]:
        over, self.over = self.over, []
        return over

    def call_off(self, task_id: str) -> None:
        self.called_off.append(task_id)

    def close(self) -> None:
        self.running.clear()

    def ends(self, task: Task, exit_code: int | None = 0, said: str = "") -> None:
        """A task is over; what else it leaves, a test has put there before."""
        if said:
            (task.folder / ERR).write_text(said)
        del self.running[task.id]
        self.over.append(Finished(id=task.id, exit_code=exit_code))


@dataclass
class Scene:
    """A driver, its clock and its engine, in one process."""

    work: Work
    ledger: Ledger
    engine: Engine
    now: Ticks
    driver: Driver
    wish: list[Wish]

    def step(self, seconds: float = 0.0) -> bool:
        self.now.wait(seconds)
        return self.driver.step()

    def held(self, key: str) -> Held:
        return self.ledger.cell(key)

    def sessions(self) -> list[Task]:
        return [task for task in self.engine.running.values() if task.kind is Kind.AGENT]

    def grades(self) -> list[Task]:
        return [task for task in self.engine.running.values() if task.kind is Kind.GRADE]

    def leaves(self, task: Task, reason: EndReason = EndReason.FINISHED) -> Path:
        """A task ends and leaves a complete run."""
        cell = self.held(task.cell).cell
        folder = put_run(self.work, cell, told={"end_reason": reason})
        self.engine.ends(task)
        return folder

    def grade(self, task: Task, status: str = "wrong", detail: str | None = None) -> None:
        """The grade of a run ends, and is written."""
        folder = self.work.board / (self.held(task.cell).run or "")
        told = {"format": 1, "status": status, "detail": detail}
        write_whole(folder / "metrics.json", json_bytes(told))
        seal(folder)
        self.engine.ends(task, 1)


@contextmanager
def scene(work: Work, *, again: bool = False, engine: Engine | None = None) -> Iterator[Scene]:
    """A driver that has looked at the disk, and has started nothing yet."""
    now, wish = Ticks(), [Wish.GO]
    latest: Callable[[], Wish] = lambda: wish[-1]  # noqa: E731
    with Ledger(work.ledger, now) as ledger:
        engine = engine or Engine()
        driver = Driver(
            work=work, ledger=ledger, executor=engine,
            clock=Clock(now=now, wait=now.wait, steady=now.steady), again=again, wish=latest,
            chance=Even(),
        )  # fmt: skip
        driver.reconcile()
        yield Scene(work, ledger, engine, now, driver, wish)
