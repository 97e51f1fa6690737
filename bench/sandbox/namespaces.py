"""A sandbox made of namespaces: needs Python alone, and root or the right to make users."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache

from bench.sandbox.box import Box, Sandboxed
from bench.sandbox.launch import Way, launch
from bench.sandbox.plan import ENTER, python_command
from bench.sandbox.trial import first_failure
from bench.sandbox.users import User, users_missing


class Namespaces:
    """PID, mount, network, IPC, UTS and control-group namespaces, and a root of its own."""

    name = "namespaces"

    def available(self) -> str | None:
        """None if it can be used here, else the reason, in a sentence."""
        return _reason()

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command in a box of its own; raises MachineError if that cannot be entered."""
        return launch(_way(), command, box)


def _way() -> Way:
    def argv(channel: int, plan: int, _user: User) -> tuple[Sequence[str], tuple[int, ...]]:
        return python_command(ENTER, "namespaces", str(channel), str(plan)), ()

    root = os.getuid() == 0
    return Way(
        argv=argv,
        facts={"sandbox": "namespaces", "user": "its own" if root else "the caller, renamed"},
        new_user=not root,
    )


@lru_cache(maxsize=1)
def _reason() -> str | None:
    if not sys.platform.startswith("linux"):
        return "namespaces exist on Linux only"
    if os.getuid() == 0 and (missing := users_missing()):
        return missing
    return first_failure(Namespaces())
