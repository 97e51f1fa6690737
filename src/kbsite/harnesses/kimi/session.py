"""kimi-cli's own session log: `sessions/<hash>/<session>/wire.jsonl`.

A row is `{timestamp, message: {type, payload}}`. What a sub-agent does stands in the same file,
wrapped in `SubagentEvent`. The sub-agent's own `subagents/<id>/wire.jsonl` repeats it, without the
wrapping; only of a sub-agent that ran in the background it is the sole record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.form import Format, Held
from kbsite.harnesses.kimi import content, context
from kbsite.harnesses.kimi.agents import Starts
from kbsite.harnesses.kimi.calls import Calls
from kbsite.harnesses.kimi.forks import Copies
from kbsite.harnesses.kimi.notes import btw, notification, retried
from kbsite.harnesses.lines import (
    Line,
    count,
    integer,
    mapping,
    number,
    sequence,
    text,
    timestamp,
)
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Scope,
    Session,
    TokenUse,
    ToolCall,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage

_REMINDER = "<system-reminder>"
"""How a prompt begins that the CLI gives itself: that commands in the background have ended."""

Payload = Mapping[str, object]

_PATH = re.compile(
    r"(?:^session/(?:.*?/)??|(?:^|/)sessions/[^/]+/([^/]+)/)(?:subagents/([^/]+)/)?wire\.jsonl$"
)
_FAILED = re.compile(r"Command failed with exit code: (-?\d{1,9})")
_DONE = "Command executed successfully."
_MESSAGE_ENDS = {
    "TurnBegin", "TurnEnd", "StepBegin", "StepInterrupted", "StepRetry", "ToolCall", "ContentPart",
}  # fmt: skip
"""Rows after which no part of the agent's last call can come."""
_ANSWER_BEGINS = _MESSAGE_ENDS - {"ToolCall"}
"""Those of them that stand behind no call of one answer: it has its words before its calls."""


def together(files: Sequence[Held]) -> Iterator[Event]:
    """What all files of a transcript say: a session that was forked, or gone back in, is copied."""
    told: set[int] = set()
    before = [file for file in files if context.is_context(file.name)]
    for file in before:
        yield from context.parse(file.lines(), file.name)
    logs = [file for file in files if file not in before]
    several = sum(not _reader(file.name).agent for file in logs) > 1
    for file in logs:
        reader = _reader(file.name)
        reader.copies.told = told if several and not reader.agent else None
        yield from reader.events(file.lines())
        told |= reader.copies.own


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of a session log, or of what is held for the model beside it."""
    if context.is_context(file):
        return context.parse(source_lines, file)
    return _reader(file).events(source_lines)


def _reader(file: str) -> _Reader:
    found = _PATH.search(file)
    session, agent = found.groups("") if found else ("", "")
    return _Reader(file, session, agent)


class _Reader(Struct):
    file: str
    session: str
    """The session's id, which only the path tells."""
    agent: str
    """The sub-agent whose own log it is; empty for the session's log."""
    calls: Calls = field(default_factory=Calls)
    starts: Starts = field(default_factory=Starts)
    counted: Counter[str] = field(default_factory=Counter)
    steps: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The agents and calls that started commands in the background, by what those are called."""
    copies: Copies = field(default_factory=Copies)
    uncounted: dict[str, Row | None] = field(default_factory=dict)
    """Where the steps of agents began whose answers nothing has counted yet; None where the last
    request that could be made was refused, as those before it, which costs nothing."""

    def events(self, source_lines: Iterable[Line]) -> Iterator[Event]:
        begun = not self.agent
        for row in rows(source_lines, self.file):
            if isinstance(row, Malformed):
                yield replace(row, agent=self.agent)
            else:
                if not begun:
                    begun = True
                    yield row.event(AgentStart, child=self.agent, repeats=True)
                yield from self._first(row.of(self.agent, timestamp(row.value.get("timestamp"))))
        yield from self._noted(self.calls.rest())
        for agent in list(self.uncounted):
            yield from self._not_counted(agent)

    def _not_counted(self, agent: str) -> Iterator[TokenUse]:
        """That nothing counts the answer of a step, which failed, broke off or was stopped."""
        if row := self.uncounted.pop(agent, None):
            yield row.uncounted()

    def _first(self, row: Row) -> Iterator[Event]:
        """A row, unless another session told it."""
        copied = self.copies.holds(row, "timestamp")
        return self.copies.events(row) if copied else self._row(row)

    def _row(self, row: Row) -> Iterator[Event]:
        message = row.value.get("message")
        if isinstance(message, dict):
            yield from self._message(row, message)
        elif row.value.get("type") == "metadata":
            yield Session(session_id=self.session, raw=row.raw, **row.where())
        else:
            yield row.unknown(text(row.value.get("type")))

    def _message(self, row: Row, message: Payload) -> Iterator[Event]:
        kind, payload = text(message.get("type")), mapping(message.get("payload"))
        while kind == "SubagentEvent":
            call_id = text(payload.get("parent_tool_call_id") or payload.get("task_tool_call_id"))
            child = text(payload.get("agent_id")) or call_id
            yield from self.starts.started(row, child, call_id)
            row, message = replace(row, agent=child), mapping(payload.get("event"))
            kind, payload = text(message.get("type")), mapping(message.get("payload"))
        if kind in _ANSWER_BEGINS:
            yield from self.calls.broken(row.agent)
        elif kind == "ToolCall":
            yield from self.calls.broken(row.agent, text(payload.get("id")))
        if kind in _MESSAGE_ENDS:
            yield from self._noted(self.calls.release(row.agent))
        handle = _HANDLERS.get(kind)
        if handle is not None:
            yield from handle(self, row, payload)
        elif kind in _TRACES:
            yield row.trace(kind)
        else:
            yield row.unknown(kind)

    def _noted(self, calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
        for call in calls:
            self.starts.note(call)
            yield call

    def turn_begin(self, row: Row, payload: Payload) -> Iterator[Event]:
        self.steps.pop(row.agent, None)
        self.broken.discard(row.agent)
        asked = payload.get("user_input")
        own = content.gathered(asked).text.startswith(_REMINDER)
        return row.told(content.asked(row, asked, injected=own), "TurnBegin")

    def steer(self, row: Row, payload: Payload) -> Iterator[Event]:
        return row.told(content.asked(row, payload.get("user_input")), "SteerInput")

    def turn_end(self, row: Row, _: Payload) -> Iterator[Event]:
        """The end of a turn, which the CLI also writes after errors: it says ok of none."""
        broken = row.agent in self.broken
        yield from self._not_counted(row.agent)
        yield Finish(
            ok=False if broken else None,
            reason="StepInterrupted" if broken else "TurnEnd",
            turns=self.steps.get(row.agent),
            raw=row.raw,
            **row.where(),
        )

    def step_begin(self, row: Row, payload: Payload) -> Iterator[Event]:
        self.broken.discard(row.agent)
        self.uncounted[row.agent] = row
        number = count(payload.get("n"))
        if number is not None:
            self.steps[row.agent] = number
        yield row.trace("StepBegin")

    def step_interrupted(self, row: Row, _: Payload) -> Iterator[Event]:
        self.broken.add(row.agent)
        yield from self._not_counted(row.agent)
        yield row.notice(
            Topic.INTERRUPTION, "The step was interrupted, by an error or by the user."
        )

    def part(self, row: Row, payload: Payload) -> Iterator[Event]:
        if row.agent in self.uncounted:
            self.uncounted[row.agent] = row
        return content.answered(row, payload)

    def call(self, row: Row, payload: Payload) -> Iterator[Event]:
        return self._noted(self.calls.begin(row, payload))

    def call_part(self, row: Row, payload: Payload) -> Iterator[Event]:
        self.calls.more(row, payload)
        yield row.trace("ToolCallPart")

    def result(self, row: Row, payload: Payload) -> Iterator[Event]:
        call_id = text(payload.get("tool_call_id"))
        yield from self._noted(self.calls.release(row.agent, call_id))
        value = mapping(payload.get("return_value"))
        held = content.gathered(value.get("output"))
        yield from self.starts.answered(row, call_id, held.text)
        for shown in map(mapping, sequence(value.get("display"))):
            if shown.get("type") == "background_task":
                self.tasks.setdefault(text(shown.get("task_id")), (row.agent, call_id))
        failed, told = value.get("is_error"), text(value.get("message"))
        yield ToolResult(
            call_id=call_id,
            output=_shown(held.text, told, failed=failed is True),
            is_error=failed if isinstance(failed, bool) else None,
            exit_code=_exit_code(told),
            images=held.images,
            recorded=_recorded(value),
            **row.where(),
        )
        for block in held.others:
            yield content.leftover(row, block)

    def status(self, row: Row, payload: Payload) -> Iterator[Event]:
        told = mapping(payload.get("token_usage"))
        usage = Usage(
            input=count(told.get("input_other")),
            cache_read=count(told.get("input_cache_read")),
            cache_write=count(told.get("input_cache_creation")),
            output=count(told.get("output")),
        )
        if not usage.known:
            yield row.trace("StatusUpdate")
            return
        yield from self._noted(self.calls.release(row.agent))
        self.counted[row.agent] += 1
        self.uncounted.pop(row.agent, None)
        # A step is written once, and some servers give every message the same id: count the rows.
        message_id = f"{self.session or self.file}/{self.counted[row.agent]}"
        yield TokenUse(usage=usage, scope=Scope.MESSAGE, message_id=message_id, **row.where())

    def retry(self, row: Row, payload: Payload) -> Iterator[Event]:
        error = [text(payload.get("error_type")), text(payload.get("status_code"))]
        attempts = (payload.get("next_attempt"), payload.get("max_attempts"))
        wait = number(payload.get("wait_s"))
        if count(payload.get("status_code")) and attempts[0] == attempts[1]:
            self.uncounted[row.agent] = None
        yield retried(row, " ".join(filter(None, error)), attempts, wait)

    def compaction(self, row: Row, _: Payload) -> Iterator[Event]:
        yield row.notice(Topic.COMPACTION, "The context is being compacted.")

    def compacted(self, row: Row, _: Payload) -> Iterator[Event]:
        """The end of a compaction: nothing tells what tokens the request for it took."""
        yield row.uncounted()
        yield row.trace("CompactionEnd")

    def notification(self, row: Row, payload: Payload) -> Iterator[Event]:
        """What the CLI tells the model; of a command in the background, how that ended."""
        yield notification(row, payload)
        told = mapping(payload.get("payload"))
        agent, call_id = self.tasks.get(text(told.get("task_id")), ("", ""))
        code = integer(told.get("exit_code"))
        if call_id and code is not None:
            place = replace(row, agent=agent).where()
            yield ToolResult(call_id=call_id, output="", exit_code=code, late=True, **place)

    def plan(self, row: Row, payload: Payload) -> Iterator[Event]:
        yield row.notice(Topic.NOTE, text(payload.get("content")))

    def btw(self, row: Row, payload: Payload) -> Iterator[Event]:
        yield btw(row, payload)

    def hook(self, row: Row, payload: Payload) -> Iterator[Event]:
        if payload.get("action") != "block":
            yield row.trace("HookResolved")
            return
        what = [text(payload.get(key)) for key in ("event", "target", "reason")]
        yield row.notice(Topic.NOTE, "Blocked by a hook: " + " ".join(filter(None, what)))

    def approval(self, row: Row, payload: Payload) -> Iterator[Event]:
        what = [text(payload.get(key)) for key in ("action", "description")]
        yield row.notice(Topic.NOTE, "Approval asked for: " + "\n".join(filter(None, what)))

    def approved(self, row: Row, payload: Payload) -> Iterator[Event]:
        what = [text(payload.get(key)) for key in ("response", "feedback")]
        yield row.notice(Topic.NOTE, "Answer to it: " + "\n".join(filter(None, what)))

    def question(self, row: Row, payload: Payload) -> Iterator[Event]:
        asked = [text(mapping(item).get("question")) for item in sequence(payload.get("questions"))]
        yield row.notice(Topic.NOTE, "Asked the user: " + "\n".join(filter(None, asked)))


_HANDLERS: dict[str, Callable[[_Reader, Row, Payload], Iterator[Event]]] = {
    "TurnBegin": _Reader.turn_begin,
    "SteerInput": _Reader.steer,
    "TurnEnd": _Reader.turn_end,
    "StepBegin": _Reader.step_begin,
    "StepInterrupted": _Reader.step_interrupted,
    "StepRetry": _Reader.retry,
    "ContentPart": _Reader.part,
    "ToolCall": _Reader.call,
    "ToolCallPart": _Reader.call_part,
    "ToolResult": _Reader.result,
    "StatusUpdate": _Reader.status,
    "CompactionBegin": _Reader.compaction,
    "CompactionEnd": _Reader.compacted,
    "Notification": _Reader.notification,
    "PlanDisplay": _Reader.plan,
    "BtwBegin": _Reader.btw,
    "BtwEnd": _Reader.btw,
    "HookResolved": _Reader.hook,
    "ApprovalRequest": _Reader.approval,
    "ApprovalResponse": _Reader.approved,
    "ApprovalRequestResolved": _Reader.approved,
    "QuestionRequest": _Reader.question,
}
_TRACES = {"HookTriggered", "MCPLoadingBegin", "MCPLoadingEnd", "ToolCallRequest"}


def _shown(output: str, told: str, *, failed: bool) -> str:
    """A result as the model is shown it: what the tool says of itself stands before its output."""
    if failed:
        told = f"ERROR: {told}"
    head = f"<system>{told}</system>" if told else ""
    return "\n".join(filter(None, [head, output]))


def _exit_code(told: str) -> int | None:
    if told.startswith(_DONE):
        return 0
    failed = _FAILED.match(told)
    return int(failed[1]) if failed else None


def _recorded(value: Payload) -> Payload | str:
    """What the CLI keeps beside the result; a short version of the output does not count."""
    blocks = sequence(value.get("display"))
    kept: dict[str, object] = {
        "display": [block for block in blocks if mapping(block).get("type") != "brief"],
        "extras": value.get("extras"),
    }
    return {key: held for key, held in kept.items() if held} or ""


def recognises(head: Sequence[Payload]) -> bool:
    """Whether these are rows of a kimi-cli session log, or of what stands beside one."""
    if context.recognises(head):
        return True
    rest = [row for row in head if not _is_header(row)]
    if not rest:
        return bool(head)
    return all(_is_message(row) for row in rest)


def _is_header(row: Payload) -> bool:
    return row.get("type") == "metadata" and set(row) == {"type", "protocol_version"}


def _is_message(row: Payload) -> bool:
    message = mapping(row.get("message"))
    return "timestamp" in row and isinstance(message.get("payload"), dict) and "type" in message


FORMAT = Format(
    id="kimi-session",
    title="session log",
    globs=(
        "home/.kimi/sessions/*/*/wire.jsonl",
        "home/.kimi/sessions/*/*/subagents/*/wire.jsonl",
        "session/*.jsonl",
        "session/**/subagents/*/wire.jsonl",
    ),
    beside=context.GLOBS,
    parse=parse,
    recognises=recognises,
    stored_as="session",
    together=together,
    sub_agents=r"subagents/[^/]+/(?:wire|context)\.jsonl",
)
