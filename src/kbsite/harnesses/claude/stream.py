"""`claude -p --output-format stream-json --verbose`: what stands on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kbsite.harnesses.claude.agents import Agents
from kbsite.harnesses.claude.background import Background
from kbsite.harnesses.claude.content import assistant, user
from kbsite.harnesses.claude.system import system
from kbsite.harnesses.claude.tokens import Totals
from kbsite.harnesses.claude.vocabulary import PASSING
from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import Line, count, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import Event, Finish, Malformed, Session, Topic

_INIT = ("claude_code_version", "slash_commands", "mcp_servers")
_FOREIGN = ("qwen_code_version",)
_AGENT_TASK = "local_agent"


class _State(Struct):
    """What rows say of later ones."""

    agents: Agents = field(default_factory=Agents)
    totals: Totals = field(default_factory=Totals)
    background: Background = field(default_factory=Background)
    named: dict[str, str] = field(default_factory=dict)
    """Sub-agents' ids, by the call that started them; older versions only know the call."""

    def agent(self, value: Mapping[str, object]) -> str:
        """The sub-agent that a row belongs to; empty for the main agent."""
        parent, own = text(value.get("parent_tool_use_id")), text(value.get("agent_id"))
        if parent and own:
            self.named[parent] = own
        return own or self.named.get(parent, parent)


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of the stream."""
    state = _State()
    for row in rows(source_lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            held = row.of(state.agent(row.value), timestamp(row.value.get("timestamp")))
            yield from held.told(_row(held, state), held.text("type"))


def _row(held: Row, state: _State) -> Iterator[Event]:
    parent = held.text("parent_tool_use_id")
    if held.agent and parent:
        yield from state.agents.start(held, held.agent, parent, held.text("task_description"))
    match kind := held.text("type"):
        case "assistant":
            yield from state.agents.noting(assistant(held))
        case "user":
            rich = held.value.get("tool_use_result")
            yield from state.background.told(user(held, rich), rich)
        case "system":
            yield from _system(held, state)
        case "result":
            yield from state.totals.of_row(held, held.text("session_id"))
            yield _finish(held)
        case "rate_limit_event":
            yield from _rate_limit(held)
        case _ if kind in PASSING:
            yield held.trace(kind)
        case _:
            yield held.unknown(kind)


def _system(held: Row, state: _State) -> Iterator[Event]:
    match held.text("subtype"):
        case "init":
            yield _session(held)
        case "task_started" if held.text("task_type") == _AGENT_TASK:
            child, call_id = held.text("task_id"), held.text("tool_use_id")
            if child and call_id:
                state.named[call_id] = child
            yield from state.agents.start(held, child, call_id, held.text("description"))
            yield held.trace("system/task_started")
        case _:
            yield from system(held)


def _session(held: Row) -> Session:
    return held.event(
        Session,
        session_id=held.text("session_id"),
        model=held.text("model"),
        harness_version=held.text("claude_code_version"),
        cwd=held.text("cwd"),
        tools=tuple(text(name) for name in sequence(held.value.get("tools"))),
        raw=held.raw,
    )


def _finish(held: Row) -> Finish:
    subtype, failed = held.text("subtype"), held.value.get("is_error")
    wrong = failed is True or subtype.startswith("error")
    known = isinstance(failed, bool) or bool(subtype)
    words = ("terminal_reason", "subtype") if wrong else ("stop_reason", "subtype")
    milliseconds = count(held.value.get("duration_ms"))
    return held.event(
        Finish,
        ok=not wrong if known else None,
        reason=next((word for key in words if (word := held.text(key))), ""),
        text=held.text("result") or wording(held.value.get("errors")),
        seconds=None if milliseconds is None else milliseconds / 1000,
        turns=count(held.value.get("num_turns")),
        raw=held.raw,
    )


def _rate_limit(held: Row) -> Iterator[Event]:
    told = mapping(held.value.get("rate_limit_info"))
    status = text(told.get("status"))
    if status in ("", "allowed"):
        yield held.trace("rate_limit_event")
    else:
        kind = text(told.get("rateLimitType"))
        yield held.notice(Topic.NOTE, " ".join(filter(None, ("rate limit:", kind, status))))


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is such a stream."""
    if any(key in value for value in head for key in _FOREIGN):
        return False
    return any(_is_of_stream(value) for value in head)


def _is_of_stream(value: Mapping[str, object]) -> bool:
    if not isinstance(value.get("session_id"), str):
        return False
    match value.get("type"):
        case "system":
            hook = text(value.get("subtype")).startswith("hook_") and "hook_id" in value
            return hook or any(key in value for key in _INIT)
        case "assistant" | "user":
            return "parent_tool_use_id" in value and isinstance(value.get("message"), dict)
        case "result":
            return "modelUsage" in value or "total_cost_usd" in value
        case _:
            return False
