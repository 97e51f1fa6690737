"""What a build tells the next one: beside the site, never in it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TypeVar

import msgspec

from kbsite.store.at_once import itself
from kbsite.store.swapping import remove
from kbsite.store.writing import write_bytes

T = TypeVar("T")


def read_told(path: Path, kind: type[T]) -> T | None:
    """What a file beside the site tells; None where it tells nothing of that kind.

    Nothing is lost without it: the next build makes everything.
    """
    try:
        return _decoded(_held(path), kind)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def _held(path: Path) -> bytes:
    """What a file holds; OSError for all else that somebody may have put there."""
    with open(path, "rb", opener=itself) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{path}: no file")
        return stream.read()


def _put(path: Path, data: bytes) -> None:
    if path.is_dir():
        remove(path)
    write_bytes(path, data, fleeting=True)


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        import json

        return msgspec.convert(json.loads(data), kind)


def write_told(path: Path, value: object) -> None:
    """Write what `read_told` reads, whole."""
    _put(path, _encoded(value))


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
    seal, _, data = _held(path).partition(b"\n")
    if seal != _seal(data):
        raise ValueError(f"{path}: is not what was written")
    return data


def _seal_up(path: Path, data: bytes) -> None:
    _put(path, b"\n".join([_seal(data), data]))


def _seal(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
