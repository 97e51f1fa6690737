"""How a bucket serves the files of a site: as what, and for how long readers may keep them."""

from __future__ import annotations

import mimetypes
import re
from pathlib import PurePosixPath

RULES = 1
"""To be raised when the rules below change: files are then sent again."""

_BYTES = "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm",
    ".xml": "application/xml", ".txt": _TEXT, ".log": _TEXT, ".py": _TEXT, ".yaml": _TEXT,
    ".jsonl": _TEXT, ".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8",
    ".woff2": "font/woff2", ".gz": "application/gzip", ".zst": "application/zstd",
}  # fmt: skip
"""By suffix, as `kbsite serve` has it; a test holds both against each other."""
_BY_NAME = mimetypes.MimeTypes()
_RAW = re.compile(r"runs/[^/]+/raw/")


def content_type(key: str) -> str:
    """The media type of a file, by its name; of the unknown only pictures are what they say.

    A file that is compressed is a download of its own, and no encoding of another: a bucket cannot
    ask a reader what it takes, and the file beside it is the same, plain.
    """
    suffix = PurePosixPath(key).suffix.lower()
    guessed = _BY_NAME.guess_type(f"x{suffix}", strict=True)[0] or _BYTES
    return _TYPES.get(suffix, guessed if guessed.startswith("image/") else _BYTES)


def cache_control(key: str) -> str:
    """For how long a file may be taken from a cache.

    Names of files do not change with what they hold, so that readers always ask whether they did;
    a run's own files hardly ever do.
    """
    return "public, max-age=300" if _RAW.match(key) else "no-cache"
