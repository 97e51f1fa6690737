"""What both Kimi programs print."""

from __future__ import annotations

from typing import Any

import pytest

from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Image,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    ToolCall,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from tests.harnesses.kimi_rows import CAPTURES, STREAM, captured, of, one, read, written


def stream(*rows: dict[str, Any]) -> list[Event]:
    return read(STREAM, written(*rows))


def called(call_id: str, name: str = "Shell", arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function", "id": call_id, "function": {"name": name, "arguments": arguments}}


def test_a_message_may_be_text_or_parts() -> None:
    parts = [{"type": "think", "think": "Hm."}, {"type": "text", "text": "So."}]
    events = stream({"role": "assistant", "content": "Hi"}, {"role": "assistant", "content": parts})
    assert [message.text for message in of(Message, events)] == ["Hi", "So."]
    assert one(Thought, events).text == "Hm."


def test_every_call_of_a_message_has_its_own_place() -> None:
    events = stream({"role": "assistant", "content": "x", "tool_calls": [called("a"), called("b")]})
    assert [(event.source.line, event.source.part) for event in events] == [(1, 0), (1, 1), (1, 2)]
    assert [call.call_id for call in of(ToolCall, events)] == ["a", "b"]


def test_arguments_that_were_cut_are_kept_as_text() -> None:
    events = stream(
        {"role": "assistant", "content": [], "tool_calls": [called("a", arguments='{"c')]}
    )
    assert one(ToolCall, events).arguments == '{"c'


def test_an_empty_message_is_bookkeeping() -> None:
    assert one(Trace, stream({"role": "assistant", "content": []})).type == "assistant"


@pytest.mark.parametrize(
    ("output", "failed", "code"),
    [
        ("<system>Command executed successfully.</system>\nx", False, 0),
        ("<system>Command executed successfully. Output is truncated.</system>", False, 0),
        ("<system>ERROR: Command failed with exit code: 3.</system>\nx", True, 3),
        ("<system>ERROR: Tool `X` not found</system>", True, None),
        ("<system>Todo list updated</system>", False, None),
        ("x\nCommand failed with exit code: 4.", True, 4),
        ("x\nCommand failed with exit code: 4.\n", None, None),
        ("x", None, None),
    ],
)
def test_a_result_says_how_it_ended(output: str, failed: bool | None, code: int | None) -> None:
    result = one(ToolResult, stream({"role": "tool", "tool_call_id": "a", "content": output}))
    assert (result.output, result.is_error, result.exit_code) == (output, failed, code)


def test_a_result_in_parts_is_put_together() -> None:
    parts = [
        {"type": "text", "text": "<system>ok</system>"},
        {"type": "text", "text": "x"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
        {"type": "odd"},
    ]
    events = stream({"role": "tool", "tool_call_id": "a", "content": parts})
    result = one(ToolResult, events)
    assert (result.output, result.images) == (
        "<system>ok</system>\nx",
        (Image("image/png", "QQ=="),),
    )
    assert one(Unknown, events).type == "content odd"


def test_the_result_names_the_sub_agent() -> None:
    events = stream(
        {"role": "assistant", "tool_calls": [called("a", "Agent", '{"description": "count"}')]},
        {"role": "tool", "tool_call_id": "a", "content": "agent_id: kid\nstatus: completed\n\nx"},
    )
    start = one(AgentStart, events)
    assert (start.child, start.call_id, start.title) == ("kid", "a", "count")


def test_the_version_and_the_session_are_told() -> None:
    events = stream(
        {"role": "meta", "type": "system.version", "version": "2.1.0"},
        {"role": "meta", "type": "session.resume_hint", "session_id": "session_1"},
    )
    assert [s.harness_version for s in of(Session, events)] == ["2.1.0", ""]
    assert [s.session_id for s in of(Session, events)] == ["", "session_1"]


def test_the_hint_how_to_resume_is_the_mark_of_completion() -> None:
    finish = one(Finish, stream({"role": "meta", "type": "session.resume_hint"}))
    assert (finish.ok, finish.reason) == (True, "session.resume_hint")


def test_a_retry_is_told() -> None:
    row = {"role": "meta", "type": "turn.step.retrying", "next_attempt": 2, "max_attempts": 3,
           "delay_ms": 1500, "error_name": "APIError", "error_message": "429"}  # fmt: skip
    notice = one(Notice, stream(row))
    assert (notice.topic, notice.text) == (Topic.RETRY, "Attempt 2 of 3 after: 429")
    assert notice.wait == 1.5


def test_unknown_roles_and_meta_rows_are_unknown() -> None:
    events = stream({"role": "oracle"}, {"role": "meta", "type": "new"}, {"role": ["x"]})
    assert [event.type for event in of(Unknown, events)] == ["oracle", "meta new", '["x"]']


def test_users_and_the_system_may_speak_too() -> None:
    events = stream({"role": "user", "content": "Go"}, {"role": "system", "content": "Be."})
    told = [(message.role, message.injected) for message in of(Message, events)]
    assert told == [(Role.USER, False), (Role.SYSTEM, True)]


@pytest.mark.parametrize(
    ("row", "topic", "told"),
    [
        (
            {"id": "n", "severity": "info", "title": "Task", "body": "done"},
            Topic.NOTE,
            "Task\ndone",
        ),
        ({"id": "n", "severity": "error", "title": "Task", "body": ""}, Topic.ERROR, "Task"),
        ({"content": "# Plan", "file_path": "p.md"}, Topic.NOTE, "# Plan"),
        ({"id": "1", "question": "Why?"}, Topic.NOTE, "Why?"),
        ({"id": "1", "error": "boom"}, Topic.ERROR, "boom"),
    ],
)
def test_events_that_are_printed_as_they_are_become_notices(
    row: dict[str, Any], topic: Topic, told: str
) -> None:
    notice = one(Notice, stream(row))
    assert (notice.topic, notice.text) == (topic, told)


def test_a_line_of_text_is_a_notice() -> None:
    events = read(STREAM, "Interrupted by user\nConnection error.\nhello\n")
    topics = [(notice.topic, notice.text) for notice in of(Notice, events)]
    assert topics == [
        (Topic.INTERRUPTION, "Interrupted by user"),
        (Topic.ERROR, "Connection error."),
        (Topic.ERROR, "hello"),
    ]


def test_the_second_line_of_an_error_is_the_same_error() -> None:
    events = captured(CAPTURES / "kimi-cli-e401", STREAM)
    assert [notice.topic for notice in of(Notice, events)] == [Topic.ERROR, Topic.ERROR]
    assert len(events) == 2


def test_text_after_a_row_is_about_something_else() -> None:
    text = "Error code: 500\n" + written({"role": "assistant", "content": "x"}) + "hello\n"
    assert [n.topic for n in of(Notice, read(STREAM, text))] == [Topic.ERROR, Topic.NOTE]


def test_a_broken_row_is_not_taken_for_text() -> None:
    events = read(STREAM, '{"role": "assistant", "content": "x\n{"a" 1}\n')
    assert [type(event) for event in events] == [Malformed, Malformed]


def test_a_captured_interruption_is_told() -> None:
    events = captured(CAPTURES / "kimi-cli-longtool-INT", STREAM)
    assert one(Notice, events).topic is Topic.INTERRUPTION
    assert one(ToolCall, events).call_id == "call_t0_0"


def test_a_captured_run_that_failed_has_no_end() -> None:
    events = captured(CAPTURES / "kimi-code-e401", STREAM)
    assert [type(event) for event in events] == [Session]
