"""What shell commands do to files, as far as it can be told without running them.

Only a here-document with a quoted delimiter that `cat` or `tee` puts into a file is read, and only
where nothing before it in the command decides whether it is reached. Everything else that names
the file beside something that writes is told as "may have changed it".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.late import late

LONGEST = 2_000_000
"""Characters of a command from which it is not read."""

_WIDEST = 2000
"""Characters of a line from which it is not understood."""

_PATH = r"(?:[\w./~+@%-]+|'[^'\n]+'|\"[^\"$`\\\n]+\")"
_HERE = r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"])(?P<word>[\w.+-]+)(?P=quote)"
_CORES = (
    rf"cat[ \t]*(?P<into>>{{1,2}})\|?[ \t]*(?P<path>{_PATH})[ \t]*{_HERE}",
    rf"cat[ \t]*{_HERE}[ \t]*(?P<into>>{{1,2}})\|?[ \t]*(?P<path>{_PATH})",
    rf"cat[ \t]*{_HERE}[ \t]*\|[ \t]*tee(?P<into>[ \t]+-a)?[ \t]+(?P<path>{_PATH})",
    rf"tee(?P<into>[ \t]+-a)?[ \t]+(?P<path>{_PATH})[ \t]*(?:>[ \t]*/dev/null[ \t]*)?{_HERE}",
)
_PREFIX = (
    rf"[ \t]*(?:cd[ \t]+(?P<folder>{_PATH})[ \t]*&&[ \t]*)?(?:mkdir[ \t]+-p[^;&|<>$`]*&&[ \t]*)?"
)
_REST = r"(?P<rest>[ \t]*(?:>[ \t]*/dev/null)?[ \t]*(?:(?:&&|;|\|\|)(?:(?!<<).)*)?)"
_WRITES = [late(f"{_PREFIX}{core}{_REST}") for core in _CORES]
_OTHER = late(r"(?<!<)<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<word>[\w.+-]+)(?P=quote)")
_FOLDER = late(rf"[ \t]*cd[ \t]+(?P<folder>{_PATH})[ \t]*")
_DECIDES = late(
    r"(?:^|[;&|({])[ \t]*(?:if|then|else|elif|for|while|until|do|case|select|function|exit|return|"
    r"exec|eval|trap|source|\.|\w+[ \t]*\(\))(?=[ \t;(]|$)|^[({]|(?:&&|\|\||\||\\)$"
)
_STOPS = late(r"(?:^|;)[ \t]*set[ \t]+-\w*e")
_REDIRECTED = late(r">\|?[ \t]*[\"']?[^\s\"'`;|&<>]*\bsolution\.py\b")
_SOLUTION = late(r"[\"']?(?:.*/)?solution\.py[\"')]*")
_CODE = late(r"\.write\w*\(|['\"][wax]\+?b?\+?['\"]|\bwriteFile|\bshutil\b")
_ALWAYS = {"tee", "mv", "rm", "truncate", "patch", "dd", "black", "isort", "yapf", "unlink"}
_TO_LAST = {"cp", "install", "ln", "rsync"}
_IN_PLACE = {"sed", "perl", "ruby", "awk", "gawk", "autopep8"}
_GIT = {"checkout", "restore", "apply", "am", "mv", "rm"}


class Written(Struct, frozen=True):
    """A file that a command writes."""

    path: str
    """Joined with the folder that the command names; as it stands there where it names none."""
    text: str
    append: bool = False
    sure: bool = True
    """Whether nothing before it in the command decides whether it is reached."""


class Command(Struct):
    """A shell command, as far as it is understood."""

    written: list[Written] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What is left when the text that is written to files is taken out."""

    @property
    def changes_solution(self) -> bool:
        """Whether what is left of it may change a file named solution.py."""
        named = [line for line in self.lines if "solution.py" in line]
        if not named:
            return False
        parts = (part.split() for line in named for part in re.split("[;|&\n]", line))
        return (
            any(map(_REDIRECTED.search, named))
            or any(map(_CODE.search, self.lines))
            or any(map(_changes, parts))
        )


def understood(text: str, folder: str = "", *, succeeded: bool = True) -> Command:
    """What a shell command that ran in `folder` wrote, and what is left of it."""
    found = Command()
    if len(text) > LONGEST:
        found.lines = [text]
        return found
    reader = _Reader(iter(text.split("\n")), folder, folder, succeeded)
    for line in reader.lines:
        match = _write(line)
        if match is None:
            found.lines += reader.other(line)
            continue
        written, left = reader.write(line, match)
        found.lines += left
        if written is not None:
            found.written.append(written)
    return found


class _Reader(Struct):
    """Reads the lines of a command, and knows where it stands."""

    lines: Iterator[str]
    start: str
    """The folder that the command began in."""
    folder: str
    succeeded: bool
    sure: bool = True

    def other(self, line: str) -> list[str]:
        """A line that writes no here-document to a file, with the here-documents that it reads."""
        self._pass(line)
        left = [line]
        if match := _FOLDER.fullmatch(line):
            self._move(match["folder"])
        for here in _OTHER.finditer(line):
            body, ended = _body(self.lines, here)
            left += body
            self.sure = self.sure and ended
        return left

    def write(self, line: str, match: re.Match[str]) -> tuple[Written | None, list[str]]:
        """What a line writes with the here-document below it, and what else it does."""
        body, ended = _body(self.lines, match)
        if not ended:
            self.sure = False
            return None, [line, *body]
        if match["folder"]:
            self._move(match["folder"])
        text = "".join(f"{part}\n" for part in body)
        path = _joined(self.folder, _bare(match["path"]))
        append = (match["into"] or "").strip() in (">>", "-a")
        written = Written(path, text, append, self.sure)
        self._pass(match["rest"].lstrip(" \t&;|"))
        return written, [match["rest"]]

    def _move(self, folder: str) -> None:
        self.folder = _joined(self.folder, _bare(folder))
        # The folder that it stands in is there; another may not be.
        there = self.folder == self.start or self.succeeded
        self.sure = self.sure and there

    def _pass(self, line: str) -> None:
        """Take note whether what comes after a line is reached whatever the line does."""
        text = line.strip()
        if not text or text.startswith("#"):
            return
        open_quotes = text.count("'") % 2 or text.count('"') % 2
        if open_quotes or len(text) > _WIDEST or _DECIDES.search(text):
            self.sure = False
        if _STOPS.search(text):
            self.sure = self.sure and self.succeeded


def _changes(words: list[str]) -> bool:
    """Whether one simple command may change solution.py by what it is called with."""
    names = [number for number, word in enumerate(words) if _SOLUTION.fullmatch(word)]
    if not names:
        return False
    before = words[: names[-1]]
    verbs = {word.rpartition("/")[2] for word in before}
    if verbs & _TO_LAST:
        return names[-1] == len(words) - 1
    if verbs & _IN_PLACE:
        return any(re.match(r"-\w*i|--in-place", word) for word in before)
    if "git" in verbs:
        return bool(verbs & _GIT)
    if "ruff" in verbs:
        return "format" in verbs or "--fix" in words
    return bool(verbs & _ALWAYS)


def _write(line: str) -> re.Match[str] | None:
    if "<<" not in line or len(line) > _WIDEST:
        return None
    return next((match for form in _WRITES if (match := form.fullmatch(line))), None)


def _body(lines: Iterator[str], here: re.Match[str]) -> tuple[list[str], bool]:
    """The lines of a here-document, and whether its end is there."""
    body: list[str] = []
    for line in lines:
        text = line.lstrip("\t") if here["dash"] else line
        if text == here["word"]:
            return body, True
        body.append(text)
    return body, False


def _bare(path: str) -> str:
    return path[1:-1] if path[:1] in ("'", '"') else path


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path)) if path else folder
