"""The driver's management library, played by an object with its C functions."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from bench.devices import nvml
from bench.devices.nvml import Identity, Look, Nvml, Shares, gpus
from kbsite.errors import MachineError

NUMBERS = {
    "nvmlDeviceGetPowerUsage": 312_500,
    "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    "nvmlDeviceGetMaxClockInfo": 1980,
    "nvmlDeviceGetClockInfo": 1755,
    "nvmlDeviceGetTemperature": 47,
    "nvmlDeviceGetMinorNumber": 3,
    "nvmlDeviceGetCurrentClocksEventReasons": 0x24,
}


class Library:
    """Answers as the real one does: 0, and a number where the last argument points."""

    def __init__(self, **codes: int) -> None:
        self.codes = codes
        self.asked: list[bytes] = []
        self.freed = 0
        self.percents = {10: 84.95, 5: 21.5}

    def __getattr__(self, name: str) -> Any:
        if name in self.codes:
            return lambda *_: self.codes[name]
        if name in NUMBERS:
            return lambda *given: self._write(given[-1], NUMBERS[name])
        if name not in self.known():
            raise AttributeError(name)
        return lambda *given: self._known(name, given)

    @staticmethod
    def known() -> set[str]:
        return {
            "nvmlInit_v2", "nvmlDeviceGetHandleByUUID", "nvmlSystemGetDriverVersion",
            "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlGpmQueryDeviceSupport",
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
            "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
            "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo",
            "nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmSampleFree", "nvmlGpmMetricsGet",
        }  # fmt: skip

    def _write(self, pointer: Any, number: int) -> int:
        pointer._obj.value = number
        return 0

    def _known(self, name: str, given: tuple[Any, ...]) -> int:
        match name:
            case "nvmlDeviceGetHandleByUUID":
                self.asked.append(given[0])
            case "nvmlDeviceGetCount_v2":
                given[0]._obj.value = 2
            case "nvmlDeviceGetHandleByIndex_v2":
                given[1]._obj.value = 100 + given[0].value
            case "nvmlDeviceGetUUID":
                given[1].value = b"GPU-%d" % given[0].value
            case "nvmlSystemGetDriverVersion":
                given[0].value = b"580.1"
            case "nvmlGpmQueryDeviceSupport":
                given[1]._obj.supported = 1
            case "nvmlGpmSampleAlloc":
                given[0]._obj.value = 4096
            case "nvmlGpmSampleFree":
                self.freed += 1
            case "nvmlGpmMetricsGet":
                asked = given[0]._obj
                for at in range(asked.count):
                    asked.metrics[at].value = self.percents[asked.metrics[at].id]
            case _:
                self._identity(name, given)
                self._running(name, given)
        return 0

    @staticmethod
    def _running(name: str, given: tuple[Any, ...]) -> None:
        match name:
            case "nvmlDeviceGetComputeRunningProcesses_v3":
                given[1]._obj.value = 2
                given[2][0].pid, given[2][1].pid = 7, 9
            case "nvmlDeviceGetGraphicsRunningProcesses_v3":
                given[1]._obj.value = 1
                given[2][0].pid = 8
            case _:
                pass

    @staticmethod
    def _identity(name: str, given: tuple[Any, ...]) -> None:
        match name:
            case "nvmlDeviceGetName":
                given[1].value = b"NVIDIA H200"
            case "nvmlDeviceGetMemoryInfo":
                given[1]._obj.total, given[1]._obj.used = 141 << 30, 5
            case _:
                pass


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: found)
    return found


def test_a_gpu_is_found_by_its_id(library: Library) -> None:
    Nvml("69ba-d052")
    Nvml("GPU-69ba-d052")
    assert library.asked == [b"GPU-69ba-d052"] * 2


@pytest.mark.usefixtures("library")
def test_the_gpus_of_a_machine_are_told_by_their_ids() -> None:
    assert gpus() == ("GPU-100", "GPU-101")


@pytest.mark.usefixtures("library")
def test_a_gpu_tells_what_it_is_and_where_its_node_lies() -> None:
    assert Nvml("1").identity() == Identity("NVIDIA H200", 141 << 30, 3)


def test_a_library_without_a_driver_is_told(library: Library) -> None:
    library.codes["nvmlInit_v2"] = 9
    with pytest.raises(MachineError, match="nvmlInit_v2 failed with code 9"):
        gpus()


def test_a_look_tells_clock_reasons_watts_and_heat(library: Library) -> None:
    assert library.asked == []
    assert Nvml("x").look() == Look(sm_mhz=1755, reasons=0x24, watts=312.5, celsius=47)


def test_an_older_driver_calls_reasons_otherwise(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.codes["nvmlDeviceGetCurrentClocksEventReasons"] = 13
    monkeypatch.setitem(NUMBERS, "nvmlDeviceGetCurrentClocksThrottleReasons", 0x8)
    assert Nvml("x").look().reasons == 0x8


@pytest.mark.usefixtures("library")
def test_processes_and_facts() -> None:
    gpu = Nvml("x")
    assert gpu.processes() == (7, 9)
    assert gpu.drawing() == (8,)
    assert gpu.facts() == {
        "driver": "580.1", "power_limit_watts": "700", "maximum_sm_mhz": "1980",
    }  # fmt: skip


def test_where_a_gpu_tells_of_no_graphics_nobody_draws(library: Library) -> None:
    library.codes["nvmlDeviceGetGraphicsRunningProcesses_v3"] = 3
    assert Nvml("x").drawing() == ()


def test_counters_are_shares_of_the_time_between_two_samples(library: Library) -> None:
    gpu = Nvml("x")
    assert gpu.counts()
    first, second = gpu.sample(), gpu.sample()
    assert gpu.between(first, second) == Shares(dram=0.8495, tensor=0.215)
    del first, second
    assert library.freed == 2


@pytest.mark.parametrize("code", [3, 13])
def test_a_gpu_without_counters_is_no_error(library: Library, code: int) -> None:
    library.codes["nvmlGpmQueryDeviceSupport"] = code
    assert not Nvml("x").counts()


def test_a_failure_names_the_function_and_its_code(library: Library) -> None:
    library.codes["nvmlDeviceGetHandleByUUID"] = 6
    with pytest.raises(MachineError, match="nvmlDeviceGetHandleByUUID failed with code 6"):
        Nvml("x")


def test_a_function_that_the_driver_lacks_is_named(library: Library) -> None:
    gpu = Nvml("x")
    with pytest.raises(MachineError, match="has no nvmlDeviceGetNothing"):
        gpu._call("DeviceGetNothing")
    assert library.asked


def test_a_machine_without_the_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "LIBRARY", "libno-such-thing.so.1")
    with pytest.raises(MachineError, match="libno-such-thing"):
        Nvml("x")
    with pytest.raises(MachineError, match="libno-such-thing"):
        gpus()
