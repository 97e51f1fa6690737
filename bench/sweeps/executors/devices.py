"""Which task has which device of a host: a grade has its device for itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.devices.nvml import UUID_PREFIX, gpus
from bench.sweeps.states import Kind
from kbsite.errors import MachineError, UsageError


@dataclass
class _Device:
    gpu: str | None
    """UUID; None stands for the processors of a host."""
    agents: set[str] = field(default_factory=set)
    graders: set[str] = field(default_factory=set)


class Devices:
    """The devices of a host and the tasks on them."""

    def __init__(self, gpus: tuple[str, ...], agents_per_gpu: int) -> None:
        self._shared = agents_per_gpu
        self._devices = [_Device(gpu) for gpu in gpus] or [_Device(None)]

    def _fits(self, device: _Device, kind: Kind) -> bool:
        if device.graders:
            # On processors alone sessions go on beside a grade: they wait for a model, mostly.
            return kind is Kind.AGENT and device.gpu is None
        if kind is Kind.GRADE:
            return device.gpu is None or not device.agents
        return device.gpu is None or len(device.agents) < self._shared

    def room(self, kind: Kind) -> bool:
        """Whether some device can take a task of a kind."""
        return any(self._fits(device, kind) for device in self._devices)

    def take(self, task_id: str, kind: Kind) -> str | None:
        """Give a task the device that has least to do; the UUID of its GPU, if it is one."""
        free = [device for device in self._devices if self._fits(device, kind)]
        chosen = min(free, key=lambda device: len(device.agents))
        self._put(chosen, task_id, kind)
        return chosen.gpu

    def occupy(self, task_id: str, kind: Kind, gpu: str | None) -> None:
        """Note that a task has a device already; nothing if that is none of these."""
        for device in self._devices:
            if device.gpu == gpu:
                self._put(device, task_id, kind)

    def free(self, task_id: str) -> None:
        """A task has left its device."""
        for device in self._devices:
            device.agents.discard(task_id)
            device.graders.discard(task_id)

    def _put(self, device: _Device, task_id: str, kind: Kind) -> None:
        (device.graders if kind is Kind.GRADE else device.agents).add(task_id)


def gpus_here() -> tuple[str, ...]:
    """The UUIDs of the GPUs that this host lets us use; MachineError if there are none."""
    found = gpus()
    if not found:
        raise MachineError("this host has no GPU; `hardware: cpu` needs none")
    return found


def gpus_named(names: Sequence[str]) -> tuple[str, ...]:
    """GPUs that a sweep names; UsageError where this host has no such GPU.

    Every task on one that is not there would fail, and count against its cell.
    """
    there = gpus_here()
    known = {one.removeprefix(UUID_PREFIX) for one in there}
    for name in names:
        if name.removeprefix(UUID_PREFIX) not in known:
            has = ", ".join(there)
            raise UsageError(f"executor.gpus: this host has no GPU {name}; it has {has}")
    return tuple(names)


def gpu_given(environment: Mapping[str, str] = os.environ) -> str:
    """The UUID of the GPU that an engine gave to this process; MachineError if it gave none."""
    first = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if not first:
        raise MachineError("the engine gave this task no GPU: CUDA_VISIBLE_DEVICES is empty")
    if not first.isdigit():
        return first
    there = gpus_here()
    if int(first) >= len(there):
        raise MachineError(f"the engine gave this task GPU {first}; this host has {len(there)}")
    return there[int(first)]
