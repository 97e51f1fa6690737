"""Where this program keeps what it would otherwise get or make once more: the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from kbsite.errors import UsageError

CACHE = "KBSITE_CACHE"
"""The environment variable that names the folder; copies of buckets are most of what lies there."""


def cache_folder() -> Path:
    """The folder, whether or not it is there; copies of buckets may have one of their own.

    UsageError where nobody knows whose that is, as in a container of an unknown user.
    """
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "kbsite"
    try:
        return Path.home() / ".cache" / "kbsite"
    except RuntimeError as error:
        message = f"this user has no home folder for copies of buckets; set {CACHE}, XDG_CACHE_HOME"
        raise UsageError(f"{message}, or storage.cache of kbsite.yaml") from error
