"""Starting a box, whatever makes its walls: plan, channel, log, users, groups, and the watch."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.sandbox.box import Box
from bench.sandbox.groups import Group
from bench.sandbox.held import Held
from bench.sandbox.log import Log
from bench.sandbox.plan import plan_file
from bench.sandbox.processes import children
from bench.sandbox.users import User, give_back, take_user
from kbsite.errors import MachineError

_TO_ENTER_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a sandbox is entered.

    `argv` makes the starter's command from the numbers of channel and plan, and the further files
    that it has to inherit; `facts` are said of every box.
    """

    argv: Callable[[int, int, User], tuple[Sequence[str], tuple[int, ...]]]
    facts: dict[str, str]
    new_user: bool = False
    more: dict[str, object] | None = None
    afterwards: Callable[[], None] = lambda: None


def launch(way: Way, command: Sequence[str], box: Box) -> Held:
    """Start a command in a box; raises MachineError if the sandbox cannot be entered."""
    with ExitStack() as stack:
        stack.callback(way.afterwards)
        user = take_user()
        stack.callback(give_back, user)
        log = Log(box.log, box.limits.log_bytes)
        stack.callback(log.close)
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        starter = _starter(way, command, box, user, theirs, log)
        stack.callback(_end, starter)

        def afterwards() -> None:
            give_back(user)
            way.afterwards()

        held = Held(starter, ours, log, box.limits, Group(), afterwards)
        _enter(held, starter, ours, log)
        stack.pop_all()
    held.facts = {**way.facts, **_limits_kept(box)}
    held.watch()
    return held


def _starter(
    way: Way, command: Sequence[str], box: Box, user: User, theirs: socket.socket, log: Log
) -> subprocess.Popen[bytes]:
    """Start the starter; what it inherits is closed here, but for what the caller passes on."""
    given: tuple[int, ...] = ()
    with theirs:
        plan = plan_file(command, box, user, new_user=way.new_user, more=way.more or {})
        try:
            argv, given = way.argv(theirs.fileno(), plan, user)
            return subprocess.Popen(  # noqa: S603 - the command is ours, what it runs is walled in
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log.writing,
                stderr=log.writing,
                env={},
                start_new_session=True,
                pass_fds=(theirs.fileno(), plan, *given, *box.pass_fds),
            )
        finally:
            for number in (plan, *given):
                os.close(number)
            log.close_writing()


def _enter(held: Held, starter: subprocess.Popen[bytes], ours: socket.socket, log: Log) -> None:
    """Wait until init is there, see who is who, and have the command started."""
    _expect("ready", ours, log)
    held.init = children(starter.pid)[0]
    held.pid = children(held.init)[0]
    ours.send(b"g")
    _expect("started", ours, log)


def _expect(word: str, ours: socket.socket, log: Log) -> None:
    """Read one line of what init tells; raises MachineError for any other word."""
    line = bytearray()
    waiting = select.poll()
    waiting.register(ours, select.POLLIN)
    while not line.endswith(b"\n"):
        if not waiting.poll(_TO_ENTER_S * 1000):
            raise MachineError(f"the sandbox was not entered within {_TO_ENTER_S:g} s")
        piece = ours.recv(1)
        if not piece:
            break
        line += piece
    said = json.loads(line or b"{}")
    if not said.get(word):
        why = said.get("failed") or log.text()[-2000:].strip()
        raise MachineError(f"the sandbox could not be entered: {why or 'its starter ended'}")


def _end(starter: subprocess.Popen[bytes]) -> None:
    """Kill a starter whose box was never entered."""
    starter.kill()
    starter.wait()


def _limits_kept(box: Box) -> dict[str, str]:
    memory = box.limits.memory_bytes
    return {
        "memory": "unlimited"
        if memory is None
        else "sum of resident memory, looked at every 50 ms",
        "processes": "RLIMIT_NPROC of the box's own user",
        "scratch": "size of a file system in memory",
    }
