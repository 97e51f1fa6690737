"""The worker as the grader sees it: commands down, frames up, and how it ended."""

from __future__ import annotations

import base64
import json
import secrets
import select
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, perf_counter_ns, sleep
from types import TracebackType
from typing import Any, Self

from bench.devices import Arena, Device
from bench.grading.deadline import Deadline
from bench.grading.failures import Failure, error_of
from bench.grading.setting import Setting
from bench.sandbox.box import Box
from bench.sandbox.places import own_packages, python_places
from bench.sandbox.threads import Stand
from bench.worker import worker
from kbsite.errors import MachineError
from kbsite.model.grade import Outcome
from kbsite.regular import end_of

WORKER = Path(worker.__file__)
START_SECONDS = 120
"""For the interpreter, torch and the device's context; nothing of a solution runs by then."""

FREEZE_SECONDS = 5.0

THAW_NS = 20_000
"""What it may take to let a process go on without being counted."""

LOG_SECONDS = 1.0
"""How long an error's text may take on its way from a worker to its log."""

_TAIL = 4000

_OUTCOMES = {
    worker.OUT_OF_MEMORY: Outcome.OOM,
    worker.FORBIDDEN: Outcome.FORBIDDEN_OP,
    worker.RAISED: Outcome.RUNTIME_ERROR,
}


@dataclass(frozen=True, slots=True)
class Order:
    """A command as it goes down; it is made before the clock starts."""

    frame: bytes
    nonce: bytes
    seconds: float
    """How long the answer may take."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, nanoseconds. What a worker says that a command took may be a lie."""

    event: int
    host: int
    processor: int
    sent: int
    """When the command left, by our clock."""
    came: int
    """When the answer was there, by our clock."""


def box_of_workers(device: Device, log: Path) -> Box:
    """What each worker's box can reach on a device, with nothing in it yet."""
    return Box(
        log=log,
        readable=(*python_places(), *device.readable()),
        devices=device.nodes(),
        hidden=own_packages(),
        environment=device.environment(),
    )


class Process:
    """A worker in a sandbox. As a context manager, nothing of it is left at the end."""

    def __init__(
        self, setting: Setting, arena: Arena, forbidden: Sequence[str], log: Path, *,
        deadline: Deadline,
    ) -> None:  # fmt: skip
        device = setting.device
        self.log = log
        self._forbidden = tuple(forbidden)
        ours, theirs = socket.socketpair()
        self._channel = ours
        self.stage = "start"
        # Of the grading, but only once it stands: to start a worker is no solution's doing.
        self._deadline = Deadline()
        self.spins = False
        """Whether both sides look for frames without a pause."""
        self.building = 0.0
        """Seconds that the solution took to be imported and to prepare itself."""
        box = replace(
            box_of_workers(device, log),
            files={WORKER.name: WORKER.read_bytes()},
            pass_fds=(theirs.fileno(), *arena.fds),
            limits=setting.limits,
        )
        command = [
            sys.executable,
            "-I",
            "-B",
            "-u",
            WORKER.name,
            str(theirs.fileno()),
        ]
        try:
            self._held = setting.sandbox.start(command, box)
        finally:
            theirs.close()
        self._greet({**device.told(), "arena": dict(arena.handle), "forbidden": self._forbidden})
        self._deadline = deadline

    def _greet(self, told: Mapping[str, Any]) -> None:
        try:
            self.ask(worker.HELLO, payload=json.dumps(told).encode(), seconds=START_SECONDS)
            self.spins = bool(told["spin"])
        except Failure as failure:
            self.close()
            raise MachineError(
                f"the worker did not start: {failure.detail}; its log: {self.tail()}"
            ) from failure

    def load(self, files: Mapping[str, bytes], seconds: float) -> None:
        """Hand over the solution and have it imported; Failure says why it cannot be."""
        self.stage = "import"
        told = {name: base64.b64encode(content).decode() for name, content in files.items()}
        payload = json.dumps({"files": told}).encode()
        try:
            self._build(self.order(worker.FILES, payload=payload, seconds=seconds))
        except Failure as failure:
            if failure.outcome is not Outcome.RUNTIME_ERROR or self._held.ended():
                raise
            raise Failure(Outcome.COMPILE_ERROR, failure.detail) from failure
        self.stage = "call"

    def prepare(self, shape: int, slots: Sequence[int], seconds: float) -> None:
        """Have the solution prepare itself for a shape; Failure says why it cannot."""
        self.stage = "setup"
        self._build(self.order(worker.SETUP, shape=shape, slots=slots, seconds=seconds))
        self.stage = "call"

    def _build(self, order: Order) -> None:
        began = monotonic()
        self.send(order)
        self.building += monotonic() - began

    def ask(
        self, command: int, *, shape: int = 0, slots: Sequence[int] = (), payload: bytes = b"",
        seconds: float,
    ) -> Reply:  # fmt: skip
        """Have a command done; Failure if it fails, or if the answer is not what it has to be."""
        order = self.order(command, shape=shape, slots=slots, payload=payload, seconds=seconds)
        return self.send(order)

    def order(
        self, command: int, *, shape: int = 0, slots: Sequence[int] = (), payload: bytes = b"",
        seconds: float,
    ) -> Order:  # fmt: skip
        """A command that can be sent at once; Failure if the grading has to be done by now."""
        seconds = self._deadline.within(seconds, self.stage)
        nonce = secrets.token_bytes(8)
        head = worker.DOWN.pack(
            worker.MAGIC_DOWN, command, len(slots), shape, len(payload), nonce, bytes(slots)
        )
        return Order(head + payload, nonce, seconds)

    def send(self, order: Order, meanwhile: Callable[[], None] | None = None) -> Reply:
        """Have it done; Failure as of `ask`. `meanwhile` is done once the worker was told."""
        self._channel.settimeout(order.seconds)
        came = 0
        sent = perf_counter_ns()
        try:
            self._channel.sendall(order.frame)
            if meanwhile:
                meanwhile()
            came = self._wait(order.seconds) if self.spins else 0
            frame = self._channel.recv(worker.UP.size)
        except TimeoutError:
            self._deadline.check(self.stage)
            said = f"no answer within {order.seconds:g} s ({self.stage})"
            raise Failure(Outcome.TIMEOUT, said) from None
        except OSError:
            frame = b""
        came = came or perf_counter_ns()
        return Reply(*self._read(frame, order.nonce), sent=sent, came=came)

    def _wait(self, seconds: float) -> int:
        """When there was something to read, ns; to sleep meanwhile would blur the clock."""
        until = monotonic() + seconds
        while not select.select([self._channel], [], [], 0)[0]:
            if monotonic() > until:
                raise TimeoutError
        return perf_counter_ns()

    def _read(self, frame: bytes, nonce: bytes) -> tuple[int, int, int]:
        """What the worker says of the clock of its device, of its host and of its processor."""
        if not frame:
            raise self._ending()
        if len(frame) != worker.UP.size:
            raise Failure(Outcome.PROTOCOL, f"a frame of {len(frame)} bytes, expected 64")
        magic, status, operation, event, host, processor, echo = worker.UP.unpack(frame)
        if magic != worker.MAGIC_UP or echo != nonce:
            raise Failure(Outcome.PROTOCOL, "a frame that answers no command came up the channel")
        if status != worker.DONE:
            raise self._refusal(status, operation)
        return event, host, processor

    def _refusal(self, status: int, operation: int) -> Failure:
        outcome = _OUTCOMES.get(status)
        if outcome is None:
            return Failure(Outcome.PROTOCOL, f"a frame with status {status}, which there is not")
        if outcome is Outcome.FORBIDDEN_OP:
            known = 0 < operation <= len(self._forbidden)
            name = f"aten::{self._forbidden[operation - 1]}" if known else "an unknown operation"
            return Failure(outcome, f"{name} was called")
        return Failure(outcome, f"{self._error()} ({self.stage})")

    def _ending(self) -> Failure:
        """Why the channel was closed from the other side."""
        ending = self._held.wait(5)
        if ending is None:
            return Failure(Outcome.PROTOCOL, "the worker closed its channel and runs on")
        said = f"the process did not answer: {ending.sentence} ({self.stage})"
        if ending.over_memory:
            return Failure(Outcome.OOM, said)
        if ending.signal is not None:
            return Failure(Outcome.RUNTIME_ERROR, said)
        return Failure(Outcome.PROTOCOL, said)

    def answered(self) -> bool:
        """Whether there is something to read."""
        return bool(select.select([self._channel], [], [], 0)[0])

    @property
    def pid(self) -> int:
        """The worker's process, as the host counts."""
        return self._held.pid

    def stands(self) -> list[Stand]:
        """Where its threads are, while it is frozen; PermissionError where nobody tells."""
        return self._held.stands()

    def freeze(self) -> None:
        """Stop the worker and all that it started; Failure if something cannot be stopped."""
        if not self._held.freeze(FREEZE_SECONDS):
            raise Failure(Outcome.PROTOCOL, "it starts processes faster than they can be stopped")

    def thaw(self) -> int:
        """Let them go on; when that was, ns. Failure if they did not stand still until then.

        Whoever has many processes runs in the first ones while the last ones are still let go: all
        but a moment of that counts.
        """
        if not self._held.stood_still():
            raise Failure(Outcome.PROTOCOL, "it went on by itself while inputs were laid out")
        began = perf_counter_ns()
        self._held.thaw()
        return min(perf_counter_ns(), began + THAW_NS)

    def quiet(self) -> None:
        """Failure if something came up the channel that nobody asked for."""
        self._channel.setblocking(False)  # noqa: FBT003 - the standard library's
        try:
            found = self._channel.recv(worker.UP.size)
        except BlockingIOError:
            return
        except OSError:
            found = b""
        if not found:
            raise self._ending()
        raise Failure(Outcome.PROTOCOL, "a frame that answers no command came up the channel")

    def tail(self) -> str:
        """The end of what the process printed."""
        return end_of(self.log, _TAIL) if self.log.is_file() else ""

    def _error(self) -> str:
        """What an error's text says, which may still be on its way to the log."""
        until = monotonic() + LOG_SECONDS
        while worker.ERROR_END not in (said := self.tail()) and monotonic() < until:
            sleep(LOG_SECONDS / 20)
        return error_of(said.replace(worker.ERROR_END, ""))[:300] or "it printed nothing"

    def close(self) -> None:
        """End the worker and all that it started."""
        self._channel.close()
        self._held.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
