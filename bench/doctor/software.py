"""Python and its packages; nothing of them is imported."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from bench.doctor.asking import found
from bench.doctor.form import Here, Seen, State
from bench.running.hosts import package_version

OF_RUNS = ("aiohttp", "msgspec", "pyyaml")
"""Packages that a run needs."""


@dataclass(frozen=True)
class Python:
    """The interpreter, which is also the agents'."""

    name: str = "python"

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """Its version, and what runs need of it."""
        missing = [one for one in OF_RUNS if package_version(one) is None]
        yield Seen(
            name=self.name, state=State.NO if missing else State.YES, needed=True,
            seen=f"{platform.python_version()} in {sys.prefix}"
            + (f"; not installed: {', '.join(missing)}" if missing else ""),
            cure="pip install 'kbsite[bench]'" if missing else "",
        )  # fmt: skip


@dataclass(frozen=True)
class Torch:
    """What solutions and grading are written for."""

    name: str = "torch"

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """The versions of torch and triton."""
        torch, triton = package_version("torch"), package_version("triton")
        yield Seen(
            name=self.name, state=State.YES if torch else State.NO,
            seen=f"torch {torch}" if torch else "torch is not installed",
            cure="" if torch
            else "pip install 'kbsite[bench]': nothing is tried or graded without it",
        )  # fmt: skip
        yield Seen(
            name="triton", state=State.YES if triton else State.PARTLY,
            seen=f"triton {triton}" if triton
            else "triton is not installed; torch for processors alone brings none",
            cure="" if triton else "nothing, unless solutions are to use it on a GPU",
        )  # fmt: skip


@dataclass(frozen=True)
class Engines:
    """What sweeps may run on, beside this host's processes."""

    name: str = "engines"
    programs: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({"ray": "ray", "submitit": "sbatch"})
    )
    """By package, the program that shows that a cluster may be near."""

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """Ray, and submitit with Slurm."""
        extras = {"ray": "ray", "submitit": "slurm"}
        for name, program in self.programs.items():
            version, place = package_version(name), found(program, (Path(sys.prefix, "bin"),))
            state = State.YES if version and place else State.PARTLY if version else State.NO
            seen = f"{name} {version}" if version else f"{name} is not installed"
            cure = "" if version else f"pip install 'kbsite[{extras[name]}]', for sweeps on it"
            if version and place is None:
                seen += f"; there is no {program} here"
                cure = f"start sweeps on it where {program} is"
            yield Seen(name=name, state=state, seen=seen, cure=cure)
