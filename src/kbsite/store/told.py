"""What a build tells the next one: beside the site, never in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

import msgspec

from kbsite.store.writing import write_bytes

T = TypeVar("T")


def read_told(path: Path, kind: type[T]) -> T | None:
    """What a file beside the site tells; None where it tells nothing of that kind.

    Nothing is lost without it: the next build makes everything.
    """
    try:
        data = path.read_bytes()
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(data), kind)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def write_told(path: Path, value: object) -> None:
    """Write what `read_told` reads, whole."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Names of files may hold bytes that are no UTF-8: then all stands in ASCII.
        data = json.dumps(msgspec.to_builtins(value)).encode()
    write_bytes(path, data)
