"""Whether the diffs of a call show what a text of it says, so that it need not stand twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kbsite.model.transcript import DiffLine, FileDiff

_ENVELOPE = "*** "
"""What the lines of a patch that name files start with: a diff has the names in its head."""


def is_in_diffs(value: object, diffs: Sequence[FileDiff]) -> bool:
    """Whether every text in a value is a path of the diffs, or shown by them line by line."""
    return all(_is_shown(text, diffs) for text in _texts(value))


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


def _is_shown(text: str, diffs: Sequence[FileDiff]) -> bool:
    if not text or any(text == diff.path for diff in diffs):
        return True
    if text.lstrip().startswith(_ENVELOPE):
        return _is_patch_of(text, diffs)
    wanted = text.strip("\n")
    return any(wanted in side for diff in diffs for side in _sides(diff.lines))


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
