"""A folder that a box writes to, looked at from outside: whatever lies in there, nobody is led on.

No link is followed, nothing but a regular file is opened, and that without waiting; each look is
bounded. The folder is held by an open file, so that it outlives the box.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_HERE = PurePosixPath()
_DEEPEST = 40  # folders within each other
_LONGEST = 1000  # bytes of a path
_PIECE = 1024 * 1024
_MOST_ODD = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What opening fails with where something is not there, is no folder, a link, closed to us, of a
# name that cannot be, held by a lease, a pipe, or there already; where there is no room, or nobody
# may write.
_NOT_THERE = {
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG,
    errno.EINVAL, errno.EAGAIN, errno.ENXIO, errno.EEXIST, errno.ENOSPC, errno.EROFS,
}  # fmt: skip
_KINDS = {
    stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A regular file: where it lies, how long it says it is, and when it last changed.

    `changed_ns` counts from 1970 and cannot be set by who owns the file; holes count as bytes.
    """

    path: PurePosixPath
    bytes: int
    changed_ns: int


@dataclass(frozen=True)
class _Odd:
    said: str


MOST_NAMES = 10_000
"""That are looked at, at most."""

Wanted = Callable[[PurePosixPath], bool]


class _More:
    """That there is more than is looked at."""


def _all_folders(_: PurePosixPath) -> bool:
    return True


class Place:
    """A folder of a box, as it is now; paths are relative to it."""

    def __init__(self, number: int) -> None:
        """Take over an open folder, which `close` closes."""
        self._number = number

    def walk(
        self, most: int = MOST_NAMES, below: PurePosixPath = _HERE, into: Wanted = _all_folders
    ) -> Iterator[Found]:
        """The regular files below a folder, in no order, after a look at so many names at most.

        Files whose names are odd are left out, and so is what lies deeper than 40 folders, or in
        folders that are not to be gone `into`.
        """
        return (one for one in self._all(below, most, into) if isinstance(one, Found))

    def crowded(
        self, most: int = MOST_NAMES, below: PurePosixPath = _HERE, into: Wanted = _all_folders
    ) -> bool:
        """Whether more lies below a folder than `walk` looks at."""
        return any(isinstance(one, _More) for one in self._all(below, most, into))

    def odd(self, most: int = MOST_NAMES) -> tuple[str, ...]:
        """What is no file, no folder or has no plain name, the first hundred, each in words."""
        odd: list[str] = []
        for one in self._all(_HERE, most, _all_folders):
            if isinstance(one, _Odd) and len(odd) < _MOST_ODD:
                odd.append(one.said)
        return tuple(odd)

    def read(self, path: PurePosixPath, most: int) -> bytes | None:
        """The first bytes of a file; None if it is not there, or no regular file."""
        with self._file(path) as number:
            return None if number is None else b"".join(_pieces(number, 0, most))

    def copy(self, path: PurePosixPath, target: Path, most: int, start: int = 0) -> int:
        """How many bytes of a file, from `start` on, were copied to the same place of a target.

        The target is made where it is not there, and emptied where `start` is 0; it is no link.
        """
        with self._file(path) as number:
            if number is None:
                return 0
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            out = os.open(target, flags | (0 if start else os.O_TRUNC), 0o644)
            try:
                at = start
                for piece in _pieces(number, start, most):
                    at += os.pwrite(out, piece, at)
            finally:
                os.close(out)
            return at - start

    def write_new(self, path: PurePosixPath, data: bytes) -> bool:
        """Whether a file was made that holds this; not where something is already, or no room."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with ExitStack() as stack:
            above = stack.enter_context(self._folder(path.parent))
            number = None if above is None else _tried(path.name, flags, above)
            if number is None:
                return False
            stack.callback(os.close, number)
            try:
                while data:
                    data = data[os.write(number, data) :]
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                os.unlink(path.name, dir_fd=above)
                return False
            return True

    def close(self) -> None:
        """Let go of the folder; nothing can be asked of it any more."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    @contextmanager
    def _file(self, path: PurePosixPath) -> Iterator[int | None]:
        """A regular file, open to be read; None for everything else."""
        with ExitStack() as stack:
            above = stack.enter_context(self._folder(path.parent))
            number = None if above is None else _opened(path.name, above)
            if number is not None:
                stack.callback(os.close, number)
            yield number

    @contextmanager
    def _folder(self, path: PurePosixPath) -> Iterator[int | None]:
        """A folder, open; None where a part of the path is no folder."""
        if path.is_absolute() or ".." in path.parts or len(path.parts) > _DEEPEST:
            yield None
            return
        with ExitStack() as stack:
            number = os.dup(self._number)
            stack.callback(os.close, number)
            for part in path.parts:
                below = _tried(part, _FOLDER, number)
                if below is None:
                    break
                stack.callback(os.close, below)
                number = below
            else:
                yield number
                return
            yield None

    def _all(self, below: PurePosixPath, most: int, into: Wanted) -> Iterator[Found | _Odd | _More]:
        """All that lies below a folder, folders left out, until so many names were looked at.

        The last is _More where there are others.
        """
        waiting, seen = [below], 0
        while waiting:
            above = waiting.pop()
            with self._folder(above) as number:
                if number is None:
                    yield _Odd(_said(above, "cannot be opened"))
                    continue
                with os.scandir(number) as entries:
                    for entry in entries:
                        if seen >= most:
                            yield _More()
                            return
                        seen += 1
                        found = _looked_at(entry, above)
                        if isinstance(found, PurePosixPath):
                            waiting += [found] if into(found) else []
                        elif found is not None:
                            yield found


def _looked_at(
    entry: os.DirEntry[str], above: PurePosixPath
) -> Found | _Odd | PurePosixPath | None:
    """A file, something odd, the path of a folder, or nothing any more."""
    path = above / entry.name
    if not _plain(path):
        return _Odd(_said(path, "an odd name"))
    try:
        held = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(held.st_mode):
        return Found(path, held.st_size, held.st_ctime_ns)
    if stat.S_ISDIR(held.st_mode):
        return path if len(path.parts) <= _DEEPEST else _Odd(_said(path, "too deep"))
    return _Odd(_said(path, _KINDS.get(stat.S_IFMT(held.st_mode), "no file")))


def _plain(path: PurePosixPath) -> bool:
    """Whether a path is one of printable characters, and not too long to be said."""
    return path.name.isprintable() and len(os.fsencode(path)) <= _LONGEST


def _said(path: PurePosixPath, what: str) -> str:
    """A path with what it is, safe to print; of a long one its end."""
    return f"{ascii(str(path))[-_LONGEST:]}: {what}"


def _tried(name: str, flags: int, above: int | None = None) -> int | None:
    """What lies in a folder under a name, open; None if it is not there or of another kind."""
    try:
        return os.open(name, flags, dir_fd=above)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise
    except ValueError:
        # A name with a NUL is that of nothing.
        return None


def _opened(name: str, above: int) -> int | None:
    """A regular file, open to be read, without ever waiting; None for everything else."""
    # To open a device or a pipe would do something, so that it is looked at before it is opened.
    held = _tried(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, above)
    if held is None:
        return None
    try:
        if not stat.S_ISREG(os.fstat(held).st_mode):
            return None
        # Without waiting: somebody may hold a lease on it.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        return _tried(f"/proc/self/fd/{held}", flags)
    finally:
        os.close(held)


def _pieces(number: int, start: int, most: int) -> Iterator[bytes]:
    """What a file holds from a place on, so many bytes at most, piece by piece."""
    at = start
    while piece := os.pread(number, min(_PIECE, start + most - at), at):
        yield piece
        at += len(piece)
