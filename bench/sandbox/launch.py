"""Starting a box, whatever makes its walls: plan, channel, log, users, groups, and the watch."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.sandbox.box import Box
from bench.sandbox.groups import KEPT_BY_KERNEL, Group, make_group
from bench.sandbox.held import Afterwards, Held
from bench.sandbox.log import Log, Printed
from bench.sandbox.plan import plan_file
from bench.sandbox.processes import children
from bench.sandbox.segments import remove_segments
from bench.sandbox.users import User, give_back, take_user
from kbsite.errors import MachineError

_TO_ENTER_S = 20.0
_MOST_FILES = 64  # that init can hand out
_WATCHED = "resident memory, looked at every 50 ms"


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a sandbox is entered.

    `argv` makes the starter's command from the numbers of channel and plan, and the further files
    that it has to inherit; `facts` are said of every box. `afterwards` is done when nothing of the
    box is left, `at_close` when its places are not needed any more either.
    """

    argv: Callable[[int, int, User], tuple[Sequence[str], tuple[int, ...]]]
    facts: dict[str, str]
    new_user: bool = False
    groups: bool = True
    more: dict[str, object] | None = None
    afterwards: Callable[[], None] = lambda: None
    at_close: Callable[[], None] = lambda: None


def facts_of(name: str, *, new_user: bool) -> dict[str, str]:
    """What is said of every box of a sandbox."""
    return {"sandbox": name, "user": "the caller, by another number" if new_user else "its own"}


def launch(way: Way, command: Sequence[str], box: Box) -> Held:
    """Start a command in a box; raises MachineError if the sandbox cannot be entered."""
    with ExitStack() as stack:
        stack.callback(way.at_close)
        stack.callback(way.afterwards)
        user = take_user()
        stack.callback(give_back, user)
        printed = _printed(box, stack)
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        group = _group(way, box, user)
        stack.callback(group.remove)
        starter = _starter(way, command, box, user, theirs, printed)
        stack.callback(_end, starter, ours)
        # It takes the kernel a while to do this first, and that passes while the starter begins.
        group.add(starter.pid)

        def afterwards() -> None:
            if box.share_ipc and os.getuid() == 0:
                remove_segments(user.uid)
            give_back(user)
            way.afterwards()

        then = Afterwards(afterwards, way.at_close)
        held = Held(starter, ours, printed, box.limits, group, then)
        stack.callback(held.abandon)
        _enter(held, starter, group, box)
        stack.pop_all()
    held.facts = {**way.facts, **_limits_kept(box, group, limited=way.groups)}
    held.watch()
    return held


def _group(way: Way, box: Box, user: User) -> Group:
    if not way.groups:
        return Group({})
    return make_group(box.limits, box.devices, user.slot, terminals=box.terminals)


def _printed(box: Box, stack: ExitStack) -> Printed:
    """Where what a box prints goes; closed with the stack."""
    log = Log(box.log, box.limits.log_bytes)
    stack.callback(log.close)
    if box.stdout is None:
        return Printed(log)
    stdout = Log(box.stdout, box.limits.stdout_bytes)
    stack.callback(stdout.close)
    return Printed(log, stdout)


def _starter(
    way: Way, command: Sequence[str], box: Box, user: User, theirs: socket.socket, printed: Printed
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
                stdout=(printed.stdout or printed.log).writing,
                stderr=printed.log.writing,
                env={},
                start_new_session=True,
                preexec_fn=_unheard_children(),  # noqa: PLW1509 - see there
                pass_fds=(theirs.fileno(), plan, *given, *box.pass_fds),
            )
        finally:
            for number in (plan, *given):
                os.close(number)
            for one in printed.logs:
                one.close_writing()


def _unheard_children() -> Callable[[], object] | None:
    """What a starter has to do first where this process was told to ignore that children end.

    That is inherited, and bwrap would wait for ever. Nothing elsewhere: it costs time, and is safe
    beside threads only because it takes no lock.
    """
    if signal.getsignal(signal.SIGCHLD) != signal.SIG_IGN:
        return None
    return lambda: signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _enter(held: Held, starter: subprocess.Popen[bytes], group: Group, box: Box) -> None:
    """Wait until init is there, see who is who, and have the command started."""
    ours, log = held.channel, held.printed.log
    if box.furnished:
        held.hold(box, _expect("furnished", ours, log))
    _expect("ready", ours, log)
    init = _child(starter.pid)
    command = _child(init)
    group.add(init)
    group.add_command(command)
    held.entered(init, command)
    ours.send(b"g")
    _expect("started", ours, log)


def _child(pid: int) -> int:
    """The one child of a process of a box; raises MachineError where the kernel does not tell."""
    found = children(pid)
    if not found:
        raise MachineError(
            f"this kernel does not say who is a child of {pid} (/proc/…/task/…/children), "
            "without which boxes cannot be watched"
        )
    return found[0]


def _expect(word: str, ours: socket.socket, log: Log) -> list[int]:
    """Read one line of what init tells, and take the files that come with it.

    Raises MachineError for any other word.
    """
    line, files = bytearray(), list[int]()
    waiting = select.poll()
    waiting.register(ours, select.POLLIN)
    while not line.endswith(b"\n"):
        if not waiting.poll(_TO_ENTER_S * 1000):
            raise MachineError(f"the sandbox was not entered within {_TO_ENTER_S:g} s")
        piece, given, _, _ = socket.recv_fds(ours, 1, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
        files += given
        if not piece:
            break
        line += piece
    said, _, why = line.decode().strip().partition(" ")
    if said != word:
        why = why or log.text()[-2000:].strip()
        raise MachineError(f"the sandbox could not be entered: {why or 'its starter ended'}")
    return files


def _end(starter: subprocess.Popen[bytes], ours: socket.socket) -> None:
    """End a starter whose box was not entered, and whatever it started."""
    ours.close()
    try:
        starter.wait(_TO_ENTER_S)
    except subprocess.TimeoutExpired:
        starter.kill()
        starter.wait()


def _limits_kept(box: Box, group: Group, *, limited: bool) -> dict[str, str]:
    """Which mechanism enforces which limit."""
    if not limited:
        return {"memory": _WATCHED if box.limits.memory_bytes else "not limited"}
    watched = KEPT_BY_KERNEL if "memory" in group else _WATCHED
    by_user = "RLIMIT_NPROC of the box's own user"
    return {
        "memory": watched if box.limits.memory_bytes else "not limited",
        "processes": f"{KEPT_BY_KERNEL} and {by_user}" if "pids" in group else by_user,
        "devices": KEPT_BY_KERNEL if "devices" in group else "no other node, and none can be made",
        "freezing": KEPT_BY_KERNEL if group.freezer else "signals",
        "scratch": "size of a file system in memory",
        **({"folders": "sizes of file systems in memory"} if box.writable else {}),
        **({"network": f"a listener on 127.0.0.1:{box.listen}"} if box.listen else {}),
    }
