"""Which of Codex's formats a file is of, from its first objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ENVELOPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
    "token_usage_record",
})  # fmt: skip
"""Row types of a rollout that no other CLI's log has."""
_PRINTED = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started",
    "item.updated", "item.completed",
})  # fmt: skip
_HEADER = frozenset({"id", "timestamp", "instructions"})


def is_rollout(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are rows of a rollout, in the envelope layout or the one before it."""
    return any(_is_envelope(row) or is_header(row) or is_state(row) for row in head)


def is_printed(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are rows that `codex exec --json` prints."""
    return any(_is_printed(row) for row in head)


def is_header(row: Mapping[str, object]) -> bool:
    """Whether this is the first row of a rollout without envelopes."""
    return row.keys() >= _HEADER and "type" not in row


def is_state(row: Mapping[str, object]) -> bool:
    """Whether this is a bookkeeping row of a rollout without envelopes."""
    return row.get("record_type") == "state"


def _is_envelope(row: Mapping[str, object]) -> bool:
    return (
        isinstance(kind := row.get("type"), str)
        and kind in ENVELOPES
        and isinstance(row.get("payload"), dict)
        and isinstance(row.get("timestamp"), str)
    )


def _is_printed(row: Mapping[str, object]) -> bool:
    kind = row.get("type")
    if not isinstance(kind, str) or kind not in _PRINTED or "payload" in row:
        return False
    match kind.partition("."):
        case ("thread", _, _):
            return isinstance(row.get("thread_id"), str)
        case ("item", _, _):
            return isinstance(row.get("item"), dict)
        case _:
            return kind == "turn.started" or isinstance(row.get("usage", row.get("error")), dict)
