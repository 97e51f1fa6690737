"""What is too large for its step: a long text shows its ends, and has a page of its own.

A large picture has a file of its own, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from msgspec import Struct, field

from kbsite.model.transcript import DiffLine

WHOLE = 16_000
"""Characters that are shown in place; a longer text is shown by its ends.

And bytes of pictures that a page holds.
"""
HEAD, TAIL = 2_000, 1_000
"""Characters of each end."""

_TEXT = itemgetter(1)
"""The text of a line of a diff."""


class Ends(Struct, frozen=True):
    """A long text by its ends."""

    head: str
    tail: str
    left_out: int
    """Lines between the two."""
    page: str
    """File name of the page that holds the whole, in the folder of the run's page."""


class LongText(Struct, frozen=True):
    """A text that gets a page of its own."""

    page: str
    anchor: str
    """The step that it belongs to."""
    text: str
    written: bool = False
    """Whether somebody wrote it: its lines may run from right to left."""
    changes: bool = False
    """Whether each of its lines is one of what changed, and starts with the sign of that."""


class LargePicture(Struct, frozen=True):
    """A picture that gets a file of its own."""

    page: str
    """Name of that file, in the folder of the run's page."""
    anchor: str
    """The step that it belongs to."""
    data: bytes


class Overflow(Struct):
    """Collects the long texts and large pictures of the steps that are rendered."""

    in_one_file: bool = False
    """Whether one page holds all of a run: pictures stay in their places then."""
    _held: list[LongText | LargePicture] = field(default_factory=list)
    _seen: dict[str, int] = field(default_factory=dict)

    def ends(
        self, text: str, anchor: str, *, written: bool = False, changes: bool = False
    ) -> Ends | None:
        """The ends of a text that is too long for its place; None if it is not."""
        if len(text) <= WHOLE:
            return None
        page = f"text-{anchor}-{self._number(anchor)}.html"
        self._held.append(LongText(page, anchor, text, written, changes))
        return Ends(*ends_of(text), page)

    def picture(self, data: bytes, suffix: str, anchor: str) -> str:
        """The address of a picture that is too large for its place; empty if it is not."""
        if self.in_one_file or len(data) <= WHOLE:
            return ""
        page = f"picture-{anchor}-{self._number(anchor)}.{suffix}"
        self._held.append(LargePicture(page, anchor, data))
        return page

    def _number(self, anchor: str) -> int:
        """Which one of a step the next one is."""
        number = self._seen[anchor] = self._seen.get(anchor, 0) + 1
        return number

    def diff_ends(self, lines: Sequence[DiffLine], anchor: str) -> Ends | None:
        """The ends of a diff that is too long for its place; None if it is not."""
        if sum(map(len, map(_TEXT, lines))) + 2 * len(lines) <= WHOLE:
            return None
        signs = ((line.sign if line.sign != "@" else "") for line in lines)
        text = "\n".join(sign + line.text for sign, line in zip(signs, lines, strict=True))
        return self.ends(text, anchor, changes=True)

    @property
    def held(self) -> Sequence[LongText | LargePicture]:
        """What was collected since the last time it was taken."""
        return self._held

    def put(self, collected: Sequence[LongText | LargePicture]) -> None:
        """Take in what was collected elsewhere."""
        self._held += collected

    def drop(self, anchor: str) -> None:
        """Forget what is of a step, which is rendered again."""
        self._held = [one for one in self._held if one.anchor != anchor]
        self._seen.pop(anchor, None)

    def take(self) -> Iterator[LongText | LargePicture]:
        """What was collected since the last time."""
        held, self._held = self._held, []
        yield from held


def ends_of(text: str) -> tuple[str, str, int]:
    """The first and the last lines of a text that is too long, and how many lie between them."""
    head, tail = _up_to_line_end(text[:HEAD]), _from_line_start(text[-TAIL:])
    return head, tail, text[len(head) : len(text) - len(tail)].count("\n") or 1


def _up_to_line_end(text: str) -> str:
    end = text.rfind("\n")
    return text[: end + 1] if end > HEAD // 2 else text


def _from_line_start(text: str) -> str:
    start = text.find("\n")
    return text[start + 1 :] if 0 <= start < TAIL // 2 else text
