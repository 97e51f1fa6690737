"""Anchors of events: what permalinks name, and audits cite.

L12 is line 12 of the transcript's main file, L12-1 the second event that this line tells of, and
f0123456789ab-L12 a line of another file. Where several events have one place, the second is L12x2.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from kbsite.model.event import Source

ANCHOR = re.compile(
    r"(?:f(?P<file>[0-9a-f]{12})-)?L(?P<line>[0-9]{1,9})(?:-(?P<part>[0-9]{1,6}))?(?:x[0-9]{1,6})?"
)
"""The form of an anchor, with the key of the file, the line, and which event of it this is."""


def anchor_of(source: Source, main_file: str | None) -> str:
    """The anchor of an event, if it is the only one at its place."""
    anchor = f"L{source.line}-{source.part}" if source.part else f"L{source.line}"
    return anchor if source.file == main_file else f"f{file_key(source.file)}-{anchor}"


@lru_cache(16)
def file_key(file: str) -> str:
    """What stands for the name of a file that has many rows, in anchors."""
    return hashlib.sha256(file.encode("utf-8", "surrogateescape")).hexdigest()[:12]
