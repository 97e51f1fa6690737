"""The patterns of detect-secrets, which are asked where its kind of token may stand.

It is imported with the first of them: most transcripts need none. Three quarters of what that takes
is what it asks servers with, and it never asks any here.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from inspect import getmembers, isclass

from kbsite.late import loaded_late


@cache
def patterns(plugin: str) -> tuple[re.Pattern[bytes], ...]:
    """What one of its detectors looks for; it is never asked to verify anything with a server."""
    with loaded_late("requests"):
        module = import_module(f"detect_secrets.plugins.{plugin}")
    return tuple(
        re.compile(found.pattern.encode(), found.flags & ~re.UNICODE)
        for name, kind in getmembers(module, isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "denylist")
        for found in kind.denylist
    )
