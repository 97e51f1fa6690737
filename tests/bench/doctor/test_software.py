"""What the doctor says of packages and programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.doctor import asking, software, tools
from bench.doctor.asking import found, version_of
from bench.doctor.form import Here, Seen, State
from bench.doctor.software import Engines, Python, Torch
from bench.doctor.tools import Compilers, Profilers
from bench.running.hosts import package_version

HERE = Here(runs=Path("/nowhere"), environment={})


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


@pytest.fixture(name="path")
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH; agents have it on theirs, too."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(tools, "_INSIDE", (str(folder),))
    return folder


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.8, V12.8.93\n"
         "Build cuda_12.8.r12.8/compiler.35583870_0", "12.8.93"),
        ("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.1.0.0 (build 35237751)",
         "2025.1.0.0"),
        ("NVIDIA Nsight Systems version 2024.6.2.225-2462352v0", "2024.6.2.225-2462352v0"),
        ("g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation", "12.2.0"),
    ],
    ids=["nvcc", "ncu", "nsys", "g++"],
)  # fmt: skip
def test_versions_as_programs_print_them(path: Path, says: str, version: str) -> None:
    assert version_of(program(path, "tool", f"/bin/cat <<'X'\n{says}\nX")) == version


def test_a_program_that_fails_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert version_of(program(path, "one", "echo 1.2.3; exit 4")) == (
        "ended with code 4 and told no version"
    )
    assert version_of(program(path, "two", "echo nothing")).startswith("ended with code 0")
    broken = path / "three"
    broken.write_text("#!/no/such/shell\n")
    broken.chmod(0o755)
    assert version_of(broken).startswith("cannot be started")
    monkeypatch.setattr(asking, "LONGEST_S", 0.1)
    assert version_of(program(path, "four", "exec /bin/sleep 100")).startswith(
        "said nothing within"
    )


def test_programs_are_looked_for_on_path_and_where_they_usually_are(
    path: Path, tmp_path: Path
) -> None:
    place = program(tmp_path / "cuda", "nvcc", "echo 1.0")
    assert found("nvcc") is None
    assert found("nvcc", [tmp_path / "cuda"]) == place
    assert found("nvcc", [path, tmp_path / "cuda"]) == place


def test_installed_packages_are_told_without_an_import() -> None:
    assert package_version("torch") is not None
    assert package_version("no-such-package-anywhere") is None


def by_name(seen: list[Seen]) -> Mapping[str, Seen]:
    return {one.name: one for one in seen}


def packages(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    monkeypatch.setattr(software, "package_version", versions.get)


def test_a_python_that_lacks_what_runs_need_forbids_them(monkeypatch: pytest.MonkeyPatch) -> None:
    packages(monkeypatch, aiohttp="3", msgspec="1", pyyaml="6")
    (whole,) = Python().look(HERE)
    packages(monkeypatch, pyyaml="6")
    (bare,) = Python().look(HERE)
    assert whole.state is State.YES
    assert bare.forbids
    assert bare.seen.endswith("not installed: aiohttp, msgspec")
    assert bare.cure == "pip install 'kbsite[bench]'"


def test_torch_is_missed_but_runs_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    packages(monkeypatch, torch="2.9+cpu")
    there = by_name(list(Torch().look(HERE)))
    packages(monkeypatch)
    missing = by_name(list(Torch().look(HERE)))
    assert there["torch"].seen == "torch 2.9+cpu"
    assert (there["triton"].state, missing["torch"].state) == (State.PARTLY, State.NO)
    assert not any(one.forbids for one in missing.values())


def test_engines_need_their_package_and_their_program(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(path.parent / "venv"))
    packages(monkeypatch, ray="2.60")
    first = by_name(list(Engines().look(HERE)))
    assert first["ray"].state is State.PARTLY
    assert "there is no ray here" in first["ray"].seen
    assert first["submitit"].state is State.NO
    assert "kbsite[slurm]" in first["submitit"].cure
    program(path, "sbatch", "exit 0")
    packages(monkeypatch, submitit="1.5")
    second = by_name(list(Engines().look(HERE)))
    assert second["submitit"].state is State.YES
    assert second["submitit"].cure == ""


def test_compilers_that_agents_find(path: Path, tmp_path: Path) -> None:
    program(path, "g++", "echo g++ 12.2.0")
    seen = by_name(list(Compilers(folders=(tmp_path / "cuda",)).look(HERE)))
    assert (seen["g++"].state, seen["g++"].seen) == (State.YES, f"12.2.0, {path}/g++")
    assert (seen["nvcc"].state, seen["nvcc"].seen) == (State.NO, "not installed")


@pytest.mark.usefixtures("path")
def test_compilers_that_agents_do_not_see_or_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = program(tmp_path / "cuda", "nvcc", "echo V12.8.93")
    (hidden, _) = Compilers(folders=(place.parent,)).look(HERE)
    assert hidden.state is State.PARTLY
    assert hidden.cure == "install it below /usr"
    monkeypatch.setattr(Path, "is_relative_to", lambda *_: True)
    (off_path, _) = Compilers(folders=(place.parent,)).look(HERE)
    assert off_path.cure == f"make a link to it: ln -s {place} /usr/local/bin/"


def test_a_broken_compiler_is_told(path: Path) -> None:
    program(path, "g++", "exit 7")
    (_, seen) = Compilers(folders=()).look(HERE)
    assert seen.state is State.NO
    assert "ended with code 7" in seen.seen


@pytest.mark.parametrize(
    ("text", "state", "says"),
    [
        ("RmProfilingAdminOnly: 0\n", State.YES, "lets all users"),
        ("Other: 1\nRmProfilingAdminOnly: 1\n", State.PARTLY, "lets root alone"),
        ("Other: 0\n", State.PARTLY, "not told"),
    ],
)
def test_who_may_profile(path: Path, tmp_path: Path, text: str, state: State, says: str) -> None:
    (tmp_path / "params").write_text(text)
    program(path, "ncu", "echo Version 2025.1.0")
    look = Profilers(parameters=tmp_path / "params", folders=())
    seen = by_name(list(look.look(HERE)))
    assert seen["ncu"].state is State.YES
    assert seen["nsys"].state is State.NO
    assert seen["profiling"].state is state
    assert says in seen["profiling"].seen


def test_without_a_driver_nobody_profiles(tmp_path: Path) -> None:
    *_, seen = Profilers(parameters=tmp_path / "params").look(HERE)
    assert seen.state is State.NO
    assert seen.cure == "nothing, where no GPU is"
