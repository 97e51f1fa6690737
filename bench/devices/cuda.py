"""Grading on an NVIDIA GPU: its memory lent by handles, its caches flushed from our own context."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any

from bench.devices import driver
from bench.devices.counting import Counting
from bench.devices.cpu import processor
from bench.devices.device import Agreement, Arena, Counted, Watch
from bench.devices.gpu_watch import GpuWatch, rested
from bench.devices.nvml import Nvml
from bench.sandbox.places import gpu_devices, gpu_places
from kbsite.errors import MachineError

if TYPE_CHECKING:
    import torch

GATE_CYCLES = 400_000
"""200 microseconds: longer than it takes to launch what one call launches."""

HOLD_CYCLES = 2_000_000
"""A millisecond: about a tenth of the longest batch."""

PROBE_CYCLES = 200_000
GATE_OF_PROBE = 200_000
IDLE_CYCLES = 100_000
PROBE_TRIES = 3
BUSY_SECONDS = 300e-6
"""A probe of 50 microseconds that takes this much longer had to share the device: contexts take
turns of milliseconds."""

FLUSHED = 3
"""How many times the cache is written and read to empty it."""

SETTLING_SECONDS = 1.0
REST_SECONDS = 0.002
RESTS = 20
LATELY = 64
"""Clocks that are remembered, to know how high they get."""

MOST_ARENA = 16 << 30
COPIED = 512 << 20
"""Bytes of the copy that the counters are held against."""

PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDAHOSTCXX", "CC", "CXX",
    "TORCH_CUDA_ARCH_LIST", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
"""By which compilers are found, and one of several GPUs; no other variables reach a worker."""

_TOOLS = Path("/opt")
_SCRATCH = "/tmp"  # noqa: S108 - the sandbox's own


class LentMemory:
    """Memory of the device that a handle stands for."""

    def __init__(self, size: int) -> None:
        import torch

        self._address = driver.allocate(size)
        self._size = size
        self._bytes: torch.Tensor | None = torch.as_tensor(
            driver.Bytes(self._address, size), device="cuda"
        )
        self._bytes.zero_()

    @property
    def bytes(self) -> torch.Tensor:
        """All of it, as uint8."""
        assert self._bytes is not None
        return self._bytes

    @property
    def handle(self) -> Mapping[str, Any]:
        """The handle, hexadecimal, and the size."""
        return {"ipc": driver.handle_of(self._address).hex(), "bytes": self._size}

    @property
    def fds(self) -> tuple[int, ...]:
        """None: the handle is enough."""
        return ()

    def close(self) -> None:
        """Give it back; no tensor that looks at it may be used any more."""
        import torch

        torch.cuda.synchronize()
        self._bytes = None
        driver.free(self._address)


class Cuda:
    """The first GPU that torch sees."""

    name = "cuda"
    line_bytes = 128
    probes = 4096
    agreement = Agreement(relative=0.02, absolute_ms=0.003, late_ms=0.05)
    most_slots = 32
    # At its power limit it got slower after tens of milliseconds.
    batch_ms = 10.0

    def __init__(self) -> None:
        self._scratch: torch.Tensor | None = None
        self._clocks: deque[float] = deque(maxlen=LATELY)

    def available(self) -> str | None:
        """None if torch and the driver can use a GPU, else what is missing."""
        try:
            import torch
        except ImportError:
            return "torch is not installed: pip install 'kbsite[bench]'"
        if not torch.cuda.is_available():
            return "torch sees no CUDA device"
        try:
            driver.library()
        except MachineError as error:
            return str(error)
        return None

    @property
    def arena_bytes(self) -> int:
        """An eighth of the memory, 16 GB at most."""
        return min(MOST_ARENA, int(self._properties.total_memory) // 8)

    @property
    def cache_bytes(self) -> int:
        """The second-level cache's."""
        return int(self._properties.L2_cache_size)

    def arena(self, size: int) -> Arena:
        """Memory to lend."""
        import torch

        # Makes the context that the driver's calls need.
        torch.zeros(1, device=self.name)
        return LentMemory(size)

    def flush(self) -> None:
        """Wait for full clocks, then write and read three times the cache in our own context.

        Read as well, so that no call pays for writing back what the flush itself wrote.
        """
        import torch

        if self._scratch is None:
            size = FLUSHED * self.cache_bytes
            self._scratch = torch.zeros(size // 8, dtype=torch.int64, device=self.name)
        self.synchronize()
        self._rest()
        self._scratch.add_(1)
        self._scratch.max()
        self.synchronize()

    def synchronize(self) -> None:
        """Return when all that we queued is done."""
        import torch

        torch.cuda.synchronize()

    def busy(self) -> str | None:
        """Whether a kernel of known length takes longer by our clock than it does alone."""
        import torch

        taken = []
        for _ in range(PROBE_TRIES):
            started = perf_counter()
            torch.cuda._sleep(IDLE_CYCLES)  # type: ignore[no-untyped-call]
            self.synchronize()
            taken.append(perf_counter() - started)
            if taken[-1] < IDLE_CYCLES / (self._usual_mhz * 1e6) + BUSY_SECONDS:
                return None
        said = f"the device was not idle: a probe took {min(taken) * 1e6:.0f} us at best"
        return f"{said} instead of {IDLE_CYCLES / self._usual_mhz:.0f}"

    def settle(self) -> None:
        """Multiply and copy for a second, as before every round."""
        import torch

        square = torch.randn(4096, 4096, device=self.name, dtype=torch.float16)
        out = torch.empty_like(square)
        ends = monotonic() + SETTLING_SECONDS
        while monotonic() < ends:
            for _ in range(10):
                torch.mm(square, square, out=out)
                out.copy_(square)
            self.synchronize()

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """Clock by a kernel of ours, the rest by the driver's management library."""
        yield GpuWatch(self._mhz, self.nvml)

    def count(self, work: Callable[[], None], calls: int) -> Counted | None:
        """By the driver's counters, in about a second; None where it does not show them."""
        return self._counting.count(work, calls) if self._counting else None

    def told(self) -> Mapping[str, Any]:
        """The device's name, and how long to hide launches; threads are as torch likes them."""
        cycles = {"gate_cycles": GATE_CYCLES, "hold_cycles": HOLD_CYCLES}
        return {"device": self.name, "threads": 0, "spin": True, **cycles}

    def nodes(self) -> tuple[Path, ...]:
        """The GPU's and its driver's."""
        return gpu_devices()

    def readable(self) -> tuple[Path, ...]:
        """What drivers read, and compilers below /opt that the variables name."""
        return (*gpu_places(), *tool_places(os.environ))

    def environment(self) -> Mapping[str, str]:
        """How compilers are found, and caches where nothing of an earlier process lies."""
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        caches = {
            "CUDA_CACHE_PATH": "nv", "TORCH_EXTENSIONS_DIR": "extensions",
            "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton",
        }  # fmt: skip
        return kept | {name: f"{_SCRATCH}/{folder}" for name, folder in caches.items()}

    def facts(self) -> Mapping[str, str]:
        """GPU, driver, versions and processor."""
        import torch

        known = self._properties
        return {
            "gpu": known.name,
            # Which of several it was can be told, and nothing else.
            "gpu_id": hashlib.sha256(str(known.uuid).encode()).hexdigest()[:12],
            "gpu_memory_bytes": str(known.total_memory),
            "multiprocessors": str(known.multi_processor_count),
            "l2_bytes": str(known.L2_cache_size),
            "cuda": str(torch.version.cuda),
            "torch": torch.__version__,
            "triton": _version("triton"),
            "python": platform.python_version(),
            "cpu": processor(),
            "os": f"{platform.system()} {platform.release()}",
            **(self.nvml.facts() if self.nvml else {}),
        }

    @cached_property
    def nvml(self) -> Nvml | None:
        """The driver's management library; None where it is missing."""
        try:
            return Nvml(str(self._properties.uuid))
        except MachineError as error:
            print(f"the GPU is not watched: {error}", file=sys.stderr)  # noqa: T201
            return None

    @cached_property
    def _counting(self) -> Counting | None:
        """Counters, held against a copy of ours once; None where there are none."""
        import torch

        if self.nvml is None or not self.nvml.counts():
            return None
        source, target = torch.ones(2, COPIED // 8, dtype=torch.int64, device=self.name)

        def copy() -> None:
            for _ in range(10):
                target.copy_(source)
            self.synchronize()

        return Counting.calibrated(self.nvml, copy, 10 * 2 * COPIED)

    @cached_property
    def _properties(self) -> Any:
        import torch

        return torch.cuda.get_device_properties(0)

    @cached_property
    def _events(self) -> tuple[Any, Any]:
        """Made once: to make an event takes longer than the probe's gate."""
        import torch

        event: Any = torch.cuda.Event
        return event(enable_timing=True), event(enable_timing=True)

    @property
    def _usual_mhz(self) -> float:
        return max(self._clocks) if self._clocks else self._mhz()

    def _mhz(self) -> float:
        """The clock of the multiprocessors, by a kernel that waits for so many cycles."""
        import torch

        cuda: Any = torch.cuda
        first, last = self._events
        cuda._sleep(GATE_OF_PROBE)
        first.record()
        cuda._sleep(PROBE_CYCLES)
        last.record()
        last.synchronize()
        mhz = float(PROBE_CYCLES / (first.elapsed_time(last) * 1e3))
        self._clocks.append(mhz)
        return mhz

    def _rest(self) -> None:
        """Wait until the clock is up again: hard work lowers it for some milliseconds."""
        for _ in range(RESTS):
            if rested(self._mhz(), self._clocks):
                return
            sleep(REST_SECONDS)


def tool_places(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders right below /opt that PATH leads into, and that of NVIDIA's tools."""
    named = [Path(one) for one in environment.get("PATH", "").split(os.pathsep) if one]
    below = [one for one in named if one.is_relative_to(_TOOLS) and one != _TOOLS]
    found = {_TOOLS / one.relative_to(_TOOLS).parts[0] for one in below} | {_TOOLS / "nvidia"}
    return tuple(sorted(one for one in found if one.is_dir()))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
