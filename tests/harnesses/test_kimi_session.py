"""kimi-cli's session log."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.harnesses.form import Held
from kbsite.harnesses.lines import lines
from kbsite.model.event import (
    AgentStart,
    Finish,
    Image,
    Message,
    Notice,
    Role,
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
from kbsite.store.files import contents
from kbsite.transcripts import transcript
from tests.harnesses.kimi_rows import (
    CAPTURES,
    SESSION,
    STREAM,
    asked,
    below,
    came,
    captured,
    ledger,
    of,
    one,
    read,
    spent,
    wired,
    written,
)
from tests.harnesses.reading import BESIDE, beside

CLI = BESIDE / "captures" / "kimi-cli-1.50.0"


def test_a_turn_begins_with_what_the_user_asks() -> None:
    message = one(Message, read(SESSION, written(wired("TurnBegin", user_input="Go"))))
    assert (message.role, message.text, message.injected) == (Role.USER, "Go", False)
    assert message.at == datetime.fromtimestamp(1795238066.5, UTC)


HOME = "home/.kimi/sessions/h/s/"


def test_the_system_prompt_stands_beside_the_log_and_before_it() -> None:
    remembered = written(
        {"role": "_system_prompt", "content": "Be brief."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Go"},
        {"role": "_system_prompt", "content": "Be brief."},
        {"role": "odd", "content": "?"},
    )
    own = written({"role": "_system_prompt", "content": "Look."})
    log = written(wired("TurnBegin", user_input="Go"))
    names = {
        "context.jsonl": remembered, "subagents/a/context.jsonl": own, "wire.jsonl": log,
    }  # fmt: skip
    held = [
        Held(HOME + name, partial(lines, io.BytesIO(data.encode())))
        for name, data in reversed(names.items())
    ]
    assert SESSION.together is not None
    events = list(SESSION.together(held))
    told = [(one.text, one.agent, one.injected) for one in of(Message, events)]

    assert told == [("Look.", "a", True), ("Be brief.", "", True), ("Go", "", False)]
    assert {one.role for one in of(Message, events) if one.injected} == {Role.SYSTEM}
    assert [one.type for one in of(Unknown, events)] == ["context/odd"]
    assert len(of(Trace, events)) == 3


@beside
def test_the_system_prompt_of_a_captured_run_is_shown() -> None:
    files, _ = contents(CLI / "main")
    told = transcript("kimi-cli", files)

    assert told is not None
    assert not told.files[0].endswith("context.jsonl")
    each = [told.main, *(log for step in told.main.every_step for log in step.agents)]
    first = [log.steps[0].event for log in each]
    assert len(each) == 2
    assert told.unlinked == ()
    assert all(isinstance(one, Message) and one.role is Role.SYSTEM for one in first)
    assert {one.text[:21] for one in first if isinstance(one, Message)} == {"You are Kimi Code CLI"}


def test_a_prompt_in_parts_is_one_message_with_its_pictures() -> None:
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "id": None}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    message = one(Message, read(SESSION, written(wired("TurnBegin", user_input=parts))))
    assert message.text == "Look"
    assert message.images == (
        Image("image/png", "QUJD"),
        Image("", "", "https://example.org/a.png"),
    )


def test_thinking_is_a_thought_and_an_encrypted_one_has_no_text() -> None:
    events = read(
        SESSION,
        written(
            wired("ContentPart", type="think", think="Hm.", encrypted="c2ln"),
            wired("ContentPart", type="think", think="", encrypted="c2ln"),
        ),
    )
    assert [(t.text, t.encrypted) for t in of(Thought, events)] == [("Hm.", False), ("", True)]


def test_a_part_of_an_unknown_type_is_unknown() -> None:
    event = one(Unknown, read(SESSION, written(wired("ContentPart", type="hologram", x=1))))
    assert event.type == "content hologram"
    assert json.loads(event.raw)["x"] == 1


def test_a_call_that_is_complete_is_not_held_back() -> None:
    rows = (asked("a", '{"command": "ls"}'), came("b", "x"))
    events = read(SESSION, written(*rows))
    assert [type(event) for event in events] == [ToolCall, ToolResult]


def test_arguments_that_come_in_parts_are_put_together() -> None:
    rows = (
        asked("a", None, "WriteFile"),
        wired("ToolCallPart", arguments_part='{"path": "a.py",'),
        wired("ToolCallPart", arguments_part=' "content": "x"}'),
        came("a", ""),
    )
    events = read(SESSION, written(*rows))
    call = one(ToolCall, events)
    assert call.arguments == {"path": "a.py", "content": "x"}
    assert call.edits[0].new == "x"
    assert call.source.line == 1
    assert [type(event) for event in events] == [Trace, Trace, ToolCall, ToolResult]


def test_a_part_belongs_to_the_last_call_though_another_one_answers_first() -> None:
    rows = (
        asked("a", '{"command": "one"}'),
        asked("b", '{"comm'),
        came("a", "done"),
        wired("ToolCallPart", arguments_part='and": "two"}'),
        wired("StepBegin", n=2),
        came("b", "done"),
    )
    calls = of(ToolCall, read(SESSION, written(*rows)))
    assert {call.call_id: call.arguments for call in calls} == {
        "a": {"command": "one"},
        "b": {"command": "two"},
    }


def test_parts_of_a_sub_agent_are_not_parts_of_its_parents_call() -> None:
    rows = (
        asked("a", '{"comm'),
        below("kid", "t", "ToolCall", id="k", function={"name": "Shell", "arguments": '{"comm'}),
        wired("ToolCallPart", arguments_part='and": "main"}'),
        below("kid", "t", "ToolCallPart", arguments_part='and": "kid"}'),
    )
    calls = of(ToolCall, read(SESSION, written(*rows)))
    assert [(call.agent, call.summary) for call in calls] == [("", "main"), ("kid", "kid")]


@pytest.mark.parametrize(
    ("row", "cut"),
    [
        (asked("b", '{"command": "x"}'), False),
        (wired("ContentPart", type="text", text="x"), True),
        (wired("StepBegin", n=2), True),
        (wired("StepInterrupted"), True),
        (wired("TurnEnd"), True),
        (spent(1, 1), False),
        (came("a", "x"), False),
    ],
    ids=["call", "text", "step", "interruption", "end", "count", "own result"],
)
def test_a_call_is_held_back_no_longer_than_its_message(row: dict[str, object], cut: bool) -> None:
    rest = wired("ToolCallPart", arguments_part='"ls"}')
    part, whole = read(SESSION, written(asked("a", '{"command": '), rest, row))[:2]
    assert isinstance(part, Trace)
    assert isinstance(whole, ToolCall)
    assert whole.arguments == {"command": "ls"}
    # One that is no whole call by then was broken off, unless its answer went on.
    first = read(SESSION, written(asked("a", '{"comm'), row))[0]
    if cut:
        assert isinstance(first, Notice)
        assert first.text.endswith('{"comm')
    else:
        assert isinstance(first, ToolCall)
        assert first.arguments == '{"comm'


def test_a_call_that_is_cut_off_by_the_end_of_the_file_is_still_told() -> None:
    call = one(ToolCall, read(SESSION, written(asked("a", '{"comm'))))
    assert call.arguments == '{"comm'


def test_a_part_without_a_call_does_no_harm() -> None:
    events = read(SESSION, written(wired("ToolCallPart", arguments_part="x")))
    assert [type(event) for event in events] == [Trace]


def test_a_result_shows_what_the_model_was_shown() -> None:
    told = {"message": "Command failed with exit code: 3.", "is_error": True}
    result = one(ToolResult, read(SESSION, written(came("a", "out\n", **told))))
    assert result.output == "<system>ERROR: Command failed with exit code: 3.</system>\nout\n"
    assert (result.is_error, result.exit_code) == (True, 3)


def test_a_command_that_went_well_has_exit_code_0() -> None:
    result = one(
        ToolResult, read(SESSION, written(came("a", "x", message="Command executed successfully.")))
    )
    assert (result.is_error, result.exit_code) == (False, 0)


def test_a_tool_that_runs_no_command_has_no_exit_code() -> None:
    result = one(ToolResult, read(SESSION, written(came("a", "x", message="3 lines read."))))
    assert result.exit_code is None


def test_an_output_that_claims_an_exit_code_is_not_believed() -> None:
    output = "Command failed with exit code: 3."
    assert one(ToolResult, read(SESSION, written(came("a", output)))).exit_code is None


def test_a_diff_is_recorded_beside_the_result() -> None:
    diff = {"type": "diff", "path": "a", "old_text": "1", "new_text": "2"}
    brief = {"type": "brief", "text": "short"}
    result = one(ToolResult, read(SESSION, written(came("a", "", display=[brief, diff]))))
    assert result.recorded == {"display": [diff]}


def test_a_result_that_is_recorded_no_better_records_nothing() -> None:
    assert one(ToolResult, read(SESSION, written(came("a", "x", extras=None)))).recorded == ""


def test_pictures_in_a_result_are_kept() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QQ=="}}
    output = [{"type": "text", "text": "seen"}, picture, {"type": "video_url"}, {"type": "odd"}]
    events = read(SESSION, written(came("a", output)))
    result = one(ToolResult, events)
    assert (result.output, result.images) == ("seen", (Image("image/jpeg", "QQ=="),))
    assert [one(Trace, events).type, one(Unknown, events).type] == ["video_url", "content odd"]


def test_a_file_that_is_appended_to_is_not_overwritten() -> None:
    given = {"path": "a", "content": "x\ny\n", "mode": "append"}
    call = one(ToolCall, read(SESSION, written(asked("a", json.dumps(given), "WriteFile"))))
    assert (call.edits[0].new, call.edits[0].patch) == ("", "+x\n+y")


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Shell", ToolKind.RUN),
        ("ReadFile", ToolKind.READ),
        ("StrReplaceFile", ToolKind.EDIT),
        ("SetTodoList", ToolKind.PLAN),
        ("Task", ToolKind.AGENT),
        ("NoSuchTool", ToolKind.OTHER),
    ],
)
def test_tools_are_told_by_what_they_do(tool: str, kind: ToolKind) -> None:
    assert one(ToolCall, read(SESSION, written(asked("a", "{}", tool)))).tool_kind is kind


def test_counts_of_all_steps_are_summed_though_a_server_gives_them_one_id() -> None:
    total = ledger(read(SESSION, written(spent(10, 1, input_cache_read=5), spent(20, 2)))).total
    assert total == Usage(input=30, cache_read=5, output=3)


def test_counts_of_two_sessions_are_not_mixed() -> None:
    one_session = read(SESSION, written(spent(10, 1)), "home/.kimi/sessions/a/b/wire.jsonl")
    other = read(SESSION, written(spent(20, 2)), "home/.kimi/sessions/a/c/wire.jsonl")
    assert ledger([*one_session, *other]).total.input == 30


def test_a_status_without_a_count_counts_nothing() -> None:
    events = read(SESSION, written(wired("StatusUpdate", token_usage=None, context_tokens=5)))
    assert [type(event) for event in events] == [Trace]


def test_counts_of_a_session_that_was_compacted_are_a_lower_bound() -> None:
    rows = (spent(10, 1), wired("CompactionBegin"))
    assert not ledger(read(SESSION, written(*rows))).lower_bound

    events = read(SESSION, written(*rows, wired("CompactionEnd"), spent(5, 1)))
    assert ledger(events).lower_bound
    assert ledger(events).total.input == 15


def test_a_sub_agent_is_tied_to_the_call_that_started_it() -> None:
    rows = (
        asked("t", '{"description": "count"}', "Agent"),
        below("kid", "t", "TurnBegin", user_input="Count."),
        below("kid", "t", "ContentPart", type="text", text="Three."),
        below("kid", "t", "TurnEnd"),
    )
    events = read(SESSION, written(*rows))
    start = one(AgentStart, events)
    assert (start.agent, start.child, start.call_id, start.title) == ("", "kid", "t", "count")
    assert {event.agent for event in of(Message, events)} == {"kid"}
    assert one(Finish, events).agent == "kid"


def test_sub_agents_of_old_versions_go_by_their_call() -> None:
    event = {"type": "ContentPart", "payload": {"type": "text", "text": "x"}}
    events = read(SESSION, written(wired("SubagentEvent", task_tool_call_id="t", event=event)))
    assert (one(AgentStart, events).call_id, one(Message, events).agent) == ("t", "t")


def test_a_sub_agent_of_a_sub_agent_is_below_it() -> None:
    inner = {"type": "ContentPart", "payload": {"type": "text", "text": "x"}}
    nested = {"parent_tool_call_id": "u", "agent_id": "grandkid", "event": inner}
    events = read(SESSION, written(below("kid", "t", "SubagentEvent", **nested)))
    starts = {start.child: start.agent for start in of(AgentStart, events)}
    assert starts == {"kid": "", "grandkid": "kid"}
    assert one(Message, events).agent == "grandkid"


def test_a_sub_agent_in_the_background_is_named_by_the_result() -> None:
    call = asked("t", '{"description": "long", "run_in_background": true}', "Agent")
    events = read(SESSION, written(call, came("t", "task_id: b-1\nagent_id: kid\nstatus: running")))
    assert one(AgentStart, events).child == "kid"


def test_the_output_of_a_command_starts_no_sub_agent() -> None:
    rows = (asked("a", '{"command": "x"}'), came("a", "agent_id: kid"))
    assert not of(AgentStart, read(SESSION, written(*rows)))


def test_a_turn_that_ends_says_not_that_all_went_well() -> None:
    finish = one(Finish, read(SESSION, written(wired("StepBegin", n=4), wired("TurnEnd"))))
    assert (finish.ok, finish.reason, finish.turns) == (None, "TurnEnd", 4)


def test_a_turn_whose_last_step_was_interrupted_went_wrong() -> None:
    rows = (wired("StepBegin", n=1), wired("StepInterrupted"), wired("TurnEnd"))
    events = read(SESSION, written(*rows))
    assert one(Notice, events).topic is Topic.INTERRUPTION
    assert (one(Finish, events).ok, one(Finish, events).reason) == (False, "StepInterrupted")


def test_a_retry_says_how_long_it_waits() -> None:
    row = wired("StepRetry", next_attempt=2, max_attempts=3, wait_s=0.25)
    assert one(Notice, read(SESSION, written(row))).wait == 0.25


@pytest.mark.parametrize(
    ("row", "topic", "told"),
    [
        (
            wired("StepRetry", next_attempt=2, max_attempts=3, error_type="E", status_code=429),
            Topic.RETRY,
            "Attempt 2 of 3 after: E 429",
        ),
        (wired("CompactionBegin"), Topic.COMPACTION, "compacted"),
        (wired("Notification", title="Done", body="b", severity="info"), Topic.NOTE, "Done\nb"),
        (wired("Notification", title="Bad", body="", severity="error"), Topic.ERROR, "Bad"),
        (wired("PlanDisplay", content="# Plan", file_path="p"), Topic.NOTE, "# Plan"),
        (wired("HookResolved", event="Stop", action="block", reason="no"), Topic.NOTE, "Stop no"),
        (wired("ApprovalRequest", action="run", description="ls"), Topic.NOTE, "run\nls"),
        (wired("ApprovalResponse", response="reject", feedback="why"), Topic.NOTE, "reject\nwhy"),
        (wired("QuestionRequest", questions=[{"question": "Which?"}]), Topic.NOTE, "Which?"),
        (wired("BtwEnd", id="1", response="so"), Topic.NOTE, "so"),
    ],
)
def test_what_the_cli_tells_is_a_notice(row: dict[str, object], topic: Topic, told: str) -> None:
    notice = one(Notice, read(SESSION, written(row)))
    assert notice.topic is topic
    assert told in notice.text


def test_a_hook_that_blocks_nothing_is_bookkeeping() -> None:
    assert one(Trace, read(SESSION, written(wired("HookResolved", action="allow")))).type


def test_a_captured_run_adds_up() -> None:
    events = captured(CAPTURES / "kimi-cli-quick", SESSION)
    # turn t sends 1000 and 500 t from the cache, and brings 40 + 10 t
    assert ledger(events).total == Usage(input=3000, cache_read=1500, cache_write=0, output=150)
    assert [call.summary for call in of(ToolCall, events)] == ["echo one", "/workspace/solution.py"]


def in_background(call_id: str, task: str, output: str = "") -> dict[str, Any]:
    shown = {"type": "background_task", "task_id": task, "kind": "bash", "status": "starting"}
    return came(call_id, output or f"task_id: {task}", display=[shown])


def notified(task: str, **payload: Any) -> dict[str, Any]:
    told = {"task_id": task, "task_kind": "bash", **payload}
    return wired("Notification", category="task", title="Background task", payload=told)


def test_how_a_command_in_the_background_ended_stands_at_its_call() -> None:
    rows = (
        asked("c", '{"command": "make", "run_in_background": true}'), in_background("c", "bash-1"),
        asked("o", '{"task_id": "bash-1"}', "TaskOutput"), in_background("o", "bash-1"),
        notified("bash-1", exit_code=3), notified("bash-2", exit_code=4), notified("bash-1"),
    )  # fmt: skip
    events = read(SESSION, written(*rows))

    assert [(r.call_id, r.exit_code) for r in of(ToolResult, events) if r.late] == [("c", 3)]
    assert len(of(Notice, events)) == 3, "and the CLI's words of it stay"
    fold = Fold()
    for event in events:
        fold.add(event)
    told = fold.transcript("x", "x", ()).main.steps
    assert [s.result.exit_code for s in told if s.result] == [3, None]


def test_a_prompt_that_the_cli_gives_itself_is_injected() -> None:
    own = "<system-reminder>Background tasks have completed.</system-reminder>"
    rows = [wired("TurnBegin", user_input=told) for told in (own, "go")]
    said = of(Message, read(SESSION, written(*rows)))

    assert [one.injected for one in said] == [True, False]


@beside
def test_a_captured_sub_agent_is_counted_apart() -> None:
    events = captured(CLI / "main", SESSION)
    turns = [t for t in range(14) if t != 11]
    assert ledger(events).usage("") == Usage(
        input=1000 * len(turns),
        cache_read=sum(500 * t for t in turns),
        cache_write=0,
        output=sum(40 + 10 * t for t in turns),
    )
    (child,) = {event.agent for event in events} - {""}
    assert ledger(events).usage(child) == Usage(
        input=2000, cache_read=500, cache_write=0, output=90
    )


@beside
@pytest.mark.parametrize("scenario", sorted(path.name for path in CLI.glob("*/")))
def test_log_and_stdout_tell_the_same_calls_and_results(scenario: str) -> None:
    log, printed = captured(CLI / scenario, SESSION), captured(CLI / scenario, STREAM)
    if scenario == "longtool-KILL":
        assert not printed
        return
    calls = [(c.call_id, c.tool, c.arguments) for c in of(ToolCall, log) if not c.agent]
    assert calls == [(c.call_id, c.tool, c.arguments) for c in of(ToolCall, printed)]
    results = [(r.call_id, r.output, r.exit_code) for r in of(ToolResult, log) if not r.agent]
    assert results == [(r.call_id, r.output, r.exit_code) for r in of(ToolResult, printed)]


@beside
@pytest.mark.parametrize("scenario", sorted(path.name for path in CLI.glob("*/")))
def test_each_row_is_read_once(scenario: str) -> None:
    (path,) = (CLI / scenario).glob("home/.kimi/sessions/*/*/wire.jsonl")
    name = str(path.relative_to(CLI / scenario))
    text, events = path.read_text("utf-8"), read(SESSION, path.read_bytes(), name)
    assert text.count('"type": "ToolCall"') == len(of(ToolCall, events))
    assert text.count('"type": "ToolResult"') == len(of(ToolResult, events))
    assert text.count('"token_usage": {') == sum(
        not use.lower_bound for use in of(TokenUse, events)
    )
    assert text.count('"type": "TurnEnd"') == len(of(Finish, events))


@pytest.mark.parametrize(
    ("behind", "calls"),
    [(wired("ContentPart", type="text", text="Again."), ["c2"]), (wired("StepBegin", n=2), ["c2"]),
     (wired("TurnEnd"), ["c2"]), (wired("StepInterrupted"), ["c2"]),
     (asked("c1", '{"command": "ls"}'), ["c1", "c2"])],
)  # fmt: skip
def test_a_call_that_broke_off_with_its_answer_is_none(behind: Any, calls: list[str]) -> None:
    """As kimi-cli 1.50 writes it where a connection is reset within a call."""
    begun = [wired("StepBegin", n=1), asked("c1", '{"command": "echo a-long'), behind]
    rows = [*begun, asked("c2", '{"command": "ls"}'), spent(10, 1), came("c2", "x")]
    events = read(SESSION, written(*rows))

    assert [call.call_id for call in of(ToolCall, events)] == calls
    notice = of(Notice, events)[0]
    assert notice.topic is Topic.INTERRUPTION
    assert notice.text.endswith('a call of Shell: {"command": "echo a-long')
    assert notice.source.line == 2
    assert ledger(events).lower_bound
    assert ledger(events).total.sent == 10


def test_a_call_whose_arguments_the_model_wrote_wrongly_stays_one() -> None:
    events = read(SESSION, written(
        asked("c1", '{"command": '), asked("c2", '{"command": "ls"}'), spent(10, 1),
        came("c1", "no JSON"), came("c2", "x"),
    ))  # fmt: skip
    assert [call.call_id for call in of(ToolCall, events)] == ["c1", "c2"]
    assert not ledger(events).lower_bound


def retry(attempt: int, **more: Any) -> dict[str, Any]:
    return wired("StepRetry", n=2, next_attempt=attempt, max_attempts=3, **more)


@pytest.mark.parametrize(
    ("ends", "less"),
    [([retry(2, status_code=500), retry(3, status_code=500)], False),
     ([retry(2, status_code=500)], True), ([retry(2), retry(3)], True),
     ([retry(3, status_code=500), wired("ContentPart", type="text", text="Half")], True)],
)  # fmt: skip
def test_a_request_that_its_provider_refused_each_time_cost_nothing(
    ends: list[dict[str, Any]], less: bool
) -> None:
    rows = [wired("StepBegin", n=1), spent(10, 1), wired("StepBegin", n=2), *ends]
    for last in (wired("StepInterrupted"), wired("TurnEnd")):
        assert ledger(read(SESSION, written(*rows, last))).lower_bound is less


@pytest.mark.parametrize(
    ("ends", "less"),
    [([spent(5, 1), wired("TurnEnd")], False), ([wired("StepInterrupted"), wired("TurnEnd")], True),
     ([wired("StatusUpdate"), wired("TurnEnd")], True), ([], True),
     ([spent(5, 1), asked("c1", '{"command": "ls"}')], False)],
)  # fmt: skip
def test_a_step_whose_answer_nothing_counts_makes_the_total_a_lower_bound(
    ends: list[dict[str, Any]], less: bool
) -> None:
    begun = [wired("StepBegin", n=1), spent(10, 1), wired("StepBegin", n=2)]
    held = ledger(read(SESSION, written(*begun, *ends)))

    assert held.lower_bound is less
    assert held.total.sent == (15 if spent(5, 1) in ends else 10)
