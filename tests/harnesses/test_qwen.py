"""Qwen Code's session logs: rows, results, sub-agents, tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.steps import Fold
from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.qwen import FORMATS, HARNESS
from kbsite.harnesses.qwen.vocabulary import SYSTEM_NOTICES, SYSTEM_TRACES
from kbsite.model.event import (
    AgentStart,
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from tests.harnesses.qwen_rows import (
    CAPTURES,
    CHILD_FILE,
    COUNTS,
    FILE,
    NOTE_FILE,
    SCENARIOS,
    SESSION,
    STREAM,
    answered,
    asked,
    assistant,
    captured,
    logged,
    note,
    printed,
    response,
    row,
    said,
    system,
    telemetry,
    user,
)
from tests.harnesses.reading import beside, ledger, of, one, read, read_rows

LOGS = sorted(CAPTURES.rglob("*.jsonl"))


# Files


def test_the_session_log_comes_before_what_is_printed() -> None:
    assert [form.id for form in FORMATS] == ["qwen-session", "qwen-stream"]
    assert HARNESS.id == "qwen"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (FILE, SESSION),
        (CHILD_FILE, SESSION),
        (NOTE_FILE, SESSION),
        ("session/lone.jsonl", SESSION),
        ("stdout.jsonl", STREAM),
        ("home/.qwen/usage_record.jsonl", None),
        ("home/.qwen/projects/-workspace/meta.json", None),
        ("home/.qwen/tmp/0a/run_shell_command_1f.output", None),
    ],
)
def test_files_are_told_by_their_place(name: str, form: Format | None) -> None:
    found = [f for f in FORMATS if any(matches(name, glob) for glob in f.globs)]

    assert found == ([form] if form else [])


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.name[:6]}")
def test_every_captured_line_has_an_event(path: Any) -> None:
    data = path.read_bytes()
    form = STREAM if path.name == "stdout.jsonl" else SESSION
    events = read(form, data, path.name)

    filled = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {event.source.line for event in events} == filled
    assert len({event.source for event in events}) == len(events)
    assert not of(Unknown, events)


def test_a_cut_last_row_is_malformed() -> None:
    events = read(SESSION, json.dumps(user()) + '\n{"uuid":"2","typ', FILE)

    assert one(Malformed, events).source.line == 2
    assert one(Message, events).text == "do it"


# What is said


def test_a_row_is_read_part_by_part_in_its_order() -> None:
    events = logged(assistant({"text": "Hm.", "thought": True}, {"text": "Go."}, asked()))

    assert [event.kind for event in events] == ["session", "thought", "message", "call", "usage"]
    assert one(Thought, events).text == "Hm."
    assert one(Message, events).model == "m-1"
    assert one(ToolCall, events).tool_kind is ToolKind.RUN


def test_a_thought_without_words_is_encrypted() -> None:
    assert one(Thought, logged(assistant({"thought": True, "thoughtSignature": "x"}))).encrypted


@pytest.mark.parametrize(
    ("more", "injected"),
    [
        ({}, False),
        ({"provenance": "system", "subtype": "notification"}, True),
        ({"provenance": "goal_runtime"}, True),
        ({"provenance": None}, False),
    ],
)
def test_what_the_cli_put_in_the_users_place_is_injected(more: Any, injected: bool) -> None:
    message = one(Message, logged(user(**more)))

    assert message.role is Role.USER
    assert message.injected is injected


def test_the_session_is_told_once() -> None:
    session = one(Session, logged(user(), assistant({"text": "Hi."})))

    assert (session.session_id, session.harness_version, session.cwd) == (
        "s-1", "0.24.4", "/workspace",
    )  # fmt: skip


def test_a_part_of_another_kind_is_unknown() -> None:
    assert one(Unknown, logged(user(), row("user", {"song": 1}))).type == "part:song"


@pytest.mark.parametrize("subtype", sorted(SYSTEM_TRACES))
def test_bookkeeping_is_a_trace(subtype: str) -> None:
    assert one(Trace, logged(system(subtype, x=1))).type == f"system/{subtype}"


def test_a_total_that_stands_before_its_message_holds_it() -> None:
    held = ledger(logged(user(), response(), assistant({"text": "yes"})))
    assert (held.total.sent, held.lower_bound) == (1500, False)
    # A message that no total tells of is not in it.
    assert ledger(
        logged(
            user(),
            response(),
            assistant({"text": "yes"}),
            assistant({"text": "and"}, uuid="3", usageMetadata=COUNTS | {"promptTokenCount": 9000}),
        )
    ).lower_bound


@pytest.mark.parametrize(
    ("parent", "where", "gone"),
    [
        ("2", "to line 2", "lines 3 to 4"),
        (None, "to its begin", "lines 1 to 4"),
        ("9", "far back", "what stands between"),
    ],
)
def test_where_a_session_goes_back_to_is_told(parent: str | None, where: str, gone: str) -> None:
    back = system("rewind", truncatedCount=2) | {"uuid": "5", "parentUuid": parent}
    events = read_rows(
        SESSION, user(), assistant({"text": "yes"}), user("more", uuid="3"),
        assistant({"text": "no"}, uuid="4"), back, user("anew", uuid="6"), name=FILE,
    )  # fmt: skip
    notice = one(Notice, events)

    assert notice.text == (
        f"The session goes back {where}, and on from there: the model sees nothing of {gone} any "
        "more. Files may have been put back."
    )
    assert (notice.topic, notice.restores) == (Topic.INTERRUPTION, True)


@pytest.mark.parametrize("subtype", sorted(SYSTEM_NOTICES))
def test_what_the_cli_tells_is_a_notice(subtype: str) -> None:
    topic, keys = SYSTEM_NOTICES[subtype]
    notice = one(Notice, logged(system(subtype, **dict.fromkeys(keys or ("x",), "told"))))

    assert notice.topic is topic
    assert "told" in notice.text
    assert "told" in notice.raw


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (row("song"), "song"),
        (system("song"), "system/song"),
        (telemetry("song"), "system/ui_telemetry/song"),
    ],
)
def test_rows_of_unknown_types_are_unknown(held: Any, kind: str) -> None:
    assert one(Unknown, logged(held)).type == kind


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"error_message": "401 no", "status_code": 401, "error_type": "Auth"}, "401 no (Auth)"),
        ({"error_message": "no", "status_code": 500}, "500 no"),
        ({}, "request failed"),
    ],
)
def test_a_request_that_failed_is_an_error(event: Any, told: str) -> None:
    notice = one(Notice, logged(telemetry("api_error", **event)))

    assert (notice.topic, notice.text) == (Topic.ERROR, told)


FAILED = telemetry("api_error", error_type="APIError", prompt_id="s########0")


def test_a_session_whose_last_request_failed_ended_with_an_error() -> None:
    end = one(Finish, logged(user(), FAILED, FAILED))

    assert (end.ok, end.reason, end.source.line) == (False, "APIError", 3)


@pytest.mark.parametrize(
    "rows",
    [
        (user(), FAILED, assistant({"text": "Done."})),
        (user(), FAILED, user()),
        (user(), assistant({"text": "Done."}), FAILED),
        (user(), telemetry("api_error", prompt_id="s#general-purpose-1#0")),
    ],
    ids=["answered", "asked anew", "beside the session", "of a sub-agent"],
)
def test_an_error_after_which_nothing_is_owed_ends_no_session(rows: Any) -> None:
    assert not of(Finish, logged(*rows))


# Results


def test_the_exit_code_is_the_clis_own() -> None:
    held = answered("Output: x\nExit Code: 4", resultDisplay={"exitCode": 3, "output": "x"})

    assert one(ToolResult, logged(held)).exit_code == 3


def test_without_it_the_exit_code_is_what_the_model_was_told() -> None:
    assert one(ToolResult, logged(answered("Output: x\nExit Code: 4"))).exit_code == 4


@pytest.mark.parametrize("code", [True, "3", 10**40, None, [], {}])
def test_an_exit_code_that_is_none_is_none(code: Any) -> None:
    held = answered("x\nExit Code: 4", resultDisplay={"exitCode": code})

    assert one(ToolResult, logged(held)).exit_code is None


def test_how_long_a_call_took_is_told_by_an_earlier_row() -> None:
    took = telemetry("tool_call", call_id="c1", duration_ms=250, prompt_id="s########0")

    assert one(ToolResult, logged(took, answered())).seconds == 0.25


def test_a_sub_agents_call_of_the_same_id_does_not_tell_it() -> None:
    took = telemetry("tool_call", call_id="c1", duration_ms=250, prompt_id="s#helper-c9#0")

    assert one(ToolResult, logged(took, answered())).seconds is None


def test_a_sub_agents_result_tells_itself_how_long_it_took() -> None:
    assert one(ToolResult, logged(answered(durationMs=31))).seconds == 0.031


@pytest.mark.parametrize(
    ("kept", "key", "is_error"),
    [
        ({"status": "success"}, "output", False),
        ({"status": "error"}, "error", True),
        ({"status": "cancelled"}, "output", True),
        ({"status": None}, "error", True),
        ({"status": None}, "output", False),
    ],
)
def test_whether_a_call_failed_is_told(kept: Any, key: str, is_error: bool) -> None:
    result = one(ToolResult, logged(answered("x", key=key, **kept)))

    assert (result.is_error, result.output) == (is_error, "x")


def test_the_clis_longer_copy_and_its_side_files_are_kept() -> None:
    shown = {"type": "shell_result", "output": "1\n2\n3", "outputFiles": ["/tmp/o"], "exitCode": 0}
    output = "Tool output was too large\nThe full output has been saved to: /tmp/p\n1"
    result = one(ToolResult, logged(answered(output, resultDisplay=shown)))

    assert result.recorded == shown
    assert result.side_files == ("/tmp/o", "/tmp/p")


def test_a_copy_that_says_no_more_is_not_kept() -> None:
    shown: dict[str, Any] = {"type": "shell_result", "output": "one", "error": None, "notices": []}

    assert one(ToolResult, logged(answered(resultDisplay=shown))).recorded == ""


def test_the_diff_of_an_edit_is_kept() -> None:
    shown = {"fileDiff": "--- a", "fileName": "a"}

    assert one(ToolResult, logged(answered(resultDisplay=shown))).recorded == shown


def test_an_edit_is_read_from_its_call() -> None:
    call = asked(name="edit", file_path="a", old_string="x", new_string="y", replace_all=True)
    (edit,) = one(ToolCall, logged(assistant(call))).edits

    assert (edit.path, edit.old, edit.new, edit.every) == ("a", "x", "y", True)


# Sub-agents


def test_the_note_beside_a_sub_agents_file_names_the_call() -> None:
    events = read(SESSION, json.dumps(note(), indent=2), NOTE_FILE)
    start = one(AgentStart, events)

    assert (start.child, start.call_id, start.title) == ("helper-c9", "c9", "child task")
    assert start.agent == ""
    assert one(Trace, events).type == "agent-meta"


def test_a_sub_agent_of_a_sub_agent_is_started_by_it() -> None:
    events = read_rows(SESSION, note(parentAgentId="helper-c8"), name=NOTE_FILE)

    assert one(AgentStart, events).agent == "helper-c8"


def test_a_note_that_names_no_call_starts_nothing() -> None:
    assert not of(AgentStart, read_rows(SESSION, note(toolUseId=None), name=NOTE_FILE))


def test_a_sub_agents_rows_are_its_own() -> None:
    held = user(isSidechain=True, agentId="helper-c9")
    events = logged(held, name="session/other.jsonl")

    assert {event.agent for event in events} == {"helper-c9"}
    assert one(Session, events).parent_session == "s-1"


def test_a_sub_agents_rows_without_its_id_are_told_by_their_file() -> None:
    assert {event.agent for event in logged(user(), name=CHILD_FILE)} == {"helper-c9"}


# Tokens


def test_a_sub_agents_tokens_stand_at_the_call_that_they_were_spent_on() -> None:
    beside: dict[str, Any] = {"isSidechain": True, "agentId": "helper-c9"}
    call = {"usageMetadata": None, **beside}
    rows = [
        user(**beside),
        assistant({"text": "first"}, uuid="2", **beside), assistant(asked("c1"), uuid="3", **call),
        answered(call_id="c1") | beside,
        # Its model said nothing: the count has a row of its own.
        assistant(uuid="4", **beside), assistant(asked("c2"), uuid="5", **call),
        answered(call_id="c2") | beside,
        assistant({"text": "no count"}, uuid="6", **call),
    ]  # fmt: skip
    fold = Fold()
    for event in logged(*rows, name=CHILD_FILE):
        fold.add(event)
    whole = fold.transcript("", "", ())
    (log,) = whole.unlinked
    sent = {s.event.call_id: s.usage.sent for s in log.steps if isinstance(s.event, ToolCall)}
    assert sent == {"c1": 1500, "c2": 1500}
    assert sum(step.usage.sent or 0 for step in log.steps) == whole.usage.sent == 3000


def test_cached_tokens_are_taken_off_the_input() -> None:
    total = ledger(logged(assistant({"text": "Hi."}))).total

    assert (total.input, total.cache_read, total.output, total.reasoning) == (1000, 500, 50, 8)


def test_thoughts_that_are_counted_beside_the_output_are_added_to_it() -> None:
    counts = COUNTS | {"totalTokenCount": 1558}

    assert ledger(logged(assistant({"text": "Hi."}, usageMetadata=counts))).total.output == 58


def test_the_total_is_that_of_all_answered_requests() -> None:
    background = response(subagent_id="memory-1")
    events = logged(response(), assistant({"text": "Hi."}), background)

    assert ledger(events).counted.sent == 1500
    assert ledger(events).total.sent == 3000
    assert ledger(events).total.reasoning == 16


def test_the_totals_of_two_sessions_in_a_file_are_added_up() -> None:
    assert ledger(logged(response(), response() | {"sessionId": "s-2"})).total.sent == 3000


def test_without_the_clis_own_rows_messages_are_added_up() -> None:
    events = logged(assistant({"text": "a"}), assistant({"text": "b"}, uuid="3"))

    assert ledger(events).total.sent == 3000


@beside
@pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=[f"{p.parent.name[16:]}{p.name}" for p in SCENARIOS]
)
def test_the_logs_count_what_the_cli_counts(scenario: Any) -> None:
    lines = (scenario / "stdout.jsonl").read_bytes().splitlines()
    printed_rows = [json.loads(line) for line in lines]
    told = next((row["usage"] for row in printed_rows if row["type"] == "result"), None)
    if told is None:
        pytest.skip("killed before it told its total")
    total = ledger(captured(scenario)).total

    assert (total.sent or 0) == told["input_tokens"]
    assert (total.cache_read or 0) == told["cache_read_input_tokens"]
    assert (total.output or 0) == told["output_tokens"]


@beside
def test_a_captured_sub_agent_stands_below_its_call() -> None:
    (scenario, *_) = (path for path in SCENARIOS if path.name == "main")
    fold = Fold()
    for event in captured(scenario):
        fold.add(event)
    whole = fold.transcript("qwen-session", "", ())
    (agents,) = [step.agents for step in whole.main.steps if step.agents]

    assert not whole.unlinked
    assert agents[0].title == "child task"
    assert (agents[0].usage.sent, agents[0].usage.output) == (2500, 90)
    assert (whole.usage.sent, whole.usage.cache_read, whole.usage.output) == (47000, 34000, 1200)


# Hostile input

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
PART = JSON | st.fixed_dictionaries(
    {},
    optional={"text": JSON, "thought": JSON, "functionResponse": JSON, "fileData": JSON,
              "functionCall": JSON | st.fixed_dictionaries({"name": JSON, "args": JSON})},
)  # fmt: skip
EVENT = st.fixed_dictionaries(
    {"event.name": st.sampled_from(["qwen-code.api_response", "qwen-code.tool_call",
                                    "qwen-code.api_error"]) | JSON},
    optional={"input_token_count": JSON, "duration_ms": JSON, "call_id": JSON, "prompt_id": JSON,
              "error_message": JSON, "status_code": JSON},
)  # fmt: skip
ROW = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "tool_result", "system"]) | JSON},
    optional={"message": JSON | st.fixed_dictionaries({"parts": JSON | st.lists(PART)}),
              "subtype": st.sampled_from(["ui_telemetry", *SYSTEM_NOTICES]) | JSON,
              "systemPayload": JSON | st.fixed_dictionaries({"uiEvent": EVENT | JSON}),
              "toolCallResult": JSON | st.fixed_dictionaries({"resultDisplay": JSON}),
              "usageMetadata": JSON, "agentId": JSON, "isSidechain": JSON, "sessionId": JSON,
              "provenance": JSON, "uuid": JSON, "model": JSON, "timestamp": JSON},
)  # fmt: skip
BLOCK = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image"]) | JSON},
    optional={"text": JSON, "thinking": JSON, "id": JSON, "name": JSON, "input": JSON,
              "content": JSON | st.lists(JSON), "source": JSON, "is_error": JSON},
)  # fmt: skip
PRINTED = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["system", "assistant", "user", "result", "stream_event"]) | JSON},
    optional={"message": JSON | st.fixed_dictionaries({"content": JSON | st.lists(BLOCK)}),
              "parent_tool_use_id": JSON, "subtype": st.sampled_from(["init", "retry"]) | JSON,
              "data": JSON, "usage": JSON, "is_error": JSON, "error": JSON, "tools": JSON,
              "session_id": JSON, "duration_ms": JSON},
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(ROW, max_size=5))
def test_no_row_of_a_log_whatever_raises_or_is_lost(rows: list[Any]) -> None:
    places = [event.source for event in logged(*rows)]

    assert {source.line for source in places} == set(range(1, len(rows) + 1))
    assert len(set(places)) == len(places)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(PRINTED, max_size=5))
def test_no_printed_row_whatever_raises_or_is_lost(rows: list[Any]) -> None:
    places = [event.source for event in printed(*rows)]

    assert {source.line for source in places} == set(range(1, len(rows) + 1))
    assert len(set(places)) == len(places)


@settings(max_examples=60, deadline=None)
@given(value=ROW | st.dictionaries(st.sampled_from(["agentId", "toolUseId", "createdAt"]), JSON))
def test_no_note_whatever_raises(value: Any) -> None:
    assert read(SESSION, json.dumps(value, indent=1), NOTE_FILE)


def test_a_printed_message_and_a_logged_one_say_the_same() -> None:
    there = one(Message, printed(said({"type": "text", "text": "Hi."})))
    here = one(Message, logged(assistant({"text": "Hi."})))

    assert (there.text, there.role, there.model) == (here.text, here.role, here.model)
