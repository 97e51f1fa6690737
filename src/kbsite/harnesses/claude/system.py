"""What the CLI tells of itself on the way: retries, compactions, hooks, attachments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kbsite.harnesses.claude.content import brought
from kbsite.harnesses.claude.vocabulary import (
    ATTACHMENT_NOTICES,
    ATTACHMENT_TEXT,
    BY_A_MODEL,
    SYSTEM_NOTICES,
    SYSTEM_TRACES,
)
from kbsite.harnesses.claude.wording import rendered, wording
from kbsite.harnesses.lines import count, mapping, number, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Notice, Topic

_HOOKS_TOLD = ("hookErrors", "hookAdditionalContext", "stopReason")


def system(row: Row) -> Iterator[Event]:
    """The event of a row of type system, whatever its subtype."""
    kind = row.text("subtype")
    match kind:
        case "api_error" | "api_retry":
            wait = _wait(row.value)
            yield row.notice(Topic.RETRY, _retry(row.value, wait or 0.0), wait=wait)
        case "hook_response":
            yield from _hook(row)
        case "stop_hook_summary" if told := wording([row.value.get(key) for key in _HOOKS_TOLD]):
            yield row.notice(Topic.NOTE, told)
        case _ if kind in SYSTEM_NOTICES:
            topic, key = SYSTEM_NOTICES[kind]
            told = wording(row.value.get(key)) or kind.replace("_", " ")
            told += _compacted(row.value) + _unfinished(row)
            yield row.notice(topic, told, of_model=kind in BY_A_MODEL)
        case _ if kind in SYSTEM_TRACES:
            yield row.trace(f"system/{kind}")
        case _:
            yield row.unknown(f"system/{kind}")


def _wait(value: Mapping[str, object]) -> float | None:
    """Seconds until the next try."""
    told = number(value.get("retryInMs", value.get("retry_delay_ms")))
    return None if told is None else told / 1000


def _retry(value: Mapping[str, object], wait: float) -> str:
    error = mapping(value.get("error"))
    why = wording(error.get("formatted") or error or value.get("error")) or "request failed"
    status = count(value.get("error_status"))
    nth = wording(value.get("retryAttempt", value.get("attempt")))
    of = wording(value.get("maxRetries", value.get("max_retries")))
    code = "" if status is None else f"{status} "
    return f"{code}{why} (retry {nth} of {of}, in {wait:.1f} s)"


def _compacted(value: Mapping[str, object]) -> str:
    for key in ("compactMetadata", "compact_metadata", "microcompactMetadata"):
        held = mapping(value.get(key))
        before = number(held.get("preTokens", held.get("pre_tokens")))
        if before is not None:
            after = number(held.get("postTokens", held.get("post_tokens")))
            ends = "" if after is None else f" → {after:.0f}"
            return f" ({wording(held.get('trigger'))}, {before:.0f}{ends} tokens)"
    return ""


def _unfinished(row: Row) -> str:
    """How a task in the background ended, where not well: its summary may only name it."""
    status = row.text("status")
    well = row.text("subtype") != "task_notification" or status in ("", "completed")
    return "" if well else f" ({status})"


def _hook(row: Row) -> Iterator[Event]:
    told = "\n".join(filter(None, (row.text("output") or row.text("stdout"), row.text("stderr"))))
    if row.value.get("outcome", "success") != "success":
        yield row.notice(Topic.ERROR, told or f"hook {row.text('hook_name')} failed")
    elif told:
        yield row.notice(Topic.NOTE, told)
    else:
        yield row.trace("system/hook_response")


def _on_disk(row: Row, file: Mapping[str, object]) -> Iterator[Event]:
    """A file that was put before the model in other words, as it stood on disk."""
    told = text(file.get("rawContent"))
    if told and told != file.get("content"):
        yield row.event(Notice, topic=Topic.NOTE, text=f"{text(file.get('path'))} on disk:\n{told}")


def attachment(row: Row) -> Iterator[Event]:
    """What an attachment put before the model or told a person; a trace where that is nothing."""
    held = mapping(row.value.get("attachment"))
    kind = text(held.get("type"))
    shown = rendered(row.value)
    if kind in ATTACHMENT_NOTICES:
        topic, key = ATTACHMENT_NOTICES[kind]
        yield row.notice(topic, wording(held.get(key)) or kind.replace("_", " "))
    elif kind not in ATTACHMENT_TEXT:
        yield row.unknown(f"attachment/{kind}")
    elif kind == "queued_command":
        origin = mapping(held.get("origin")).get("kind", "human")
        person = held.get("commandMode", "prompt") == "prompt" and origin == "human"
        yield from brought(row, held.get("prompt"), own=not person or bool(held.get("isMeta")))
    elif told := shown or wording(held.get(ATTACHMENT_TEXT[kind])):
        yield row.injected(told)
        yield from _on_disk(row, mapping(held.get("content")))
    else:
        yield row.trace(f"attachment/{kind}")
