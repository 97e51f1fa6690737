"""A folder that takes the place of another, so that there is never none and never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

_HERE = -100
"""What renameat2 takes for the folder that relative paths start from."""
_EXCHANGE = 2
"""Both renameat2 of Linux and renamex_np of macOS call it this."""
_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
"""What a system answers that cannot exchange names here; others are real failures."""


def put_in_place(new: Path, place: Path) -> None:
    """Let the folder `new` stand at `place`; what stood there stands at `new` from then on.

    Both happen at once, so that whoever is killed leaves the one or the other. Where a system
    cannot do that, `recover` mends what is left. OSError where neither can be renamed.
    """
    if not place.exists():
        new.rename(place)
    elif not _exchanged(new, place):
        old = _aside(place)
        place.rename(old)
        new.rename(place)
        old.rename(new)


def recover(place: Path) -> None:
    """Bring back what stood at `place`, where somebody was killed who had put it aside."""
    old = _aside(place)
    if not old.is_dir():
        return
    if place.exists():
        remove(old)
    else:
        old.rename(place)


def clear(new: Path, place: Path) -> None:
    """Take away the folder `new` of somebody who was killed before or after it took `place`."""
    recover(place)
    if os.path.lexists(new):
        bring_along(new, place)
        remove(new)


FOR_HOSTS = ("_headers", ".nojekyll", "CNAME", ".htaccess")
"""Files that whoever publishes a site adds to it, to tell a host how."""

VERSIONS = (".git", ".hg", ".svn")
"""What stands at the top of a folder whose versions somebody keeps, as of a branch of pages."""


def bring_along(old: Path, place: Path) -> None:
    """Let what keeps the versions of a folder stay with what took its place.

    Nobody may have another copy of it.
    """
    for name in VERSIONS:
        if os.path.lexists(old / name) and not os.path.lexists(place / name):
            (old / name).rename(place / name)


def remove(path: Path) -> None:
    """Take a folder or a file away, if it is there; what cannot be taken away stays."""
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    else:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def _aside(place: Path) -> Path:
    return place.with_name(f"{place.name}.old.partial")


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two names were exchanged; False where the system does not know how."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            status = libc.renamex_np(*names, _EXCHANGE)
        else:
            status = libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    except AttributeError:
        return False  # an older C library
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
