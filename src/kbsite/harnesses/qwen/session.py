"""Session logs: `chats/<session>.jsonl`, and the files of its sub-agents.

The rows of type system and subtype ui_telemetry are what the CLI itself adds its totals up from,
also when it takes a session up again: one for each answered request, sub-agents' and background
work included. So the running sum of these is the CLI's own total, and messages' counts stand
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.google_parts import Answer, Speech, part_events, tokens
from kbsite.harnesses.latest import remember
from kbsite.harnesses.lines import Line, count, mapping, number, text, timestamp
from kbsite.harnesses.qwen.results import result, told
from kbsite.harnesses.qwen.vocabulary import (
    KINDS,
    SYSTEM_NOTICES,
    SYSTEM_TRACES,
    TELEMETRY,
)
from kbsite.harnesses.rows import Row, documents, rows
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Notice,
    Role,
    Scope,
    Session,
    TokenUse,
    Topic,
)
from kbsite.model.usage import Usage, total

_META = ".meta.json"
_AGENT_FILE = re.compile(r"(?:.*/)?agent-([^/]+?)(?:\.meta\.json|\.jsonl)", re.DOTALL)
_AGENT_PROMPT = re.compile(r"#[^#]+#\d+")
"""How the id of a prompt ends that is a sub-agent's."""
_IN_MESSAGE = (
    "promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
    "totalTokenCount",
)  # fmt: skip
_IN_TELEMETRY = (
    "input_token_count", "cached_content_token_count", "output_token_count",
    "thoughts_token_count", "total_token_count",
)  # fmt: skip
_KEPT = 50_000
"""Rows whose lines are kept in mind, the last ones: nobody goes back further."""
_PERSONS = ("", "real_user")


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of a session's file, of a sub-agent's file, or of the note beside the latter."""
    found = _AGENT_FILE.fullmatch(file)
    reader = _Reader(found[1] if found else "")
    note = file.endswith(_META)
    for row in documents(lines, file) if note else rows(lines, file):
        if isinstance(row, Malformed):
            yield replace(row, agent="" if note else reader.agent)
        else:
            yield from reader.note(row) if note else reader.row(row)
    if reader.ending:
        yield reader.ending


class _Reader(Struct):
    """What the rows of a file say of later ones."""

    file_agent: str
    agent: str = ""
    told: set[tuple[str, str]] = field(default_factory=set)
    """The sessions that a Session was given out for, by agent."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long calls took whose results are still to come, by id."""
    used: dict[str, Usage] = field(default_factory=dict)
    """All that sessions used so far."""
    asked: bool = False
    """Whether the model owes the session an answer."""
    ending: Finish | None = None
    """How the session would end, if nothing came after it."""
    lines: dict[int, int] = field(default_factory=dict)
    """The lines of rows, by the digests of their ids."""
    last: int = 0
    """The line before."""
    counted: TokenUse | None = None
    """The count of a sub-agent's message whose calls are still to come: each has a row."""

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row of a log: at least one."""
        own = text(held.value.get("agentId"))
        beside = held.value.get("isSidechain", self.file_agent != "") is True
        self.agent = (own or self.file_agent) if beside else ""
        row = replace(held, at=timestamp(held.value.get("timestamp")), agent=self.agent)
        kind = text(row.value.get("type"))
        yield from self._session(row)
        yield from row.told(self._row(row, kind), kind)
        self.last = row.place.line
        if (name := hash(row.text("uuid"))) not in self.lines:
            remember(self.lines, name, self.last, _KEPT)

    def note(self, row: Row) -> Iterator[Event]:
        """The events of the note beside a sub-agent's file: which call started it."""
        value = row.value
        child = text(value.get("agentId")) or self.file_agent
        at, owner = timestamp(value.get("createdAt")), text(value.get("parentAgentId"))
        title = text(value.get("description")) or text(value.get("agentType"))
        held = replace(row, at=at, agent=owner)
        if child and (call_id := text(value.get("toolUseId"))):
            yield held.event(AgentStart, child=child, call_id=call_id, title=title)
        yield held.trace("agent-meta")

    def _session(self, row: Row) -> Iterator[Event]:
        session = text(row.value.get("sessionId"))
        if not session or (row.agent, session) in self.told:
            return
        self.told.add((row.agent, session))
        yield row.event(
            Session,
            session_id=session,
            parent_session=session if row.agent else "",
            model=text(row.value.get("model")),
            harness_version=text(row.value.get("version")),
            cwd=text(row.value.get("cwd")),
        )

    def _row(self, row: Row, kind: str) -> Iterator[Event]:
        match kind:
            case "user":
                yield from self._said(row, Role.USER)
            case "assistant":
                yield from row.told(self._said(row, Role.ASSISTANT), kind)
                yield from self._use(row)
                yield from self._so_far(row, text(row.value.get("model")))
            case "tool_result":
                yield from self._said(row, Role.USER)
            case "system":
                yield from self._system(row)
            case _:
                yield row.unknown(kind)

    def _said(self, row: Row, role: Role) -> Iterator[Event]:
        model = text(row.value.get("model")) if role is Role.ASSISTANT else ""
        person = text(row.value.get("provenance")) in _PERSONS and not row.value.get("subtype")
        speech = Speech(role, KINDS, model, injected=role is Role.USER and not person)
        content = mapping(row.value.get("message")).get("parts")
        if not row.agent:
            self.asked, self.ending = role is Role.USER, None
        if role is Role.USER:
            self.counted = None
        yield from part_events(row, content, speech, lambda answer: self._answer(row, answer))

    def _answer(self, row: Row, answer: Answer) -> Iterator[Event]:
        yield result(row, answer, self.seconds.pop(answer.call_id, None))

    def _system(self, row: Row) -> Iterator[Event]:
        kind = text(row.value.get("subtype"))
        payload = mapping(row.value.get("systemPayload"))
        if kind == "ui_telemetry":
            yield from self._telemetry(row, mapping(payload.get("uiEvent")))
        elif kind == "rewind":
            yield self._rewound(row)
        elif kind in SYSTEM_TRACES:
            yield row.trace(f"system/{kind}")
        elif kind in SYSTEM_NOTICES:
            topic, keys = SYSTEM_NOTICES[kind]
            words = told(payload, keys)
            yield row.notice(topic, f"{kind.replace('_', ' ')}: {words}")
        else:
            yield row.unknown(f"system/{kind}")

    def _rewound(self, row: Row) -> Notice:
        """Where a session goes back to: the row that this one names as the one before it."""
        parent = row.text("parentUuid")
        kept = self.lines.get(hash(parent), 0)
        where = f"to line {kept}" if kept else "far back" if parent else "to its begin"
        lines = f"lines {kept + 1} to {self.last}" if kept or not parent else "what stands between"
        told = (
            f"The session goes back {where}, and on from there: the model sees nothing of {lines} "
            "any more. Files may have been put back."
        )
        return row.notice(Topic.INTERRUPTION, told, restores=True)

    def _telemetry(self, row: Row, event: Mapping[str, object]) -> Iterator[Event]:
        kind = text(event.get("event.name")).removeprefix(TELEMETRY)
        match kind:
            case "api_response":
                yield from self._sum(row, event)
            case "api_error":
                yield row.notice(Topic.ERROR, _failure(event))
                # What is asked beside the session, a title for one, ends nothing.
                if self.asked and _is_ours(event):
                    why = text(event.get("error_type")) or kind
                    self.ending = row.event(Finish, agent="", ok=False, reason=why)
                return
            case "tool_call":
                self._took(event)
            case _:
                yield row.unknown(f"system/ui_telemetry/{kind}")
                return
        yield row.trace(f"system/ui_telemetry/{kind}")

    def _sum(self, row: Row, event: Mapping[str, object]) -> Iterator[Event]:
        session = text(row.value.get("sessionId"))
        used = tokens(event, _IN_TELEMETRY)
        if not used.known:
            return
        self.used[session] = total([self.used.get(session, Usage()), used])
        yield from self._so_far(row, text(event.get("model")))

    def _so_far(self, row: Row, model: str) -> Iterator[TokenUse]:
        """All that a session used so far; told again behind the message that it was counted with.

        The count of a request stands before the message that came of it, and holds that.
        """
        session = row.text("sessionId")
        used = self.used.get(session)
        if used is not None:
            yield row.event(
                TokenUse, agent="", usage=used, scope=Scope.RUN, message_id=session, model=model
            )

    def _use(self, row: Row) -> Iterator[TokenUse]:
        """The count of a message; told again at each call that a sub-agent's row tells of it."""
        used, before = tokens(mapping(row.value.get("usageMetadata")), _IN_MESSAGE), self.counted
        if used.known:
            name, model = row.text("uuid"), row.text("model")
            use = row.event(TokenUse, usage=used, scope=Scope.MESSAGE, message_id=name, model=model)
            self.counted = use if row.agent and name else None
            yield use
        elif before is not None and before.agent == row.agent:
            yield replace(before, source=row.place.source(), at=row.at)

    def _took(self, event: Mapping[str, object]) -> None:
        """Take note of how long a call took; those of sub-agents have ids of their own."""
        milliseconds = number(event.get("duration_ms"))
        if _is_ours(event) and milliseconds is not None:
            self.seconds[text(event.get("call_id"))] = milliseconds / 1000


def _is_ours(event: Mapping[str, object]) -> bool:
    """Whether what was measured is the main agent's."""
    return not _AGENT_PROMPT.search(text(event.get("prompt_id")))


def _failure(event: Mapping[str, object]) -> str:
    status = count(event.get("status_code"))
    why = text(event.get("error_message")) or "request failed"
    kind, code = text(event.get("error_type")), "" if status is None else str(status)
    before = "" if why.startswith(code) else f"{code} "
    return f"{before}{why}" + (f" ({kind})" if kind else "")


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is such a log, or a sub-agent's note."""
    return any(_is_of_log(value) for value in head) or bool(head and _is_note(head[0]))


def _is_of_log(value: Mapping[str, object]) -> bool:
    if not isinstance(value.get("sessionId"), str) or "parentUuid" not in value:
        return False
    said = isinstance(mapping(value.get("message")).get("parts"), list)
    return said or "systemPayload" in value


def _is_note(value: Mapping[str, object]) -> bool:
    return {"agentId", "parentSessionId", "toolUseId"} <= set(value) and "type" not in value
