"""What no message of a sample tells: sub-agents, earlier attempts, answers that agents changed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.inspect import FORMATS, archive, calls
from kbsite.model.event import (
    AgentStart,
    Event,
    Message,
    Notice,
    Scope,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Unknown,
)
from kbsite.store.files import contents
from kbsite.transcripts import transcript
from tests.harnesses.reading import ledger, of, one
from tests.harnesses.test_inspect import counts, said, sample, told

CAPTURES = Path(__file__).parent / "captures" / "inspect"
ARCHIVE, _ = FORMATS


def captured(name: str) -> list[Event]:
    (path,) = (CAPTURES / name / "logs").iterdir()
    return list(ARCHIVE.parse(ARCHIVE.read(io.BytesIO(path.read_bytes())), path.name))


def span(name: str, parent: str = "", kind: str = "tool", own: str = "") -> Any:
    return {
        "event": "span_begin",
        "id": own or name,
        "parent_id": parent,
        "type": kind,
        "name": name,
    }


def tool(call: str, at: str = "", **more: Any) -> Any:
    return {"event": "tool", "id": call, "span_id": at, "function": "f", **more}


def model(at: str, *sent: Any, answer: Any = None, **more: Any) -> Any:
    choices = [] if answer is None else [{"message": answer}]
    return {
        "event": "model",
        "span_id": at,
        "input": [*sent],
        "output": {"choices": choices},
        **more,
    }


def spoken(events: list[Event]) -> list[tuple[str, str]]:
    return [(m.agent, m.text) for m in of(Message, events)]


# Sub-agents


HELP = [span("main", kind="agent"), span("t1", "main"), tool("c1", agent_span_id="s1"),
        span("helper", "t1", "agent", "s1")]  # fmt: skip
"""A call of the main agent that starts another one."""


def test_what_a_sub_agent_was_sent_and_said_is_below_the_call_that_started_it() -> None:
    first = [said("system", "be brief"), said("user", "look")]
    call = said(
        "assistant", "", id="m", tool_calls=[{"id": "in", "function": "bash", "arguments": {}}]
    )
    got = said("tool", "found", tool_call_id="in")
    events = told(sample(
        said("user", "go"),
        said("assistant", "", tool_calls=[{"id": "c1", "function": "helper", "arguments": {}}]),
        said("tool", "done", tool_call_id="c1"),
        events=[*HELP, model("s1", *first, answer=call),
                model("s1", *first, call, got, answer=said("assistant", "here", id="n"))],
    ))  # fmt: skip

    assert [(c.call_id, c.tool_kind) for c in of(ToolCall, events)] == [
        ("c1", ToolKind.AGENT), ("in", ToolKind.RUN),
    ]  # fmt: skip
    start = one(AgentStart, events)
    assert (start.agent, start.child, start.call_id, start.title) == ("", "helper", "c1", "helper")
    assert spoken(events) == [
        ("", "go"), ("helper", "be brief"), ("helper", "look"), ("helper", "here"),
    ]  # fmt: skip
    assert [(r.agent, r.output) for r in of(ToolResult, events)] == [
        ("", "done"),
        ("helper", "found"),
    ]


def test_what_a_sub_agent_says_twice_is_shown_twice() -> None:
    again = said("user", "go on", id="same")
    sent = [again, said("assistant", "a", id="1"), again]
    events = told(sample(events=[
        *HELP, model("s1", again, answer=sent[1]),
        model("s1", *sent, answer=said("assistant", "a", id="2")),
    ]))  # fmt: skip

    assert [text for _, text in spoken(events)] == ["go on", "a", "go on", "a"]


def test_two_sub_agents_of_one_name_are_two() -> None:
    second = [
        span("t2", "main"),
        tool("c2", agent_span_id="s2"),
        span("helper", "t2", "agent", "s2"),
    ]
    asked = [model(at, said("user", "same"), answer=said("assistant", at)) for at in ("s1", "s2")]
    events = told(sample(events=[*HELP, *second, *asked]))

    assert [(s.child, s.call_id) for s in of(AgentStart, events)] == [
        ("helper", "c1"),
        ("helper 2", "c2"),
    ]
    assert spoken(events) == [
        ("helper", "same"), ("helper", "s1"), ("helper 2", "same"), ("helper 2", "s2"),
    ]  # fmt: skip


def test_a_sub_agent_of_a_sub_agent_is_below_it() -> None:
    inner = [span("t2", "s1"), tool("c2", "s1"), span("inner", "t2", "agent", "s2")]
    events = told(sample(events=[*HELP, *inner, model("s2", answer=said("assistant", "deep"))]))

    assert [(s.agent, s.child, s.call_id) for s in of(AgentStart, events)] == [
        ("", "helper", "c1"), ("helper", "inner", "c2"),
    ]  # fmt: skip
    assert spoken(events) == [("inner", "deep")]


def test_an_agent_that_a_conversation_is_handed_to_does_not_repeat_it() -> None:
    handed = [span("main", kind="agent"), span("t1", "main"), tool("c1", agent="coder"),
              span("coder", "t1", "agent", "s1")]  # fmt: skip
    call = model("s1", said("system", "code"), said("user", "go"), answer=said("assistant", "ok"))
    events = told(sample(said("user", "go"), events=[*handed, call]))

    assert spoken(events) == [("", "go"), ("coder", "code"), ("coder", "ok")]


@pytest.mark.parametrize("name", ["sample 2", "beside the conversation", "attempt 1"])
def test_no_sub_agent_has_the_name_of_what_is_none(name: str) -> None:
    spans = [span("t1"), tool("c1", agent_span_id="s1"), span(name, "t1", "agent", "s1")]
    events = told(sample(events=spans), sample(said("user", "other")))

    assert [s.child for s in of(AgentStart, events)] == [f"agent {name}", "sample 2"]


def test_the_last_result_of_a_sub_agent_stands_in_no_message_and_is_shown() -> None:
    call = {"id": "in", "function": "submit", "arguments": {"answer": "7"}}
    done = tool(
        "in", "s1", result="7", timestamp="2026-01-01T00:00:00Z", completed="2026-01-01T00:00:02Z"
    )
    events = told(sample(events=[
        *HELP, model("s1", said("user", "q"), answer=said("assistant", "", tool_calls=[call])), done
    ]))  # fmt: skip
    result = one(ToolResult, events)

    assert (result.agent, result.call_id, result.output, result.seconds) == ("helper", "in", "7", 2)


def test_tokens_of_sub_agents_are_theirs_and_the_sum_is_the_samples() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    call = model("s1", answer=said("assistant", "x"), completed="2026-01-01T00:00:02Z")
    call["output"]["usage"] = usage
    events = told(
        sample(events=[*HELP, call], model_usage=counts(15)), stats={"model_usage": counts(15)}
    )
    held = ledger(events)

    assert (held.usage("helper").output, held.usage("").output) == (2, 3)
    assert (held.counted.output, held.total.output) == (5, 5)
    assert not held.lower_bound


def test_costs_of_a_log_are_told() -> None:
    priced = {
        name: {"output_tokens": 5, "total_cost": cost} for name, cost in (("a", 0.25), ("b", 0.5))
    }

    assert ledger(told(stats={"model_usage": priced})).cost_usd == 0.75


# Messages in a pool


def test_messages_that_stand_in_a_pool_are_found() -> None:
    pool = {"messages": [said("user", "judge"), said("user", "other")], "calls": []}
    call = model("", answer=said("assistant", "C")) | {"input_refs": [[0, 1]]}
    events = told(sample(said("user", "q"), events=[call], events_data=pool))

    assert [text for _, text in spoken(events)] == ["q", "judge", "C"]
    assert "events_data" not in of(Notice, events)[0].raw


@pytest.mark.parametrize("refs", [[[0, 9]], [[-1, 1]], [[1]], [None], "x", [["a", 2]], [[True, 1]]])
def test_references_to_what_is_not_there_stop_nothing(refs: Any) -> None:
    pool = {"messages": [said("user", "judge")]}
    events = told(sample(events=[model("", answer=said("assistant", "C")) | {"input_refs": refs}],
                         events_data=pool))  # fmt: skip

    assert "C" in [text for _, text in spoken(events)]
    assert not of(Unknown, events)


def test_messages_of_a_pool_are_looked_up_so_many_times_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "LOOKED_UP", 5000)
    pool = {"messages": [said("user", str(number)) for number in range(3000)]}
    hostile = model("s1") | {"input_refs": [[0, 3000]] * 100}
    events = told(sample(events=[*HELP, hostile], events_data=pool))

    assert len(spoken(events)) == 2000, "the other 3000 are looked up for results"
    assert any("only 5000 messages are looked up" in n.text for n in of(Notice, events))


@pytest.mark.parametrize(("span", "times"), [("s1", 2), ("", 1)])
def test_what_calls_send_again_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch, span: str, times: int
) -> None:
    pool = {"messages": [said("user", str(number)) for number in range(5)]}
    refs = [[[0, 2]], [[0, 3]], [[0, 3]], [[0, 4]], [[0, 4], [4, 5]]]
    sent = [model(span) | {"input_refs": one} for one in refs]
    monkeypatch.setattr(calls, "LOOKED_UP", times * 5 + 1)
    events = told(sample(events=[*HELP, *sent], events_data=pool))

    assert [text for _, text in spoken(events)] == ["0", "1", "2", "3", "4"]
    assert not any("looked up" in n.text for n in of(Notice, events))


def test_what_a_sub_agent_is_sent_twice_in_one_call_is_shown_twice() -> None:
    pool = {"messages": [said("user", text) for text in ("a", "b", "a")]}
    refs = [[[0, 2]], [[1, 2]], [[0, 3]], [[0, 1], [2, 3]], [[0, 3], [0, 1]]]
    sent = [model("s1") | {"input_refs": one} for one in refs]
    events = told(sample(events=[*HELP, *sent], events_data=pool))

    assert [text for _, text in spoken(events)] == ["a", "b", "a", "a"]


def test_what_is_sent_ever_again_is_shown_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 1000)
    pool = {"messages": [said("user", "x" * 100)]}
    hostile = model("s1") | {"input_refs": [[0, 1]] * 500}
    events = told(sample(events=[*HELP, hostile], events_data=pool))

    assert 1 < len(spoken(events)) < 10
    assert any("1000 signs shown" in n.text for n in of(Notice, events))


# What agents changed


def submitted(*, kept: str) -> list[Event]:
    """A sample whose agent put the answer that was submitted into the message."""
    call = {"id": "c", "function": "submit", "arguments": {"answer": "42"}}
    parts = [{"type": "reasoning", "reasoning": "so it is"}, {"type": "text", "text": "Done."}]
    answer = said("assistant", parts, id="m", tool_calls=[call])
    happened = [model("", answer=answer), tool("c", result="42", completed="x")]
    return told(sample(said("assistant", kept, id="m"), events=happened))


def test_a_submitted_answer_is_the_call_that_the_model_made() -> None:
    events = submitted(kept="Done.\n\n42")

    assert [text for _, text in spoken(events)] == ["Done."]
    assert one(Thought, events).text == "so it is"
    assert one(ToolCall, events).arguments == {"answer": "42"}
    assert one(ToolResult, events).output == "42"


def test_what_an_agent_put_in_the_place_of_an_answer_is_shown_too() -> None:
    assert [text for _, text in spoken(submitted(kept="No."))] == ["Done.", "No."]


# What went wrong before


def test_an_attempt_that_failed_is_told_with_what_its_model_said() -> None:
    retry = {"message": "ValueError('x')", "traceback": "...",
             "events": [model("", said("user", "q"), answer=said("assistant", "no", id="1")),
                        {"event": "info", "data": "was here"}]}  # fmt: skip
    events = told(
        sample(said("user", "q"), said("assistant", "yes", id="2"), error_retries=[retry])
    )

    notice = next(n for n in of(Notice, events) if n.topic is Topic.RETRY)
    assert notice.text == "Attempt 1 failed and was repeated: ValueError('x')"
    assert spoken(events) == [("attempt 1", "q"), ("attempt 1", "no"), ("", "q"), ("", "yes")]
    assert "was here" in [n.text for n in of(Notice, events)]


def test_what_an_attempt_used_that_failed_is_not_in_the_samples_count() -> None:
    def bound(*happened: Any) -> bool:
        retry = {"message": "ValueError('x')", "events": list(happened)}
        used = {"m": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
        held = sample(said("user", "q"), model_usage=used, error_retries=[retry])
        return ledger(told(held)).lower_bound

    assert bound(model("", said("user", "q"), answer=said("assistant", "no", id="1")))
    assert not bound({"event": "info", "data": "was here"})


def test_an_error_is_told_once() -> None:
    error = {"message": "boom"}
    events = told(sample(error=error, events=[{"event": "error", "error": error}]))

    assert [n.text for n in of(Notice, events) if n.topic is Topic.ERROR] == ["boom"]


@pytest.mark.parametrize(
    ("event", "topic", "text"),
    [
        ({"event": "interrupt", "source": "limit", "interrupted": "generate"},
         Topic.INTERRUPTION, "limit: generate"),
        ({"event": "approval", "approver": "human", "decision": "reject", "explanation": "no"},
         Topic.NOTE, "human: reject: no"),
        ({"event": "review", "reviewer": "r", "decision": "terminate"}, Topic.NOTE, "r: terminate"),
        ({"event": "sentinel", "factory": "m", "status": "reported", "suspicion": 0.5},
         Topic.NOTE, "m: reported: 0.5"),
        ({"event": "compaction", "type": "trim", "tokens_before": 9, "tokens_after": 3},
         Topic.COMPACTION, "trim: 9 tokens before, 3 after"),
        ({"event": "error", "error": {"message": "boom"}}, Topic.ERROR, "boom"),
    ],
)  # fmt: skip
def test_events_of_newer_versions_say_what_happened(event: Any, topic: Topic, text: str) -> None:
    found = [(notice.topic, notice.text) for notice in of(Notice, told(sample(events=[event])))]

    assert (topic, text) in found


def test_what_was_approved_and_reviewed_is_no_news() -> None:
    events = told(sample(events=[{"event": "approval", "decision": "approve"},
                                 {"event": "review", "decision": "continue"}]))  # fmt: skip

    assert len(of(Notice, events)) == 1
    assert not of(Unknown, events)


def test_what_scores_come_to_is_told_at_the_end() -> None:
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 0.5}, "stderr": {"value": 0}}}]

    assert (
        of(Notice, told(results={"scores": scores}))[-1].text
        == "Result match: accuracy 0.5, stderr 0"
    )


def test_a_call_that_the_provider_made_is_a_call_with_its_result() -> None:
    part = {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "search",
            "arguments": '{"query": "x"}', "result": "found", "error": None}  # fmt: skip
    events = told(sample(said("assistant", [part])))
    call, result = one(ToolCall, events), one(ToolResult, events)

    assert (call.tool, call.tool_kind, call.arguments) == ("search", ToolKind.WEB, {"query": "x"})
    assert (result.call_id, result.output, result.is_error) == ("w", "found", False)


def test_a_summary_stands_for_reasoning_that_is_not_told() -> None:
    part = {"type": "reasoning", "reasoning": "", "summary": "in short"}

    assert one(Thought, told(sample(said("assistant", [part])))).text == "in short"


# Real logs, of inspect_ai 0.3.285


def test_a_log_of_sub_agents_is_read_whole() -> None:
    (held,) = (CAPTURES / "agents").iterdir()
    shown = transcript("inspect", contents(held.parent)[0])

    assert shown is not None
    assert (shown.unknown, shown.malformed, shown.unlinked) == ({}, (), ())
    below = [log for step in shown.main.steps for log in step.agents]
    assert [log.title for log in below] == ["researcher", "coder", "researcher"]
    assert [log.title for step in below[1].steps for log in step.agents] == ["inner"]
    assert (shown.usage.input, shown.usage.output, shown.lower_bound) == (1505, 385, False)
    for log in below:
        results = [step.result for step in log.steps if isinstance(step.event, ToolCall)]
        assert results
        assert all(results)


def test_a_sample_in_parts_is_told_as_the_same_sample_in_one() -> None:
    whole, parts = (
        [(e.kind, e.agent, getattr(e, "text", ""), getattr(e, "output", "")) for e in captured(name)
         if e.kind not in {"trace", "usage"}]
        for name in ("agents", "parts")
    )  # fmt: skip

    assert len(parts) > 50
    assert parts == whole


def test_a_log_of_an_agent_with_pictures_and_errors_is_read_whole() -> None:
    events = captured("react")
    held: Ledger = ledger(events)

    assert len([use for use in of(TokenUse, events) if use.scope is Scope.MESSAGE]) == 9
    assert (held.total.input, held.total.output, held.total.reasoning) == (945, 225, 3)
    assert [r.is_error for r in of(ToolResult, events)].count(True) == 3
    assert any(r.images for r in of(ToolResult, events))
    assert any(r.output.endswith("THE-END-OF-LONG") for r in of(ToolResult, events))
    assert of(ToolCall, events)[-1].arguments == {"answer": "42"}
