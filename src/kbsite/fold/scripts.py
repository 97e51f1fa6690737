"""Scripts that a shell command runs and whose text is known: which files they may change."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable

from kbsite.fold.programs import concerned
from kbsite.late import late

_INTERPRETER = r"(?:python[\d.]*|pypy3?|bash|sh|zsh|node|perl|ruby)"
_INTERPRETS = late(rf"(?:.*/)?{_INTERPRETER}")
_RUNS = late(
    rf"(?<![\w.-]){_INTERPRETER}[ \t][^\n;|&<>]*|(?:^|[;|&(\n])[ \t]*\.{{0,2}}/[^\s;|&<>]+"
)
_OPENED = late(
    r"\bopen\([ \t\n]*(?P<name>[^\n]{1,80}?),[ \t\n]*(?:mode[ \t]*=[ \t]*)?[rbu]?['\"][rb]*[wax+]"
)
_WRITTEN = late(r"\.write_(?:text|bytes)\(")
"""What opens a file to write to it, in Python."""
_LITERAL = late(r"(?:[\w.]*\([ \t]*)?[rbu]?(?P<quote>['\"])(?P<path>[^'\"\n]+)(?P=quote)\)*")
_CHANGES = late(
    r"\b(?:shutil|fileinput|subprocess|writeFile\w*)\b|\bos\.(?:re|trunc|sym|unlink|system|popen)|"
    r"\.(?:rename|unlink)\("
)

LONGEST = 100_000
"""Characters of a script from which it may change whatever it names."""


def is_interpreter(program: str) -> bool:
    """Whether a program runs what it reads."""
    return _INTERPRETS.fullmatch(program) is not None


def is_running(text: str) -> bool:
    """Whether a part of a shell script runs a script."""
    return _RUNS.search(text) is not None


def run_by(text: str, paths: Collection[str]) -> list[str]:
    """The scripts, of the files named, that a part of a shell script runs."""
    ran = " ".join(found[0] for found in _RUNS.finditer(text)) if paths else ""
    words = {posixpath.basename(word.strip("'\"()`")) for word in ran.split()}
    return [path for path in paths if posixpath.basename(path) in words] if words else []


def changed_by(script: str, paths: Iterable[str]) -> list[str]:
    """The files that a script may change when it runs, told by its text."""
    named = [path for path in paths if posixpath.basename(path) in script]
    if len(script) > LONGEST or not named:
        return named
    if re.match(r"#![^\n]*sh\b", script) or not re.search(r"\b(?:import|def|open)\b", script):
        return concerned(script, named)
    written = _written(script)
    if _CHANGES.search(script) or None in written:
        return named
    return [path for path in named if posixpath.basename(path) in written]


def _written(script: str) -> list[str | None]:
    """The names of the files that a script in Python writes; None for one that is put together."""
    opened = [_literal(found["name"]) for found in _OPENED.finditer(script)]
    made = [_literal(_before(script, found.start())) for found in _WRITTEN.finditer(script)]
    return opened + made


def _before(script: str, end: int) -> str:
    """The expression that ends at a place."""
    return re.split(r"[\s=;,]", script[max(0, end - 200) : end])[-1]


def _literal(expression: str) -> str | None:
    """The name of the file that a literal names; None where it is put together."""
    found = _LITERAL.fullmatch(expression.strip())
    return posixpath.basename(found["path"]) if found else None
