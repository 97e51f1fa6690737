"""Whether the diffs of a call show what a text of it says, so that it need not stand twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from kbsite.model.transcript import DiffLine, FileDiff

_ENVELOPE = "*** "
"""What the lines of a patch that name files start with: a diff has the names in its head."""


def is_in_diffs(value: object, diffs: Sequence[FileDiff]) -> bool:
    """Whether every text in a value is a path of the diffs, or shown by them line by line."""
    shown = _Shown(diffs)
    return all(shown.holds(text) for text in _texts(value))


class _Shown:
    """What diffs show; a call that has many texts has them in the order of its diffs."""

    def __init__(self, diffs: Sequence[FileDiff]) -> None:
        self._diffs = diffs
        self._paths = {diff.path for diff in diffs}
        self._last = 0
        """The side that held the last text."""

    def holds(self, text: str) -> bool:
        """Whether a text is a path, or stands in a diff."""
        if not text or text in self._paths:
            return True
        if text.lstrip().startswith(_ENVELOPE):
            return _is_patch_of(text, self._diffs)
        wanted, number = text.strip("\n"), len(self._all)
        for at in chain(range(self._last, number), range(self._last)):
            if wanted in self._all[at]:
                self._last = at
                return True
        return False

    @cached_property
    def _all(self) -> list[str]:
        return [side for diff in self._diffs for side in _sides(diff.lines)]


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for held in value.values():
                yield from _texts(held)
        case list():
            for held in value:
                yield from _texts(held)
        case _:
            pass


def _sides(lines: Sequence[DiffLine]) -> Iterator[str]:
    """What a diff shows of a file before and after; where it jumps is a line that no file has."""
    for without in ("+", "-"):
        kept = ["\0" if sign == "@" else text for sign, text in lines if sign != without]
        yield "\n".join(["", *kept, ""])


def _is_patch_of(patch: str, diffs: Sequence[FileDiff]) -> bool:
    """Whether the lines of a patch stand in the diffs in their order; its files name the diffs."""
    shown = iter([_written(line) for diff in diffs for line in diff.lines])
    names = " ".join(line for line in patch.split("\n") if line.startswith(_ENVELOPE))
    return all(diff.path in names for diff in diffs) and _stand_in(
        (line.rstrip() for line in patch.strip("\n").split("\n") if _is_content(line)), shown
    )


def _is_content(line: str) -> bool:
    return not line.startswith(("*** Begin ", "*** End ", "*** Update ", "*** Add ", "*** Delete "))


def _written(line: DiffLine) -> str:
    """A line of a diff as it stands in a patch, without blanks at its end."""
    return (line.text if line.sign == "@" else line.sign + line.text).rstrip()


def _stand_in(wanted: Iterable[str], shown: Iterator[str]) -> bool:
    return all(line in shown for line in wanted)
