"""What a run records of its machine, and a GPU that an agent gets: idle, and of the right kind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.devices.nvml import Identity
from bench.running import hosts
from bench.running.form import Order
from bench.running.hosts import Gpu, check_hardware, gpu, host
from bench.running.processor import Processor
from bench.running.record import hidden
from kbsite.errors import MachineError, UsageError

UUID = "GPU-5b0f1c8e-0000-0000-0000-000000000001"


@dataclass
class Played:
    """The driver's management library, played."""

    name: str = "NVIDIA H200"
    used: Sequence[int] = ()

    def __call__(self, uuid: str) -> Played:
        assert uuid == UUID
        return self

    def identity(self) -> Identity:
        return Identity(self.name, 141 << 30, 3)

    def processes(self) -> Sequence[int]:
        return self.used

    def facts(self) -> dict[str, str]:
        return {"driver": "580.1"}


@pytest.fixture(name="played")
def _played(monkeypatch: pytest.MonkeyPatch) -> Played:
    made = Played()
    monkeypatch.setattr(hosts, "Nvml", made)
    return made


def test_an_idle_gpu_of_the_right_kind_is_given(played: Played) -> None:
    found = gpu(UUID, "h200-sxm")
    assert (found.name, found.memory_bytes, found.driver) == (played.name, 141 << 30, "580.1")
    assert gpu(UUID, None) == found


def test_nodes_are_those_of_this_gpu_alone(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_char_device", lambda _: True)
    names = {path.name for path in gpu(UUID, None).devices}
    assert "nvidia3" in names
    assert not {"nvidia0", "nvidia1", "nvidia2"} & names
    assert played.used == ()


def test_a_busy_gpu_is_refused_unless_it_may_be_shared(played: Played) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        played.used = (1, other.pid)
        with pytest.raises(MachineError, match=r"is in use by process 1 \("):
            gpu(UUID, None)
        other.kill()
    assert gpu(UUID, None, shared=True).name == "NVIDIA H200"


def test_another_kind_is_refused(played: Played) -> None:
    played.name = "NVIDIA A100-SXM4-80GB"
    with pytest.raises(MachineError, match="not h200-sxm: expected NVIDIA H200"):
        gpu(UUID, "h200-sxm")
    with pytest.raises(
        UsageError, match=r"'abacus' is no hardware that is known; expected cpu or one"
    ):
        gpu(UUID, "abacus")


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.devices.nvml.LIBRARY", "libno-such-thing.so.1")
    with pytest.raises(MachineError, match=r"libno-such-thing.so.1 cannot be loaded"):
        gpu(UUID, None)


@pytest.mark.parametrize("name", [None, "cpu"])
def test_processors_are_always_there(name: str | None) -> None:
    check_hardware(name, gpu=False)


def test_hardware_names_lead_out_of_no_folder() -> None:
    with pytest.raises(UsageError, match="is no hardware that is known"):
        check_hardware("../hardware/h200-sxm", gpu=True)
    with pytest.raises(UsageError, match="say which one by its UUID"):
        check_hardware("h200-sxm", gpu=False)


def test_a_run_on_processors_gets_no_gpu_that_its_board_would_not_know_of() -> None:
    with pytest.raises(UsageError, match=r"'cpu' needs no GPU; leave --gpu out, or name its"):
        check_hardware("cpu", gpu=True)


def test_what_a_run_records_of_its_machine() -> None:
    told = host(None)
    assert told.cpu
    assert told.os is not None
    assert "Linux" in told.os
    assert (told.gpu, told.cuda, told.driver) == (None, None, None)


def _torch_says(folder: Path, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a torch be found whose own file says so, and that is installed as 2.9.1."""
    package = folder / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('nobody asked for it to be loaded')")
    (package / "version.py").write_text(told)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    versions = {"torch": "2.9.1", "triton": "3.5.0"}
    monkeypatch.setattr(hosts, "package_version", versions.get)


@pytest.mark.parametrize(
    ("told", "torch", "cuda"),
    [
        ("__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\n", "2.9.1+cu128", "12.8"),
        ("__version__ = '2.9.1+cpu'\ncuda: Optional[str] = None\n", "2.9.1+cpu", None),
        ("__version__ = '2.9.1'\ncuda = '13.0'\n", "2.9.1", "13.0"),
        ("made by hand: no Python", "2.9.1", None),
    ],
)
def test_what_torch_was_built_for_is_what_its_own_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, torch: str, cuda: str | None
) -> None:
    _torch_says(tmp_path, told, monkeypatch)
    with_gpu = host(Gpu(name="NVIDIA H200", memory_bytes=5, driver="580.1", devices=()))
    assert (with_gpu.gpu, with_gpu.torch, with_gpu.cuda) == ("NVIDIA H200", torch, cuda)
    assert host(None).cuda is None


def test_a_machine_without_torch_records_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "find_spec", lambda _: None)
    monkeypatch.setattr(hosts, "package_version", lambda _: None)
    bare = host(Gpu(name="x", memory_bytes=5, driver="1", devices=()))
    assert (bare.torch, bare.cuda) == (None, None)


def test_the_supervisor_needs_no_torch() -> None:
    program = "import sys, bench.running.__main__, bench.running.run; print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout == b"False\n"


def test_a_run_does_not_tell_which_gpu_it_was() -> None:
    order = Order(board="b", problem="p", harness="h", model="m", provider="v", gpu=UUID)
    told = hidden(order)
    assert UUID not in str(told)
    assert UUID.removeprefix("GPU-") not in str(told)
    assert told["gpu"] == hidden(replace(order, gpu=UUID.removeprefix("GPU-")))["gpu"]
    assert hidden(replace(order, gpu=None))["gpu"] is None


def test_processor_time_counts_what_descendants_use_and_never_falls() -> None:
    program = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
print("started", flush=True)
input()
child.kill(); child.wait()
print("ended", flush=True)
input()
"""
    command = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as busy:
        assert busy.stdin is not None
        assert busy.stdout is not None
        busy.stdout.readline()
        processor = Processor(busy.pid)
        used = [processor.seconds]
        while used[-1] < 0.3:
            time.sleep(0.05)
            used.append(processor.seconds)
        busy.stdin.write("\n")
        busy.stdin.flush()
        busy.stdout.readline()
        used.append(processor.seconds)
        assert used == sorted(used)
        busy.kill()
    assert processor.seconds >= used[-1]
