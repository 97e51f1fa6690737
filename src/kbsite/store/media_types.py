"""As what the files of a site are sent to readers, by their names."""

from __future__ import annotations

import mimetypes
from pathlib import PurePath

_BYTES = "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm",
    ".xml": "application/xml", ".txt": _TEXT, ".log": _TEXT, ".py": _TEXT, ".yaml": _TEXT,
    ".jsonl": _TEXT, ".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8",
    ".webp": "image/webp", ".woff2": "font/woff2",
    ".gz": "application/gzip", ".zst": "application/zstd",
}  # fmt: skip
"""By suffix; of the rest only pictures are taken to be what they are called."""

_BY_NAME = mimetypes.MimeTypes()
"""The standard library's own table: what a machine's says differs from machine to machine."""


def type_of(path: PurePath) -> str:
    """The media type of a file, by its name; bytes for what is not known."""
    suffix = path.suffix.lower()
    guessed = _BY_NAME.guess_type(f"x{suffix}", strict=True)[0] or _BYTES
    known = guessed if guessed.startswith("image/") else _BYTES
    return _TYPES.get(suffix, known)
