"""Claude Code's session log: tokens, sub-agents, and what the CLI tells of itself."""

from __future__ import annotations

import io
import json
import time
from collections import deque
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.fold.tokens import Ledger
from kbsite.harnesses.claude import session
from kbsite.harnesses.claude.agents import Agents
from kbsite.harnesses.claude.forks import together
from kbsite.harnesses.lines import lines
from kbsite.harnesses.rows import Place, Row
from kbsite.model.event import (
    AgentStart,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.usage import Usage
from tests.harnesses.claude_rows import (
    AT,
    agent_call,
    assistant,
    attached,
    call,
    cost_state,
    held,
    ledger,
    of,
    only,
    read,
    result,
    used,
    user,
)

# Tokens


def test_usage_is_summed_once_per_message() -> None:
    first = assistant({"type": "text", "text": "x"}, message={"usage": used(1)})
    last = assistant(call("c", "Bash"), message={"usage": used(40), "stop_reason": "tool_use"})
    other = assistant(message={"id": "m2", "usage": used(2), "stop_reason": "end_turn"})
    held = ledger(read(first, last, other))

    assert held.total == Usage(input=20, cache_read=6, output=42)
    assert not held.lower_bound


def test_a_message_that_was_not_finished_counts_too_little() -> None:
    assert ledger(read(assistant(message={"usage": used(1), "stop_reason": None}))).lower_bound


def test_nothing_but_zeros_is_unknown() -> None:
    zeros = {"input_tokens": 0, "output_tokens": 0}
    use = only(TokenUse, read(assistant(message={"usage": zeros, "stop_reason": "end_turn"})))

    assert not use.usage.known
    assert use.lower_bound


def test_thinking_is_a_part_of_the_output() -> None:
    details = {**used(40), "output_tokens_details": {"thinking_tokens": 8}}
    use = only(TokenUse, read(assistant(message={"usage": details})))

    assert (use.usage.output, use.usage.reasoning) == (40, 8)


def written(for_an_hour: int, in_all: int) -> dict[str, Any]:
    kinds = {
        "ephemeral_1h_input_tokens": for_an_hour,
        "ephemeral_5m_input_tokens": in_all - for_an_hour,
    }
    return {**used(1), "cache_creation_input_tokens": in_all, "cache_creation": kinds}


def test_what_was_written_for_an_hour_is_counted_once_per_message() -> None:
    first = assistant({"type": "text", "text": "x"}, message={"usage": written(4, 10)})
    last = assistant(call("c", "Bash"), message={"usage": written(7, 10)})
    other = assistant(message={"id": "m2", "usage": written(0, 5)})
    held = ledger(read(first, last, other)).total

    assert (held.cache_write, held.cache_write_1h) == (15, 7)
    assert held.tokens == 20 + 6 + 15 + 2


def test_totals_that_do_not_tell_what_was_for_an_hour_take_it_from_their_messages() -> None:
    message = assistant(message={"usage": written(7, 10), "stop_reason": "end_turn"})
    whole = {"inputTokens": 10, "cacheCreationInputTokens": 12, "outputTokens": 1}
    itself = {**whole, "cacheCreationEphemeral1hInputTokens": 9}
    fewer = {**whole, "cacheCreationInputTokens": 9}
    totals = [
        ledger(read(message, cost_state({"big": one}))).total for one in (whole, itself, fewer)
    ]

    assert [(one.cache_write, one.cache_write_1h) for one in totals] == [
        (12, 7),
        (12, 9),
        (9, None),
    ]


def test_the_clis_own_total_counts_every_model() -> None:
    models = {
        "big": {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 2},
        "small": {"inputTokens": 1, "outputTokens": 1, "cacheReadInputTokens": 0},
    }
    events = read(assistant(message={"usage": used(7)}), cost_state(models, totalCostUSD=0.5))
    total = next(use for use in of(TokenUse, events) if use.scope is Scope.RUN)

    assert ledger(events).total == Usage(input=11, cache_read=2, output=6)
    assert (total.message_id, total.cost_usd, total.model) == ("s", 0.5, "")


def test_a_session_that_used_nothing_is_known_to() -> None:
    assert ledger(read(cost_state({}))).total == Usage(
        input=0, cache_read=0, cache_write=0, output=0
    )


def test_a_guessed_price_is_no_cost() -> None:
    models = {"scripted-1": {"inputTokens": 1, "outputTokens": 1}}
    events = read(cost_state(models, totalCostUSD=0.5, hasUnknownModelCost=True))

    assert only(TokenUse, events).cost_usd is None


# Sub-agents


def test_a_result_ties_a_sub_agent_to_its_call() -> None:
    rich = {"agentId": "a1", "status": "completed"}
    start = only(AgentStart, read(agent_call(), user([result("t1", "3")], toolUseResult=rich)))

    assert (start.child, start.call_id, start.title) == ("a1", "t1", "count files")
    assert start.agent == ""


def test_progress_ties_a_sub_agent_to_its_call_and_is_a_trace() -> None:
    data = {"type": "agent_progress", "agentId": "a1", "message": {"type": "assistant"}}
    row = {"type": "progress", "parentToolUseID": "t1", "data": data, "sessionId": "s"}
    events = read(agent_call(), row, row)

    assert only(AgentStart, events).child == "a1"
    assert [trace.type for trace in of(Trace, events)] == ["progress/agent_progress"] * 2


def progress(message: dict[str, Any]) -> dict[str, Any]:
    """A row in which a session repeats one of a sub-agent, as 2.1.12 to 2.1.81 write it."""
    told = {key: message[key] for key in ("type", "message", "uuid", "timestamp")}
    data = {"type": "agent_progress", "agentId": "a1", "prompt": "Count", "message": told}
    envelope = user("", type="progress", parentToolUseID="t1", toolUseID="agent_msg_1", data=data)
    return {key: held for key, held in envelope.items() if key != "message"}


def repeated() -> list[dict[str, Any]]:
    """The steps of a sub-agent as its parent's session repeats them."""
    said = {"id": "m2", "model": "small-1", "usage": used(7), "stop_reason": None}
    return [
        progress(user("Count the files.", uuid="q")),
        progress(assistant(call("c1", "Bash", command="ls | wc -l"), message=said, uuid="c")),
        progress(user([result("c1", "3", is_error=False)], uuid="r")),
    ]


def test_steps_of_a_sub_agent_whose_file_is_not_there_are_those_that_its_parent_repeats() -> None:
    events = read(agent_call(), *repeated())
    own = [event for event in events if event.agent == "a1"]

    assert only(AgentStart, events).call_id == "t1"
    assert only(Message, own).text == "Count the files."
    assert (only(ToolCall, own).summary, only(ToolResult, own).output) == ("ls | wc -l", "3")
    assert (only(Session, own).model, only(Session, own).session_id) == ("small-1", "s")
    assert (only(TokenUse, own).usage.output, only(TokenUse, own).lower_bound) == (7, True)
    assert [event.source.line for event in of(ToolCall, events)] == [1, 3]
    assert not of(Trace, events)
    assert not of(Unknown, events)


def test_what_a_sub_agent_said_is_told_once_where_each_row_repeats_all_before_it() -> None:
    """As 2.1.15 does: no row is about what it said, and a result may be told before its own row."""
    asked, made, answered = (row["data"]["message"] for row in repeated())
    text = {"type": "text", "text": "I count."}
    said = {**made, "uuid": "t", "message": {**made["message"], "content": [text]}}
    all_rows = [asked, said, made, answered]
    rows = []
    for about, until in [(0, 1), (2, 4), (3, 4)]:
        row = progress(all_rows[about])
        row["data"]["normalizedMessages"] = all_rows[:until]
        rows.append(row)
    own = [event for event in read(agent_call(), *rows) if event.agent == "a1"]

    assert [told.text for told in of(Message, own)] == ["Count the files.", "I count."]
    assert (len(of(ToolCall, own)), len(of(ToolResult, own))) == (1, 1)
    assert [event.source.line for event in of(ToolResult, own)] == [4]


def test_steps_of_a_sub_agent_are_told_once_where_its_file_is_there() -> None:
    main, apart = "session/s.jsonl", "session/s/subagents/agent-a1.jsonl"
    rows = [assistant(call("c1", "Bash", command="ls | wc -l"), agentId="a1", isSidechain=True)]
    files = {main: [agent_call(), *repeated()], apart: rows}
    events = list(together([held(name, told) for name, told in files.items()]))

    assert [call.source.file for call in of(ToolCall, events)] == [main, apart]
    assert [trace.type for trace in of(Trace, events)] == ["progress/agent_progress"] * 3
    # The note beside the file of a sub-agent is none of its rows.
    noted = list(
        together([held(main, files[main]), held(apart.replace(".jsonl", ".meta.json"), [{}])])
    )
    assert len(of(ToolCall, noted)) == 2


def test_a_sub_agents_rows_belong_to_it() -> None:
    row = assistant({"type": "text", "text": "3"}, agentId="a1", isSidechain=True)
    events = read(row, {"type": "atis-latch"}, file="home/p/s/subagents/agent-a1.jsonl")

    assert {event.agent for event in events} == {"a1"}


def test_a_sub_agent_of_a_sub_agent_is_started_by_it() -> None:
    nested = assistant(call("t2", "Agent", description="deeper"), agentId="a1", isSidechain=True)
    shown = "  agentId: forged\nagentId: a2 (use SendMessage with to: 'a2')"
    row = user([result("t2", shown)], agentId="a1", isSidechain=True)
    start = only(AgentStart, read(nested, row, file="session/agent-a1.jsonl"))

    assert (start.agent, start.child, start.call_id) == ("a1", "a2", "t2")


def test_words_about_an_agent_start_none() -> None:
    rows = assistant(call("c", "Bash", command="cat log")), user([result("c", "agentId: a9 (x)")])

    assert not of(AgentStart, read(*rows))


def test_the_note_beside_a_sub_agents_file_ties_it_to_its_call() -> None:
    note = {"agentType": "general-purpose", "description": "child task", "toolUseId": "t1",
            "spawnDepth": 1}  # fmt: skip
    start = only(AgentStart, read(note, file="session/s/subagents/agent-a1.meta.json"))

    assert (start.child, start.call_id, start.title) == ("a1", "t1", "child task")


def test_the_note_of_a_deeper_sub_agent_ties_only_if_it_names_its_parent() -> None:
    note = {"toolUseId": "t2", "spawnDepth": 2}
    file = "session/s/subagents/agent-a2.meta.json"

    assert not of(AgentStart, read(note, file=file))
    assert only(AgentStart, read({**note, "parentAgentId": "a1"}, file=file)).agent == "a1"


def test_sub_agents_in_the_same_file_are_told_apart_by_their_rows() -> None:
    prompts = {"t1": "Count the files.", "t2": "Count the lines."}
    rows: list[object] = [
        assistant(call(key, "Task", description=key, prompt=prompt), uuid=key)
        for key, prompt in prompts.items()
    ]
    rows += [
        user("Count the lines.", uuid="r2", isSidechain=True),
        user("Count the files.", uuid="r1", isSidechain=True),
        assistant({"type": "text", "text": "9"}, uuid="x2", isSidechain=True)
        | {"parentUuid": "r2"},
        assistant({"type": "text", "text": "3"}, uuid="x1", isSidechain=True)
        | {"parentUuid": "r1"},
        user([result("t1", "3")], uuid="z"),
    ]
    events = read(*rows)

    assert {(s.child, s.call_id) for s in of(AgentStart, events)} == {("r1", "t1"), ("r2", "t2")}
    assert [(m.agent, m.text) for m in of(Message, events)][2:] == [("r2", "9"), ("r1", "3")]
    assert only(ToolResult, events).agent == ""


def test_two_sub_agents_with_one_prompt_are_started_by_a_call_each() -> None:
    rows = [
        assistant(call("t1", "Task", prompt="Go."), call("t2", "Task", prompt="Go.")),
        user("Go.", uuid="r1", isSidechain=True),
        user("Go.", uuid="r2", isSidechain=True),
    ]

    assert sorted(s.call_id for s in of(AgentStart, read(*rows))) == ["t1", "t2"]


def test_very_many_sub_agents_find_their_calls_in_the_time_of_as_many_rows() -> None:
    many, agents = range(16_000), Agents()
    rows = [
        Row(user(f"Do {n // 2}."), None, Place("s", n), agent=f"r{n}")  # two of each prompt
        for n in many
    ]
    kinds, given = {"Task": ToolKind.AGENT}, [{"prompt": f"Do {n // 2}."} for n in many]
    before = time.process_time()
    calls = (row.call(kinds, "Task", given[n], f"t{n}") for n, row in enumerate(rows))
    deque(agents.noting(calls), 0)
    starts = [start for row in rows for start in agents.start_by_prompt(row, row.agent)]

    assert time.process_time() - before < 2.5, "each was held against all calls: five seconds"
    assert {s.child: s.call_id for s in starts} == {f"r{n}": f"t{n}" for n in many}


# What the CLI tells


def test_a_session_is_told_once_its_model_is_known() -> None:
    events = read(user("x"), assistant(effort="high"), assistant(effort="high"))
    told = only(Session, events)

    assert (told.model, told.effort, told.session_id) == ("scripted-1", "high", "s")
    assert (told.harness_version, told.cwd, told.source.line) == ("2.1.329", "/workspace", 2)


def given(content: object, **more: Any) -> Ledger:
    """The count of a log in which the model last got this."""
    done = {"usage": used(5), "stop_reason": "tool_use"}
    return ledger(
        read(user("Go."), assistant(call("c1", "Bash"), message=done), user(content, **more))
    )


def test_a_log_that_ends_while_an_answer_is_awaited_does_not_count_all() -> None:
    found = given([result("c1", "x")])
    assert (found.total.output, found.lower_bound) == (5, True)
    assert given("Go on.").lower_bound
    assert ledger(read(user("Go."), user("[Request interrupted by user]"))).lower_bound
    cut = read(user([result("c1", "x")]), '{"type": "assis')
    assert (only(Malformed, cut).source.line, only(TokenUse, cut).source.line) == (2, 2)
    assert only(Malformed, cut).source.part < only(TokenUse, cut).source.part


def test_what_the_model_is_not_asked_has_no_answer_to_be_counted() -> None:
    for content in ("<command-name>/exit</command-name>", "[Request interrupted by user]"):
        assert not given(content).lower_bound
    assert not given("Note.", isMeta=True).lower_bound
    refused = assistant({"type": "text", "text": "API Error"}, isApiErrorMessage=True)
    assert not ledger(read(user("Go."), refused)).lower_bound
    done = {"usage": used(5), "stop_reason": "tool_use"}
    stopped = user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    asked = assistant(call("c1", "Bash"), message=done)
    rejected = user([result("c1", "rejected", is_error=True)])
    assert not ledger(read(asked, rejected, stopped)).lower_bound


def test_the_total_of_a_log_leaves_out_a_request_that_was_still_awaited() -> None:
    counted = cost_state({"m": {"inputTokens": 10, "outputTokens": 5}})
    assert ledger(read(user("Go."), counted)).lower_bound
    assert not ledger(read(user("Go."), assistant(), counted)).lower_bound
    stopped = user("[Request interrupted by user]")
    assert ledger(read(user("Go."), stopped, user("On."), assistant(), counted)).lower_bound


def test_a_session_is_told_anew_when_its_model_changes() -> None:
    events = read(assistant(), assistant(message={"model": "small"}))

    assert [told.model for told in of(Session, events)] == ["scripted-1", "small"]


def test_a_session_without_any_answer_is_told_at_its_end() -> None:
    told = only(Session, read(user("x"), {"type": "mode", "mode": "normal"}))

    assert (told.session_id, told.model, told.source.line) == ("s", "", 2)


def test_the_tools_on_offer_are_named() -> None:
    shape = {"type": "api-request-shape", "shape": {"tools": [{"name": "Bash"}, {"name": "Read"}]}}

    assert only(Session, read(shape, assistant())).tools == ("Bash", "Read")


def offering(*system: str, **tools: str) -> dict[str, Any]:
    told = [{"name": name, "description": about} for name, about in tools.items()]
    parts = [{"type": "text", "text": part} for part in system]
    return {"type": "api-request-shape", "shape": {"system": parts, "tools": told}}


def test_what_the_model_is_told_of_its_tools_is_told_where_it_changes() -> None:
    first, later = offering(Bash="Runs it."), offering(Bash="Runs it.", Read="Reads it.")
    sessions = of(Session, read(first, assistant(), first, later, assistant()))

    assert [session.definitions for session in sessions] == [
        "# Bash\n\nRuns it.\n\n", "# Bash\n\nRuns it.\n\n\n# Read\n\nReads it.\n\n",
    ]  # fmt: skip
    again = of(Session, read(first, assistant(), assistant(effort="high", message={"id": "n"})))
    assert [bool(session.definitions) for session in again] == [True, False]


def test_of_a_system_prompt_what_no_snapshot_has_is_told_too() -> None:
    snapshot = attached("prompt_snapshot", systemPrompt=["Be brief."])
    shape = offering("You are Claude.", "Be brief.")
    events = read(snapshot, shape, shape, snapshot)

    assert [one.text for one in of(Message, events)] == ["Be brief.", "You are Claude."]
    assert all(one.injected and one.role is Role.SYSTEM for one in of(Message, events))
    assert only(Message, read(shape)).text == "You are Claude.\n\nBe brief."


def test_titles_and_summaries_are_told_once() -> None:
    rows = [
        {"type": "summary", "summary": "Sums of rows", "leafUuid": "u"},
        {"type": "custom-title", "customTitle": "Sums", "sessionId": "s"},
        {"type": "ai-title", "aiTitle": "Rows", "sessionId": "s"},
    ]

    notices = of(Notice, read(*rows, *rows))
    assert [(one.topic, one.text) for one in notices] == [
        (Topic.NOTE, "Summary: Sums of rows"), (Topic.NOTE, "Title: Sums"),
        (Topic.NOTE, "Title: Rows"),
    ]  # fmt: skip
    assert len(of(Trace, read(*rows, *rows))) == 3


def test_a_retry_says_why_and_when() -> None:
    row = {"type": "system", "subtype": "api_error", "error": {"formatted": "Connection closed"},
           "retryInMs": 504, "retryAttempt": 1, "maxRetries": 2}  # fmt: skip
    told = only(Notice, read(row))

    assert told.topic is Topic.RETRY
    assert told.text == "Connection closed (retry 1 of 2, in 0.5 s)"
    assert told.wait == 0.504


@pytest.mark.parametrize("before", [998659, 1098659])
def test_a_compaction_says_how_much_it_took_away(before: int) -> None:
    meta = {"trigger": "auto", "preTokens": before, "postTokens": 18101}
    row = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
           "compactMetadata": meta}  # fmt: skip
    told = only(Notice, read(row))

    assert told.topic is Topic.COMPACTION
    assert told.text == f"Conversation compacted (auto, {before} → 18101 tokens)"


def test_an_attachment_is_what_the_model_was_shown_of_it() -> None:
    row = attached("date", date="2026-11-21") | {"rendered": [{"content": "Today is 2026-11-21."}]}
    said = only(Message, read(row))

    assert (said.role, said.text, said.injected) == (Role.SYSTEM, "Today is 2026-11-21.", True)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (attached("hook_additional_context", content=["Be", "brief"]), "Be\nbrief"),
        (attached("nested_memory", content={"path": "/x", "content": "Rules"}), "Rules"),
        (attached("file", content={"type": "text", "file": {"content": "body"}}), "body"),
        (attached("edited_text_file", snippet="1\tx"), "1\tx"),
    ],
)
def test_an_older_attachment_is_read_by_its_type(row: dict[str, Any], text: str) -> None:
    assert only(Message, read(row)).text == text


def test_a_file_that_the_model_saw_in_other_words_is_told_as_it_stood_on_disk() -> None:
    file = {"path": "/x.md", "content": "Rules", "rawContent": "---\nfor: x\n---\nRules"}
    events = read(attached("nested_memory", content=file))

    assert only(Message, events).text == "Rules"
    assert only(Notice, events).text == "/x.md on disk:\n---\nfor: x\n---\nRules"


def test_a_file_that_the_model_saw_as_it_is_is_told_once() -> None:
    file = {"path": "/x.md", "content": "Rules", "rawContent": "Rules"}

    assert not of(Notice, read(attached("nested_memory", content=file)))


def test_a_record_of_tools_on_call_is_a_trace() -> None:
    row = attached("deferred_tools_record", entries=[{"name": "Monitor", "description": "long"}])

    assert only(Trace, read(row)).type == "attachment/deferred_tools_record"


def test_an_attachment_with_nothing_in_it_is_a_trace() -> None:
    assert (
        only(Trace, read(attached("task_reminder", content=[]))).type == "attachment/task_reminder"
    )


def test_a_prompt_typed_during_the_run_is_a_persons() -> None:
    typed = attached("queued_command", prompt="stop", commandMode="prompt")
    told = attached("queued_command", prompt="done", commandMode="task-notification")

    assert not only(Message, read(typed)).injected
    assert only(Message, read(told)).injected


def test_a_system_prompt_that_is_repeated_is_told_once() -> None:
    row = attached("prompt_snapshot", systemPrompt=["You are", "an agent."])
    events = read(row, row)

    assert only(Message, events).text == "You are\nan agent."
    assert only(Trace, events).source.line == 2


def ran(event: str, command: str) -> dict[str, Any]:
    data = {"type": "hook_progress", "hookEvent": event, "hookName": f"{event}:Edit"}
    return {"type": "progress", "timestamp": AT, "data": {**data, "command": command}}


def summed_up(*commands: str, **more: Any) -> dict[str, Any]:
    infos = [{"command": command} for command in commands]
    return {
        "type": "system", "subtype": "stop_hook_summary", "timestamp": AT, "hookInfos": infos,
        **more,
    }  # fmt: skip


def test_a_hook_is_told_with_its_command_when_it_first_runs() -> None:
    rows = (
        ran("PostToolUse", "make lint"),
        ran("PostToolUse", "make lint"),
        ran("Stop", "make lint"),
    )
    events = read(*rows)

    assert [(one.topic, one.text, one.source.line) for one in of(Notice, events)] == [
        (Topic.NOTE, "hook PostToolUse runs: make lint", 1),
        (Topic.NOTE, "hook Stop runs: make lint", 3),
    ]
    assert only(Trace, events).source.line == 2
    assert {one.source.part for one in events} == {0}


def test_a_function_of_the_clis_own_is_no_command_that_a_hook_runs() -> None:
    assert [type(one) for one in read(ran("PostToolUse", "callback"))] == [Trace]


def test_hooks_that_are_summed_up_are_told_too_beside_what_they_said() -> None:
    events = read(
        summed_up("one", "two", hookErrors=[]), summed_up("two", "three", hookErrors=["no"]),
        summed_up("one", "three", hookErrors=[]),
    )  # fmt: skip

    assert [one.text for one in of(Notice, events)] == [
        "hook Stop runs: one\nhook Stop runs: two", "no", "hook Stop runs: three",
    ]  # fmt: skip
    assert only(Trace, events).source.line == 3


def test_a_hook_whose_words_the_model_got_is_told_after_them() -> None:
    row = attached("hook_success", hookEvent="SessionStart", command="greet", content="Be brief.")
    events = read(row)

    assert only(Message, events).source.part == 0
    assert only(Notice, events).text == "hook SessionStart runs: greet"


@pytest.mark.parametrize("odd", [None, 3, {"a": 1}, ["x"], ""])
def test_hooks_that_are_told_in_another_form_lose_no_row(odd: object) -> None:
    rows = (
        ran("Stop", "one") | {"data": odd, "attachment": odd}, summed_up() | {"hookInfos": odd},
        summed_up() | {"hookInfos": [odd, {"command": odd}]}, ran("Stop", "last"),
    )  # fmt: skip
    events = read(*rows)

    assert [one.source.line for one in events] == [1, 2, 3, 4]
    assert of(Notice, events)[-1].text == "hook Stop runs: last"


def test_a_failing_hook_is_an_error() -> None:
    told = only(Notice, read(attached("hook_non_blocking_error", stderr="hook: no such file")))

    assert (told.topic, told.text) == (Topic.ERROR, "hook: no such file")


@pytest.mark.parametrize(
    "kind", ["api-request", "api-request-blob", "last-prompt", "summary", "ai-title"]
)
def test_bookkeeping_is_a_trace_with_the_whole_row(kind: str) -> None:
    row = {"type": kind, "sessionId": "s", "message": {"content": "long"}}
    trace = only(Trace, read(row))

    assert (trace.type, json.loads(trace.raw)) == (kind, row)


def test_a_link_is_told() -> None:
    row = {"type": "pr-link", "prRepository": "o/r", "prUrl": "https://example.org/1"}

    assert only(Notice, read(row)).text == "o/r https://example.org/1"


@pytest.mark.parametrize(
    ("row", "type_"),
    [
        ({"type": "new-thing"}, "new-thing"),
        ({"type": "system", "subtype": "new"}, "system/new"),
        ({"type": "progress", "data": {"type": "new"}}, "progress/new"),
        (attached("new"), "attachment/new"),
        ({"message": "no type"}, ""),
    ],
)
def test_a_row_of_a_type_that_no_table_has_is_unknown(row: dict[str, Any], type_: str) -> None:
    unknown = only(Unknown, read(row))

    assert (unknown.type, json.loads(unknown.raw)) == (type_, row)


def test_a_block_of_unknown_type_is_unknown_and_the_rest_is_read() -> None:
    events = read(assistant({"type": "smell", "of": "roses"}, {"type": "text", "text": "x"}))

    assert only(Unknown, events).type == "assistant/smell"
    assert only(Message, events).text == "x"


def test_two_rows_on_one_line_have_parts_of_their_own() -> None:
    line = json.dumps(assistant({"type": "text", "text": "1"})) + json.dumps(user("2"))
    events = read(line)

    assert [m.text for m in of(Message, events)] == ["1", "2"]
    assert [event.source.part for event in events] == list(range(len(events)))


def test_a_row_without_content_is_a_trace() -> None:
    assert only(Trace, read({"type": "user", "message": {"content": []}})).type == "user"


def test_a_cut_row_is_malformed() -> None:
    data = json.dumps(user("x")) + "\n" + json.dumps(user("y"))[:40]
    events = list(session.parse(lines(io.BytesIO(data.encode())), "session/s.jsonl"))

    assert only(Malformed, events).reason == "the file ends in the middle of this line"


def test_a_text_that_is_deleted_goes_with_the_end_of_its_line() -> None:
    given = {"file_path": "a.py", "old_string": "x"}
    events = read(assistant(call("t1", "Edit", **given, new_string="")))
    kept = read(assistant(call("t1", "Edit", **given, new_string="y")))

    assert [edit.closed for edit in only(ToolCall, events).edits] == [True]
    assert [edit.closed for edit in only(ToolCall, kept).edits] == [False]


def notified(call_id: str, summary: str) -> str:
    """What the model is told of a command in the background that is over."""
    return (
        f"<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>{call_id}</tool-use-id>\n"
        f"<status>failed</status>\n<summary>{summary}</summary>\n</task-notification>"
    )


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        ('Background command "Build" failed with exit code 6', 6),
        ('Background command "Build" completed (exit code 0)', 0),
        ('Background command "Build" was stopped', None),
        ('Agent "Build" finished with exit code 6', None),
    ],
)
@pytest.mark.parametrize("queued", [False, True])
def test_how_a_command_in_the_background_ended_stands_at_its_call(
    summary: str, code: int | None, *, queued: bool
) -> None:
    said = notified("c1", summary)
    held = {"type": "queued_command", "prompt": said, "commandMode": "task-notification"}
    row = {"type": "attachment", "attachment": held} if queued else user(said)
    rows = [
        assistant(call("c1", "Bash", command="make", run_in_background=True)),
        user([result("c1", "Command running in background with ID: b1")]),
        row,
    ]
    fold = Fold()
    for event in read(*rows, row):
        fold.add(event)
    steps = fold.transcript("", "", ()).main.steps
    (answer,) = [step.result for step in steps if step.result]
    assert (answer.exit_code, answer.output[:7]) == (code, "Command")
    assert not any(isinstance(step.event, ToolResult) for step in steps)


@pytest.mark.parametrize(
    ("tool", "rich"),
    [
        ("BashOutput", {"shellId": "b1", "status": "failed", "exitCode": 6}),
        ("TaskOutput", {"task": {"task_id": "b1", "status": "failed", "exitCode": 6}}),
    ],
)
def test_a_command_in_the_background_that_failed_counts_once_where_its_end_is_asked_for(
    tool: str, rich: dict[str, Any]
) -> None:
    rows = [
        assistant(call("c1", "Bash", command="make", run_in_background=True)),
        user([result("c1", "Command running in background with ID: b1. Output is being")]),
        assistant(call("c2", tool, bash_id="b1")),
        user([result("c2", "<status>failed</status>")], toolUseResult=rich),
        assistant(call("c3", tool, bash_id="b1")),
        user([result("c3", "<status>failed</status>")], toolUseResult=rich),
        user(notified("c1", 'Background command "Build" failed with exit code 6')),
    ]
    fold = Fold()
    for event in read(*rows):
        fold.add(event)
    steps = fold.transcript("", "", ()).main.steps
    answers = [step.result for step in steps if step.result]
    assert [(answer.exit_code, answer.end_of) for answer in answers] == [
        (6, ""), (6, "c1"), (6, "c1"),
    ]  # fmt: skip


def test_what_another_command_printed_is_no_end_of_the_first_one() -> None:
    still = {"shellId": "b1", "status": "running", "exitCode": None}
    rows = [
        user([result("c1", "Command running in background with ID: b1")]),
        user([result("c2", "<status>running</status>")], toolUseResult=still),
        user([result("c3", "no", is_error=True)], toolUseResult={"exitCode": 1}),
        user([result("c4", "x")], toolUseResult={"shellId": "b2", "exitCode": 1}),
    ]
    told = of(ToolResult, read(*rows))
    assert [(one.call_id, one.end_of) for one in told] == [(f"c{n}", "") for n in (1, 2, 3, 4)]


def test_the_end_of_a_command_that_nothing_tells_of_is_no_result() -> None:
    said = notified("gone", 'Background command "Build" failed with exit code 6')
    fold = Fold()
    for event in read(user(said)):
        fold.add(event)
    kinds = fold.transcript("", "", ()).kinds
    assert kinds.get("result", 0) == 0
