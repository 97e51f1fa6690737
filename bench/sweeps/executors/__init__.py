"""The engines that sweeps run on; a new one is a module here and a line below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.sweeps.executors.form import Executor, Finished, Make
from bench.sweeps.executors.local import Local
from bench.sweeps.executors.on_ray import OnRay
from bench.sweeps.executors.on_slurm import OnSlurm
from bench.sweeps.sheet import Choice, Engine

__all__ = ["EXECUTORS", "Executor", "Finished", "executor"]

EXECUTORS: Final[Mapping[Engine, Make]] = {
    Engine.LOCAL: Local,
    Engine.RAY: OnRay,
    Engine.SLURM: OnSlurm,
}


def executor(choice: Choice, *, gpus: bool, name: str) -> Executor:
    """The executor that a sweep's file chooses; MachineError where it cannot be had here.

    UsageError where it does not know what the file says of it.
    """
    return EXECUTORS[choice.kind](choice, gpus=gpus, name=name)
