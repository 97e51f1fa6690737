"""How a bucket serves the files of a site: as what, and for how long readers may keep them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from kbsite.store.media_types import type_of

RULES = 1
"""To be raised when the rules below change: files are then sent again."""

_RAW = re.compile(r"runs/[^/]+/raw/")


def content_type(key: str) -> str:
    """The media type of a file, by its name.

    A file that is compressed is a download of its own, and no encoding of another: a bucket cannot
    ask a reader what it takes, and the file beside it is the same, plain.
    """
    return type_of(PurePosixPath(key))


def cache_control(key: str) -> str:
    """For how long a file may be taken from a cache.

    Names of files do not change with what they hold, so that readers always ask whether they did;
    a run's own files hardly ever do.
    """
    return "public, max-age=300" if _RAW.match(key) else "no-cache"
