"""Names that files of runs have in a site: every host shows them, every file system takes them."""

from __future__ import annotations

import re
from hashlib import sha256

_LONGEST = 255
"""Bytes that a file's name can have."""
_HIDDEN = re.compile(r"(dot)*\.")
"""How names start that hosts hide, and the names that those get."""
_CONTROL = re.compile(r"[\x01-\x1f\x7f]|%(?:[01][0-9A-F]|7F|25)")
"""What no bucket takes in a name, and what such a name gets for it."""
_ESCAPED = re.compile(r"[\x01-\x1f\x7f%]")


def unhidden(name: str) -> str:
    """A name that no host hides; no two names get the same.

    Many neither take nor show what starts with a dot, as folders of CLIs' session logs do.
    """
    return longer(f"dot{name}", "") if _HIDDEN.match(name) else name


def written(name: str) -> str:
    """A name without control characters, which no bucket takes; no two names get the same."""
    if not _CONTROL.search(name):
        return name
    return longer(_ESCAPED.sub(lambda one: f"%{ord(one[0]):02X}", name), "")


def longer(name: str, suffix: str) -> str:
    """A file's name with a suffix; cut where no file system would take it otherwise."""
    data = name.encode("utf-8", "surrogateescape")
    return f"{name if len(data) + len(suffix) <= _LONGEST else cut(name, 200)}{suffix}"


def cut(name: str, kept: int) -> str:
    """So many bytes of a name, and what tells it from all others that begin so."""
    data = name.encode("utf-8", "surrogateescape")
    return f"{data[:kept].decode('utf-8', 'ignore')}-{sha256(data).hexdigest()[:16]}"
