"""Copilot CLI's log of a session: one event on each line, each after the one that it names.

Its stdout as JSON has the same events, all but the first and the counts of tokens, and between them
what it keeps in no log: pieces of what later events tell whole, requests that failed, and what
commands printed. Sub-agents write into the log of the session that started them: an event of theirs
names the agent, or (before that) the call that started it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from kbsite.harnesses.copilot.results import Known, printed_end, result, shutdown, usage
from kbsite.harnesses.copilot.vocabulary import (
    DELTA,
    INJECTED,
    KINDS,
    KNOWN,
    NOTICES,
    SETTINGS,
)
from kbsite.harnesses.lines import Line, count, dump, mapping, sequence, text, timestamp
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Image,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Thought,
    TokenUse,
    Topic,
)
from kbsite.model.usage import Usage

_PEOPLE = ("", "user")
"""What stands as the source of a message that a person wrote."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from reader.row(row)
    yield from reader.rest()


class _Reader(Struct):
    """Whose calls are whose, and what a later event may repeat."""

    session: str = ""
    model: str = ""
    owners: dict[str, str] = field(default_factory=dict)
    """The agent that asked for each call."""
    asked: dict[str, str] = field(default_factory=dict)
    """The arguments of calls that have not started yet, as JSON: no object nests too deeply."""
    agents: dict[str, str] = field(default_factory=dict)
    """The sub-agents by the calls that started them."""
    tasks: dict[str, str] = field(default_factory=dict)
    """What sub-agents were asked for, in short, by the calls that started them."""
    thoughts: dict[str, str] = field(default_factory=dict)
    """The last thought of each agent that may be repeated."""
    counted: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    """The last message of each agent with no count but that of its output."""
    requests: dict[str, Row] = field(default_factory=dict)
    """The counts of requests whose messages have not come yet, by the ids of the requests."""
    summaries: list[Row] = field(default_factory=list)
    """Compactions, whose requests the final counts leave out, and no row of their own counts."""
    assets: dict[str, Image] = field(default_factory=dict)
    """The pictures that later results name."""
    began: dict[str, datetime | None] = field(default_factory=dict)
    """When calls under way were started."""
    printed: dict[str, list[str]] = field(default_factory=dict)
    """What commands under way have printed so far, by their calls."""
    printing: dict[str, Row] = field(default_factory=dict)
    """The last row of each that told what it printed."""

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row."""
        kind, data = text(held.value.get("type")), held.value.get("data")
        row = held.of(self._agent(held), timestamp(held.value.get("timestamp")))
        if not isinstance(data, dict):
            yield printed_end(row) if is_end(held.value) else row.unknown(kind)
            return
        yield from row.told(self._told(kind, row, data), kind)

    def rest(self) -> Iterator[Event]:
        """What is known now that nothing follows."""
        for request in (*self.requests.values(), *self.summaries):
            yield request.event(TokenUse, **_count(request))
        for call_id, row in self.printing.items():
            yield row.still_runs("".join(self.printed[call_id]))

    def _agent(self, row: Row) -> str:
        parent = text(mapping(row.value.get("data")).get("parentToolCallId"))
        return text(row.value.get("agentId")) or self.agents.get(parent, parent)

    def _told(self, kind: str, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        group = kind.partition(".")[0]
        if kind in SETTINGS:
            yield self._settings(row, data)
        elif kind == "user.message":
            yield from _prompt(row, data)
        elif group == "assistant":
            yield from self._assistant(kind, row, data)
        elif group == "tool":
            yield from self._tool(kind, row, data)
        elif group == "subagent":
            yield from self._subagent(kind, row, data)
        elif kind == "session.shutdown":
            yield from self._shut(row, data)
        elif kind in INJECTED:
            yield row.injected(text(data.get("content", data.get("message"))))
        elif kind == "session.usage_record":
            self._request(row, data)
        elif kind == "session.compaction_complete":
            used = mapping(data.get("compactionTokensUsed"))
            self.summaries += [row] if usage(used).known else []
            yield from _rest(kind, row, data)
        elif kind == "session.binary_asset":
            self.assets[text(data.get("assetId"))] = picture_in(data)
        else:
            yield from _rest(kind, row, data)

    def _shut(self, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        """The end, and what the summaries took where it tells what all the rest did."""
        told = False
        for event in shutdown(row, data, self.session):
            told = told or isinstance(event, TokenUse)
            yield event
        for summary in self.summaries if told else ():
            yield summary.event(TokenUse, **_count(summary) | {"scope": Scope.RUN})
        self.summaries = [] if told else self.summaries

    def _request(self, row: Row, data: Mapping[str, object]) -> None:
        """Keep the count of a request until its message comes, which it stands before."""
        call = text(mapping(data.get("usage")).get("apiCallId")) or text(row.value.get("id"))
        self.requests[call] = row

    def _settings(self, row: Row, data: Mapping[str, object]) -> Session:
        self.session = text(data.get("sessionId")) or self.session
        model = text(data.get("newModel", data.get("selectedModel", data.get("model"))))
        self.model = model or self.model
        return row.event(
            Session,
            session_id=text(data.get("sessionId")),
            model=model,
            effort=text(data.get("reasoningEffort")),
            harness_version=text(data.get("copilotVersion")),
            cwd=text(mapping(data.get("context")).get("cwd", data.get("cwd"))),
            raw=row.raw,
        )

    def _assistant(self, kind: str, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        match kind:
            case "assistant.message":
                yield from self._answer(row, data)
            case "assistant.reasoning":
                yield from self._thought(row, text(data.get("content")))
            case "assistant.usage":
                yield from self._usage(row, data)
            case _:
                yield from _rest(kind, row, data)

    def _answer(self, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        """A message of the model: its thinking, its words, its calls, the size of it all."""
        model = text(data.get("model")) or self.model
        sealed = bool(data.get("reasoningOpaque") or data.get("encryptedContent"))
        yield from self._thought(row, text(data.get("reasoningText")), sealed=sealed)
        said = text(data.get("content"))
        if said:
            yield row.event(Message, role=Role.ASSISTANT, text=said, model=model)
        for item in sequence(data.get("toolRequests")):
            asked = mapping(item)
            if asked:
                yield self._call(row, asked, text(asked.get("name")))
            else:
                yield row.unknown("toolRequest", item)
        output = count(data.get("outputTokens"))
        if request := self.requests.pop(text(data.get("apiCallId")), None):
            yield row.event(TokenUse, **_count(request))
        elif output is not None:
            message_id = text(data.get("messageId")) or text(row.value.get("id"))
            self.counted[row.agent] = message_id, output
            yield row.event(
                TokenUse,
                usage=Usage(output=output),
                scope=Scope.MESSAGE,
                message_id=message_id,
                model=model,
            )

    def _thought(self, row: Row, told: str, *, sealed: bool = False) -> Iterator[Event]:
        """The model's thinking, unless it is what was told just before."""
        if (not told and not sealed) or (told and self.thoughts.get(row.agent) == told):
            return
        self.thoughts[row.agent] = told
        yield row.event(Thought, text=told, encrypted=not told)

    def _usage(self, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        """The whole count of a request; it takes the place of what its message said of it."""
        used = usage(data)
        message_id, output = self.counted.pop(row.agent, ("", None))
        if output != used.output:
            message_id = text(data.get("apiCallId"))
        if used.known:
            yield row.event(
                TokenUse,
                usage=used,
                scope=Scope.MESSAGE,
                message_id=message_id,
                model=text(data.get("model")),
            )

    def _call(self, row: Row, asked: Mapping[str, object], tool: str) -> Event:
        call_id = text(asked.get("toolCallId"))
        self.owners[call_id] = row.agent
        if tool == "task":
            self.tasks[call_id] = text(mapping(asked.get("arguments")).get("description"))
        self.asked[call_id] = dump(asked.get("arguments"))
        return row.call(KINDS, tool, asked.get("arguments"), call_id)

    def _tool(self, kind: str, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        call_id = text(data.get("toolCallId"))
        match kind:
            case "tool.execution_start":
                self.began[call_id] = row.at
                yield from self._started(row, data, call_id)
            case "tool.execution_complete":
                self.asked.pop(call_id, None)
                self.model = text(data.get("model")) or self.model
                printed = "".join(self.printed.pop(call_id, []))
                self.printing.pop(call_id, None)
                known = Known(self.assets, printed, self.began.pop(call_id, None))
                owner = row.of(self.owners.get(call_id, row.agent), row.at)
                yield result(owner, data, known)
            case "tool.shell_output":
                self.printed.setdefault(call_id, []).append(text(data.get("text")))
                self.printing[call_id] = row
            case _:
                yield from _rest(kind, row, data)

    def _started(self, row: Row, data: Mapping[str, object], call_id: str) -> Iterator[Event]:
        """A call that starts: a repetition, unless the model did not ask for it like this."""
        if call_id not in self.owners:
            yield self._call(row, data, text(data.get("toolName")))
        elif self.asked.pop(call_id, "") != dump(data.get("arguments")):
            told = "The call was made with other arguments:\n" + text(data.get("arguments"))
            yield row.event(Notice, topic=Topic.NOTE, text=told, raw=row.raw)

    def _subagent(self, kind: str, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
        call_id = text(data.get("toolCallId"))
        child = text(row.value.get("agentId")) or self.agents.get(call_id) or call_id
        match kind:
            case "subagent.started" if child:
                self.agents[call_id] = child
                name = text(data.get("agentDisplayName")) or text(data.get("agentName"))
                title = ": ".join(filter(None, (name, self.tasks.get(call_id))))
                starter = row.of(self.owners.get(call_id, ""), row.at)
                yield starter.event(AgentStart, child=child, call_id=call_id, title=title)
            case "subagent.completed" | "subagent.failed":
                ok, error = kind == "subagent.completed", text(data.get("error"))
                ended = row.of(child, row.at)
                yield ended.event(Finish, ok=ok, reason=kind, text=error, raw=row.raw)
            case _:
                yield from _rest(kind, row, data)


def _count(request: Row) -> dict[str, Any]:
    """What the count of a request says, or of those that one compaction took."""
    data = mapping(request.value.get("data"))
    told = mapping(data.get("usage")) or mapping(data.get("compactionTokensUsed"))
    return {
        "usage": usage(told),
        "scope": Scope.MESSAGE,
        "message_id": text(told.get("apiCallId")) or text(data.get("compactionAttemptId")),
        "model": text(told.get("model")),
    }


def _prompt(row: Row, data: Mapping[str, object]) -> Iterator[Event]:
    """What a person said, with what the CLI put around it for the model."""
    said, sent = text(data.get("content")), text(data.get("transformedContent"))
    before, found, after = sent.partition(said) if said else (sent, "", "")
    files = [mapping(item) for item in sequence(data.get("attachments"))]
    images = tuple(picture_in(file) for file in files if _is_image(file))
    own = text(data.get("source")) not in _PEOPLE
    if before.strip():
        yield row.injected(before.strip() if found else sent)
    yield row.event(Message, role=Role.USER, text=said, images=images, injected=own)
    if after.strip():
        yield row.injected(after.strip())
    for item in sequence(data.get("attachments")):
        file = mapping(item)
        if not _is_image(file):
            name = text(file.get("displayName")) or text(file.get("path")) or "without a name"
            told = f"Attached: {name}"
            yield row.event(Notice, topic=Topic.NOTE, text=told, raw=dump(item))


def _is_image(file: Mapping[str, object]) -> bool:
    return text(file.get("mimeType")).startswith("image/") and isinstance(file.get("data"), str)


def _rest(kind: str, row: Row, data: Mapping[str, object]) -> Iterator[Event]:
    """Events that stand for themselves."""
    if kind in NOTICES:
        topic, key = NOTICES[kind]
        yield row.notice(topic, text(data.get(key)))
    elif kind == "model.call_failure":
        yield _failure(row, data)
    elif kind == "session.compaction_complete":
        failed = bool(data.get("error"))
        said = text(data.get("error") or data.get("summaryContent"))
        yield row.notice(Topic.COMPACTION, said, undone=failed)
    elif kind == "session.task_complete":
        ok = data.get("success", True) is True
        yield row.event(
            Finish, ok=ok, reason="task_complete", text=text(data.get("summary")), raw=row.raw
        )
    elif kind == "hook.end":
        yield from _hook(row, data)
    elif kind == "permission.completed":
        yield from _permission(row, data)
    elif kind not in KNOWN and not kind.endswith(DELTA):
        yield row.unknown(kind)


def _permission(row: Row, data: Mapping[str, object]) -> Iterator[Notice]:
    """A permission that was not given."""
    verdict = text(mapping(data.get("result")).get("kind"))
    if verdict and not verdict.startswith("approved"):
        yield row.notice(Topic.NOTE, f"Permission: {verdict}")


def _failure(row: Row, data: Mapping[str, object]) -> Notice:
    """A request that failed; where it is not made again, another row says so."""
    told = " ".join(text(data.get(key)) for key in ("statusCode", "errorMessage")).strip()
    return row.notice(Topic.RETRY, told or "A request failed.")


def _hook(row: Row, data: Mapping[str, object]) -> Iterator[Event]:
    """What a hook said, or why it failed; nothing of one that ran and said nothing."""
    error, name = data.get("error"), text(data.get("hookType"))
    if error is not None or data.get("success") is False:
        why = text(mapping(error).get("message")) if mapping(error) else text(error)
        yield row.notice(Topic.NOTE, f"The hook {name} failed: {why}")
    elif data.get("output"):
        yield row.notice(Topic.NOTE, f"The hook {name} said:\n{text(data['output'])}")


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is the log of a session, or one that lost its start."""
    return any(map(_is_start, head)) or (
        bool(head) and all(map(_is_event, head)) and not any(map(_is_passing, head))
    )


def recognises_printed(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is what the CLI prints: events of which its logs keep only some."""
    whole = all(_is_event(row) or is_end(row) for row in head)
    return whole and any(_is_passing(row) or is_end(row) for row in head)


def is_end(row: Mapping[str, object]) -> bool:
    """Whether this is the last row that the CLI prints."""
    known = isinstance(row.get("sessionId"), str) and "exitCode" in row
    return row.get("type") == "result" and known


def _is_passing(row: Mapping[str, object]) -> bool:
    """Whether the event is one that no log keeps."""
    return row.get("ephemeral") is True


def _is_start(row: Mapping[str, object]) -> bool:
    return row.get("type") == "session.start" and "sessionId" in mapping(row.get("data"))


def _is_event(row: Mapping[str, object]) -> bool:
    known = isinstance(row.get("data"), dict) and {"id", "timestamp", "parentId"} <= set(row)
    return known and "." in text(row.get("type"))
