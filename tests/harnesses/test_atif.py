"""ATIF trajectories as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.fold.tokens import Ledger
from kbsite.harnesses import claude
from kbsite.harnesses.atif import FORMATS
from kbsite.harnesses.atif.vocabulary import kind
from kbsite.model.event import (
    AgentStart,
    Edit,
    Event,
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
    Trace,
    Unknown,
)
from tests.harnesses.reading import CORPUS, beside, ledger, of, one, read

(ATIF,) = FORMATS
TRIALS = sorted((CORPUS / "harbor-trial").rglob("trajectory.json"))
WRITTEN = sorted((CORPUS / "atif").rglob("*.json")) + TRIALS


def step(source: str = "agent", message: Any = "", **more: Any) -> Any:
    return {"step_id": 1, "source": source, "message": message, **more}


def called(name: str = "bash", given: Any = None, call_id: str = "c1", **more: Any) -> Any:
    arguments = {"command": "ls"} if given is None else given
    call = {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
    return {"tool_calls": [call]} | more


def answered(*results: Any) -> Any:
    return {"observation": {"results": list(results)}}


def counts(prompt: int = 10, completion: int = 5, cached: int = 4, **more: Any) -> Any:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": cached,
    } | more


def document(*steps: Any, **more: Any) -> Any:
    agent = {"name": "a", "version": "1.2", "model_name": "m-1"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s-1", "agent": agent} | {
        "steps": list(steps),
        **more,
    }


def told(*steps: Any, **more: Any) -> list[Event]:
    return read(ATIF, json.dumps(document(*steps, **more), indent=1))


# The head


def test_the_head_tells_the_agent_and_the_session() -> None:
    tools = [{"type": "function", "function": {"name": "bash"}}]
    agent = {"name": "a", "version": "1.2", "model_name": "m-1", "tool_definitions": tools}
    session = one(Session, told(step(reasoning_effort="high"), agent=agent))

    assert (session.session_id, session.model, session.effort) == ("s-1", "m-1", "high")
    assert (session.harness_version, session.tools) == ("a 1.2", ("bash",))


def test_what_the_model_was_told_of_its_tools_is_told() -> None:
    named = {"name": "bash", "description": "Runs it.", "parameters": {"type": "object"}}
    agent = {"name": "a", "tool_definitions": [{"type": "function", "function": named}]}
    session = one(Session, told(step(), agent=agent))

    assert session.definitions.startswith('# bash\n\nRuns it.\n\n{\n  "parameters": ')


def test_nothing_of_the_head_is_lost() -> None:
    session = one(Session, told(step(), extra={"seed": 7}, custom=[1]))

    assert json.loads(session.raw)["extra"] == {"seed": 7}
    assert json.loads(session.raw)["custom"] == [1]


def test_notes_and_the_continuation_are_notices() -> None:
    events = told(notes="by hand", continued_trajectory_ref="t.cont-1.json")

    assert [n.text for n in of(Notice, events)] == ["by hand", "Continued in t.cont-1.json"]


# Steps


def test_each_source_speaks_in_its_role() -> None:
    events = told(step("system", "be brief"), step("user", "do it"), step("agent", "done"))

    assert [(m.role, m.text) for m in of(Message, events)] == [
        (Role.SYSTEM, "be brief"),
        (Role.USER, "do it"),
        (Role.ASSISTANT, "done"),
    ]


def test_a_step_tells_its_model_and_its_time() -> None:
    said = step("agent", "x", model_name="m-2", timestamp="2025-11-19T22:11:24Z")
    message = one(Message, told(said))

    assert message.model == "m-2"
    assert message.at is not None


def test_reasoning_stands_before_the_message() -> None:
    events = told(step("agent", "x", reasoning_content="hm"))

    assert [type(event) for event in events] == [Session, Thought, Message]


def test_a_message_of_parts_has_text_and_pictures() -> None:
    source = {"media_type": "image/png", "path": "images/a.png"}
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
    message = one(Message, told(step("user", parts)))

    assert (message.text, message.images) == (
        "see",
        (Image("image/png", "", "images/a.png"),),
    )


def test_a_call_and_its_result_are_joined_by_id() -> None:
    result = {"source_call_id": "c1", "content": "a", "extra": {"exit_code": 1, "is_error": True}}
    events = told(step(**called(), **answered(result)))
    call, answer = one(ToolCall, events), one(ToolResult, events)

    assert (call.tool, call.tool_kind, call.summary) == ("bash", ToolKind.RUN, "ls")
    assert call.call_id == answer.call_id == "c1"
    assert (answer.output, answer.exit_code, answer.is_error) == ("a", 1, True)


def test_a_result_without_a_call_is_shown() -> None:
    answer = one(ToolResult, told(step("agent", "x", **answered({"content": "screen"}))))

    assert (answer.call_id, answer.output) == ("", "screen")


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Bash", {}, ToolKind.RUN),
        ("execute_bash", {}, ToolKind.RUN),
        ("str_replace_editor", {"command": "view"}, ToolKind.READ),
        ("str_replace_editor", {"command": "create"}, ToolKind.WRITE),
        ("str_replace_editor", {"command": "str_replace"}, ToolKind.EDIT),
        ("str_replace_editor", {}, ToolKind.EDIT),
        ("WebFetch", {}, ToolKind.WEB),
        ("Task", {}, ToolKind.AGENT),
        ("my_own_tool", {}, ToolKind.OTHER),
    ],
)
def test_tools_of_known_agents_have_a_kind(tool: str, given: Any, expected: ToolKind) -> None:
    assert kind(tool, given) is expected


def test_edits_are_told() -> None:
    given = {"command": "create", "path": "p", "file_text": "x"}

    assert one(ToolCall, told(step(**called("str_replace_editor", given)))).edits == (
        Edit("p", None, "x"),
    )


def test_what_a_converter_wrote_in_the_models_place_is_no_message() -> None:
    events = told(step("agent", "Executed bash c1", **called()))

    assert of(Message, events) == []
    assert one(Trace, events).raw == '"Executed bash c1"'


def test_what_a_step_tells_of_its_result_is_recorded() -> None:
    more = {"stdout": "a", "interrupted": False}
    extra = {"metadata": more, "tool_result_metadata": more, "tool_result_is_error": True,
             "raw_arguments": {"command": "ls"}, "cwd": "/w"}  # fmt: skip
    said = step(**called(), **answered({"source_call_id": "c1", "content": "a"}), extra=extra)
    answer = one(ToolResult, told(said))

    assert answer.recorded == {"tool_result_metadata": more}
    assert answer.is_error is True


def test_what_a_step_tells_beside_its_results_is_kept() -> None:
    assert json.loads(one(Trace, told(step(extra={"thought_id": 1}))).raw) == {"thought_id": 1}


def test_a_call_keeps_what_it_tells_beside_its_arguments() -> None:
    said = called()
    said["tool_calls"][0]["extra"] = {"risk": "low"}

    assert json.loads(one(Trace, told(step(**said))).raw) == {"risk": "low"}


def test_copied_context_is_text_put_before_the_model() -> None:
    copied = step(
        "agent", "x", is_copied_context=True, reasoning_content="hm", metrics=counts(),
        **called(), **answered({"source_call_id": "c1", "content": "a"}),
    )  # fmt: skip
    events = told(copied)
    message = one(Message, events)

    assert message.injected
    assert message.text == 'hm\n\nx\n\nbash {"command": "ls"}\n\na'
    assert (of(ToolCall, events), of(ToolResult, events), of(TokenUse, events)) == ([], [], [])


# Tokens


def test_cached_tokens_are_within_the_prompt() -> None:
    total = ledger(told(step(metrics=counts(10, 5, 4)))).total

    assert (total.input, total.cache_read, total.output) == (6, 4, 5)


def test_tokens_written_to_the_cache_are_within_the_prompt_of_newer_converters() -> None:
    metrics = counts(10, 5, 4, extra={"cache_creation_input_tokens": 3})
    total = ledger(told(step(metrics=metrics))).total

    assert (total.input, total.cache_write) == (3, 3)


@pytest.mark.parametrize(
    "extra",
    [
        {"cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}},
        {"ephemeral_1h_input_tokens": 2},
    ],
)
def test_tokens_written_for_an_hour_are_told_as_claude_code_and_as_our_exports_tell_them(
    extra: dict[str, Any],
) -> None:
    metrics = counts(10, 5, 4, extra={"cache_creation_input_tokens": 3, **extra})
    total = ledger(told(step(metrics=metrics))).total

    assert (total.input, total.cache_write, total.cache_write_1h) == (3, 3, 2)


def test_tokens_written_to_the_cache_are_beside_the_prompt_where_a_step_shows_it() -> None:
    many = counts(10, 5, 4, extra={"cache_creation_input_tokens": 700})
    few = counts(10, 5, 4, extra={"cache_creation_input_tokens": 3})
    total = ledger(told(step(metrics=many), step(metrics=few))).total

    assert (total.input, total.cache_write) == (12, 703)


@pytest.mark.parametrize(("reasoning", "expected"), [(3, 3), (6, None)])
def test_reasoning_is_a_part_of_the_completion(reasoning: int, expected: int | None) -> None:
    metrics = counts(extra={"reasoning_output_tokens": reasoning})

    assert ledger(told(step(metrics=metrics))).total.reasoning == expected


def test_a_trajectory_without_counts_knows_none() -> None:
    assert not ledger(told(step(metrics={}), final_metrics={})).total.known


def test_the_totals_of_a_trajectory_are_its_own() -> None:
    final = {"total_prompt_tokens": 100, "total_completion_tokens": 50, "total_cost_usd": 0.5}
    held = ledger(told(step(metrics=counts(cost_usd=0.1)), final_metrics=final))

    assert (held.total.input, held.total.output, held.cost_usd) == (100, 50, 0.5)


def test_equal_counts_of_two_messages_are_both_counted() -> None:
    said = [step("agent", text, metrics=counts(850, 40, 0)) for text in "ab"]

    assert ledger(told(*said)).total.output == 80


def test_steps_of_one_message_are_counted_once_and_totals_that_are_not_are_not_believed() -> None:
    executed = step("agent", "Executed bash c1", metrics=counts(), **called())
    final = {"total_prompt_tokens": 20, "total_completion_tokens": 10, "total_cached_tokens": 8}
    events = told(step("agent", "x", metrics=counts()), executed, final_metrics=final)

    assert ledger(events).total == ledger(told(step("agent", "x", metrics=counts()))).total
    assert "count a message once for each of its steps" in one(Notice, events).text


def test_totals_that_count_each_message_once_are_believed() -> None:
    executed = step("agent", "Executed bash c1", metrics=counts(), **called())
    final = {"total_prompt_tokens": 10, "total_completion_tokens": 5, "total_cached_tokens": 4}
    events = told(step("agent", "x", metrics=counts()), executed, final_metrics=final)

    assert ledger(events).told.output == 5


# Sub-agents


def child(agent_id: str = "t-2", **more: Any) -> Any:
    final = {"total_completion_tokens": 7}
    return document(step("agent", "found"), trajectory_id=agent_id, final_metrics=final, **more)


def test_a_sub_agent_stands_below_the_call_that_started_it() -> None:
    ref = {"source_call_id": "c1", "subagent_trajectory_ref": [{"trajectory_id": "t-2"}]}
    fold = Fold()
    for event in told(step(**called("task"), **answered(ref)), subagent_trajectories=[child()]):
        fold.add(event)
    main = fold.transcript("", "", ()).main
    (call,) = [item for item in main.steps if isinstance(item.event, ToolCall)]

    assert [agent.id for agent in call.agents] == ["t-2"]
    assert [s.event.text for s in call.agents[0].steps if isinstance(s.event, Message)] == ["found"]


def test_totals_of_a_sub_agent_are_within_those_of_the_whole() -> None:
    final = {"total_completion_tokens": 50}
    held = ledger(told(subagent_trajectories=[child()], final_metrics=final))

    assert (held.total.output, held.usage("t-2").output) == (50, 7)


def test_sub_agents_without_an_id_are_kept_apart() -> None:
    nameless = [child("", session_id="") for _ in range(2)]
    agents = {event.agent for event in told(subagent_trajectories=nameless)}

    assert len(agents) == 3


@pytest.mark.parametrize("ref", [{"session_id": "t-2"}, [{"trajectory_path": "t-2"}]])
def test_older_references_to_sub_agents_are_read(ref: Any) -> None:
    said = step(**called(), **answered({"source_call_id": "c1", "subagent_trajectory_ref": ref}))

    assert one(AgentStart, told(said)).child == "t-2"


def test_sub_agents_nested_deeply_are_read() -> None:
    held = child()
    for depth in range(60):
        held = child(f"t-{depth}", subagent_trajectories=[held])

    assert len({event.agent for event in told(subagent_trajectories=[held])}) == 61


@pytest.mark.parametrize(
    ("ids", "agent"), [(["x"], "x"), (["x", "y"], "sidechain"), (None, "sidechain")]
)
def test_steps_of_sub_agents_are_kept_apart_from_the_main_agents(ids: Any, agent: str) -> None:
    extra = {"agent_ids": ids}
    said = step("agent", "found", extra={"is_sidechain": True})
    events = told(said, agent={"name": "claude-code", "extra": extra})

    assert one(Message, events).agent == agent


# The shape of files


def test_an_events_line_is_its_ordinal_in_the_document() -> None:
    events = told(step("user", "a"), step("agent", "b", metrics=counts()), step("agent", "c"))

    assert [m.source.line for m in of(Message, events)] == [2, 3, 4]
    assert one(TokenUse, events).source.line == 3


def test_the_layout_of_the_document_does_not_matter() -> None:
    value = document(step("user", "a"))

    assert read(ATIF, json.dumps(value)) == read(ATIF, json.dumps(value, indent=4) + "\n")


def test_a_document_that_is_cut_is_malformed_as_a_whole() -> None:
    text = json.dumps(document(step("user", "a")), indent=2)[:-40]

    assert [event.text for event in of(Malformed, read(ATIF, text))] == [text]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (document("x"), "step"),
        (document(steps={"a": 1}), "steps"),
        (document(step("critic", "x")), "step:critic"),
        (document(step(future=1)), "step:future"),
        (document(step(tool_calls="x")), "step:tool_calls"),
        (document(step(tool_calls=["x"])), "tool_call"),
        (document(step(observation="x")), "step:observation"),
        (document(step(**answered("x"))), "result"),
        (document(subagent_trajectories=["x"]), "subagent_trajectory"),
    ],
)
def test_what_the_format_does_not_know_is_unknown(value: Any, expected: str) -> None:
    assert one(Unknown, read(ATIF, json.dumps(value))).type == expected


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ([{"schema_version": "ATIF-v1.2"}], True),
        ([{"schema_version": "ATIF-v1.8", "steps": []}], True),
        ([{"schema_version": "2", "steps": []}], False),
        ([{"steps": []}], False),
        ([], False),
    ],
)
def test_a_trajectory_is_known_by_its_version(head: Any, claimed: bool) -> None:
    assert ATIF.recognises(head) is claimed


# Against the corpus


@beside
@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_step_call_and_result_of_the_corpus_is_told(path: Path) -> None:
    value = json.loads(path.read_bytes())
    events = read(ATIF, path.read_bytes())
    own = [s for s in value["steps"] if not s.get("is_copied_context")]
    calls = [c["tool_call_id"] for s in own for c in s.get("tool_calls", [])]
    results = [r["content"] for s in own for r in s.get("observation", {}).get("results", [])]

    assert of(Unknown, events) == []
    assert {event.source.line for event in events} == set(range(1, len(value["steps"]) + 3))
    assert [call.call_id for call in of(ToolCall, events)] == calls
    assert [result.output for result in of(ToolResult, events)] == results


@beside
@pytest.mark.parametrize("path", TRIALS, ids=lambda path: path.parents[1].name)
def test_a_trial_counts_the_same_tokens_as_the_session_log_it_was_made_of(path: Path) -> None:
    log = Ledger()
    for session in sorted((path.parent / "sessions").rglob("*.jsonl")):
        for event in read(claude.FORMATS[0], session.read_bytes(), f"home/{session.name}"):
            if isinstance(event, TokenUse):
                log.add(event)
    made = ledger(read(ATIF, path.read_bytes()))

    assert made.total == log.counted
    assert made.usage("").output == log.usage("").output
