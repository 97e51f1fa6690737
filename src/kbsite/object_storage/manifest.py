"""What was published to a bucket, told in the bucket itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from kbsite import __version__
from kbsite.object_storage.headers import RULES

MANIFEST = ".kbsite-published.json"
"""What all files of the site are; written when all of them are there."""
INTENT = ".kbsite-publishing.json"
"""What is about to be published; deleted after the manifest is written."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file of the site, as it was sent."""

    sha256: str
    size: int
    version: str = ""
    """The version of the object, as its bucket lists it; empty where that is not known yet."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A site in a bucket, or one that is to be there."""

    format: Literal[1] = 1
    kbsite: str = __version__
    headers: int = RULES
    """The rules by which its files are served."""
    files: Mapping[str, Sent] = field(default_factory=dict)


def encoded(manifest: Manifest) -> bytes:
    """A manifest as JSON, its files by name."""
    return msgspec.json.encode(manifest, order="sorted") + b"\n"


def decoded(data: bytes) -> Manifest | None:
    """The manifest that is written there; None where it is none."""
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, RecursionError):
        return None
