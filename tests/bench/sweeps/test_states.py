"""States: every way there is, and none besides."""

from __future__ import annotations

from random import Random

import pytest

from bench.sweeps.sheet import Retries
from bench.sweeps.states import MOVES, OPEN, Kind, Outcome, State, Tally, after, backoff
from tests.bench.sweeps.sweeps import Even

RETRIES = Retries(most=2, lost=3, backoff_seconds=10.0, longest_seconds=35.0)
AGENT, GRADE = Kind.AGENT, Kind.GRADE


def test_each_state_can_be_left_and_says_what_a_move_means() -> None:
    assert set(MOVES) == set(State)
    assert all(MOVES[state] for state in State)
    assert all(meaning for moves in MOVES.values() for meaning in moves.values())


def test_every_state_can_be_reached_and_done_from_every_one() -> None:
    for start in State:
        reached, waiting = {start}, [start]
        while waiting:
            more = set(MOVES[waiting.pop()]) - reached
            reached |= more
            waiting += more
        assert reached == set(State)


def test_a_session_starts_where_none_runs_and_a_grade_on_a_run() -> None:
    into = {state: {before for before in State if state in MOVES[before]} for state in OPEN}
    assert into == {State.RUNNING: {State.WAITING}, State.GRADING: {State.RAN}}


NEVER = {(AGENT, Outcome.GRADED), (GRADE, Outcome.RAN)}
ENDS = [(kind, one) for kind in Kind for one in Outcome if (kind, one) not in NEVER]


@pytest.mark.parametrize(("kind", "outcome"), ENDS)
@pytest.mark.parametrize("grade", [True, False])
@pytest.mark.parametrize("count", [0, 2, 3, 9])
def test_whatever_becomes_of_a_try_there_is_such_a_move(
    kind: Kind, outcome: Outcome, *, grade: bool, count: int
) -> None:
    before = State.RUNNING if kind is AGENT else State.GRADING
    tally = Tally(spoilt=count, lost=count)
    following = after(kind, outcome, tally, RETRIES, grade=grade, chance=Random(0))
    assert following.state in MOVES[before]


@pytest.mark.parametrize(
    ("kind", "outcome", "grade", "state"),
    [
        (AGENT, Outcome.RAN, True, State.RAN),
        (AGENT, Outcome.RAN, False, State.DONE),
        (AGENT, Outcome.SPOILT, True, State.WAITING),
        (AGENT, Outcome.LOST, True, State.WAITING),
        (AGENT, Outcome.STOPPED, True, State.WAITING),
        (AGENT, Outcome.REFUSED, True, State.FAILED),
        (GRADE, Outcome.GRADED, True, State.DONE),
        (GRADE, Outcome.LOST, True, State.RAN),
        (GRADE, Outcome.STOPPED, True, State.RAN),
        (GRADE, Outcome.REFUSED, True, State.FAILED),
    ],
)
def test_what_becomes_of_a_cell(kind: Kind, outcome: Outcome, state: State, *, grade: bool) -> None:
    made = after(kind, outcome, Tally(), RETRIES, grade=grade, chance=Even())
    assert made.state is state


def test_what_was_spoilt_and_what_was_lost_are_counted_apart() -> None:
    tally = Tally(spoilt=2, lost=1)
    spoilt = after(AGENT, Outcome.SPOILT, tally, RETRIES, grade=True, chance=Even())
    lost = after(AGENT, Outcome.LOST, tally, RETRIES, grade=True, chance=Even())

    assert (spoilt.state, spoilt.tally) == (State.FAILED, Tally(spoilt=3, lost=1))
    assert (lost.state, lost.tally) == (State.WAITING, Tally(spoilt=2, lost=2))


def test_a_stop_is_no_failure_and_success_forgets_failures() -> None:
    tally = Tally(spoilt=2, lost=3)
    stopped = after(AGENT, Outcome.STOPPED, tally, RETRIES, grade=True, chance=Even())
    ran = after(AGENT, Outcome.RAN, tally, RETRIES, grade=True, chance=Even())

    assert (stopped.tally, stopped.wait_seconds) == (tally, 0.0)
    assert ran.tally == Tally()


def test_waits_double_up_to_the_longest_and_differ_by_chance() -> None:
    assert [backoff(count, RETRIES, Even()) for count in (1, 2, 3, 4, 500)] == [10, 20, 35, 35, 35]
    chance = Random(1)
    waits = {backoff(2, RETRIES, chance) for _ in range(50)}
    assert len(waits) == 50
    assert all(20 <= wait <= 30 for wait in waits)
