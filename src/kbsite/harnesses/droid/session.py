"""droid's session log, and the `.settings.json` beside it: only there are the model and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from kbsite.harnesses.droid.content import message
from kbsite.harnesses.lines import Line, count, mapping, text, timestamp
from kbsite.harnesses.rows import Row, documents, rows
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Scope,
    Session,
    TokenUse,
    Topic,
)
from kbsite.model.usage import Usage

SETTINGS = ".settings.json"
_KNOWN = frozenset({"todo_state", "session_settings"})
"""Types of rows with nothing to read: calls of TodoWrite tell the former, too."""
_OK = {
    "aborted": False, "cancelled": False, "completed": True, "error": False, "failed": False,
    "interrupted": False, "success": True,
}  # fmt: skip


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    if file.endswith(SETTINGS):
        yield from _settings_file(lines, file)
        return
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield replace(row, agent=reader.agent)
        else:
            yield from reader.row(row)


class _Reader(Struct):
    """Whose session this is."""

    agent: str = ""

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row."""
        kind = text(held.value.get("type"))
        if kind == "session_start":
            yield from self._start(held)
            return
        row = replace(held, at=timestamp(held.value.get("timestamp")), agent=self.agent)
        match kind:
            case "message":
                yield from row.told(message(row), kind)
            case "compaction_state":
                told = row.value.get("summaryText", row.value.get("summary"))
                yield row.notice(Topic.COMPACTION, text(told))
            case "agent_turn_outcome":
                reason = text(row.value.get("reason"))
                told = row.value.get("error", row.value.get("message"))
                yield row.event(
                    Finish, ok=_OK.get(reason), reason=reason, text=text(told), raw=row.raw
                )
            case _ if kind in _KNOWN:
                yield row.trace(kind)
            case _:
                yield row.unknown(kind)

    def _start(self, held: Row) -> Iterator[Event]:
        parent, session_id = text(held.value.get("callingSessionId")), text(held.value.get("id"))
        if parent:
            self.agent = session_id
        row = replace(held, at=timestamp(held.value.get("timestamp")), agent=self.agent)
        title = text(row.value.get("title"))
        yield row.event(
            Session,
            session_id=session_id,
            parent_session=parent,
            cwd=text(row.value.get("cwd")),
            raw=row.raw,
        )
        if parent:
            call_id = text(row.value.get("callingToolUseId"))
            yield row.event(AgentStart, agent="", child=session_id, call_id=call_id, title=title)


def _settings_file(lines: Iterable[Line], file: str) -> Iterator[Event]:
    session_id = PurePosixPath(file).name.removesuffix(SETTINGS)
    for row in documents(lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from _settings(row, session_id)


def _settings(row: Row, session_id: str) -> Iterator[Event]:
    """The model, and the tokens of the whole session."""
    model = text(row.value.get("model"))
    yield row.event(
        Session,
        session_id=session_id,
        model=model,
        effort=text(row.value.get("reasoningEffort")),
        raw=row.raw,
    )
    told = mapping(row.value.get("tokenUsage"))
    usage = Usage(
        input=count(told.get("inputTokens")),
        cache_read=count(told.get("cacheReadTokens")),
        cache_write=count(told.get("cacheCreationTokens")),
        output=count(told.get("outputTokens")),
        reasoning=_reasoning(told),
    )
    if usage.known:
        yield row.event(TokenUse, usage=usage, scope=Scope.RUN, message_id=session_id, model=model)


def _reasoning(told: Mapping[str, object]) -> int | None:
    """The part of the output that was thinking, where that is what the number can be."""
    thinking, output = count(told.get("thinkingTokens")), count(told.get("outputTokens"))
    return thinking if thinking and output is not None and thinking <= output else None


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a session log, or the settings of one."""
    if not head:
        return False
    first = head[0]
    if len(head) == 1 and "type" not in first and "inputTokens" in mapping(first.get("tokenUsage")):
        return True
    return any(map(_is_start, head)) or all(map(_is_message, head))


def _is_start(row: Mapping[str, object]) -> bool:
    return row.get("type") == "session_start" and isinstance(row.get("id"), str)


def _is_message(row: Mapping[str, object]) -> bool:
    """Whether a row is a message of a log that lost its start; pi's messages look alike."""
    said = mapping(row.get("message"))
    return (
        row.get("type") == "message"
        and isinstance(row.get("id"), str)
        and isinstance(said.get("content"), list)
        and said.get("role") in ("user", "assistant")
        and not {"usage", "timestamp", "stopReason"} & set(said)
        and "sessionId" not in row
    )
