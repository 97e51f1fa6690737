"""Rollouts that begin within another one: of a thread that was taken back, or forked.

Since 0.170 these copy no rows. They name the thread, or the file of one, that they go on from, and
the ordinal of the first of its rows that is left out. Their counts go on from what had been used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from kbsite.harnesses.lines import count, mapping, text
from kbsite.model.event import Topic
from kbsite.model.usage import Usage, without

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILE = re.compile(rf"(?:.*/)?rollout-[^/]*?({_ID})(?:_{_ID})?\.jsonl", re.DOTALL)


class Segment(Struct):
    """Which part of a thread a file is."""

    within: bool = False
    """Whether it goes on from another file, whose rows it does not repeat."""
    name: str = ""
    """Which of the files of a thread that was taken back it is; empty for the first."""
    base: Usage | None = None
    """What had been used when it began, where it goes on from another one and that is known."""

    def own(self, held: Usage) -> Usage | None:
        """What of a count of the thread was used in this file; None where that is not known."""
        if not self.within:
            return held
        return None if self.base is None else without(held, self.base)


def threads(files: Iterable[str]) -> frozenset[str]:
    """The threads that some files are of."""
    found = (_FILE.fullmatch(file) for file in files)
    return frozenset(name[1] for name in found if name)


def begins_within(meta: Mapping[str, object]) -> bool:
    """Whether a session_meta is that of a rollout which goes on from another one."""
    return bool(mapping(meta.get("history_base")))


def told(meta: Mapping[str, object]) -> tuple[Topic, str]:
    """What a reader has to know of where a rollout goes on from."""
    base = mapping(meta.get("history_base"))
    ordinal = count(base.get("end_ordinal_exclusive"))
    till = "" if ordinal is None else f" of ordinal {ordinal}"
    # A sub-agent may begin with what the agent that started it had seen.
    if other := text(meta.get("forked_from_id")) or text(meta.get("parent_thread_id")):
        return Topic.NOTE, f"It goes on from session {other}, as that was before its row{till}."
    return Topic.INTERRUPTION, (
        f"The session was taken back to before its row{till}, and goes on from there: the model "
        "sees nothing of what stands in an earlier file from that row on. Files stay as they are."
    )
