"""Devices: a grade is alone on its GPU; where there is none, grades come one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.sweeps.executors import EXECUTORS
from bench.sweeps.executors.devices import PROGRAM, Devices, gpu_given, gpus_here
from bench.sweeps.sheet import Engine
from bench.sweeps.states import Kind
from kbsite.errors import MachineError

AGENT, GRADE = Kind.AGENT, Kind.GRADE


def test_agents_and_a_grade_are_never_on_one_gpu() -> None:
    devices = Devices(("GPU-a", "GPU-b"), 1)
    first = devices.take("s1", AGENT)
    second = devices.take("g1", GRADE)

    assert {first, second} == {"GPU-a", "GPU-b"}
    assert not devices.room(AGENT)
    assert not devices.room(GRADE)
    devices.free("s1")
    assert devices.room(AGENT)
    assert devices.take("g2", GRADE) == first
    assert not devices.room(AGENT)


def test_several_agents_may_share_a_gpu_and_a_grade_waits_for_all() -> None:
    devices = Devices(("GPU-a",), 2)
    devices.take("s1", AGENT)
    assert devices.room(AGENT)
    devices.take("s2", AGENT)
    assert not devices.room(AGENT)
    devices.free("s1")
    assert not devices.room(GRADE)
    devices.free("s2")
    assert devices.room(GRADE)


def test_agents_are_spread() -> None:
    devices = Devices(("GPU-a", "GPU-b"), 2)
    assert {devices.take("s1", AGENT), devices.take("s2", AGENT)} == {"GPU-a", "GPU-b"}


def test_without_a_gpu_grades_come_one_by_one_beside_any_number_of_agents() -> None:
    devices = Devices((), 1)
    assert [devices.take(f"s{number}", AGENT) for number in range(9)] == [None] * 9
    assert devices.take("g1", GRADE) is None
    assert not devices.room(GRADE)
    assert devices.room(AGENT)
    devices.free("g1")
    assert devices.room(GRADE)


def test_what_an_earlier_driver_started_keeps_its_gpu() -> None:
    devices = Devices(("GPU-a", "GPU-b"), 1)
    devices.occupy("s1", AGENT, "GPU-b")
    devices.occupy("s2", AGENT, "GPU-gone")
    assert devices.take("s3", AGENT) == "GPU-a"
    assert not devices.room(AGENT)
    devices.free("s1")
    assert devices.take("g1", GRADE) == "GPU-b"


def program(folder: Path, text: str, code: int = 0) -> str:
    folder.mkdir()
    made = folder / PROGRAM
    made.write_text(f"#!/bin/sh\nprintf '{text}'\nexit {code}\n")
    made.chmod(0o755)
    return str(folder)


def test_gpus_are_those_that_the_driver_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", program(tmp_path / "bin", "GPU-a\\nGPU-b\\n"))
    assert gpus_here() == ("GPU-a", "GPU-b")
    assert gpu_given({"CUDA_VISIBLE_DEVICES": "1"}) == "GPU-b"
    with pytest.raises(MachineError, match="this host has 2"):
        gpu_given({"CUDA_VISIBLE_DEVICES": "2"})


def test_an_engine_may_name_the_gpu_itself() -> None:
    assert gpu_given({"CUDA_VISIBLE_DEVICES": "GPU-x,GPU-y"}) == "GPU-x"
    with pytest.raises(MachineError, match="gave this task no GPU"):
        gpu_given({})


def test_a_host_without_a_gpu_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="hardware: cpu"):
        gpus_here()
    monkeypatch.setenv("PATH", program(tmp_path / "bin", "no devices", 9))
    with pytest.raises(MachineError, match="no devices"):
        gpus_here()


def test_each_engine_is_offered_once_and_says_what_survives() -> None:
    assert [one.kind for one in EXECUTORS] == list(Engine)
    assert all(one.survives.endswith(".") for one in EXECUTORS)
