"""What stands since the last build: all that the next one has to know to have nothing to do.

It imports little, so that this is known at once. It lies beside the site, never in it: a site is
the same however it was built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct, field

from kbsite import __version__, assets
from kbsite.model.finding import Finding
from kbsite.store.inputs import COMPILED, Input, digest_of, inputs
from kbsite.store.spares import MARKER
from kbsite.store.told import read_told, write_told


class Program(Struct, frozen=True, dict=True):
    """The files that make a site: code, templates, static files."""

    files: Mapping[str, Input]

    @cached_property
    def code(self) -> str:
        """A digest of the code, which all pages hang on, and of what it reads."""
        apart = tuple(f"{assets.folder(name).absolute()}/" for name in assets.INCLUDED)
        held = {path: file for path, file in self.files.items() if not path.startswith(apart)}
        return digest(__version__, digest_of(held))

    @property
    def templates(self) -> dict[str, str]:
        """The digest of each template, and of what one may include, by its name."""
        homes = [f"{assets.folder(name).absolute()}/" for name in assets.INCLUDED]
        return {
            path.removeprefix(home): file.digest
            for home in homes
            for path, file in self.files.items()
            if path.startswith(home) and not path.endswith(".js")
        }


_SEEN: dict[str, Input] = {}
"""The files of the program as this process saw them last: it may build many sites."""


def program(before: Mapping[str, Input], heard: Collection[str] | None = None) -> Program:
    """The program as it is now; `before` spares reading files that did not change.

    With `heard`, files that did not are not even looked at: `kbsite.store.inputs.inputs`.
    """
    places = [assets.PACKAGE, assets.folder("templates"), assets.folder("static")]
    held = inputs(places, before or _SEEN, heard if before else None, apart=COMPILED)
    _SEEN.update(held)
    return Program({path: file for path, file in held.items() if COMPILED not in path})


class Standing(Struct, frozen=True, dict=True):
    """The site that stands, in short."""

    program: dict[str, Input] = field(default_factory=dict)
    """The files of the program that made it."""
    settings: str = ""
    """Digest of the settings."""
    marker: int = 0
    """When the site's marker was written, nanoseconds since 1970: another site has another."""
    begun: int = 0
    """When somebody began to look at the inputs, by the clock of `kbsite.store.steady`."""
    looked: int = 0
    """When somebody last began to look at the site and its spare, by that clock; 0 if it was made
    from nothing."""
    inputs: dict[str, Input] = field(default_factory=dict)
    pages: int = 0
    findings: tuple[Finding, ...] = ()
    unmet: tuple[Finding, ...] = ()
    hidden: dict[str, int] = field(default_factory=dict)
    """How many passages of runs are hidden, by rule."""

    @cached_property
    def code(self) -> str:
        """A digest of the code that made it; empty where nothing stands."""
        return Program(self.program).code if self.program else ""

    @property
    def templates(self) -> dict[str, str]:
        """The digest of each template, by its name."""
        return Program(self.program).templates


def record_path(out: Path) -> Path:
    """Where it is told what stands in `out`."""
    return out.parent / f".{out.name}.build.json"  # a wrong `out` has no name


def read_standing(out: Path) -> Standing:
    """What stands in `out`; nothing if that is not what is told of it."""
    standing = read_told(record_path(out), Standing)
    if standing is None or standing.marker != marker_of(out):
        return Standing()
    return standing


def write_standing(out: Path, standing: Standing) -> None:
    """Tell what stands in `out`."""
    write_told(record_path(out), standing)


def marker_of(out: Path) -> int | None:
    """When the marker of the site in `out` was written; None where there is none."""
    try:
        return (out / MARKER).stat().st_mtime_ns
    except OSError:
        return None


def digest(*parts: object) -> str:
    """A digest of values: the same for the same values, whichever objects hold them."""
    whole = hashlib.sha256()
    for part in parts:
        # Bytes are said already, as by `plain`: their repr would go through each of them.
        said = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogateescape")
        whole.update(said)
        whole.update(b"\0")
    return whole.hexdigest()


def plain(value: object) -> bytes | str:
    """Records of texts, whole numbers and enums for a digest: sooner said than by their repr."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Names may hold bytes that are no UTF-8.
        return repr(value)
