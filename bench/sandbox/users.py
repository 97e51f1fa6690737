"""Users that exist for one box only, so that nothing else on the machine is theirs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import MachineError

# Above what distributions, directories of users and containers give out, below 2^31.
_FIRST = 0x70000000
_EACH, _PROCESSES = 64, 4_194_304  # users of one process, and the most processes Linux numbers
_taken: set[int] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class User:
    """A user (and the group of the same number) of a box, and another for its init."""

    uid: int
    init_uid: int
    slot: int


def take_user() -> User:
    """Two numbers that no other box uses; raises MachineError when too many boxes are open."""
    with _lock:
        free = (slot for slot in range(0, _EACH, 2) if slot not in _taken)
        slot = next(free, None)
        if slot is None:
            raise MachineError(
                f"{_EACH // 2} sandboxes are open in this process; kill some before you start more"
            )
        _taken.add(slot)
    uid = users_of(os.getpid()).start + slot
    return User(uid, uid + 1, slot)


def users_of(owner: int) -> range:
    """All users that boxes of a process can have, where it is root."""
    first = _FIRST + owner % _PROCESSES * _EACH
    return range(first, first + _EACH)


def processes_of(starter: int) -> Iterator[int]:
    """The processes of boxes of a process, by the users that only these have, where it is root."""
    users = users_of(starter)
    for path in Path("/proc").glob("[0-9]*"):
        try:
            owner = path.stat().st_uid
        except FileNotFoundError:
            continue
        if owner in users:
            yield int(path.name)


def give_back(user: User) -> None:
    """Let the next box have these numbers."""
    with _lock:
        _taken.discard(user.slot)


def users_missing() -> str | None:
    """None if the kernel knows the users of boxes here, else why not, in a sentence."""
    table = Path("/proc/self/uid_map")
    if not table.exists():
        return "there are no user namespaces here (/proc/self/uid_map)"
    for line in table.read_text().splitlines():
        first, _, count = (int(word) for word in line.split())
        if first <= _FIRST and first + count >= _FIRST + _EACH * _PROCESSES:
            return None
    return f"users from {_FIRST} on do not exist in this user namespace (/proc/self/uid_map)"


def needs_new_user(asked: bool | None) -> bool:  # noqa: FBT001 - it has no other argument
    """Whether a box gets a user namespace: as asked, otherwise unless root can do without."""
    return os.getuid() != 0 if asked is None else asked
