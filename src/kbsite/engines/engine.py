"""What an engine is, and the one that there always is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kbsite.beside import one_core

Task = TypeVar("Task")
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Lost:
    """A task that was not done: whoever tried was killed, each time."""

    why: str


class Engine(Protocol):
    """Somebody who does tasks."""

    def each(
        self,
        work: Callable[[Task], Given],
        tasks: Sequence[Task],
        weights: Sequence[int],
        told: Callable[[int, Given | Lost], None],
        meanwhile: Callable[[int], None] | None = None,
    ) -> None:
        """Do each of the tasks, and tell its number and what the work gave as it comes.

        A weight says how long a task takes, in bytes of transcript that take as long. What the work
        raises is raised here. `meanwhile` is what this process can do while others work, given how
        many cores are left to it; it need not be called.
        """
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """The process that asks, alone."""

    def each(
        self,
        work: Callable[[Task], Given],
        tasks: Sequence[Task],
        weights: Sequence[int],  # noqa: ARG002 - they are done in their order
        told: Callable[[int, Given | Lost], None],
        meanwhile: Callable[[int], None] | None = None,  # noqa: ARG002 - nobody else works
    ) -> None:
        """Do one task after the other."""
        with one_core():
            for number, task in enumerate(tasks):
                told(number, work(task))
