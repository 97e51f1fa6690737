"""A package from npm or PyPI, with all that it asks for, into an empty folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from bench.installing.calling import imported, quietly
from bench.installing.lock import Locked
from kbsite.errors import MachineError

_NPM = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_PROBE = (
    "import sys, ensurepip, venv; "
    "print('%d.%d.%d' % sys.version_info[:3], sys.base_prefix, sep='\\n')"
)
_SAID = re.compile(r"(?P<version>\d+\.\d+\.\d+)\n(?P<base>/[^\n]*)\n?", re.ASCII)


def npm() -> str:
    """The path of this machine's npm; MachineError that says what to install."""
    found = shutil.which("npm")
    if found is None:
        raise MachineError(
            "npm is not on PATH: install Node with npm, of any version (on Debian: "
            "apt-get install npm); the Node that the CLIs run on is then installed with it"
        )
    return found


def from_npm(locked: Locked, folder: Path, node: Path | None, before: date) -> dict[str, str]:
    """Install with npm, run by `node` where that is given; facts for the stamp.

    MachineError if npm fails, or the registry has another package than the lock file names. That
    is known before any program of the package runs.
    """
    environment = dict(os.environ)
    if node is not None:
        environment["PATH"] = os.pathsep.join([str(node.parent), environment.get("PATH", "")])
    program = npm()
    wanted = f"{locked.package}@{locked.version}"
    here = [f"--prefix={folder}", *_NPM]
    get = [program, "install", *here, "--save-exact", f"--before={before.isoformat()}"]
    (folder / "package.json").write_text("{}\n", encoding="utf-8")
    quietly([*get, "--package-lock-only", wanted], folder=folder, environment=environment)
    _same_package(locked, folder / "package-lock.json")
    # Not `npm ci`: it refuses locks where a registry tells only of packages for this platform.
    quietly(get, folder=folder, environment=environment)
    said = quietly([program, "--version"], folder=folder, environment=environment)
    return {"npm": said.strip(), "integrity": locked.integrity or ""}


def _same_package(locked: Locked, path: Path) -> None:
    """Raise MachineError unless npm found the package whose checksum the lock file holds."""
    found = json.loads(path.read_text(encoding="utf-8"))
    entry = found.get("packages", {}).get(f"node_modules/{locked.package}", {})
    if (entry.get("version"), entry.get("integrity")) != (locked.version, locked.integrity):
        raise MachineError(
            f"{locked.package}: the registry has version {entry.get('version')} with "
            f"{entry.get('integrity')}, expected {locked.version} with {locked.integrity}; if it "
            "was published anew, look at it and change clis.lock.toml"
        )


def from_pypi(locked: Locked, folder: Path) -> dict[str, str]:
    """Install with pip into an environment of its own; facts for the stamp.

    MachineError if there is no Python that it takes, pip fails, or what a session imports cannot be
    imported.
    """
    python, version, base = find_python(locked.python or "")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    quietly([str(python), "-m", "venv", str(folder)], folder=folder, environment=environment)
    pins = folder / "pins.txt"
    pins.write_text("\n".join(locked.pins) + "\n", encoding="utf-8")
    wanted = f"{locked.package}=={locked.version}"
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check"]
    # It would compile thousands of files, one after the other, most of which no session imports.
    command = [*pip, "--quiet", "--no-compile", "--constraint", str(pins), wanted]
    quietly(command, folder=folder, environment=environment)
    if locked.imports:
        imported(folder / "bin/python", locked.imports)
    return {"python": version, "python_folder": base}


def find_python(oldest: str) -> tuple[Path, str, str]:
    """A Python of this version or later: its path, its version, and its folder.

    It is looked for on PATH and in pyenv's folder, the oldest that will do first: more packages
    are built for it. MachineError where there is none that can make environments.
    """
    least = _numbers(oldest)
    fit = [one for path in _pythons() if (one := _probed(path)) and _numbers(one[1]) >= least]
    if not fit:
        raise MachineError(
            f"no Python {oldest} or later that can make environments was found on PATH or in "
            f"pyenv's folder; install one, with its venv module (pyenv install {oldest})"
        )
    return min(fit, key=lambda one: _numbers(one[1]))


def _pythons() -> Iterator[Path]:
    yield Path(sys.executable)
    for minor in range(12, 20):
        if found := shutil.which(f"python3.{minor}"):
            yield Path(found)
    root = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))  # noqa: PTH111
    yield from sorted(root.glob("versions/*/bin/python3"))


def _probed(python: Path) -> tuple[Path, str, str] | None:
    """The same with version and folder; None for one that does not start, or say just that."""
    try:
        said = quietly([str(python), "-I", "-c", _PROBE], folder=Path("/"), environment=os.environ)
    except MachineError:
        return None
    # What is no Python of ours may say anything, and what customizes one may print more.
    found = _SAID.fullmatch(said)
    return (python, found["version"], found["base"]) if found else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
