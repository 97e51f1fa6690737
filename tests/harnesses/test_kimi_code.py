"""Kimi Code's wire log."""

from __future__ import annotations

from typing import Any

import pytest

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
from tests.harnesses.kimi_rows import (
    STREAM,
    WIRE,
    captured,
    coded,
    looped,
    of,
    one,
    read,
    written,
)
from tests.harnesses.reading import BESIDE, beside

CODE = BESIDE / "captures" / "kimi-code-2.1.0"
SCENARIOS = sorted(path.name for path in CODE.glob("*/"))
CORPUS = sorted((BESIDE / "corpus" / "kimi-code-wire").rglob("*.jsonl"))
MAIN = "home/.kimi-code/sessions/wd_x/session_y/agents/main/wire.jsonl"
CHILD = "home/.kimi-code/sessions/wd_x/session_y/agents/agent-0/wire.jsonl"


def wire(*rows: dict[str, Any], name: str = MAIN) -> list[Event]:
    return read(WIRE, written(*rows), name)


def used(sent: int, output: int, scope: str = "turn") -> dict[str, Any]:
    usage = {"inputOther": sent, "output": output, "inputCacheRead": 2, "inputCacheCreation": 1}
    return coded("usage.record", usage=usage, usageScope=scope, model="alias")


def test_the_path_names_the_agent() -> None:
    row = looped("content.part", part={"type": "text", "text": "x"})
    assert one(Message, wire(row)).agent == ""
    assert one(Message, wire(row, name=CHILD)).agent == "agent-0"


@pytest.mark.parametrize("kind", ["completed", "cancelled", "suspended"])
def test_the_end_of_a_sub_agent_that_other_rows_tell_is_a_trace(kind: str) -> None:
    assert one(Trace, wire(coded(f"subagent.{kind}", subagentId="agent-0"))).type == (
        f"subagent.{kind}"
    )


def test_a_file_that_was_imported_alone_is_named_by_its_rows() -> None:
    row = looped("content.part", part={"type": "text", "text": "x"})
    assert one(Message, wire({**row, "agentId": "agent-0"}, name="wire/f.jsonl")).agent == "agent-0"
    assert one(Message, wire({**row, "agentId": "main"}, name="wire/f.jsonl")).agent == ""


def test_a_prompt_is_told_once() -> None:
    said = [{"type": "text", "text": "Go"}]
    rows = (
        coded("turn.prompt", input=said, origin={"kind": "user"}),
        coded("context.append_message", message={"role": "user", "content": said}),
        {
            "message": {"message": {"role": "user", "content": said}},
            "type": "agent.message.appended",
        },
    )
    message = one(Message, wire(*rows))
    assert (message.role, message.text, message.injected) == (Role.USER, "Go", False)


@pytest.mark.parametrize(
    ("origin", "injected"),
    [
        ({"kind": "user"}, False),
        ({}, False),
        ({"kind": "system_trigger", "name": "subagent"}, False),
        ({"kind": "system_trigger", "name": "goal"}, True),
        ({"kind": "injection", "variant": "date_change"}, True),
    ],
)
def test_reminders_are_told_from_what_was_asked(origin: dict[str, str], injected: bool) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "x"}], "origin": origin}
    assert one(Message, wire(coded("context.append_message", message=message))).injected is injected


def test_a_message_that_was_taken_over_is_read_whole() -> None:
    call = {"type": "function", "id": "c", "name": "Bash", "arguments": '{"command": "ls"}'}
    old_call = {"id": "d", "function": {"name": "Bash", "arguments": '{"command": "pwd"}'}}
    told = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hm"}],
        "toolCalls": [call, old_call],
    }
    answer = {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "toolCallId": "c"}
    rows = (
        coded("context.append_message", message=told),
        coded("context.append_message", message=answer),
    )
    events = wire(*rows)
    assert [call.summary for call in of(ToolCall, events)] == ["ls", "pwd"]
    assert [event.source.part for event in events] == [0, 1, 2, 0]
    assert one(ToolResult, events).output == "a.py"


def test_thinking_and_text_are_told_apart() -> None:
    events = wire(
        looped("content.part", part={"type": "think", "think": "Hm."}),
        looped("content.part", part={"type": "text", "text": "So."}),
        looped(
            "content.part",
            part={"type": "image_url", "imageUrl": {"url": "data:image/png;base64,QQ"}},
        ),
        looped("content.part", part={"type": "hologram"}),
    )
    assert one(Thought, events).text == "Hm."
    said, shown = of(Message, events)
    assert (said.text, said.role) == ("So.", Role.ASSISTANT)
    assert shown.images == (Image("image/png", "QQ"),)
    assert one(Unknown, events).type == "content hologram"


def test_an_unknown_loop_event_is_unknown() -> None:
    assert one(Unknown, wire(looped("tool.dream"))).type == "loop event tool.dream"


def test_a_result_tells_how_long_and_how_it_ended() -> None:
    result = {
        "output": "no\nCommand failed with exit code: 2.",
        "isError": True,
        "durationMs": 1500,
    }
    held = one(ToolResult, wire(looped("tool.result", toolCallId="c", result=result)))
    assert (held.call_id, held.is_error, held.exit_code, held.seconds) == ("c", True, 2, 1.5)


def test_a_result_that_is_no_error_has_no_exit_code() -> None:
    result = {"output": "Command failed with exit code: 2."}
    held = one(ToolResult, wire(looped("tool.result", toolCallId="c", result=result)))
    assert (held.is_error, held.exit_code) == (False, None)


def test_the_file_that_holds_a_long_output_is_named() -> None:
    head = "Tool output exceeded 9 characters.\noutput_path: /h/tasks/b 1/output.log\n"
    output = head + "\n[preview: chars [0, 9)]\noutput_path: /etc"
    held = one(ToolResult, wire(looped("tool.result", toolCallId="c", result={"output": output})))
    assert held.side_files == ("/h/tasks/b 1/output.log",)


def test_an_output_names_no_side_files_of_its_own() -> None:
    result = {"output": "output_path: /etc/passwd"}
    assert one(ToolResult, wire(looped("tool.result", result=result))).side_files == ()


def test_a_note_on_a_result_is_recorded() -> None:
    held = one(ToolResult, wire(looped("tool.result", result={"output": "x", "note": "3 lines"})))
    assert held.recorded == {"note": "3 lines"}


def test_a_call_is_told_with_its_edit() -> None:
    args = {"path": "a", "old_string": "1", "new_string": "2", "replace_all": True}
    call = one(ToolCall, wire(looped("tool.call", toolCallId="c", name="Edit", args=args)))
    assert call.tool_kind is ToolKind.EDIT
    assert (call.edits[0].old, call.edits[0].new, call.edits[0].every) == ("1", "2", True)


def test_a_plan_that_is_shown_for_approval_is_told() -> None:
    display = {"kind": "plan_review", "plan": "# Plan"}
    events = wire(
        looped("tool.call", toolCallId="c", name="ExitPlanMode", args={}, display=display)
    )
    assert one(Notice, events).text == "# Plan"


def test_the_model_is_the_one_that_was_asked_not_its_alias() -> None:
    request = coded("llm.request", model="kimi-k2", thinkingEffort="high")
    events = wire(request, used(10, 1), request)
    session = one(Session, events)
    assert (session.model, session.effort, session.session_id) == ("kimi-k2", "high", "session_y")
    assert one(TokenUse, events).model == "kimi-k2"


def test_the_session_tells_its_folder_and_tools() -> None:
    row = coded(
        "profile.bind", modelAlias="m", thinkingEffort="on", activeToolNames=["Bash", 7],
        environmentDisclosure={"cwd": "/w"}, systemPrompt="You are.",
    )  # fmt: skip
    session = one(Session, wire(row))
    assert (session.cwd, session.tools, session.effort) == ("/w", ("Bash",), "on")
    assert "You are." in session.raw


def test_the_system_prompt_is_a_message_of_the_cli_each_time_it_changes() -> None:
    rows = [coded("profile.bind", systemPrompt=told) for told in ("You are.", "You are.", "Be.")]
    told = [event for event in wire(*rows, coded("config.update")) if isinstance(event, Message)]

    assert [(one.role, one.text, one.injected) for one in told] == [
        (Role.SYSTEM, "You are.", True),
        (Role.SYSTEM, "Be.", True),
    ]


def test_what_the_model_is_told_of_its_tools_is_read_as_it_was_written() -> None:
    offered = [
        {"name": "Bash", "description": 'Run "it".\nWait.', "parameters": {"type": "object"}},
        {"name": "Read"},
        7,
    ]
    row = coded("llm.tools_snapshot", tools=offered, hash="1")
    events = wire(row, row, coded("llm.tools_snapshot", tools=offered[:1]))
    told = [event.definitions for event in events if isinstance(event, Session)]

    rest = '{\n  "parameters": {\n    "type": "object"\n  }\n}'
    bash = f'# Bash\n\nRun "it".\nWait.\n\n{rest}\n\n'
    assert told == [f"{bash}\n# Read\n\n", bash]
    assert [type(event) for event in events] == [Session, Trace, Session]


def test_tools_that_are_none_stay_bookkeeping() -> None:
    (event,) = wire(coded("llm.tools_snapshot", tools="Bash"))

    assert isinstance(event, Trace)


def test_a_sub_agent_is_tied_to_the_call_by_the_row_that_says_so() -> None:
    args = {"description": "count", "prompt": "Count."}
    rows = (
        looped("tool.call", toolCallId="c", name="Agent", args=args),
        coded("subagent.spawned", subagentId="agent-0", parentToolCallId="c", parentAgentId="main"),
        looped("tool.result", toolCallId="c", result={"output": "agent_id: agent-0\n\n[summary]"}),
    )
    start = one(AgentStart, wire(*rows))
    assert (start.agent, start.child, start.call_id, start.title) == ("", "agent-0", "c", "count")


def test_a_sub_agent_starts_another() -> None:
    row = coded(
        "subagent.spawned", subagentId="agent-1", parentToolCallId="c", parentAgentId="agent-0"
    )
    assert one(AgentStart, wire(row, name=CHILD)).agent == "agent-0"


def test_old_logs_name_the_sub_agent_in_the_result() -> None:
    rows = (
        looped("tool.call", toolCallId="c", name="Agent", args={"description": "count"}),
        looped(
            "tool.result", toolCallId="c", result={"output": "agent_id: agent-0\n\n[summary]\nx"}
        ),
    )
    assert one(AgentStart, wire(*rows)).child == "agent-0"


def test_a_report_names_no_sub_agent() -> None:
    rows = (
        looped("tool.call", toolCallId="c", name="Agent", args={}),
        looped("tool.result", toolCallId="c", result={"output": "failed\n\nagent_id: agent-9"}),
    )
    assert not of(AgentStart, wire(*rows))


@pytest.mark.parametrize(
    ("reason", "ok"), [("completed", True), ("failed", False), ("cancelled", False), (None, None)]
)
def test_the_end_of_a_turn_says_how_it_went(reason: str | None, ok: bool | None) -> None:
    error = {"code": "provider.auth_error", "message": "401"}
    rows = (
        looped("step.begin", step=3),
        coded("turn.ended", reason=reason, error=error, durationMs=2500),
    )
    finish = one(Finish, wire(*rows))
    assert (finish.ok, finish.reason, finish.seconds, finish.turns) == (ok, reason or "", 2.5, 3)
    assert finish.text == "provider.auth_error: 401"


def test_a_retry_says_how_long_it_waits() -> None:
    assert one(Notice, wire(coded("turn.step.retrying", nextAttempt=2, delayMs=700))).wait == 0.7


@pytest.mark.parametrize(
    ("row", "topic", "told"),
    [
        (
            coded("turn.step.retrying", nextAttempt=2, maxAttempts=5, errorMessage="429 slow down"),
            Topic.RETRY,
            "Attempt 2 of 5 after: 429 slow down",
        ),
        (coded("turn.step.interrupted", reason="error", message="boom"), Topic.ERROR, "boom"),
        (coded("turn.step.interrupted", reason="aborted"), Topic.INTERRUPTION, "aborted"),
        (coded("turn.cancel", reason="user_cancelled"), Topic.INTERRUPTION, "user_cancelled"),
        (coded("context.apply_compaction", summary="So far."), Topic.COMPACTION, "So far."),
        (coded("context.apply_compaction", contextSummary="So."), Topic.COMPACTION, "So."),
        (
            coded("context.apply_compaction", summary={"content": [{"type": "text", "text": "S"}]}),
            Topic.COMPACTION,
            "S",
        ),
        (coded("full_compaction.cancel"), Topic.COMPACTION, "cancelled"),
        (coded("context.undo", count=2), Topic.INTERRUPTION, "taken back by the last 2 turns"),
        (coded("context.undo", count=1), Topic.INTERRUPTION, "taken back by the last turn:"),
        (coded("context.clear"), Topic.INTERRUPTION, "cleared"),
        (coded("goal.update", status="blocked", reason="no GPU"), Topic.NOTE, "blocked: no GPU"),
        (coded("goal.create", objective="Win."), Topic.NOTE, "Win."),
        (coded("subagent.failed", subagentId="agent-0", error="boom"), Topic.ERROR, "boom"),
        (looped("step.end", finishReason="max_tokens"), Topic.NOTE, "max_tokens"),
        (
            coded(
                "permission.record_approval_result", action="ls", result={"decision": "rejected"}
            ),
            Topic.NOTE,
            "rejected\nls",
        ),
    ],
)
def test_what_the_program_tells_is_a_notice(
    row: dict[str, object], topic: Topic, told: str
) -> None:
    notice = one(Notice, wire(row))
    assert notice.topic is topic
    assert told in notice.text


def test_a_compaction_that_was_cancelled_came_to_nothing() -> None:
    assert one(Notice, wire(coded("full_compaction.cancel"))).undone
    assert not one(Notice, wire(coded("context.apply_compaction", summary="So far."))).undone


def test_an_approval_is_bookkeeping() -> None:
    row = coded("permission.record_approval_result", result={"decision": "approved"})
    assert one(Trace, wire(row)).type == "permission.record_approval_result"


def ended(kind: str = "process", **more: Any) -> dict[str, Any]:
    info = {"taskId": "bash-1", "kind": kind, "parentToolCallId": "c", "exitCode": 3}
    return coded("task.terminated", agentId="main", info=info | more, outputTail="bad\n")


def test_how_a_command_in_the_background_ended_stands_at_its_call() -> None:
    late = one(ToolResult, wire(ended()))

    assert (late.call_id, late.exit_code, late.late) == ("c", 3, True)
    assert late.recorded == {"outputTail": "bad\n"}
    assert one(ToolResult, wire(ended(exitCode=-15))).exit_code == -15
    assert one(ToolResult, wire(ended(exitCode=None))).exit_code is None
    assert not of(ToolResult, wire(ended("agent"))), "whose own log tells"
    assert not of(ToolResult, wire(ended(parentToolCallId=None)))
    assert one(Trace, wire(ended())).type == "task.terminated"


def test_rows_that_say_again_that_a_turn_was_taken_back_are_bookkeeping() -> None:
    rows = [coded("agent.switched", turns=1), coded("context.undone", turns=1)]
    assert [trace.type for trace in of(Trace, wire(*rows))] == ["agent.switched", "context.undone"]


def test_a_goal_that_stands_as_before_is_told_once() -> None:
    rows = [coded("goal.update", status="active"), coded("goal.update", status="active")]
    assert one(Notice, wire(*rows)).text == "The goal is now active"
    assert one(Trace, wire(coded("goal.update", tokensUsed=9))).type == "goal.update"


@beside
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_log_and_stdout_tell_the_same(scenario: str) -> None:
    log, printed = captured(CODE / scenario, WIRE), captured(CODE / scenario, STREAM)
    done = {finish.ok for finish in of(Finish, log) if not finish.agent} == {True}
    assert done == bool(of(Finish, printed))
    if scenario == "longtool-KILL":
        assert not of(ToolCall, printed)
        return
    calls = [(c.call_id, c.arguments) for c in of(ToolCall, log) if not c.agent]
    assert calls == [(c.call_id, c.arguments) for c in of(ToolCall, printed)]
    results = [(r.call_id, r.output, r.exit_code) for r in of(ToolResult, log) if not r.agent]
    assert results == [(r.call_id, r.output, r.exit_code) for r in of(ToolResult, printed)]


@beside
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_row_is_read_once(scenario: str) -> None:
    paths = (CODE / scenario).glob("home/.kimi-code/sessions/*/*/agents/*/wire.jsonl")
    text = "".join(path.read_text("utf-8") for path in paths)
    events = captured(CODE / scenario, WIRE)
    assert text.count('"event":{"type":"tool.call"') == len(of(ToolCall, events))
    assert text.count('"event":{"type":"tool.result"') == len(of(ToolResult, events))
    assert text.count('{"type":"turn.ended"') == len(of(Finish, events))
    ids = {(use.agent, use.message_id) for use in of(TokenUse, events)}
    empty = text.count('"usage":{"inputOther":0,"output":0,"inputCacheRead":0')
    assert text.count('{"type":"usage.record"') - bool(empty) == len(ids)
