"""A step of a trajectory: what was said, which tools were called, what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kbsite.harnesses.atif.vocabulary import kind
from kbsite.harnesses.lines import dump, integer, mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.harnesses.tools import arguments
from kbsite.model.event import (
    AgentStart,
    Event,
    Image,
    Message,
    Role,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
)

Held = Mapping[str, object]

_ROLES = {"user": Role.USER, "agent": Role.ASSISTANT, "system": Role.SYSTEM}
_KEYS = frozenset({
    "step_id", "timestamp", "source", "model_name", "reasoning_effort", "message",
    "reasoning_content", "tool_calls", "observation", "metrics", "is_copied_context",
    "llm_call_count", "extra",
})  # fmt: skip
_LISTS = {"tool_calls": list, "observation": dict, "metrics": dict, "extra": dict}
_NOISE = frozenset({"is_sidechain", "cwd", "stop_reason", "tool_use_name", "tool_result_is_error"})
"""What `extra` tells of Claude Code's rows that stands elsewhere, too, or says nothing."""


def events(row: Row) -> Iterator[Event]:
    """The events of a step, without its token count."""
    role = _ROLES.get(text(row.value.get("source")))
    if role is None:
        yield row.unknown(f"step:{text(row.value.get('source'))}")
    elif row.value.get("is_copied_context") is True:
        yield from _copied(row, role)
    else:
        yield from _own(row, role)
    for key, value in row.value.items():
        if key not in _KEYS or (value and not isinstance(value, _LISTS.get(key, object))):
            yield row.unknown(f"step:{key}", {key: value})


def _own(row: Row, role: Role) -> Iterator[Event]:
    thinking, model = text(row.value.get("reasoning_content")), text(row.value.get("model_name"))
    if thinking:
        yield row.event(Thought, text=thinking)
    told, images = _parts(row.value.get("message"))
    if stands_for_a_call(row.value):
        yield row.event(Trace, type="step/executed", raw=dump(told))
    elif told or images:
        yield row.event(Message, role=role, text=told, images=images, model=model)
    for item in sequence(row.value.get("tool_calls")):
        yield from _call(row, item)
    yield from _results(row)


def _copied(row: Row, role: Role) -> Iterator[Event]:
    """What an earlier trajectory did, as the text that it is in this one."""
    told, images = _parts(row.value.get("message"))
    calls = [mapping(item) for item in sequence(row.value.get("tool_calls"))]
    results = sequence(mapping(row.value.get("observation")).get("results"))
    parts = [
        text(row.value.get("reasoning_content")),
        told,
        *(f"{text(c.get('function_name'))} {text(c.get('arguments'))}" for c in calls),
        *(_parts(mapping(result).get("content"))[0] for result in results),
    ]
    whole = "\n\n".join(part for part in parts if part)
    yield row.event(Message, role=role, text=whole, images=images, injected=True)


def stands_for_a_call(step: Held) -> bool:
    """Whether a step's text is not the model's, but a converter's, which names the call."""
    calls = sequence(step.get("tool_calls"))
    call = mapping(calls[0]) if len(calls) == 1 else {}
    name, call_id = call.get("function_name"), call.get("tool_call_id")
    return bool(call) and step.get("message") == f"Executed {name} {call_id}"


def _call(row: Row, item: object) -> Iterator[Event]:
    call = mapping(item)
    if not call:
        yield row.unknown("tool_call", item)
        return
    tool, given = text(call.get("function_name")), call.get("arguments")
    held = arguments(given)
    kinds = {tool: kind(tool, mapping(held))}
    asked: ToolCall = row.call(kinds, tool, given, text(call.get("tool_call_id")))
    yield asked
    if call.get("extra"):
        yield row.event(Trace, type="tool_call/extra", raw=dump(call["extra"]))


def _results(row: Row) -> Iterator[Event]:
    results = sequence(mapping(row.value.get("observation")).get("results"))
    extra = _extra(row.value)
    for item in results:
        result = mapping(item)
        if not result:
            yield row.unknown("result", item)
            continue
        yield _result(row, result, extra if len(results) == 1 else {})
        yield from _agents(row, result)
    if extra and len(results) != 1:
        yield row.event(Trace, type="step/extra", raw=dump(extra))


def _result(row: Row, result: Held, extra: Held) -> ToolResult:
    output, images = _parts(result.get("content"))
    own = mapping(result.get("extra"))
    step = mapping(row.value.get("extra"))
    failed = own.get("is_error", step.get("tool_result_is_error") if extra or not own else None)
    code = own.get("exit_code", mapping(extra.get("metadata")).get("exit_code"))
    return row.event(
        ToolResult,
        call_id=text(result.get("source_call_id")),
        output=output,
        images=images,
        is_error=failed if isinstance(failed, bool) else None,
        exit_code=integer(code),
        recorded={**extra, **own} or "",
    )


def _extra(step: Held) -> Held:
    """What a step's `extra` tells that nothing else does."""
    held = {k: v for k, v in mapping(step.get("extra")).items() if k not in _NOISE and v}
    calls = [mapping(item) for item in sequence(step.get("tool_calls"))]
    if any(dump(held.get("raw_arguments")) == dump(call.get("arguments")) for call in calls):
        held.pop("raw_arguments", None)
    if dump(held.get("metadata")) == dump(held.get("tool_result_metadata")):
        held.pop("metadata", None)
    return held


def _agents(row: Row, result: Held) -> Iterator[Event]:
    """The sub-agents whose work a result stands for."""
    told = result.get("subagent_trajectory_ref")
    for item in told if isinstance(told, list) else [told]:
        child = child_id(mapping(item))
        if child:
            call_id = text(result.get("source_call_id"))
            yield row.event(AgentStart, child=child, call_id=call_id)


def child_id(told: Held) -> str:
    """What names a sub-agent's trajectory: an id, in early versions that of its session."""
    keys = ("trajectory_id", "session_id", "trajectory_path")
    return next((found for key in keys if (found := text(told.get(key)))), "")


def _parts(content: object) -> tuple[str, tuple[Image, ...]]:
    """A message's text and pictures; it is text, or a list of parts."""
    if not isinstance(content, list):
        return text(content), ()
    images, texts = [], []
    for item in content:
        part = mapping(item)
        source = mapping(part.get("source"))
        if part.get("type") == "image" and source:
            path, data = text(source.get("path", source.get("url"))), text(source.get("data"))
            images.append(Image(text(source.get("media_type")), data, path))
        else:
            texts.append(text(part.get("text", item)))
    return "\n".join(texts), tuple(images)
