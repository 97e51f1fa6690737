"""Copies of this process that share tasks: who takes which, and what comes back of each."""

from __future__ import annotations

import ctypes  # noqa: F401 - each copy needs it to end with this process
import gc
import os
import pickle
import selectors
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from mmap import mmap
from time import monotonic
from typing import BinaryIO, Generic, TypeVar

from msgspec import Struct, field

from kbsite.beside import OWN, copied, one_core
from kbsite.engines.engine import Lost, packed_error

Task = TypeVar("Task")
Given = TypeVar("Given")

_TRIES = 2
"""How often a task is begun whose process is killed."""

_LEFT = 40_000
"""Objects that tasks made and did not drop, from which on a copy looks for cycles between two.

Then hardly anything else is alive, so that the search takes a millisecond or two; while a task is
done it would go through a transcript as well.
"""

_NUMBER = struct.Struct("<I")
_HEAD = struct.Struct("<cIQ")
"""What precedes all that a copy tells: what it is, of which task, how many bytes follow."""
_GIVEN, _RAISED = b"g", b"r"
_PIPE = 65_536
"""Bytes that a pipe holds."""

_TELL_AFTER = 0.05
"""Seconds for which a copy keeps what came of its tasks, and half of what a pipe holds at most.

Of small tasks, most would be telling: this process would be woken for each, on a core that a copy
works on.
"""

_NONE = -1
"""Stands for the task of a copy that is at none."""


class _Copy(Struct):
    """A process at work, as this one knows it."""

    id: int
    taken: memoryview
    """The task that it is at, as one number that both can see: it is known however a copy ends."""
    held: bytearray = field(default_factory=bytearray)
    """What came of what it tells next."""


class Crew(Struct, Generic[Task, Given]):
    """Copies that share the tasks that wait, until all are taken."""

    work: Callable[[Task], Given]
    tasks: Sequence[Task]
    waiting: Sequence[int]
    long: frozenset[int]
    """The tasks that more than one core may work at."""
    told: Callable[[int, Given | Lost], None]
    done: set[int] = field(default_factory=set)
    fallen: dict[int, str] = field(default_factory=dict)
    """The tasks at which a copy was killed, with what is known of that."""
    _copies: dict[int, _Copy] = field(default_factory=dict)
    """By the end of the pipe that each tells into."""
    _queue: tuple[int, int] = (-1, -1)
    """Both ends of the pipe that numbers of tasks are taken from; the second is closed at last."""
    _left: bytes = b""
    """What did not fit into it yet."""

    def go_through(self, jobs: int, meanwhile: Callable[[int], None] | None) -> None:
        """Let copies do the tasks, as many as there is something to do for, until none is left."""
        self._queue = os.pipe()
        OWN.add(self._queue[1])
        os.set_blocking(self._queue[1], False)
        self._left = b"".join(_NUMBER.pack(number) for number in self.waiting)
        try:
            self._feed()
            for _ in range(min(jobs, len(self.waiting))):
                self._start()
            if meanwhile:
                meanwhile(max(0, jobs - len(self.waiting)))
            with selectors.DefaultSelector() as ready:
                self._listen(ready)
        finally:
            self._end()

    def without(self, strikes: Mapping[int, int]) -> set[int]:
        """The tasks at which copies were killed often enough, told to be lost."""
        lost = {number for number in self.fallen if strikes[number] >= _TRIES}
        for number in sorted(lost):
            self.told(number, Lost(self.fallen[number]))
        return lost

    def _start(self) -> None:
        # Where there can be no more processes, those that there are do all.
        with suppress(OSError):
            taken = memoryview(mmap(-1, _NUMBER.size)).cast("i")
            taken[0] = _NONE
            copy, told = copied(partial(self._do, taken))
            self._copies[told] = _Copy(copy, taken)

    def _feed(self) -> None:
        with suppress(BlockingIOError):
            while self._left:
                self._left = self._left[os.write(self._queue[1], self._left) :]
        if not self._left and self._queue[1] in OWN:
            self._close(self._queue[1])

    def _close(self, end: int) -> None:
        OWN.discard(end)
        os.close(end)

    def _do(self, taken: memoryview, stream: BinaryIO) -> None:
        """What a copy does."""
        # A key that ends the build ends its first process, and that ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()
        given, told = bytearray(), monotonic()
        while number := os.read(self._queue[0], _NUMBER.size):
            (taken[0],) = _NUMBER.unpack(number)
            try:
                given += self._came_of(taken[0])
            except Exception as error:  # noqa: BLE001 - raised where the tasks come from
                given += _message(_RAISED, taken[0], packed_error(error))
                break
            taken[0] = _NONE
            if gc.get_count()[0] > _LEFT:
                gc.collect()
            if len(given) > _PIPE // 2 or monotonic() - told > _TELL_AFTER:
                _tell(stream, given)
                given, told = bytearray(), monotonic()
        _tell(stream, given)

    def _came_of(self, number: int) -> bytes:
        """What a copy tells of a task that it does."""
        with nullcontext() if number in self.long else one_core():
            return _message(_GIVEN, number, _packed(self.work(self.tasks[number])))

    def _listen(self, ready: selectors.BaseSelector) -> None:
        """Take what the copies tell, until there are none."""
        for told in self._copies:
            ready.register(told, selectors.EVENT_READ)
        if self._left:
            ready.register(self._queue[1], selectors.EVENT_WRITE)
        while self._copies:
            for key, _ in ready.select():
                if key.fd not in self._copies:
                    self._feed()
                    if not self._left:
                        ready.unregister(key.fd)
                elif data := os.read(key.fd, _PIPE):
                    self._hear(self._copies[key.fd], data)
                else:
                    ready.unregister(key.fd)
                    self._ended(key.fd)
                    for told in self._copies.keys() - ready.get_map().keys():
                        ready.register(told, selectors.EVENT_READ)

    def _hear(self, copy: _Copy, data: bytes) -> None:
        copy.held += data
        while len(copy.held) >= _HEAD.size:
            kind, number, size = _HEAD.unpack_from(copy.held)
            end = _HEAD.size + size
            if len(copy.held) < end:
                return
            body = bytes(copy.held[_HEAD.size : end])
            del copy.held[:end]
            given = pickle.loads(body)  # noqa: S301 - a copy of this very process wrote it
            if kind == _RAISED:
                raise given
            self.done.add(number)
            self.told(number, given)

    def _ended(self, told: int) -> None:
        """Take leave of a copy; where it was killed at a task, another one goes on."""
        copy = self._copies.pop(told)
        self._close(told)
        _, status = os.waitpid(copy.id, 0)
        if copy.taken[0] != _NONE and status:
            self.fallen[copy.taken[0]] = _why(os.waitstatus_to_exitcode(status))
            self._start()

    def _end(self) -> None:
        """End all that is left of the copies."""
        for told, copy in self._copies.items():
            with suppress(ProcessLookupError):
                os.kill(copy.id, signal.SIGKILL)
            os.waitpid(copy.id, 0)
            self._close(told)
        for end in self._queue:
            if end == self._queue[0] or end in OWN:
                self._close(end)


def _packed(given: object) -> bytes:
    return pickle.dumps(given, pickle.HIGHEST_PROTOCOL)


def _message(kind: bytes, number: int, body: bytes) -> bytes:
    return _HEAD.pack(kind, number, len(body)) + body


def _tell(stream: BinaryIO, given: bytearray) -> None:
    stream.write(given)
    stream.flush()


def _why(code: int) -> str:
    if code == -signal.SIGKILL:
        return "killed (SIGKILL), as a system does that has no memory left"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
