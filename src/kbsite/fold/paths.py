"""Paths as a shell names them."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"([A-Za-z]):[\\/]")


def shell_path(path: str) -> str:
    """A whole path on Windows as its shells name it, "/d/a/b.py" for that on D:; else itself."""
    drive = _DRIVE.match(path)
    if drive is None:
        return path
    rest = path[drive.end() :].replace("\\", "/")
    return f"/{drive[1].lower()}/{rest}"
