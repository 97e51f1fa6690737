"""What can go wrong, as a person is told of it.

KbsiteError
├── InputError     a file that is read is not what it has to be: exit code 1
├── UsageError     the command was called in a way that cannot work: exit code 2
└── MachineError   this machine cannot do what was asked: exit code 3
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG})
"""How a system says that nothing more can be written."""
_OF_MACHINE = FULL | {errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE,
                      errno.ENAMETOOLONG, errno.ENOTDIR, errno.ENOMEM}  # fmt: skip

EMPTY = "empty, as a variable is that is not set; give a value, or leave it out"
"""What is told of a value without a letter: as a path it would be the folder that one stands in."""
READABLE = "let the user who builds read it (chmod u+r)"
"""What to do about a file that may not be read."""
ENTERABLE = "let the user who builds read it (chmod u+rx)"
"""What to do about a folder that may not be read, nor what is in it."""


class KbsiteError(Exception):
    """Something that a person has to be told, in one message that says what to do."""

    exit_code = 1


class InputError(KbsiteError):
    """A file that is not what it has to be: names the file, the line, the key and the cure."""

    def __init__(
        self, message: str, *, path: Path | str, line: int | None = None, key: str | None = None
    ) -> None:
        self.message = message
        self.path = path
        self.line = line
        self.key = key
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class UsageError(KbsiteError):
    """The command was called in a way that cannot work."""

    exit_code = 2


class MachineError(KbsiteError):
    """What was asked cannot be done on this machine: something has to be installed first."""

    exit_code = 3


def _is_lost() -> bool:
    """Whether the folder that this process stands in has been deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def of_machine(error: OSError) -> MachineError | None:
    """What a person is told where a system refuses to read or write; None for other errors."""
    if error.errno == errno.ENOENT and _is_lost():
        return MachineError(
            "the folder that this was started in is gone, as a site is that was built anew; enter "
            'it again: cd "$PWD"'
        )
    if error.errno not in _OF_MACHINE:
        return None
    place = f"{error.filename}: " if error.filename else ""
    return MachineError(f"{place}{error.strerror}{_cure(error)}")


def _cure(error: OSError) -> str:
    """What to do where this user may not read or write something; empty where that is not it."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return ""
    path = Path(error.filename)
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), path)
    folder = there if _may(f"{there}/", os.F_OK) else there.parent
    if there == path != folder and not _may(path, os.R_OK):
        return f"; {READABLE}"
    if not _may(folder, os.R_OK | os.X_OK):
        return f"; let the user who builds read {folder} (chmod u+rx)"
    within = folder.parent if folder == path else folder
    return "" if _may(within, os.W_OK) else f"; let this user write into {within} (chmod u+w)"


def _may(path: Path | str, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


_FILE = "file_of_run"


def name_file(error: OSError, at: str, name: str) -> None:
    """Have an error tell where a run's file lies, and how it is called in the run.

    Copies of a process send both along with it, as they do no note that others may write.
    """
    error.filename = error.filename or at
    vars(error)[_FILE] = name


def file_of_run(error: OSError) -> str:
    """How the file of a run is called that an error is about; empty for all other errors."""
    return str(vars(error).get(_FILE, ""))


def of_run(error: OSError) -> InputError | None:
    """What a person is told of a run's file that went since it was seen; None for other errors."""
    if not file_of_run(error):
        return None
    message = f"cannot be read any more: {error.strerror}; it was there just now, try again"
    return InputError(message, path=error.filename)
