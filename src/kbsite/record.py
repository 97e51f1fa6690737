"""What a build made, page by page, so that the next one makes only what changed.

The record lies beside the site, never in it: a site is the same however it was built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kbsite.lookout import Across, Noticed
from kbsite.model.redaction import Hidden
from kbsite.pages.page import Made
from kbsite.standing import Standing
from kbsite.store.told import read_told, write_told


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page as it was made."""

    key: str
    """Digest of everything that its files depend on; empty for one that is always made anew."""
    files: dict[str, Made | None]
    """Its files, by path within the site, with what those that can stay alone were made of."""
    templates: dict[str, str] = field(default_factory=dict)
    """The digests of the templates that it was made with, by name."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The files of a run as they stand in the site."""

    says: str
    """Digest of what the site shows of them."""
    paths: tuple[str, ...]
    """Where they stand."""


@dataclass(frozen=True, slots=True)
class Record:
    """A build."""

    marker: int = 0
    """When the site's marker was written, nanoseconds since 1970: another site has another."""
    frame: str = ""
    """Digest of what stands on every page: the code that made it, titles, boards."""
    pages: dict[str, PageRecord] = field(default_factory=dict)
    noticed: dict[str, Noticed] = field(default_factory=dict)
    """What was found in each run, by its id."""
    across: Across = field(default_factory=Across)
    """What was found by comparing them."""
    raw: dict[str, Raw] = field(default_factory=dict)
    """The runs' own files as they stand in the site, by id of run."""

    def file(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of; None where that is not known."""
        held = self.pages.get(page)
        return held.files.get(path) if held else None


def pages_path(out: Path) -> Path:
    """Where the record of the site in `out` lies."""
    return out.with_name(f".{out.name}.pages.json")


def read_record(out: Path, standing: Standing) -> Record:
    """The record of the site that stands in `out`; an empty one if that is not what it records."""
    record = read_told(pages_path(out), Record) if standing.program else None
    return record if record and record.marker == standing.marker else Record()


def write_record(out: Path, record: Record) -> None:
    """Write the record of the site in `out`."""
    write_told(pages_path(out), record)


def hidden_path(out: Path) -> Path:
    """Where it lies what is hidden of the runs of the site in `out`; no secret is in it."""
    return out.with_name(f".{out.name}.hidden.json")


def read_hidden(out: Path) -> dict[str, Hidden]:
    """What the last build hid of each run, by its folder; nothing where that cannot be read."""
    return read_told(hidden_path(out), dict[str, Hidden]) or {}


def write_hidden(out: Path, found: Mapping[str, Hidden]) -> None:
    """Write down what is hidden of each run, where it is not what stands there."""
    if read_hidden(out) != found:
        write_told(hidden_path(out), dict(found))
