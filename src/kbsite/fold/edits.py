"""Edits that tool calls ask for, as diffs against what is known of the files."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator, Mapping

from kbsite.fold.patches import changes, moved_to, patched
from kbsite.fold.paths import shell_path
from kbsite.fold.work import LARGEST, LINE, SHOWN, Work
from kbsite.line_matching import MATCHES, LineMatcher
from kbsite.model.event import UNTOLD, Edit
from kbsite.model.transcript import DiffLine, FileDiff

CONTEXT = 3
"""Lines around a change that a diff holds, beyond those that its call names."""


class Files:
    """The content of each file, as far as edits in the order of one transcript file tell it.

    Nothing is known any more once the `work` is spent: an edit is then shown as its call tells it.
    """

    def __init__(self, folder: str = "", work: Work | None = None) -> None:
        self._known: dict[str, str] = {}
        self._folder = shell_path(folder)
        self._work = work or Work()

    @property
    def known(self) -> Mapping[str, str]:
        """The files whose content is known, by their whole paths as far as the folder is known."""
        return {} if self._work.spent else self._known

    def _key(self, path: str) -> str:
        whole = posixpath.join(self._folder, shell_path(path))
        return posixpath.normpath(whole) if self._folder else whole

    def content(self, path: str) -> str | None:
        """The content of a file; None where it cannot be told, or the file is gone."""
        return self.known.get(self._key(path))

    def contents(self, edits: tuple[Edit, ...]) -> tuple[str | None, ...]:
        """What the diffs of `edits` hang on: the content of each of their files."""
        return tuple(self.content(edit.path) for edit in edits)

    def learn(self, edits: tuple[Edit, ...], content: str | None) -> None:
        """Take down what the one file of some edits held before them, where that is known."""
        paths = {edit.path for edit in edits}
        if content is None or len(paths) != 1 or len(content) > LARGEST:
            return
        self._work.take(len(content))
        self._known[self._key(paths.pop())] = content

    def replayed(self, contents: Mapping[str, str | None], told: int) -> list[FileDiff]:
        """What a shell command made of files, taken as done; None for one that cannot be told.

        `told` is the length of the command: so much of the diffs stands in it, too.
        """
        found = []
        for path, after in contents.items():
            found.append(self._replayed(path, None if self._work.spent else after))
            told -= self._pay(found[-1], told)
        return found

    def _replayed(self, path: str, after: str | None) -> FileDiff:
        key = self._key(path)
        before = self._known.pop(key, None)
        if after is None:
            return FileDiff(path, "unknown", (), replayed=True)
        self._known[key] = after
        self._work.take(len(before or "") + len(after))
        action = "write" if before is None else "update"
        lines = tuple(_changed(before or "", after))
        return FileDiff(path, action, lines, replayed=True, after=after)

    def _paid(self, content: str | None) -> str | None:
        """The content, gone through."""
        self._work.take(len(content or ""))
        return content

    def _pay(self, diff: FileDiff, told: int) -> int:
        """Take off what is shown beyond so many characters; how many are shown."""
        shown = sum([len(line.text) + LINE for line in diff.lines])
        self._work.take(max(0, shown - max(0, told)) * SHOWN)
        return shown

    def diff(self, edit: Edit) -> FileDiff:
        """What an edit would change; nothing is changed yet."""
        before = self._paid(self.content(edit.path))
        if edit.patch == UNTOLD:
            return FileDiff(edit.path, edit.action, (), untold=True)
        if edit.patch:
            return FileDiff(edit.path, edit.action, tuple(changes(edit.patch)))
        if edit.action == "delete":
            lines = tuple(_changed(before or "", ""))
            return FileDiff(edit.path, "delete", lines, untold=before is None)
        if edit.old is None:
            return _anew(edit, before)
        after = _after(edit, before)
        if before is None or after is None:
            lines = tuple(_unplaced(_changed(edit.old, edit.new, _ALL)))
            return FileDiff(edit.path, edit.action, lines, everywhere=edit.every)
        lost = edit.every or edit.old not in before
        named = None if lost else _lines_of(edit.old, before)
        shown = FileDiff(edit.path, edit.action, tuple(_changed(before, after, named)))
        self._pay(shown, len(edit.old) + len(edit.new))
        return shown

    def diffs(self, edits: tuple[Edit, ...]) -> list[FileDiff]:
        """What edits would change, one after the other; nothing is changed yet."""
        if len(edits) == 1:
            return [self.diff(edits[0])]
        trial = Files(self._folder, self._work)
        keys = {self._key(edit.path) for edit in edits}
        trial._known = {key: self._known[key] for key in keys if key in self._known}
        return trial.applied(edits)

    def applied(self, edits: tuple[Edit, ...]) -> list[FileDiff]:
        """What edits change, one after the other; they are taken as done."""
        found = []
        for edit in edits:
            found.append(self.diff(edit))
            self.apply(edit)
        return found

    def apply(self, edit: Edit) -> None:
        """Take an edit as done; a file that can no longer be told is forgotten."""
        before = self._paid(self._known.pop(self._key(edit.path), None))
        after = None if self._work.spent else _after(edit, before)
        target = moved_to(edit.patch) if edit.action == "move" else edit.path
        self._known.pop(self._key(target), None)
        if target and after is not None:
            self._known[self._key(target)] = after


def _anew(edit: Edit, before: str | None) -> FileDiff:
    """What giving the whole of a file changes."""
    action = "add" if edit.action == "add" else "write" if before is None else "update"
    lines = tuple(_changed(before or "", edit.new, _ALL))
    return FileDiff(edit.path, action, lines, anew=before is not None)


def _after(edit: Edit, before: str | None) -> str | None:
    """The content after an edit; None where that cannot be told, or the file is gone."""
    if edit.action == "delete":
        return None
    if edit.patch or edit.action == "move":
        if before is None or edit.patch == UNTOLD:
            return None
        return patched(before, edit.patch)
    if edit.old is None:
        return edit.new
    if not edit.old:
        # Nothing is replaced: that makes a file, and fails where there is one.
        return None if before else edit.new
    return None if before is None else _replaced(before, edit.old, edit)


def _replaced(before: str, old: str, edit: Edit) -> str | None:
    """A text with an edit's new one for its old one; None if it has no old one, or is too large."""
    if edit.closed and not old.endswith("\n") and f"{old}\n" in before:
        old = f"{old}\n"
    times = before.count(old) if edit.every else int(old in before)
    length = len(before) + times * (len(edit.new) - len(old))
    if not times or length > max(LARGEST, len(edit.new)):
        return None
    return before.replace(old, edit.new, times)


_ALL = (0, sys.maxsize)
"""All lines of a file."""


def _lines_of(part: str, text: str) -> tuple[int, int]:
    """Which lines of a text a part of it stands in: the first, and the one after the last."""
    start = text.index(part)
    first = text.count("\n", 0, start)
    return first, first + part.removesuffix("\n").count("\n") + 1


def _changed(before: str, after: str, named: tuple[int, int] | None = None) -> Iterator[DiffLine]:
    """A diff with some lines around each change, and with all of the old lines `named`.

    A call names what it replaces: a diff that holds all of it need not stand beside the call.
    """
    old, new = _lines(before), _lines(after)
    # Most edits touch a few lines of a long file: what is equal at both ends needs no matching.
    start = _equal(old, new)
    end = _equal(old[start:][::-1], new[start:][::-1])
    first, last = named or (start, len(old) - end)
    low = max(0, min(start - CONTEXT, first))
    high = max(0, min(end - CONTEXT, len(old) - last))
    old, new = old[low : len(old) - high], new[low : len(new) - high]
    context = len(old) + len(new) if named else CONTEXT
    yield from _hunks(old, new, low, context)


def _unplaced(lines: Iterable[DiffLine]) -> Iterator[DiffLine]:
    """A diff of parts of a file that stand nobody knows where in it."""
    return (DiffLine("@", "@@") if line.sign == "@" else line for line in lines)


def _hunks(old: list[str], new: list[str], low: int, context: int) -> Iterator[DiffLine]:
    """The lines of a unified diff; numbered in the whole file, not the part that is compared."""
    for hunk in _grouped(old, new, context):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = hunk[0], hunk[-1]
        spans = _span(old_start, old_end, low), _span(new_start, new_end, low)
        yield DiffLine("@", f"@@ -{spans[0]} +{spans[1]} @@")
        for tag, start, end, start_new, end_new in hunk:
            if tag == "equal":
                yield from [DiffLine(" ", line) for line in old[start:end]]
                continue
            yield from [DiffLine("-", line) for line in old[start:end]]
            yield from [DiffLine("+", line) for line in new[start_new:end_new]]


_Opcode = tuple[str, int, int, int, int]


def _grouped(old: list[str], new: list[str], context: int) -> Iterable[list[_Opcode]]:
    """The hunks of a diff, each as what becomes of stretches of the old lines."""
    if not old and not new:
        return []
    if old and new and (matcher := LineMatcher(old, new)).pairs <= MATCHES:
        return matcher.get_grouped_opcodes(context)
    # A file that is new, or gone, or two texts that are too alike to be matched in time.
    return [[("replace", 0, len(old), 0, len(new))]]


def _span(start: int, end: int, low: int) -> str:
    """A stretch of lines as the head of a hunk names it; an empty one by the line before it."""
    if end - start == 1:
        return str(low + start + 1)
    return f"{low + start + (end > start)},{end - start}"


def _lines(text: str) -> list[str]:
    """The lines as an editor numbers them: a form feed or U+2028 ends none."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _equal(old: list[str], new: list[str]) -> int:
    """Number of lines that two lists begin with alike."""
    low, high = 0, min(len(old), len(new))
    # Lists are compared far faster than one line after the other.
    while low < high:
        half = (low + high + 1) // 2
        if old[low:half] == new[low:half]:
            low = half
        else:
            high = half - 1
    return low
