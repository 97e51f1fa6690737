"""OpenAI Responses: answers as items, and the events of a stream of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bench.scripted.answer import Answer, Block, Ending, Text, Thinking, ToolCall, without_writes
from bench.scripted.conversation import Kind
from bench.scripted.dialects.form import Frame, pieces, sse
from kbsite.model.usage import Usage

_CREATED = 1_700_000_000
_Fields = dict[str, Any]


def finished(answer: Answer) -> _Fields:
    """The response when it is whole."""
    output = [_item(answer, at) for at in range(len(answer.blocks))]
    response = {**_begun(answer), "output": output, "usage": _usage(answer.usage)}
    if answer.ending is Ending.MAX_TOKENS:
        why = {"reason": "max_output_tokens"}
        return {**response, "status": "incomplete", "incomplete_details": why}
    return {**response, "status": "completed"}


def frames(answer: Answer) -> Iterator[Frame]:
    """The events of a stream, numbered; the last tells the usage."""
    number = 0
    for name, fields in _events(answer):
        yield Frame(sse({"type": name, "sequence_number": number, **fields}, name))
        number += 1
    whole = finished(answer)
    name = f"response.{whole['status']}"
    last = {"type": name, "sequence_number": number, "response": whole}
    yield Frame(sse(last, name), without_writes(answer.usage))


def _events(answer: Answer) -> Iterator[tuple[str, _Fields]]:
    yield "response.created", {"response": _begun(answer)}
    yield "response.in_progress", {"response": _begun(answer)}
    for at, block in enumerate(answer.blocks):
        item = _item(answer, at)
        place = {"item_id": item["id"], "output_index": at}
        opened = {**item, **_empty(block)}
        yield "response.output_item.added", {"output_index": at, "item": opened}
        for name, fields in _inside(block):
            yield f"response.{name}", {**place, **fields}
        yield "response.output_item.done", {"output_index": at, "item": item}


def _inside(block: Block) -> Iterator[tuple[str, _Fields]]:
    """What comes between the begin of an item and its end."""
    match block:
        case Thinking(text):
            part = {"summary_index": 0, "part": {"type": "summary_text", "text": ""}}
            yield "reasoning_summary_part.added", part
            for piece in pieces(text):
                yield "reasoning_summary_text.delta", {"summary_index": 0, "delta": piece}
            yield "reasoning_summary_text.done", {"summary_index": 0, "text": text}
            whole = {"type": "summary_text", "text": text}
            yield "reasoning_summary_part.done", {"summary_index": 0, "part": whole}
        case Text(text):
            place: _Fields = {"content_index": 0}
            yield "content_part.added", {**place, "part": _said("")}
            for piece in pieces(text):
                yield "output_text.delta", {**place, "delta": piece, "logprobs": []}
            yield "output_text.done", {**place, "text": text, "logprobs": []}
            yield "content_part.done", {**place, "part": _said(text)}
        case ToolCall(kind=Kind.SEARCH):
            pass
        case ToolCall(kind=Kind.FREEFORM):
            for piece in pieces(block.text):
                yield "custom_tool_call_input.delta", {"delta": piece}
            yield "custom_tool_call_input.done", {"input": block.text}
        case ToolCall():
            for piece in pieces(_arguments(block)):
                yield "function_call_arguments.delta", {"delta": piece}
            yield "function_call_arguments.done", {"arguments": _arguments(block)}


def _item(answer: Answer, at: int) -> _Fields:
    block = answer.blocks[at]
    end = f"{answer.id}_{at}"
    match block:
        case Thinking(text):
            summary = [{"type": "summary_text", "text": text}]
            return {
                "id": f"rs_{end}", "type": "reasoning", "summary": summary,
                "encrypted_content": "c2NyaXB0ZWQ=",
            }  # fmt: skip
        case Text(text):
            return {
                "id": f"msg_{end}", "type": "message", "role": "assistant", "status": "completed",
                "content": [_said(text)],
            }  # fmt: skip
        case ToolCall():
            return _call(block, end)


def _call(call: ToolCall, end: str) -> _Fields:
    done = {"call_id": call.id, "status": "completed"}
    match call.kind:
        case Kind.SEARCH:
            return {
                "id": f"ts_{end}", "type": "tool_search_call", **done, "execution": "client",
                "arguments": dict(call.arguments),
            }  # fmt: skip
        case Kind.FREEFORM:
            named = {"name": call.name, "input": call.text}
            return {"id": f"ctc_{end}", "type": "custom_tool_call", **done, **named}
        case Kind.FUNCTION:
            named = {"name": call.name, "arguments": _arguments(call)}
            if call.namespace:
                named["namespace"] = call.namespace
            return {"id": f"fc_{end}", "type": "function_call", **done, **named}


def _empty(block: Block) -> _Fields:
    """What differs in an item that has only begun."""
    match block:
        case Thinking():
            return {"summary": []}
        case Text():
            return {"content": [], "status": "in_progress"}
        case ToolCall(kind=Kind.FREEFORM):
            return {"input": "", "status": "in_progress"}
        case ToolCall(kind=Kind.FUNCTION):
            return {"arguments": "", "status": "in_progress"}
        case ToolCall():
            return {"status": "in_progress"}


def _said(text: str) -> _Fields:
    return {"type": "output_text", "text": text, "annotations": []}


def _arguments(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def _begun(answer: Answer) -> _Fields:
    return {
        "id": f"resp_{answer.id}", "object": "response", "created_at": _CREATED,
        "status": "in_progress", "model": answer.model, "output": [], "usage": None,
        "error": None, "incomplete_details": None, "parallel_tool_calls": True, "tools": [],
        "tool_choice": "auto",
    }  # fmt: skip


def _usage(usage: Usage) -> Mapping[str, Any]:
    sent, output = (usage.input or 0) + (usage.cache_read or 0), usage.output or 0
    return {
        "input_tokens": sent, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": sent + output,
    }  # fmt: skip
