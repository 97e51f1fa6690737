"""What a call runs: the words of its command, and the folder that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kbsite.model.event import ToolCall

COMMAND_KEYS = ("command", "cmd", "code")
"""Keys of a call's arguments under which its command stands."""
_MAYBE = ("script", "input")
"""Keys under which that of some CLIs stands; of others it is what a command that runs is told, so
pages show it as an argument."""
_TOLD_WITH_SHELL = "command_execution"
"""What Codex calls a command on its stdout. Another CLI's agent that asks for a shell within its
own is left there when that shell ends."""
_CODE_MODE = "exec"
"""What Codex calls its one tool that runs scripts, where it has code mode."""
_SHELL = re.compile(r"(?:/[\w./]{1,30}/)?(?:ba|z|da)?sh -(?:l?c|cl)[ \t]+(?=['\"])")
_PIECE = re.compile(
    r"'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\$`]|\\.)*)\"|\\(?P<escaped>['\"\\])|"
    r"(?P<plain>[\w./=:@%+,-]+)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(?:\n|([$`\"\\]))")
"""What a backslash is taken from between double quotes; a line's end goes with it."""


def command_text(call: ToolCall) -> str:
    """The shell command of a call; empty where it has none."""
    given = call.arguments
    if isinstance(given, str):
        return given
    for key in (*COMMAND_KEYS, *_MAYBE):
        value = given.get(key)
        if isinstance(value, str):
            return _in_shell(value) if call.tool == _TOLD_WITH_SHELL else value
        if isinstance(value, list):
            return _of_words([word for word in value if isinstance(word, str)])
    return ""


def changing_text(call: ToolCall) -> str:
    """The same as far as it may change files: JavaScript of Codex's does so by its tools alone."""
    given = call.arguments
    if call.tool == _CODE_MODE and isinstance(given, str) and "tools" not in given:
        return ""
    return command_text(call)


def folder_of(given: Mapping[str, object] | str) -> str:
    """The folder that a call says its command runs in; empty where it says none."""
    if isinstance(given, str):
        return ""
    named = (given.get(key) for key in ("workdir", "cwd", "working_directory", "directory"))
    return next((value for value in named if isinstance(value, str)), "")


def _in_shell(line: str) -> str:
    """The script of a line that is `bash -lc SCRIPT`, as Codex tells its commands; else the line.

    Also the line, where the shell around it would put something into the script.
    """
    match = _SHELL.match(line)
    if match is None:
        return line
    pieces, at = [], match.end()
    while piece := _PIECE.match(line, at):
        at = piece.end()
        plain = (piece["single"] or "") + (piece["escaped"] or "") + (piece["plain"] or "")
        pieces.append(_ESCAPED.sub(r"\1", piece["double"] or "") + plain)
    return "".join(pieces) if at == len(line) else line


def _of_words(words: list[str]) -> str:
    """The script of `bash -lc SCRIPT`; other words as one line."""
    if len(words) == 3 and words[1] in ("-c", "-lc", "-cl") and words[0].endswith("sh"):
        return words[2]
    return " ".join(words)
