"""Kinds of hardware that solutions are graded on; a new one is a module here and a line below."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.devices.cpu import Cpu
from bench.devices.cuda import Cuda
from bench.devices.device import Agreement, Arena, Device, Watch

__all__ = ["DEVICES", "Agreement", "Arena", "Device", "Watch"]

DEVICES: Mapping[str, Callable[[], Device]] = {"cuda": Cuda, "cpu": Cpu}
"""By name, what is preferred first; made when it is used, so that nothing is asked of hardware that
is not there."""
