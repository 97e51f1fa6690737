"""Which file of a site an address means: none outside it, whatever the address is."""

from __future__ import annotations

import mimetypes
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from kbsite.pages.page import INDEX

BYTES = "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm",
    ".xml": "application/xml", ".txt": _TEXT, ".log": _TEXT, ".py": _TEXT, ".yaml": _TEXT,
    ".jsonl": _TEXT, ".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8",
    ".woff2": "font/woff2", ".gz": "application/gzip", ".zst": "application/zstd",
}  # fmt: skip
"""By suffix; of the rest only pictures are taken to be what they are called."""

_BY_NAME = mimetypes.MimeTypes()
"""The standard library's own table: what a machine's says differs from machine to machine."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads."""

    file: Path | None
    """A regular file within the site; None where there is none."""
    folder: bool = False
    """Whether it is a folder's address without the slash at its end: pages would miss theirs."""


NOWHERE = Place(None)


def place_of(site: Path, raw_path: str) -> Place:
    """What an address's path, still quoted, means within a site.

    Links are not followed, nor does a quoted slash part names: a path has one meaning or none.
    """
    names = _names(raw_path)
    if names is None:
        return NOWHERE
    path = site
    for name in names:
        if not _is(path, stat.S_ISDIR):
            return NOWHERE
        path = path / name
    if raw_path.endswith("/"):
        path = path / INDEX
    elif _is(path, stat.S_ISDIR):
        return Place(None, folder=True)
    return Place(path) if _is(path, stat.S_ISREG) else NOWHERE


def type_of(path: Path) -> str:
    """The media type of a file, by its name; bytes for what is not known."""
    suffix = path.suffix.lower()
    guessed = _BY_NAME.guess_type(f"x{suffix}", strict=True)[0] or BYTES
    known = guessed if guessed.startswith("image/") else BYTES
    return _TYPES.get(suffix, known)


def _names(raw_path: str) -> list[str] | None:
    """The names that a path consists of; None where one is no name of a file."""
    start, *quoted = raw_path.removesuffix("/").split("/") if raw_path != "/" else [""]
    names = [unquote_to_bytes(name) for name in quoted]
    wrong = any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in names)
    return None if start or wrong else [os.fsdecode(name) for name in names]


def _is(path: Path, kind: object) -> bool:
    assert callable(kind)
    try:
        return bool(kind(path.lstat().st_mode))
    except OSError:
        # Too long a name, or nothing there: either way there is no such file.
        return False
