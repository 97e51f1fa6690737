"""Claude Code's stream on stdout, row by row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbsite.harnesses.claude import stream
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Session,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.usage import Usage
from tests.harnesses import claude_rows
from tests.harnesses.claude_rows import ledger, of, only


def read(*rows: object) -> list[Event]:
    return claude_rows.read(*rows, file="stdout.jsonl", parse=stream.parse)


def row(kind: str, *content: object, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"id": "m1", "role": kind, "model": "scripted-1", "content": list(content)}
    return {"type": kind, "session_id": "s", "parent_tool_use_id": parent,
            "message": message | more.pop("message", {}), **more}  # fmt: skip


def system(subtype: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "session_id": "s", **more}


def counts(sent: int, output: int) -> dict[str, int]:
    return {"inputTokens": sent, "outputTokens": output, "cacheReadInputTokens": 0}


def result(*, session: str = "s", models: object = None, **more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": session,
            "result": "Done.", "duration_ms": 2092, "num_turns": 12, "stop_reason": "end_turn",
            "terminal_reason": "completed", "usage": {"input_tokens": 11, "output_tokens": 5},
            "modelUsage": models or {}, **more}  # fmt: skip


def agent_call(call_id: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "Agent",
             "input": {"description": "count files", "prompt": "Count."}}  # fmt: skip
    return row("assistant", block, **more)


def test_the_first_row_tells_the_session() -> None:
    told = only(
        Session,
        read(
            system("init", model="scripted-1", cwd="/w", tools=["Bash", 7], claude_code_version="2")
        ),
    )

    assert (told.session_id, told.model, told.cwd, told.harness_version) == (
        "s", "scripted-1", "/w", "2",
    )  # fmt: skip
    assert told.tools == ("Bash", "7")
    assert json.loads(told.raw)["subtype"] == "init"


def test_the_result_counts_sub_agents_and_helpers() -> None:
    models = {"big": counts(11, 5), "small": counts(2, 1)}
    held = ledger(
        read(row("assistant", message={"usage": {"output_tokens": 1}}), result(models=models))
    )

    assert held.total == Usage(input=13, cache_read=0, output=6)
    assert not held.lower_bound


def test_without_counts_by_model_the_results_own_count_holds() -> None:
    assert ledger(read(result())).total == Usage(input=11, output=5)


def test_counts_by_model_in_the_older_spelling_are_read() -> None:
    models = {"big": {"input_tokens": 130, "output_tokens": 76}}

    assert ledger(read(result(models=models))).total == Usage(input=130, output=76)


def test_without_a_result_the_count_is_a_lower_bound() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 1}
    held = ledger(read(row("assistant", message={"usage": usage, "stop_reason": None})))

    assert held.total == Usage(input=1000, output=1)
    assert held.lower_bound


def test_results_of_several_sessions_add_up() -> None:
    events = read(
        result(session="s", models={"m": counts(10, 1)}),
        result(session="r", models={"m": counts(20, 2)}),
    )

    assert ledger(events).total == Usage(input=30, cache_read=0, output=3)


def test_a_later_result_that_repeats_the_earlier_figures_replaces_it() -> None:
    events = read(result(models={"m": counts(10, 1)}), result(models={"m": counts(30, 4)}))

    assert ledger(events).total == Usage(input=30, cache_read=0, output=4)


def test_a_later_result_with_smaller_figures_counts_beside_the_earlier_one() -> None:
    events = read(result(models={"m": counts(30, 4)}), result(models={"m": counts(10, 1)}))

    assert ledger(events).total == Usage(input=40, cache_read=0, output=5)


def test_a_later_result_that_says_it_starts_anew_counts_beside_the_earlier_one() -> None:
    later = {"m": counts(30, 4)}
    events = read(
        result(models={"m": counts(10, 1)}),
        result(models=later, model_usage_since_last_result=later),
    )

    assert ledger(events).total == Usage(input=40, cache_read=0, output=5)


def test_a_later_result_that_says_what_it_adds_replaces_the_earlier_one() -> None:
    since = {"m": counts(20, 3)}
    events = read(
        result(models={"m": counts(10, 1)}),
        result(models={"m": counts(30, 4)}, model_usage_since_last_result=since),
    )

    assert ledger(events).total == Usage(input=30, cache_read=0, output=4)


def test_a_cost_is_what_the_cli_says() -> None:
    assert ledger(read(result(models={"m": counts(1, 1)}, total_cost_usd=0.5))).cost_usd == 0.5


def test_a_cost_on_an_unknown_basis_is_no_cost() -> None:
    models = {"m": {**counts(1, 1), "costBasis": "unknown"}}

    assert ledger(read(result(models=models, total_cost_usd=0.5))).cost_usd is None


def test_a_result_is_the_completion() -> None:
    end = only(Finish, read(result()))

    assert (end.ok, end.reason, end.text) == (True, "end_turn", "Done.")
    assert (end.seconds, end.turns) == (2.092, 12)


def test_a_success_with_an_error_is_none() -> None:
    end = only(Finish, read(result(is_error=True, terminal_reason="api_error")))

    assert (end.ok, end.reason) == (False, "api_error")


def test_a_result_without_a_final_answer_shows_its_errors() -> None:
    failed = result(subtype="error_during_execution", is_error=True, errors=["no", "luck"])
    failed.pop("result")
    failed.pop("terminal_reason")
    end = only(Finish, read(failed))

    assert (end.ok, end.reason, end.text) == (False, "error_during_execution", "no\nluck")


def test_too_many_turns_is_no_success_whatever_the_flag_says() -> None:
    assert only(Finish, read(result(subtype="error_max_turns"))).ok is False


def test_a_result_that_says_nothing_is_neither() -> None:
    assert only(Finish, read({"type": "result"})).ok is None


def test_older_rows_of_a_sub_agent_are_known_by_its_call() -> None:
    child = row("assistant", {"type": "text", "text": "3"}, parent="t1")
    events = read(agent_call(), child)
    start = only(AgentStart, events)

    assert (start.agent, start.child, start.call_id, start.title) == ("", "t1", "t1", "count files")
    assert only(Message, events).agent == "t1"


def test_newer_rows_of_a_sub_agent_are_known_by_its_id() -> None:
    child = row("assistant", {"type": "text", "text": "3"}, parent="t1", agent_id="a1")
    events = read(agent_call(), child)

    assert (only(AgentStart, events).child, only(Message, events).agent) == ("a1", "a1")


def test_a_task_that_is_a_sub_agent_starts_it_once() -> None:
    started = system(
        "task_started", task_type="local_agent", task_id="a1", tool_use_id="t1", description="count"
    )
    events = read(agent_call(), started, row("user", "Count.", parent="t1"))

    assert only(AgentStart, events).child == "a1"
    assert only(Message, events).agent == "a1"


def test_a_task_that_is_a_command_starts_no_sub_agent() -> None:
    events = read(system("task_started", task_type="local_bash", task_id="b1", tool_use_id="c1"))

    assert [event.kind for event in events] == ["trace"]


def test_parallel_sub_agents_are_told_apart_by_ids() -> None:
    rows = [agent_call("t1"), agent_call("t2")]
    rows += [row("assistant", {"type": "text", "text": t}, parent=t) for t in ("t2", "t1", "t2")]
    events = read(*rows)

    assert [(m.agent, m.text) for m in of(Message, events)] == [
        ("t2",) * 2,
        ("t1",) * 2,
        ("t2",) * 2,
    ]
    assert len(of(AgentStart, events)) == 2


def test_a_sub_agent_of_a_sub_agent_is_started_by_it() -> None:
    inner = agent_call("t2", parent="t1", agent_id="a1")
    leaf = row("assistant", {"type": "text", "text": "3"}, parent="t2", agent_id="a2")
    starts = of(AgentStart, read(agent_call("t1"), inner, leaf))

    assert [(s.agent, s.child, s.call_id) for s in starts] == [("", "a1", "t1"), ("a1", "a2", "t2")]


def test_the_report_of_a_background_task_is_told() -> None:
    told = only(
        Notice, read(system("task_notification", summary="All 3 found", status="completed"))
    )

    assert (told.topic, told.text) == (Topic.NOTE, "All 3 found")


@pytest.mark.parametrize("status", ["failed", "stopped"])
def test_a_background_task_that_did_not_end_well_says_so(status: str) -> None:
    told = only(Notice, read(system("task_notification", summary="Run tests", status=status)))

    assert told.text == f"Run tests ({status})"


def test_a_retry_is_not_an_error() -> None:
    told = only(
        Notice,
        read(system("api_retry", attempt=1, max_retries=2, retry_delay_ms=532.1, error_status=429,
                    error="rate_limit")),
    )  # fmt: skip

    assert (told.topic, told.text) == (Topic.RETRY, "429 rate_limit (retry 1 of 2, in 0.5 s)")
    assert told.wait == pytest.approx(0.5321)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"outcome": "success", "output": "context"}, Topic.NOTE),
        ({"outcome": "error", "stderr": "boom"}, Topic.ERROR),
    ],
)
def test_what_a_hook_says_is_told(told: dict[str, str], kind: Topic) -> None:
    assert only(Notice, read(system("hook_response", hook_id="h", **told))).topic is kind


def test_a_new_title_is_a_trace() -> None:
    row = system("session_title_changed", title="<b>Title</b>")

    assert only(Trace, read(row)).type == "system/session_title_changed"


def test_a_hook_that_says_nothing_is_a_trace() -> None:
    hook = system("hook_response", output="", outcome="success")

    assert only(Trace, read(hook)).type == "system/hook_response"


@pytest.mark.parametrize(("status", "kind"), [("allowed", "trace"), ("rejected", "notice")])
def test_only_a_rate_limit_that_bites_is_told(status: str, kind: str) -> None:
    events = read({"type": "rate_limit_event", "rate_limit_info": {"status": status}})

    assert [event.kind for event in events] == [kind]


def test_pieces_of_messages_are_traces() -> None:
    piece = {"type": "stream_event", "session_id": "s", "event": {"type": "content_block_delta"}}

    assert only(Trace, read(piece)).type == "stream_event"


def test_what_the_cli_says_in_the_users_place_is_injected() -> None:
    said = row("user", {"type": "text", "text": "Output token limit hit."}, isSynthetic=True)

    assert only(Message, read(said)).injected


def test_a_row_of_the_session_log_is_unknown_here() -> None:
    assert only(Unknown, read({"type": "file-history-snapshot"})).type == "file-history-snapshot"


def test_text_between_the_rows_stays() -> None:
    events = read(agent_call(), "Error: spawn ps ENOENT", "    at ChildProcess.onexit", result())

    assert [m.text.strip() for m in of(Malformed, events)] == [
        "Error: spawn ps ENOENT", "at ChildProcess.onexit",
    ]  # fmt: skip
    assert [event.kind for event in events] == ["call", "malformed", "malformed", "usage", "finish"]
