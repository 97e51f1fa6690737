"""What events of each API say of model, end, errors and usage: one function a dialect.

Each takes the data of one event, or a whole answer without stream, and fills in a `Told`. Whatever
else the JSON holds is skipped unread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bench.providers import Dialect
from bench.proxy.told import Told, count_of, less

Take = Callable[[Told, bytes], None]


class _Error(msgspec.Struct):
    type: Any = None
    code: Any = None
    status: Any = None
    message: Any = None

    @property
    def sentence(self) -> str:
        kind = next((one for one in (self.type, self.status, self.code) if one), "error")
        return f"{kind}: {self.message}" if self.message else str(kind)


def _said(error: _Error | str) -> str:
    """What an error says; some servers write a sentence alone."""
    return error if isinstance(error, str) else error.sentence


class _AnthropicUsage(msgspec.Struct):
    input_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_creation: Any = None
    output_tokens: Any = None


class _AnthropicMessage(msgspec.Struct):
    model: str | None = None
    stop_reason: str | None = None
    usage: _AnthropicUsage | None = None


class _AnthropicEvent(_AnthropicMessage):
    type: str | None = None
    message: _AnthropicMessage | None = None
    delta: _AnthropicMessage | None = None
    error: _Error | str | None = None


def _anthropic(told: Told, data: bytes) -> None:
    event = msgspec.json.decode(data, type=_AnthropicEvent)
    for held in (event, event.message, event.delta):
        if held is None:
            continue
        told.model = held.model or told.model
        told.stopped(held.stop_reason, limits=("max_tokens", "model_context_window_exceeded"))
        if usage := held.usage:
            told.used(
                input=usage.input_tokens,
                cache_read=usage.cache_read_input_tokens,
                cache_write=usage.cache_creation_input_tokens,
                cache_write_1h=_for_an_hour(usage.cache_creation),
                output=usage.output_tokens,
            )
    if event.error:
        told.error = _said(event.error)


def _for_an_hour(kinds: Any) -> Any:
    """What was written to the cache for an hour; None where the kinds of writes are not told."""
    return kinds.get("ephemeral_1h_input_tokens") if isinstance(kinds, dict) else None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class _InputDetails(msgspec.Struct):
    cached_tokens: Any = None
    cache_write_tokens: Any = None


class _ResponsesUsage(msgspec.Struct):
    input_tokens: Any = None
    input_tokens_details: _InputDetails | None = None
    output_tokens: Any = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    model: str | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    usage: _ResponsesUsage | None = None
    error: _Error | str | None = None


class _ResponsesEvent(_Response):
    type: str | None = None
    response: _Response | None = None
    code: Any = None
    message: Any = None


_ENDS = ("completed", "incomplete", "failed", "cancelled")


def _responses(told: Told, data: bytes) -> None:
    event = msgspec.json.decode(data, type=_ResponsesEvent)
    if event.type == "error":
        held = event.error or _Error(code=event.code, message=event.message)
        told.error = _said(held)
        return
    response = event if event.type is None else event.response
    if response is None:
        if event.error:
            told.error = _said(event.error)
        return
    told.model = response.model or told.model
    _responses_end(told, response, (event.type or "").removeprefix("response."))
    if usage := response.usage:
        _openai_used(
            told,
            (usage.input_tokens, usage.output_tokens),
            usage.input_tokens_details or _InputDetails(),
            usage.output_tokens_details or _OutputDetails(),
        )


def _responses_end(told: Told, response: _Response, event: str) -> None:
    """Take over how a response ended; its event says it too, and some providers only there."""
    match event if event in _ENDS else response.status:
        case "completed":
            told.stopped("completed", limits=())
        case "incomplete":
            reason = response.incomplete_details and response.incomplete_details.reason
            told.stopped(reason or "incomplete", limits=("max_output_tokens", "max_tokens"))
        case "failed" | "cancelled":
            told.error = _said(response.error or _Error(code=response.status or event))
        case _:
            told.error = _said(response.error) if response.error else told.error


def _openai_used(
    told: Told, tokens: tuple[Any, Any], sent: _InputDetails, made: _OutputDetails
) -> None:
    told.used(
        input=less(tokens[0], sent.cached_tokens, sent.cache_write_tokens),
        cache_read=sent.cached_tokens,
        cache_write=sent.cache_write_tokens,
        output=tokens[1],
        reasoning=made.reasoning_tokens,
    )


class _ChatUsage(msgspec.Struct):
    prompt_tokens: Any = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens: Any = None
    completion_tokens_details: _OutputDetails | None = None
    cached_tokens: Any = None
    prompt_cache_hit_tokens: Any = None


class _Choice(msgspec.Struct):
    finish_reason: str | None = None
    usage: _ChatUsage | None = None


class _ChatChunk(msgspec.Struct):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _ChatUsage | None = None
    error: _Error | str | None = None


def _chat(told: Told, data: bytes) -> None:
    if data.strip() == b"[DONE]":
        return
    chunk = msgspec.json.decode(data, type=_ChatChunk)
    told.model = chunk.model or told.model
    usage = chunk.usage
    for choice in chunk.choices or ():
        told.stopped(choice.finish_reason, limits=("length", "max_tokens"))
        usage = usage or choice.usage  # as Moonshot tells it
    if usage:
        _chat_used(told, usage)
    if chunk.error:
        told.error = _said(chunk.error)


def _chat_used(told: Told, usage: _ChatUsage) -> None:
    sent = usage.prompt_tokens_details or _InputDetails()
    others = (sent.cached_tokens, usage.cached_tokens, usage.prompt_cache_hit_tokens)
    cached = next((count for one in others if (count := count_of(one)) is not None), None)
    _openai_used(
        told,
        (usage.prompt_tokens, usage.completion_tokens),
        _InputDetails(cached, sent.cache_write_tokens),
        usage.completion_tokens_details or _OutputDetails(),
    )


class _GeminiUsage(msgspec.Struct, rename="camel"):
    prompt_token_count: Any = None
    tool_use_prompt_token_count: Any = None
    cached_content_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None


class _Candidate(msgspec.Struct, rename="camel"):
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _GeminiChunk(msgspec.Struct, rename="camel"):
    model_version: str | None = None
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _GeminiUsage | None = None
    error: _Error | str | None = None


def _gemini(told: Told, data: bytes) -> None:
    whole = data.lstrip()[:1] == b"["
    chunks = (
        msgspec.json.decode(data, type=list[_GeminiChunk])
        if whole
        else [msgspec.json.decode(data, type=_GeminiChunk)]
    )
    for chunk in chunks:
        told.model = chunk.model_version or told.model
        if chunk.prompt_feedback:
            told.stopped(chunk.prompt_feedback.block_reason, limits=())
        for candidate in chunk.candidates or ():
            told.stopped(candidate.finish_reason, limits=("MAX_TOKENS",))
        if chunk.usage_metadata:
            _gemini_used(told, chunk.usage_metadata)
        if chunk.error:
            told.error = _said(chunk.error)


def _gemini_used(told: Told, usage: _GeminiUsage) -> None:
    sent, made = count_of(usage.prompt_token_count), count_of(usage.candidates_token_count)
    thoughts = count_of(usage.thoughts_token_count)
    if sent is not None:
        sent += count_of(usage.tool_use_prompt_token_count) or 0
    if thoughts is not None:
        made = (made or 0) + thoughts
    told.used(
        input=less(sent, usage.cached_content_token_count),
        cache_read=usage.cached_content_token_count,
        output=made,
        reasoning=thoughts,
    )


TAKES: Mapping[Dialect, Take] = {
    Dialect.ANTHROPIC: _anthropic,
    Dialect.RESPONSES: _responses,
    Dialect.CHAT: _chat,
    Dialect.GEMINI: _gemini,
}
"""How to read an event or a whole answer, by dialect; they raise msgspec.DecodeError."""
