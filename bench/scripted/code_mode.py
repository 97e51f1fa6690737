"""Codex's code mode: one freeform tool, `exec`, takes JavaScript that calls the other tools."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from bench.scripted.conversation import Kind, Tool
from bench.scripted.patches import patch
from bench.scripted.script import Edit, Intent, Read, Shell, Write

_LONGEST_WAIT_MS = 30_000
"""A command that takes longer is answered while it runs."""


def in_code_mode(tools: Mapping[str, Tool]) -> bool:
    """Whether the shell is reached through programs alone."""
    known = tools.get("exec")
    return known is not None and known.kind is Kind.FREEFORM and "exec_command" not in tools


def program(intent: Intent) -> str | None:
    """The program for an intent; None for what has a tool of its own also in this mode."""
    match intent:
        case Shell():
            return _command(intent.command, intent.timeout_seconds)
        case Read():
            return _command(f"cat {shlex.quote(intent.path)}")
        case Write() | Edit():
            return f"text(await tools.apply_patch({json.dumps(patch(intent))}));\n"
        case _:
            return None


def _command(text: str, seconds: int | None = None) -> str:
    asked: dict[str, object] = {"cmd": text}
    if seconds is not None:
        asked["yield_time_ms"] = min(seconds * 1000, _LONGEST_WAIT_MS)
    return (
        f"const done = await tools.exec_command({json.dumps(asked)});\n"
        "text(done.output);\n"
        'if (done.exit_code) text("exit code " + done.exit_code);\n'
    )
