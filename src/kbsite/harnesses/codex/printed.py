"""What `codex exec --json` prints: items as they start and end, without times or models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from kbsite.harnesses.codex import calls
from kbsite.harnesses.codex.content import blocks, images, joined
from kbsite.harnesses.codex.outputs import failed
from kbsite.harnesses.codex.thread import Row, place
from kbsite.harnesses.codex.tokens import usage
from kbsite.harnesses.latest import remember
from kbsite.harnesses.lines import Line, Record, dump, integer, mapping, records, sequence, text
from kbsite.model.event import (
    UNTOLD,
    AgentStart,
    Edit,
    Event,
    Finish,
    Malformed,
    Message,
    Role,
    Scope,
    Session,
    Source,
    Thought,
    TokenUse,
    ToolCall,
    ToolResult,
    Topic,
)

_MOST = 2048
_FAILED = frozenset({"failed", "declined"})
_RETRY = "Reconnecting..."


class _Run:
    """What is known at a row: the invocations of codex in this file, and the items under way."""

    def __init__(self) -> None:
        self.ordinal = 0
        self.started: dict[str, None] = {}
        self.plans: dict[str, str] = {}
        self.thread = ""

    def begin(self, thread: str) -> None:
        """Take note of an invocation: item ids start anew."""
        self.ordinal += 1
        self.started.clear()
        self.plans.clear()
        self.thread = thread

    def call_id(self, item: Mapping[str, object]) -> str:
        """An id that is unique in the file; item ids are so within one invocation."""
        own = text(item.get("id"))
        return own if self.ordinal <= 1 else f"{self.ordinal}:{own}"


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of what `codex exec --json` printed."""
    run = _Run()
    line, part = 0, 0
    for record in records(source_lines, file):
        events = [record] if isinstance(record, Malformed) else _events(run, record)
        source = record.source
        line, part = source.line, part if source.line == line else 0
        for event in events:
            yield replace(event, source=Source(file, line, part))
            part += 1


def _events(run: _Run, record: Record) -> list[Event]:
    value = record.value
    kind = text(value.get("type"))
    row = Row(kind, value, record.written, place(record.source, None, ""))
    match kind:
        case "thread.started":
            thread = text(value.get("thread_id"))
            run.begin(thread)
            return [Session(session_id=thread, raw=row.raw, **row.place)]
        case "turn.started":
            return [row.trace]
        case "turn.completed":
            return _completed(run, row)
        case "turn.failed":
            error = mapping(value.get("error"))
            told = text(error.get("message")) or text(value.get("error"))
            return [Finish(ok=False, reason=kind, text=told, raw=row.raw, **row.place)]
        case "error":
            told = text(value.get("message"))
            topic = Topic.RETRY if told.startswith(_RETRY) else Topic.ERROR
            return [row.notice(topic, told)]
        case "item.started" | "item.updated" | "item.completed":
            return _item(run, row)
        case _:
            pass
    return [row.unknown]


def _completed(run: _Run, row: Row) -> list[Event]:
    """The end of a turn; its count covers the thread so far, not the turn."""
    finish = Finish(ok=True, reason="turn.completed", raw=row.raw, **row.place)
    used = usage(mapping(row.value.get("usage")))
    if not used.known:
        return [finish]
    use = TokenUse(usage=used, scope=Scope.AGENT, message_id=run.thread, **row.place)
    return [finish, use]


def _item(run: _Run, row: Row) -> list[Event]:
    item = mapping(row.value.get("item"))
    kind = text(item.get("type"))
    inner = Row(f"{row.type}/{kind}", item, row.written, row.place)
    if kind in _SAID:
        return _SAID[kind](inner) if row.type == "item.completed" else [inner.trace]
    if kind == "todo_list":
        return _plan(run, inner)
    if kind not in _TOOLS:
        return [inner.unknown]
    if row.type == "item.completed":
        return _ended(run, inner, kind)
    if row.type == "item.updated" or (kind == "web_search" and not item.get("query")):
        return [inner.trace]
    return [_started(run, inner, kind)]


def _started(run: _Run, row: Row, kind: str) -> ToolCall:
    call_id = run.call_id(row.value)
    remember(run.started, call_id, None, _MOST)
    tool, given = _TOOLS[kind](row.value)
    call = calls.call(tool, given, call_id=call_id, **row.place)
    if kind == "file_change":
        return replace(call, summary=_changed(row.value), edits=tuple(_edits(row.value)))
    return call


def _ended(run: _Run, row: Row, kind: str) -> list[Event]:
    """The end of an item, and its start where none was printed."""
    call_id = run.call_id(row.value)
    start = [] if call_id in run.started else [_started(run, row, kind)]
    run.started.pop(call_id, None)
    events: list[Event] = [*start, _result(row, kind, call_id)]
    if row.value.get("tool") == "spawn_agent":
        title = text(row.value.get("prompt")).strip().split("\n", 1)[0]
        children = [text(one) for one in sequence(row.value.get("receiver_thread_ids"))]
        events += [
            AgentStart(child=child, call_id=call_id, title=title, **row.place) for child in children
        ]
    return [*events, *row.strange(blocks(_content(row.value.get("result"))))]


def _content(result: object) -> object:
    """The content of a result; the result itself where it is none of the usual shape."""
    return result.get("content") if isinstance(result, dict) else result


def _result(row: Row, kind: str, call_id: str) -> ToolResult:
    item = row.value
    exit_code = integer(item.get("exit_code"))
    error = text(mapping(item.get("error")).get("message")) or text(item.get("error"))
    result = mapping(item.get("result"))
    held = [block for block in blocks(_content(item.get("result"))) if block.known]
    states = mapping(item.get("agents_states"))
    body = {
        "command_execution": text(item.get("aggregated_output")),
        "mcp_tool_call": joined(filter(None, [error, *(block.text for block in held)])),
        "collab_tool_call": dump(states) if states else "",
    }.get(kind, error)
    went_wrong = text(item.get("status")) in _FAILED or bool(error)
    structured = result.get("structured_content", result.get("structuredContent"))
    return ToolResult(
        call_id=call_id,
        output=body,
        is_error=True if went_wrong else failed(exit_code),
        exit_code=exit_code,
        images=images(held),
        recorded={"structured_content": structured} if structured else "",
        **row.place,
    )


def _plan(run: _Run, row: Row) -> list[Event]:
    """A plan, as a call of its own each time that it is another one."""
    own, items = run.call_id(row.value), dump(row.value.get("items"))
    if run.plans.get(own) == items:
        return [row.trace]
    remember(run.plans, own, items, _MOST)
    call_id = f"{own}@{row.place['source'].line}"
    given = {"items": row.value.get("items")}
    return [
        calls.call("todo_list", given, call_id=call_id, **row.place),
        ToolResult(call_id=call_id, output="", **row.place),
    ]


def _message(row: Row) -> list[Event]:
    return [Message(role=Role.ASSISTANT, text=text(row.value.get("text")), **row.place)]


def _thought(row: Row) -> list[Event]:
    return [Thought(text=text(row.value.get("text")), **row.place)]


def _warning(row: Row) -> list[Event]:
    """An item of type error: the turn goes on, so it is no more than a warning."""
    return [row.notice(Topic.NOTE, text(row.value.get("message")))]


def _command(item: Mapping[str, object]) -> tuple[str, object]:
    return "command_execution", {"command": item.get("command")}


def _change(item: Mapping[str, object]) -> tuple[str, object]:
    return "file_change", {"changes": item.get("changes")}


def _changed(item: Mapping[str, object]) -> str:
    changes = [mapping(change) for change in sequence(item.get("changes"))]
    return ", ".join(f"{text(one.get('kind'))} {text(one.get('path'))}" for one in changes)


def _edits(item: Mapping[str, object]) -> Iterator[Edit]:
    """The files that a change was made in; what it changed there is not printed."""
    for change in map(mapping, sequence(item.get("changes"))):
        path, action = text(change.get("path")), text(change.get("kind"))
        if path and action in ("add", "update", "delete"):
            patch = "" if action == "delete" else UNTOLD
            yield Edit(path, None, "", patch=patch, action=action)


def _mcp(item: Mapping[str, object]) -> tuple[str, object]:
    given = item.get("arguments")
    return f"{text(item.get('server'))}.{text(item.get('tool'))}", {} if given is None else given


def _collab(item: Mapping[str, object]) -> tuple[str, object]:
    tool = text(item.get("tool"))
    keys = ("prompt", "receiver_thread_ids", "sender_thread_id")
    given = {key: item[key] for key in keys if item.get(key)}
    return "wait_agent" if tool == "wait" else tool, given


def _search(item: Mapping[str, object]) -> tuple[str, object]:
    return "web_search", {key: item[key] for key in ("query", "action") if item.get(key)}


_SAID: dict[str, Callable[[Row], list[Event]]] = {
    "agent_message": _message,
    "assistant_message": _message,
    "reasoning": _thought,
    "error": _warning,
}
_TOOLS: dict[str, Callable[[Mapping[str, object]], tuple[str, object]]] = {
    "command_execution": _command,
    "file_change": _change,
    "mcp_tool_call": _mcp,
    "collab_tool_call": _collab,
    "web_search": _search,
}
