"""Files written so that nobody ever sees half of one; standard library only, as bench needs it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path


def write_bytes(
    path: Path, data: bytes, *, lasting: bool = False, fleeting: bool = False, private: bool = False
) -> None:
    """Write a file whole: beside its place first, then moved there.

    One that is `lasting` survives a power cut, which takes a while: what nobody can make anew. One
    that is `fleeting` may be gone where this process is killed. One that is `private` is this
    user's to read and write and nobody else's, whatever the umask is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(path, data, lasting=lasting, fleeting=fleeting, private=private)
    except OSError as error:
        # Nobody knows the other name, and who reads an error looks for this one.
        error.filename = str(path)
        raise


def _write(path: Path, data: bytes, *, lasting: bool, fleeting: bool, private: bool) -> None:
    descriptor, partial = _begun(_partial(path), private=private)
    # It is held until it has its name: somebody else who writes the file would begin it anew.
    with open(descriptor, "wb") as stream:  # noqa: PTH123 - of a descriptor
        try:
            if private:
                os.fchmod(descriptor, _PRIVATE)
            stream.write(data)
            stream.flush()
            if lasting:
                os.fsync(descriptor)
            if fleeting:
                # What takes the place of another file is brought to the disk at once, by ext4 at
                # least.
                path.unlink(missing_ok=True)
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def _partial(path: Path) -> Path:
    # Of one length for every name, and no name that a file of the folder could have itself.
    short = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f".{short}.partial")


def _begun(partial: Path, *, private: bool) -> tuple[int, Path]:
    """An empty file, and its name, which nobody else writes to; what a dead writer left serves.

    Where another one is at it, or a link, a pipe or a folder stands there, as whoever made the
    folder may have meant, it has a name that nobody knows. So it has where it is `private` and what
    was left is not: others may have it open.
    """
    mode = _PRIVATE if private else 0o666
    with suppress(OSError):
        descriptor = os.open(partial, _WRITE | os.O_NONBLOCK | os.O_NOFOLLOW, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held, there = os.fstat(descriptor), partial.lstat()
            # Who had it may have given it its name by now, and what has two is somebody's file.
            single = stat.S_ISREG(held.st_mode) and held.st_nlink == 1
            serves = not private or (held.st_uid == os.geteuid() and not held.st_mode & 0o077)
            if os.path.samestat(held, there) and single and serves:
                os.ftruncate(descriptor, 0)
                return descriptor, partial
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
    other = partial.with_name(f".{os.urandom(8).hex()}.partial")
    return os.open(other, _WRITE | os.O_EXCL, mode), other


_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC

_PRIVATE = stat.S_IRUSR | stat.S_IWUSR

_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")


def is_left_over(name: str) -> bool:
    """Whether a file of that name or path is what a process left, killed while it wrote another."""
    return _PARTIAL.fullmatch(name.rpartition("/")[2]) is not None
