"""A command that runs in a box: it is watched by a thread, and ended with all that it started."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.sandbox.box import SCRATCH, Box, Ending, Limits
from bench.sandbox.groups import Group
from bench.sandbox.log import Printed
from bench.sandbox.place import Place
from bench.sandbox.processes import (
    ended_within,
    family,
    resident_bytes,
    runs,
    runs_of,
    stopped,
)
from bench.sandbox.threads import Stand, stands
from kbsite.errors import MachineError

_EVERY_MS = 50  # how often memory is looked at
_TO_END_S = 30.0  # for a driver to take a GPU's memory back from a killed process


@dataclass(frozen=True)
class Afterwards:
    """What is done when nothing of a box is left, and when its places are not needed either."""

    ended: Callable[[], None]
    closed: Callable[[], None]


class Held:
    """A started box: `starter` is our child, `init` and `command` are inside; see enter.py."""

    def __init__(
        self,
        starter: subprocess.Popen[bytes],
        channel: socket.socket,
        printed: Printed,
        limits: Limits,
        group: Group,
        afterwards: Afterwards,
    ) -> None:
        self.channel = channel
        self.printed = printed
        self._starter = starter
        self._limits = limits
        self._group = group
        self._afterwards = afterwards
        self._told: dict[str, int] = {}
        self._over_memory = False
        self._stuck = False
        self._ending: Ending | None = None
        self._done = threading.Event()
        self._init = self._command = -1
        self._lock = threading.Lock()
        self._frozen: list[int] = []
        self._runs: dict[str, int] = {}
        self.init = 0
        self.pid = 0
        self.facts: Mapping[str, str] = {}
        self.places: Mapping[Path, Place] = {}
        self.listener: socket.socket | None = None

    def hold(self, box: Box, files: list[int]) -> None:
        """Take over what init handed out: the box's folders, and its listener after them."""
        if box.listen is not None:
            self.listener = socket.socket(fileno=files.pop())
        paths = (*box.writable, SCRATCH) if box.writable else ()
        self.places = {path: Place(number) for path, number in zip(paths, files, strict=True)}

    def entered(self, init: int, command: int) -> None:
        """Take note of who is process 1 and who will be the command, as the host counts."""
        self.init, self.pid = init, command
        self._init, self._command = os.pidfd_open(init), os.pidfd_open(command)

    def abandon(self) -> None:
        """Let go of a box whose command did not start."""
        self._let_go()
        if self.listener:
            self.listener.close()
        for place in self.places.values():
            place.close()

    def watch(self) -> None:
        """Begin to watch, in a thread that ends with the box."""
        threading.Thread(target=self._watch, name=f"box {self.pid}", daemon=True).start()

    def running(self) -> bool:
        """Whether the command still runs."""
        return not self._done.is_set()

    def ended(self) -> Ending | None:
        """How it ended, once nothing of it is left; None before."""
        return self._ending if self._done.is_set() else None

    def wait(self, seconds: float) -> Ending | None:
        """How it ended, as soon as it did; None if it still runs after that time."""
        self._done.wait(seconds)
        return self.ended()

    def memory_bytes(self) -> int:
        """The resident memory of all its processes together, in bytes; 0 when it ended."""
        if self._done.is_set() or not self.init:
            return 0
        return sum(resident_bytes(one) for one in family(self.init)[1:])

    def freeze(self, seconds: float) -> bool:
        """Stop all its processes; whether none of them runs any more within that time."""
        if self._group.freezer:
            return self._group.freezer.freeze(seconds)
        until = time.monotonic() + seconds
        while self.running() and time.monotonic() < until:
            found = family(self.init)[1:]
            self._signal(found, signal.SIGSTOP)
            # All are still, and only then it is looked who is there: nobody was started meanwhile.
            if all(stopped(one) for one in found) and family(self.init)[1:] == found:
                self._frozen = found
                self._runs = {key: count for one in found for key, count in runs(one).items()}
                return True
        return not self.running()

    def stood_still(self) -> bool:
        """Whether none of its processes had a processor since it was frozen.

        What is stopped by a signal need not stay so: a timer of its own sends a process the signal
        to go on. What a control group froze stays frozen.
        """
        now = {key: runs_of(key) for key in self._runs}
        return all(count in (None, self._runs[key]) for key, count in now.items())

    def stands(self) -> list[Stand]:
        """Where its threads are that were at work when it was frozen."""
        return [stand for one in family(self.init)[1:] for stand in stands(one)]

    def thaw(self) -> None:
        """Let all go on that were frozen."""
        if self._group.freezer:
            self._group.freezer.thaw()
        self._signal(self._frozen, signal.SIGCONT)

    def _signal(self, processes: Sequence[int], number: signal.Signals) -> None:
        for one in processes:
            try:
                os.kill(one, number)
            except ProcessLookupError:
                # It ended by itself.
                continue

    def signal(self, number: int) -> None:
        """Send a signal to the command alone; nothing happens if it ended."""
        with self._lock:
            if self._command >= 0:
                try:
                    signal.pidfd_send_signal(self._command, number)
                except ProcessLookupError:
                    # It ended by itself.
                    return

    def kill(self) -> None:
        """End all its processes; when this returns, nothing of it is left but its places.

        Raises MachineError if the kernel does not end them, OSError if what the box printed could
        not be kept, as on a full disk.
        """
        if not self._done.is_set():
            self._hang_up()
        self._done.wait()
        if self._stuck:
            raise MachineError(
                f"a box cannot be ended: process {self.init} was still there {2 * _TO_END_S:g} s "
                "after it was killed. A driver may hold it; look at the machine"
            )
        for log in self.printed.logs:
            if log.failed is not None:
                raise log.failed

    def close(self) -> None:
        """Let go of its places: what lay there is gone then. To be called after `kill`."""
        for place in self.places.values():
            place.close()
        self._afterwards.closed()

    def __enter__(self) -> Self:
        """The box itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill it, unless it ended, and let go of its places."""
        try:
            self.kill()
        finally:
            self.close()

    def _hang_up(self) -> None:
        """Close the channel for both sides: init ends, and the kernel kills all others."""
        try:
            self.channel.shutdown(socket.SHUT_RDWR)
        except OSError:
            # Init was faster: the other end is gone.
            return

    def _watch(self) -> None:
        words = b""
        try:
            words = self._listen()
        finally:
            # Whatever went wrong here, nobody waits for a box that is not watched.
            self._hang_up()
            try:
                self._bury(words)
            finally:
                self._done.set()

    def _listen(self) -> bytes:
        """Take what it prints and look at its memory until init is gone; all that init told."""
        waiting = select.poll()
        for log in self.printed.logs:
            waiting.register(log.reading, select.POLLIN)
        waiting.register(self.channel, select.POLLIN)
        words, next_look = b"", 0.0
        while True:
            ready = {number for number, _ in waiting.poll(_EVERY_MS)}
            for log in self.printed.logs:
                if log.reading in ready and not log.take():
                    waiting.unregister(log.reading)
                if log.failed is not None:
                    # What goes on would be lost: whoever started the box is told when it is killed.
                    self._hang_up()
            if self.channel.fileno() in ready:
                said = self.channel.recv(4096)
                words += said
                if not said:
                    return words
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + _EVERY_MS / 1000
                self._look_at_memory()

    def _look_at_memory(self) -> None:
        """End the box if it uses more than it may."""
        most = self._limits.memory_bytes
        if most is not None and not self._over_memory:
            by_kernel = "memory" in self._group
            over = self._group.over() if by_kernel else self.memory_bytes() > most
            self._over_memory = over
            if over:
                self._hang_up()

    def _bury(self, words: bytes) -> None:
        """Wait until all are gone, and say how it ended."""
        for line in words.decode(errors="replace").splitlines():
            word, _, number = line.partition(" ")
            # Init may also tell why it failed: where it has the box's user, that can be provoked.
            if number.isdecimal():
                self._told[word] = int(number)
        if not ended_within(self._init, _TO_END_S):
            self._starter.kill()
            self._stuck = not ended_within(self._init, _TO_END_S)
        self._let_go()
        if not self._stuck:
            self._tidy()

    def _let_go(self) -> None:
        """Close what init and command are held by."""
        with self._lock:
            for number in (self._init, self._command):
                if number >= 0:
                    os.close(number)
            self._init = self._command = -1

    def _tidy(self) -> None:
        """Take down what stood for it here, now that none of its processes is left."""
        try:
            self._starter.wait(_TO_END_S)
        except subprocess.TimeoutExpired:
            self._starter.kill()
            self._starter.wait()
        self._drain()
        code, by_signal = self._told.get("exit"), self._told.get("signal")
        self._ending = Ending(
            exit_code=code,
            signal=by_signal,
            killed=code is None and by_signal is None,
            over_memory=self._over_memory or self._group.over(),
            over_log=self.printed.log.dropped,
            over_stdout=self.printed.stdout.dropped if self.printed.stdout else 0,
        )
        self.channel.close()
        self._group.remove()
        self._afterwards.ended()

    def _drain(self) -> None:
        """Take what is still in the pipes: nobody is left who could write more."""
        for log in self.printed.logs:
            waiting = select.poll()
            waiting.register(log.reading, select.POLLIN)
            while waiting.poll(0) and log.take():
                continue
            log.close()
