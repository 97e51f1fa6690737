"""The parts of a message, the same in an export and on stdout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import dump, mapping, text, timestamp
from kbsite.harnesses.opencode.calls import call_events, image
from kbsite.harnesses.opencode.progress import Progress
from kbsite.harnesses.opencode.row import Row
from kbsite.model.event import Event, Message, Notice, Role, Thought, Topic, Trace, Unknown

_BOOKKEEPING = frozenset({"agent", "patch", "snapshot"})
_ABORTED = "MessageAbortedError"


def part_events(
    part: Mapping[str, object], row: Row, progress: Progress, *, ends: bool = True
) -> Iterator[Event]:
    """What one part tells; `ends`: whether the session may end with the step it finishes."""
    match text(part.get("type")):
        case "text":
            yield _message(part, row)
        case "reasoning":
            yield _thought(part, row)
        case "tool":
            yield from call_events(part, row)
        case "step-start":
            yield from progress.step_started(part, row)
        case "step-finish":
            yield from progress.step_finished(part, row, ends=ends)
        case "file":
            yield _attached(part, row)
        case "subtask":
            yield _subtask(part, row)
        case "compaction":
            yield _summary_asked(part, row)
        case "retry":
            yield _retry(part, row)
        case kind if kind in _BOOKKEEPING:
            yield Trace(source=row.source(), at=row.at, agent=row.agent, type=kind, raw=dump(part))
        case kind:
            yield Unknown(
                source=row.source(), at=row.at, agent=row.agent, type=kind, raw=dump(part)
            )


def _begun(part: Mapping[str, object], row: Row) -> Row:
    """The row, at the time when the part itself began."""
    row.at = timestamp(mapping(part.get("time")).get("start")) or row.at
    return row


def _message(part: Mapping[str, object], row: Row) -> Message:
    row = _begun(part, row)
    return Message(
        source=row.source(),
        at=row.at,
        agent=row.agent,
        role=row.role,
        text=text(part.get("text")),
        injected=part.get("synthetic") is True or part.get("ignored") is True,
        model=row.model if row.role is Role.ASSISTANT else "",
    )


def _thought(part: Mapping[str, object], row: Row) -> Thought:
    row = _begun(part, row)
    said = text(part.get("text"))
    return Thought(
        source=row.source(),
        at=row.at,
        agent=row.agent,
        text=said,
        encrypted=not said and bool(part.get("metadata")),
    )


def _attached(part: Mapping[str, object], row: Row) -> Event:
    name = text(part.get("filename")) or text(part.get("url"))[:200]
    picture = image(part)
    if picture:
        return Message(
            source=row.source(),
            at=row.at,
            agent=row.agent,
            role=row.role,
            text=name if part.get("filename") else "",
            images=(picture,),
        )
    return row.notice(Topic.NOTE, f"File attached: {name} ({text(part.get('mime'))})", dump(part))


def _subtask(part: Mapping[str, object], row: Row) -> Message:
    return Message(
        source=row.source(),
        at=row.at,
        agent=row.agent,
        role=row.role,
        text=text(part.get("prompt")) or text(part.get("description")),
    )


def _summary_asked(part: Mapping[str, object], row: Row) -> Notice:
    """That the context is going to be compacted: it is when the summary is there."""
    why = "by opencode itself" if part.get("auto") is True else "on request"
    told = f"The model is asked to sum up the conversation, {why}."
    return row.notice(Topic.NOTE, told, dump(part))


def _retry(part: Mapping[str, object], row: Row) -> Notice:
    _, said = error_words(part.get("error"))
    told = f"Attempt {text(part.get('attempt')) or '?'}: {said}"
    at = timestamp(mapping(part.get("time")).get("created"))
    return row.notice(Topic.RETRY, told, dump(part), at=at)


def error_notice(error: object, row: Row, progress: Progress) -> Notice:
    """What went wrong, as the CLI puts it; the session has ended with it unless it goes on."""
    name, said = error_words(error)
    raw = dump(error)
    notice = row.notice(Topic.INTERRUPTION if name == _ABORTED else Topic.ERROR, said, raw)
    progress.failed(name, said, row, raw=raw)
    return notice


def error_words(error: object) -> tuple[str, str]:
    """An error's name, and a line that names it and says what happened."""
    told = mapping(error)
    if not told:
        return "error", text(error)
    data = mapping(told.get("data"))
    name = text(told.get("name")) or "error"
    said = text(data.get("message")) or text(told.get("message")) or (dump(data) if data else "")
    status = text(data.get("statusCode"))
    return name, ": ".join(filter(None, [name, said])) + (f" (HTTP {status})" if status else "")
