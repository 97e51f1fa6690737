"""What a build tells the next one: beside the site, never in it."""

from __future__ import annotations

import hashlib
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
        return _decoded(path.read_bytes(), kind)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        import json

        return msgspec.convert(json.loads(data), kind)


def write_told(path: Path, value: object) -> None:
    """Write what `read_told` reads, whole."""
    write_bytes(path, _encoded(value), fleeting=True)


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Names of files may hold bytes that are no UTF-8: then all stands in ASCII.
        import json

        return json.dumps(msgspec.to_builtins(value)).encode()


def read_sealed(path: Path, kind: type[T]) -> T | None:
    """The same of a file that tells what goes into the site as it is; None where it is damaged."""
    try:
        return _decoded(_unsealed(path), kind)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def write_sealed(path: Path, value: object) -> None:
    """Write what `read_sealed` reads, whole."""
    _seal_up(path, _encoded(value))


def read_sealed_with(path: Path, kind: type[T]) -> tuple[T, bytes] | None:
    """The same of a file that holds bytes behind that, which are given as they are."""
    try:
        told, _, body = _unsealed(path).partition(b"\n")
        return _decoded(told, kind), body
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def write_sealed_with(path: Path, value: object, body: bytes) -> None:
    """Write what `read_sealed_with` reads, whole."""
    _seal_up(path, b"\n".join([_encoded(value), body]))


def _unsealed(path: Path) -> bytes:
    """What stands behind the seal of a file; ValueError where it is damaged."""
    seal, _, data = path.read_bytes().partition(b"\n")
    if seal != _seal(data):
        raise ValueError(f"{path}: is not what was written")
    return data


def _seal_up(path: Path, data: bytes) -> None:
    write_bytes(path, b"\n".join([_seal(data), data]), fleeting=True)


def _seal(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
