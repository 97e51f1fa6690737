"""Sandboxes for code that nobody trusts: what a process gets is named, all else is kept from it."""

from __future__ import annotations

from functools import lru_cache

from bench.sandbox.bare import Bare
from bench.sandbox.box import Sandbox
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.proof import self_test
from kbsite.errors import MachineError, UsageError

__all__ = ["NONE", "SANDBOXES", "best", "named", "self_test"]

# In order of preference. What keeps nothing from a command is not among them: whoever goes through
# them with something hostile would let it loose on the machine.
SANDBOXES: tuple[Sandbox, ...] = (Bubblewrap(), Namespaces())
NONE = Bare()


@lru_cache(maxsize=1)
def best() -> Sandbox:
    """The first sandbox that can be used on this machine; raises MachineError if none can."""
    reasons = []
    for sandbox in SANDBOXES:
        reason = sandbox.available()
        if reason is None:
            return sandbox
        reasons.append(f"{sandbox.name}: {reason}")
    raise MachineError("no sandbox can be used here. " + "; ".join(reasons))


def named(name: str) -> Sandbox:
    """The sandbox of that name, whether it can be used or not; raises UsageError for others."""
    for sandbox in (*SANDBOXES, NONE):
        if sandbox.name == name:
            return sandbox
    known = ", ".join(sandbox.name for sandbox in (*SANDBOXES, NONE))
    raise UsageError(f"{name!r} is no sandbox; expected one of: {known}")
