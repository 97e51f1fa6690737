"""Ids that stand in addresses as they are: of boards, problems, harnesses, hardware, leaks."""

from __future__ import annotations

import re

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")

SLUG_RULE = "it becomes part of an address; expected small letters, digits and . _ - only"


def is_slug(name: str) -> bool:
    """Whether a name can be part of an address of the site, as it is."""
    return _SLUG.fullmatch(name) is not None
