"""Gemini: generateContent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.providers import Dialect
from bench.scripted.answer import (
    Answer,
    Block,
    Ending,
    Text,
    Thinking,
    ToolCall,
    without_writes,
)
from bench.scripted.bodies import mapping, mappings, word, words
from bench.scripted.conversation import Conversation, Event, ModelCalls, Tool, UserText
from bench.scripted.dialects.form import Frame, Target, pieces, said, sse
from kbsite.model.usage import Usage

_PATH = re.compile(
    r"(?:/v1(?:beta\d*|alpha\d*)?)?/models/(?P<model>[^/:]+)"
    r":(?P<verb>generateContent|streamGenerateContent|countTokens)"
)
_SIGNATURE = "c2NyaXB0ZWQ="
_STOPS = {Ending.SAID: "STOP", Ending.CALLS: "STOP", Ending.MAX_TOKENS: "MAX_TOKENS"}
_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
}  # fmt: skip


class Gemini:
    """POST /v1beta/models/MODEL:streamGenerateContent."""

    kind = Dialect.GEMINI

    def target(self, path: str) -> Target | None:
        """What a POST to this path is for."""
        found = _PATH.fullmatch(path)
        if not found:
            return None
        verb = found["verb"]
        return Target(
            counts=verb == "countTokens", model=found["model"],
            streams=verb == "streamGenerateContent",
        )  # fmt: skip

    def read(self, body: Mapping[str, Any], target: Target) -> Conversation:
        """The conversation in a request."""
        contents = mappings(body.get("contents"))
        responses = [
            mapping(one.get("functionResponse")).get("response")
            for message in contents[-2:]
            for one in mappings(message.get("parts"))
        ]
        return Conversation(
            model=target.model, streams=bool(target.streams),
            system=words(body.get("systemInstruction")), tools=_tools(body),
            events=tuple(_event_of(one) for one in contents), results=words(responses),
        )  # fmt: skip

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """The answer to a request without streaming."""
        parts = [_part(block) for block in answer.blocks]
        return _said(answer, parts, ends=True)

    def stream(self, answer: Answer) -> Iterator[Frame]:
        """Chunks with the tokens sent, the last with those of the answer and why it ends."""
        begun = self.told(Usage(input=answer.usage.input, cache_read=answer.usage.cache_read))
        for block in answer.blocks:
            texts = pieces(block.text) if isinstance(block, Text) else []
            for part in [{"text": text} for text in texts] or [_part(block)]:
                yield Frame(sse(_said(answer, [part], ends=False)), begun)
        yield Frame(sse(_said(answer, [{"text": ""}], ends=True)), self.told(answer.usage))

    def told(self, usage: Usage) -> Usage:
        """All but what was written into the cache."""
        return without_writes(usage)

    def error(self, status: int, message: str | None = None) -> Mapping[str, Any]:
        """The body of an answer with this status, and what it says."""
        name = _STATUSES.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message or said(status), "status": name}}

    def error_frame(self, kind: str) -> bytes:
        """An error of this type within a stream."""
        message = f"scripted {kind}"
        return sse({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})

    def counted(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a request that counts tokens."""
        return {"totalTokens": tokens}


def _event_of(message: Mapping[str, Any]) -> Event:
    parts = mappings(message.get("parts"))
    if message.get("role") == "model":
        calls = [mapping(one["functionCall"]) for one in parts if "functionCall" in one]
        return ModelCalls(tuple(word(one.get("id")) for one in calls))
    return UserText(words([one for one in parts if "text" in one]))


def _tools(body: Mapping[str, Any]) -> dict[str, Tool]:
    declared = [
        one
        for offered in mappings(body.get("tools"))
        for one in mappings(offered.get("functionDeclarations"))
    ]
    return {
        name: Tool(
            name=name,
            schema=mapping(one.get("parametersJsonSchema") or one.get("parameters")),
            description=word(one.get("description")),
        )
        for one in declared
        if (name := word(one.get("name")))
    }


def _part(block: Block) -> dict[str, Any]:
    match block:
        case Thinking(text):
            return {"text": f"**Thinking**\n\n{text}", "thought": True}
        case Text(text):
            return {"text": text}
        case ToolCall():
            call = {"id": block.id, "name": block.name, "args": dict(block.arguments)}
            return {"functionCall": call, "thoughtSignature": _SIGNATURE}


def _said(answer: Answer, parts: list[dict[str, Any]], *, ends: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if ends:
        candidate["finishReason"] = _STOPS[answer.ending]
    return {
        "candidates": [candidate], "usageMetadata": _usage(answer.usage, whole=ends),
        "modelVersion": answer.model, "responseId": answer.id,
    }  # fmt: skip


def _usage(usage: Usage, *, whole: bool) -> dict[str, Any]:
    """Cached tokens are counted within those of the prompt, thoughts beside those of the answer."""
    sent = (usage.input or 0) + (usage.cache_read or 0)
    told: dict[str, Any] = {"promptTokenCount": sent, "cachedContentTokenCount": usage.cache_read}
    if not whole:
        return {**told, "totalTokenCount": sent}
    output, thoughts = usage.output or 0, usage.reasoning or 0
    return {
        **told, "candidatesTokenCount": output - thoughts, "thoughtsTokenCount": thoughts,
        "totalTokenCount": sent + output,
    }  # fmt: skip
