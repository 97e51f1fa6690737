"""What a run records of the machine that its agent worked on, asked without loading torch."""

from __future__ import annotations

import ast
import platform
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bench.devices.cpu import processor
from bench.devices.gpu_watch import in_words, strangers
from bench.devices.nvml import Nvml
from bench.records import HARDWARE, read_yaml
from kbsite.errors import MachineError, UsageError
from kbsite.model.counts import number_of
from kbsite.model.hardware import Hardware
from kbsite.model.run import Host

CPU = "cpu"
"""What boards call every CPU."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU that an agent may have: idle, and of the kind that was asked for."""

    name: str
    memory_bytes: int
    driver: str
    devices: tuple[Path, ...]
    """Nodes of this GPU, and of its driver; of no other GPU."""


def host(gpu: Gpu | None) -> Host:
    """The facts of this machine; null where nobody tells."""
    torch, cuda = _torch()
    return Host(
        gpu=gpu.name if gpu else None,
        gpu_memory_bytes=gpu.memory_bytes if gpu else None,
        driver=gpu.driver if gpu else None,
        cuda=cuda if gpu else None,
        torch=torch,
        triton=package_version("triton"),
        cpu=processor(),
        os=system(),
    )


def gpu(uuid: str, hardware: str | None, *, shared: bool = False) -> Gpu:
    """The GPU of a UUID, looked at with the driver's management library.

    MachineError where there is none, somebody computes on it although it is not `shared`, or it is
    not the hardware that was asked for; UsageError where that hardware is not known.
    """
    told = Nvml(uuid)
    found = told.identity()
    used = told.processes()
    if used and not shared:
        who = in_words(strangers(used)) or number_of(len(used), "process", "processes")
        raise MachineError(f"GPU {uuid} is in use by {who}; wait, or name another one")
    _check_kind(found.name, hardware, uuid)
    return Gpu(
        name=found.name,
        memory_bytes=found.memory_bytes,
        driver=told.facts()["driver"],
        devices=tuple(_nodes(found.minor)),
    )


def check_hardware(name: str | None, *, gpu: bool) -> None:
    """Raise UsageError where a hardware is not known, is a GPU without one, or none with one."""
    if name == CPU and gpu:
        raise UsageError(f"{CPU!r} needs no GPU; leave --gpu out, or name its hardware")
    if name is None or name == CPU:
        return
    path = HARDWARE / f"{name}.yaml"
    if "/" in name or not path.is_file():
        known = ", ".join(sorted(one.stem for one in HARDWARE.glob("*.yaml")))
        raise UsageError(f"{name!r} is no hardware that is known; expected cpu or one of: {known}")
    if not gpu:
        raise UsageError(f"{name!r} is a GPU; say which one by its UUID (--gpu)")


def _check_kind(found: str, hardware: str | None, uuid: str) -> None:
    if hardware is None:
        return
    check_hardware(hardware, gpu=True)
    aliases = read_yaml(HARDWARE / f"{hardware}.yaml", Hardware).aliases
    if found.lower() not in {alias.lower() for alias in aliases}:
        expected = " or ".join(aliases)
        raise MachineError(f"GPU {uuid} is {found!r}, not {hardware}: expected {expected}")


def _nodes(minor: int) -> Iterator[Path]:
    names = (f"nvidia{minor}", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
    for name in names:
        path = Path("/dev", name)
        if path.is_char_device():
            yield path


def package_version(package: str) -> str | None:
    """The version of an installed Python package, which is not imported; None without it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _torch() -> tuple[str | None, str | None]:
    """The version of torch, and the release of CUDA that it was built for, by its own file.

    What is known of an installed package may leave out how it was built ("2.11.0", of
    "2.11.0+cu130"). Torch itself takes seconds to load.
    """
    found = find_spec("torch")
    told: dict[str, object] = {}
    with suppress(OSError, SyntaxError):
        path = Path(found.origin or "").with_name("version.py") if found else Path()
        for node in ast.parse(path.read_bytes()).body:
            target, value = _assigned(node)
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                told[target.id] = value.value
    own, cuda = told.get("__version__"), told.get("cuda")
    return str(own) if own else package_version("torch"), str(cuda) if cuda else None


def _assigned(node: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(node, ast.AnnAssign):
        return node.target, node.value
    if isinstance(node, ast.Assign):
        return node.targets[0], node.value
    return None, None


@lru_cache(maxsize=1)
def system() -> str:
    """The distribution with the kernel, such as "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"."""
    kernel = f"{platform.system()} {platform.release()}"
    try:
        named = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return kernel
    return f"{named}, {kernel}" if named else kernel
