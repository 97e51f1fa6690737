"""What droid keeps of a session, as events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.harnesses.droid import FORMATS
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Image,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from tests.harnesses.reading import CORPUS, beside, ledger, of, one, read, read_rows

(SESSION,) = FORMATS
START = {"type": "session_start", "id": "s-1", "title": "A title", "cwd": "/w", "version": 2}


def said(role: str, *blocks: Any, **message: Any) -> Any:
    held = {"role": role, "content": list(blocks), **message}
    return {"type": "message", "id": "m", "timestamp": "2026-01-28T16:57:01.391Z", "message": held}


def text(told: str) -> Any:
    return {"type": "text", "text": told}


def kept(*rows: Any, name: str = "session/s-1.jsonl") -> list[Event]:
    return read_rows(SESSION, *rows, name=name)


def test_the_first_row_tells_the_session() -> None:
    session = one(Session, kept(START))

    assert (session.session_id, session.cwd) == ("s-1", "/w")
    assert json.loads(session.raw)["title"] == "A title"


def test_people_and_the_model_speak() -> None:
    events = kept(said("user", text("do it")), said("assistant", text("done"), model="m-1"))

    assert [(m.role, m.text, m.model) for m in of(Message, events)] == [
        (Role.USER, "do it", ""),
        (Role.ASSISTANT, "done", "m-1"),
    ]
    assert all(message.at for message in of(Message, events))


def test_reminders_are_injected_and_the_prompt_beside_them_is_not() -> None:
    events = kept(said("user", text("<system-reminder>x</system-reminder>"), text("do it")))

    assert [message.injected for message in of(Message, events)] == [True, False]


def test_a_file_that_a_person_named_is_put_in_by_droid() -> None:
    held = text("Contents of /w/my file.ts (lines 1-25 of 25):\nlet x\n")
    events = kept(said("user", text("Mend @file.ts"), held, text("Contents of my mind (all):\n")))

    assert [message.injected for message in of(Message, events)] == [False, True, False]


def test_what_only_the_model_sees_is_injected() -> None:
    assert one(Message, kept(said("user", text("x"), visibility="llm_only"))).injected


def test_what_only_the_user_sees_is_a_notice() -> None:
    notice = one(Notice, kept(said("user", text("limit reached"), visibility="user_only")))

    assert (notice.topic, notice.text) == (Topic.NOTE, "limit reached")


def test_thinking_is_a_thought() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"},
              {"type": "thinking", "thinking": "", "signature": "s"},
              {"type": "redacted_thinking", "data": "s"}]  # fmt: skip
    thoughts = of(Thought, kept(said("assistant", *blocks)))

    assert [(t.text, t.encrypted) for t in thoughts] == [("hm", False), ("", True), ("", True)]


def test_a_call_and_its_result_are_joined_by_id() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Execute", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a", "is_error": True}
    events = kept(said("assistant", call), said("user", result))

    asked, answer = one(ToolCall, events), one(ToolResult, events)
    assert (asked.tool_kind, asked.summary) == (ToolKind.RUN, "ls")
    assert (asked.call_id, answer.call_id) == ("c1", "c1")
    assert (answer.output, answer.is_error) == ("a", True)


@pytest.mark.parametrize(
    ("name", "given", "paths"),
    [
        ("Create", {"file_path": "p", "content": "x"}, ["p"]),
        ("Edit", {"file_path": "p", "old_str": "x", "new_str": "y"}, ["p"]),
        ("ApplyPatch", {"input": "*** Begin Patch\n*** Delete File: p\n*** End Patch"}, ["p"]),
        ("Read", {"file_path": "p"}, []),
    ],
)
def test_edits_are_told(name: str, given: Any, paths: list[str]) -> None:
    call = one(
        ToolCall, kept(said("assistant", {"type": "tool_use", "name": name, "input": given}))
    )

    assert [edit.path for edit in call.edits] == paths


def test_a_result_of_several_parts_loses_none() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    parts = [text("a"), {"type": "image", "source": source}, text("b"), {"type": "hologram"}]
    block = {"type": "tool_result", "tool_use_id": "c1", "content": parts}
    answer = one(ToolResult, kept(said("user", block)))

    assert answer.output == "a\nb"
    assert answer.images == (Image("image/png", "AAAA"),)
    assert answer.recorded == {"content": [{"type": "hologram"}]}


def test_a_picture_in_a_prompt_is_an_image() -> None:
    block = {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": "A"}}

    assert one(Message, kept(said("user", block))).images == (Image("image/png", "A"),)


def test_a_document_in_a_prompt_is_a_note_that_keeps_it() -> None:
    block = {"type": "document", "title": "Paper", "source": {"data": "JVBERi0"}}
    notice = one(Notice, kept(said("user", block)))

    assert notice.text == "Document attached: Paper"
    assert json.loads(notice.raw) == block


def test_the_state_of_todos_repeats_a_call() -> None:
    assert one(Trace, kept({"type": "todo_state", "todos": {}})).type == "todo_state"


def test_a_compaction_is_a_notice_with_the_summary() -> None:
    notice = one(Notice, kept({"type": "compaction_state", "summaryText": "so far"}))

    assert (notice.topic, notice.text) == (Topic.COMPACTION, "so far")


@pytest.mark.parametrize(("reason", "ok"), [("completed", True), ("error", False), ("x", None)])
def test_the_end_of_a_turn_is_told(reason: str, ok: bool | None) -> None:
    finish = one(Finish, kept({"type": "agent_turn_outcome", "reason": reason}))

    assert (finish.ok, finish.reason) == (ok, reason)


def test_a_sub_agent_stands_below_the_call_that_started_it() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "look"}}
    child = START | {"id": "s-2", "callingSessionId": "s-1", "callingToolUseId": "c1"}
    fold = Fold()
    for event in kept(START, said("assistant", call)):
        fold.add(event)
    for event in kept(child, said("assistant", text("found")), name="session/s-2.jsonl"):
        fold.add(event)
    (step,) = [s for s in fold.transcript("", "", ()).main.steps if isinstance(s.event, ToolCall)]

    assert [agent.id for agent in step.agents] == ["s-2"]
    assert [type(s.event) for s in step.agents[0].steps] == [Session, Message]


def test_only_a_sub_agent_is_tied_to_a_call() -> None:
    assert of(AgentStart, kept(START)) == []


USAGE = {
    "inputTokens": 5, "outputTokens": 9, "cacheCreationTokens": 2, "cacheReadTokens": 70,
    "thinkingTokens": 4,
}  # fmt: skip
SETTINGS = {"model": "m-1", "reasoningEffort": "high", "tokenUsage": USAGE}


@pytest.mark.parametrize("indent", [None, 2])
def test_the_settings_beside_a_log_tell_model_and_tokens(indent: int | None) -> None:
    data = json.dumps(SETTINGS, indent=indent)
    events = read(SESSION, data, "home/.factory/sessions/-w/s-1.settings.json")
    session, total = one(Session, events), ledger(events).told

    assert (session.session_id, session.model, session.effort) == ("s-1", "m-1", "high")
    assert (total.input, total.output, total.reasoning) == (5, 9, 4)
    assert (total.cache_read, total.cache_write) == (70, 2)


def test_thinking_beyond_the_output_is_not_believed() -> None:
    told = SETTINGS | {"tokenUsage": USAGE | {"thinkingTokens": 10}}
    events = read(SESSION, json.dumps(told), "session/s-1.settings.json")

    assert one(TokenUse, events).usage.reasoning is None


def test_settings_that_are_cut_are_malformed() -> None:
    (event,) = read(SESSION, '{\n"model": ', "session/s-1.settings.json")

    assert event.kind == "malformed"


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"type": "new"}, "new"),
        ({}, ""),
        (said("critic", text("x")), "message:critic"),
        (said("user", {"type": "hologram"}), "block:hologram"),
        (said("user", 7), "block:int"),
    ],
)
def test_what_the_format_does_not_know_is_unknown(row: Any, kind: str) -> None:
    assert one(Unknown, kept(row)).type == kind


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([START], True),
        ([said("user", text("x"))], True),
        ([SETTINGS], True),
        ([], False),
        ([{}], False),
        ([{"type": "message", "id": "m", "message": {"role": "user"}}], False),
        ([{"type": "session", "version": 3, "id": "x"}, said("user", text("x"))], False),
    ],
)
def test_only_its_own_logs_are_recognised(head: Any, claimed: bool) -> None:
    assert SESSION.recognises(head) is claimed


@beside
def test_every_call_of_the_corpus_has_its_result() -> None:
    for path in sorted((CORPUS / "droid-session").rglob("*.jsonl")):
        data = path.read_text("utf-8")
        events = read(SESSION, data)

        assert len(of(ToolCall, events)) == data.count('"type":"tool_use"')
        assert [c.call_id for c in of(ToolCall, events)] == [
            r.call_id for r in of(ToolResult, events)
        ]
        assert of(Unknown, events) == []
