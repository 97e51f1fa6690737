"""Messages of a sample: what was said, which tools were called, what came back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from kbsite.harnesses.inspect import archive
from kbsite.harnesses.lines import dump, mapping, number, sequence, text, timestamp
from kbsite.harnesses.pictures import picture_at
from kbsite.harnesses.rows import Row
from kbsite.model.event import (
    Event,
    Image,
    Message,
    Notice,
    Role,
    Thought,
    ToolKind,
    ToolResult,
    Topic,
)

Held = Mapping[str, object]

KINDS = {
    "bash": ToolKind.RUN,
    "bash_session": ToolKind.RUN,
    "computer": ToolKind.OTHER,
    "python": ToolKind.RUN,
    "submit": ToolKind.PLAN,
    "text_editor": ToolKind.EDIT,
    "think": ToolKind.PLAN,
    "todo_write": ToolKind.PLAN,
    "update_plan": ToolKind.PLAN,
    "web_browser": ToolKind.WEB,
    "web_search": ToolKind.WEB,
}
_SERVED = {"code_execution": ToolKind.RUN, "web_search": ToolKind.WEB}
"""Tools of a model's provider."""
_MEDIA = frozenset({"audio", "video", "document", "data"})
_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
_REFERENCES = ("attachment://", "tc://")
"""What references to long texts begin with, in newer and in older logs."""
_DEPTH = 32
_SHORT = 64
"""Signs of a text that is compared as it is; of a longer one its digest is."""
_KEY = secrets.token_bytes(16)
"""No text of a log can be the digest of another."""


class Attachments(Struct):
    """Long texts of a sample, which stands for them by a reference."""

    texts: Held
    used: set[str] = field(default_factory=set)
    lent: int = 0
    """Signs that were put in the place of references so far."""
    room: int = field(default_factory=lambda: archive.MEMBER_BYTES)
    """How many of them may still be shown: few bytes can name a long text any number of times."""
    spent: bool = False
    """Whether something had no room."""
    digests: dict[str, str] = field(default_factory=dict)
    """Those of the texts, by name."""

    def placed(self, value: object) -> object:
        """`value` to be shown: `resolved`, or as it is where there is no room for that."""
        before = self.lent
        held = self.resolved(value)
        return held if self.fit(self.lent - before) else value

    def fit(self, lent: int) -> bool:
        """Whether something may be shown with texts of that many signs, which take their room."""
        if lent > self.room:
            self.spent = True
            return False
        self.room -= lent
        return True

    def resolved(self, value: object, depth: int = _DEPTH) -> object:
        """`value` with the texts in the place of the references to them."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list) and depth:
            return [self.resolved(item, depth - 1) for item in value]
        if isinstance(value, dict) and depth:
            return {key: self.resolved(item, depth - 1) for key, item in value.items()}
        return value

    def _text(self, value: str) -> str:
        name, held = self._named(value)
        if name:
            self.used.add(name)
            self.lent += len(held)
        return held

    def _named(self, value: str) -> tuple[str, str]:
        """The name of the text that a reference stands for, and the text; else none, and itself."""
        for reference in _REFERENCES:
            name = value.removeprefix(reference)
            held = self.texts.get(name) if name != value else None
            if isinstance(held, str):
                return name, held
        return "", value

    def digest(self, value: object) -> tuple[str, int]:
        """What is the same of two values that are the same when `resolved`, and how long those are.

        No text is written out: what it takes hangs on `value` and not on what that refers to.
        """
        size = 0

        def short(held: object, depth: int) -> object:
            nonlocal size
            if isinstance(held, str):
                name, said = self._named(held)
                size += len(said)
                return self._digest(name, said) if len(said) > _SHORT else said
            if isinstance(held, list) and depth:
                return [short(item, depth - 1) for item in held]
            if isinstance(held, dict) and depth:
                return {key: short(item, depth - 1) for key, item in held.items()}
            if isinstance(held, list | dict):
                size += len(dump(held))
            return held

        return dump(short(value, _DEPTH)), size

    def _digest(self, name: str, said: str) -> str:
        found = self.digests.get(name) if name else None
        if found is None:
            data = said.encode("utf-8", "surrogatepass")
            found = hashlib.blake2b(data, digest_size=16, key=_KEY).hexdigest()
            if name:
                self.digests[name] = found
        return found


class Happened(Struct, frozen=True):
    """What an event tells of a call that a message asks for."""

    at: datetime | None = None
    seconds: float | None = None


def call_time(event: Held) -> Happened:
    """When a tool event's call ended, and how long it took."""
    start, end = timestamp(event.get("timestamp")), timestamp(event.get("completed"))
    took = number(event.get("working_time"))
    if start and end and end >= start:
        return Happened(end, (end - start).total_seconds())
    return Happened(end, took if took is not None and took >= 0 else None)


def message(row: Row, calls: Mapping[str, Happened]) -> Iterator[Event]:
    """The events of a message; `calls` tells by id when tool calls happened."""
    role = _ROLES.get(text(row.value.get("role")))
    if row.value.get("role") == "tool":
        yield _result(row, calls)
    elif role is None:
        yield row.unknown(f"message:{text(row.value.get('role'))}")
    else:
        yield from _said(row, role)
        for item in sequence(row.value.get("tool_calls")):
            yield from _call(row, item)


def _said(row: Row, role: Role) -> Iterator[Event]:
    content, model = row.value.get("content"), text(row.value.get("model"))
    if isinstance(row.value.get("reasoning"), str):
        yield row.event(Thought, text=text(row.value["reasoning"]))
    for item in content if isinstance(content, list) else [content]:
        part = {"type": "text", "text": item} if isinstance(item, str) else mapping(item)
        match part.get("type"):
            case "text":
                if part.get("text"):
                    yield row.event(Message, role=role, text=text(part.get("text")), model=model)
            case "reasoning":
                yield _thought(row, part)
            case "image":
                yield row.event(Message, role=role, text="", images=(_image(part),), model=model)
            case "tool_use":
                yield from _served(row, part)
            case kind:
                yield from _other(row, text(kind), item)


def _other(row: Row, kind: str, item: object) -> Iterator[Event]:
    if kind in _MEDIA:
        told = f"{kind} in a message"
        yield row.event(Notice, topic=Topic.NOTE, text=told, raw=dump(item))
    elif item is not None:
        yield row.unknown(f"content:{kind}", item)


def _thought(row: Row, part: Held) -> Thought:
    redacted = part.get("redacted") is True
    told = "" if redacted else text(part.get("reasoning"))
    told = told or text(part.get("summary"))
    return row.event(Thought, text=told, encrypted=redacted and not told)


def _served(row: Row, part: Held) -> Iterator[Event]:
    """A call that the model's provider made, and what came back."""
    kinds = {text(part.get("name")): _SERVED.get(text(part.get("tool_type")), ToolKind.OTHER)}
    call_id, error = text(part.get("id")), part.get("error")
    yield row.call(kinds, text(part.get("name")), part.get("arguments"), call_id)
    output = text(part.get("result")) or text(error)
    beyond = {"error": error} if error else ""
    yield row.event(
        ToolResult, call_id=call_id, output=output, is_error=bool(error), recorded=beyond
    )


def _image(part: Held) -> Image:
    return picture_at(text(part.get("image")))


def _call(row: Row, item: object) -> Iterator[Event]:
    call = mapping(item)
    if not call:
        yield row.unknown("tool_call", item)
        return
    yield row.call(KINDS, text(call.get("function")), call.get("arguments"), text(call.get("id")))
    if call.get("parse_error"):
        yield row.notice(Topic.ERROR, text(call["parse_error"]))


def _result(row: Row, calls: Mapping[str, Happened]) -> Event:
    call_id, error = text(row.value.get("tool_call_id")), row.value.get("error")
    content = row.value.get("content")
    parts = [mapping(part) for part in sequence(content)]
    odd = [part for part in parts if "text" not in part and part.get("type") != "image"]
    beyond = {name: held for name, held in (("error", error), ("content", odd)) if held}
    happened = calls.get(call_id, Happened())
    return row.event(
        ToolResult,
        at=happened.at or row.at,
        call_id=call_id,
        output=_output(content, parts) or text(mapping(error).get("message", error)),
        is_error=bool(error),
        seconds=happened.seconds,
        images=tuple(_image(part) for part in parts if part.get("type") == "image"),
        recorded=beyond or "",
    )


def _output(content: object, parts: Sequence[Mapping[str, object]]) -> str:
    if not isinstance(content, list):
        return text(content)
    return "\n".join(text(part.get("text")) for part in parts if "text" in part)
