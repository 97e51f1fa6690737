"""The commands that a command starts: by a wrapper, by a shell, by find or xargs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec import structs

from kbsite.alarms.session.fed import fed
from kbsite.alarms.session.shell import ASSIGNED, DEEPEST, Command, commands


def inner(command: Command) -> Iterator[Command]:
    """A command, and those that it starts: by a wrapper, by a shell, by find or xargs."""
    yield command
    left = command
    for _ in range(DEEPEST):
        words = _unwrapped(left)
        if words is None:
            break
        left = structs.replace(left, words=words, background=False)
        yield left
    script = _script(left)
    if script is not None:
        for one in commands(script, 1):
            one.depth += command.depth + (left.name != "eval")
            yield from inner(one) if len(script) < len(" ".join(command.words)) else (one,)


_WRAPPERS: dict[str, int] = {
    "sudo": 0, "nohup": 0, "setsid": 0, "time": 0, "nice": 0, "stdbuf": 0, "command": 0, "exec": 0,
    "timeout": 1, "env": 0, "xargs": 0, "ionice": 0, "taskset": 1, "numactl": 0, "watch": 0,
    "builtin": 0, "doas": 0, "unbuffer": 0, "parallel": 0, "chronic": 0, "do": 0, "trap": 0,
}  # fmt: skip
"""Commands that start the one behind them: how many words they take for themselves."""
_VALUED: dict[str, set[str]] = {
    "sudo": {"-u", "-g", "-h", "-p", "-C"}, "env": {"-u", "-C"}, "nohup": set(), "setsid": set(),
    "trap": set(), "": {"-u", "-n", "-I", "-L", "-P", "-c", "-s", "-k", "-o", "-e", "-i", "-d"},
}  # fmt: skip
"""Flags of wrappers that have a word behind them; of those not named, under the empty name."""
_SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "ash"}


def wrapped(command: Command) -> str:
    """The name of the command that it starts, if it is a wrapper, however deep; else its own."""
    for _ in range(DEEPEST):
        words = _unwrapped(command)
        if words is None:
            break
        command = structs.replace(command, words=words)
    return command.name


def _unwrapped(command: Command) -> list[str] | None:
    """The words of the command that a wrapper starts; None if it is no wrapper."""
    if (name := command.name) == "find" and "-exec" in command.words:
        return _executed(command)
    own = _WRAPPERS.get(name)
    if own is None:
        return None
    words, valued = command.words[1:], _VALUED.get(name, _VALUED[""])
    while words and (words[0].startswith("-") or ASSIGNED.fullmatch(words[0])):
        words = words[2:] if words[0] in valued else words[1:]
    return [*words[own:], *_piped(command)] if words[own:] else None


def _piped(command: Command) -> list[str]:
    """The words that xargs is seen to be given by another command."""
    source = command.before if command.name == "xargs" else None
    return source.given if source is not None and source.name in ("echo", "ls") else []


def _executed(command: Command) -> list[str] | None:
    words = command.words[command.words.index("-exec") + 1 :]
    return [_found(command) if word == "{}" else word for word in words] or None


def _found(command: Command) -> str:
    """The files that find has another one do something to; {} where it does not say where."""
    names = command.behind("-name", "-iname")
    if not (names or command.given[:1] == ["/"]):
        return "{}"
    return posixpath.join(command.words[1], "**", *names[:1])


def _script(command: Command) -> str | None:
    """The script that a command runs; None if it runs none that can be told."""
    name, words = command.name, command.words
    if name == "eval":
        return " ".join(words[1:])
    if name in _SHELLS:
        for number, word in enumerate(words[1:-1], 1):
            if word.startswith("-") and not word.startswith("--") and "c" in word:
                return words[number + 1]
        return fed(command) if not command.given or "-s" in words else None
    return None
