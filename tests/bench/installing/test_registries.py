"""Packages of PyPI in an environment of their own, and programs that are heard when they fail."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from bench.installing import Failure, Installed, Locked, install, programs
from bench.installing.calling import imported, printed_version, quietly
from bench.installing.registries import find_python
from kbsite.errors import MachineError
from tests.bench.installing.registry import lock

WHEEL = {
    "toy_cli/__init__.py": "",
    "toy_cli/seldom.py": "",
    "toy_cli/session.py": "",
    "toy_cli/__main__.py": "import toy_dependency\nprint('toy', toy_dependency.VERSION)\n",
}


def wheel(folder: Path, name: str, version: str, files: dict[str, str], needs: str = "") -> None:
    """Write a wheel, as a registry would have it."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    told = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    told[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*told, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as packed:
        for path, text in told.items():
            packed.writestr(path, text)


@pytest.fixture(name="wheels")
def _wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, and a pip that knows no other."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PYENV_ROOT", str(folder))
    wheel(folder, "toy_cli", "1.5.0", WHEEL, needs="toy_dependency")
    for version in ("0.9", "2.0"):
        wheel(folder, "toy_dependency", version, {"toy_dependency.py": f"VERSION = '{version}'\n"})
    return folder


TOY = Locked(
    id="toy", source="pypi", package="toy_cli", version="1.5.0", prints="toy 0.9",
    command=("./bin/python", "-m", "toy_cli"), python="3.11", pins=("toy_dependency==0.9",),
    imports=("toy_cli.session",),
)  # fmt: skip


def quiet(_what: str, _share: float | None) -> None:
    pass


def test_a_package_of_pypi_gets_an_environment_and_its_pins(wheels: Path, prefix: Path) -> None:
    assert wheels.is_dir()
    became = install(("toy",), prefix, quiet, lock(TOY))[0]

    assert isinstance(became, Installed), became
    assert became.facts["python_folder"] == find_python("3.11")[2]
    program = programs(prefix, lock(TOY))["toy"]
    assert program.command == ("/opt/clis/toy/bin/python", "-m", "toy_cli")
    assert printed_version([str(prefix / "toy/1.5.0/bin/python"), "-m", "toy_cli"]) == "toy 0.9"
    compiled = {path.name.partition(".")[0] for path in (prefix / "toy").rglob("*.pyc")}
    assert "session" in compiled, "a session imports it, where nothing can be written"
    assert "seldom" not in compiled


def test_what_a_session_imports_has_to_be_there() -> None:
    imported(Path(sys.executable), ["json", "email.charset"])

    with pytest.raises(MachineError, match="No module named 'toy_cli'"):
        imported(Path(sys.executable), ["json", "toy_cli.ui"])


def test_a_version_that_is_gone_is_a_failure_that_says_so(
    tmp_path: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = "echo ERROR: No matching distribution for toy_cli >&2; exit 1"
    python = tmp_path / "python"
    made = f"#!/bin/sh\n{pip}\n"
    lines = ["#!/bin/sh", 'mkdir "$3/bin"', f"printf '{made}' >\"$3/bin/python\""]
    lines.append('chmod +x "$3/bin/python"')
    python.write_text("\n".join(lines))
    python.chmod(0o755)
    monkeypatch.setattr(
        "bench.installing.registries.find_python", lambda _oldest: (python, "3.11.0", "/usr")
    )
    became = install(("toy",), prefix, quiet, lock(TOY))[0]

    assert isinstance(became, Failure)
    assert "No matching distribution" in became.error
    assert not list((prefix / "toy").iterdir())


def test_the_oldest_python_that_will_do_is_taken() -> None:
    python, version, folder = find_python("3.11")

    assert tuple(map(int, version.split(".")))[:2] >= (3, 11)
    assert python.exists()
    assert Path(folder).is_dir()


@pytest.mark.parametrize(
    "said", ["Welcome!\n3.11.0\n/usr", "3.11.0", "", "3.11.0rc1\n/usr", "3.11.0\n/usr\n/more"]
)
def test_a_python_that_says_something_else_is_passed_over(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "versions" / "odd" / "bin" / "python3"
    odd.parent.mkdir(parents=True)
    odd.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    odd.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert find_python("3.11")[0] != odd


def test_without_such_a_python_a_person_is_told_what_to_install() -> None:
    with pytest.raises(MachineError, match=r"no Python 9\.9 or later .* install one"):
        find_python("9.9")


def test_a_program_that_ends_well_is_not_heard(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["/bin/sh", "-c", "echo out; echo err >&2"]

    assert quietly(command, folder=tmp_path, environment={}) == "out\n"
    assert capfd.readouterr() == ("", "")


def test_a_program_that_fails_is_heard_at_both_ends(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 200 ]; do echo line$i; i=$((i+1)); done; exit 7"

    with pytest.raises(MachineError) as error:
        quietly(["/bin/sh", "-c", script], folder=tmp_path, environment={})
    said = str(error.value).split()
    assert "7:" in said
    assert {"line0", "line11", "line188", "line199"} <= set(said)
    assert "line100" not in said


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be started"):
        quietly([str(tmp_path / "none")], folder=tmp_path, environment={})


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.installing.calling.MOST_SECONDS", 0.2)

    with pytest.raises(MachineError, match="no end after"):
        quietly(["/bin/sleep", "600"], folder=tmp_path, environment={})


def test_a_version_is_asked_for_in_a_home_that_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ntouch "$HOME/litter"\necho "$HOME $SECRET_KEY"\n')
    program.chmod(0o755)
    monkeypatch.setenv("SECRET_KEY", "sk-secret")
    home = printed_version([str(program)])

    assert "sk-secret" not in home
    assert Path(home) != Path.home()
    assert not Path(home).exists()
