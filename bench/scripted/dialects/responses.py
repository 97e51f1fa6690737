"""OpenAI Responses: reading requests. `response_events` words the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.providers import Dialect
from bench.scripted.answer import Answer, without_writes
from bench.scripted.bodies import mapping, mappings, word, words
from bench.scripted.conversation import Conversation, Event, Kind, ModelCalls, Tool, UserText
from bench.scripted.dialects.chat import openai_error
from bench.scripted.dialects.form import Frame, Target, sse
from bench.scripted.dialects.response_events import finished, frames
from kbsite.model.usage import Usage

_PATH = re.compile(r"(?:/v1)?/responses")
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_RESULTS = {"function_call_output", "custom_tool_call_output"}
_LATER = {"additional_tools", "tool_search_output"}
"""Items of the history that offer tools."""


class Responses:
    """POST /v1/responses."""

    kind = Dialect.RESPONSES

    def target(self, path: str) -> Target | None:
        """What a POST to this path is for."""
        return Target() if _PATH.fullmatch(path) else None

    def read(self, body: Mapping[str, Any], target: Target) -> Conversation:  # noqa: ARG002
        """The conversation in a request; each item of a history is an event of its own."""
        given = body.get("input")
        items = mappings(given)
        if isinstance(given, str):
            items = [{"role": "user", "content": given}]
        offered = mappings(body.get("tools"))
        for item in items:
            if item.get("type") in _LATER:
                offered += mappings(item.get("tools"))
        results = [words(one.get("output")) for one in items if one.get("type") in _RESULTS]
        system = [word(body.get("instructions"))]
        system += [words(one.get("content")) for one in items if _instructs(one)]
        return Conversation(
            model=word(body.get("model")), streams=body.get("stream") is True,
            system="\n".join(system), tools={one.name: one for one in _tools(offered)},
            events=tuple(event for one in items for event in _events(one)),
            results="\n".join(results[-8:]),
        )  # fmt: skip

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """The answer to a request without streaming."""
        return finished(answer)

    def stream(self, answer: Answer) -> Iterator[Frame]:
        """Events from response.created to response.completed."""
        return frames(answer)

    def told(self, usage: Usage) -> Usage:
        """All but what was written into the cache."""
        return without_writes(usage)

    def error(self, status: int, message: str | None = None) -> Mapping[str, Any]:
        """The body of an answer with this status, and what it says."""
        return openai_error(status, message)

    def error_frame(self, kind: str) -> bytes:
        """An error of this type within a stream."""
        error = {"code": kind, "message": f"scripted {kind}"}
        response = {
            "id": "resp_failed", "object": "response", "status": "failed", "error": error,
            "output": [],
        }  # fmt: skip
        failed = {"type": "response.failed", "sequence_number": 1_000_000, "response": response}
        return sse(failed, "response.failed")

    def counted(self, tokens: int) -> Mapping[str, Any]:
        """Never asked for: the path is not served."""
        return {"input_tokens": tokens}


def _instructs(item: Mapping[str, Any]) -> bool:
    return item.get("role") in ("system", "developer")


def _events(item: Mapping[str, Any]) -> Iterator[Event]:
    kind = item.get("type", "message")
    if kind in _CALLS:
        yield ModelCalls((word(item.get("call_id")),))
    elif kind == "agent_message" or (kind == "message" and item.get("role") == "user"):
        yield UserText(words(item.get("content")))


def _tools(offered: list[dict[str, Any]], namespace: str | None = None) -> Iterator[Tool]:
    for one in offered:
        kind, name = one.get("type", "function"), word(one.get("name"))
        if kind == "namespace":
            yield from _tools(mappings(one.get("tools")), name)
        elif kind == "tool_search":
            yield _tool(kind, one, Kind.SEARCH, namespace)
        elif name and kind == "custom":
            yield _tool(name, one, Kind.FREEFORM, namespace)
        elif name and kind == "function":
            yield _tool(name, one, Kind.FUNCTION, namespace)


def _tool(name: str, one: Mapping[str, Any], kind: Kind, namespace: str | None) -> Tool:
    return Tool(
        name=name, schema=mapping(one.get("parameters")), kind=kind, namespace=namespace,
        description=word(one.get("description")),
    )  # fmt: skip
