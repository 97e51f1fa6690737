"""Devices: a grade is alone on its GPU; where there is none, grades come one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.sweeps.executors import EXECUTORS, devices
from bench.sweeps.executors.devices import Devices, gpu_given, gpus_here
from bench.sweeps.executors.local import Local
from bench.sweeps.sheet import Choice, Engine
from bench.sweeps.states import Kind
from bench.sweeps.tries import Task
from kbsite.errors import MachineError, UsageError

AGENT, GRADE = Kind.AGENT, Kind.GRADE


def test_agents_and_a_grade_are_never_on_one_gpu() -> None:
    made = Devices(("GPU-a", "GPU-b"), 1)
    first = made.take("s1", AGENT)
    second = made.take("g1", GRADE)

    assert {first, second} == {"GPU-a", "GPU-b"}
    assert not made.room(AGENT)
    assert not made.room(GRADE)
    made.free("s1")
    assert made.room(AGENT)
    assert made.take("g2", GRADE) == first
    assert not made.room(AGENT)


def test_several_agents_may_share_a_gpu_and_a_grade_waits_for_all() -> None:
    made = Devices(("GPU-a",), 2)
    made.take("s1", AGENT)
    assert made.room(AGENT)
    made.take("s2", AGENT)
    assert not made.room(AGENT)
    made.free("s1")
    assert not made.room(GRADE)
    made.free("s2")
    assert made.room(GRADE)


def test_agents_are_spread() -> None:
    made = Devices(("GPU-a", "GPU-b"), 2)
    assert {made.take("s1", AGENT), made.take("s2", AGENT)} == {"GPU-a", "GPU-b"}


def test_without_a_gpu_grades_come_one_by_one_beside_any_number_of_agents() -> None:
    made = Devices((), 1)
    assert [made.take(f"s{number}", AGENT) for number in range(9)] == [None] * 9
    assert made.take("g1", GRADE) is None
    assert not made.room(GRADE)
    assert made.room(AGENT)
    made.free("g1")
    assert made.room(GRADE)


def test_what_an_earlier_driver_started_keeps_its_gpu() -> None:
    made = Devices(("GPU-a", "GPU-b"), 1)
    made.occupy("s1", AGENT, "GPU-b")
    made.occupy("s2", AGENT, "GPU-gone")
    assert made.take("s3", AGENT) == "GPU-a"
    assert not made.room(AGENT)
    made.free("s1")
    assert made.take("g1", GRADE) == "GPU-b"


def test_a_number_that_an_engine_gives_is_the_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: ("GPU-a", "GPU-b"))
    assert gpus_here() == ("GPU-a", "GPU-b")
    assert gpu_given({"CUDA_VISIBLE_DEVICES": "1"}) == "GPU-b"
    with pytest.raises(MachineError, match="this host has 2"):
        gpu_given({"CUDA_VISIBLE_DEVICES": "2"})


def test_an_engine_may_name_the_gpu_itself() -> None:
    assert gpu_given({"CUDA_VISIBLE_DEVICES": "GPU-x,GPU-y"}) == "GPU-x"
    with pytest.raises(MachineError, match="gave this task no GPU"):
        gpu_given({})


def test_a_host_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpus", tuple)
    with pytest.raises(MachineError, match="hardware: cpu"):
        gpus_here()


def test_gpus_are_those_of_the_host_or_those_that_the_sweep_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: ("GPU-a", "GPU-b"))
    rooms = []
    for named in (None, ("GPU-b",)):
        engine = Local(Choice(gpus=named), gpus=True, name="night")
        for number in range(2):
            if engine.room(AGENT):
                engine.adopt(Task(folder=Path(f"s{number}"), cell="c", kind=AGENT, command=()),
                             ("GPU-b", "GPU-a")[number])  # fmt: skip
        rooms.append(engine.room(GRADE))
        engine.release("s0")
        assert engine.room(GRADE)
    assert rooms == [False, False]


def test_a_gpu_that_this_host_does_not_have_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: ("GPU-a", "GPU-b"))
    Local(Choice(gpus=("b", "GPU-a")), gpus=True, name="night")
    with pytest.raises(UsageError, match=r"executor.gpus: .* no GPU 0; it has GPU-a, GPU-b"):
        Local(Choice(gpus=("GPU-a", "0")), gpus=True, name="night")


def test_each_engine_that_a_file_can_name_is_there() -> None:
    assert list(EXECUTORS) == list(Engine)
