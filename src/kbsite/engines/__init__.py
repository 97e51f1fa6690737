"""What the tasks of a build are done by: this process alone, or copies of it.

A task is plain data, and what is done with each is a function of it that changes nothing but files:
so it is the same wherever it is done, and in which order.
"""

from __future__ import annotations

import os

from kbsite.beside import can_copy, cores
from kbsite.engines.copies import Copies
from kbsite.engines.engine import Engine, Here, Lost
from kbsite.errors import UsageError

__all__ = ["Engine", "Here", "Lost", "engine_of"]

JOBS = "KBSITE_JOBS"
"""The environment variable that says how many processes build."""


def engine_of(jobs: int = 0, otherwise: int = 0) -> Engine:
    """What builds with so many processes.

    For 0 it is as many as KBSITE_JOBS says, else `otherwise`, and for 0 one for each core.
    """
    wanted = jobs or _told() or otherwise or cores()
    return Copies(wanted) if wanted > 1 and can_copy() else Here()


def _told() -> int:
    told = os.environ.get(JOBS, "")
    if told and not (told.isascii() and told.isdigit() and int(told)):
        raise UsageError(f"{JOBS}: expected how many processes build, 1 or more, got {told!r}")
    return int(told or 0)
