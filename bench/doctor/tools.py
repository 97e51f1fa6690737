"""Profilers and compilers: what an agent can use, and whether the driver lets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.doctor.asking import found, version_of
from bench.doctor.form import Here, Seen, State

CUDA = (Path("/usr/local/cuda/bin"), Path("/opt/nvidia/nsight-compute"))
"""Where NVIDIA puts programs that are not on PATH."""

_KEY = "RmProfilingAdminOnly"


@dataclass(frozen=True)
class Profilers:
    """ncu and nsys, and the driver's setting."""

    name: str = "profilers"
    parameters: Path = Path("/proc/driver/nvidia/params")
    folders: tuple[Path, ...] = CUDA

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """Whether they are there, and who may profile."""
        for program in ("ncu", "nsys"):
            cure = "install NVIDIA Nsight, if agents are to profile"
            yield _program(program, self.folders, cure)
        yield self._allowed()

    def _allowed(self) -> Seen:
        if not self.parameters.is_file():
            return Seen(
                name="profiling", state=State.NO, seen=f"no driver: there is no {self.parameters}",
                cure="nothing, where no GPU is",
            )  # fmt: skip
        lines = self.parameters.read_text(errors="replace").splitlines()
        said = [line.partition(":")[2].strip() for line in lines if line.startswith(f"{_KEY}:")]
        if said == ["0"]:
            return Seen(
                name="profiling", state=State.YES, seen=f"the driver lets all users ({_KEY}: 0)"
            )
        return Seen(
            name="profiling", state=State.PARTLY,
            seen=f"the driver lets root alone ({_KEY}: {said[0] if said else 'not told'}), "
            "and agents are never root",
            cure="set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, and reload it",
        )  # fmt: skip


@dataclass(frozen=True)
class Compilers:
    """nvcc and g++."""

    name: str = "compilers"
    folders: tuple[Path, ...] = CUDA

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """Whether they are there."""
        yield _program(
            "nvcc", self.folders, "install the CUDA toolkit, if agents are to write CUDA"
        )
        yield _program("g++", (), "install the package g++, if agents are to build native code")


def _program(name: str, folders: tuple[Path, ...], cure: str) -> Seen:
    place = found(name, folders)
    if place is None:
        return Seen(name=name, state=State.NO, seen="not installed", cure=cure)
    version = version_of(place)
    if not version[:1].isdigit():
        return Seen(name=name, state=State.NO, seen=f"{place} {version}", cure="install it anew")
    seen = f"{version}, {place}"
    if str(place.parent) in _INSIDE:
        return Seen(name=name, state=State.YES, seen=seen)
    if not place.resolve().is_relative_to("/usr"):
        return Seen(
            name=name, state=State.PARTLY, seen=f"{seen}, which agents do not see",
            cure="install it below /usr",
        )  # fmt: skip
    return Seen(
        name=name, state=State.PARTLY, seen=f"{seen}, which is not on the PATH of agents",
        cure=f"make a link to it: ln -s {place} /usr/local/bin/",
    )  # fmt: skip


_INSIDE = ("/usr/local/bin", "/usr/bin", "/bin")
"""PATH of agents, but for Python's and their CLI's."""
