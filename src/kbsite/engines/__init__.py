"""What the tasks of a build are done by: this process, copies of it, or the nodes of a cluster.

A task is plain data, and what is done with each is a function of it that changes nothing but files:
so it is the same wherever it is done, and in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kbsite.engines import local, on_ray
from kbsite.engines.engine import Afar, Engine, Errand, Here, Lost, Parcel
from kbsite.errors import UsageError

__all__ = ["ENGINES", "LOCAL", "Afar", "Engine", "Errand", "Here", "Lost", "Parcel", "engine_of"]


class EngineModule(Protocol):
    """Where tasks can be done."""

    def engine(self, jobs: int) -> Engine:
        """What does so many tasks at once; for 0, as many as there are cores for."""
        ...


LOCAL = "local"
"""The engine of a build that says nothing else."""

ENGINES: Mapping[str, EngineModule] = {LOCAL: local, "ray": on_ray}
"""By the name that --engine and kbsite.yaml have for each."""


def engine_of(jobs: int = 0, otherwise: int = 0, named: str = "") -> Engine:
    """What builds: the engine of this name, of which there is one without.

    It does so many tasks at once; for 0 as many as KBSITE_JOBS says, else `otherwise`, and for 0
    one for each core.
    """
    module = ENGINES.get(named or LOCAL)
    if module is None:
        raise UsageError(f"{named!r} is no engine; expected one of {', '.join(ENGINES)}")
    return module.engine(jobs or local.told_jobs() or otherwise)
