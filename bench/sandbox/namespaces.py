"""A sandbox made of namespaces: needs Python alone, and root or the right to make users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bench.sandbox.box import Box, Sandboxed
from bench.sandbox.launch import Way, facts_of, launch
from bench.sandbox.plan import ENTER, python_command
from bench.sandbox.trial import first_failure
from bench.sandbox.users import User, needs_new_user, users_missing


@dataclass(frozen=True)
class Namespaces:
    """PID, mount, network, IPC, UTS and control-group namespaces, and a root of its own.

    `new_user` adds a user namespace, in which the box's user is the caller by another number; left
    out, that is done for all but root, whose boxes get users of their own instead.
    """

    new_user: bool | None = None
    name: str = "namespaces"

    @property
    def gives_terminals(self) -> bool:
        """Whether boxes get terminals: not where root is no user of theirs."""
        return not needs_new_user(self.new_user)

    def available(self) -> str | None:
        """None if it can be used here, else the reason, in a sentence."""
        return _reason(self)

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command in a box of its own; raises MachineError if that cannot be entered."""
        new_user = needs_new_user(self.new_user)
        way = Way(argv=_argv, facts=facts_of(self.name, new_user=new_user), new_user=new_user)
        return launch(way, command, box)


def _argv(channel: int, plan: int, _user: User) -> tuple[Sequence[str], tuple[int, ...]]:
    return python_command(ENTER, "namespaces", str(channel), str(plan)), ()


@lru_cache
def _reason(sandbox: Namespaces) -> str | None:
    if not needs_new_user(sandbox.new_user) and (missing := users_missing()):
        return missing
    return first_failure(sandbox)
