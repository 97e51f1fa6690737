"""The files that commands touch, by their words."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Final

from kbsite.alarms.session.places import Touch, Way
from kbsite.alarms.session.shell import Command

_PATH = re.compile(r"[~\w./$*?{},:@%+=\[\]()!#-]*[\w*./~}]\Z")
_SILENT: Final = {
    "echo", "printf", "cd", "mkdir", "export", "test", "[", "[[", "which", "kill", "pkill", "pgrep",
    "killall", "sleep", "true", "false", "alias", "unset", "return", "exit", "type", "gh", "curl",
    "wget", "pip", "pip3", "uv", "npm", "npx", "apt", "apt-get", "case", "set", "local", "read",
    "declare", "expr", "seq", "date", "basename", "dirname", "realpath", "readlink",
    "rmdir", "history", "function", "trap", "ps", "let", "env", "xargs", "sudo", "timeout", "nohup",
    "eval", "command", "tmux", "screen", "ssh", "docker", "claude", "codex",
}  # fmt: skip
"""Commands whose words say nothing of files that they read."""
_LISTS: Final = {"ls", "tree", "du", "stat", "dir", "eza", "exa", "fd", "fdfind", "locate"}
_GREPS: Final = {"grep", "egrep", "fgrep", "rg", "ag", "ack"}
_PATTERN_FIRST: Final = {
    *_GREPS, "sed", "awk", "gawk", "jq", "yq", "perl", "ruby",
    "node",
}  # fmt: skip
"""Commands whose first word is no file."""
_REMOVES: Final = {"rm", "unlink", "shred", "truncate"}
_TO_LAST: Final = {"cp", "mv", "ln", "install", "rsync", "scp"}
_OPENS: Final = {"chmod", "chown", "chgrp", "chattr", "setfacl", "touch"}
"""Commands that change who may change a file, or when it was."""
_EDITORS: Final = {"ed", "ex", "vi", "vim", "nvim"}
_SAVED_BY: Final = re.compile(r"(?:^|[|\n])\s*(?:\d*,?\$?w|wq|x|wqa?|up)\b", re.MULTILINE)
"""What tells an editor to write its file."""
_SCRIPTED: Final = {"awk", "gawk", "perl", "ruby", "node"}
_QUOTED: Final = re.compile(r"""["'`]([~/][\w.+@/-]{3,300})["'`]""")
"""A whole path as a text of some language."""
_GIT_WRITES: Final = {"checkout", "restore", "apply", "rm", "mv"}
_GIT_READS: Final = {"show", "diff", "log", "blame", "cat-file", "grep", "ls-tree"}
_WAYS: Final = {
    **dict.fromkeys(_LISTS, Way.LISTED), **dict.fromkeys(_REMOVES, Way.REMOVED),
    **dict.fromkeys(_OPENS, Way.OPENED), **dict.fromkeys(("tee", "sponge"), Way.WRITTEN),
}  # fmt: skip
_IN_PLACE = re.compile(r"-\w*i(?:\.\w+)?|--in-place(?:=.*)?|-i.*")
_PATCHED = re.compile(
    r"^(?:\+\+\+ (?:b/)?|\*\*\* (?:Add|Update|Delete) File: )(?!/dev/null)([^\t\n]+)", re.MULTILINE
)
_PUT_IN = re.compile(r"\$\([^()]*\)")
"""What a command prints, as a part of a path: it may be anything."""
_SAVES: Final = {"curl": {"-o", "--output"}, "wget": {"-O"}, "sort": {"-o", "--output"}}
_SCRIPT = re.compile(r"python[\d.]*|pypy\d?")
_HOME = re.compile(r"^\$\{?HOME\}?(?=/|$)")


def touches(command: Command, folder: str) -> Iterator[Touch]:
    """The files that a command touches, or tries to; `folder` is the one that it runs in."""
    for path in command.writes:
        yield Touch(whole(path, folder), Way.WRITTEN)
    for path in _patched(command):
        yield Touch(whole(path, folder), Way.WRITTEN)
    for path in command.reads:
        yield Touch(whole(path, folder), Way.READ)
    for word, way in chain(_named(command), _saved(command)):
        path = _PUT_IN.sub("*", word) if "$" in word else word
        if path and len(path) < 1000 and _PATH.match(path):
            yield Touch(whole(path, folder), way)


def _patched(command: Command) -> Iterator[str]:
    """The files that a patch names, where it stands in the script."""
    named = command.name in ("patch", "apply_patch")
    if not (named or ("apply" in command.words and command.given[:1] == ["apply"])):
        return
    for text in (command.fed or "", *command.words[1:]):
        yield from (match[1].strip() for match in _PATCHED.finditer(text))


def whole(path: str, folder: str) -> str:
    """A path from the root, or from ~, as far as the folder is known."""
    path = path.strip("\"'")
    if path.startswith("$"):
        path = _HOME.sub("~", path)
    if not path.startswith(("/", "~", "$")):
        path = posixpath.join(folder, path)
    return posixpath.normpath(path)


def _named(command: Command) -> Iterator[tuple[str, Way]]:
    name = command.name
    if name in _SILENT or ("c" in _short_flags(command) and _SCRIPT.fullmatch(name)):
        return
    way = _WAYS.get(name)
    told = _TOLD.get(name)
    if told is not None:
        yield from told(command)
    elif way is not None:
        yield from ((word, way) for word in command.given or ["."])
    else:
        yield from ((word.split("=", 1)[-1], Way.READ) for word in command.words[1:])


def _saved(command: Command) -> Iterator[tuple[str, Way]]:
    flags = _SAVES.get(command.name)
    if flags is not None:
        yield from ((path, Way.WRITTEN) for path in command.behind(*flags))


def _looped(command: Command) -> Iterator[tuple[str, Way]]:
    yield from ((word, Way.READ) for word in command.words[3:])


def _short_flags(command: Command) -> set[str]:
    first = command.words[1] if len(command.words) > 1 else ""
    return set(first[1:]) if first.startswith("-") and not first.startswith("--") else set()


def _copied(command: Command) -> Iterator[tuple[str, Way]]:
    given = command.given
    away = Way.REMOVED if command.name == "mv" else Way.READ
    yield from ((word, away) for word in given[:-1])
    if command.name == "mv":
        yield from ((word, Way.READ) for word in given[:-1])
    if len(given) > 1:
        target = given[-1]
        yield target, Way.WRITTEN
        if not posixpath.basename(target.rstrip("/")).count(".") or target.endswith("."):
            yield from (
                (posixpath.join(target, posixpath.basename(word)), Way.WRITTEN)
                for word in given[:-1]
            )


def _searched(command: Command) -> Iterator[tuple[str, Way]]:
    given = command.given
    apart = command.has("-e", "-f", "--regexp", "--files")
    words = given if apart else given[1:]
    changes = command.name not in ("grep", "rg") and any(
        _IN_PLACE.fullmatch(word) for word in command.words[1:] if word.startswith("-")
    )
    way = Way.WRITTEN if changes else Way.READ
    yield from (("/**" if word == "/" and command.name in _GREPS else word, way) for word in words)
    if command.name in _SCRIPTED:
        code = " ".join(command.words[1:])
        yield from ((path, Way.READ) for path in _QUOTED.findall(code))


def _edited(command: Command) -> Iterator[tuple[str, Way]]:
    saves = _SAVED_BY.search("\n".join([*command.words[1:], command.fed or ""]))
    yield from ((word, Way.WRITTEN if saves else Way.READ) for word in command.given[-1:])


def _found(command: Command) -> Iterator[tuple[str, Way]]:
    roots: list[str] = []
    for word in command.words[1:]:
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word)
    yield from ((root, Way.LISTED) for root in roots)
    words = command.words
    for flag, value in pairwise(words):
        if flag in ("-name", "-iname", "-path", "-ipath", "-wholename"):
            way = Way.REMOVED if "-delete" in words and "name" in flag else Way.LISTED
            yield from ((posixpath.join(root, "**", value.lstrip("/")), way) for root in roots)


def _of_git(command: Command) -> Iterator[tuple[str, Way]]:
    given = command.of_git
    if command.words[1:2] == ["-C"]:
        yield from ((word, Way.READ) for word in command.words[2:3])
    if given and given[0] in _GIT_WRITES and not command.has("-b", "-B", "--staged"):
        yield from ((word, Way.WRITTEN) for word in given[1:])
    elif given and given[0] in _GIT_READS:
        yield from ((word.rpartition(":")[2], Way.READ) for word in given[1:])


def _of_dd(command: Command) -> Iterator[tuple[str, Way]]:
    for word in command.words[1:]:
        key, _, path = word.partition("=")
        if key in ("if", "of"):
            yield path, Way.READ if key == "if" else Way.WRITTEN


_TOLD: Final[Mapping[str, Callable[[Command], Iterator[tuple[str, Way]]]]] = {
    "for": _looped, "find": _found, "git": _of_git,
    **dict.fromkeys(_EDITORS, _edited), "dd": _of_dd,
    **dict.fromkeys(_TO_LAST, _copied), **dict.fromkeys(_PATTERN_FIRST, _searched),
}  # fmt: skip
