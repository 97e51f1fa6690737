"""What `codex exec --json` prints."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.edits import Files
from kbsite.fold.tokens import Ledger
from kbsite.harnesses import codex
from kbsite.harnesses.lines import lines
from kbsite.model.event import (
    AgentStart,
    Edit,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
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
from kbsite.model.usage import Usage

ROLLOUT, PRINTED = codex.FORMATS


def events(*rows: Any) -> list[Event]:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return list(PRINTED.parse(lines(io.BytesIO(data)), "stdout.jsonl"))


def started(kind: str, item_id: str = "item_1", **item: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"id": item_id, "type": kind, **item}}


def updated(kind: str, item_id: str = "item_1", **item: Any) -> dict[str, Any]:
    return {"type": "item.updated", "item": {"id": item_id, "type": kind, **item}}


def completed(kind: str, item_id: str = "item_1", **item: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": item_id, "type": kind, **item}}


def thread(thread_id: str) -> dict[str, Any]:
    return {"type": "thread.started", "thread_id": thread_id}


def turn(sent: int, cached: int, output: int) -> dict[str, Any]:
    counts = {"input_tokens": sent, "cached_input_tokens": cached, "output_tokens": output}
    return {"type": "turn.completed", "usage": counts}


def only(kind: type[Any], found: list[Event]) -> Any:
    (one,) = [event for event in found if isinstance(event, kind)]
    return one


def total(found: list[Event]) -> Usage:
    ledger = Ledger()
    for event in found:
        if isinstance(event, TokenUse):
            ledger.add(event)
    return ledger.total


def test_thread_is_the_session() -> None:
    assert only(Session, events(thread("t1"))).session_id == "t1"


def test_messages_and_reasoning_are_shown() -> None:
    found = events(completed("reasoning", text="Hm."), completed("agent_message", text="Done."))
    assert (only(Thought, found).text, only(Message, found).text) == ("Hm.", "Done.")


def test_command_is_a_call_and_a_result() -> None:
    command = "/bin/bash -lc 'ls -a'"
    found = events(
        started("command_execution", command=command, exit_code=None, status="in_progress"),
        completed("command_execution", command=command, aggregated_output="a\n", exit_code=0),
    )
    call, result = only(ToolCall, found), only(ToolResult, found)
    assert (call.tool_kind, call.summary, call.arguments) == (
        ToolKind.RUN,
        "ls -a",
        {"command": command},
    )
    assert (result.call_id, result.output, result.exit_code) == (call.call_id, "a\n", 0)
    assert result.is_error is False


def test_failed_command_is_an_error() -> None:
    found = events(completed("command_execution", command="x", exit_code=3, status="failed"))
    assert (only(ToolResult, found).exit_code, only(ToolResult, found).is_error) == (3, True)


def test_item_without_a_start_is_a_call_too() -> None:
    found = events(completed("command_execution", command="ls", aggregated_output="a"))
    assert [event.source.part for event in found] == [0, 1]
    assert only(ToolCall, found).summary == "ls"


def test_command_under_way_when_killed_has_no_result() -> None:
    found = events(started("command_execution", command="sleep 9"))
    assert [type(event) for event in found] == [ToolCall]


def test_file_change_names_files_but_not_what_changed_in_them() -> None:
    changes = [{"path": "a.py", "kind": "add"}, {"path": "b.py", "kind": "update"},
               {"path": "c.py", "kind": "delete"}]  # fmt: skip
    call = only(ToolCall, events(completed("file_change", changes=changes, status="completed")))
    files = Files()
    for path in "abc":
        files.apply(Edit(f"{path}.py", None, "x\n"))

    assert (call.tool_kind, call.summary) == (
        ToolKind.EDIT, "add a.py, update b.py, delete c.py"
    )  # fmt: skip
    assert [(diff.path, diff.action, diff.untold) for diff in files.applied(call.edits)] == [
        ("a.py", "add", True), ("b.py", "update", True), ("c.py", "delete", False)
    ]  # fmt: skip
    assert dict(files.known) == {}


def test_mcp_call_has_its_output() -> None:
    result = {"content": [{"type": "text", "text": "3 matches"}], "structured_content": {"n": 3}}
    found = events(
        completed("mcp_tool_call", server="gh", tool="find", arguments={"q": "x"}, result=result)
    )
    assert only(ToolCall, found).tool == "gh.find"
    assert only(ToolResult, found).output == "3 matches"
    assert only(ToolResult, found).recorded == {"structured_content": {"n": 3}}


@pytest.mark.parametrize(
    "result",
    [
        [{"content": [{"type": "text", "text": "2 matches"}]}],
        {"content": {"a": [{"type": "text", "text": "2 matches"}]}},
        {"content": {"text": "2 matches"}},
        "2 matches",
    ],
)
def test_a_result_of_an_unusual_shape_is_shown_as_it_is(result: object) -> None:
    found = events(completed("mcp_tool_call", server="gh", tool="find", result=result))

    assert any("2 matches" in getattr(e, "output", "") + getattr(e, "raw", "") for e in found)


def test_what_a_failed_mcp_call_gave_back_is_shown_below_its_error() -> None:
    result = {"content": [{"type": "text", "text": "half of it"}]}
    error = {"message": "timeout"}
    found = events(completed("mcp_tool_call", server="gh", tool="find", result=result, error=error))

    assert only(ToolResult, found).output == "timeout\nhalf of it"


def test_failed_mcp_call_has_its_error() -> None:
    found = events(
        completed(
            "mcp_tool_call",
            server="gh",
            tool="find",
            arguments=None,
            result=None,
            error={"message": "timeout"},
            status="failed",
        )
    )
    assert (only(ToolResult, found).output, only(ToolResult, found).is_error) == ("timeout", True)


def test_web_search_whose_query_comes_at_the_end_is_one_call() -> None:
    found = events(
        started("web_search", item_id="ws_1", query=""),
        completed("web_search", item_id="ws_1", query="softmax"),
    )
    assert only(ToolCall, found).summary == "softmax"


def test_spawned_agents_are_tied_to_the_call() -> None:
    found = events(
        started("collab_tool_call", tool="spawn_agent", receiver_thread_ids=[], prompt="Look"),
        completed(
            "collab_tool_call",
            tool="spawn_agent",
            receiver_thread_ids=["t2", "t3"],
            prompt="Look",
            agents_states={"t2": {"status": "pending_init"}},
        ),
    )
    starts = [event for event in found if isinstance(event, AgentStart)]
    assert [start.child for start in starts] == ["t2", "t3"]
    assert {start.call_id for start in starts} == {only(ToolCall, found).call_id}


def test_waiting_for_an_agent_tells_what_it_said() -> None:
    states = {"t2": {"status": "completed", "message": "done"}}
    found = events(completed("collab_tool_call", tool="wait", agents_states=states))
    assert "done" in only(ToolResult, found).output
    assert only(ToolCall, found).tool_kind is ToolKind.AGENT
    assert not [event for event in found if isinstance(event, AgentStart)]


def test_each_new_state_of_a_plan_is_a_call() -> None:
    first = [{"text": "a", "completed": False}]
    second = [{"text": "a", "completed": True}]
    found = events(
        started("todo_list", items=first),
        updated("todo_list", items=second),
        completed("todo_list", items=second),
    )
    calls = [event for event in found if isinstance(event, ToolCall)]
    assert [call.summary for call in calls] == ["0 of 1 done", "1 of 1 done"]
    assert len({call.call_id for call in calls}) == 2
    assert isinstance(found[-1], Trace)


def test_item_of_type_error_is_no_failure() -> None:
    assert only(Notice, events(completed("error", message="truncated"))).topic is Topic.NOTE


@pytest.mark.parametrize(
    ("message", "topic"),
    [("Reconnecting... 1/2 (401)", Topic.RETRY), ("unexpected status 401", Topic.ERROR)],
)
def test_error_row_is_a_retry_or_an_error(message: str, topic: Topic) -> None:
    assert only(Notice, events({"type": "error", "message": message})).topic is topic


def test_completed_turn_is_a_good_finish() -> None:
    assert only(Finish, events(turn(10, 0, 5))).ok is True


def test_failed_turn_is_a_bad_finish_with_the_error() -> None:
    finish = only(Finish, events({"type": "turn.failed", "error": {"message": "401"}}))
    assert (finish.ok, finish.text) == (False, "401")


def test_usage_is_converted_to_kinds_that_do_not_overlap() -> None:
    assert total(events(thread("t"), turn(100, 60, 7))) == Usage(input=40, cache_read=60, output=7)


def test_usage_of_a_later_turn_covers_the_earlier_ones() -> None:
    found = events(thread("t"), turn(100, 0, 7), thread("t"), turn(250, 0, 9))
    assert total(found) == Usage(input=250, cache_read=0, output=9)


def test_usage_of_several_threads_in_one_file_is_summed() -> None:
    found = events(thread("t1"), turn(100, 0, 7), thread("t2"), turn(30, 0, 2))
    assert total(found) == Usage(input=130, cache_read=0, output=9)


def test_a_session_that_goes_on_after_another_is_counted_once() -> None:
    both = thread("t1"), turn(100, 0, 7), thread("t2"), turn(30, 0, 2)
    found = events(*both, thread("t1"), turn(150, 0, 9))
    assert total(found) == Usage(input=180, cache_read=0, output=11)


def test_item_ids_of_a_second_invocation_are_kept_apart() -> None:
    item = completed("command_execution", command="ls")
    found = events(thread("t1"), item, thread("t1"), item)
    results = [event.call_id for event in found if isinstance(event, ToolResult)]
    calls = [event.call_id for event in found if isinstance(event, ToolCall)]
    assert results == calls
    assert len(set(calls)) == 2


@pytest.mark.parametrize(
    "row", [completed("future_item", foo=1), started("future_item"), {"type": "turn.paused"}, {}]
)
def test_unknown_rows_are_unknown(row: dict[str, Any]) -> None:
    assert only(Unknown, events(row)).raw == json.dumps(row)


def test_line_of_text_is_malformed_in_its_place() -> None:
    data = io.BytesIO(b'{"type": "turn.started"}\nERROR oh\n')
    first, second = PRINTED.parse(lines(data), "stdout.jsonl")
    assert isinstance(first, Trace)
    assert isinstance(second, Malformed)
    assert second.source.line == 2


@pytest.mark.parametrize(
    "row",
    [
        thread("t"),
        {"type": "turn.started"},
        turn(1, 0, 1),
        {"type": "turn.failed", "error": {"message": ""}},
        started("command_execution"),
    ],
)
def test_printed_rows_are_recognised_and_are_no_rollout(row: dict[str, Any]) -> None:
    assert PRINTED.recognises([row])
    assert not ROLLOUT.recognises([row])


@pytest.mark.parametrize(
    "row",
    [
        {"type": "thread.started"},
        {"type": "item.completed", "item": "x"},
        {"type": "turn.started", "payload": {}},
        {"type": "error", "message": "x"},
        {"type": "result"},
    ],
)
def test_other_rows_are_not_recognised(row: dict[str, Any]) -> None:
    assert not PRINTED.recognises([row])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
ITEMS = [
    "agent_message", "reasoning", "error", "command_execution", "file_change", "mcp_tool_call",
    "collab_tool_call", "web_search", "todo_list",
]  # fmt: skip
FIELDS = [
    "id", "text", "message", "command", "aggregated_output", "exit_code", "status", "changes",
    "server", "tool", "arguments", "result", "error", "query", "action", "items", "prompt",
    "receiver_thread_ids", "agents_states",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["item.started", "item.updated", "item.completed"]),
    st.sampled_from(ITEMS),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8),
)
def test_wrong_types_never_raise(kind: str, item: str, fields: dict[str, Any]) -> None:
    row = {"type": kind, "item": {"type": item, **fields}}
    assert {event.source.line for event in events(row, row)} == {1, 2}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["thread.started", "turn.completed", "turn.failed", "error", "x"]),
    st.dictionaries(st.sampled_from(["usage", "error", "message", "thread_id"]), JSON),
)
def test_wrong_types_outside_items_never_raise(kind: str, fields: dict[str, Any]) -> None:
    assert events({"type": kind, **fields})
