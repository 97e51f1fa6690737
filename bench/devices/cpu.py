"""Grading on a CPU: shared memory, and the machine's own clock."""

from __future__ import annotations

import fcntl
import mmap
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.devices.device import Agreement, Arena, Counted, Watch
from kbsite.errors import MachineError

if TYPE_CHECKING:
    import torch

_FALLBACK_CACHE = 64 << 20
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
_FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class SharedArena:
    """Anonymous memory that a file descriptor stands for."""

    def __init__(self, size: int) -> None:
        import torch

        self._fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._fd, size)
            # Whoever cuts memory short kills all that look at it.
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _FIXED_SIZE)
            self._map = mmap.mmap(self._fd, size)
        except OSError as error:
            os.close(self._fd)
            raise MachineError(f"no {size} bytes of memory to share: {error}") from error
        self._size = size
        self._bytes: torch.Tensor | None = torch.frombuffer(self._map, dtype=torch.uint8)

    @property
    def bytes(self) -> torch.Tensor:
        """All of it, as uint8."""
        assert self._bytes is not None
        return self._bytes

    @property
    def handle(self) -> Mapping[str, Any]:
        """Descriptor and size."""
        return {"fd": self._fd, "bytes": self._size}

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptor."""
        return (self._fd,)

    def close(self) -> None:
        """Give it back as soon as nobody looks at it any more."""
        self._bytes = None
        os.close(self._fd)


class Unwatched:
    """A CPU's clocks are not watched: shared machines do not tell them."""

    def mark(self) -> int:
        """Always the same moment."""
        return 0

    def slowed(self, since: int, until: int) -> bool:  # noqa: ARG002 - the protocol's
        """Never, as far as can be told."""
        return False

    def intruder(self) -> str | None:
        """Nothing that can be told."""
        return None

    def facts(self) -> Mapping[str, str]:
        """That nothing was watched."""
        return {"clocks": "not watched on a CPU"}


class Cpu:
    """The processors of the machine."""

    name = "cpu"
    line_bytes = 64
    probes = 512
    arena_bytes = 512 << 20
    batch_ms = None
    most_slots = 12
    # A shared machine is disturbed often; what a cheat gains is far more.
    agreement = Agreement(relative=0.3, absolute_ms=0.5, warmer=1.0, every=True)

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))
        self._scratch: torch.Tensor | None = None

    @property
    def cache_bytes(self) -> int:
        """The last-level cache's."""
        return last_level_cache()

    def available(self) -> str | None:
        """None: there always is one; the reason if torch is missing."""
        try:
            import torch  # noqa: F401 - whether it is there is the question
        except ImportError:
            return "torch is not installed: pip install 'kbsite[bench]'"
        return None

    def arena(self, size: int) -> Arena:
        """Memory to share."""
        return SharedArena(size)

    def flush(self) -> None:
        """Write twice the last-level cache, so that it holds nothing else."""
        import torch

        if self._scratch is None:
            self._scratch = torch.zeros(2 * last_level_cache() // 8, dtype=torch.int64)
        self._scratch.add_(1)

    def synchronize(self) -> None:
        """Nothing is ever queued."""

    def busy(self) -> str | None:
        """None: other programs of a shared machine may always run."""
        return None

    def settle(self) -> None:
        """Have the processors work for a moment, so that they left their idle states."""
        import torch

        square = torch.ones(512, 512)
        for _ in range(20):
            square = square @ square * 1e-3

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """Nothing is watched."""
        yield Unwatched()

    def count(self, work: Callable[[], None], calls: int) -> Counted | None:  # noqa: ARG002
        """None: a CPU's counters are not ours to read."""
        return None

    def told(self) -> Mapping[str, Any]:
        """The device's name and the number of threads; waiting must not take a core."""
        return {"device": self.name, "threads": self._threads, "spin": False}

    def nodes(self) -> tuple[Path, ...]:
        """None."""
        return ()

    def readable(self) -> tuple[Path, ...]:
        """None."""
        return ()

    def environment(self) -> Mapping[str, str]:
        """How many threads libraries start, and how compilers are found."""
        return {"OMP_NUM_THREADS": str(self._threads), "PATH": _PROGRAMS}

    def facts(self) -> Mapping[str, str]:
        """Model, processors, threads, cache."""
        return {
            "cpu": processor(),
            "threads": str(self._threads),
            "last_level_cache_bytes": str(last_level_cache()),
            "os": f"{platform.system()} {platform.release()}",
        }


def last_level_cache() -> int:
    """Bytes of the biggest cache of the first processor; 64 MB where the kernel does not say."""
    found = [_FALLBACK_CACHE] if not _CACHES.is_dir() else []
    for path in _CACHES.glob("index*/size"):
        text = path.read_text("ascii").strip()
        found.append(int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text))
    return max(found, default=_FALLBACK_CACHE)


def processor() -> str:
    """What the first processor calls itself."""
    for line in Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
