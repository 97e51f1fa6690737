"""What results tell of the files and folders that their calls worked on."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

from kbsite.fold.paths import shell_path
from kbsite.late import late
from kbsite.model.event import ToolCall, ToolResult

_BACKGROUND = ("run_in_background", "is_background")
"""What CLIs call the argument of a command that they do not wait for."""

_STILL_RUNS = late(
    r"^(?:(?:Process|Script) running with (?:session|cell) ID \d|"
    r"Command (?:running in|was [\w ]{0,40}moved to the) background )",
    re.MULTILINE,
)
"""How a result says that its command outlives the call."""
_HEAD = 400
"""Characters of an output in which it says so."""

_ORIGINALS = ("originalFile", "originalContent")
"""Keys under which a CLI keeps a whole file as it was before a call changed it."""

_NUMBERS = late(r"\n *\d+[\t\N{RIGHTWARDS ARROW}]")
"""What Claude Code puts before each line of a file that it shows."""

_RESET = "Shell cwd was reset to "
"""How Claude Code begins the last line of an output where the next command begins elsewhere than
this one ended."""
_LONGEST = 5000
"""Characters at the end of an output in which that is looked for."""

_REFUSED = late(
    r"^(?:[\w/.-]*sh: ?|tee: |\(eval\):)[^\n]{0,4000}(?:[Nn]o such file or directory|"
    r"[Pp]ermission denied|Is a directory|nonexistent|Read-only file system|No space left on)",
    re.MULTILINE,
)

_STOPPED = late(
    r"\b(?:command|shell tool|process) (?:was |has been |terminated )?[\w ]{0,40}"
    r"\b(?:timed out|timeout|killed|cancelled|canceled|interrupted|aborted)\b",
    re.IGNORECASE,
)
"""How CLIs say that they ended a command."""


def original(result: ToolResult) -> str | None:
    """The file as it was before a call; None where its CLI did not record that."""
    if isinstance(result.recorded, str):
        return None
    held = (result.recorded.get(key) for key in _ORIGINALS)
    return next((text for text in held if isinstance(text, str)), None)


def read_whole(
    call: ToolCall, result: ToolResult, wanted: Callable[[str], bool] = bool
) -> tuple[str, str] | None:
    """The path and the content of a file of which a result shows all.

    None where it does not, or where that is no path of a file that is wanted.
    """
    if not result.whole_lines or result.is_error or not isinstance(call.arguments, Mapping):
        return None
    path = call.arguments.get("file_path")
    if not isinstance(path, str) or not wanted(path):
        return None
    shown = "\n".join(result.output.split("\n", result.whole_lines)[: result.whole_lines])
    return path, _NUMBERS.sub("\n", f"\n{shown}")[1:]


def is_apart(call: ToolCall) -> bool:
    """Whether a command is one that its CLI does not wait for."""
    return isinstance(call.arguments, Mapping) and any(map(call.arguments.get, _BACKGROUND))


def outlives(result: ToolResult) -> bool:
    """Whether a result says that its command goes on after the call."""
    return _STILL_RUNS.search(result.output[:_HEAD]) is not None


def has_run(call: ToolCall, result: ToolResult) -> bool:
    """Whether a command is sure to have run, and to have come to its end."""
    # A command that was refused never ran, and one in the background may still run.
    if is_apart(call):
        return False
    if result.exit_code is None and outlives(result):
        return False
    return not result.is_error or bool(result.exit_code)


def unfinished(output: str) -> bool:
    """Whether a command was stopped before its end, or met a file that it could not write to."""
    ends = f"{output[:_HEAD]}\n{output[-_HEAD:]}"
    return _STOPPED.search(ends) is not None or _REFUSED.search(output) is not None


def reset_to(result: ToolResult) -> str:
    """The folder that a result says the next command begins in; empty where it says none."""
    last = result.output[-_LONGEST:].rstrip().rpartition("\n")[2]
    folder = last.removeprefix(_RESET)
    return posixpath.normpath(shell_path(folder)) if folder != last else ""
