"""What cursor-agent prints and keeps, as events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbsite.harnesses.cursor import FORMATS
from kbsite.model.event import (
    Edit,
    Event,
    Finish,
    Message,
    Role,
    Session,
    Thought,
    ToolCall,
    ToolKind,
    ToolResult,
    Trace,
    Unknown,
)
from tests.harnesses.reading import CORPUS, beside, ledger, of, one, read, read_rows

STREAM, TRANSCRIPT = FORMATS
AT = 1_795_000_000_000


def row(kind: str, subtype: str = "", **more: Any) -> Any:
    told = {"type": kind, "session_id": "s-1"} | ({"subtype": subtype} if subtype else {})
    return told | more


def said(kind: str, text: str, **more: Any) -> Any:
    content = [{"type": "text", "text": text}]
    return row(kind, message={"role": kind, "content": content}, **more)


def tool(subtype: str, name: str, args: Any, result: Any = None, **more: Any) -> Any:
    body = {"args": args} | ({} if result is None else {"result": result})
    given = {f"{name}ToolCall": body, "toolCallId": "c\n1", **more}
    return row("tool_call", subtype, call_id="c\n1", tool_call=given, timestamp_ms=AT)


def printed(*rows: Any) -> list[Event]:
    return read_rows(STREAM, *rows)


def kept(*rows: Any, name: str = "f.jsonl") -> list[Event]:
    return read_rows(TRANSCRIPT, *rows, name=name)


# What is said


def test_the_first_row_tells_the_session() -> None:
    session = one(Session, printed(row("system", "init", model="Auto", cwd="/w")))

    assert (session.session_id, session.model, session.cwd) == ("s-1", "Auto", "/w")


def test_people_and_the_model_speak() -> None:
    messages = of(Message, printed(said("user", "do it"), said("assistant", "done")))

    assert [(m.role, m.text) for m in messages] == [(Role.USER, "do it"), (Role.ASSISTANT, "done")]


def test_thinking_is_joined_where_it_ends() -> None:
    deltas = [row("thinking", "delta", text=text) for text in ("a", "\n", "b")]
    events = printed(*deltas, row("thinking", "completed"), *deltas[:1])

    assert [(t.text, t.source.line) for t in of(Thought, events)] == [("a\nb", 4), ("a", 5)]


def test_thinking_that_was_cut_off_by_a_call_stands_before_it() -> None:
    events = printed(row("thinking", "delta", text="a"), tool("started", "read", {"path": "p"}))

    assert [type(event) for event in events] == [Trace, Thought, ToolCall]


def test_an_answer_in_pieces_is_shown_once() -> None:
    pieces = [said("assistant", text, timestamp_ms=AT) for text in ("Hel", "lo")]
    whole = said("assistant", "Hello", timestamp_ms=AT, model_call_id="m-1")
    events = printed(*pieces, whole)

    assert [message.text for message in of(Message, events)] == ["Hello"]
    assert [trace.type for trace in of(Trace, events)] == ["assistant/delta"] * 2


def test_an_answer_in_pieces_that_never_came_whole_is_not_lost() -> None:
    pieces = [said("assistant", text, timestamp_ms=AT) for text in ("Hel", "lo")]

    assert [m.text for m in of(Message, printed(*pieces))] == ["Hello"]
    assert [m.text for m in of(Message, printed(*pieces, said("assistant", "Other")))] == [
        "Hello",
        "Other",
    ]


def test_a_picture_in_a_prompt_is_an_image() -> None:
    block = {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}
    prompt = row("user", message={"role": "user", "content": [block]})

    assert one(Message, printed(prompt)).images[0].data == "AAAA"


# Calls


def test_a_call_and_its_result_are_joined_by_an_id_with_a_line_break() -> None:
    result = {"success": {"stdout": "3\n", "stderr": "", "exitCode": 0, "executionTime": 1500}}
    events = printed(
        tool("started", "shell", {"command": "ls"}),
        tool("completed", "shell", {"command": "ls"}, result),
    )
    call, answer = one(ToolCall, events), one(ToolResult, events)

    assert (call.tool, call.tool_kind, call.summary) == ("shell", ToolKind.RUN, "ls")
    assert call.call_id == answer.call_id == "c\n1"
    assert (answer.output, answer.exit_code, answer.is_error) == ("3\n", 0, False)
    assert answer.seconds == 1.5


def test_how_long_a_call_took_is_told_by_its_ends() -> None:
    ends = {"startedAtMs": str(AT), "completedAtMs": str(AT + 250)}
    events = printed(tool("completed", "read", {"path": "p"}, {"success": {}}, **ends))

    assert one(ToolResult, events).seconds == 0.25
    call_at = one(ToolCall, events).at
    assert call_at is not None
    assert call_at.timestamp() * 1000 == AT


def test_output_and_errors_of_a_command_are_both_shown() -> None:
    result = {"failure": {"stdout": "out", "stderr": "err", "exitCode": 2}}
    answer = one(ToolResult, printed(tool("completed", "shell", {}, result)))

    assert (answer.output, answer.exit_code, answer.is_error) == ("outerr", 2, True)


@pytest.mark.parametrize(
    ("result", "output", "is_error"),
    [
        ({"rejected": {"reason": "no"}}, "no", True),
        ({"error": {"errorMessage": "gone"}}, "gone", True),
        ({"error": "gone"}, "gone", True),
        ({"fileNotFound": {"path": "p"}}, '{"path": "p"}', True),
        ({"success": {"files": ["a"]}}, '{"files": ["a"]}', False),
        ("bare", "bare", None),
        ({}, "", None),
        ([1], "[1]", None),
    ],
)
def test_every_shape_of_a_result_is_shown(result: Any, output: str, is_error: bool | None) -> None:
    answer = one(ToolResult, printed(tool("completed", "glob", {}, result)))

    assert (answer.output, answer.is_error) == (output, is_error)


def test_what_a_result_tells_beyond_its_output_is_recorded() -> None:
    result = {"success": {"content": "text", "totalLines": 4, "path": "p"}, "isBackground": True}
    call = tool("completed", "read", {"path": "p"}, result, hookAdditionalContexts=["hook"])

    assert one(ToolResult, printed(call)).recorded == {
        "totalLines": 4,
        "isBackground": True,
        "hookAdditionalContexts": ["hook"],
    }


def test_a_new_file_is_an_edit_with_the_whole_file() -> None:
    success = {"path": "p", "diffString": "--- /dev/null\n+++ b/p", "afterFullFileContent": "x\n"}
    events = printed(
        tool("started", "edit", {"path": "p", "streamContent": "x\n"}),
        tool("completed", "edit", {"path": "p", "streamContent": "x\n"}, {"success": success}),
    )

    assert [type(event) for event in events] == [Trace, ToolCall, ToolResult]
    assert one(ToolCall, events).edits == (Edit("p", None, "x\n", action="add"),)


def test_a_changed_file_is_an_edit_with_its_diff() -> None:
    diff = "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-x\n+y"
    success = {"diffString": diff, "afterFullFileContent": "y\n"}
    events = printed(tool("completed", "edit", {"path": "p"}, {"success": success}))

    assert one(ToolCall, events).edits == (Edit("p", None, "", patch=diff),)


def test_a_deleted_file_is_an_edit() -> None:
    events = printed(tool("completed", "delete", {"path": "p"}, {"success": {"path": "p"}}))

    assert one(ToolCall, events).edits == (Edit("p", None, "", action="delete"),)


def test_an_edit_that_never_ended_is_shown_without_a_result() -> None:
    events = printed(tool("started", "edit", {"path": "p"}))

    assert [type(event) for event in events] == [Trace, ToolCall]
    assert [event.source.part for event in events] == [0, 1]


def test_a_result_whose_call_was_not_seen_shows_the_call() -> None:
    events = printed(tool("completed", "ls", {"path": "p"}, {"success": {"x": 1}}))

    assert [type(event) for event in events] == [ToolCall, ToolResult]


def test_a_tool_of_an_mcp_server_has_its_own_name() -> None:
    events = printed(tool("started", "mcp", {"toolName": "lookup", "args": {"q": 1}}))

    assert (one(ToolCall, events).tool, one(ToolCall, events).tool_kind) == (
        "lookup",
        ToolKind.OTHER,
    )


def test_a_call_of_a_named_function_is_read() -> None:
    given = {"function": {"name": "shell", "arguments": '{"command": "ls"}'}, "result": "out"}
    events = printed(row("tool_call", "completed", call_id="c", tool_call=given))

    assert (one(ToolCall, events).tool, one(ToolCall, events).summary) == ("shell", "ls")
    assert one(ToolResult, events).output == "out"


# The end


def test_the_last_row_tells_the_end_and_the_tokens() -> None:
    usage = {"inputTokens": 5, "outputTokens": 3, "cacheReadTokens": 7, "cacheWriteTokens": 0}
    end = row("result", "success", is_error=False, result="ok", duration_ms=1500, usage=usage)
    events = printed(end)
    finish, total = one(Finish, events), ledger(events).told

    assert (finish.ok, finish.reason, finish.text, finish.seconds) == (True, "success", "ok", 1.5)
    assert (total.input, total.cache_read, total.cache_write, total.output) == (5, 7, 0, 3)


def test_every_request_of_a_resumed_session_is_counted() -> None:
    ends = [row("result", "success", request_id=r, usage={"outputTokens": 3}) for r in "ab"]

    assert ledger(printed(*ends)).told.output == 6


def test_an_end_without_tokens_counts_nothing() -> None:
    events = printed(row("result", "error", is_error=True, result="no"))

    assert one(Finish, events).ok is False
    assert not ledger(events).total.known


def test_a_row_of_an_unknown_type_is_unknown() -> None:
    assert one(Unknown, printed(row("interaction_query", "request"))).type == (
        "interaction_query/request"
    )


# Transcripts on disk


def spoken(role: str, *blocks: Any) -> Any:
    return {"role": role, "message": {"content": list(blocks)}}


def test_a_kept_transcript_tells_messages_and_calls() -> None:
    call = {"type": "tool_use", "name": "Write", "input": {"path": "p", "contents": "x"}}
    events = kept(spoken("user", {"type": "text", "text": "a"}), spoken("assistant", call))

    assert one(Message, events).text == "a"
    assert one(ToolCall, events).tool_kind is ToolKind.WRITE
    assert one(ToolCall, events).edits == (Edit("p", None, "x"),)


def test_a_file_of_a_sub_agent_belongs_to_it() -> None:
    name = "home/.cursor/projects/p/agent-transcripts/s/subagents/a-1.jsonl"

    assert {event.agent for event in kept(spoken("user", "hi"), "x", name=name)} == {"a-1"}


@pytest.mark.parametrize(("status", "ok"), [("success", True), ("error", False), ("new", None)])
def test_the_end_of_a_turn_is_told(status: str, ok: bool | None) -> None:
    assert one(Finish, kept({"type": "turn_ended", "status": status})).ok is ok


def test_blocks_of_an_unknown_type_are_unknown() -> None:
    events = kept(spoken("assistant", {"type": "hologram"}, 7), {"role": "critic"})

    assert [e.type for e in of(Unknown, events)] == ["block:hologram", "block:int", "critic"]


def test_a_message_without_content_is_a_trace() -> None:
    assert one(Trace, kept(spoken("assistant"))).type == "assistant"


# Against the corpus


@beside
def test_every_call_and_every_thought_of_the_corpus_is_told() -> None:
    for path in sorted((CORPUS / "cursor-stream").rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        events = read(STREAM, path.read_bytes())
        started = [r["call_id"] for r in rows if r.get("subtype") == "started"]
        thought = "".join(r.get("text", "") for r in rows if r["type"] == "thinking")

        assert sorted(call.call_id for call in of(ToolCall, events)) == sorted(started)
        assert sorted(r.call_id for r in of(ToolResult, events)) == sorted(started)
        assert "".join(thought.text for thought in of(Thought, events)) == thought
        assert all(call.edits for call in of(ToolCall, events) if call.tool == "edit")


@beside
def test_every_block_of_a_kept_transcript_of_the_corpus_is_an_event() -> None:
    for path in sorted((CORPUS / "cursor-transcript").rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        blocks = sum(len(row["message"]["content"]) for row in rows)

        assert len(read(TRANSCRIPT, path.read_bytes())) == blocks
