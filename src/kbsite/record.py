"""What a build made, and of what, so that the next one makes only what changed.

The record lies beside the site, never in it: a site is the same however it was built.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kbsite import __version__, assets
from kbsite.lookout import Noticed
from kbsite.model.finding import Finding
from kbsite.model.redaction import Hidden
from kbsite.pages.page import Made
from kbsite.store.inputs import Input, digest_of, inputs
from kbsite.store.writing import write_text


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page as it was made."""

    key: str
    """Digest of everything that its files depend on; empty for one that is always made anew."""
    files: dict[str, Made | None]
    """Its files, by path within the site, with what those that can stay alone were made of."""


@dataclass(frozen=True, slots=True)
class Record:
    """A build."""

    code: str = ""
    """Digest of all code, templates and static files."""
    frame: str = ""
    """Digest of what stands on every page: the code that made it, titles, boards."""
    settings: str = ""
    """Digest of the settings."""
    marker: int = 0
    """When the site's marker was written, nanoseconds since 1970: another site has another."""
    inputs: dict[str, Input] = field(default_factory=dict)
    pages: dict[str, PageRecord] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unmet: tuple[Finding, ...] = ()
    noticed: dict[str, Noticed] = field(default_factory=dict)
    """What was found in each run, by its id."""
    hidden: dict[str, int] = field(default_factory=dict)
    """How many passages of runs are hidden, by rule."""

    def file(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of; None where that is not known."""
        held = self.pages.get(page)
        return held.files.get(path) if held else None


def record_path(out: Path) -> Path:
    """Where the record of the site in `out` lies."""
    return out.with_name(f".{out.name}.build.json")


def read_record(out: Path, marker: Path) -> Record:
    """The record of the site that lies in `out`; an empty one if that is not what it records."""
    try:
        held = json.loads(record_path(out).read_text("utf-8"))
        record = msgspec.convert(held, Record)
        written = marker.stat().st_mtime_ns
    except (OSError, ValueError, msgspec.ValidationError):
        # Nothing is lost without it: the next build makes everything.
        return Record()
    return record if record.marker == written else Record()


def write_record(out: Path, record: Record) -> None:
    """Write the record of the site in `out`."""
    # Names of files may hold bytes that are no UTF-8: they stand in ASCII.
    write_text(record_path(out), json.dumps(msgspec.to_builtins(record)) + "\n")


def hidden_path(out: Path) -> Path:
    """Where it lies what is hidden of the runs of the site in `out`; no secret is in it."""
    return out.with_name(f".{out.name}.hidden.json")


def read_hidden(out: Path) -> dict[str, Hidden]:
    """What the last build hid of each run, by its folder; nothing where that cannot be read."""
    try:
        held = json.loads(hidden_path(out).read_text("utf-8"))
        return msgspec.convert(held, dict[str, Hidden])
    except (OSError, ValueError, msgspec.ValidationError):
        # Nothing is lost without it: all runs are looked at again.
        return {}


def write_hidden(out: Path, found: Mapping[str, Hidden]) -> None:
    """Write down what is hidden of each run, where it is not what stands there."""
    text = json.dumps(msgspec.to_builtins(dict(found))) + "\n"
    path = hidden_path(out)
    if not path.exists() or path.read_text("utf-8") != text:
        write_text(path, text)


def digest(*parts: object) -> str:
    """A digest of values: the same for the same values, whichever objects hold them."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(repr(part).encode("utf-8", "surrogateescape"))
        whole.update(b"\0")
    return whole.hexdigest()


def code_digest() -> str:
    """A digest of all code, templates and static files that make a site."""
    places = [assets.PACKAGE, assets.folder("templates"), assets.folder("static")]
    held: Mapping[str, Input] = inputs(places, {})
    return digest(__version__, digest_of({p: f for p, f in held.items() if "__pycache__" not in p}))
