"""The engines that sweeps run on; a new one is a module here and a line below."""

from __future__ import annotations

from bench.sweeps.executors.form import Executor, Finished, Offered
from bench.sweeps.executors.local import Local
from bench.sweeps.executors.on_ray import OnRay
from bench.sweeps.executors.on_slurm import OnSlurm
from bench.sweeps.sheet import Choice, Engine

__all__ = ["EXECUTORS", "Executor", "Finished", "Offered", "executor"]

EXECUTORS: tuple[Offered, ...] = (
    Offered(
        kind=Engine.LOCAL,
        make=Local,
        survives="They go on, and the next driver takes them up.",
    ),
    Offered(
        kind=Engine.RAY,
        make=OnRay,
        survives="Ray ends them with their job, and the next driver starts them again.",
    ),
    Offered(
        kind=Engine.SLURM,
        make=OnSlurm,
        survives="They go on, and the next driver takes them up.",
    ),
)


def executor(choice: Choice, *, gpus: bool, name: str) -> Executor:
    """The executor that a sweep's file chooses; MachineError where it cannot be had here.

    UsageError where it does not know what the file says of it.
    """
    offered = next(one for one in EXECUTORS if one.kind is choice.kind)
    return offered.make(choice, gpus=gpus, name=name)
