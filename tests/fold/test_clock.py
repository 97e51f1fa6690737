"""Sessions whose clock was set while they ran."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.fold.aside import Aside
from kbsite.fold.steps import Fold
from kbsite.fold.steps_aside import Told
from kbsite.model.event import (
    AgentStart,
    Edit,
    Event,
    Message,
    Role,
    Source,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
)
from kbsite.model.trajectory import Trajectory
from kbsite.model.transcript import Step, Transcript
from tests.fold.making import START, folded
from tests.trajectories.sessions import CWD, Work

SOLUTION = f"{CWD}/solution.py"


def session(jump: float, *, back: float = 0.0) -> Work:
    """A session whose clock jumps in its midst, and once more, by `back`, before its last words."""
    work = Work().say(at=1).edit(Edit(SOLUTION, None, "a = 1\n"), at=10)
    work.run("check", "PASS\npeak_fraction: 0.1\n", at=(20, 30))
    work.edit(Edit(SOLUTION, "1", "2"), at=40 + jump)
    work.run("check", "FAIL: x\n", at=(50 + jump, 60 + jump)).edit(
        Edit(SOLUTION, "2", "3"), at=70 + jump
    )
    work.run("check", "PASS\npeak_fraction: 0.3\n", at=(80 + jump, 90 + jump))
    return work.say(at=95 + jump + back).say(at=96 + jump + back)


def told(found: Trajectory) -> list[object]:
    return [(p.kind, p.anchor, p.state, p.passed, p.score) for p in found.points]


@pytest.mark.parametrize("jump", [-7200.0, -35.0, 7200.0])
def test_a_session_is_told_in_its_order_though_its_clock_was_set(jump: float) -> None:
    found, plain = session(jump).trajectory(), session(0).trajectory()

    assert told(found) == told(plain)
    assert [state.content for state in found.states] == ["a = 1\n", "a = 2\n", "a = 3\n"]
    assert found.signs.correct is not None
    assert (found.signs.correct.anchor, found.signs.correct.elapsed) == ("L5", 30)


def test_where_a_clock_was_set_back_what_follows_comes_next() -> None:
    found = session(-7200)
    times = [point.elapsed for point in found.trajectory().points]
    states = [state.at for state in found.trajectory().states]

    assert times == [10, 30, 30, 30, 50, 60, 80, 80, 86]
    assert states == [START + timedelta(seconds=n) for n in (10, 30, 60)]
    signs = found.trajectory().signs
    assert (signs.span, signs.model, signs.idle) == (85, 55, 0)
    assert dict(signs.tools) == {ToolKind.RUN: 30}
    shown = found.transcript
    assert (shown.first, shown.last) == (START, START + timedelta(seconds=86))


def test_a_leap_that_is_taken_back_is_none() -> None:
    found = session(7200, back=-7200)

    assert [point.elapsed for point in found.trajectory().points][-1] == 96
    assert told(found.trajectory()) == told(session(0).trajectory())
    behind = [step.behind for step in found.transcript.main.steps]
    assert behind == [0, 0, 0, 0, *[-7195] * 4, 0, 0]


def test_a_leap_while_a_call_was_under_way_is_no_time_of_it_where_it_was_taken_back() -> None:
    work = Work().say(at=1).run("check", "PASS\n", at=(10, 7215)).say(at=7220).say(at=7225)
    work.say(at=30).say(at=35)
    found = work.trajectory()

    assert (found.signs.span, dict(found.signs.tools)) == (34, {ToolKind.RUN: 10})
    assert [call.seconds for call in found.signs.slowest] == [10]
    assert [step.elapsed for step in work.transcript.main.steps[1:]] == [1, 10, 25, 30, 30, 35]
    assert [point.elapsed for point in found.points] == [20, 35]


def test_each_call_that_was_under_way_in_a_leap_took_less_by_it() -> None:
    work = Work().say(at=1)
    for begin in (10, 12):
        work.run("make", None, at=(begin, None))
    for call, end in (("c1", 14), ("c2", 7215)):
        row = ToolResult(source=work.source, call_id=call, output="", at=START + timedelta(0, end))
        work.events.append(row)
    work.say(at=7220).say(at=30).say(at=35)

    steps = work.transcript.main.steps
    assert [step.ended for step in steps[2:4]] == [14, 25]
    assert [step.leapt for step in steps] == [0, 0, 0, 7190, 0, 0, 0]
    laid = Fold(aside=Aside(Told))
    for event in work.events:
        laid.add(event)
    assert [step.leapt for step in laid.transcript("f", "F", ("f",)).main.steps][3] == 7190


def test_a_call_after_which_no_clock_was_set_back_took_as_long_as_it_says() -> None:
    work = Work().say(at=1).run("make", at=(10, 7215)).say(at=7220).say(at=7225)
    assert not any(step.leapt for step in work.transcript.main.steps)
    work.say(at=7100).say(at=7105)
    assert not any(step.leapt for step in work.transcript.main.steps)


def test_a_pause_is_no_leap_that_was_taken_back() -> None:
    work = Work().say(at=1).say(at=5000).say(at=5020).say(at=4980).say(at=4990)

    assert [step.behind for step in work.transcript.main.steps][-2:] == [40, 40]


def test_sub_agents_go_by_the_clock_of_their_call() -> None:
    work = Work().say(at=100).say(at=20).call(ToolKind.AGENT, {}, at=(30, 60))
    start = AgentStart(source=Source("kid.jsonl", 1), child="kid", call_id="c1")
    said = [at_work(2, 35), at_work(3, 40), at_work(4, 5), at_work(5, 9)]
    shown = folded(*work.events, start, *said)

    assert [step.elapsed for step in below(shown)] == [115, 120, 120, 124]
    assert [step.behind for step in below(shown)] == [80, 80, 115, 115]


def at_work(line: int, at: float) -> Message:
    return Message(
        source=Source("kid.jsonl", line), at=START + timedelta(seconds=at), agent="kid",
        role=Role.ASSISTANT, text="hm",
    )  # fmt: skip


def below(shown: Transcript) -> Sequence[Step]:
    return next(step.agents[0].steps for step in shown.main.steps if step.agents)


def test_what_a_cli_tells_before_a_model_goes_on_is_of_its_clock() -> None:
    work = Work().say(at=1).notice(Topic.RETRY, at=500).notice(Topic.RETRY).say(at=505)
    work.notice(Topic.RETRY).notice(Topic.RETRY, at=101).say(at=102).say(at=103)

    behind = [step.behind for step in work.transcript.main.steps]
    assert behind == [*[0] * 6, *[403] * 3]


def test_what_goes_on_beside_others_sets_no_clock_back() -> None:
    work = Work().say(at=1).call(ToolKind.RUN, {}, at=(10, 500)).say(at=501)
    beside = Work().call(ToolKind.RUN, {}, None, at=(10, None)).say(at=20)

    for one in (work, beside):
        assert not any(step.behind for step in one.transcript.main.steps)
        assert one.transcript.main.steps[-1].ended == one.transcript.main.steps[-1].elapsed


def said(line: int, at: float) -> Message:
    """What a model said, in a line of a session's file."""
    when = START + timedelta(seconds=at)
    return Message(source=Source("s.jsonl", line), at=when, role=Role.ASSISTANT, text="hm")


def behind(*events: Event) -> list[float]:
    return [step.behind for step in folded(*events).main.steps]


def test_a_row_that_is_written_late_sets_no_clock_back() -> None:
    assert behind(said(1, 1), said(2, 100), said(3, 20), said(4, 101)) == [0] * 4


def test_what_one_row_tells_happened_side_by_side() -> None:
    assert behind(said(1, 1), said(2, 100), said(2, 10), said(2, 12), said(3, 101)) == [0] * 5


def test_of_leaps_within_each_other_that_one_is_taken_back_which_was_as_large() -> None:
    told = behind(*(said(n, at) for n, at in enumerate([1, 1001, 1002, 1102, 102, 103], 1)))

    assert told == [0, -1000, -1000, -1000, 0, 0]


def test_a_result_of_long_ago_hides_no_clock_that_was_set_back() -> None:
    call = ToolCall(source=Source("s.jsonl", 1), at=START, call_id="c", tool="Bash",
                    tool_kind=ToolKind.RUN, arguments={})  # fmt: skip
    late = ToolResult(
        source=Source("s.jsonl", 3), at=START + timedelta(seconds=5), call_id="c", output=""
    )

    assert behind(call, said(2, 100), late, said(4, 20), said(5, 21)) == [0, 0, 80, 80]


YEARS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))


@given(st.lists(YEARS, min_size=2, max_size=30))
def test_no_clock_is_refused_and_what_speaks_never_goes_back_twice(times: list[datetime]) -> None:
    events: list[Event] = [
        Message(source=Source("s.jsonl", n + 1), at=at, role=Role.ASSISTANT, text="hm")
        for n, at in enumerate(times)
    ]
    shown = folded(*events)
    elapsed = [step.elapsed for step in shown.main.steps if step.elapsed is not None]

    assert len(elapsed) == len(times)
    assert min(elapsed) == pytest.approx(0, abs=1e-3)
    # A row may be written late; two such rows are a clock that was set back.
    assert all(
        not one - 11 > two <= three < one - 11
        for one, two, three in zip(elapsed, elapsed[1:], elapsed[2:], strict=False)
    )
