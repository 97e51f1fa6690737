"""Where CLIs are installed, and the stamp that says that an installation is whole."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from bench.installing.lock import Locked
from kbsite.errors import KbsiteError, UsageError
from kbsite.store.records import json_record
from kbsite.store.settings import config_path
from kbsite.store.writing import json_text, write_text

PREFIX = ".clis"
VARIABLE = "KBSITE_CLIS"
STAMP = "installed.json"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A CLI that is installed, whole, in a folder of its own; what its stamp says."""

    harness: str
    version: str
    package: str
    bytes: int
    """What its files take up."""
    seconds: float
    """How long it took to install."""
    command: tuple[str, ...]
    """How it is started: files by their paths from the folder, with ./ before; Node as NODE."""
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Such as the integrity of its package, or the versions of Node and npm."""


def default_prefix(start: Path) -> Path:
    """Where CLIs lie: what KBSITE_CLIS says, else .clis beside the kbsite.yaml of `start`."""
    told = os.environ.get(VARIABLE)
    if told:
        return Path(told).absolute()
    try:
        return config_path(start).parent / PREFIX
    except UsageError:
        return start.absolute() / PREFIX


def install_command(prefix: Path, *ids: str) -> str:
    """What installs CLIs into a folder: it is named where it is not the usual one."""
    usual = prefix.absolute() == default_prefix(Path.cwd())
    where = [] if usual else ["--clis", shlex.quote(str(prefix))]
    return " ".join(["kbsite bench install", *ids, *where])


def folder_of(prefix: Path, locked: Locked) -> Path:
    """Where a CLI of this version is installed."""
    return prefix.absolute() / locked.id / locked.version


def installed(prefix: Path, locked: Locked) -> Installed | None:
    """The installation, if it is whole and as the lock has it, else None."""
    path = folder_of(prefix, locked) / STAMP
    if not path.is_file():
        return None
    try:
        said = json_record(path, Installed)
    except KbsiteError:
        return None  # half a stamp, or one of another release: it is installed anew
    return said if said.facts.get("locked") == fingerprint(locked) else None


def fingerprint(locked: Locked) -> str:
    """What tells this entry of the lock file from any other, in hexadecimal."""
    return hashlib.sha256(json_text(locked).encode()).hexdigest()[:16]


def write_stamp(folder: Path, said: Installed) -> None:
    """Say that an installation is whole."""
    write_text(folder / STAMP, json_text(said))
