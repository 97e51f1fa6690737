"""What programs that stand in shell commands print, edit, or may change."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from kbsite.fold.shell_words import Redirect, Simple
from kbsite.fold.work import LARGEST
from kbsite.late import late

_READS = (
    r"[ \t]+(?:[ef]?grep|rg|wc|ls|cat|head|tail|stat|file|du|md5sum|sha1sum|sha256sum|basename|"
    r"dirname|echo)\b"
)
"""Programs that change none of the files that they are given."""
_EVERYWHERE = late(
    r"\bgit\b[^\n]*\b(?:checkout|restore|stash(?! +(?:list|show)\b)|reset|apply|am|pull|"
    r"merge(?!-(?:base|tree)\b)|rebase|clean|switch|revert|cherry-pick|mv|rm)\b|"
    rf"(?<![\w.-])patch(?![\w./=-])|"
    rf"\bxargs\b(?!(?:[ \t]+-[^\s|;&]+(?:[ \t]+(?:\d+|\{{\}}))?)*{_READS})|"
    r"\b(?:rsync|tar|unzip|black|isort|autopep8|yapf|prettier|clang-format|dos2unix)\b|"
    r"\bruff\b[^\n]*(?:\bformat\b|--fix)|"
    rf"\bfind\b[^\n]*-(?:delete|(?:exec|ok)(?:dir)?\b(?!{_READS}))"
)
"""What may change files that it does not name."""
_WALKS = late(r"\b(?:rglob|glob|walk|listdir|argv)\b")
_OPENS = late(r"write|open")
LONGEST_LINE = 2000
"""Characters of a line from which a program in it may change every file."""
_PROGRAM = late(
    r"\b(?:git|ruff|find|sed|perl|ruby|g?awk|tee|cp|mv|rm|ed|sponge|truncate|dd|ln|install|unlink)\b"
)
_WRITES = late(
    r">(?!&|[ \t]*/dev/null)|\b(?:sed|perl|ruby|awk|gawk)\b[^\n;|&]*[ \t](?:-\w*i|--in-place)|"
    r"\b(?:tee|cp|mv|rm|ln|install|truncate|dd|unlink|ed|ex|vim?|sponge)\b|\.write\w*\(|writeFile|"
    r"\b(?:shutil|fileinput)\b|\bos\.(?:re|trunc|sym)|\.rename\(|"
    r"['\"][wax]\+?b?\+?['\"]|\bapply_?patch\b|[ \t](?:--write|-w|-i|--in-place|--fix)\b"
)
"""What may change files that it names."""
_INTO = late(r"[ \t](?:-o|-O|--output|--out)(?:[= \t][ \t]*)?([^\s;|&]+)")
"""What writes to the one file that it names behind this."""
_HIDDEN = late(
    r">[ \t]*[\"']?[^\s;|&>]*[$*?]|\b(?:tee|cp|mv|rm)\b[^\n;|&]*[$*?]|"
    r"\bsed\b(?=[^\n]*[ \t](?:-\w*i|--in-place))[^\n;|&]*[$*?]|"
    r"\b(?:perl|ruby|ed|sponge|truncate|dd|ln|install|unlink)\b[^\n;|&]{0,200}"
    r"[ \t=][\"']?(?:\$[\w({$]|[^\s\"';|&$]*[*?{])"
)
"""What writes to files whose names are put together, or match several."""
_PRINTED = {"n": "\n", "t": "\t", "\\": "\\"}
_FLAGS = late(r"-([Ers]*)(?:(i)(.*)|(e)(.*))?", re.DOTALL)
"""Flags of sed in one word: of the last one, -i or -e, with what is stuck to it."""

_LOOKING = {
    "blame", "cat-file", "describe", "diff", "diff-tree", "for-each-ref", "grep", "log", "ls-files",
    "ls-tree", "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show", "show-ref",
    "status", "whatchanged",
}  # fmt: skip
"""What git does that changes no file of the session's."""
_WITH_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}
"""Flags of git whose value may be the next word."""

Content = Callable[[str | None], str | None]
"""The content of a file, by its name; None where it is not known."""


def concerned(text: str, paths: Sequence[str]) -> list[str]:
    """The files that a part of a command may change, told by its words alone."""
    if not paths:
        return []
    if _changes_all(text):
        return list(paths)
    named = [path for path in paths if posixpath.basename(path) in text]
    if _WRITES.search(text):
        return list(paths) if _HIDDEN.search(text) else named
    into = " ".join(_INTO.findall(text)) if named else ""
    return [path for path in named if "$" in into or posixpath.basename(path) in into]


def is_looking(words: Sequence[str | None]) -> bool:
    """Whether a call of git is sure to change no file."""
    left = iter(words[1:])
    for word in left:
        if word in _WITH_VALUE:
            next(left, None)
        elif word is None or not word.startswith("-"):
            into = (other is None or other.startswith(("--output", "--ext")) for other in words)
            return word in _LOOKING and not any(into)
    return False


def _changes_all(text: str) -> bool:
    """Whether it may change files that it does not name."""
    # Words that stand together in a line are looked for again from each of them.
    long = (line for line in text.split("\n") if len(line) > LONGEST_LINE)
    if any(map(_PROGRAM.search, long)):
        return True
    return _EVERYWHERE.search(text) is not None or _walks(text)


def _walks(text: str) -> bool:
    """Whether it writes or opens files behind looking for some."""
    walk = _WALKS.search(text)
    return walk is not None and _OPENS.search(text, walk.end()) is not None


def printed(command: Simple, content: Content) -> str | None:
    """What a command prints; None where that cannot be told."""
    words, reads = command.words[1:], command.reads
    given = [word for word in words if word is not None]
    if len(given) < len(words):
        return None
    match command.name:
        case "cat":
            return _joined(given, reads, content)
        case _ if reads:
            return None
        case "echo":
            return _echoed(given)
        case "printf":
            return _formatted(given)
        case "true" | ":":
            return ""
        case _:
            return None


def _joined(names: list[str], reads: list[Redirect], content: Content) -> str | None:
    """What cat prints: the text that stands in the script, or the files that are named."""
    match reads:
        case [Redirect("<<" | "<<-", text)] if not names:
            return text
        case [] if names and not any(name.startswith("-") for name in names):
            texts = [content(name) for name in names]
            known = [text for text in texts if text is not None]
            whole = len(known) == len(texts) and sum(map(len, known)) <= LARGEST
            return "".join(known) if whole else None
        case _:
            return None


def _echoed(words: list[str]) -> str | None:
    closed = "\n"
    if words[:1] == ["-n"]:
        words, closed = words[1:], ""
    # Shells do not agree on backslashes and other flags.
    if any("\\" in word for word in words) or (words and words[0].startswith("-")):
        return None
    return " ".join(words) + closed


def _formatted(words: list[str]) -> str | None:
    if not words or words[0].startswith("-"):
        return None
    form, rest = words[0], words[1:]
    if re.search(r"\\[^nt\\]|\\\Z", form):
        return None
    if form in ("%s", "%s\\n") and rest:
        return "".join(word + ("\n" if form.endswith("n") else "") for word in rest)
    if "%" in form or rest:
        return None
    return re.sub(r"\\([nt\\])", lambda match: _PRINTED[match[1]], form)


class Sed(Struct):
    """A call of sed that edits files in place."""

    scripts: list[str] | None
    """None where they cannot be told."""
    files: list[str | None]
    extended: bool = False
    suffix: str | None = ""
    """What is put behind the names of copies; empty for no copies, None where it is not known."""


def sed_call(words: Sequence[str | None]) -> Sed | None:
    """What a call of sed edits; None where it edits no file."""
    flags = [word for word in words[1:] if word is not None and re.match(r"-\w*i|--in-place", word)]
    if not flags:
        return None
    found = _options(words[1:])
    if found is not None:
        return found
    # Every word may be a file, and what becomes of it is not known.
    return Sed(None, [word for word in words[1:] if word is None or not word.startswith("-")])


def _options(words: Sequence[str | None]) -> Sed | None:
    """A call by its words; None where it has flags that are not known, or its scripts are not."""
    call = Sed(None, [])
    scripts: list[str | None] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word is None or not word.startswith("-") or word == "-":
            call.files.append(word)
        elif word != "--in-place":
            flags = _FLAGS.fullmatch(word)
            if flags is None:
                return None
            scripts += _flagged(call, flags, left)
    if not scripts:
        scripts, call.files = call.files[:1], call.files[1:]
    call.scripts = [script for script in scripts if script is not None]
    return call if scripts and None not in scripts else None


def _flagged(call: Sed, flags: re.Match[str], left: list[str | None]) -> list[str | None]:
    """Take in a word of flags; the script that it gives, which may be the first word `left`."""
    call.extended = call.extended or bool(set("Er") & set(flags[1]))
    if flags[2]:
        call.suffix = flags[3]
    if not flags[4]:
        return []
    return [flags[5] or (left.pop(0) if left else None)]
