"""What an auditor sees of how a solution came about: each change, each score that is another."""

from __future__ import annotations

import pytest

from kbsite.auditing.moves import Move, moves
from kbsite.model.event import Edit
from kbsite.model.trajectory import PointKind
from tests.trajectories.sessions import CWD, Work, graded, session


def found(work: Work) -> tuple[Move, ...]:
    return moves(work.trajectory(), work.transcript).held


def benchmarks(*lines: str) -> Work:
    work = Work()
    for line in lines:
        work.run("python benchmark.py", line)
    return work.finish()


def test_a_session_is_told_by_its_changes_and_what_was_measured_after_each() -> None:
    kinds = [move.point.kind.value for move in found(session())]

    assert kinds == ["edit", "check", "edit", "check", "benchmark", "edit", "benchmark", "submit"]


def test_each_move_has_the_address_that_a_quote_takes() -> None:
    work = Work().edit(Edit(f"{CWD}/solution.py", None, "a = 1\n"))

    assert found(work)[0].address == "transcript/main.jsonl@L2"


def test_a_score_says_how_far_it_is_from_the_one_before() -> None:
    first, second, *_ = found(benchmarks("peak_fraction: 0.2", "peak_fraction: 0.3"))

    assert first.gain is None
    assert second.gain == pytest.approx(0.1)


def test_no_score_is_held_against_that_of_a_solution_that_failed_its_check() -> None:
    work = benchmarks("peak_fraction: 0.2", "FAIL: no\npeak_fraction: 0.9")
    told = moves(work.trajectory(graded(0.3)), work.transcript).held

    assert [move.point.rejected for move in told] == [False, False, True, False]
    assert told[-1].gain == pytest.approx(0.1)


def test_a_grade_is_held_against_the_last_score_that_the_agent_saw() -> None:
    work = benchmarks("peak_fraction: 0.5")
    last = moves(work.trajectory(graded(0.4)), work.transcript).held[-1]

    assert last.point.kind is PointKind.SUBMIT
    assert last.gain == pytest.approx(-0.1)


def test_speedups_and_scores_are_not_held_against_each_other() -> None:
    told = found(benchmarks("peak_fraction: 0.2", "speedup: 3.0x", "peak_fraction: 0.3"))

    assert [move.gain for move in told[:2]] == [None, None]
    assert told[2].gain == pytest.approx(0.1)


def test_what_says_what_was_said_before_is_counted_and_left_out() -> None:
    work = benchmarks("PASS", "PASS", "peak_fraction: 0.5", "peak_fraction: 0.501", "FAIL: no")
    held = moves(work.trajectory(), work.transcript)

    assert [move.point.text for move in held.held[:-1]] == [
        "PASS",
        "peak_fraction: 0.5",
        "FAIL: no",
    ]
    assert held.repeats == 2


def test_a_judgement_without_a_figure_is_always_told() -> None:
    told = found(benchmarks("RESULT: LOW", "RESULT: LOW", "RESULT: OK"))

    assert [move.point.text for move in told[:-1]] == ["RESULT: LOW", "RESULT: LOW", "RESULT: OK"]


def test_a_change_says_how_long_the_solution_is_and_how_much_longer_than_before() -> None:
    work = (
        Work()
        .edit(Edit(f"{CWD}/solution.py", None, "a = 1\nb = 2\n"))
        .edit(Edit(f"{CWD}/solution.py", "b = 2\n", ""))
        .edit(Edit(f"{CWD}/solution.py", None, ""))
    )

    assert [(move.lines, move.grown) for move in found(work)[:3]] == [(2, 2), (1, -1), (0, -1)]


def test_a_change_whose_outcome_nobody_knows_has_no_length_and_nor_what_follows_a_growth() -> None:
    work = (
        Work()
        .edit(Edit(f"{CWD}/solution.py", None, "a = 1\n"))
        .run("python generate.py > solution.py")
        .edit(Edit(f"{CWD}/solution.py", None, "a = 1\nb = 2\n"))
    )
    sizes = [(move.lines, move.grown) for move in found(work)[:3]]

    assert sizes == [(1, 1), (None, None), (2, None)]
