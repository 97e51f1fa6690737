"""Anthropic Messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench.providers import Dialect
from bench.scripted.answer import Answer, Block, Ending, Text, Thinking, ToolCall
from bench.scripted.bodies import mapping, mappings, word, words
from bench.scripted.conversation import Conversation, Event, ModelCalls, Tool, UserText
from bench.scripted.dialects.form import ERROR_TYPES, Frame, Target, pieces, said, sse
from kbsite.model.usage import Usage

_PATH = re.compile(r"(?:/v1)?/messages(/count_tokens)?")
_SIGNATURE = "c2NyaXB0ZWQ="
_STOPS = {Ending.SAID: "end_turn", Ending.CALLS: "tool_use", Ending.MAX_TOKENS: "max_tokens"}


class Anthropic:
    """POST /v1/messages."""

    kind = Dialect.ANTHROPIC

    def target(self, path: str) -> Target | None:
        """What a POST to this path is for."""
        found = _PATH.fullmatch(path)
        return Target(counts=bool(found[1])) if found else None

    def read(self, body: Mapping[str, Any], target: Target) -> Conversation:  # noqa: ARG002
        """The conversation in a request."""
        messages = mappings(body.get("messages"))
        system = [one.get("content") for one in messages if one.get("role") == "system"]
        results = [words(_parts(one, "tool_result")) for one in messages]
        return Conversation(
            model=word(body.get("model")), streams=body.get("stream") is True,
            system=words([body.get("system"), *system]), tools=_tools(body),
            events=tuple(_event_of(one) for one in messages if one.get("role") != "system"),
            results="\n".join(filter(None, results[-2:])),
        )  # fmt: skip

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """The answer to a request without streaming."""
        content = [_content(block) for block in answer.blocks]
        return {
            **_message(answer), "content": content, "stop_reason": _STOPS[answer.ending],
            "usage": _usage(answer.usage),
        }  # fmt: skip

    def stream(self, answer: Answer) -> Iterator[Frame]:
        """Events from message_start to message_stop."""
        first = replace(answer.usage, output=1)
        message = {**_message(answer), "usage": _usage(first)}
        yield Frame(_event({"type": "message_start", "message": message}), self.told(first))
        for index, block in enumerate(answer.blocks):
            start = {"type": "content_block_start", "index": index, "content_block": _opened(block)}
            yield Frame(_event(start))
            for delta in _deltas(block):
                yield Frame(_event({"type": "content_block_delta", "index": index, "delta": delta}))
            yield Frame(_event({"type": "content_block_stop", "index": index}))
        ends = {"stop_reason": _STOPS[answer.ending], "stop_sequence": None}
        last = {"type": "message_delta", "delta": ends, "usage": _usage(answer.usage)}
        yield Frame(_event(last), self.told(answer.usage))
        yield Frame(_event({"type": "message_stop"}))

    def told(self, usage: Usage) -> Usage:
        """All but reasoning, which this API counts as output alone; no write is for an hour."""
        return replace(usage, cache_write_1h=0, reasoning=None)

    def error(self, status: int, message: str | None = None) -> Mapping[str, Any]:
        """The body of an answer with this status, and what it says."""
        return _error(ERROR_TYPES.get(status, "api_error"), message or said(status))

    def error_frame(self, kind: str) -> bytes:
        """An error of this type within a stream."""
        return _event(_error(kind, f"scripted {kind}"))

    def counted(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a request that counts tokens."""
        return {"input_tokens": tokens}


def _parts(message: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in mappings(message.get("content")) if one.get("type") == kind]


def _event_of(message: Mapping[str, Any]) -> Event:
    if message.get("role") == "assistant":
        return ModelCalls(tuple(word(one.get("id")) for one in _parts(message, "tool_use")))
    return UserText(word(message.get("content")) or words(_parts(message, "text")))


def _tools(body: Mapping[str, Any]) -> dict[str, Tool]:
    """Tools by name; those of which a client shows only that there are more are left out."""
    return {
        name: Tool(
            name=name, schema=mapping(one.get("input_schema")),
            description=word(one.get("description")),
        )
        for one in mappings(body.get("tools"))
        if (name := word(one.get("name"))) and not one.get("defer_loading")
    }  # fmt: skip


def _message(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": answer.model,
        "content": [], "stop_reason": None, "stop_sequence": None,
    }  # fmt: skip


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0,
        },
        "service_tier": "standard",
    }  # fmt: skip


def _content(block: Block) -> dict[str, Any]:
    match block:
        case Thinking(text):
            return {"type": "thinking", "thinking": text, "signature": _SIGNATURE}
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall():
            arguments = dict(block.arguments)
            return {"type": "tool_use", "id": _id(block), "name": block.name, "input": arguments}


def _opened(block: Block) -> dict[str, Any]:
    match block:
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Text():
            return {"type": "text", "text": ""}
        case ToolCall():
            return {"type": "tool_use", "id": _id(block), "name": block.name, "input": {}}


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    match block:
        case Thinking(text):
            for piece in pieces(text):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": _SIGNATURE}
        case Text(text):
            for piece in pieces(text):
                yield {"type": "text_delta", "text": piece}
        case ToolCall():
            for piece in pieces(json.dumps(dict(block.arguments), ensure_ascii=False)):
                yield {"type": "input_json_delta", "partial_json": piece}


def _id(call: ToolCall) -> str:
    return f"toolu_{call.id}"


def _event(value: Mapping[str, Any]) -> bytes:
    return sse(value, str(value["type"]))


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}
