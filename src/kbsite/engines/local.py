"""Processes of this machine: the one that builds, or copies of it."""

from __future__ import annotations

import os

from kbsite.beside import can_copy, cores
from kbsite.engines.copies import Copies
from kbsite.engines.engine import Engine, Here
from kbsite.errors import UsageError

JOBS = "KBSITE_JOBS"
"""The environment variable that says how many processes build."""


def engine(jobs: int) -> Engine:
    """What builds with so many processes; for 0 it is one for each core."""
    wanted = jobs or cores()
    return Copies(wanted) if wanted > 1 and can_copy() else Here()


def told_jobs() -> int:
    """How many processes the environment says; 0 where it does not."""
    told = os.environ.get(JOBS, "")
    if told and not (told.isascii() and told.isdigit() and int(told)):
        raise UsageError(f"{JOBS}: expected how many processes build, 1 or more, got {told!r}")
    return int(told or 0)
