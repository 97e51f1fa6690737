"""What the sandbox was seen to keep on this machine: tried once in a process, beside its work."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor

from bench.sandbox import self_test
from bench.sandbox.box import Box, Proven, Sandbox
from kbsite.errors import MachineError

_lock = threading.Lock()
_under_way: dict[Hashable, Future[Proven]] = {}


def proving(sandbox: Sandbox, like: Box) -> Future[Proven]:
    """The self-test of a sandbox with boxes like this one, under way or done.

    It is made once for each sandbox and kind of box. It never fails: a sandbox that could not be
    tested has level L0, and says why.
    """
    with _lock:
        key = sandbox, _kind(like)
        if key not in _under_way:
            pool = ThreadPoolExecutor(1, thread_name_prefix="self-test")
            _under_way[key] = pool.submit(_tested, sandbox, like)
            pool.shutdown(wait=False)
        return _under_way[key]


def _kind(like: Box) -> Hashable:
    """What a box can reach, which is all that a proof is of: not what it works on, nor its port."""
    return (
        like.readable, like.devices, frozenset(like.bound.items()), like.hidden, like.folder,
        like.home, frozenset(like.writable), like.share_ipc, like.interfaces, like.terminals,
    )  # fmt: skip


def _tested(sandbox: Sandbox, like: Box) -> Proven:
    try:
        return self_test(sandbox, like=like)
    except (MachineError, OSError) as error:
        # A session of an hour is not thrown away for this; it is not published either.
        facts = {"not tested": str(error)}
        return Proven(sandbox=sandbox.name, level="L0", claims=(), facts=facts)


def level(proven: Proven) -> str:
    """The sandbox and its level, as run.json has it."""
    return f"{proven.sandbox} ({proven.level})"
