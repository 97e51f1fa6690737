"""Whether a sandbox can be entered at all, found out by entering it."""

from __future__ import annotations

import platform

from bench.sandbox.box import Box, Sandbox
from kbsite.errors import MachineError
from kbsite.store.scratch import scratch_folder

_LONG_S = 20.0


def first_failure(sandbox: Sandbox) -> str | None:
    """None if a command that does nothing ran in it, else what went wrong, in a sentence."""
    if platform.system() != "Linux":
        return "namespaces exist on Linux only"
    with scratch_folder("trial") as folder:
        box = Box(log=folder / "log")
        try:
            with sandbox.start(["/bin/true"], box) as started:
                ending = started.wait(_LONG_S)
        except MachineError as error:
            return str(error)
    if ending is None:
        return f"a command that does nothing still ran after {_LONG_S:g} s"
    return None if ending.exit_code == 0 else f"a command that does nothing: {ending.sentence}"
