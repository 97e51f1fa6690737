"""What the doctor says of GPUs, told by an object in the place of the driver's library."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.devices import nvml
from bench.doctor.form import Here, Seen, State
from bench.doctor.gpus import Gpus

HERE = Here(runs=Path("/nowhere"), environment={})


@dataclass
class Driver:
    """A library with the functions that are asked, for GPUs of one kind."""

    count: int = 1
    name: bytes = b"NVIDIA H200"
    users: tuple[int, ...] = ()
    drawing: tuple[int, ...] = ()
    reasons: int = 0
    codes: dict[str, int] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given: self.codes.get(name, 0) or self.answer(name, given)

    def answer(self, name: str, given: tuple[Any, ...]) -> int:
        asked = name.removeprefix("nvml").removeprefix("DeviceGet")
        if asked in self.numbers:
            given[-1]._obj.value = self.numbers[asked]
        match asked:
            case "HandleByIndex_v2":
                given[1]._obj.value = 7 + given[0].value
            case "UUID":
                given[1].value = b"GPU-%d" % given[0].value
            case "Name":
                given[1].value = self.name
            case "MemoryInfo":
                given[1]._obj.total = 141 << 30
            case "SystemGetDriverVersion":
                given[0].value = b"580.1"
            case "ComputeRunningProcesses_v3":
                self.tell(self.users, given)
            case "GraphicsRunningProcesses_v3":
                self.tell(self.drawing, given)
            case _:
                pass
        return 0

    @staticmethod
    def tell(pids: tuple[int, ...], given: tuple[Any, ...]) -> None:
        given[1]._obj.value = len(pids)
        for at, pid in enumerate(pids):
            given[2][at].pid = pid

    @property
    def numbers(self) -> dict[str, int]:
        return {
            "Count_v2": self.count, "CurrentClocksEventReasons": self.reasons,
            "EnforcedPowerLimit": 700_000, "PowerUsage": 75_000, "Temperature": 31,
        }  # fmt: skip


def seen(monkeypatch: pytest.MonkeyPatch, driver: Driver, nodes: Path) -> list[Seen]:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: driver)
    return list(Gpus(nodes=nodes).look(HERE))


@pytest.fixture(name="nodes")
def _nodes(tmp_path: Path) -> Path:
    (tmp_path / "nvidia0").touch()
    return tmp_path


def test_an_idle_gpu_is_told_with_all_that_an_operator_needs(
    monkeypatch: pytest.MonkeyPatch, nodes: Path
) -> None:
    (one,) = seen(monkeypatch, Driver(), nodes)
    assert (one.name, one.state, one.cure) == ("GPU 0", State.YES, "")
    assert one.seen == "NVIDIA H200, 141.0 GiB, driver 580.1, 75 of 700 W, 31 °C, GPU-7"


def test_each_gpu_has_a_row(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    names = [(one.name, one.seen[-5:]) for one in seen(monkeypatch, Driver(count=2), nodes)]
    assert names == [("GPU 0", "GPU-7"), ("GPU 1", "GPU-8")]


def test_who_uses_it_is_named(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    parent = os.getppid()
    name = Path(f"/proc/{parent}/comm").read_text().strip()
    (one,) = seen(monkeypatch, Driver(users=(parent, 4_194_999)), nodes)
    assert one.state is State.PARTLY
    assert f"in use by process {parent} ({name}) and 1 that are not seen from here" in one.seen
    assert "a run refuses a GPU that is in use" in one.cure


def test_who_draws_on_it_is_named(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    parent = os.getppid()
    name = Path(f"/proc/{parent}/comm").read_text().strip()
    (one,) = seen(monkeypatch, Driver(drawing=(parent,)), nodes)
    assert one.state is State.PARTLY
    assert f"drawn on by process {parent} ({name})" in one.seen
    assert "each grade says who drew meanwhile" in one.cure


def test_a_gpu_that_is_held_back_of_no_known_kind_or_without_a_node_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver = Driver(name=b"Toaster 3", reasons=0x40 | 0x80)
    (one,) = seen(monkeypatch, driver, tmp_path)
    assert one.state is State.PARTLY
    assert "no hardware file knows it" in one.seen
    assert "slowed down by hardware because of heat, braked by the power supply" in one.seen
    assert f"{tmp_path}/nvidia0 is missing" in one.seen
    assert "bench/hardware" in one.cure
    assert "cooling" in one.cure


def test_a_gpu_that_does_not_answer_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, nodes: Path
) -> None:
    driver = Driver(count=2, codes={"nvmlDeviceGetMemoryInfo": 15})
    rows = seen(monkeypatch, driver, nodes)
    assert [one.state for one in rows] == [State.NO, State.NO]
    assert all("nvmlDeviceGetMemoryInfo failed with code 15" in one.seen for one in rows)


@pytest.mark.parametrize("driver", [Driver(count=0), Driver(codes={"nvmlInit_v2": 9})])
def test_a_driver_without_gpus(
    monkeypatch: pytest.MonkeyPatch, nodes: Path, driver: Driver
) -> None:
    (one,) = seen(monkeypatch, driver, nodes)
    assert (one.name, one.state, one.forbids) == ("GPUs", State.NO, False)
    assert "hardware is cpu" in one.cure


def test_no_driver_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "LIBRARY", "libno-such-thing.so.1")
    (one,) = Gpus().look(HERE)
    assert (one.state, one.forbids) == (State.NO, False)
    assert one.seen.startswith("none that can be asked: libno-such-thing.so.1")
