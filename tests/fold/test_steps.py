from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.fold.steps import MAX_DEPTH, SYNTHETIC, Fold
from kbsite.model.event import (
    AgentStart,
    Edit,
    Event,
    Finish,
    Malformed,
    Role,
    Scope,
    Session,
    Source,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Unknown,
)
from kbsite.model.usage import Usage
from tests.fold.making import START, Log, folded, outline


def test_parallel_calls_are_answered_in_another_order() -> None:
    log = Log()
    calls = [log.call(name) for name in "abc"]
    results = [log.result(name, name.upper()) for name in "cab"]
    steps = folded(*calls, *results).main.steps
    assert [(s.anchor, s.result and s.result.output, s.result_anchor) for s in steps] == [
        ("L1", "A", "L5"),
        ("L2", "B", "L6"),
        ("L3", "C", "L4"),
    ]


def test_a_result_without_a_call_stands_alone() -> None:
    log = Log()
    steps = folded(log.say(), log.result("lost"), log.result("")).main.steps
    assert [step.anchor for step in steps] == ["L1", "L2", "L3"]
    assert all(step.result is None for step in steps)


def test_a_result_that_comes_before_its_call_stands_at_the_call() -> None:
    log = Log()
    early, use = log.result("a", "early"), log.use(5, message="m")
    steps = folded(early, use, log.say(), log.call("a"), log.use(6, message="m")).main.steps
    assert [(step.anchor, step.result_anchor) for step in steps] == [("L3", ""), ("L4", "L1")]
    assert [step.usage.output for step in steps] == [None, 6]


def test_what_is_told_later_of_a_result_is_a_part_of_it_and_no_other_one() -> None:
    log = Log()
    more = replace(log.result("a", ""), late=True, exit_code=1, recorded={"left": "nothing"})
    shown = folded(log.call("a"), log.result("a"), more)
    (step,) = shown.main.steps

    assert step.result is not None
    assert (step.result.output, step.result.exit_code) == ("done", 1)
    assert step.result.recorded == {"left": "nothing"}
    assert shown.kinds == {"call": 1, "result": 1}


def test_what_is_told_later_of_a_result_that_is_not_there_stands_alone_if_anything() -> None:
    log = Log()
    said, silent = (replace(log.result("a", text), late=True) for text in ("more", ""))
    shown = folded(log.call("b"), said, silent)

    assert [step.anchor for step in shown.main.steps] == ["L3", "L1"]
    assert shown.kinds == {"call": 1, "result": 1}


def test_the_second_result_of_one_call_stands_alone() -> None:
    log = Log()
    events = [log.call("a"), log.result("a", "one"), log.result("a", "two"), log.say()]
    first, second, _ = folded(*events).main.steps
    assert first.result is not None
    assert first.result.output == "one"
    assert isinstance(second.event, ToolResult)
    assert second.event.output == "two"


def test_ids_that_are_used_again_are_answered_in_turn() -> None:
    log = Log()
    events: list[Event] = []
    for text in ("one", "two"):
        events += [log.call("0"), log.result("0", text)]
    events += [log.call("0"), log.call("0"), log.result("0", "three"), log.result("0", "four")]
    outputs = [step.result and step.result.output for step in folded(*events).main.steps]
    assert outputs == ["one", "two", "three", "four"]


def test_what_has_no_id_is_not_joined() -> None:
    log = Log()
    events = [log.call(""), log.result(""), log.start("x", ""), log.say(agent="x")]
    transcript = folded(*events)
    assert outline(transcript.main) == ["L1", "L2"]
    assert [outline(agent) for agent in transcript.unlinked] == [["L4"]]


def test_calls_of_two_agents_may_have_one_id() -> None:
    log = Log()
    events = [
        log.call("a"), log.call("a", agent="x"), log.result("a", "x's", agent="x"),
        log.result("a", "main's"),
    ]  # fmt: skip
    transcript = folded(*events)
    assert transcript.main.steps[0].result is not None
    assert transcript.main.steps[0].result.output == "main's"
    (other,) = transcript.unlinked
    assert other.steps[0].result is not None
    assert other.steps[0].result.output == "x's"


def test_sub_agents_are_nested_by_ids_and_in_parallel() -> None:
    log = Log()
    events: list[Event] = [
        log.call("m1"), log.call("m2"),
        log.start("a", "m1", title="First"), log.start("b", "m2"), log.start("c", "m2"),
        log.call("a1", agent="a"), log.say(agent="b"), log.say(agent="c"),
        log.start("d", "a1", agent="a"), log.call("d1", agent="d"),
        log.start("e", "d1", agent="d"), log.say(agent="e"), log.say(agent="b"),
        log.result("d1", agent="d"), log.result("m2"), log.result("m1"),
    ]  # fmt: skip
    expected = [
        "L1", ["a", "L6", ["d", "L10", ["e", "L12"]]], "L2", ["b", "L7", "L13"], ["c", "L8"],
    ]  # fmt: skip
    transcript = folded(*events)
    assert outline(transcript.main) == expected
    assert transcript.unlinked == ()
    assert transcript.main.steps[0].agents[0].title == "First"
    assert len(list(transcript.main.every_step)) == 8
    # Whatever says who started whom may come first or last.
    starts = [event for event in events if isinstance(event, AgentStart)]
    others = [event for event in events if not isinstance(event, AgentStart)]
    for order in ([*starts, *others], [*others, *reversed(starts)]):
        assert {step.anchor for step in folded(*order).main.every_step} == {
            step.anchor for step in transcript.main.every_step
        }


@pytest.mark.parametrize(
    "starts",
    [
        [("a", "x1", "b"), ("b", "x1", "a")],
        [("a", "x1", "a"), ("b", "x1", "b")],
        [("", "x1", "a"), ("a", "x1", "b"), ("b", "nothing", "")],
        [("a", "x1", "")],
        [("ghost", "m1", "")],
    ],
)
def test_every_step_is_shown_once_however_agents_are_tied(
    starts: list[tuple[str, str, str]],
) -> None:
    log = Log()
    events: list[Event] = [log.start(child, call, agent=agent) for child, call, agent in starts]
    events += [log.call("m1"), log.call("x1", agent="a"), log.call("x1", agent="b"), log.say()]
    transcript = folded(*events)
    shown = [step.anchor for log_ in transcript.agents for step in log_.every_step]
    assert sorted(shown) == sorted(f"L{len(starts) + n}" for n in (1, 2, 3, 4))


def test_an_agent_that_nothing_starts_stands_beside_with_its_own_below() -> None:
    log = Log()
    events = [
        log.say(), log.say(agent="b"), log.start("b", "a1", agent="a"), log.call("a1", agent="a"),
    ]  # fmt: skip
    transcript = folded(*events)
    assert [outline(one) for one in transcript.unlinked] == [["L4", ["b", "L2"]]]


def test_a_row_that_names_the_call_counts_more_than_one_that_does_not() -> None:
    log = Log()
    events = [
        log.call("m1"), log.start("a", "", title="Title"), log.start("a", "m1"),
        log.start("a", "other", title="Late"), log.say(agent="a"),
    ]  # fmt: skip
    (step,) = folded(*events).main.steps
    assert [(agent.id, agent.title) for agent in step.agents] == [("a", "Title")]


def test_agents_nested_without_end_stand_beside() -> None:
    log, events = Log(), []
    deep = MAX_DEPTH * 3
    for n in range(deep):
        agent = f"a{n}" if n else ""
        events += [log.call("x", agent=agent), log.start(f"a{n + 1}", "x", agent=agent)]
    transcript = folded(*events)
    anchors = [s.anchor for one in transcript.agents for s in one.every_step]
    assert len(anchors) == len(set(anchors)) == deep
    assert transcript.unlinked


def test_usage_is_shown_once_a_message_at_its_last_row() -> None:
    log = Log()
    events = [
        log.say(), log.use(10, message="m"), log.call("a"), log.use(12, message="m"),
        log.result("a"), log.say(), log.use(7, message="n"), log.use(7, message="n"),
    ]  # fmt: skip
    transcript = folded(*events)
    assert [step.usage.output for step in transcript.main.steps] == [None, 12, 7]
    assert transcript.usage.output == 19
    assert transcript.main.usage.output == 19
    assert not transcript.usage_told


def test_counts_of_a_message_without_rows_are_not_lost() -> None:
    log = Log()
    events = [log.say(), log.use(1, message="a"), log.use(2, message="b"), log.use(4)]
    (step,) = folded(*events).main.steps
    assert step.usage.output == 7


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans())))
def test_the_steps_usages_add_up_to_the_agents(rows: list[tuple[str, int, bool]]) -> None:
    log = Log()
    events: list[Event] = [log.say()]
    for message, output, says in rows:
        events += [log.say()] if says else []
        events.append(log.use(output, message=message))
    transcript = folded(*events)
    shown = sum(step.usage.output or 0 for step in transcript.main.steps)
    assert shown == (transcript.usage.output or 0)
    assert transcript.usage.output == transcript.main.usage.output


def test_anchors_are_unique_over_files_and_stable_when_a_file_grows() -> None:
    main, side, other = Log("main.jsonl"), Log("sub/a.jsonl"), Log("sub/b.jsonl")
    events = [
        main.say(), side.say(agent="a"), other.say(agent="b"), main.call("x"), main.result("x"),
        side.say(agent="a"),
    ]  # fmt: skip
    before = [step.anchor for one in folded(*events).agents for step in one.every_step]
    assert len(set(before)) == len(before)
    assert {"L1", "L2"} < set(before)
    more = [*events, main.say(), side.say(agent="a"), other.say(agent="b")]
    after = [step.anchor for one in folded(*more).agents for step in one.every_step]
    assert set(before) < set(after)
    assert len(set(after)) == len(after)


def test_anchors_are_unique_even_where_sources_are_not() -> None:
    source = Source("main.jsonl", 1)
    events = [Trace(source=source, type="t", raw="") for _ in range(3)]
    events += [Trace(source=Source("main.jsonl", 1, 2), type="t", raw="")]
    assert [s.anchor for s in folded(*events).main.steps] == ["L1", "L1x2", "L1x3", "L1-2"]


def test_anchors_are_fit_for_addresses() -> None:
    log = Log("a b/\udcff<script>\n.jsonl")
    transcript = folded(Log().say(), log.say())
    assert all(step.anchor.isalnum() or "-" in step.anchor for step in transcript.main.steps)
    assert all(step.anchor.isascii() for step in transcript.main.steps)


def test_elapsed_counts_from_the_first_moment_wherever_it_stands() -> None:
    log = Log()
    events = [log.say(at=10), log.say(at=2.5), log.say(), log.say(at=0), log.say(at=4)]
    transcript = folded(*events)
    assert [step.elapsed for step in transcript.main.steps] == [10, 2.5, None, 0, 4]
    assert transcript.first == START
    assert transcript.last == START + timedelta(seconds=10)
    assert folded(log.say()).first is None


def test_no_seconds_count_from_a_moment_that_the_model_had_worked_before() -> None:
    """As in streams of Claude Code 2.1.138 to 2.1.143, where results alone have times."""
    log = Log()
    answer = replace(log.result("c"), at=START + timedelta(seconds=3))
    early, late = log.say(), log.say(at=9)
    transcript = folded(early, log.call("c"), answer, late)
    assert [step.elapsed for step in transcript.main.steps] == [None, None, None]
    assert (transcript.late, transcript.first) == (True, START + timedelta(seconds=3))
    # What a CLI makes up itself takes no time, and of no times at all none is late.
    assert folded(early, late).main.steps[1].elapsed == 0
    assert folded(log.call("d")).late is False


def test_what_the_rows_tell_of_the_session() -> None:
    log = Log()
    events: list[Event] = [
        Session(source=log.source, agent="a", session_id="sub", model="small"),
        Session(source=log.source, session_id="one", model="big"),
        Session(source=log.source, session_id="two", model=SYNTHETIC),
        log.say(model="big"),
        log.say(model=SYNTHETIC),
        Finish(source=log.source, ok=False, reason="aborted"),
        Finish(source=log.source, ok=True, reason="end_turn"),
        Finish(source=log.source, agent="a", ok=False, reason="lost"),
        Unknown(source=log.source, type="new", raw="{}"),
        Unknown(source=log.source, type="new", raw="{}"),
        Malformed(source=log.source, text="x", reason="cut"),
        log.use(3, scope=Scope.RUN, message="one", cost=0.5),
    ]
    transcript = folded(*events)
    assert transcript.session is not None
    assert transcript.session.session_id == "one"
    assert transcript.finish is not None
    assert transcript.finish.reason == "end_turn"
    assert transcript.models == ("small", "big")
    assert transcript.unknown == {"new": 2}
    assert [one.reason for one in transcript.malformed] == ["cut"]
    assert (transcript.usage, transcript.usage_told) == (Usage(output=3), True)
    assert transcript.cost_usd == 0.5
    assert sum(transcript.kinds.values()) == len(events)


END = "end_turn"


@pytest.mark.parametrize(
    ("after", "known"),
    [
        (lambda log: [replace(log.say(), role=Role.USER)], None),
        (lambda log: [log.say()], None),
        (lambda log: [log.call("a")], None),
        (lambda log: [Thought(source=log.source, text="on")], None),
        (lambda log: [log.say(), Finish(source=log.source, ok=False, reason="aborted")], "aborted"),
        (lambda log: [replace(log.say(), injected=True)], END),
        (lambda log: [log.say(agent="a"), log.call("a", agent="a")], END),
        (lambda log: [Trace(source=log.source, type="t", raw=""), log.use(1)], END),
        (lambda _: [Log("other.jsonl").say()], END),
    ],
)
def test_a_session_that_goes_on_after_an_end_has_none_until_the_next(
    after: Callable[[Log], list[Event]], known: str | None
) -> None:
    log = Log()
    finish = Finish(source=log.source, ok=True, reason=END)
    ended = folded(log.say(), finish, *after(log)).finish
    assert (ended and ended.reason) == known


@pytest.mark.parametrize(("later", "known"), [(5.0, None), (-5.0, END)])
def test_a_session_that_goes_on_in_another_file_is_not_over_by_the_end_in_the_first(
    later: float, known: str | None
) -> None:
    """As Codex's that were taken back do: the second file may have been cut."""
    log, other = Log(), Log("other.jsonl")
    at = START + timedelta(seconds=60)
    finish = Finish(source=log.source, at=at, ok=True, reason=END)
    ended = folded(log.say(at=59), finish, other.say(at=60 + later)).finish
    assert (ended and ended.reason) == known


def test_the_total_at_an_end_does_not_count_what_was_gone_on_with() -> None:
    log = Log()
    told = [log.say(), log.use(5, scope=Scope.RUN), Finish(source=log.source, ok=True, reason=END)]
    assert not folded(*told).lower_bound

    told.append(log.call("a"))
    assert folded(*told).lower_bound
    assert not folded(*told, Finish(source=log.source, ok=True, reason=END)).lower_bound


def test_tokens_that_leave_out_a_sub_agent_whose_log_is_not_there_are_a_lower_bound() -> None:
    log = Log()
    call, counted = log.call("c"), log.use(5, message="m")
    start = log.start("a1", "c")
    told = [call, start, counted]

    assert folded(*told).lower_bound
    assert not folded(call, start).lower_bound
    assert not folded(*told, log.say(agent="a1")).lower_bound
    assert not folded(*told, log.use(9, message="s", scope=Scope.RUN)).lower_bound


def test_an_empty_transcript() -> None:
    transcript = folded()
    assert transcript.agents == (transcript.main,)
    assert transcript.main.steps == []
    assert transcript.usage == Usage()
    assert (transcript.session, transcript.finish, transcript.cost_usd) == (None, None, None)


WRITE = Edit("f.py", None, "one\ntwo\n")
CHANGE = Edit("f.py", "two", "three")


@pytest.mark.parametrize(("failed", "sign"), [(True, "@"), (False, "@"), (None, "@")])
def test_only_what_did_not_fail_changes_what_is_known(failed: bool | None, sign: str) -> None:
    log = Log()
    events = [
        log.call("a", edits=[WRITE]), log.result("a"),
        log.call("b", edits=[CHANGE]), log.result("b", failed=failed),
        log.call("c", edits=[Edit("f.py", "one", "zero")]), log.result("c"),
    ]  # fmt: skip
    last = folded(*events).main.steps[-1].diffs[0]
    assert last.lines[0].sign == sign
    context = [line.text for line in last.lines if line.sign == " "]
    assert context == (["two"] if failed else ["three"])


def test_a_call_without_result_shows_its_edits_but_changes_nothing() -> None:
    log = Log()
    events = [
        log.call("a", edits=[WRITE]), log.result("a"),
        log.call("b", edits=[CHANGE, Edit("f.py", "three", "four")]),
        log.call("c", edits=[CHANGE]), log.result("c"),
    ]  # fmt: skip
    steps = folded(*events).main.steps
    shown = [[(one.sign, one.text) for one in diff.lines[1:]] for diff in steps[1].diffs]
    assert shown == [
        [(" ", "one"), ("-", "two"), ("+", "three")],
        [(" ", "one"), ("-", "three"), ("+", "four")],
    ]
    assert steps[2].diffs[0].removed == 1


def test_rows_of_another_file_do_not_tell_what_a_file_held() -> None:
    """Files are folded one after the other: what stands in the second may have come first."""
    main, side = Log("main.jsonl"), Log("sub.jsonl")
    events: list[Event] = [main.call("a", edits=[WRITE]), main.result("a")]
    events += [side.call("b", edits=[WRITE], agent="s"), side.result("b", agent="s")]
    transcript = folded(*events)
    assert transcript.unlinked[0].steps[0].diffs[0].action == "write"
    same = [main.call("c", edits=[CHANGE], agent="s"), main.result("c", agent="s")]
    assert folded(*events[:2], *same).unlinked[0].steps[0].diffs[0].lines[0].text.startswith("@@")


def test_nothing_is_dropped_in_any_order() -> None:
    rows = random.Random(7)
    for _ in range(50):
        log = Log()
        events: list[Event] = []
        for name in "abcd":
            agent = rows.choice(["", "x", "y"])
            events += [log.call(name, agent=agent), log.result(name, agent=agent)]
            events.append(log.start(rows.choice("xyz"), name, agent=agent))
        rows.shuffle(events)
        transcript = folded(*events)
        shown = [step for one in transcript.agents for step in one.every_step]
        held = [step.event for step in shown] + [s.result for s in shown if s.result]
        expected = [event for event in events if not isinstance(event, AgentStart)]
        assert sorted(e.source.line for e in held) == sorted(e.source.line for e in expected)
        assert sum(isinstance(step.event, ToolCall) for step in shown) == 4
        assert all(step.result is not None for step in shown)


def test_a_fold_can_be_asked_twice() -> None:
    log, fold = Log(), Fold()
    fold.add(log.say())
    assert fold.transcript("f", "F", ()) == fold.transcript("f", "F", ())
