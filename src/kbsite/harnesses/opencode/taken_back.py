"""Messages that somebody took back: opencode puts the files back to what they were before them.

An export holds them until the session goes on; what its server sent holds them for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.opencode.progress import Progress
from kbsite.harnesses.opencode.row import Row
from kbsite.model.event import Finish, Notice, Topic

_BEGINS = "What follows was taken back later."
_ENDS = "So far it was taken back: the model sees nothing of it, and files may have been put back."


class TakenBack(Struct):
    """What was taken back of one session, and whether it is being told."""

    messages: frozenset[str] = frozenset()
    part: str = ""
    """The part with which it begins, within the message before these."""
    diff: str = ""
    """What putting the files back changed, as far as the session tells."""
    telling: bool = False
    before: Finish | None = None
    """How the session had ended before it."""

    def begins(self, row: Row, progress: Progress) -> Notice:
        """What stands before it."""
        self.telling, self.before = True, progress.ending
        return _notice(row, _BEGINS)

    def ends(self, row: Row, progress: Progress) -> Notice:
        """What stands behind it."""
        self.telling, progress.ending = False, self.before
        told = "\n".join(filter(None, [_ENDS, self.diff]))
        return _notice(row, told, restores=True)


def of_session(
    info: Mapping[str, object], messages: object, removed: frozenset[str] = frozenset()
) -> TakenBack:
    """What a session says that was taken back, and what was `removed` from it."""
    revert = mapping(info.get("revert"))
    first, part = text(revert.get("messageID")), text(revert.get("partID"))
    ids = [text(mapping(mapping(one).get("info")).get("id")) for one in sequence(messages)]
    if not first or first not in ids:
        return TakenBack(removed)
    gone = ids[ids.index(first) + bool(part) :]
    return TakenBack(removed | frozenset(gone), part, text(revert.get("diff")))


def _notice(row: Row, told: str, *, restores: bool = False) -> Notice:
    return row.notice(Topic.INTERRUPTION, told, restores=restores)
