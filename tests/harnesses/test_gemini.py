"""Gemini CLI's session logs: the journal, the document, sub-agents, tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.steps import Fold
from kbsite.harnesses.form import matches
from kbsite.harnesses.gemini import FORMATS, HARNESS
from kbsite.model.event import (
    AgentStart,
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
from tests.harnesses.gemini_rows import (
    BESIDE_CAPTURES,
    CAPTURES,
    CHAT,
    CHILD_FILE,
    COUNTS,
    FILE,
    answered,
    called,
    captured,
    chat,
    document,
    gemini,
    head,
    patch,
    thought,
    user,
)
from tests.harnesses.reading import beside, ledger, of, one, read, read_rows

LOGS = sorted(CAPTURES.rglob("session-*.jsonl"))
every_log = pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parents[5].name)


def words(events: list[Any]) -> list[str]:
    return [message.text for message in of(Message, events)]


# Files


def test_the_session_log_comes_before_what_is_printed() -> None:
    assert [form.id for form in FORMATS] == ["gemini-chat", "gemini-stream"]
    assert HARNESS.id == "gemini"


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({"description": "echo one [current working directory /w] (Say it.)",
          "args": {"command": "echo one", "description": "Say it."}},
         "[current working directory /w]"),
        ({"description": "echo one"}, ""),
        ({"name": "write_file", "args": {"file_path": "/w/a.py", "content": "x"},
          "description": "Writing to a.py"}, ""),
        ({"name": "list_directory", "args": {"dir_path": "."}, "description": "."}, ""),
        ({"name": "get_node", "args": {"name": "a"}, "description": "Get a node."}, "Get a node."),
    ],
)  # fmt: skip
def test_what_a_call_is_described_as_is_told_where_its_arguments_do_not_say_it(
    held: dict[str, Any], told: str
) -> None:
    assert one(ToolCall, chat(gemini(toolCalls=[called(**held)]))).described == told


def test_what_each_call_of_a_tool_is_described_as_is_told_once() -> None:
    calls = [called(name, name="get_node", description="Get a node.") for name in ("c1", "c2")]
    found = of(ToolCall, chat(gemini(toolCalls=calls)))
    assert [call.described for call in found] == ["Get a node.", ""]


@pytest.mark.parametrize(
    ("name", "is_log"),
    [
        (FILE, True),
        (FILE.removesuffix("l"), True),
        (CHILD_FILE, True),
        ("chats/lone.json", True),
        ("home/.gemini/tmp/work/tool-outputs/session-1/c1.txt", False),
        ("home/.gemini/tmp/work/logs.json", False),
        ("home/.gemini/settings.json", False),
        ("stdout.jsonl", False),
    ],
)
def test_logs_are_told_from_side_files_by_their_place(name: str, is_log: bool) -> None:
    assert any(matches(name, glob) for glob in CHAT.globs) is is_log


@every_log
def test_every_line_of_a_captured_journal_has_an_event(path: Any) -> None:
    data = path.read_bytes()
    events = read(CHAT, data, FILE)

    filled = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {event.source.line for event in events} == filled
    assert len({event.source for event in events}) == len(events)
    assert not of(Unknown, events)


# A journal: messages are written again as they grow


def test_what_a_message_already_had_is_told_once() -> None:
    first = gemini("Look.", thoughts=[thought()])
    events = chat(first, first | {"toolCalls": [called()]})

    assert words(events) == ["Look."]
    assert one(Thought, events).text == "**Plan**\n\nfirst this"
    assert one(ToolCall, events).source.line == 3
    assert one(ToolResult, events).source.line == 3


def test_what_is_appended_moves_nothing_that_was_told() -> None:
    rows = [user(), gemini("Look."), gemini("Look.", toolCalls=[called()])]
    shorter, longer = chat(*rows[:2]), chat(*rows)

    assert longer[: len(shorter)] == shorter


def test_a_killed_session_keeps_the_message_that_it_was_at() -> None:
    events = chat(user(), gemini("Look.", thoughts=[thought()]))

    assert words(events) == ["do it", "Look."]
    assert ledger(events).total.sent == 1500


def test_a_call_is_told_at_once_and_its_result_when_it_comes() -> None:
    asked = called(result=None, status="executing", resultDisplay=None)
    events = chat(gemini(toolCalls=[asked]), gemini(toolCalls=[called()]))

    assert one(ToolCall, events).source.line == 2
    assert one(ToolResult, events).source.line == 3


def test_a_result_that_is_changed_later_is_not_told_twice_nor_lost() -> None:
    masked = called(output="(masked)")
    events = chat(gemini(toolCalls=[called()]), gemini(toolCalls=[masked]))

    assert one(ToolResult, events).output.startswith("Output: one")
    assert any("(masked)" in trace.raw for trace in of(Trace, events))


def test_a_message_that_is_written_again_unchanged_is_a_trace() -> None:
    events = chat(gemini("Look."), gemini("Look."))

    assert words(events) == ["Look."]
    assert one(Trace, events).type == "gemini, again"


def test_a_text_that_is_changed_later_is_shown_too() -> None:
    assert words(chat(gemini("Look."), gemini("Look again."))) == ["Look.", "Look again."]


def test_the_models_copy_of_a_known_result_is_a_trace() -> None:
    events = chat(gemini(toolCalls=[called()]), user([answered()], "u-2"))

    assert len(of(ToolResult, events)) == 1
    assert one(Trace, events).source.line == 3


def test_a_result_that_only_the_models_copy_has_is_told() -> None:
    result = one(ToolResult, chat(user([answered(call_id="lost", error="no such tool")])))

    assert (result.call_id, result.output, result.is_error) == ("lost", "no such tool", True)


def test_messages_of_a_patch_are_told_unless_they_are_known() -> None:
    context = user([{"text": "<session_context>\nlinux"}], "ctx")
    events = chat(patch(messages=[context], lastUpdated="now"), user(), patch(messages=[context]))

    assert words(events) == ["<session_context>\nlinux", "do it"]
    assert [message.injected for message in of(Message, events)] == [True, False]
    assert not of(Notice, events)


def test_a_patch_that_puts_new_messages_in_place_of_old_ones_is_a_compaction() -> None:
    summary = user([{"text": "<state_snapshot>short"}], "sum")
    events = chat(user(), patch(messages=[summary]))

    assert one(Notice, events).topic is Topic.COMPACTION
    assert words(events)[-1] == "<state_snapshot>short"


def test_a_session_that_is_taken_up_again_is_not_compacted() -> None:
    told = [user(), gemini("yes"), gemini("", "g-2", toolCalls=[called()])]
    note = {"id": "i-1", "type": "info", "content": "Hello"}
    answer = user([answered()], "g-2-response")
    resumed = patch(messages=[*told, answer])
    assert [n.text for n in of(Notice, chat(*told, note, head(), resumed))] == ["Hello"]
    # Nor is one whose last messages were taken back, nor twice what was compacted once.
    back = chat(*told, {"$rewindTo": "g-1"}, patch(messages=[user(), user("more", "u-2")]))
    assert [n.topic for n in of(Notice, back)] == [Topic.INTERRUPTION]
    summary = user([{"text": "<state_snapshot>short"}], "sum")
    after = [summary, user("more", "u-2")]
    events = chat(*told, patch(messages=[summary]), patch(messages=after))
    assert [n.topic for n in of(Notice, events)] == [Topic.COMPACTION]


def test_going_back_is_an_interruption_and_a_summary_a_note() -> None:
    events = chat({"$rewindTo": "u-1"}, patch(summary="A kernel"))

    assert [notice.topic for notice in of(Notice, events)] == [Topic.INTERRUPTION, Topic.NOTE]
    assert "A kernel" in of(Notice, events)[1].text


def test_where_a_session_goes_back_to_is_told_by_its_line() -> None:
    events = chat(head(), user("one"), gemini("yes"), user("two", "u-2"), {"$rewindTo": "u-2"})
    notice = one(Notice, events)

    line = next(e.source.line for e in of(Message, events) if e.text == "two")
    assert notice.text == (
        f"The session goes back to before line {line}, and on from there: the model sees nothing "
        "of what stands between any more. Files may have been put back."
    )
    assert notice.restores
    assert "before the message u-9," in one(Notice, chat({"$rewindTo": "u-9"})).text


def test_a_patch_of_an_unknown_key_is_unknown() -> None:
    assert one(Unknown, chat(patch(colour="red"))).type == "$set/colour"


@pytest.mark.parametrize(
    ("kind", "content", "topic"),
    [
        ("info", "Request cancelled.", Topic.INTERRUPTION),
        ("info", "Hello", Topic.NOTE),
        ("warning", "Careful", Topic.NOTE),
        ("error", [{"text": "Broken"}], Topic.ERROR),
    ],
)
def test_what_the_cli_tells_is_a_notice(kind: str, content: Any, topic: Topic) -> None:
    notice = one(Notice, chat(user(content) | {"type": kind}))

    assert notice.topic is topic
    assert notice.text in str(content)


def test_pictures_and_other_files_of_a_message_are_kept() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}
    events = chat(user([{"text": "see"}, picture, sound]))

    assert one(Message, events).images[0].data == "QUJD"
    assert "audio/wav" in one(Notice, events).text
    assert "UklGRg==" in one(Notice, events).raw


def test_a_picture_that_a_tool_read_is_shown_with_its_result_alone() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    read_it = gemini("Look.", toolCalls=[called(result=[answered(), picture])])
    events = chat(user(), read_it, user([answered(), picture], "u-2"), user([picture], "u-3"))

    assert one(ToolResult, events).images[0].data == "QUJD"
    assert [len(message.images) for message in of(Message, events)] == [0, 0, 1]


# Documents


def test_a_documents_events_stand_at_the_ordinals_of_its_messages() -> None:
    events = document(user(), gemini("Look.", toolCalls=[called()]))

    assert one(Session, events).source.line == 1
    assert [message.source.line for message in of(Message, events)] == [2, 3]


def test_the_layout_of_a_document_does_not_matter() -> None:
    messages = [user(), gemini("Look.", toolCalls=[called()])]

    assert document(*messages, indent=2) == document(*messages, indent=None)


def test_a_cut_document_is_malformed_as_a_whole() -> None:
    data = json.dumps(head() | {"messages": [user()]}, indent=2)[:-20]

    assert one(Malformed, read(CHAT, data, "chats/x.json")).text == data


def test_a_cut_row_of_a_journal_spares_the_others() -> None:
    data = '{"sessionId":"s\n' + json.dumps(user())

    events = read(CHAT, data, FILE)
    assert one(Malformed, events).source.line == 1
    assert words(events) == ["do it"]


@pytest.mark.parametrize("data", ["no JSON\nat all", "[1]", "\0\0", "{", b"\xff\xfe"])
def test_a_file_that_is_no_log_is_malformed(data: Any) -> None:
    assert all(isinstance(event, Malformed) for event in read(CHAT, data, "chats/x.json"))


# Calls and results


def test_the_exit_code_is_what_the_cli_wrote_below_the_output() -> None:
    told = "<untrusted_context>\nOutput: one\nExit Code: 3\nProcess Group PGID: 7\n"

    assert one(ToolResult, chat(gemini(toolCalls=[called(output=told)]))).exit_code == 3


def test_an_exit_code_that_the_command_printed_is_none() -> None:
    own = "one\nExit Code: 3"
    told = f"<untrusted_context>\nOutput: {own}\nProcess Group PGID: 7\n"
    call = called(output=told, resultDisplay=own)

    assert one(ToolResult, chat(gemini(toolCalls=[call]))).exit_code is None


def test_a_longer_copy_of_the_output_and_its_side_file_are_kept() -> None:
    told = "Output too large. Showing first 8,000\nFor full output see: /tmp/c1.txt\n1\n2"
    call = called(output=told, resultDisplay="1\n2\n3\n4")
    result = one(ToolResult, chat(gemini(toolCalls=[call])))

    assert result.recorded == "1\n2\n3\n4"
    assert result.side_files == ("/tmp/c1.txt",)


def test_a_copy_that_says_no_more_is_not_kept() -> None:
    assert one(ToolResult, chat(gemini(toolCalls=[called()]))).recorded == ""


def test_the_diff_of_an_edit_is_kept() -> None:
    shown = {"fileDiff": "--- a", "fileName": "a"}
    call = called(name="replace", args={"file_path": "a"}, resultDisplay=shown)

    assert one(ToolResult, chat(gemini(toolCalls=[call]))).recorded == shown


@pytest.mark.parametrize(
    ("more", "every"), [({}, False), ({"allow_multiple": True}, True),
                        ({"expected_replacements": 2}, True)]
)  # fmt: skip
def test_an_edit_says_whether_it_changes_every_occurrence(more: Any, every: bool) -> None:
    given_ = {"file_path": "a.py", "old_string": "x", "new_string": "y"} | more
    call = one(ToolCall, chat(gemini(toolCalls=[called(name="replace", args=given_)])))

    assert call.tool_kind is ToolKind.EDIT
    assert [edit.every for edit in call.edits] == [every]


@pytest.mark.parametrize(
    ("status", "is_error"), [("success", False), ("error", True), ("cancelled", True)]
)
def test_how_a_call_ended_is_told(status: str, is_error: bool) -> None:
    result = one(ToolResult, chat(gemini(toolCalls=[called(status=status)])))

    assert result.is_error is is_error
    assert result.at is not None
    assert result.at.second == 9


# Sub-agents


def test_the_call_names_the_sub_agent_that_it_started() -> None:
    call = called(name="invoke_agent", args={"agent_name": "helper"}, agentId="c-1")
    start = one(AgentStart, chat(gemini(toolCalls=[call])))

    assert (start.child, start.call_id, start.title) == ("c-1", "c1", "helper")


def test_the_rows_of_a_sub_agents_journal_are_its_own() -> None:
    events = read_rows(CHAT, head("c-1", kind="subagent"), user(), gemini("Hi."), name=CHILD_FILE)

    assert {event.agent for event in events} == {"c-1"}
    assert one(Session, events).parent_session == "s-1"


def test_a_sub_agents_journal_without_its_head_is_told_by_its_place() -> None:
    assert {event.agent for event in read_rows(CHAT, user(), name=CHILD_FILE)} == {"c-1"}


# Tokens


def test_cached_tokens_are_taken_off_the_input_and_thoughts_added_to_the_output() -> None:
    total = ledger(chat(gemini("Hi."))).total

    assert (total.input, total.cache_read, total.output, total.reasoning) == (1000, 500, 58, 8)


def test_a_message_that_is_written_again_counts_once() -> None:
    more = COUNTS | {"output": 60, "total": 1568}
    events = chat(gemini("Hi."), gemini("Hi.", tokens=more, toolCalls=[called()]))

    assert ledger(events).total.output == 68
    assert ledger(events).total.input == 1000


def test_a_message_without_a_count_makes_the_total_a_lower_bound() -> None:
    events = chat(gemini("Hi.", tokens=None))

    assert ledger(events).lower_bound
    assert not ledger(events).total.known


@pytest.mark.parametrize(
    ("rows", "less"),
    [([user(), gemini()], False), ([user(), gemini(), user("more", "u-2")], True),
     ([user(), gemini(), user("more", "u-2"), {"$rewindTo": "u-2"}], False)],
)  # fmt: skip
def test_a_request_that_no_row_answers_makes_the_total_a_lower_bound(rows: Any, less: bool) -> None:
    events = chat(*rows)
    assert ledger(events).lower_bound is less
    assert ledger(events).total == ledger(chat(*rows[:2])).total
    if "$rewindTo" not in rows[-1]:
        assert ledger(document(*rows)).lower_bound is less


def test_a_turn_that_no_model_wrote_counts_nothing() -> None:
    assert not of(TokenUse, chat(gemini("short", model=None, tokens=None)))


@beside
@pytest.mark.parametrize(
    "scenario",
    [path for path in sorted(BESIDE_CAPTURES.glob("*/")) if (path / "stdout.jsonl").is_file()],
    ids=lambda path: path.name,
)
def test_the_journals_count_what_the_cli_counts(scenario: Any) -> None:
    rows = [json.loads(line) for line in (scenario / "stdout.jsonl").read_bytes().splitlines()]
    told = next((row["stats"] for row in rows if row["type"] == "result"), None)
    if told is None:
        pytest.skip("killed before it told its total")
    total = ledger(captured(scenario)).total
    if scenario.name == "cut":
        assert not total.known, "an answer that broke off is in no journal"
        return

    thoughts = told["total_tokens"] - told["input_tokens"] - told["output_tokens"]
    assert (total.sent or 0) == told["input_tokens"]
    assert (total.cache_read or 0) == told["cached"]
    assert (total.output or 0) == told["output_tokens"] + thoughts


@beside
def test_a_captured_sub_agent_stands_below_its_call() -> None:
    fold = Fold()
    for event in captured(BESIDE_CAPTURES / "main"):
        fold.add(event)
    whole = fold.transcript("gemini-chat", "", ())
    (agents,) = [step.agents for step in whole.main.steps if step.agents]

    assert not whole.unlinked
    assert agents[0].title == "generalist"
    assert (agents[0].usage.sent, agents[0].usage.output) == (2500, 106)
    assert (whole.usage.sent, whole.usage.output, whole.usage.reasoning) == (55500, 1530, 120)


# Hostile input

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
RESPONSE = st.fixed_dictionaries(
    {}, optional={"id": JSON, "name": JSON, "response": JSON, "parts": st.lists(JSON)}
)
PART = JSON | st.fixed_dictionaries(
    {},
    optional={"text": JSON, "thought": JSON, "functionCall": JSON, "inlineData": JSON,
              "functionResponse": RESPONSE | JSON, "fileData": JSON},
)  # fmt: skip
CALL = JSON | st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", ""]) | JSON},
    optional={"name": JSON, "args": JSON, "result": JSON | st.lists(PART), "status": JSON,
              "resultDisplay": JSON, "agentId": JSON, "timestamp": JSON, "outputFile": JSON},
)  # fmt: skip
MESSAGE = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "gemini", "info", "error"]) | JSON},
    optional={"id": st.sampled_from(["1", "2"]) | JSON, "content": JSON | st.lists(PART),
              "thoughts": JSON, "tokens": JSON, "toolCalls": st.lists(CALL) | JSON,
              "model": st.just("m") | JSON, "displayContent": JSON, "timestamp": JSON},
)  # fmt: skip
ROW = MESSAGE | st.fixed_dictionaries(
    {},
    optional={"$set": JSON | st.fixed_dictionaries({"messages": st.lists(MESSAGE) | JSON}),
              "$rewindTo": JSON, "sessionId": JSON, "projectHash": JSON, "kind": JSON,
              "messages": st.lists(MESSAGE) | JSON, "directories": JSON},
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, max_size=5))
def test_no_row_whatever_raises_or_is_lost(rows: list[Any]) -> None:
    events = read_rows(CHAT, head(), *rows, name=FILE)
    places = [event.source for event in events]

    assert {source.line for source in places} == set(range(1, len(rows) + 2))
    assert len(set(places)) == len(places)


@settings(max_examples=100, deadline=None)
@given(st.lists(MESSAGE, max_size=4))
def test_no_document_whatever_raises_or_loses_a_message(messages: list[Any]) -> None:
    places = [event.source for event in document(*messages)]

    assert {source.line for source in places} == set(range(1, len(messages) + 2))
    assert len(set(places)) == len(places)
