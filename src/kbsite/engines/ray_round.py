"""Tasks under way on a Ray cluster, from bytes to bytes.

Ray starts no task again by itself: what was begun twice by somebody who was killed is lost, and is
told to be. No more is under way than keeps the nodes at work, whatever there is to do.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import uuid4

import ray

from kbsite.engines import node
from kbsite.engines.engine import Errand, Lost
from kbsite.errors import MachineError

Task = TypeVar("Task")
Given = TypeVar("Given")

MOST_BYTES = 500_000_000
"""Bytes of tasks under way from which on no other is sent."""

AT_ONCE, WEIGHT_AT_ONCE, BYTES_AT_ONCE = 32, 1_000_000, 4_000_000
"""Tasks that are sent together at most, the weight that they may have together, and their bytes
from which on none is added: to send a short one takes as long as to do it."""

TRIES = 2
"""How often a task is begun whose process is killed."""

LOOK, PATIENCE = 10.0, 60.0
"""Seconds after which the processors are counted again, and for how long there may be none."""


KNOCK = 10.0
"""Seconds in which whoever has the cluster's address has to answer."""

_FRAME, _SETTINGS = 9, b"\x04"
"""Bytes that a frame of HTTP/2 begins with; the fourth of them, in the first one that is sent."""

_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0" + _SETTINGS + bytes(5)
"""How a connection of HTTP/2 begins, which Ray speaks: servers answer with a frame at once."""


def join() -> None:
    """Be a driver of the cluster that runs here, or that RAY_ADDRESS names."""
    try:
        _knock(os.environ.get("RAY_ADDRESS", ""))
        ray.init(address="auto", log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        message = f"no Ray cluster can be reached: {_line(error)}"
        cure = "start one with `ray start --head`, or name it in RAY_ADDRESS"
        raise MachineError(f"{message}; {cure}") from error
    if _processors() < 1:
        raise MachineError("the Ray cluster has no processors; start nodes with `ray start`")


def _knock(address: str) -> None:
    """Raise OSError where nobody answers at host:port as Ray does: it tries for many minutes."""
    host, _, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not (host and port.isdecimal()):
        return
    place = host.strip("[]"), int(port)
    # What is no name of a host raises UnicodeError: Ray says so.
    with suppress(UnicodeError), socket.create_connection(place, KNOCK) as connection:
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
            _greet(connection, address)


def _greet(connection: socket.socket, address: str) -> None:
    """Raise OSError where whoever took a connection speaks no HTTP/2."""
    try:
        connection.sendall(_HELLO)
        frame = connection.makefile("rb").read(_FRAME)
    except TimeoutError as error:
        message = f"{address} took the connection and said nothing for {KNOCK:.0f} seconds"
        raise TimeoutError(message) from error
    except OSError:
        frame = b""  # whoever hangs up is no Ray either
    if frame[3:4] != _SETTINGS:
        raise ConnectionError(f"what answers at {address} is no Ray")


def _processors() -> int:
    """How many processors all nodes of the cluster have together, now."""
    return int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]


@dataclass(slots=True)
class Round(Generic[Task, Given]):
    """Tasks that are spread over the cluster, until all are done."""

    work: Errand[Task, Given]
    tasks: Sequence[Task]
    weights: Sequence[int]
    told: Callable[[int, Given | Lost], None]
    jobs: int
    _waiting: deque[int] = field(default_factory=deque)
    """Those to be sent, the longest first."""
    _own: deque[int] = field(default_factory=deque)
    """Those that are done here while others work."""
    _flying: dict[ray.ObjectRef[Any], tuple[list[int], int]] = field(default_factory=dict)
    """Those under way, as they were sent together, with the bytes of these."""
    _fallen: Counter[int] = field(default_factory=Counter)
    _room: int = 0
    """How many times as many as are sent together may be under way."""
    _counted: float = 0.0
    _seen: float = 0.0
    """When the processors were counted, and when there were any."""

    def go(self, meanwhile: Callable[[int], None] | None) -> None:
        """Do all tasks; whatever ends this, none is left with the cluster."""
        for number in sorted(range(len(self.tasks)), key=lambda number: -self.weights[number]):
            travels = self.work.travels(self.tasks[number])
            (self._waiting if travels else self._own).append(number)
        send = _sender(self.work) if self._waiting else None
        self._seen = time.monotonic()
        try:
            while self._waiting or self._flying or self._own:
                self._count()
                if send:
                    self._fill(send)
                if meanwhile:
                    meanwhile(0)
                    meanwhile = None
                if not self._land(0.0):
                    self._pass_time()
        finally:
            for ref in self._flying:
                ray.cancel(ref, force=True)

    def _pass_time(self) -> None:
        """Do a task here, or wait for the next that comes back."""
        if self._own:
            number = self._own.popleft()
            self.told(number, self.work(self.tasks[number]))
        else:
            self._land(LOOK)

    def _count(self) -> None:
        """Count the processors of the cluster, every few seconds: nodes come and go."""
        now = time.monotonic()
        if now - self._counted < LOOK:
            return
        self._counted, found = now, _processors()
        if found:
            # One at work, and one that waits where it will be done: so none waits for this process.
            self._seen, self._room = now, self.jobs or 2 * found
        elif now - self._seen > PATIENCE:
            message = f"the Ray cluster has had no processors for {PATIENCE:.0f} seconds"
            raise MachineError(f"{message}; {_START}")

    def _fill(self, send: _Send) -> None:
        """Send tasks, as many as there is room for."""
        held = sum(size for _, size in self._flying.values())
        while self._waiting and len(self._flying) < self._room and held < MOST_BYTES:
            packed = self._next()
            if packed:
                size = sum(task.size for task in packed.values())
                self._flying[send([*packed.values()])] = [*packed], size
                held += size

    def _next(self) -> dict[int, node.Packed]:
        """The tasks that are sent together next, by their numbers, packed.

        They get fewer to the end, so that no processor waits long for another. What was with
        somebody who was killed is sent alone: the second time that costs nothing but itself.
        """
        share = -(-len(self._waiting) // (_PARTS * self._room))
        most = 1 if self._fallen[self._waiting[0]] else min(AT_ONCE, share)
        packed: dict[int, node.Packed] = {}
        left, size = WEIGHT_AT_ONCE, 0
        while self._waiting and len(packed) < most and size <= BYTES_AT_ONCE:
            number = self._waiting[0]
            left -= self.weights[number]
            if packed and (self._fallen[number] or left < 0):
                break
            self._waiting.popleft()
            task = self._packed(number)
            if task:
                packed[number] = task
                size += task.size
        return packed

    def _packed(self, number: int) -> node.Packed | None:
        """A task as it is sent; None where it cannot be, and is left to be done here."""
        parcel = self.work.parcel(self.tasks[number])
        try:
            files = tuple(read() for read in parcel.files)
        except OSError:
            # What becomes of a file that cannot be read is told here as elsewhere.
            self._own.append(number)
            return None
        return node.Packed(pickle.dumps(parcel.told, pickle.HIGHEST_PROTOCOL), files)

    def _land(self, seconds: float) -> bool:
        """Take what has come back, or what comes first within so many seconds; whether any did."""
        if not self._flying:
            return False
        refs = list(self._flying)
        ready, _ = ray.wait(refs, num_returns=1 if seconds else len(refs), timeout=seconds)
        for ref in ready:
            numbers, _ = self._flying.pop(ref)
            self._take(numbers, ref)
        return bool(ready)

    def _take(self, numbers: Sequence[int], ref: ray.ObjectRef[Any]) -> None:
        """Take what came back of tasks that were sent together."""
        try:
            answers = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            # What the work raises comes as an answer: this was raised before it began.
            message = f"a node of the Ray cluster cannot do a task: {_line(error)}"
            raise MachineError(f"{message}; {_SAME}") from error
        except ray.exceptions.LocalRayletDiedError as error:
            # Nothing can be sent any more: each task would be told to be lost.
            message = f"the Ray cluster's node on this machine is gone: {_line(error)}"
            raise MachineError(f"{message}; {_START}") from error
        except ray.exceptions.RayError as error:
            for number in reversed(numbers):
                self._fell(number, error)
            return
        # The last one may be all that there is, or what was raised.
        for number, (answer, body) in zip(numbers, answers, strict=False):
            if answer is node.Answer.OTHER:
                raise MachineError(f"a node of the Ray cluster has {body.decode()}; {_SAME}")
            given = pickle.loads(body)  # noqa: S301 - a node of the cluster that we were given wrote it
            if answer is node.Answer.RAISED:
                raise given
            self.told(number, self.work.received(self.tasks[number], given))

    def _fell(self, number: int, error: Exception) -> None:
        """Have a task begun anew whose process is gone; the second time it is lost."""
        self._fallen[number] += 1
        if self._fallen[number] < TRIES:
            self._waiting.appendleft(number)
            return
        self.told(number, Lost(_WHY.get(type(error).__name__, f"lost ({type(error).__name__})")))


_PARTS = 4
"""How many times as many as may be under way, what is left is sent in at least."""

_Send = Callable[[Sequence[node.Packed]], "ray.ObjectRef[Any]"]


def _sender(work: Errand[Any, Any]) -> _Send:
    """What sends tasks of some work together."""
    held, key = ray.put(pickle.dumps(work.afar(), pickle.HIGHEST_PROTOCOL)), uuid4().hex
    # Ray counts what waits, and starts nothing again: a task that kills is not to go on for ever.
    remote = ray.remote(node.do).options(num_cpus=1, max_retries=0, name="kbsite build")
    program = dict(node.program())

    def send(tasks: Sequence[node.Packed]) -> ray.ObjectRef[Any]:
        # In a list it is not fetched for each task, but where it is not held yet.
        return remote.remote(node.Sent(key, program, tasks), [held])

    return send


def _line(error: Exception) -> str:
    """The last line of what Ray says, which holds what was raised."""
    return ([*filter(None, str(error).splitlines())] or [type(error).__name__])[-1].strip()[:500]


_SAME = "install the same kbsite, and the same versions of what it needs, on all nodes"

_START = "start nodes with `ray start`, and then the build again"

_WHY = {
    "WorkerCrashedError": "killed, as a system does that has no memory left",
    "OutOfMemoryError": "killed by Ray, since its node had no memory left",
    "NodeDiedError": "lost with its node",
    "ObjectLostError": "lost with its node",
}
"""What became of whoever did a task, by what Ray calls it; a page of the site may say so."""
