"""An `.eval` archive as its members, one in memory at a time: a zip file of JSON documents.

An archive is hostile input: how many members it may have, and how large and how densely packed
they may be, is bounded here. What is beyond a bound, or cannot be read, is told as what it is.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from msgspec import Struct

from kbsite.harnesses import bounds
from kbsite.harnesses.lines import Line, lines
from kbsite.store.zipped import ZSTANDARD, listed, opened

MEMBERS = 20_000
"""Members that are read of an archive."""
MEMBER_BYTES = 256_000_000
"""Size of the largest member that is read."""
ARCHIVE_BYTES = 2_000_000_000
"""Size of all members of an archive that are read, together."""
RATIO = 400
"""How many times larger than packed a member may be; JSON of transcripts is 5 to 30 times."""
SMALL = 1_000_000
"""Bytes of a member that may be packed as densely as it likes."""

_MAGIC = b"PK"
_CHUNK = 1 << 20
_PACKED = {
    zipfile.ZIP_STORED: "", zipfile.ZIP_DEFLATED: "", zipfile.ZIP_BZIP2: "", zipfile.ZIP_LZMA: "",
    ZSTANDARD: "", 9: "Deflate64", 95: "XZ", 98: "PPMd",
}  # fmt: skip
"""Ways to pack a member; those without a name can be read."""
_ENCRYPTED = 1
_BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, NotImplementedError, OSError, ValueError,
)  # fmt: skip
HEADER, START, SAMPLES = "header.json", "_journal/start.json", "samples/"
_HEADS = [HEADER, START]


class Member(Line, frozen=True):
    """A member of an archive, as a line that holds all of it."""

    name: str = ""
    problem: str = ""
    """Why it could not be read; its text says nothing then."""
    samples: int = 0
    """How many samples the archive has."""


class _Left(Struct):
    """What may still be read of an archive."""

    bytes: int


def members(stream: IO[bytes]) -> Iterator[Line]:
    """The members of an open archive: its header, its samples, all else; lines if it is none."""
    magic = stream.read(len(_MAGIC))
    stream.seek(0)
    if magic != _MAGIC:
        yield from lines(stream)
        return
    try:
        archive = listed(stream)
    except _BROKEN as error:
        yield Member(1, "", name="the archive", problem=f"no zip file that can be read: {error}")
        return
    with archive:
        yield from _members(archive, stream)


def _members(archive: zipfile.ZipFile, stream: IO[bytes]) -> Iterator[Member]:
    left = _Left(ARCHIVE_BYTES)
    found = sorted(archive.infolist(), key=_order)
    samples = _samples(info.filename for info in found)
    for number, info in enumerate(found[:MEMBERS], start=1):
        problem = _unreadable(info)
        text = ""
        if not problem:
            text, problem = _text(archive, info, stream, left)
        if problem and info.filename not in _HEADS:
            text = "{}"  # a log is known by its head, and by what else it has
        yield Member(number, text, name=info.filename, problem=problem, samples=samples)
    if len(found) > MEMBERS:
        told = f"only {MEMBERS} members of an archive are read"
        yield Member(MEMBERS + 1, "", name=f"{len(found) - MEMBERS} more members", problem=told)


def _samples(names: Iterable[str]) -> int:
    """How many samples members are of; one that is kept in parts has a folder of its own."""
    held = (name.removeprefix(SAMPLES) for name in names if name.startswith(SAMPLES))
    return len({name.partition("/")[0].removesuffix(".json") for name in held} - {""})


def _order(info: zipfile.ZipInfo) -> int:
    if info.filename in _HEADS:
        return _HEADS.index(info.filename)
    return len(_HEADS) + (not info.filename.startswith(SAMPLES))


def _unreadable(info: zipfile.ZipInfo) -> str:
    """Why a member cannot be read, as far as the archive's list tells; empty if it can."""
    if info.flag_bits & _ENCRYPTED:
        return "encrypted"
    if _PACKED.get(info.compress_type, "unknown"):
        how = _PACKED.get(info.compress_type, f"method {info.compress_type}")
        return f"packed with {how}, which cannot be unpacked here"
    return ""


def _text(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, stream: IO[bytes], left: _Left
) -> tuple[str, str]:
    """The text of a member, or why it has none. Its size is counted: the list may lie about it."""
    most = min(MEMBER_BYTES, left.bytes, max(SMALL, RATIO * info.compress_size))
    data = bytearray()
    try:
        with opened(archive, info, stream) as member:
            while chunk := member.read(_CHUNK):
                data += chunk
                if len(data) > most:
                    return "", _too_large(most, left)
    except _BROKEN as error:
        return "", f"broken: {error}"
    finally:
        left.bytes -= len(data)
    text = data.decode("utf-8", "surrogateescape")
    return ("", f"more than {bounds.MOST} values") if bounds.is_crowded(text) else (text, "")


def _too_large(most: int, left: _Left) -> str:
    if most == MEMBER_BYTES:
        return f"larger than {MEMBER_BYTES} bytes"
    if most == left.bytes:
        return f"beyond the {ARCHIVE_BYTES} bytes that are read of an archive"
    return f"more than {RATIO} times larger than packed"
