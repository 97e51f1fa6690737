"""What pi keeps of a session, as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.harnesses.form import Format
from kbsite.harnesses.pi import FORMATS
from kbsite.model.event import (
    Event,
    Finish,
    Image,
    Malformed,
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
from kbsite.model.usage import Usage
from tests.harnesses.reading import beside, corpus, ledger, of, one, read, read_rows

SESSION, PRINTED = FORMATS
AT = "2026-04-24T20:34:05.190Z"
START = {"type": "session", "version": 3, "id": "s-1", "timestamp": AT, "cwd": "/w"}
MODEL = {"type": "model_change", "id": "a1", "parentId": None, "provider": "p", "modelId": "m-1"}
LEVEL = {"type": "thinking_level_change", "id": "a2", "parentId": "a1", "thinkingLevel": "high"}


def entry(kind: str, name: str = "e1", parent: str | None = None, **keys: Any) -> Any:
    return {"type": kind, "id": name, "parentId": parent, "timestamp": AT, **keys}


def said(role: str, content: Any = (), *, name: str = "e1", parent: str = "", **keys: Any) -> Any:
    held = {"role": role, "content": content, "timestamp": 1777062844994, **keys}
    return entry("message", name, parent or None, message=held)


def text(told: str) -> Any:
    return {"type": "text", "text": told}


def answer(*blocks: Any, stop: str = "toolUse", **keys: Any) -> Any:
    return said("assistant", list(blocks), model="m-1", stopReason=stop, **keys)


def kept(*rows: Any) -> list[Event]:
    return read_rows(SESSION, *rows, name="session/s-1.jsonl")


def printed(*rows: Any) -> list[Event]:
    return read_rows(PRINTED, *rows, name="stdout.jsonl")


# The start


def test_a_session_tells_what_it_starts_with() -> None:
    events = kept(START, MODEL, LEVEL, said("user", "go"))
    session = one(Session, events)

    assert (session.session_id, session.cwd) == ("s-1", "/w")
    assert (session.model, session.effort) == ("m-1", "high")
    assert session.at is not None
    assert [type(event) for event in events] == [Session, Trace, Trace, Message]


def test_a_model_that_was_replaced_before_the_first_prompt_is_not_named() -> None:
    other = {"type": "model_change", "id": "a3", "parentId": "a1", "model": "maker/m-2"}

    assert one(Session, kept(START, MODEL, other, said("user", "go"))).model == "m-2"


def test_a_name_before_the_settings_does_not_end_the_start() -> None:
    events = kept(START, entry("session_info", name="a name"), MODEL, LEVEL, said("user", "go"))
    session = one(Session, events)

    assert (session.model, session.effort) == ("m-1", "high")
    assert [trace.type for trace in of(Trace, events)] == [
        "session_info", "model_change", "thinking_level_change",
    ]  # fmt: skip


def test_a_prompt_in_sections_is_injected() -> None:
    sections = {"preamble": "You are pi.", "skills": None, "cwd": "/w"}
    message = one(Message, kept(said("system", "", sections=sections)))

    assert (message.text, message.role, message.injected) == (
        "You are pi.\n\n(no more: skills)\n\n/w", Role.SYSTEM, True,
    )  # fmt: skip


def test_the_first_logs_name_model_and_level_in_their_first_row() -> None:
    session = one(Session, kept(START | {"modelId": "m-0", "thinkingLevel": "off"}))

    assert (session.model, session.effort) == ("m-0", "off")


def test_a_session_that_ends_at_its_settings_is_told_all_the_same() -> None:
    assert [type(event) for event in kept(START, MODEL)] == [Session, Trace]


def test_changes_between_messages_are_told() -> None:
    rows = [START, said("user", "go"), MODEL | {"parentId": "e1"}, LEVEL]
    notices = of(Notice, kept(*rows))

    assert [notice.text for notice in notices] == [
        "The model is now m-1.",
        "The thinking level is now high.",
    ]


# Messages


def test_people_and_the_model_speak() -> None:
    events = kept(said("user", "do it"), answer(text("done")))

    assert [(m.role, m.text, m.model) for m in of(Message, events)] == [
        (Role.USER, "do it", ""),
        (Role.ASSISTANT, "done", "m-1"),
    ]
    assert all(message.at for message in of(Message, events))


@pytest.mark.parametrize(
    ("row", "injected"),
    [
        (said("user", "x"), False),
        (said("user", "x", attribution="user"), False),
        (said("user", "x", attribution="agent"), True),
        (said("user", "x", synthetic=True), True),
        (said("custom", "x", customType="t"), True),
        (said("hookMessage", [text("x")]), True),
        (said("developer", "x"), True),
        (entry("custom_message", content="x", customType="t"), True),
        (entry("custom_message", content=[text("x")], display=False), True),
    ],
)
def test_what_no_person_wrote_is_injected(row: Any, injected: bool) -> None:
    message = one(Message, kept(row))

    assert (message.text, message.injected) == ("x", injected)


def test_thinking_is_a_thought() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
              {"type": "thinking", "thinking": "", "thinkingSignature": "s"},
              {"type": "thinking", "thinking": ""}]  # fmt: skip
    thoughts = of(Thought, kept(answer(*blocks)))

    assert [(t.text, t.encrypted) for t in thoughts] == [("hm", False), ("", True), ("", False)]


def test_a_picture_in_a_prompt_is_an_image() -> None:
    block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}

    assert one(Message, kept(said("user", [block]))).images == (Image("image/png", "AAAA"),)


def test_a_compaction_is_a_notice_with_the_summary() -> None:
    rows = [entry("compaction", summary="so far"), said("compactionSummary", summary="so far")]
    notices = of(Notice, kept(*rows))

    assert [(n.topic, n.text) for n in notices] == [(Topic.COMPACTION, "so far")] * 2


@pytest.mark.parametrize(
    ("replacement", "told"),
    [(None, []), ("short", ["The model sees entry e9 as:\nshort"])],
)
def test_what_the_model_sees_in_place_of_an_entry_is_a_note(
    replacement: Any, told: list[str]
) -> None:
    events = kept(entry("context_edit", targetId="e9", replacement=replacement))

    assert [notice.text for notice in of(Notice, events)] == told
    assert of(Unknown, events) == []


def test_the_summary_of_a_branch_is_a_note() -> None:
    rows = [entry("branch_summary", summary="tried"), said("branchSummary", summary="tried")]

    assert [(n.topic, n.text) for n in of(Notice, kept(*rows))] == [(Topic.NOTE, "tried")] * 2


def test_the_state_of_extensions_is_a_trace_that_names_its_type() -> None:
    traces = of(Trace, kept(entry("custom", customType="t", data={}), entry("label")))

    assert [trace.type for trace in traces] == ["custom:t", "label"]


# Calls


def called(tool: str, **given: Any) -> Any:
    return {"type": "toolCall", "id": "c1", "name": tool, "arguments": given}


def result(told: Any, tool: str = "bash", **keys: Any) -> Any:
    return said("toolResult", told, toolCallId="c1", toolName=tool, **keys)


def test_a_call_and_its_result_are_joined_by_id() -> None:
    fold = Fold()
    for event in kept(answer(called("bash", command="ls")), result([text("a")], isError=False)):
        fold.add(event)
    (step,) = fold.transcript("", "", ()).main.steps

    assert isinstance(step.event, ToolCall)
    assert (step.event.tool_kind, step.event.summary) == (ToolKind.RUN, "ls")
    assert step.result is not None
    assert (step.result.output, step.result.is_error) == ("a", False)


@pytest.mark.parametrize(
    ("tool", "given", "edits"),
    [
        ("write", {"path": "p", "content": "x"}, [("p", None, "x")]),
        ("edit", {"path": "p", "oldText": "x", "newText": "y"}, [("p", "x", "y")]),
        ("edit", {"path": "p", "edits": [{"oldText": "x", "newText": "y"}]}, [("p", "x", "y")]),
        ("edit", {"path": "p", "input": "lines by their own marks"}, [("p", None, "")]),
        ("read", {"path": "p"}, []),
    ],
)
def test_edits_are_told(tool: str, given: Any, edits: Any) -> None:
    call = one(ToolCall, kept(answer(called(tool, **given))))

    assert [(edit.path, edit.old, edit.new) for edit in call.edits] == edits


@pytest.mark.parametrize(
    ("tool", "told", "code"),
    [
        ("bash", "no\n\nCommand exited with code 2", 2),
        ("bash", "Command exited with code 127", 127),
        ("bash", "Command exited with code 2\nand more", None),
        ("read", "Command exited with code 2", None),
        ("bash", "Command exited with code " + "9" * 20, None),
    ],
)
def test_a_command_that_failed_tells_its_exit_code(tool: str, told: str, code: int | None) -> None:
    assert one(ToolResult, kept(result([text(told)], tool, isError=True))).exit_code == code


def test_a_result_of_several_parts_loses_none() -> None:
    parts = [text("a"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}, text("b"), 7]
    held = one(ToolResult, kept(result(parts)))

    assert held.output == "a\nb"
    assert held.images == (Image("image/png", "AAAA"),)
    assert held.recorded == {"content": [7]}


@pytest.mark.parametrize(
    ("details", "recorded"),
    [
        (None, ""),
        ({}, ""),
        ({"timeoutSeconds": 3, "fullOutputPath": "/t/1"}, ""),
        ({"diff": "+1", "empty": [], "same": "a"}, {"diff": "+1"}),
        ("text", {"details": "text"}),
    ],
)
def test_details_are_kept_where_they_say_more(details: Any, recorded: Any) -> None:
    assert one(ToolResult, kept(result([text("a")], details=details))).recorded == recorded


def test_the_time_that_a_tool_took_is_told() -> None:
    assert one(ToolResult, kept(result("a", durationMs=1500))).seconds == 1.5


def test_the_file_with_the_whole_output_is_named() -> None:
    held = one(ToolResult, kept(result("a", details={"fullOutputPath": "/t/1"})))

    assert (held.output, held.side_files) == ("a", ("/t/1",))


@pytest.mark.parametrize(
    ("keys", "failed", "code"),
    [
        ({"exitCode": 0}, False, 0),
        ({"exitCode": 3}, True, 3),
        ({"cancelled": True}, True, None),
        ({}, None, None),
    ],
)
def test_a_command_of_a_person_is_a_call_with_its_result(
    keys: Any, failed: bool | None, code: int | None
) -> None:
    events = kept(said("bashExecution", command="ls", output="a", **keys))
    call, held = one(ToolCall, events), one(ToolResult, events)

    assert (call.tool, call.tool_kind, call.summary) == ("bashExecution", ToolKind.RUN, "ls")
    assert (held.call_id, held.output) == (call.call_id, "a")
    assert (held.is_error, held.exit_code) == (failed, code)


# Tokens, ends, branches

USAGE = {
    "input": 6, "output": 113, "cacheRead": 70, "cacheWrite": 2547, "totalTokens": 2736,
    "cost": {"input": 0.1, "total": 0.25},
}  # fmt: skip


def test_each_message_is_counted_once() -> None:
    first = answer(text("a"), text("b"), usage=USAGE, responseId="r1")
    events = kept(first, first, answer(text("c"), name="e2", usage=USAGE))
    held = ledger(events)

    assert (held.total.input, held.total.output) == (12, 226)
    assert (held.total.cache_read, held.total.cache_write) == (140, 5094)
    assert held.cost_usd == 0.5
    assert not held.lower_bound
    assert [use.model for use in of(TokenUse, events)] == ["m-1"] * 3


def test_a_cost_of_nothing_is_no_price() -> None:
    held = ledger(kept(answer(usage=USAGE | {"cost": {"total": 0}})))

    assert held.cost_usd is None


@pytest.mark.parametrize(("told", "reasoning"), [(13, 13), (114, None), (None, None)])
def test_reasoning_is_a_part_of_the_output(told: Any, reasoning: int | None) -> None:
    assert one(TokenUse, kept(answer(usage=USAGE | {"reasoning": told}))).usage.reasoning == (
        reasoning
    )


def test_what_was_asked_beside_the_messages_is_counted() -> None:
    rows = [
        entry("usage", "u1", model="m-1", usage=USAGE),
        entry("compaction", "u2", summary="s", usage=USAGE), entry("usage", "u3"),
    ]  # fmt: skip
    events = kept(*rows)

    assert ledger(events).total.output == 226
    assert [trace.type for trace in of(Trace, events)] == ["usage"]


def test_a_request_that_was_refused_leaves_no_count_open() -> None:
    nothing = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)

    assert not ledger(kept(answer(stop="error", usage=nothing))).lower_bound
    assert ledger(kept(answer(text("a"), stop="error", usage=nothing))).lower_bound


@pytest.mark.parametrize(
    ("stop", "topic"), [("error", Topic.ERROR), ("aborted", Topic.INTERRUPTION)]
)
def test_a_message_that_stopped_short_says_why(stop: str, topic: Topic) -> None:
    events = kept(answer(text("a"), stop=stop, errorMessage="too much", usage=USAGE))
    notice, finish = one(Notice, events), one(Finish, events)

    assert (notice.topic, notice.text) == (topic, "too much")
    assert (finish.ok, finish.reason, finish.text) == (False, stop, "too much")
    assert ledger(events).lower_bound


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ([answer(text("a"), stop="stop")], ["stop"]),
        ([answer(text("a"), stop="stop"), entry("custom")], ["stop"]),
        ([answer(text("a"), stop="stop"), said("user", "more")], []),
        ([answer(text("a"), stop="stop"), answer(stop="toolUse")], []),
        ([answer(text("a"), stop="stop"), answer(stop="length")], ["length"]),
    ],
)
def test_only_the_last_message_can_end_the_session(rows: Any, reasons: list[str]) -> None:
    assert [finish.reason for finish in of(Finish, kept(*rows))] == reasons


def test_a_line_that_is_cut_leaves_the_end_open() -> None:
    rows = [START, answer(text("a"), stop="stop")]
    data = "".join(json.dumps(row) + "\n" for row in rows) + '{"type": "mess'
    events = read(SESSION, data)

    assert of(Finish, events) == []
    assert one(Malformed, events).source.line == 3


def test_a_session_that_turns_back_says_so() -> None:
    first = said("user", "a", name="e1")
    left = said("user", "b", name="e2", parent="e1")
    again = said("user", "c", name="e3", parent="e1")
    events = kept(START, first, left, again)

    assert one(Notice, events).text == (
        "The session goes back to line 2, entry e1, and on from there: the model sees nothing of "
        "what stands between any more."
    )
    assert [message.text for message in of(Message, events)] == ["a", "b", "c"]


def test_an_entry_after_one_that_is_lost_does_not_turn_back() -> None:
    first = json.dumps(said("user", "a", name="e1"))
    third = json.dumps(said("user", "c", name="e3", parent="e1"))
    events = read(SESSION, f"{first}\n{{cut\n{third}\n")

    assert of(Notice, events) == []


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"type": "new"}, "new"),
        ({}, ""),
        (said("critic", "x"), "message:critic"),
        (said("user", [{"type": "hologram"}]), "block:hologram"),
        (said("user", [7]), "block:int"),
    ],
)
def test_what_the_format_does_not_know_is_unknown(row: Any, kind: str) -> None:
    assert one(Unknown, kept(row)).type == kind


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([START], True),
        ([said("user", "x")], True),
        ([MODEL, START], True),
        ([], False),
        ([{}], False),
        ([{"type": "session", "id": "x"}], False),
        ([{"type": "message", "id": "m", "message": {"role": "user", "content": []}}], False),
        ([said("critic", "x")], False),
    ],
)
def test_only_its_own_logs_are_recognised(head: Any, claimed: bool) -> None:
    assert SESSION.recognises(head) is claimed


# What it prints


def ended(role: str, content: Any = (), **keys: Any) -> Any:
    held = {"role": role, "content": content, "timestamp": 1777062844994, **keys}
    return {"type": "message_end", "message": held}


def test_a_message_stands_in_the_row_that_ends_it() -> None:
    calling = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    events = printed(
        START,
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "a"}},
        ended("assistant", [text("a"), calling], model="m-1", stopReason="toolUse", usage=USAGE),
        {"type": "tool_execution_end", "toolCallId": "c1", "result": {
            "structuredContent": {"exit_code": 0}}},
        ended("toolResult", [text("b")], toolCallId="c1", toolName="bash", durationMs=20),
        {"type": "turn_end", "message": {"role": "assistant", "content": [text("a")]}},
        ended("assistant", [text("done")], stopReason="stop"),
        {"type": "agent_end", "messages": [{"role": "assistant", "content": [text("done")]}]},
    )  # fmt: skip
    held, finish = one(ToolResult, events), one(Finish, events)

    assert [message.text for message in of(Message, events)] == ["a", "done"]
    assert one(ToolCall, events).summary == "ls"
    assert (held.output, held.exit_code, held.seconds) == ("b", 0, 0.02)
    assert (finish.ok, finish.source.line) == (True, 8)
    assert one(Session, events).session_id == "s-1"
    assert (
        one(Message, printed(ended("user", "go"))).at
        == one(Message, kept(said("user", "go") | {"timestamp": 1777062844994})).at
    )


@pytest.mark.parametrize(
    ("row", "topic", "told"),
    [
        ({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3}, Topic.RETRY,
         "Retry 1 of 3."),
        ({"type": "auto_retry_end", "success": False, "finalError": "x"}, Topic.ERROR, "x"),
        ({"type": "compaction_end", "result": {"summary": "s"}}, Topic.COMPACTION, "s"),
        ({"type": "compaction_end", "errorMessage": "x"}, Topic.COMPACTION, "x"),
        ({"type": "compaction_end", "aborted": True}, Topic.COMPACTION,
         "The compaction was broken off."),
        ({"type": "extension_error", "error": "x"}, Topic.ERROR, "x"),
    ],
)  # fmt: skip
def test_what_it_prints_for_a_reader_is_a_notice(row: Any, topic: Topic, told: str) -> None:
    notice = one(Notice, printed(row))

    assert (notice.topic, notice.text) == (topic, told)


def test_what_it_prints_and_nobody_knows_is_unknown() -> None:
    assert one(Unknown, printed({"type": "new"})).type == "new"
    assert one(Trace, printed({"type": "auto_retry_end", "success": True})).type == (
        "auto_retry_end"
    )


def test_what_a_command_had_printed_when_it_all_ended_is_told() -> None:
    update = {"type": "tool_execution_update", "toolCallId": "c1",
              "partialResult": {"content": [text("half")]}}  # fmt: skip
    notice = one(Notice, printed(update))
    ended = {"type": "tool_execution_end", "toolCallId": "c1", "result": {}}

    assert (notice.topic, notice.text) == (
        Topic.INTERRUPTION, "Output of a call that was still running:\nhalf",
    )  # fmt: skip
    assert of(Notice, printed(update, ended)) == []


def test_a_run_that_stopped_in_a_call_has_no_end() -> None:
    calling = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}

    assert of(Finish, printed(ended("assistant", [calling], stopReason="toolUse"))) == []


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([START, {"type": "agent_start"}], True),
        ([{"type": "turn_start"}], True),
        ([START], False),
        ([START, said("user", "go")], False),
        ([{"type": "agent_start"}, {"type": "x"}], False),
        ([], False),
    ],
)
def test_what_it_prints_is_told_from_what_it_keeps(head: Any, claimed: bool) -> None:
    assert PRINTED.recognises(head) is claimed
    assert not (claimed and SESSION.recognises(head))


CAPTURED = Path(__file__).parent / "captures" / "pi" / "small"


@pytest.mark.parametrize(
    ("form", "name"), [(SESSION, "home/**/*.jsonl"), (PRINTED, "stdout.jsonl")]
)
def test_a_captured_session_is_read_whole_from_either_file(form: Format, name: str) -> None:
    (path,) = CAPTURED.glob(name)
    events = read(form, path.read_bytes())
    results = of(ToolResult, events)

    assert ledger(events).total == Usage(
        input=3387, cache_read=1500, cache_write=0, output=426, reasoning=27
    )
    assert not ledger(events).lower_bound
    assert [call.tool for call in of(ToolCall, events)] == ["bash", "read", "write"]
    assert [held.call_id for held in results] == [call.call_id for call in of(ToolCall, events)]
    assert (results[0].exit_code, results[0].is_error) == (3, True)
    assert [len(held.images) for held in results] == [0, 1, 0]
    assert all(held.seconds is not None for held in results)
    assert of(Unknown, events) == []
    assert one(Finish, events).ok


@beside
def test_every_row_of_the_corpus_is_read() -> None:
    for path in corpus("pi-session"):
        rows = path.read_text("utf-8").splitlines()
        events = read(SESSION, path.read_bytes())

        assert {event.source.line for event in events} == set(range(1, len(rows) + 1))
        assert len(of(ToolCall, events)) == sum(row.count('"type":"toolCall"') for row in rows)
        assert len(of(ToolResult, events)) + len(of(Malformed, events)) == len(of(ToolCall, events))
        assert of(Unknown, events) == []


@pytest.mark.parametrize(
    ("told", "undone"),
    [
        ({"result": {"summary": "s"}}, False),
        ({"errorMessage": "x"}, True),
        ({"aborted": True}, True),
    ],
)
def test_a_compaction_that_was_broken_off_came_to_nothing(told: Any, undone: bool) -> None:
    assert one(Notice, printed({"type": "compaction_end", **told})).undone is undone
