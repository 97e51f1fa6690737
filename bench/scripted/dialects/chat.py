"""OpenAI Chat Completions, with the reasoning that other vendors added."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.providers import Dialect
from bench.scripted.answer import Answer, Ending, Text, Thinking, ToolCall, without_writes
from bench.scripted.bodies import mapping, mappings, word, words
from bench.scripted.conversation import Conversation, Event, ModelCalls, Tool, UserText
from bench.scripted.dialects.form import ERROR_TYPES, Frame, Target, pieces, said, sse
from kbsite.model.usage import Usage

_PATH = re.compile(r"(?:/v1)?/chat/completions")
_STOPS = {Ending.SAID: "stop", Ending.CALLS: "tool_calls", Ending.MAX_TOKENS: "length"}
_CREATED = 1_700_000_000
_DONE = b"data: [DONE]\n\n"


class Chat:
    """POST /v1/chat/completions."""

    kind = Dialect.CHAT

    def target(self, path: str) -> Target | None:
        """What a POST to this path is for."""
        return Target() if _PATH.fullmatch(path) else None

    def read(self, body: Mapping[str, Any], target: Target) -> Conversation:  # noqa: ARG002
        """The conversation in a request."""
        events: list[Event] = []
        system: list[str] = []
        results = ""
        for message in mappings(body.get("messages")):
            content = words(message.get("content"))
            match message.get("role"):
                case "assistant":
                    calls = mappings(message.get("tool_calls"))
                    events.append(ModelCalls(tuple(word(one.get("id")) for one in calls)))
                case "user":
                    events.append(UserText(content))
                case "tool":
                    results = content
                case _:
                    system.append(content)
        return Conversation(
            model=word(body.get("model")), streams=body.get("stream") is True,
            system="\n".join(system), tools=_tools(body), events=tuple(events), results=results,
        )  # fmt: skip

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """The answer to a request without streaming."""
        thinking = "".join(one.text for one in answer.blocks if isinstance(one, Thinking))
        text = "".join(one.text for one in answer.blocks if isinstance(one, Text))
        calls = [_call(one) for one in answer.blocks if isinstance(one, ToolCall)]
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if thinking:
            message["reasoning_content"] = thinking
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _STOPS[answer.ending]}
        return {
            **_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer.usage),
        }  # fmt: skip

    def stream(self, answer: Answer) -> Iterator[Frame]:
        """Chunks, then the finish reason, the usage, and the end."""
        yield _chunk(answer, {"role": "assistant", "content": ""})
        number = 0
        for block in answer.blocks:
            match block:
                case Thinking(text):
                    for piece in pieces(text):
                        yield _chunk(answer, {"reasoning_content": piece})
                case Text(text):
                    for piece in pieces(text):
                        yield _chunk(answer, {"content": piece})
                case ToolCall():
                    for part in _parts(block, number):
                        yield _chunk(answer, {"tool_calls": [part]})
                    number += 1
        yield _chunk(answer, {}, _STOPS[answer.ending])
        used = {**_head(answer), "choices": [], "usage": _usage(answer.usage)}
        yield Frame(sse(used), self.told(answer.usage))
        yield Frame(_DONE)

    def told(self, usage: Usage) -> Usage:
        """All but what was written into the cache."""
        return without_writes(usage)

    def error(self, status: int, message: str | None = None) -> Mapping[str, Any]:
        """The body of an answer with this status, and what it says."""
        return openai_error(status, message)

    def error_frame(self, kind: str) -> bytes:
        """An error of this type within a stream."""
        error = {"message": f"scripted {kind}", "type": kind, "param": None, "code": None}
        return sse({"error": error})

    def counted(self, tokens: int) -> Mapping[str, Any]:
        """Never asked for: the API has no such path."""
        return {"total_tokens": tokens}


def openai_error(status: int, message: str | None = None) -> dict[str, Any]:
    """The body of an answer of OpenAI's with this status."""
    codes = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error"}
    kind = ERROR_TYPES.get(status, "api_error")
    error = {
        "message": message or said(status),
        "type": kind,
        "param": None,
        "code": codes.get(status),
    }
    return {"error": error}


def _tools(body: Mapping[str, Any]) -> dict[str, Tool]:
    functions = [mapping(one.get("function")) for one in mappings(body.get("tools"))]
    return {
        name: Tool(
            name=name, schema=mapping(one.get("parameters")),
            description=word(one.get("description")),
        )
        for one in functions
        if (name := word(one.get("name")))
    }  # fmt: skip


def _head(answer: Answer, kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}", "object": kind, "created": _CREATED, "model": answer.model,
    }  # fmt: skip


def _chunk(answer: Answer, delta: Mapping[str, Any], finish: str | None = None) -> Frame:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return Frame(sse({**_head(answer), "choices": [choice]}))


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _parts(call: ToolCall, number: int) -> Iterator[dict[str, Any]]:
    whole = _call(call)
    arguments = whole["function"].pop("arguments")
    whole["function"]["arguments"] = ""
    yield {"index": number, **whole}
    for piece in pieces(arguments):
        yield {"index": number, "function": {"arguments": piece}}


def _usage(usage: Usage) -> dict[str, Any]:
    sent, output = (usage.input or 0) + (usage.cache_read or 0), usage.output or 0
    return {
        "prompt_tokens": sent, "completion_tokens": output, "total_tokens": sent + output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }  # fmt: skip
