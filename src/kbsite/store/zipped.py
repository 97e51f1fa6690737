"""Members of zip archives, also those that zipfile cannot unpack before Python 3.14."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Final

from kbsite.store.through import Through

if TYPE_CHECKING:
    from typing_extensions import Buffer

ZSTANDARD: Final = 93
"""The way to pack members that Inspect has used since 2026."""

WINDOW: Final = 1 << 27
"""Memory that unpacking may take, of an archive that anybody may have made."""
_LOCAL: Final = struct.Struct("<4s22xHH")
"""The head before a packed member: its mark, and the lengths of its name and of what follows."""
_LOCAL_MARK: Final = b"PK\x03\x04"


LISTED: Final = 32_000_000
"""Bytes of an archive's list that are read: a member takes twice as much of memory as of that."""


def listed(stream: IO[bytes]) -> zipfile.ZipFile:
    """An archive, of which the list of members is read.

    What zipfile raises where it is none, and BadZipFile where the list is larger than any that
    somebody means, as millions of empty members have.
    """
    listing = _Listing(stream)
    archive = zipfile.ZipFile(listing)
    listing.most = sys.maxsize
    return archive


class _Listing(Through):
    """An archive's file, of which nothing is read at once that is as large as no list is."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        self.most = LISTED
        """Bytes that may be asked for at once: as many as one likes once the list is read."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; BadZipFile where more are asked for than a list has."""
        if size > self.most:
            raise zipfile.BadZipFile(f"its list of members is larger than {self.most} bytes")
        return self._stream.read(size)


def opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo, stream: IO[bytes]) -> IO[bytes]:
    """A member, to be read to its end before the next is opened; `stream` is the archive's file.

    What zipfile raises where it is broken, on the way too.
    """
    if info.compress_type != ZSTANDARD or info.flag_bits & 1:
        return archive.open(info)
    stream.seek(packed_at(stream, info))
    return io.BufferedReader(_Unpacked(stream, info), 1 << 20)


def packed_at(stream: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where in an archive's file the packed bytes of a member begin; BadZipFile for nowhere."""
    stream.seek(info.header_offset)
    head = stream.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(_LOCAL_MARK):
        raise zipfile.BadZipFile(f"no member where the list says: {info.filename!r}")
    _, name, more = _LOCAL.unpack(head)
    return info.header_offset + _LOCAL.size + int(name) + int(more)


class _Packed(io.RawIOBase):
    """The next bytes of a stream, and no more."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, into: Buffer) -> int:
        """How many of them were written there."""
        view = memoryview(into)
        found = self._stream.read(min(len(view), self._left))
        view[: len(found)] = found
        self._left -= len(found)
        return len(found)


class _Unpacked(io.RawIOBase):
    """What a member holds that Zstandard packed, in one frame or in several."""

    def __init__(self, stream: IO[bytes], info: zipfile.ZipInfo) -> None:
        # Here: few archives are packed so, and the library takes a while to load.
        from zstandard import ZstdDecompressor, ZstdError

        packed = io.BufferedReader(_Packed(stream, info.compress_size))
        unpacking = ZstdDecompressor(max_window_size=WINDOW)
        self._reader = unpacking.stream_reader(packed, read_across_frames=True)
        self._error, self._info, self._sum = ZstdError, info, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, into: Buffer) -> int:
        """How many of the next bytes were written there."""
        view = memoryview(into)
        try:
            found = self._reader.read(len(view))
        except self._error as error:
            raise zipfile.BadZipFile(f"{self._info.filename!r}: {error}") from error
        view[: len(found)] = found
        self._sum = zlib.crc32(found, self._sum)
        if not found and view and self._sum != self._info.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {self._info.filename!r}")
        return len(found)
