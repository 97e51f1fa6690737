"""What `qwen --output-format stream-json` prints."""

from __future__ import annotations

from typing import Any

import pytest

from kbsite.harnesses.qwen.vocabulary import PASSING
from kbsite.model.event import (
    AgentStart,
    Finish,
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
from tests.harnesses.qwen_rows import SCENARIOS, STREAM, ended, printed, returned, said, use
from tests.harnesses.reading import beside, ledger, of, one, read

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": ""}
TEXT = {"type": "text", "text": "Go."}


@beside
@pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=[f"{p.parent.name[16:]}{p.name}" for p in SCENARIOS]
)
def test_every_line_beside_the_checkout_has_an_event(scenario: Any) -> None:
    data = (scenario / "stdout.jsonl").read_bytes()
    events = read(STREAM, data, "stdout.jsonl")

    filled = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {event.source.line for event in events} == filled
    assert len({event.source for event in events}) == len(events)
    assert not of(Unknown, events)


def test_the_session_tells_model_version_and_tools() -> None:
    row = {"type": "system", "subtype": "init", "session_id": "s-1", "model": "m-1",
           "qwen_code_version": "0.24.4", "cwd": "/workspace", "tools": ["edit", 3]}  # fmt: skip
    session = one(Session, printed(row))

    assert (session.session_id, session.model, session.harness_version, session.cwd) == (
        "s-1", "m-1", "0.24.4", "/workspace",
    )  # fmt: skip
    assert session.tools == ("edit", "3")


def test_blocks_are_thoughts_messages_and_calls() -> None:
    events = printed(said(THINKING, TEXT, use("edit", file_path="a", old_string="x")))

    assert one(Thought, events).text == "Hm."
    assert one(Message, events).text == "Go."
    assert one(ToolCall, events).tool_kind is ToolKind.EDIT


def test_a_result_is_what_the_model_was_shown() -> None:
    result = one(ToolResult, printed(said(use()), returned("one\ntwo", is_error=False)))

    assert (result.call_id, result.output, result.is_error) == ("c1", "one\ntwo", False)
    assert result.exit_code is None


def test_the_exit_code_of_a_failed_command_is_told() -> None:
    told = "Command: x\nOutput: one\nExit Code: 3\nSignal: (none)"
    result = one(ToolResult, printed(said(use()), returned(told, is_error=True)))

    assert (result.is_error, result.exit_code) == (True, 3)


def test_a_file_that_quotes_an_exit_code_has_none() -> None:
    events = printed(said(use("read_file", path="log")), returned("Exit Code: 3"))

    assert one(ToolResult, events).exit_code is None


def test_a_result_in_parts_keeps_its_pictures() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": "QUJD"}}
    parts = [{"type": "text", "text": "one"}, picture, {"type": "odd", "x": 1}]
    result = one(ToolResult, printed(returned(parts)))

    assert result.output == 'one\n{"type": "odd", "x": 1}'
    assert result.images[0].data == "QUJD"


def test_a_sub_agents_rows_hang_on_the_call_that_started_it() -> None:
    events = printed(
        said(use("agent", "c9", description="child task", prompt="go")),
        said(TEXT, parent="c9", message="x"),
        said(use(call_id="c1"), parent="c9", message="y"),
    )
    start = one(AgentStart, events)

    assert (start.agent, start.child, start.call_id, start.title) == ("", "c9", "c9", "child task")
    assert one(Message, events).agent == "c9"


def test_a_sub_agent_of_a_sub_agent_is_started_by_it() -> None:
    events = printed(
        said(use("agent", "c8", description="first")),
        said(use("agent", "c9", description="second"), parent="c8"),
        said(TEXT, parent="c9"),
    )

    assert [(start.agent, start.child) for start in of(AgentStart, events)] == [
        ("", "c8"),
        ("c8", "c9"),
    ]


def test_the_count_of_a_message_stands_at_its_last_block() -> None:
    events = printed(
        said(THINKING, message="a"),
        said(TEXT, message="b", input_tokens=1500, output_tokens=50, cache_read_input_tokens=500),
    )
    use_ = one(TokenUse, events)

    assert (use_.usage.input, use_.usage.cache_read, use_.usage.output) == (1000, 500, 50)
    assert use_.usage.reasoning is None


def test_a_sub_agents_messages_have_no_count_rather_than_0() -> None:
    events = printed(said(TEXT, parent="c9"))

    assert not one(TokenUse, events).usage.known
    assert ledger(events).lower_bound


def test_the_result_is_the_end_and_the_total() -> None:
    events = printed(said(TEXT, parent="c9"), ended())
    finish, total = one(Finish, events), ledger(events).total

    assert (finish.ok, finish.reason, finish.text) == (True, "success", "Done.")
    assert (finish.seconds, finish.turns) == (1.5, 3)
    assert (total.input, total.cache_read, total.output) == (1000, 500, 50)
    assert not ledger(events).lower_bound


def test_a_failed_end_tells_why() -> None:
    row = ended(
        is_error=True, subtype="error_during_execution", result=None, error={"message": "no"}
    )
    finish = one(Finish, printed(row))

    assert (finish.ok, finish.reason, finish.text) == (False, "error_during_execution", "no")


@pytest.mark.parametrize(
    ("data", "told", "wait"),
    [
        ({"attempt": 1, "maxRetries": 2, "delayMs": 60000}, "attempt 1 of 2, in 60.0 s", 60),
        ({"preserveText": True}, "what was said so far is kept", None),
        (None, "The request is tried again.", None),
    ],
)
def test_a_retry_is_told(data: Any, told: str, wait: float | None) -> None:
    notice = one(Notice, printed({"type": "system", "subtype": "retry", "data": data}))

    assert (notice.topic, notice.wait) == (Topic.RETRY, wait)
    assert told in notice.text


@pytest.mark.parametrize("kind", sorted(PASSING))
def test_rows_that_pass_by_are_traces(kind: str) -> None:
    assert one(Trace, printed({"type": kind})).type == kind


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"type": "song"}, "song"),
        ({"type": "system", "subtype": "song"}, "system/song"),
        (said({"type": "song"}), "block:song"),
    ],
)
def test_rows_and_blocks_of_unknown_types_are_unknown(row: Any, kind: str) -> None:
    assert one(Unknown, printed(row)).type == kind
