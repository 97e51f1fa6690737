"""What the model answered: as a chat message, or as a response of the Responses API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import count, mapping, number, sequence, text
from kbsite.harnesses.pictures import picture_at
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Image, Message, Role, Scope, Thought, TokenUse, ToolKind
from kbsite.model.usage import Usage

KINDS = {"bash": ToolKind.RUN}
"""Its only tool."""

_ACTION = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n```", re.DOTALL)
_SUMMARIES = ("summary", "content")


def answer(row: Row, said: Mapping[str, object], model: str) -> Iterator[Event]:
    """What one answer thought, said and asked for; the commands in texts are no calls yet."""
    if isinstance(said.get("output"), list):
        for item in sequence(said.get("output")):
            yield from _item(row, item, model)
        return
    thought = text(said.get("reasoning_content")) or _thinking(said.get("thinking_blocks"))
    if thought:
        yield row.event(Thought, text=thought)
    yield from words(row, said.get("content"), Role.ASSISTANT, model=model)
    for item in sequence(said.get("tool_calls")):
        asked = mapping(mapping(item).get("function"))
        if asked:
            call_id = text(mapping(item).get("id"))
            yield row.call(KINDS, text(asked.get("name")), asked.get("arguments"), call_id)
        else:
            yield row.unknown("tool_call", item)


def _item(row: Row, item: object, model: str) -> Iterator[Event]:
    """One item of a response."""
    held = mapping(item)
    match held.get("type"):
        case "message":
            yield from words(row, held.get("content"), Role.ASSISTANT, model=model)
        case "reasoning":
            parts = [mapping(one) for key in _SUMMARIES for one in sequence(held.get(key))]
            told = "\n\n".join(text(part.get("text")) for part in parts)
            yield row.event(Thought, text=told, encrypted=not told)
        case "function_call":
            call_id = text(held.get("call_id")) or text(held.get("id"))
            yield row.call(KINDS, text(held.get("name")), held.get("arguments"), call_id)
        case kind:
            yield row.unknown(f"output:{text(kind)}", item)


def _thinking(blocks: object) -> str:
    return "\n\n".join(text(mapping(block).get("thinking")) for block in sequence(blocks))


def words(
    row: Row, content: object, role: Role, *, injected: bool = False, model: str = ""
) -> Iterator[Event]:
    """The texts and pictures of a message, as one; nothing where it says nothing."""
    told, images, odd = contents(content)
    if told or images:
        yield row.event(
            Message, role=role, text=told, images=images, injected=injected, model=model
        )
    for part in odd:
        yield row.unknown(f"content:{text(mapping(part).get('type'))}", part)


def contents(content: object) -> tuple[str, tuple[Image, ...], list[object]]:
    """The text, the pictures and the rest of a message's content."""
    if not isinstance(content, list):
        return text(content), (), []
    told: list[str] = []
    images: list[Image] = []
    odd: list[object] = []
    for part in content:
        held = mapping(part)
        if isinstance(held.get("text"), str):
            told.append(text(held["text"]))
        elif (url := held.get("image_url")) is not None:
            images.append(picture_at(text(mapping(url).get("url")) or text(url)))
        else:
            odd.append(part)
    return "\n".join(told), tuple(images), odd


def commands(row: Row, said: Mapping[str, object]) -> list[str]:
    """The commands of an answer that has them in its text, as the program found them.

    Where it does not say, there is one or none: of several it runs nothing.
    """
    told = mapping(row.value.get("extra")).get("actions")
    if isinstance(told, list):
        return [text(mapping(one).get("command", one)) for one in told]
    found: list[str] = _ACTION.findall(contents(said.get("content"))[0])
    return [one.strip() for one in found] if len(found) == 1 else []


def spent(row: Row, response: Mapping[str, object], model: str) -> Iterator[TokenUse]:
    """The tokens of a response of either API, and what it cost; 0 stands where nobody knows."""
    used = _usage(mapping(response.get("usage")))
    cost = number(mapping(row.value.get("extra")).get("cost")) or None
    if used.known or cost:
        yield row.event(
            TokenUse,
            usage=used,
            scope=Scope.MESSAGE,
            model=model,
            cost_usd=cost,
        )


def _usage(told: Mapping[str, object]) -> Usage:
    """Tokens as OpenAI counts them: the input holds what was cached, the output the reasoning."""
    sent = mapping(told.get("prompt_tokens_details")) or mapping(told.get("input_tokens_details"))
    made = mapping(told.get("completion_tokens_details")) or mapping(
        told.get("output_tokens_details")
    )
    whole = count(told.get("prompt_tokens", told.get("input_tokens")))
    read, written = count(sent.get("cached_tokens")), count(told.get("cache_creation_input_tokens"))
    return Usage(
        input=None if whole is None else max(whole - (read or 0) - (written or 0), 0),
        cache_read=read,
        cache_write=written,
        output=count(told.get("completion_tokens", told.get("output_tokens"))),
        reasoning=count(made.get("reasoning_tokens")),
    )
