"""What events of a sample say that are no messages, and what they are about."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.inspect.messages import Attachments
from kbsite.harnesses.lines import count, mapping, text
from kbsite.model.event import Topic

Held = Mapping[str, object]

_TOPICS = {
    "approval": Topic.NOTE,
    "compaction": Topic.COMPACTION,
    "error": Topic.ERROR,
    "info": Topic.NOTE,
    "input": Topic.NOTE,
    "interrupt": Topic.INTERRUPTION,
    "review": Topic.NOTE,
    "sample_limit": Topic.INTERRUPTION,
    "sentinel": Topic.NOTE,
}
"""What is shown as a notice."""
_SILENT = {"approval": "approve", "review": "continue"}
"""Decisions that change nothing."""
KNOWN = frozenset({
    "anchor", "branch", "checkpoint", "logger", "sample_init", "sandbox", "score", "score_edit",
    "span_end", "state", "step", "store", "subtask", *_TOPICS,
})  # fmt: skip
"""Kinds of events; those without a topic are bookkeeping, or what messages tell too."""

_WORDING = ("message", "input", "summary", "data", "score", "error", "limit")
_PARTS = {
    "approval": ("approver", "decision", "explanation"),
    "interrupt": ("source", "interrupted"),
    "review": ("reviewer", "decision", "explanation"),
    "sentinel": ("factory", "status", "action", "suspicion", "explanation", "error"),
}
"""Where what an event says stands under several keys, which are told one after the other."""


def topic_of(event: Held) -> Topic | None:
    """What an event is about; None where a reader learns nothing from it."""
    kind = text(event.get("event"))
    if kind in _SILENT and event.get("decision") == _SILENT[kind]:
        return None
    if kind == "score":
        return Topic.NOTE if event.get("intermediate") is True else None
    return _TOPICS.get(kind)


def wording(event: Held, attachments: Attachments) -> str:
    """What an event says."""
    kind = text(event.get("event"))
    if kind in _PARTS:
        told = [text(attachments.placed(event[key])) for key in _PARTS[kind] if event.get(key)]
        return ": ".join(told)
    first = next((event[key] for key in _WORDING if event.get(key)), None)
    if first is None and kind == "compaction":
        return _compaction(event)
    held = attachments.placed(first)
    return text(mapping(held).get("message", held))


def _compaction(event: Held) -> str:
    how = text(event.get("type"))
    before, after = count(event.get("tokens_before")), count(event.get("tokens_after"))
    if before is None or after is None:
        return how
    return f"{how}: {before} tokens before, {after} after".removeprefix(": ")
