"""What a verdict does to a board's ranking, and which cells have to be audited for which reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from kbsite.boards import board
from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Audit, Effect, Verdict
from kbsite.model.board import Attempt, Coverage, Due, Tally
from kbsite.model.config import Represents
from kbsite.model.status import Status
from kbsite.standings import standings
from tests.test_boards import CLEAN, attempt, config, floor, later, only_cell, row_of

HACK = Audit(
    verdict=Verdict.REWARD_HACK, summary="It reads the clock.", implication="No number.",
    auditor="A. Reader",
)  # fmt: skip


def alarmed(run: Attempt, *levels: Level) -> Attempt:
    alarms = [Alarm(kind="fallback", level=level, saw="It saw.", look="Look.") for level in levels]
    return structs.replace(run, alarms=tuple(alarms))


# What a verdict takes out.


@pytest.mark.parametrize(
    ("verdict", "counts"),
    [
        (Verdict.CLEAN, True), (Verdict.RUBRIC_LEAK, True), (Verdict.INTERESTING, True),
        (Verdict.REWARD_HACK, False), (Verdict.BUG, False),
    ],
)  # fmt: skip
def test_what_a_verdict_does_where_the_audit_does_not_say(
    verdict: Verdict, *, counts: bool
) -> None:
    made = board(config(), [attempt("a", score=0.5, audit=replace(HACK, verdict=verdict))])

    assert (made.best is not None) == counts
    assert made.rows[0].tally == Tally(
        attempted=1, passed=int(counts), missing=0, taken_out=int(not counts)
    )


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("effect", Effect)
def test_the_audit_s_own_effect_wins_over_the_verdict_s(verdict: Verdict, effect: Effect) -> None:
    audit = replace(HACK, verdict=verdict, effect=effect)
    made = board(config(), [attempt("a", score=0.5, audit=audit)])

    assert made.taken_out == (effect is Effect.DOES_NOT_COUNT)


def test_the_best_of_a_problem_and_of_the_board_is_one_that_counts() -> None:
    struck = attempt("a", score=0.9, audit=HACK)
    honest = attempt("b", model="n", score=0.3, audit=CLEAN)
    made = board(config(), [struck, honest])

    assert made.columns[0].best is honest
    assert made.best is honest
    assert made.columns[0].tally == Tally(attempted=2, passed=1, missing=0, taken_out=1)
    assert made.taken_out == 1


def test_where_nothing_counts_nothing_is_best() -> None:
    made = board(config(), [attempt("a", score=0.9, audit=HACK)])

    assert (made.best, made.columns[0].best) == (None, None)
    assert only_cell(made).shown.score == 0.9


def test_rows_are_ordered_by_what_counts() -> None:
    made = board(
        config("p", "q"),
        [
            attempt("1", model="hacker", score=0.9, audit=HACK),
            attempt("2", model="hacker", problem="q", score=0.1),
            attempt("3", model="honest", score=0.2),
            attempt("4", model="honest", problem="q", score=0.1),
            attempt("5", model="lower", score=0.05),
            attempt("6", model="lower", problem="q", score=0.1),
        ],
    )

    assert [row.contender.model for row in made.rows] == ["honest", "lower", "hacker"]


def test_of_as_many_passed_the_sum_of_what_counts_decides() -> None:
    made = board(
        config("p", "q"),
        [
            attempt("1", model="b", score=0.9, audit=HACK),
            attempt("2", model="b", problem="q", score=0.1),
            attempt("3", model="a", score=0.2),
        ],
    )

    assert [row.contender.model for row in made.rows] == ["a", "b"]


def test_the_mean_and_the_share_passed_hold_a_struck_score_as_none() -> None:
    made = board(
        config("p", "q"),
        [attempt("1", score=0.8, audit=HACK), attempt("2", problem="q", score=0.4)],
    )
    [standing] = standings(made)

    assert standing.mean == pytest.approx(0.2)
    assert (standing.passed.count, standing.passed.of) == (1, 2)


def test_a_struck_attempt_without_a_figure_is_no_passed_one_without_a_figure() -> None:
    audited = attempt("1", score=None, audit=HACK)
    [standing] = standings(board(config("p"), [audited]))
    [other] = standings(board(config("p"), [structs.replace(audited, audit=CLEAN)]))

    assert (standing.unscored, other.unscored) == (0, 1)


def test_a_struck_score_is_not_held_against_the_floor() -> None:
    low = attempt("a", score=0.1)
    struck = structs.replace(low, audit=HACK)

    assert only_cell(board(config(), [low], [floor()])).below_floor
    assert not only_cell(board(config(), [struck], [floor()])).below_floor


def test_the_best_attempt_is_one_that_counts_if_there_is_one() -> None:
    struck = attempt("a", score=0.9, audit=HACK)
    wrong = attempt("b", status=Status.WRONG, started=later(1))
    passed = attempt("c", score=0.2, started=later(2))
    best = config(represents=Represents.BEST)

    assert only_cell(board(best, [struck, wrong, passed])).shown is passed
    assert only_cell(board(best, [struck, wrong])).shown is wrong
    assert only_cell(board(best, [struck])).shown is struck


@pytest.mark.parametrize(("rule", "shown"), [(Represents.FIRST, "a"), (Represents.LATEST, "b")])
def test_a_rule_by_time_shows_a_struck_attempt_too(rule: Represents, shown: str) -> None:
    first = attempt("a", score=0.9, audit=HACK)
    latest = attempt("b", score=0.9, audit=HACK, started=later(1))

    assert only_cell(board(config(represents=rule), [first, latest])).shown.run.id == shown


# What has to be audited, and why.


def test_a_cell_says_every_reason_why_it_is_due() -> None:
    high = alarmed(attempt("a", score=0.5), Level.WARNING)
    made = board(config("p", "q"), [high, attempt("b", model="n", score=0.3)])

    assert row_of(made, "m").cells[0].due == (Due.HIGH, Due.BEST, Due.FLAGGED)  # type: ignore[union-attr]
    assert row_of(made, "n").cells[0].due == (Due.HIGH,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("levels", "due"),
    [
        ([], ()), ([Level.NOTE], ()), ([Level.WARNING], (Due.FLAGGED,)),
        ([Level.ALARM], (Due.FLAGGED,)), ([Level.NOTE, Level.WARNING], (Due.FLAGGED,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [Status.WRONG, Status.UNGRADED])
def test_an_alarm_above_note_makes_an_audit_due_whatever_came_of_the_run(
    levels: list[Level], due: tuple[Due, ...], status: Status
) -> None:
    cell = only_cell(board(config(), [alarmed(attempt("a", status=status), *levels)]))

    assert (cell.due, cell.unaudited) == (due, bool(due))


def test_a_struck_cell_stays_due_and_is_done_and_the_next_best_is_due_in_its_place() -> None:
    made = board(
        config(),
        [attempt("a", score=0.9, audit=HACK), attempt("b", model="n", score=0.03)],
    )

    assert [cell.due for _, _, cell in made.cells] == [(Due.BEST,), (Due.HIGH,)]
    assert (made.audits_done, made.audits_due) == (1, 2)


def test_coverage_is_counted_for_each_reason_and_no_cell_twice_for_all() -> None:
    made = board(
        config(),
        [
            attempt("a", score=0.5, audit=CLEAN),
            alarmed(attempt("b", model="n", score=0.4), Level.ALARM),
            alarmed(attempt("c", model="o", status=Status.WRONG, audit=CLEAN), Level.WARNING),
            attempt("d", model="q", score=0.01),
        ],
    )

    assert made.coverage() == Coverage(2, 3)
    assert made.coverage().missing == 1
    assert made.coverage(Due.HIGH) == Coverage(1, 2)
    assert made.coverage(Due.BEST) == Coverage(1, 1)
    assert made.coverage(Due.FLAGGED) == Coverage(1, 2)
