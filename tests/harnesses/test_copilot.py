"""What Copilot CLI keeps of a session, as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.harnesses.copilot import FORMATS
from kbsite.harnesses.form import Format
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
from kbsite.model.transcript import AgentLog, Transcript
from kbsite.model.usage import Usage
from tests.harnesses.reading import beside, corpus, ledger, of, one, read, read_rows

SESSION, PRINTED = FORMATS
AT = "2026-04-07T21:07:18.780Z"


def event(kind: str, agent: str = "", **data: Any) -> Any:
    row = {"type": kind, "data": data, "id": "i", "timestamp": AT, "parentId": None}
    return row | ({"agentId": agent} if agent else {})


START = event("session.start", sessionId="s-1", copilotVersion="1.0.20", context={"cwd": "/w"})


def asked(tool: str = "bash", call_id: str = "c1", **given: Any) -> Any:
    return {"toolCallId": call_id, "name": tool, "arguments": given, "type": "function"}


def answer(*calls: Any, agent: str = "", **data: Any) -> Any:
    return event(
        "assistant.message", agent, **{"messageId": "m1", "toolRequests": list(calls), **data}
    )


def started(call_id: str = "c1", **given: Any) -> Any:
    return event("tool.execution_start", toolCallId=call_id, toolName="bash", arguments=given)


def completed(told: Any, call_id: str = "c1", **data: Any) -> Any:
    held = {"toolCallId": call_id, "success": True, "result": told, **data}
    return event("tool.execution_complete", **held)


def kept(*rows: Any) -> list[Event]:
    return read_rows(SESSION, *rows, name="session/s-1/events.jsonl")


def folded(*rows: Any) -> Transcript:
    fold = Fold()
    for item in kept(*rows):
        fold.add(item)
    return fold.transcript("", "", ())


def test_the_first_row_tells_the_session() -> None:
    session = one(Session, kept(START))

    assert (session.session_id, session.cwd) == ("s-1", "/w")
    assert (session.harness_version, session.at is not None) == ("1.0.20", True)
    assert json.loads(session.raw) == START


def test_a_model_that_is_chosen_is_told_and_named_by_what_follows() -> None:
    change = event("session.model_change", newModel="m-2", reasoningEffort="high")
    events = kept(START, change, answer(content="a"))

    assert [(s.model, s.effort) for s in of(Session, events)] == [("", ""), ("m-2", "high")]
    assert one(Message, events).model == "m-2"


# Messages


def test_people_and_the_model_speak() -> None:
    prompt = event("user.message", content="do it", transformedContent="do it", attachments=[])
    events = kept(prompt, answer(content="done", model="m-1"))

    assert [(m.role, m.text, m.model) for m in of(Message, events)] == [
        (Role.USER, "do it", ""),
        (Role.ASSISTANT, "done", "m-1"),
    ]


def test_what_the_cli_put_around_a_prompt_is_injected() -> None:
    sent = "<now>x</now>\n\ndo it\n\n<reminder>y</reminder>"
    events = kept(event("user.message", content="do it", transformedContent=sent))

    assert [(m.text, m.injected) for m in of(Message, events)] == [
        ("<now>x</now>", True),
        ("do it", False),
        ("<reminder>y</reminder>", True),
    ]


def test_a_prompt_that_was_sent_in_other_words_is_kept_both_ways() -> None:
    events = kept(event("user.message", content="/fix", transformedContent="Fix it."))

    assert [(m.text, m.injected) for m in of(Message, events)] == [("Fix it.", True),
                                                                   ("/fix", False)]  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        event("user.message", content="x", source="skill-review"),
        event("system.message", content="x", role="system"),
        event("system.notification", content="x"),
        event("skill.invoked", content="x", name="review"),
    ],
)
def test_what_no_person_wrote_is_injected(row: Any) -> None:
    message = one(Message, kept(row))

    assert (message.text, message.injected) == ("x", True)


def test_attachments_are_pictures_or_notes() -> None:
    picture = {"type": "blob", "data": "AAAA", "mimeType": "image/png"}
    file = {"type": "file", "path": "/w/a.py", "displayName": "a.py"}
    events = kept(event("user.message", content="x", attachments=[picture, file]))

    assert one(Message, events).images == (Image("image/png", "AAAA"),)
    assert one(Notice, events).text == "Attached: a.py"
    assert json.loads(one(Notice, events).raw) == file


def test_thinking_is_a_thought() -> None:
    rows = [answer(reasoningText="hm", reasoningOpaque="s"), answer(reasoningOpaque="s"), answer()]

    assert [(t.text, t.encrypted) for t in of(Thought, kept(*rows))] == [("hm", False), ("", True)]


def test_a_thought_that_stands_in_two_rows_is_told_once() -> None:
    events = kept(event("assistant.reasoning", content="hm"), answer(reasoningText="hm"))

    assert one(Thought, events).text == "hm"
    assert one(Trace, events).type == "assistant.message"


# Calls


def test_a_call_and_its_result_are_joined_by_id() -> None:
    rows = [answer(asked(command="ls")), started(command="ls"), completed({"content": "a"})]
    calls = [s for s in folded(*rows).main.steps if isinstance(s.event, ToolCall)]

    (step,) = calls
    assert isinstance(step.event, ToolCall)
    assert (step.event.tool_kind, step.event.summary) == (ToolKind.RUN, "ls")
    assert step.result is not None
    assert (step.result.output, step.result.is_error) == ("a", False)


def test_the_start_of_a_call_is_a_repetition() -> None:
    events = kept(answer(asked(command="ls")), started(command="ls"))

    assert len(of(ToolCall, events)) == 1
    assert one(Trace, events).type == "tool.execution_start"


def test_a_call_that_was_made_otherwise_than_asked_for_says_so() -> None:
    events = kept(answer(asked(command="ls")), started(command="ls -a"))

    assert one(Notice, events).text == (
        'The call was made with other arguments:\n{"command": "ls -a"}'
    )


def test_a_call_that_no_message_asked_for_is_a_call() -> None:
    call = one(ToolCall, kept(started(command="ls")))

    assert (call.call_id, call.tool, call.summary) == ("c1", "bash", "ls")


@pytest.mark.parametrize(
    ("tool", "given", "edits"),
    [
        ("create", {"path": "p", "file_text": "x"}, [("p", None, "x")]),
        ("edit", {"path": "p", "old_str": "x", "new_str": "y"}, [("p", "x", "y")]),
        ("view", {"path": "p"}, []),
    ],
)
def test_edits_are_told(tool: str, given: Any, edits: Any) -> None:
    call = one(ToolCall, kept(answer(asked(tool, **given))))

    assert [(edit.path, edit.old, edit.new) for edit in call.edits] == edits


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("a\n<exited with exit code 0>", 0),
        ("<exited with exit code -9>\n", -9),
        ("<command with shellId: 3 exited with exit code 2>", 2),
        ("a\n<shellId: s1 completed with exit code 3>", 3),
        ("<exited with exit code 1> and more", None),
        ("a", None),
    ],
)
def test_the_exit_code_stands_at_the_end_of_the_output(told: str, code: int | None) -> None:
    assert one(ToolResult, kept(completed({"content": told}))).exit_code == code


def test_the_exit_code_stands_beside_the_output_too() -> None:
    held = one(ToolResult, kept(completed({"content": "a"}, shellExecution={"exitCode": 7})))

    assert held.exit_code == 7


def test_the_file_with_the_whole_output_is_named() -> None:
    told = "Output too large to read at once (42.9 KB). Saved to: /t/out.txt\nConsider grep."
    held = one(ToolResult, kept(completed({"content": told})))

    assert held.side_files == ("/t/out.txt",)


def test_a_call_takes_from_its_start_to_its_end() -> None:
    over = completed({"content": "a"}) | {"timestamp": "2026-04-07T21:07:20.030Z"}
    held = one(ToolResult, kept(answer(asked(command="ls")), started(command="ls"), over))

    assert held.seconds == 1.25


PICTURE = Image("image/png", "AAAA")


@pytest.mark.parametrize(
    "rows",
    [
        [completed({"content": "a", "binaryResultsForLlm": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"}]})],
        [event("session.binary_asset", assetId="s:1", data="AAAA", mimeType="image/png"),
         completed({"content": "a", "binaryResultsForLlm": [{"type": "image", "assetId": "s:1"}]})],
    ],
)  # fmt: skip
def test_a_picture_stands_in_the_result_or_in_a_row_before(rows: Any) -> None:
    held = one(ToolResult, kept(*rows))

    assert (held.images, held.recorded) == ((PICTURE,), "")


def test_what_a_result_holds_that_is_no_picture_is_kept() -> None:
    sound = {"type": "audio", "data": "B"}
    held = one(ToolResult, kept(completed({"content": "a", "binaryResultsForLlm": [sound]})))

    assert held.recorded == {"binaryResultsForLlm": [sound]}


def test_a_call_that_failed_tells_the_error() -> None:
    wrong = {"message": "denied", "code": "rejected"}
    held = one(ToolResult, kept(completed(None, success=False, error=wrong)))

    assert (held.output, held.is_error) == ("denied", True)
    assert held.recorded == {"error": {"code": "rejected"}}


def test_a_result_keeps_what_the_model_was_not_shown() -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    blocks = [{"type": "text", "text": "a"}, picture, {"type": "audio", "data": "B"}]
    told = {"content": "a", "detailedContent": "a\nb", "contents": blocks}
    held = one(ToolResult, kept(completed(told)))

    assert held.images == (Image("image/png", "AAAA"),)
    assert held.recorded == {
        "detailedContent": "a\nb",
        "contents": [{"type": "audio", "data": "B"}],
    }


def test_a_longer_copy_that_is_none_is_not_kept() -> None:
    held = one(ToolResult, kept(completed({"content": "a", "detailedContent": "a"})))

    assert held.recorded == ""


# Sub-agents

WORK = [
    answer(asked("task", "c1", description="look"), content="go"),
    event("subagent.started", "a-1", toolCallId="c1", agentName="explore", agentDisplayName="E"),
    answer(asked("bash", "c2", command="ls"), agent="a-1", content="in it"),
    completed({"content": "x"}, "c2"),
    event("subagent.completed", "a-1", toolCallId="c1", agentName="explore"),
    completed({"content": "found"}, "c1"),
]


def test_a_sub_agent_stands_below_the_call_that_started_it() -> None:
    main = folded(*WORK).main
    (task,) = [step for step in main.steps if isinstance(step.event, ToolCall)]
    (agent,) = task.agents

    assert (agent.id, agent.title) == ("a-1", "E: look")
    assert [type(step.event) for step in agent.steps] == [Message, ToolCall, Finish]
    assert agent.steps[1].result is not None
    assert agent.steps[1].result.output == "x"
    assert task.result is not None
    assert task.result.output == "found"


def test_a_sub_agent_that_is_named_by_its_call_is_the_same() -> None:
    rows = [row if "agentId" not in row else dict(row) for row in WORK]
    for row in rows:
        if row.pop("agentId", None) and row["type"] == "assistant.message":
            row["data"] = row["data"] | {"parentToolCallId": "c1"}
    (task,) = [step for step in folded(*rows).main.steps if isinstance(step.event, ToolCall)]

    assert [len(agent.steps) for agent in task.agents] == [3]


def test_a_sub_agent_of_a_sub_agent_stands_below_that() -> None:
    rows = [
        *WORK[:2],
        answer(asked("task", "c2"), agent="a-1"),
        event("subagent.started", "a-2", toolCallId="c2", agentName="deep"),
        answer(agent="a-2", content="deep down"),
    ]

    assert [(start.agent, start.child) for start in of(AgentStart, kept(*rows))] == [
        ("", "a-1"),
        ("a-1", "a-2"),
    ]


def test_a_sub_agent_that_fails_does_not_end_the_session() -> None:
    failed = event("subagent.failed", "a-1", toolCallId="c1", error="no model")
    whole = folded(*WORK[:3], failed)
    finish = one(Finish, kept(*WORK[:3], failed))

    assert (finish.agent, finish.ok, finish.text) == ("a-1", False, "no model")
    assert whole.finish is None


# Tokens and ends


def metrics(whole: int, read: int, written: int, output: int, **keys: Any) -> Any:
    used = {"inputTokens": whole, "cacheReadTokens": read, "cacheWriteTokens": written}
    return {"requests": {"count": 2}, "usage": used | {"outputTokens": output, **keys}}


def shutdown(since: int = 1, **models: Any) -> Any:
    data: dict[str, Any] = {
        "shutdownType": "routine",
        "sessionStartTime": since,
        "modelMetrics": models,
    }
    return event("session.shutdown", **data)


def test_the_end_tells_the_tokens_of_all_models() -> None:
    models = {"m": metrics(100, 60, 30, 9, reasoningTokens=4), "n": metrics(10, 0, 0, 1)}
    events = kept(START, answer(outputTokens=9), answer(outputTokens=1), shutdown(**models))
    held = ledger(events)

    assert (held.total.input, held.total.output, held.total.reasoning) == (20, 10, 4)
    assert (held.total.cache_read, held.total.cache_write) == (60, 30)
    assert [use.model for use in of(TokenUse, events)[2:]] == ["m", "n"]


def test_a_session_that_is_taken_up_again_counts_from_there() -> None:
    first, again = shutdown(1, m=metrics(10, 0, 0, 1)), shutdown(2, m=metrics(20, 0, 0, 2))
    held = ledger(kept(START, first, first, event("session.resume"), again))

    assert (held.total.input, held.total.output) == (30, 3)


def test_without_an_end_each_message_tells_its_output() -> None:
    rows = [answer(outputTokens=9), answer(outputTokens=9), answer(outputTokens=1, messageId="m2")]
    held = ledger(kept(*rows))

    assert (held.total.input, held.total.output) == (None, 10)


def test_the_count_of_a_request_takes_the_place_of_its_message() -> None:
    request = event("assistant.usage", model="m", **metrics(100, 60, 0, 9)["usage"])
    other = event("assistant.usage", model="m", apiCallId="x", inputTokens=5, outputTokens=2)
    held = ledger(kept(answer(outputTokens=9), request, other))

    assert (held.total.input, held.total.cache_read, held.total.output) == (45, 60, 11)


def record(call: str, whole: int, read: int, output: int, agent: str = "") -> Any:
    used = {"model": "m", "apiCallId": call, **metrics(whole, read, 0, output)["usage"]}
    return event("session.usage_record", agent, usage=used)


def test_the_count_of_a_request_belongs_to_the_message_after_it() -> None:
    rows = [
        record("r1", 100, 60, 9), record("r2", 50, 0, 5, agent="a-1"),
        answer(apiCallId="r2", agent="a-1", content="b"), answer(apiCallId="r1", content="a"),
    ]  # fmt: skip
    events = kept(*rows)

    assert [(use.agent, use.source.line) for use in of(TokenUse, events)] == [("a-1", 3), ("", 4)]
    assert ledger(events).usage("") == Usage(
        input=40, cache_read=60, cache_write=0, output=9, reasoning=None
    )
    assert of(Unknown, events) == []


def test_a_request_whose_message_never_came_is_counted() -> None:
    assert ledger(kept(record("r1", 100, 60, 9))).total.output == 9


@pytest.mark.parametrize("ended", [True, False])
def test_what_a_summary_took_is_counted_beside_the_messages(ended: bool) -> None:
    used = metrics(50, 20, 0, 7)["usage"]
    summary = event(
        "session.compaction_complete", summaryContent="s", compactionAttemptId="a",
        compactionTokensUsed=used,
    )  # fmt: skip
    rows = [START, record("r1", 100, 60, 9), answer(apiCallId="r1"), summary]
    held = ledger(kept(*rows, *([shutdown(m=metrics(100, 60, 0, 9))] if ended else [])))

    assert (held.total.input, held.total.cache_read, held.total.output) == (70, 80, 16)
    assert held.told.known is ended
    assert not held.lower_bound


def test_a_message_is_counted_once_where_two_rows_tell_of_it() -> None:
    held = ledger(kept(record("r1", 100, 60, 9), answer(apiCallId="r1", outputTokens=9)))

    assert held.total.output == 9


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (shutdown(), (True, "routine", "")),
        (event("session.shutdown", shutdownType="error", errorReason="x"), (False, "error", "x")),
        (event("session.task_complete", summary="done"), (True, "task_complete", "done")),
        (event("session.task_complete", success=False), (False, "task_complete", "")),
    ],
)
def test_the_end_is_told(row: Any, told: Any) -> None:
    finish = one(Finish, kept(row))

    assert (finish.ok, finish.reason, finish.text) == told


# What the CLI tells


@pytest.mark.parametrize(
    ("row", "topic", "told"),
    [
        (event("session.info", infoType="folder_trust", message="x"), Topic.NOTE, "x"),
        (event("session.error", errorType="quota", message="x"), Topic.ERROR, "x"),
        (event("abort", reason="user initiated"), Topic.INTERRUPTION, "user initiated"),
        (event("model.call_failure", statusCode=429, errorMessage="x"), Topic.RETRY, "429 x"),
        (event("model.call_failure"), Topic.RETRY, "A request failed."),
        (event("session.compaction_complete", summaryContent="x"), Topic.COMPACTION, "x"),
        (event("session.compaction_complete", error="y"), Topic.COMPACTION, "y"),
        (event("hook.end", hookType="h", success=False, error={"message": "x"}), Topic.NOTE,
         "The hook h failed: x"),
        (event("hook.end", hookType="h", success=True, output={"a": 1}), Topic.NOTE,
         'The hook h said:\n{"a": 1}'),
        (event("permission.completed", result={"kind": "denied-by-rules"}), Topic.NOTE,
         "Permission: denied-by-rules"),
    ],
)  # fmt: skip
def test_what_a_reader_should_know_is_a_notice(row: Any, topic: Topic, told: str) -> None:
    notice = one(Notice, kept(row))

    assert (notice.topic, notice.text) == (topic, told)
    assert json.loads(notice.raw) == row


@pytest.mark.parametrize(
    "row",
    [
        event("assistant.turn_start", turnId="0"),
        event("assistant.message_delta", deltaContent="a"),
        event("tool.execution_partial_result", partialOutput="a"),
        event("hook.start", hookType="h"),
        event("hook.end", hookType="h", success=True),
        event("permission.completed", result={"kind": "approved"}),
        event("subagent.selected", agentName="a"),
        event("session.permissions_changed", allowAllPermissions=True),
        event("subagent.configured", "a-1", model="m"),
    ],
)
def test_bookkeeping_is_a_trace(row: Any) -> None:
    (trace,) = kept(row)

    assert isinstance(trace, Trace)
    assert (trace.type, json.loads(trace.raw)) == (row["type"], row)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (event("session.new"), "session.new"),
        (event("assistant.new"), "assistant.new"),
        (event("tool.new"), "tool.new"),
        (event("subagent.new"), "subagent.new"),
        ({"type": "user.message", "data": 7}, "user.message"),
        ({}, ""),
        (answer(7), "toolRequest"),
    ],
)
def test_what_the_format_does_not_know_is_unknown(row: Any, kind: str) -> None:
    assert one(Unknown, kept(row)).type == kind


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([START], True),
        ([{"type": "x"}, START], True),
        ([answer(), completed({})], True),
        ([], False),
        ([{}], False),
        ([{"type": "session.start"}], False),
        ([{"type": "session.updated", "properties": {}}], False),
        ([answer(), {"type": "x"}], False),
    ],
)
def test_only_its_own_logs_are_recognised(head: Any, claimed: bool) -> None:
    assert SESSION.recognises(head) is claimed


# Its stdout

PASSING = event("model.call_start") | {"ephemeral": True}
END: Any = {
    "type": "result", "timestamp": AT, "sessionId": "s-1", "exitCode": 0,
    "usage": {"sessionDurationMs": 1500},
}  # fmt: skip


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([PASSING, answer()], True),
        ([answer(), END], True),
        ([answer(), completed({})], False),
        ([START, answer()], False),
        ([PASSING, {"type": "x"}], False),
        ([], False),
    ],
)
def test_what_it_prints_is_told_from_what_it_keeps(head: Any, claimed: bool) -> None:
    assert PRINTED.recognises(head) is claimed
    assert not (claimed and SESSION.recognises(head))


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False)])
def test_the_last_row_tells_how_it_ended(code: int, ok: bool) -> None:
    finish = one(Finish, read_rows(PRINTED, END | {"exitCode": code}))

    assert (finish.ok, finish.reason, finish.seconds) == (ok, f"exit code {code}", 1.5)


def test_the_model_is_told_before_anything_else() -> None:
    assert one(Session, read_rows(PRINTED, event("session.tools_updated", model="m"))).model == "m"


@pytest.mark.parametrize(("told", "recorded"), [("a\nb", ""), ("a…", {"printed": "a\nb\n"})])
def test_what_a_command_printed_is_kept_where_the_result_is_shorter(
    told: str, recorded: Any
) -> None:
    pieces = [event("tool.shell_output", toolCallId="c1", text=one) for one in ("a\n", "b\n")]
    held = one(ToolResult, read_rows(PRINTED, *pieces, completed({"content": told})))

    assert held.recorded == recorded


def test_what_a_command_had_printed_when_it_all_ended_is_told() -> None:
    piece = event("tool.shell_output", "a-1", toolCallId="c1", text="half ✓\n")
    notice = one(Notice, read_rows(PRINTED, piece))

    assert (notice.topic, notice.agent) == (Topic.INTERRUPTION, "a-1")
    assert notice.text == "Output of a call that was still running:\nhalf ✓\n"


def captured(form: Format, name: str) -> Transcript:
    (path,) = (Path(__file__).parent / "captures" / "copilot" / "small").glob(name)
    fold = Fold()
    for item in read(form, path.read_bytes()):
        fold.add(item)
    return fold.transcript(form.id, form.title, ())


def test_a_captured_session_is_read_whole_from_either_file() -> None:
    kept, printed = captured(SESSION, "home/**/events.jsonl"), captured(PRINTED, "stdout.jsonl")

    assert kept.usage == Usage(input=5516, cache_read=2000, cache_write=0, output=608, reasoning=44)
    assert printed.usage == Usage()
    for told in (kept, printed):
        calls = [step for step in told.main.every_step if isinstance(step.event, ToolCall)]
        results = [step.result for step in calls]
        assert [step.event.tool for step in calls if isinstance(step.event, ToolCall)] == [
            "bash", "view", "task", "bash", "bash",
        ]  # fmt: skip
        assert [result and result.exit_code for result in results] == [3, None, None, 0, 0]
        assert [len(result.images) for result in results if result] == [0, 1, 0, 0, 0]
        assert [len(step.agents) for step in calls] == [0, 0, 1, 0, 0]
        assert (told.unknown, told.malformed, told.finish and told.finish.ok) == ({}, (), True)
    assert kept.usage_told
    assert sum(log.usage.output or 0 for log in _logs(kept)) == 608
    assert printed.kinds["notice"] == 1


def _logs(told: Transcript) -> list[AgentLog]:
    return [told.main, *(log for step in told.main.every_step for log in step.agents)]


@beside
def test_every_row_of_the_corpus_is_read_and_the_totals_agree() -> None:
    for path in corpus("copilot-session"):
        data = path.read_text("utf-8")
        events = read(SESSION, data)
        held = ledger(events)

        assert {item.source.line for item in events} == set(range(1, data.count("\n") + 1))
        assert len(of(ToolCall, events)) == data.count('"type":"tool.execution_start"')
        assert [c.call_id for c in of(ToolCall, events)] == [
            r.call_id for r in of(ToolResult, events)
        ]
        assert held.counted.output == held.told.output
        assert of(Unknown, events) == []


@pytest.mark.parametrize(
    ("data", "undone"), [({"summaryContent": "x"}, False), ({"error": "y"}, True)]
)
def test_a_compaction_that_failed_came_to_nothing(data: dict[str, str], undone: bool) -> None:
    assert one(Notice, kept(event("session.compaction_complete", **data))).undone is undone
