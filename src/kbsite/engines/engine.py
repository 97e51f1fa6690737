"""What an engine is, and the one that there always is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from kbsite.beside import one_core

Task = TypeVar("Task")
Given = TypeVar("Given")

COLLECT_AFTER = 400_000
"""Objects that are made, and not dropped, before the next search for cycles of them.

A build makes many objects and hardly any cycle: looking for those often is a tenth of it.
"""


class Lost(Struct, frozen=True):
    """A task that was not done: whoever tried was killed, each time."""

    why: str


class Afar(Protocol):
    """Does tasks where no file of this process is seen: plain data, sent once to whoever works."""

    def do(self, told: Any, folder: Path) -> Any:
        """Do a task whose files lie in a folder, named by their numbers; what is sent back."""
        ...


class Parcel(Struct, frozen=True):
    """A task, as it is sent to somebody who sees no file of this process."""

    told: object
    """What there is to know of it: plain data, in which files go by their numbers."""
    files: Sequence[Callable[[], bytes]] = ()
    """What reads them here, each by its number; what they hold is sent along."""


class Errand(Struct, Generic[Task, Given], frozen=True):
    """Work that can be done here, in a copy of this process, or afar."""

    here: Callable[[Task], Given]
    afar: Callable[[], Afar]
    """Who does it afar; made where somebody is sent."""
    travels: Callable[[Task], bool]
    """Whether a task is worth sending; the others are done here."""
    parcel: Callable[[Task], Parcel]
    received: Callable[[Task, Any], Given]
    """What that comes to which was sent back."""

    def __call__(self, task: Task) -> Given:
        """Do a task here."""
        return self.here(task)


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
        raises is raised here. Work that is an `Errand` may be done where no disk is shared.
        `meanwhile` is what this process can do while others work, given how many cores are left to
        it; it need not be called.
        """
        ...


class Here(Struct, frozen=True):
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


def packed_error(error: Exception) -> bytes:
    """What was raised, with where it was, to be raised in another process."""
    import pickle
    import traceback

    told = "".join(traceback.format_exception(error))
    with suppress(Exception):
        error.add_note(told)
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301 - it was written here; not every error comes back
        return data
    return pickle.dumps(RuntimeError(told))
