"""Archives among the files of a run, texts in UTF-16 or in pictures: what they hold, in bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import IO, Final

from kbsite.store.files import Stored
from kbsite.store.zipped import listed, opened, packed_at

UNPACKED: Final = 256 << 20
"""Bytes that are unpacked of an archive."""

MEMBER: Final = 64 << 20
"""Bytes that are unpacked of a member of it."""

_Opener = Callable[[IO[bytes]], io.BufferedIOBase]

_ZIP = b"PK\x03\x04"
_PACKED_AS: Final[tuple[tuple[bytes, _Opener], ...]] = (
    (b"\x1f\x8b\x08", lambda stream: gzip.GzipFile(fileobj=stream)),
    *((b"BZh%d1AY" % level, bz2.BZ2File) for level in range(1, 10)),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_SEALED: Final = (b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
"""What begins an archive that cannot be unpacked here."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_HEAD: Final = Struct(">I4s")
"""How many bytes a chunk of a PNG has, and its kind; behind it come four that sum it up."""
_STARTS: Final = (_ZIP, _PNG, *_SEALED, *(magic for magic, _ in _PACKED_AS))
_WIDE: Final = (
    (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
)  # fmt: skip
_START: Final = 16
"""Bytes of a file by which it is told whether it is one."""

_BROKEN = (
    OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile,
)  # fmt: skip


class ClosedError(Exception):
    """An archive that nobody can look into: broken, sealed, or too large."""


def is_zip(start: bytes) -> bool:
    """Whether a file that starts with these bytes is an archive whose members can be covered."""
    return start.startswith(_ZIP)


def is_png(start: bytes) -> bool:
    """Whether a file that starts with these bytes is a PNG, whose texts may be compressed."""
    return start.startswith(_PNG)


def is_archive(start: bytes) -> bool:
    """Whether a file that starts with these bytes holds what does not stand in it as it is."""
    return start.startswith(_STARTS) or is_wide(start)


def is_wide(start: bytes) -> bool:
    """Whether a file that starts with these bytes may be a text of wide characters."""
    return _wide(start) is not None


def _wide(start: bytes) -> str | None:
    """How a text of wide characters is written, by its mark or by the zeros in its letters."""
    for mark, name in _WIDE:
        if start.startswith(mark):
            return name
    even, odd = start[:_START:2], start[1:_START:2]
    if len(start) < _START or any(even) == any(odd):
        return None
    return "utf-16-le" if all(even) else "utf-16-be" if all(odd) else None


def members(file: Stored) -> Iterator[tuple[str, bytes]]:
    """The names of the members of an archive and what they hold, in order.

    ClosedError where that cannot be told.
    """
    left = [UNPACKED]
    try:
        with file.stream() as stream:
            start = stream.read(_START)
            stream.seek(0)
            how_opened = next((how for magic, how in _PACKED_AS if start.startswith(magic)), None)
            wide = _wide(start)
            if wide is not None:
                yield "", _bounded(stream, left).decode(wide, "replace").encode("utf-8")
            elif how_opened is not None:
                yield "", _bounded(how_opened(stream), left)
            elif start.startswith(_ZIP):
                yield from _zipped(stream, left)
            elif start.startswith(_PNG):
                yield from _texts(stream, left)
            else:
                raise ClosedError(f"{file.at}: cannot be unpacked here")
    except _BROKEN as error:
        raise ClosedError(f"{file.at}: {error}") from error


def _zipped(stream: IO[bytes], left: list[int]) -> Iterator[tuple[str, bytes]]:
    with listed(stream) as archive:
        told = archive.comment + b"".join(info.comment for info in archive.infolist())
        if told:
            raise ValueError("holds comments")
        for info in archive.infolist():
            with opened(archive, info, stream) as member:
                yield info.filename, _bounded(member, left)


def beside(file: Stored) -> bytes:
    """What a zip archive holds beside its members: their heads, and whatever stands between.

    ClosedError where that cannot be told.
    """
    held, at = bytearray(), 0
    try:
        with file.stream() as stream, listed(stream) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
                first = packed_at(stream, info)
                stream.seek(at)
                held += stream.read(max(0, first - at))
                at = max(at, first + info.compress_size)
                if len(held) > MEMBER:
                    raise ValueError("holds more beside its members than is looked at")
            stream.seek(at)
            return bytes(held) + _bounded(stream, [MEMBER])
    except _BROKEN as error:
        raise ClosedError(f"{file.at}: {error}") from error


def _texts(stream: IO[bytes], left: list[int]) -> Iterator[tuple[str, bytes]]:
    """What a PNG holds compressed beside its picture: comments of the program that drew it, say."""
    stream.seek(len(_PNG))
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        size, kind = _HEAD.unpack(head)
        after = stream.tell() + size + 4
        packed = _packed(kind, size, stream) if kind in _WITH_TEXTS else b""
        if packed:
            text = zlib.decompressobj().decompress(packed, MEMBER + 1)
            yield "", _bounded(io.BytesIO(text), left)
        stream.seek(after)


_WITH_TEXTS: Final = (b"zTXt", b"iTXt", b"iCCP")
"""Chunks that hold something compressed, behind their name."""


def _packed(kind: bytes, size: int, stream: IO[bytes]) -> bytes:
    """What a chunk holds compressed; nothing where it holds a text as it is."""
    if size > MEMBER:
        raise ValueError("holds more than is looked at")
    _, _, rest = stream.read(size).partition(b"\0")
    if kind != b"iTXt":
        return rest[1:]
    # It says itself whether it is compressed; its language and its name in that stand before it.
    return rest[2:].split(b"\0", 2)[-1] if rest[:1] == b"\1" else b""


def _bounded(stream: io.BufferedIOBase | IO[bytes], left: list[int]) -> bytes:
    most = min(MEMBER, left[0])
    data = stream.read(most + 1)
    left[0] -= len(data)
    if len(data) > most:
        raise ValueError("holds more than is looked at")
    return data
