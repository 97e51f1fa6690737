"""`qwen --output-format stream-json`: what stands on stdout, much like Claude Code's.

Of a model message, each block is a row with an id of its own, and the last one has its count: 0
stands for none. Sub-agents' messages have none at all, but the total at the end has theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.lines import Line, count, dump, mapping, number, sequence, text, timestamp
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.qwen.results import shell_exit_code
from kbsite.harnesses.qwen.vocabulary import KINDS, PASSING, SHELL
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
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of the stream."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from reader.row(row)


class _Reader(Struct):
    """What rows say of later ones."""

    asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The agent and the title of calls for sub-agents, by id."""
    shells: set[str] = field(default_factory=set)
    """The shell calls that have no result yet, by id."""
    started: set[str] = field(default_factory=set)

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row: at least one."""
        agent = text(held.value.get("parent_tool_use_id"))
        row = replace(held, at=timestamp(held.value.get("timestamp")), agent=agent)
        if agent and agent not in self.started:
            self.started.add(agent)
            owner, title = self.asked.pop(agent, ("", ""))
            yield row.event(AgentStart, agent=owner, child=agent, call_id=agent, title=title)
        kind = text(row.value.get("type"))
        yield from row.told(self._row(row, kind), kind)

    def _row(self, row: Row, kind: str) -> Iterator[Event]:
        match kind:
            case "assistant":
                yield from self._said(row, Role.ASSISTANT)
                yield from _use(row)
            case "user":
                yield from self._said(row, Role.USER)
            case "system":
                yield _system(row)
            case "result":
                yield from _finish(row)
            case _ if kind in PASSING:
                yield row.trace(kind)
            case _:
                yield row.unknown(kind)

    def _said(self, row: Row, role: Role) -> Iterator[Event]:
        message = mapping(row.value.get("message"))
        content = message.get("content")
        model = text(message.get("model")) if role is Role.ASSISTANT else ""
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, str):
                yield row.event(Message, role=role, text=item, model=model)
            elif isinstance(item, dict):
                yield from self._block(row, item, role, model)
            elif item is not None:
                yield row.unknown(f"block:{type(item).__name__}", item)

    def _block(
        self, row: Row, block: Mapping[str, object], role: Role, model: str
    ) -> Iterator[Event]:
        match block.get("type"):
            case "text":
                said = text(block.get("text"))
                yield row.event(Message, role=role, text=said, model=model)
            case "thinking":
                thought = text(block.get("thinking"))
                sealed = not thought and bool(block.get("signature"))
                yield row.event(Thought, text=thought, encrypted=sealed)
            case "image":
                yield row.event(
                    Message, role=role, text="", images=(picture_in(block),), model=model
                )
            case "tool_use":
                yield self._call(row, block)
            case "tool_result":
                yield self._result(row, block)
            case kind:
                yield row.unknown(f"block:{text(kind)}", block)

    def _call(self, row: Row, block: Mapping[str, object]) -> ToolCall:
        name, call_id = text(block.get("name")), text(block.get("id"))
        asked = row.call(KINDS, name, block.get("input"), call_id)
        if asked.tool_kind is ToolKind.AGENT:
            title = text(mapping(asked.arguments).get("description")) or asked.summary
            self.asked[call_id] = (row.agent, title)
        if name == SHELL:
            self.shells.add(call_id)
        return asked

    def _result(self, row: Row, block: Mapping[str, object]) -> ToolResult:
        content, call_id = block.get("content"), text(block.get("tool_use_id"))
        output, images = text(content), tuple[Image, ...]()
        if isinstance(content, list):
            pictures = [part for part in content if mapping(part).get("type") == "image"]
            images = tuple(picture_in(mapping(part)) for part in pictures)
            output = "\n".join(_words(part) for part in content if part not in pictures)
        failed = block.get("is_error")
        code = shell_exit_code(output) if call_id in self.shells else None
        self.shells.discard(call_id)
        return row.event(
            ToolResult,
            call_id=call_id,
            output=output,
            is_error=failed if isinstance(failed, bool) else None,
            exit_code=code,
            images=images,
        )


def _words(part: object) -> str:
    held = mapping(part)
    return text(held["text"]) if held.get("type") == "text" and "text" in held else _raw(part)


def _raw(part: object) -> str:
    return part if isinstance(part, str) else dump(part)


def _system(row: Row) -> Event:
    match kind := text(row.value.get("subtype")):
        case "init":
            return row.event(
                Session,
                session_id=text(row.value.get("session_id")),
                model=text(row.value.get("model")),
                harness_version=text(row.value.get("qwen_code_version")),
                cwd=text(row.value.get("cwd")),
                tools=tuple(text(name) for name in sequence(row.value.get("tools"))),
                raw=row.raw,
            )
        case "retry":
            return _retry(row, mapping(row.value.get("data")))
        case _:
            return row.unknown(f"system/{kind}")


def _retry(row: Row, data: Mapping[str, object]) -> Notice:
    nth, of = text(data.get("attempt")), text(data.get("maxRetries"))
    told_ms = number(data.get("delayMs"))
    wait = None if told_ms is None else told_ms / 1000
    facts = [
        f"attempt {nth} of {of}" if nth else "",
        "" if wait is None else f"in {wait:.1f} s",
        "what was said so far is kept" if data.get("preserveText") is True else "",
    ]
    told = ", ".join(filter(None, facts))
    said = "The request is tried again" + (f" ({told})." if told else ".")
    return row.notice(Topic.RETRY, said, wait=wait)


def _usage(told: Mapping[str, object]) -> Usage:
    """Tokens as the stream has them: input with what was cached, output with the reasoning."""
    sent, cached = count(told.get("input_tokens")), count(told.get("cache_read_input_tokens"))
    return Usage(
        input=None if sent is None else max(sent - (cached or 0), 0),
        cache_read=cached,
        cache_write=count(told.get("cache_creation_input_tokens")),
        output=count(told.get("output_tokens")),
    )


def _use(row: Row) -> Iterator[Event]:
    """The count of a message, where the row has one; of a sub-agent's, that there is none."""
    message = mapping(row.value.get("message"))
    used = _usage(mapping(message.get("usage")))
    none = not (used.sent or used.output)
    if none and not row.agent:
        return
    yield row.event(
        TokenUse,
        usage=Usage() if none else used,
        scope=Scope.MESSAGE,
        message_id=text(message.get("id")) or text(row.value.get("uuid")),
        model=text(message.get("model")),
        lower_bound=none,
    )


def _finish(row: Row) -> Iterator[Event]:
    used = _usage(mapping(row.value.get("usage")))
    if used.known:
        session = text(row.value.get("session_id"))
        yield row.event(TokenUse, agent="", usage=used, scope=Scope.RUN, message_id=session)
    failed = row.value.get("is_error")
    milliseconds = count(row.value.get("duration_ms"))
    error = mapping(row.value.get("error"))
    yield row.event(
        Finish,
        ok=not failed if isinstance(failed, bool) else None,
        reason=text(row.value.get("subtype")),
        text=text(row.value.get("result")) or text(error.get("message")),
        seconds=None if milliseconds is None else milliseconds / 1000,
        turns=count(row.value.get("num_turns")),
        raw=row.raw,
    )


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is such a stream."""
    return any("qwen_code_version" in value and "session_id" in value for value in head)
