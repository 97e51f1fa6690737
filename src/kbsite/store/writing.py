"""Files written so that nobody ever sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from kbsite.late import HALF
from kbsite.whole import write_bytes

__all__ = [
    "json_text",
    "make_folder",
    "write_bytes",
    "write_new",
    "write_once",
    "write_parts",
    "write_pieces",
    "write_text",
]


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, whole, with line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def write_new(path: str, data: bytes) -> None:
    """Write a file into a folder that nobody sees before it is whole.

    What stands in its place may have other names, as the files of a spare have: it is taken away,
    and never written to.
    """
    write_parts(path, [data])


def write_pieces(path: str, pieces: Iterable[str]) -> None:
    """Write UTF-8 text that comes in pieces, as `write_new` does."""
    write_parts(path, (text.encode("utf-8") for text in _together(pieces)))


def write_once(path: str, data: bytes) -> None:
    """Write a file that is not there yet; FileExistsError where it is."""
    _fill(os.open(path, _NEW, 0o666), path, [data])


def write_parts(path: str, parts: Iterable[bytes]) -> None:
    """Write what comes in parts, as `write_new` does."""
    _fill(_opened(path), path, parts)


def _fill(descriptor: int, path: str, parts: Iterable[bytes]) -> None:
    """Write a file that was made for it, which is gone again unless it becomes whole."""
    try:
        for data in parts:
            _write(descriptor, data)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - no path is made of many thousands of names
        if isinstance(error, OSError):
            error.filename = error.filename or path
        raise
    finally:
        os.close(descriptor)


def _opened(path: str) -> int:
    """A descriptor of a new file; its folders are made where they are missing."""
    try:
        return os.open(path, _NEW, 0o666)
    except FileNotFoundError:
        make_folder(path.rpartition("/")[0])
    except FileExistsError:
        os.unlink(path)  # noqa: PTH108
    return os.open(path, _NEW, 0o666)


def make_folder(path: str) -> None:
    """Make a folder that is not there, and those above it that are not.

    The standard library looks for each of them before it makes it, which takes as long as to do so.
    """
    try:
        os.mkdir(path)  # noqa: PTH102 - as above
    except FileNotFoundError:
        above = path.rpartition("/")[0]
        if not above:
            raise
        make_folder(above)
        make_folder(path)
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112
            raise


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _together(pieces: Iterable[str]) -> Iterator[str]:
    """Small pieces put together, since each that is written costs as much as a large one."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _AT_ONCE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


_AT_ONCE = 100_000
"""Characters that are written at once."""


def json_text(value: object) -> str:
    """`value`, a record or plain data, as indented JSON that ends in a line end."""
    import json

    plain = msgspec.to_builtins(value)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    with suppress(UnicodeEncodeError):
        # Python's own indenting takes twice as long.
        return f"{msgspec.json.format(text.encode('utf-8'), indent=2).decode()}\n"
    text = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)
    return HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"
