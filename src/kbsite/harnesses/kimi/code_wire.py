"""Kimi Code's own session log: `agents/<agent>/wire.jsonl`, a file for each agent.

`agents/main` is the main agent; its log says which call started which of the others. The model's
messages, calls and results are taken from `context.append_loop_event`, and tokens from
`usage.record` and `step.end`, which tell the same count under one message id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses import tools
from kbsite.harnesses.form import Format
from kbsite.harnesses.form import Held as Opened
from kbsite.harnesses.kimi import content
from kbsite.harnesses.kimi.agents import Starts
from kbsite.harnesses.kimi.code_counts import Counts
from kbsite.harnesses.kimi.code_table import QUIET_ENDS, TRACES
from kbsite.harnesses.kimi.forks import Copies
from kbsite.harnesses.kimi.notes import retried
from kbsite.harnesses.kimi.vocabulary import called
from kbsite.harnesses.lines import Line, count, integer, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Role,
    Scope,
    Session,
    TokenUse,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage

Held = Mapping[str, object]

_PATH = re.compile(r"(?:^|/)sessions/[^/]+/([^/]+)/agents/([^/]+)/wire\.jsonl$")


def together(files: Sequence[Opened]) -> Iterator[Event]:
    """What all files of a transcript say: a session that was forked is copied, agent by agent."""
    told: set[int] = set()
    readers = [_reader(file.name) for file in files]
    several = len({reader.session for reader in readers}) > 1
    for file, reader in zip(files, readers, strict=True):
        reader.copies.told = told if several else None
        yield from reader.events(file.lines())
        told |= reader.copies.own


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one agent's log."""
    return _reader(file).events(source_lines)


def _reader(file: str) -> _Reader:
    found = _PATH.search(file)
    session, agent = found.groups() if found else ("", "")
    return _Reader(file, session, agent)


class _Reader(Struct):
    file: str
    session: str
    agent: str
    """Whose log it is, as the path says; empty for a file that was imported alone."""
    starts: Starts = field(default_factory=Starts)
    model: str = ""
    effort: str = ""
    prompt: str = ""
    tools: str = ""
    """What the model was last told of its tools."""
    counts: Counts = field(default_factory=Counts)
    step: int | None = None
    goal_status: str = ""
    copies: Copies = field(default_factory=Copies)

    def events(self, source_lines: Iterable[Line]) -> Iterator[Event]:
        for row in rows(source_lines, self.file):
            if isinstance(row, Malformed):
                yield row
            else:
                agent = self.agent or text(row.value.get("agentId"))
                at = timestamp(row.value.get("time") or row.value.get("created_at"))
                told = row.of(_named(agent), at)
                copied = self.copies.holds(told, "time")
                yield from self.copies.events(told) if copied else self._row(told)

    def _row(self, row: Row) -> Iterator[Event]:
        kind = text(row.value.get("type"))
        handle = _HANDLERS.get(kind)
        if handle is not None:
            yield from handle(self, row, row.value)
        elif kind in TRACES:
            yield row.trace(kind)
        else:
            yield row.unknown(kind)

    def loop_event(self, row: Row, held: Held) -> Iterator[Event]:
        """What the agent loop did: `event` is a row of its own kind."""
        event = mapping(held.get("event"))
        kind = text(event.get("type"))
        handle = _LOOP.get(kind)
        if handle is None:
            yield row.unknown(f"loop event {kind}")
        else:
            yield from handle(self, row, event)

    def profile(self, row: Row, held: Held) -> Iterator[Event]:
        """What the session was set up with; the model's own name comes with the first request."""
        self.effort = text(held.get("thinkingEffort")) or self.effort
        yield Session(
            session_id=self.session,
            effort=self.effort,
            cwd=text(mapping(held.get("environmentDisclosure")).get("cwd")),
            tools=content.words(held.get("activeToolNames")),
            raw=row.raw,
            **row.where(),
        )
        prompt = text(held.get("systemPrompt"))
        if prompt not in ("", self.prompt):
            self.prompt = prompt
            yield Message(role=Role.SYSTEM, text=prompt, injected=True, **row.where())

    def offered(self, row: Row, held: Held) -> Iterator[Event]:
        """The tools that the model may call, with all that it is told of them."""
        told = tools.definitions(sequence(held.get("tools")))
        if told in ("", self.tools):
            yield row.trace("llm.tools_snapshot")
            return
        self.tools = told
        yield Session(session_id=self.session, definitions=told, **row.where())

    def request(self, row: Row, held: Held) -> Iterator[Event]:
        model, effort = text(held.get("model")), text(held.get("thinkingEffort"))
        if (model, effort) == (self.model, self.effort):
            yield row.trace("llm.request")
            return
        self.model, self.effort = model, effort
        yield Session(
            session_id=self.session, model=model, effort=effort, raw=row.raw, **row.where()
        )

    def message(self, row: Row, held: Held) -> Iterator[Event]:
        message = mapping(held.get("message"))
        return row.told(self._message(row, message), "context.append_message")

    def _message(self, row: Row, message: Held) -> Iterator[Event]:
        match message.get("role"):
            case "assistant":
                yield from content.answer(row, message.get("content"))
                for call in sequence(message.get("toolCalls")):
                    yield from self._called(row, mapping(call))
            case "tool":
                result = {"output": message.get("content"), "isError": message.get("isError")}
                yield from self._result(row, text(message.get("toolCallId")), result)
            case "system":
                said = message.get("content")
                yield from content.asked(row, said, Role.SYSTEM, injected=True)
            case "user":
                injected = _injected(mapping(message.get("origin")))
                yield from content.asked(row, message.get("content"), injected=injected)
            case role:
                yield row.unknown(f"message role {text(role)}")

    def _called(self, row: Row, held: Held) -> Iterator[Event]:
        function = mapping(held.get("function")) or held
        name, call_id = text(function.get("name")), text(held.get("id"))
        call = called(name, function.get("arguments"), call_id=call_id, **row.where())
        self.starts.note(call)
        yield call

    def step_begin(self, row: Row, event: Held) -> Iterator[Event]:
        self.counts.begin_step()
        self.step = count(event.get("step"))
        yield row.trace("step.begin")

    def part(self, row: Row, event: Held) -> Iterator[Event]:
        return content.answered(row, mapping(event.get("part")))

    def call(self, row: Row, event: Held) -> Iterator[Event]:
        call_id = text(event.get("toolCallId"))
        call = called(text(event.get("name")), event.get("args"), call_id=call_id, **row.where())
        self.starts.note(call)
        yield call
        # A plan that is shown for approval is no argument of the call that shows it.
        plan = mapping(event.get("display")).get("plan")
        if isinstance(plan, str) and plan.strip():
            yield row.notice(Topic.NOTE, plan)

    def result(self, row: Row, event: Held) -> Iterator[Event]:
        return self._result(row, text(event.get("toolCallId")), mapping(event.get("result")))

    def _result(self, row: Row, call_id: str, result: Held) -> Iterator[Event]:
        held = content.gathered(result.get("output"))
        yield from self.starts.answered(row, call_id, held.text)
        failed = result.get("isError") is True
        note = text(result.get("note"))
        yield ToolResult(
            call_id=call_id,
            output=held.text,
            is_error=failed,
            exit_code=content.exit_code(held.text) if failed else None,
            seconds=content.seconds(result.get("durationMs")),
            images=held.images,
            recorded={"note": note} if note else "",
            side_files=content.side_files(held.text),
            **row.where(),
        )
        for block in held.others:
            yield content.leftover(row, block)

    def step_end(self, row: Row, event: Held) -> Iterator[Event]:
        reason, use = text(event.get("finishReason")), self.counts.of_step(event.get("usage"))
        if use is not None:
            yield self._use(row, *use)
        if reason not in QUIET_ENDS:
            yield row.notice(Topic.NOTE, f"The model's message ended with: {reason}")
        elif use is None:
            yield row.trace("step.end")

    def usage(self, row: Row, held: Held) -> Iterator[Event]:
        alone = held.get("usageScope") == "session"
        use = self.counts.of_record(held.get("usage"), alone=alone)
        yield row.trace("usage.record") if use is None else self._use(row, *use)

    def _use(self, row: Row, usage: Usage, number: int) -> TokenUse:
        message_id = f"{self.session or self.file}/{number}"
        scope, model = Scope.MESSAGE, self.model
        return TokenUse(usage=usage, scope=scope, message_id=message_id, model=model, **row.where())

    def spawned(self, row: Row, held: Held) -> Iterator[Event]:
        parent = _named(text(held.get("parentAgentId"))) or row.agent
        child, call_id = text(held.get("subagentId")), text(held.get("parentToolCallId"))
        title = text(held.get("description")) or text(held.get("subagentName"))
        started = self.starts.started(replace(row, agent=parent), child, call_id, title)
        return row.told(started, "subagent.spawned")

    def task_ended(self, row: Row, held: Held) -> Iterator[Event]:
        """How a command ended that ran in the background, and the last that it printed."""
        info = mapping(held.get("info"))
        call_id, printed = text(info.get("parentToolCallId")), text(held.get("outputTail"))
        if call_id and info.get("kind") == "process":
            yield ToolResult(
                call_id=call_id,
                output="",
                exit_code=integer(info.get("exitCode")),
                late=True,
                recorded={"outputTail": printed} if printed else "",
                **row.where(),
            )
        yield row.trace("task.terminated")

    def failed(self, row: Row, held: Held) -> Iterator[Event]:
        told = [f"Sub-agent {text(held.get('subagentId'))} failed", text(held.get("error"))]
        yield row.notice(Topic.ERROR, ": ".join(filter(None, told)))

    def turn_ended(self, row: Row, held: Held) -> Iterator[Event]:
        reason = text(held.get("reason"))
        yield Finish(
            ok=reason == "completed" if reason else None,
            reason=reason,
            text=_told(mapping(held.get("error"))),
            seconds=content.seconds(held.get("durationMs")),
            turns=self.step,
            raw=row.raw,
            **row.where(),
        )

    def interrupted(self, row: Row, held: Held) -> Iterator[Event]:
        reason, told = text(held.get("reason")), text(held.get("message"))
        topic = Topic.ERROR if reason == "error" else Topic.INTERRUPTION
        yield row.notice(topic, told or f"The step was interrupted: {reason}")

    def retrying(self, row: Row, held: Held) -> Iterator[Event]:
        error = text(held.get("errorMessage")) or text(held.get("errorName"))
        attempts = (held.get("nextAttempt"), held.get("maxAttempts"))
        yield retried(row, error, attempts, content.seconds(held.get("delayMs")))

    def cancelled(self, row: Row, held: Held) -> Iterator[Event]:
        yield row.notice(Topic.INTERRUPTION, f"The turn was cancelled: {text(held.get('reason'))}")

    def compacted(self, row: Row, held: Held) -> Iterator[Event]:
        summary = held.get("summary") or held.get("contextSummary")
        if isinstance(summary, dict):
            summary = content.gathered(summary.get("content")).text
        yield row.notice(Topic.COMPACTION, text(summary))

    def compaction_cancelled(self, row: Row, _: Held) -> Iterator[Event]:
        yield row.notice(Topic.COMPACTION, "The compaction was cancelled.", undone=True)

    def forgotten(self, row: Row, held: Held) -> Iterator[Event]:
        turns = count(held.get("count"))
        if row.text("type") == "context.clear":
            told = "The context was cleared: the model sees nothing of what stands before."
        else:
            what = "the last turn" if turns == 1 else f"the last {turns or '?'} turns"
            told = f"The session was taken back by {what}: the model sees nothing of that any more."
            told += " Files stay as they are."
        yield row.notice(Topic.INTERRUPTION, told)

    def approval(self, row: Row, held: Held) -> Iterator[Event]:
        result = mapping(held.get("result"))
        decision = text(result.get("decision"))
        if decision == "approved":
            yield row.trace("permission.record_approval_result")
            return
        told = [decision, text(held.get("action")), text(result.get("feedback"))]
        yield row.notice(Topic.NOTE, "\n".join(filter(None, told)))

    def goal(self, row: Row, held: Held) -> Iterator[Event]:
        yield row.notice(Topic.NOTE, f"Goal: {text(held.get('objective'))}")

    def goal_changed(self, row: Row, held: Held) -> Iterator[Event]:
        """How a goal stands, where that is another way than before."""
        status = text(held.get("status"))
        if status in ("", self.goal_status):
            yield row.trace("goal.update")
            return
        self.goal_status = status
        told = ": ".join(filter(None, [status, text(held.get("reason"))]))
        yield row.notice(Topic.NOTE, f"The goal is now {told}")


_Handler = Callable[[_Reader, Row, Held], Iterator[Event]]

_HANDLERS: dict[str, _Handler] = {
    "context.append_loop_event": _Reader.loop_event,
    "context.append_message": _Reader.message,
    "context.apply_compaction": _Reader.compacted,
    "context.clear": _Reader.forgotten,
    "context.undo": _Reader.forgotten,
    "config.update": _Reader.profile,
    "profile.bind": _Reader.profile,
    "llm.tools_snapshot": _Reader.offered,
    "llm.request": _Reader.request,
    "usage.record": _Reader.usage,
    "subagent.spawned": _Reader.spawned,
    "subagent.failed": _Reader.failed,
    "task.terminated": _Reader.task_ended,
    "turn.ended": _Reader.turn_ended,
    "turn.cancel": _Reader.cancelled,
    "turn.step.interrupted": _Reader.interrupted,
    "turn.step.retrying": _Reader.retrying,
    "full_compaction.cancel": _Reader.compaction_cancelled,
    "permission.record_approval_result": _Reader.approval,
    "goal.create": _Reader.goal,
    "goal.update": _Reader.goal_changed,
}

_LOOP: dict[str, _Handler] = {
    "step.begin": _Reader.step_begin,
    "step.end": _Reader.step_end,
    "content.part": _Reader.part,
    "tool.call": _Reader.call,
    "tool.result": _Reader.result,
}


def _named(agent: str) -> str:
    """The agent as events name it: the main agent has no name."""
    return "" if agent == "main" else agent


def _injected(origin: Held) -> bool:
    """Whether the program wrote a message itself, not a person nor the agent that asks another."""
    kind = origin.get("kind", "user")
    return kind != "user" and (kind, origin.get("name")) != ("system_trigger", "subagent")


def _told(error: Held) -> str:
    return ": ".join(filter(None, [text(error.get("code")), text(error.get("message"))]))


def recognises(head: Sequence[Held]) -> bool:
    """Whether these are rows of a Kimi Code wire log."""
    if not head:
        return False
    first = head[0]
    if first.get("type") == "metadata":
        return "protocol_version" in first and "created_at" in first
    return any(text(row.get("type")).startswith("context.append_") for row in head)


FORMAT = Format(
    id="kimi-code-wire",
    title="session log",
    globs=("home/.kimi-code/sessions/*/*/agents/*/wire.jsonl", "wire/*.jsonl"),
    parse=parse,
    together=together,
    recognises=recognises,
    stored_as="wire",
)
