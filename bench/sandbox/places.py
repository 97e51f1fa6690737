"""Which paths of the host a program needs to see: Python's own, the system's, a GPU's."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

import bench
import kbsite

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/sys/devices/system",
)
_GPU = ("/sys/bus/pci", "/sys/devices", "/sys/module", "/sys/class", "/etc/OpenCL")


def system_places() -> tuple[Path, ...]:
    """Programs and libraries of the system, and the topology of its processors."""
    return _there(*_SYSTEM)


@lru_cache(maxsize=1)
def python_places() -> tuple[Path, ...]:
    """What this Python needs, with everything that is installed for it; the system's included."""
    own = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    outside = [path for path in dict.fromkeys(own) if not path.startswith("/usr")]
    return (*system_places(), *_there(*outside))


def our_code() -> tuple[Path, ...]:
    """The folders of our own packages, wherever they lie."""
    return tuple(Path(str(module.__file__)).resolve().parent for module in (kbsite, bench))


def own_packages() -> tuple[Path, ...]:
    """Where our own code would be seen with this Python's packages; nowhere in a checkout."""
    seen = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    return tuple(path for path in our_code() if any(path.is_relative_to(one) for one in seen))


def gpu_places() -> tuple[Path, ...]:
    """What the drivers of a GPU read besides its devices, where it is on this machine."""
    return _there(*_GPU)


def gpu_devices() -> tuple[Path, ...]:
    """The device nodes of all NVIDIA GPUs of this machine, and of their driver."""
    return tuple(
        path
        for path in sorted(Path("/dev").glob("nvidia*"))
        if path.is_char_device() or path.is_dir()
    )


def _there(*paths: str) -> tuple[Path, ...]:
    return tuple(Path(path) for path in paths if Path(path).exists())
