"""The CUDA backend: what can be said of it without a GPU, and the rest on one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import torch

from bench.devices import DEVICES, cuda, driver
from bench.devices.cuda import Cuda, tool_places
from bench.worker import worker
from kbsite.errors import MachineError


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_machine_without_a_gpu_is_told() -> None:
    assert Cuda().available() == "torch sees no CUDA device"


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MachineError("no driver")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(driver, "library", missing)
    assert Cuda().available() == "no driver"


def test_a_gpu_is_preferred_to_the_cpu_where_there_is_one() -> None:
    assert list(DEVICES) == ["cuda", "cpu"]


def test_a_worker_gets_variables_that_find_compilers_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-x")
    given = Cuda().environment()
    assert given["CUDA_VISIBLE_DEVICES"] == "GPU-x", "both sides have to mean the same GPU"
    assert given["CUDA_HOME"] == "/opt/cuda"
    assert given["TRITON_CACHE_DIR"].startswith("/tmp/")
    assert not {"SECRET_TOKEN", "CUDA_LAUNCH_BLOCKING"} & given.keys()


def test_tools_are_read_below_opt_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opt = tmp_path / "opt"
    for name in ("gcc/bin", "nvidia", "other"):
        (opt / name).mkdir(parents=True)
    monkeypatch.setattr(cuda, "_TOOLS", opt)
    home = tmp_path / "home" / "bin"
    home.mkdir(parents=True)
    path = f"{opt}/gcc/bin:{home}:{opt}:{opt}/gone/bin:"
    assert tool_places({"PATH": path}) == (opt / "gcc", opt / "nvidia")
    assert tool_places({}) == (opt / "nvidia",)


def test_a_worker_spins_behind_a_gate() -> None:
    told = Cuda().told()
    assert told["spin"] is True
    assert told["gate_cycles"] == cuda.GATE_CYCLES


class _Clocked(Cuda):
    """Clocks that a test gives; nothing runs."""

    def __init__(self, clocks: list[float]) -> None:
        super().__init__()
        self.left = clocks

    def _mhz(self) -> float:
        mhz = self.left.pop(0)
        self._clocks.append(mhz)
        return mhz


def test_it_rests_until_the_clock_is_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    monkeypatch.setattr(cuda, "sleep", naps.append)
    device = _Clocked([1980, 1400, 1700, 1975])
    device._rest()
    assert naps == []
    device._rest()
    assert len(naps) == 2
    assert device.left == []


def test_it_does_not_rest_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "sleep", lambda _seconds: None)
    device = _Clocked([1980.0, *[1400.0] * 1000])
    device._rest()
    rounds = 0
    while device.left:
        before = len(device.left)
        device._rest()
        rounds += 1
        assert before - len(device.left) <= cuda.RESTS
        if before - len(device.left) == 1:
            break
    # Where it stays slow, that becomes what is usual.
    assert 0 < rounds <= cuda.LATELY // cuda.RESTS + 2


@pytest.mark.gpu
def test_memory_is_seen_by_another_process_at_its_handle() -> None:
    device = Cuda()
    arena = device.arena(1 << 20)
    script = (
        "import sys, torch; sys.path.insert(0, sys.argv[1]);"
        "from bench.worker import worker;"
        "told = {'ipc': sys.argv[2], 'bytes': int(sys.argv[3])};"
        "seen = worker.open_cuda(torch, told)(0, told['bytes']); assert int(seen[5]) == 42;"
        "seen[6] = 43; torch.cuda.synchronize()"
    )
    try:
        arena.bytes[5] = 42
        device.synchronize()
        root = str(Path(worker.__file__).parents[2])
        told = arena.handle
        subprocess.run(
            [sys.executable, "-c", script, root, told["ipc"], str(told["bytes"])], check=True
        )
        assert arena.bytes[4:8].tolist() == [0, 42, 43, 0]
    finally:
        arena.close()


@pytest.mark.gpu
def test_a_flush_empties_the_cache() -> None:
    device = Cuda()
    read = torch.ones(4 << 20, device="cuda")
    out = torch.empty_like(read)

    def timed(*, flush: bool) -> float:
        taken: list[float] = []
        for _ in range(20):
            if flush:
                device.flush()
            gpu: Any = torch.cuda
            first, last = (gpu.Event(enable_timing=True) for _ in range(2))
            gpu._sleep(cuda.GATE_CYCLES)
            first.record()
            torch.add(read, 1.0, out=out)
            last.record()
            last.synchronize()
            taken.append(first.elapsed_time(last))
        return sorted(taken)[10]

    assert timed(flush=True) > 1.2 * timed(flush=False)


@pytest.mark.gpu
def test_an_idle_device_is_not_busy_and_a_spinning_one_is() -> None:
    device = Cuda()
    device.settle()
    device.flush()
    assert device.busy() is None
    spinner = subprocess.Popen(
        [sys.executable, "-c", "import torch; torch.cuda._sleep(1 << 40); torch.cuda.synchronize()"]
    )
    try:
        until = monotonic() + 30
        while not device.busy() and monotonic() < until:
            pass
        assert "not idle" in (device.busy() or "")
    finally:
        spinner.kill()
        spinner.wait()


@pytest.mark.gpu
def test_what_the_device_is_called_is_known() -> None:
    facts = Cuda().facts()
    assert facts["gpu"] == torch.cuda.get_device_name()
    assert {"driver", "cuda", "torch", "triton", "cpu", "os"} <= facts.keys()
    assert len(facts["gpu_id"]) == 12


@pytest.mark.gpu
def test_counters_show_the_bytes_of_a_copy_and_the_products_of_matrices() -> None:
    device = Cuda()
    source, target = torch.ones(2, 256 << 20, dtype=torch.uint8, device="cuda")
    square = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def copies() -> None:
        for _ in range(10):
            target.copy_(source)
        device.synchronize()

    def products() -> None:
        for _ in range(10):
            square @ square
        device.synchronize()

    copied, multiplied = device.count(copies, 10), device.count(products, 10)
    assert copied is not None
    assert multiplied is not None
    assert copied.dram_bytes == pytest.approx(512 << 20, rel=0.05)
    assert copied.tensor < 0.01
    assert multiplied.tensor > 0.5
