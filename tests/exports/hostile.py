"""Transcripts that no sound CLI writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import force_setattr

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
    Source,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage
from tests.fold.making import folded

ODD = [
    "", "x", "a b", "\udc80\ud800", "````\n# Grade\n", "\x1b[31m\x00", "\u202e\u2066", "\r\n\x85",
    "Executed t c", "NaN", "<script>", "~~~", "\ufeff", "a" * 3000, "b\n" * 400,
]  # fmt: skip
TEXTS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=[]), max_size=12)
NAMES = st.sampled_from(["", "a", "b", "c", "\udc80", "\\x80"])
COUNTS = st.none() | st.integers(0, 2**52)


def nested(depth: int) -> dict[str, Any]:
    """An object within an object within …"""
    value: dict[str, Any] = {"end": float("inf")}
    for _ in range(depth):
        value = {"in": [value]}
    return value


ARGUMENTS = st.one_of(
    TEXTS,
    st.dictionaries(TEXTS, st.recursive(st.none() | st.floats() | TEXTS, st.lists, max_leaves=4)),
    st.integers(0, 450).map(nested),
)
IMAGES = st.lists(
    st.builds(
        Image, st.sampled_from(["image/png", "image/svg+xml", ""]), TEXTS,
        url=st.sampled_from(["", "https://x.example/a.png", "file.png", "https://\udc80", "http://\0"]),
    ), max_size=2,
).map(tuple)  # fmt: skip
USAGES = st.builds(Usage, input=COUNTS, cache_read=COUNTS, cache_write=COUNTS, output=COUNTS)


def _of(kind: type[Event], **facts: st.SearchStrategy[Any]) -> st.SearchStrategy[Event]:
    common = {"source": st.just(Source("main.jsonl", 1)), "at": st.none() | st.datetimes()
              .map(lambda at: at.replace(tzinfo=None).astimezone() if 1 < at.year < 9999 else None),
              "agent": NAMES}  # fmt: skip
    return st.builds(kind, **{**common, **facts})


EVENTS = st.one_of(
    _of(Message, role=st.sampled_from(Role), text=TEXTS, images=IMAGES, injected=st.booleans(),
        model=TEXTS),
    _of(Thought, text=TEXTS),
    _of(ToolCall, call_id=NAMES, tool=TEXTS, tool_kind=st.just(ToolKind.OTHER),
        arguments=ARGUMENTS),
    _of(ToolResult, call_id=NAMES, output=TEXTS, images=IMAGES, exit_code=st.none() | st.just(1),
        is_error=st.none() | st.booleans(), seconds=st.none() | st.floats()),
    _of(TokenUse, usage=USAGES, scope=st.sampled_from(Scope), message_id=NAMES,
        cost_usd=st.none() | st.floats(0, 9)),
    _of(AgentStart, child=NAMES, call_id=NAMES, title=TEXTS),
    _of(Notice, topic=st.sampled_from(Topic), text=TEXTS),
    _of(Session, session_id=TEXTS, model=TEXTS, tools=st.lists(TEXTS, max_size=2).map(tuple)),
    _of(Finish, ok=st.none(), reason=TEXTS, text=TEXTS),
    _of(Trace, type=TEXTS, raw=TEXTS),
    _of(Unknown, type=TEXTS, raw=TEXTS),
    _of(Malformed, text=TEXTS, reason=TEXTS),
)  # fmt: skip


def placed(events: list[Event]) -> Iterator[Event]:
    """The events, each on a line of its own."""
    for number, event in zip(itertools.count(1), events, strict=False):
        force_setattr(event, "source", Source("main.jsonl", number))
        yield event


TRANSCRIPTS: st.SearchStrategy[Transcript] = st.lists(EVENTS, max_size=25).map(
    lambda events: folded(*placed(events))
)
