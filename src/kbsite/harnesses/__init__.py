"""The CLIs whose transcripts kbsite reads: one pure module each, listed in ALL.

A new harness is a module that fits `form.HarnessModule`, and its name in ALL.
"""

from __future__ import annotations

from kbsite.harnesses import (
    atif,
    claude,
    codex,
    copilot,
    cursor,
    droid,
    gemini,
    inspect,
    kimi,
    opencode,
    pi,
    qwen,
)
from kbsite.harnesses.form import Format, HarnessModule
from kbsite.model.harness import Harness

ALL: list[HarnessModule] = [
    claude,
    codex,
    kimi,
    opencode,
    gemini,
    qwen,
    cursor,
    droid,
    copilot,
    pi,
    atif,
    inspect,
]

BY_ID: dict[str, HarnessModule] = {module.HARNESS.id: module for module in ALL}

__all__ = ["ALL", "BY_ID", "Format", "HarnessModule", "harness"]


def harness(harness_id: str) -> Harness:
    """The harness with this id; one that kbsite has no parser for is named by its id."""
    module = BY_ID.get(harness_id)
    return module.HARNESS if module else Harness(harness_id, harness_id)
