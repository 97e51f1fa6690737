"""No sandbox: the same start, watch and end, but nothing is kept from the command. For desks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.sandbox.box import Box, Sandboxed
from bench.sandbox.launch import Way, launch
from bench.sandbox.plan import ENTER, python_command
from bench.sandbox.users import User


class Bare:
    """Level L0: the command is the caller, sees all that the caller sees, and may do the same.

    The box's files are copies in a folder that is removed afterwards; `readable`, `devices` and
    `scratch_bytes` mean nothing.
    """

    name = "none"

    def available(self) -> str | None:
        """None: it can be used everywhere, which is why it has to be asked for."""
        return None

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command as it is; its working folder holds the box's files."""
        folder = Path(tempfile.mkdtemp(prefix="kbsite-box-"))
        for name, content in box.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

        def argv(channel: int, plan: int, _user: User) -> tuple[Sequence[str], tuple[int, ...]]:
            return python_command(ENTER, "bare", str(channel), str(plan)), ()

        way = Way(
            argv=argv,
            facts={"sandbox": "none", "user": "the caller"},
            groups=False,
            more={
                "folder": str(folder),
                "same_rights": True,
                "filter": "",
                "rlimits": {"RLIMIT_CORE": 0},
            },
            afterwards=lambda: shutil.rmtree(folder),
        )
        return launch(way, command, box)
