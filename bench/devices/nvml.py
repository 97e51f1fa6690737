"""What NVIDIA's management library says of a GPU: clocks, power, processes, counters.

By its C interface, which every driver brings. Counters are those of the whole device: whoever asks
need not be near the process that is measured, and that process cannot change them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kbsite.errors import MachineError

LIBRARY = "libnvidia-ml.so.1"

HELD_BACK: Mapping[int, str] = {
    0x08: "slowed down by hardware",
    0x20: "slowed down by software because of heat",
    0x40: "slowed down by hardware because of heat",
    0x80: "braked by the power supply",
}
"""Reasons for low clocks that no kernel is to blame for. The power limit is none of them: kernels
that use tensor cores well run into it."""

MOST_PROCESSES = 256
UUID_PREFIX = "GPU-"
"""What the library begins each UUID with; people may leave it out."""

_SM, _TEMPERATURE_GPU = 1, 0
_DRAM, _TENSOR = 10, 5
# The library writes as many as it is asked for; how long its own array is differs by version.
_MOST_METRICS = 512


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class _Metric(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint),
        ("code", ctypes.c_int),
        ("value", ctypes.c_double),
        ("names", ctypes.c_char_p * 3),
    )


class _Metrics(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("metrics", _Metric * _MOST_METRICS),
    )


class _Support(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint), ("supported", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """Which GPU it is."""

    name: str
    memory_bytes: int
    minor: int
    """The number of its node: /dev/nvidia0 is 0."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a GPU does at a moment."""

    sm_mhz: int
    reasons: int
    """Bits: why its clocks are not higher."""
    watts: float
    celsius: int


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the time between two moments, the share that parts of a GPU were busy, 0 to 1."""

    dram: float
    tensor: float


def gpus() -> tuple[str, ...]:
    """The UUIDs of the GPUs that this process may see, as the driver numbers them.

    Raises MachineError where the library is missing, or knows no driver.
    """
    library = _loaded()
    count = ctypes.c_uint()
    _call(library, "Init_v2")
    _call(library, "DeviceGetCount_v2", ctypes.byref(count))
    return tuple(_uuid(library, at) for at in range(count.value))


def _uuid(library: ctypes.CDLL, at: int) -> str:
    device, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    _call(library, "DeviceGetHandleByIndex_v2", ctypes.c_uint(at), ctypes.byref(device))
    _call(library, "DeviceGetUUID", device, name, ctypes.c_uint(len(name)))
    return name.value.decode()


def _loaded() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise MachineError(f"{LIBRARY} cannot be loaded: {error}") from error


def _call(library: ctypes.CDLL, name: str, *given: Any) -> None:
    try:
        code = getattr(library, f"nvml{name}")(*given)
    except AttributeError as error:
        raise MachineError(f"{LIBRARY} has no nvml{name}: the driver is too old") from error
    if code:
        raise MachineError(f"nvml{name} failed with code {code}")


class Nvml:
    """One GPU."""

    def __init__(self, uuid: str) -> None:
        """Raises MachineError where the library is missing, or does not know the GPU."""
        self._library = _loaded()
        self._device = ctypes.c_void_p()
        self._call("Init_v2")
        named = uuid if uuid.startswith(UUID_PREFIX) else UUID_PREFIX + uuid
        self._call("DeviceGetHandleByUUID", named.encode(), ctypes.byref(self._device))

    def look(self) -> Look:
        """What the GPU does now."""
        reasons = ctypes.c_ulonglong()
        try:
            self._ask("CurrentClocksEventReasons", reasons)
        except MachineError:
            # What drivers before version 535 call it.
            self._ask("CurrentClocksThrottleReasons", reasons)
        return Look(
            sm_mhz=self._number("ClockInfo", _SM),
            reasons=reasons.value,
            watts=self._number("PowerUsage") / 1e3,
            celsius=self._number("Temperature", _TEMPERATURE_GPU),
        )

    def processes(self) -> tuple[int, ...]:
        """Ids of the processes that compute on the GPU, as the host counts.

        Those that do so through MPS are among them, beside its server.
        """
        return self._running("Compute")

    def drawing(self) -> tuple[int, ...]:
        """Ids of the processes that draw on the GPU; empty where nobody tells.

        The driver lists them apart: who draws and does not compute is not among `processes`.
        """
        try:
            return self._running("Graphics")
        except MachineError:
            return ()

    def _running(self, kind: str) -> tuple[int, ...]:
        found = (_Process * MOST_PROCESSES)()
        count = ctypes.c_uint(MOST_PROCESSES)
        name = f"DeviceGet{kind}RunningProcesses_v3"
        self._call(name, self._device, ctypes.byref(count), found)
        return tuple(found[at].pid for at in range(count.value))

    def identity(self) -> Identity:
        """What it is called, how much memory it has, and where its node lies."""
        name = ctypes.create_string_buffer(96)
        memory = _Memory()
        self._call("DeviceGetName", self._device, name, ctypes.c_uint(len(name)))
        self._call("DeviceGetMemoryInfo", self._device, ctypes.byref(memory))
        return Identity(name.value.decode(), memory.total, self._number("MinorNumber"))

    def facts(self) -> Mapping[str, str]:
        """Driver, power limit and highest clock."""
        version = ctypes.create_string_buffer(96)
        self._call("SystemGetDriverVersion", version, ctypes.c_uint(len(version)))
        return {
            "driver": version.value.decode(),
            "power_limit_watts": f"{self._number('EnforcedPowerLimit') / 1e3:g}",
            "maximum_sm_mhz": str(self._number("MaxClockInfo", _SM)),
        }

    def counts(self) -> bool:
        """Whether the GPU has counters that can be read from here."""
        support = _Support(version=1)
        try:
            self._call("GpmQueryDeviceSupport", self._device, ctypes.byref(support))
        except MachineError:
            return False
        return bool(support.supported)

    def sample(self) -> Sample:
        """The counters as they stand."""
        return Sample(self)

    def between(self, first: Sample, second: Sample) -> Shares:
        """What was counted between two samples; they lag behind by about a tenth of a second."""
        asked = _Metrics(version=1, count=2, first=first.address, second=second.address)
        for at, number in enumerate((_DRAM, _TENSOR)):
            asked.metrics[at].id = number
        self._call("GpmMetricsGet", ctypes.byref(asked))
        return Shares(asked.metrics[0].value / 100, asked.metrics[1].value / 100)

    def _number(self, what: str, *given: int) -> int:
        found = ctypes.c_uint()
        self._ask(what, found, *given)
        return found.value

    def _ask(self, what: str, into: Any, *given: int) -> None:
        plain = [ctypes.c_uint(one) for one in given]
        self._call(f"DeviceGet{what}", self._device, *plain, ctypes.byref(into))

    def _call(self, name: str, *given: Any) -> None:
        _call(self._library, name, *given)


class Sample:
    """Counters of a GPU at a moment; their memory is given back with it."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        pointer = ctypes.c_void_p()
        nvml._call("GpmSampleAlloc", ctypes.byref(pointer))
        self.address = pointer.value
        nvml._call("GpmSampleGet", nvml._device, pointer)

    def __del__(self) -> None:
        if self.address:
            self._nvml._call("GpmSampleFree", ctypes.c_void_p(self.address))
            self.address = None
