"""Names that files of runs have in a site: every host shows them, every file system takes them."""

from __future__ import annotations

import re
from hashlib import sha256

_LONGEST = 255
"""Bytes that a file's name can have."""
_HIDDEN = re.compile(r"(dot)*\.")
"""How names start that hosts hide, and the names that those get."""


def unhidden(name: str) -> str:
    """A name that no host hides; no two names get the same.

    Many neither take nor show what starts with a dot, as folders of CLIs' session logs do.
    """
    return longer(f"dot{name}", "") if _HIDDEN.match(name) else name


def longer(name: str, suffix: str) -> str:
    """A file's name with a suffix; cut where no file system would take it otherwise."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) + len(suffix) <= _LONGEST:
        return f"{name}{suffix}"
    return f"{data[:200].decode('utf-8', 'ignore')}-{sha256(data).hexdigest()[:16]}{suffix}"
