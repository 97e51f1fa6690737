"""Files written and edited by other means than a tool for it: Codex's patches, and the shell."""

from __future__ import annotations

import shlex

from bench.scripted.script import Edit, Write

_EDITING = """\
import sys
path, old, new = sys.argv[1:]
with open(path, encoding="utf-8", newline="") as stream:
    text = stream.read()
if old not in text:
    sys.exit("the text is not there")
with open(path, "w", encoding="utf-8", newline="") as stream:
    stream.write(text.replace(old, new, 1))
"""


def patch(change: Write | Edit) -> str:
    """The change in the language of apply_patch."""
    match change:
        case Write():
            head = f"*** Add File: {change.path}"
            lines = [f"+{line}" for line in change.content.removesuffix("\n").split("\n")]
        case Edit():
            head = f"*** Update File: {change.path}"
            removed = [f"-{line}" for line in change.old.removesuffix("\n").split("\n")]
            added = [f"+{line}" for line in change.new.removesuffix("\n").split("\n")]
            lines = ["@@", *removed, *added]
    return "\n".join(["*** Begin Patch", head, *lines, "*** End Patch", ""])


def command(change: Write | Edit) -> str:
    """The change as a command for a shell."""
    match change:
        case Write():
            return f"printf %s {shlex.quote(change.content)} > {shlex.quote(change.path)}"
        case Edit():
            words = (_EDITING, change.path, change.old, change.new)
            return f"python3 -c {' '.join(map(shlex.quote, words))}"
