"""Tasks done by the nodes of a Ray cluster that is there; no disk is shared with them.

A task goes out with the bytes of its files, and what it made comes back as bytes: this process
alone reads runs and writes the site. Whoever can reach a cluster can have it run code, and this
process unpacks what its nodes send: they are trusted as this machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeVar

from kbsite.beside import one_core
from kbsite.engines import local
from kbsite.engines.engine import Engine, Errand, Here, Lost
from kbsite.errors import MachineError

Task = TypeVar("Task")
Given = TypeVar("Given")

LEAST = 10_000_000
"""Weight of all tasks from which on a cluster is worth its start: two or three seconds."""


def engine(jobs: int) -> Engine:
    """What has so many tasks under way on a cluster; for 0, two for each of its processors."""
    if find_spec("ray") is None:
        raise MachineError("ray cannot be imported; install it with: pip install 'kbsite[ray]'")
    return OnRay(jobs)


@dataclass(slots=True)
class OnRay:
    """A cluster, joined where the tasks take long enough."""

    jobs: int = 0
    _joined: bool = False

    def each(
        self,
        work: Callable[[Task], Given],
        tasks: Sequence[Task],
        weights: Sequence[int],
        told: Callable[[int, Given | Lost], None],
        meanwhile: Callable[[int], None] | None = None,
    ) -> None:
        """Do the tasks; one whose process was killed is begun a second time, and then lost."""
        if sum(weights) < LEAST or not isinstance(work, Errand):
            # Who has joined a cluster has threads that a copy of it would miss.
            near = Here() if self._joined else local.engine(0)
            near.each(work, tasks, weights, told, meanwhile)
            return
        from kbsite.engines import ray_round

        if not self._joined:
            ray_round.join()
            self._joined = True
        with one_core():
            ray_round.Round(work, tasks, weights, told, self.jobs).go(meanwhile)
