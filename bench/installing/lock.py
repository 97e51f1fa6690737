"""The versions of the CLIs that sessions run in: clis.lock.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Literal

import msgspec

from kbsite.errors import InputError, UsageError

LOCK = Path(__file__).parent.parent / "clis.lock.toml"
NODE = "node"
"""What the Node that CLIs run on is called, as an entry and in commands."""
RIPGREP = "ripgrep"
"""What the program is called that several CLIs search with, and fetch where it is not there."""
TOOLS = (NODE, RIPGREP)
"""Entries that are no CLIs."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_PIECE = re.compile(r"[\w.+-]+")
_PACKAGE = re.compile(r"(?:@[\w.-]+/)?[\w.-]+")
_MODULE = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A CLI in the version that adapters were tried with."""

    id: str
    """Its harness; NODE for Node."""
    source: Literal["npm", "pypi"]
    package: str
    version: str
    prints: str
    """The first line that `--version` has to print."""
    command: tuple[str, ...]
    """How it is started: NODE, files of the installation (./ and a pattern), arguments."""
    integrity: str | None = None
    """npm's checksum of the package."""
    python: str | None = None
    """The oldest Python that takes it."""
    pins: tuple[str, ...] = ()
    """What else pip may install, in which versions."""
    imports: tuple[str, ...] = ()
    """Modules that a session imports: sandboxes keep nothing of what they compile."""

    def printed_by(self, printed: str) -> bool:
        """Whether this is what `--version` of it prints."""
        return printed.partition("\n")[0] == self.prints

    @property
    def needs_node(self) -> bool:
        """Whether Node has to be there to install it."""
        return self.source == "npm" and self.id != NODE


@dataclass(frozen=True, kw_only=True)
class Lock:
    """All of clis.lock.toml."""

    before: date
    """npm resolves what packages ask for as the registry was on that day."""
    clis: Mapping[str, Locked]

    def chosen(self, ids: tuple[str, ...]) -> tuple[Locked, ...]:
        """The entries with these ids, all of them for none; UsageError for an unknown id.

        Node comes first where one of them needs it, and what CLIs search with last.
        """
        named = self._named(ids)
        clis = [one for one in named if one.id not in TOOLS]
        search = [self.clis[RIPGREP]] if self._searches(named, clis) else []
        on_node = any(one.id == NODE or one.needs_node for one in (*named, *search))
        return (*([self.clis[NODE]] if on_node else []), *clis, *search)

    def _named(self, ids: tuple[str, ...]) -> list[Locked]:
        for one in ids:
            if one not in self.clis:
                raise UsageError(f"{one}: no CLI of that name; known are {', '.join(self.clis)}")
        return [self.clis[one] for one in dict.fromkeys(ids or self.clis)]

    def _searches(self, named: Sequence[Locked], clis: Sequence[Locked]) -> bool:
        """Whether what CLIs search with is wanted: by its name, or because of a CLI."""
        return RIPGREP in self.clis and bool(clis or self.clis[RIPGREP] in named)


def read_lock(path: Path = LOCK) -> Lock:
    """The lock file's entries; InputError names what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as TOML: {error}", path=path) from error
    before, clis = data.get("before"), data.get("clis")
    if not isinstance(before, date):
        raise InputError("expected a day (YYYY-MM-DD)", path=path, key="before")
    if not isinstance(clis, dict) or NODE not in clis:
        raise InputError(f"expected an entry for each CLI, and clis.{NODE}", path=path, key="clis")
    read = {name: _entry(name, value, path) for name, value in clis.items()}
    return Lock(before=before, clis=read)


def _entry(name: str, data: Any, path: Path) -> Locked:
    key = f"clis.{name}"
    known = {one.name for one in fields(Locked)} - {"id"}
    if not isinstance(data, dict) or (set(data) - known):
        extra = sorted(set(data) - known) if isinstance(data, dict) else data
        raise InputError(f"{extra}: expected only {sorted(known)}", path=path, key=key)
    try:
        entry = msgspec.convert({**data, "id": name}, Locked)
    except msgspec.ValidationError as error:
        raise InputError(str(error), path=path, key=key) from error
    wrong = _wrong(entry)
    if wrong:
        raise InputError(wrong, path=path, key=key)
    return entry


def _wrong(entry: Locked) -> str:
    """What is wrong with an entry: it ends up in paths and on command lines."""
    plain = (_NAME, entry.id), (_PIECE, entry.version), (_PACKAGE, entry.package)
    for pattern, value in plain:
        if not pattern.fullmatch(value) or value.startswith("-"):
            return f"{value!r}: expected letters, digits, and '.-' between them"
    if not entry.command:
        return "command: expected at least one word"
    if entry.source == "npm" and not (entry.integrity or "").startswith("sha512-"):
        return "integrity: expected the registry's sha512-… of the package"
    return _wrong_for_python(entry)


def _wrong_for_python(entry: Locked) -> str:
    """What is wrong with what only an entry of PyPI has."""
    if entry.source == "pypi" and not re.fullmatch(r"\d+(\.\d+){1,2}", entry.python or ""):
        return "python: expected the oldest version that takes it, such as 3.12.3"
    strange = [one for one in entry.imports if not _MODULE.fullmatch(one)]
    if strange or (entry.imports and entry.source == "npm"):
        return f"imports: {strange or entry.source}: expected names of Python's modules, for pypi"
    return ""
