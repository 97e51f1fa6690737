"""The files of a folder that somebody else made: only what is safe to read."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sys import intern
from types import TracebackType
from typing import IO, TYPE_CHECKING

from kbsite.errors import ENTERABLE, READABLE, InputError, name_file
from kbsite.model.finding import Finding, Severity
from kbsite.model.problem_files import counts, refuse_large
from kbsite.model.redaction import Span, cover_within
from kbsite.store.at_once import itself, listed, read_at_once, root
from kbsite.store.repacking import repacked
from kbsite.store.through import Through

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

AT_ONCE = 1 << 16
"""Bytes of a file that are read at once to be covered, copied or compressed."""
# For twice as many, the system maps memory anew at each reading, and takes it back.


@dataclass(frozen=True, slots=True)
class Stored:
    """A regular file within a folder."""

    name: str
    """Path within the folder, with forward slashes; bytes that are no UTF-8 as surrogates."""
    at: str
    """Its path."""
    size: int
    hidden: tuple[Span, ...] = ()
    """What is covered wherever the file is read for the site."""

    @property
    def path(self) -> Path:
        """Its path; made when it is asked for, since of most files nobody does."""
        return Path(self.at)

    def open(self) -> IO[bytes]:
        """What the file holds, without what is hidden of it; OSError where it cannot be read."""
        stream = self.stream()
        if not self.hidden:
            return stream
        if self.hidden[0].member < 0:
            return io.BufferedReader(Covered(stream, self.hidden), AT_ONCE)
        with stream:
            return repacked(stream, self.hidden)

    def stream(self) -> io.BufferedReader:
        """What the file itself holds; OSError where it cannot be read, or a link stands there."""
        with _NamedIn(self):
            return io.BufferedReader(_Naming(self), _AHEAD)

    def read(self) -> bytes:
        """All that `open` gives."""
        if not self.hidden:
            with _NamedIn(self):
                return read_at_once(self.at, self.size)
        with self.open() as stream:
            return stream.read()


_AHEAD = 65_536
"""Bytes of a file that are read at once: lines of transcripts are long, and by as many as Python
takes by itself they take twice as long to read."""


class _NamedIn:
    """What goes wrong within tells where a file lies, and how it is called in the run.

    While a file is read, the system says neither.
    """

    __slots__ = ("_at", "_name")

    def __init__(self, file: Stored) -> None:
        self._at, self._name = file.at, file.name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if isinstance(error, OSError):
            name_file(error, self._at, self._name)


class _Naming(io.FileIO):
    """A file that is named where it cannot be read on."""

    def __init__(self, file: Stored) -> None:
        self._named = _NamedIn(file)
        # A path takes longer to be made than most files to be opened.
        super().__init__(file.at, "rb", opener=itself)

    def readinto(self, room: Buffer, /) -> int:
        """Read what fits; how many bytes that was."""
        with self._named:
            return super().readinto(room)

    def readall(self) -> bytes:
        """Read all that is left."""
        with self._named:
            return super().readall()


def numbered(files: Iterable[Stored]) -> tuple[Stored, ...]:
    """Files as they are sent to where nothing of this disk is seen: each lies at its number."""
    return tuple(replace(file, at=str(number)) for number, file in enumerate(files))


def sent_along(files: Iterable[Stored]) -> list[Callable[[], bytes]]:
    """What reads the files themselves, to be sent; OSError where a link stands there by now."""
    return [partial(read_at_once, file.at, file.size) for file in files]


def arrived(files: Iterable[Stored], folder: Path) -> tuple[Stored, ...]:
    """Files that were sent, and lie in a folder, each under its number."""
    return tuple(replace(file, at=f"{folder}/{file.at}") for file in files)


@dataclass(frozen=True, slots=True)
class Refused:
    """Something within a folder that is not read, and why."""

    name: str
    reason: str
    expected: str = ""
    """What should stand there, where there is anything to expect, or what to do."""
    severity: Severity = Severity.WARNING

    @property
    def told(self) -> str:
        """Why it is not read, and what was expected."""
        return f"{self.reason}; {self.expected}" if self.expected else self.reason


_EXPECTED = "expected a file or a folder"

UNLISTED = "cannot be listed: "
"""How it begins why a folder is not read."""

_LONG = 1000
"""Characters of a path above which it may have more bytes than the system takes."""

HERE = "."
"""What `contents` calls the folder that it was asked about."""

NOT_READ = "not read: "
"""How it is told that something in a folder is shown nowhere."""


def not_read(folder: Path, refused: Iterable[Refused]) -> tuple[Finding, ...]:
    """What there is to say of what is not read in a folder."""
    return tuple(
        Finding(item.severity, str(folder / item.name), f"{NOT_READ}{item.told}")
        for item in refused
    )


def linked(path: Path) -> Finding:
    """What there is to say of a link to a folder, where folders of runs or problems lie."""
    message = f"{NOT_READ}a symbolic link; move or copy the folder here"
    return Finding(Severity.WARNING, str(path), message)


def unread(file: Stored) -> int:
    """The number of the system's error why a file cannot be opened now; 0 where it can."""
    try:
        # No stream is made of it: that takes longer than all else here.
        os.close(itself(file.at, os.O_RDONLY))
    except OSError as error:
        return error.errno or errno.EIO
    return 0


_DENIED = frozenset({errno.EACCES, errno.EPERM})
"""By which errors a system says that a user may not."""


def within(
    most: int,
    found: tuple[list[Stored], list[Refused]],
    why_not: Callable[[Stored], int] = unread,
) -> tuple[list[Stored], list[Refused]]:
    """What `contents` gave of a run, without files that no site can show: those are refused.

    They hold more than `most` bytes, or cannot be read, as `why_not` tells like `unread`.
    """
    large = f"of more bytes than most_file_bytes of kbsite.yaml allows, {most}"
    kept: list[Stored] = []
    refused: list[Refused] = []
    for file in found[0]:
        if file.size > most:
            refused.append(Refused(file.name, large))
        elif why := why_not(file):
            cure = READABLE if why in _DENIED else ""
            refused.append(Refused(file.name, os.strerror(why), cure, Severity.ERROR))
        else:
            kept.append(file)
    return kept, [*found[1], *refused]


def contents(folder: Path) -> tuple[list[Stored], list[Refused]]:
    """The regular files below a folder, by name, and what else is there.

    Symlinks are never followed, wherever they point; devices, pipes and sockets are never opened.
    """
    root(str(folder))
    kept: list[Stored] = []
    refused: list[Refused] = []
    below = [""]
    while below:
        inside = below.pop()
        try:
            with listed(f"{folder}/{inside}" if inside else str(folder)) as (place, entries):
                found = [_held(f"{inside}{entry.name}", entry, folder, place) for entry in entries]
        except OSError as error:
            refused.append(_unseen(inside or HERE, UNLISTED, error))
            continue
        for one in found:
            match one:
                case Stored() as file:
                    kept.append(file)
                case Refused() as thing:
                    refused.append(thing)
                case str(name):
                    below.append(name)
    return sorted(kept, key=lambda file: file.name), sorted(refused, key=lambda r: r.name)


def _held(
    name: str, entry: os.DirEntry[str], folder: Path, place: int
) -> Stored | Refused | str:  # fmt: skip
    """What an entry of a place below a folder is; its name with a slash if it is one itself."""
    path = f"{folder}/{name}"
    try:
        # What nobody can open by its path is told here, though its folder, which is open, has it.
        status = os.lstat(path) if len(path) > _LONG else entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            leads = os.readlink(entry.name, dir_fd=place)
            return Refused(name, f"a symbolic link (to {leads})", _EXPECTED)
    except OSError as error:
        return _unseen(name, "cannot be read: ", error)
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    if stat.S_ISREG(status.st_mode):
        # Many runs have files of a name, and what tells of all inputs holds their paths too.
        return Stored(intern(name), intern(path), status.st_size)
    return Refused(name, "a pipe, a socket or a device", _EXPECTED)


def _unseen(name: str, what: str, error: OSError) -> Refused:
    """What its folder keeps from being looked at, or a folder that cannot be listed."""
    cure = ENTERABLE if isinstance(error, PermissionError) else ""
    return Refused(name, f"{what}{error.strerror}", cure, Severity.ERROR)


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb", opener=itself) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_digest(folder: Path, held: Iterable[Stored] | None = None) -> str:
    """A problem's hash: one SHA-256 over the names and contents of the regular files below it.

    `held` are these files, where somebody has listed them. InputError for one that is too large,
    before any is read, or that cannot be read. Not all of them count: `kbsite.model.problem_files`.
    """
    held = contents(folder)[0] if held is None else held
    counted = [file for file in held if counts(file.name)]
    for file in counted:
        refuse_large(file.path, file.size)
    whole = hashlib.sha256()
    for file in counted:
        whole.update(f"{_digest(file)}  {file.name}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _digest(file: Stored) -> str:
    try:
        with file.stream() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=file.path) from error


class Covered(Through):
    """A file while it is read, with spans of it covered; closes the file."""

    _stream: io.BufferedReader

    def __init__(self, stream: io.BufferedReader, spans: tuple[Span, ...]) -> None:
        super().__init__(stream)
        self._spans = spans
        self._ends = [span.end for span in spans]

    def readinto(self, room: Buffer, /) -> int:
        """Read what fits; how many bytes that was."""
        start = self._stream.tell()
        size = self._stream.readinto(room)
        first = last = bisect_right(self._ends, start)
        while last < len(self._spans) and self._spans[last].start < start + size:
            last += 1
        if first < last:
            cover_within(memoryview(room)[:size], self._spans[first:last], start)
        return size

    def close(self) -> None:
        """Close the file, too."""
        self._stream.close()
        super().close()


def gzipped(file: Stored) -> Iterator[bytes]:
    """A file, compressed, in pieces; the same for the same content, whatever its name and age."""
    # Most files are too small for it, and most builds write none that is not.
    from isal import isal_zlib

    pack = isal_zlib.compressobj(2, isal_zlib.DEFLATED, _GZIP)
    with file.open() as source:
        yield from map(pack.compress, iter(partial(source.read, AT_ONCE), b""))
    yield pack.flush()


_GZIP = 16 + zlib.MAX_WBITS
"""What has the library write gzip's own header and end, without a name or a time."""
