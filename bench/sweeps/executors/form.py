"""What an engine has to offer, to start the work of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.sweeps.sheet import Choice
from bench.sweeps.states import Kind
from bench.sweeps.tries import Task


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A task that its engine does not know as running any more."""

    id: str
    exit_code: int | None
    """Of what was started; None where nobody knows it, negative for a signal."""
    detail: str = ""
    """What the engine says of it, if anything."""


class Executor(Protocol):
    """Starts tasks, in no order of its own, and tells which are over. It never starts one again."""

    def room(self, kind: Kind) -> bool:
        """Whether one more task of a kind may be started now."""
        ...

    def start(self, task: Task) -> None:
        """Start a task; MachineError where this engine cannot start any."""
        ...

    def adopt(self, task: Task, gpu: str | None) -> None:
        """Count a task that an earlier driver started as running here, until `release`."""
        ...

    def release(self, task_id: str) -> None:
        """An adopted task is over."""
        ...

    def poll(self) -> Sequence[Finished]:
        """The tasks started here that ended since this was asked last."""
        ...

    def call_off(self, task_id: str) -> None:
        """End, by the engine's own means, what was asked to end and did not; nothing if over."""
        ...

    def close(self) -> None:
        """Let go of the engine; what runs goes on where the engine lets it."""
        ...


class Make(Protocol):
    """Makes the executor of an engine."""

    def __call__(self, choice: Choice, *, gpus: bool, name: str) -> Executor:
        """An executor; `gpus` says whether tasks need one, `name` names the sweep.

        MachineError where something that it needs is missing here, UsageError where the choice
        is none.
        """
        ...


def on_a_line(error: Exception) -> str:
    """What a library says of what went wrong, however many lines it takes for it."""
    return " ".join(str(error).split())
