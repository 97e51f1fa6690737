"""A built site, as it is looked at: its files, and what its pages say of themselves."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from kbsite.beside import beside
from kbsite.linting.page_facts import PageFacts, line_of, page_facts
from kbsite.lookout import Tick
from kbsite.model.finding import Finding, Severity
from kbsite.store.files import Refused, Stored

MOST_BYTES = 32_000_000
"""Bytes of a page that is read; kbsite cuts long ones into parts of a hundredth of that."""
_FEW = 40
"""Pages below which a second process costs more than it saves."""


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """A site in a folder."""

    files: Mapping[str, Stored]
    """Every file, by its path within the site."""
    refused: tuple[Refused, ...]
    """What is there and no file: links, devices."""
    pages: Mapping[str, PageFacts]
    base: str
    """Where it will be published, with a slash at its end; empty where it does not say."""
    weighed: dict[str, int] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The path of the address where it will be published."""
        return urlsplit(self.base).path or "/"

    def text(self, path: str) -> str:
        """A file as text; empty where it cannot be read."""
        try:
            return self.files[path].read().decode("utf-8", "replace")
        except (KeyError, OSError):
            # That a file cannot be read is told where all of them are.
            return ""

    def on(self, page: str, value: str, message: str, *, key: str | None = None) -> Finding:
        """An error of a page, at the line where an attribute has a value."""
        line = line_of(self.text(page), value)
        return Finding(Severity.ERROR, page, message, line=line, key=key)

    def packed(self, path: str) -> int:
        """Bytes that a file has on its way, compressed; 0 for one that is not there."""
        if path not in self.weighed:
            try:
                data = self.files[path].read()
            except (KeyError, OSError):
                # A file that is missing is told by the checks of links.
                data = b""
            self.weighed[path] = min(len(data), len(gzip.compress(data, 6, mtime=0)))
        return self.weighed[path]


@dataclass(frozen=True, slots=True)
class Unread:
    """A page that says nothing, and why."""

    reason: str


Read = list[tuple[str, PageFacts | Unread]]


def read_pages(
    files: Mapping[str, Stored], tick: Tick | None
) -> Iterator[tuple[str, PageFacts | Unread]]:
    """What each page says of itself; on two cores where there are two and it is worth it."""
    names = [name for name in files if name.endswith(".html")]
    half = len(names) // 2 if len(names) >= _FEW else 0
    others = beside(partial(_read_all, files, names[:half])) if half else list
    for done, name in enumerate(names[half:], start=half + 1):
        yield name, _read(files[name])
        if tick:
            tick(name, done, len(names))
    yield from others()


def _read_all(files: Mapping[str, Stored], names: Sequence[str]) -> Read:
    return [(name, _read(files[name])) for name in names]


def _read(file: Stored) -> PageFacts | Unread:
    if file.size > MOST_BYTES:
        return Unread(f"larger than {MOST_BYTES} bytes, which no page of kbsite is")
    try:
        data = file.read()
        data.decode("utf-8")
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return Unread(f"no UTF-8 at byte {error.start}; expected a page that kbsite wrote")
    return page_facts(data)
