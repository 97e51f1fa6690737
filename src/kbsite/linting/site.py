"""A built site, as it is looked at: its files, and what its pages say of themselves."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kbsite.linting.page_facts import Lines, PageFacts
from kbsite.model.finding import Finding, Severity
from kbsite.store.files import Refused, Stored

MOST_BYTES = 500_000_000
"""Bytes of a file that is looked into; the largest are tables, and these are of 1,000,000 runs."""


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
    lines: dict[str, Lines] = field(default_factory=dict)
    """Of the page that was asked for last: a check goes through one after the other."""

    @property
    def root(self) -> str:
        """The path of the address where it will be published."""
        return urlsplit(self.base).path or "/"

    def text(self, path: str) -> str:
        """A file as text; empty where it cannot be read, or is larger than any that is."""
        try:
            file = self.files[path]
            return file.read().decode("utf-8", "replace") if file.size <= MOST_BYTES else ""
        except (KeyError, OSError):
            # That a file cannot be read is told where all of them are.
            return ""

    def on(self, page: str, value: str, message: str, *, key: str | None = None) -> Finding:
        """An error of a page, at the line where an attribute has a value."""
        line = self.line(page, value)
        return Finding(Severity.ERROR, page, message, line=line, key=key)

    def line(self, page: str, value: str, time: int = 1) -> int | None:
        """The line of a page where an attribute has a value, for the `time`-th time."""
        if page not in self.lines:
            self.lines.clear()
            self.lines[page] = Lines(self.text(page))
        return self.lines[page].of(value, time)

    def packed(self, path: str) -> int:
        """Bytes that a file has on its way, compressed; 0 for one that is not there.

        One that is too large to be looked into has its own.
        """
        if path not in self.weighed:
            file = self.files.get(path)
            if file and file.size > MOST_BYTES:
                return file.size
            try:
                data = self.files[path].read()
            except (KeyError, OSError):
                # A file that is missing is told by the checks of links.
                data = b""
            self.weighed[path] = min(len(data), len(gzip.compress(data, 6, mtime=0)))
        return self.weighed[path]
