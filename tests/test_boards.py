"""Which runs belong together, which attempt a cell shows, and what rows and columns add up to."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kbsite import boards
from kbsite.boards import KnownScores, board
from kbsite.model.audit import Audit, Verdict
from kbsite.model.board import Attempt, Board, Cell, Row, Tally
from kbsite.model.config import BoardConfig, Config, Represents
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.model.status import EndReason, Status
from kbsite.pages.neighbours import Neighbours
from kbsite.pages.page import Site

START = datetime(2026, 1, 2, tzinfo=UTC)
UNATTEMPTED = [Status.INFRA, Status.UNGRADED]
FAILED = [status for status in Status if status.attempted and status is not Status.PASSED]
CLEAN = Audit(verdict=Verdict.CLEAN, summary="Fine.", auditor="A. Reader", date=date(2026, 1, 3))


def attempt(
    run_id: str,
    *,
    model: str = "m",
    effort: str | None = None,
    variant: str | None = None,
    problem: str = "p",
    status: Status = Status.PASSED,
    score: float | None = None,
    problem_hash: str | None = "h",
    hardware: str | None = "gpu",
    budget: float | None = 60,
    started: datetime | None = START,
    audit: Audit | None = None,
) -> Attempt:
    """A run, all of whose other facts are those of every other one."""
    run = Run(
        format=1, id=run_id, board="b", problem=problem, problem_hash=problem_hash,
        prompt_hash=None, harness="claude", harness_version="1", model=model, effort=effort,
        variant=variant, hardware=hardware, budget_seconds=budget, started=started, ended=None,
        end_reason=EndReason.FINISHED,
    )  # fmt: skip
    return Attempt(run, Metrics(format=1, status=status, peak_fraction=score), audit)


def config(
    *deck: str,
    hardware: str | None = None,
    budget: float | None = None,
    represents: Represents = Represents.FIRST,
    threshold: float = 0.10,
) -> BoardConfig:
    return BoardConfig(
        id="b", title="B", deck=deck, hardware=hardware, budget_seconds=budget,
        represents=represents, audit_threshold=threshold,
    )  # fmt: skip


def later(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def series(*outcomes: tuple[Status, float | None]) -> list[Attempt]:
    """Attempts a0, a1, ... of one contender at one problem, in order of time."""
    return [
        attempt(f"a{number}", status=status, score=score, started=later(number))
        for number, (status, score) in enumerate(outcomes)
    ]


def only_cell(made: Board) -> Cell:
    [(_, _, cell)] = made.cells
    return cell


def shown_of(represents: Represents, attempts: Sequence[Attempt]) -> str:
    return only_cell(board(config(represents=represents), attempts)).shown.run.id


def row_of(made: Board, model: str) -> Row:
    [row] = [row for row in made.rows if row.contender.model == model]
    return row


# The attempt that stands for a cell.


@pytest.mark.parametrize(
    ("represents", "expected"),
    [(Represents.FIRST, "a0"), (Represents.LATEST, "a2"), (Represents.BEST, "a1")],
)
def test_a_cell_shows_the_attempt_that_the_rule_names(
    represents: Represents, expected: str
) -> None:
    attempts = series((Status.PASSED, 0.2), (Status.PASSED, 0.5), (Status.WRONG, None))

    assert shown_of(represents, attempts) == expected
    assert shown_of(represents, attempts[::-1]) == expected


@pytest.mark.parametrize("spoilt", UNATTEMPTED)
@pytest.mark.parametrize("represents", Represents)
def test_attempts_that_nobody_could_grade_are_left_out(
    represents: Represents, spoilt: Status
) -> None:
    attempts = series((spoilt, None), (Status.WRONG, None), (spoilt, 0.9))
    cell = only_cell(board(config(represents=represents), attempts))

    assert cell.shown.run.id == "a1"
    assert [held.run.id for held in cell.attempts] == ["a0", "a1", "a2"]


@pytest.mark.parametrize("represents", Represents)
def test_attempts_that_nobody_could_grade_are_shown_where_there_is_nothing_else(
    represents: Represents,
) -> None:
    attempts = series((Status.UNGRADED, None), (Status.UNGRADED, None))
    expected = "a1" if represents is Represents.LATEST else "a0"

    assert shown_of(represents, attempts) == expected


@pytest.mark.parametrize("represents", Represents)
def test_an_attempt_that_waits_for_its_grade_stands_before_spoilt_ones(
    represents: Represents,
) -> None:
    attempts = series((Status.INFRA, None), (Status.UNGRADED, None), (Status.INFRA, None))

    assert shown_of(represents, attempts) == "a1"


def test_the_best_attempt_is_a_passed_one_even_without_a_score() -> None:
    attempts = series((Status.WRONG, 0.9), (Status.PASSED, None))

    assert shown_of(Represents.BEST, attempts) == "a1"


def in_time(held: Attempt, ms: float) -> Attempt:
    return structs.replace(held, metrics=replace(held.metrics, ms=ms))


def test_of_attempts_without_a_score_the_quickest_is_the_best() -> None:
    attempts = [in_time(attempt(f"a{ms}"), ms) for ms in (3, 1, 2)]
    assert shown_of(Represents.BEST, attempts) == "a1"


def test_of_equally_good_attempts_the_earlier_one_is_the_best() -> None:
    attempts = series((Status.PASSED, 0.3), (Status.PASSED, 0.3))

    assert shown_of(Represents.BEST, attempts[::-1]) == "a0"


def test_time_counts_and_not_how_its_zone_is_written() -> None:
    east = timezone(timedelta(hours=9))
    early = attempt("z", started=datetime(2026, 1, 2, 8, tzinfo=east))
    late = attempt("a", started=datetime(2026, 1, 2, 0, tzinfo=UTC))

    assert shown_of(Represents.FIRST, [late, early]) == "z"


def test_attempts_without_a_time_come_first_and_ties_go_by_id() -> None:
    attempts = [attempt("c"), attempt("b"), attempt("d", started=None)]
    cell = only_cell(board(config(), attempts))

    assert [held.run.id for held in cell.attempts] == ["d", "b", "c"]


@pytest.mark.parametrize("status", FAILED)
def test_a_failed_attempt_has_no_score_whatever_was_measured(status: Status) -> None:
    made = board(config(), [attempt("a", status=status, score=0.9)])

    assert only_cell(made).shown.score is None
    assert made.best is None
    assert not only_cell(made).audit_due


# Tallies.


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *[(status, Tally(attempted=1, passed=0, missing=1)) for status in FAILED],
        *[(status, Tally(attempted=0, passed=0, missing=2)) for status in UNATTEMPTED],
        (Status.PASSED, Tally(attempted=1, passed=1, missing=1)),
    ],
)
def test_attempted_passed_and_missing_of_a_row_are_kept_apart(
    status: Status, expected: Tally
) -> None:
    made = board(config("p", "q"), [attempt("a", status=status)])

    assert made.rows[0].tally == expected


def test_a_column_counts_contenders_and_not_attempts() -> None:
    made = board(
        config("p", "q"),
        [
            *series((Status.PASSED, 0.1), (Status.PASSED, 0.2), (Status.WRONG, None)),
            attempt("w", model="wrong", status=Status.WRONG),
            attempt("i", model="infra", status=Status.INFRA),
            attempt("e", model="elsewhere", problem="q"),
        ],
    )

    assert made.columns[0].tally == Tally(attempted=2, passed=1, missing=2)
    assert made.columns[1].tally == Tally(attempted=1, passed=1, missing=3)
    assert made.run_count == 6


def test_contenders_with_the_same_label_keep_their_own_numbers() -> None:
    asked = attempt("a", model="m", effort="max", score=0.5)
    named = attempt("b", model="m [max]", status=Status.WRONG)
    made = board(config("p"), [asked, named])

    assert asked.run.contender.label == named.run.contender.label
    assert row_of(made, "m").tally == Tally(attempted=1, passed=1, missing=0)
    assert row_of(made, "m [max]").tally == Tally(attempted=1, passed=0, missing=0)
    assert made.columns[0].tally == Tally(attempted=2, passed=1, missing=0)


def test_effort_and_variant_make_rows_of_their_own() -> None:
    made = board(
        config(), [attempt("a"), attempt("b", effort="max"), attempt("c", variant="rerun")]
    )

    assert len(made.rows) == 3


def test_a_cell_without_a_run_is_none_in_the_order_of_the_deck() -> None:
    made = board(config("q", "p", "r"), [attempt("a", problem="p")])

    assert [cell is None for cell in made.rows[0].cells] == [True, False, True]
    assert [column.problem for column in made.columns] == ["q", "p", "r"]


def test_without_a_deck_all_problems_stand_by_id() -> None:
    made = board(config(), [attempt("a", problem="z"), attempt("b", problem="k")])

    assert [column.problem for column in made.columns] == ["k", "z"]


def test_a_problem_that_the_deck_names_twice_is_one_column() -> None:
    made = board(config("p", "q", "p"), [attempt("a")])

    assert [column.problem for column in made.columns] == ["p", "q"]
    assert made.run_count == 1


# Order.


def test_rows_go_by_passed_then_by_sum_of_scores_then_by_label() -> None:
    made = board(
        config("p", "q"),
        [
            attempt("1", model="two", score=0.1),
            attempt("2", model="two", problem="q", score=0.1),
            attempt("3", model="one-high", score=0.9),
            attempt("4", model="one-b", score=0.3),
            attempt("5", model="one-a", score=0.3),
            attempt("6", model="none", status=Status.WRONG, score=0.99),
            attempt("7", model="blank", status=Status.UNGRADED),
        ],
    )

    models = [row.contender.model for row in made.rows]
    assert models == ["two", "one-high", "one-a", "one-b", "blank", "none"]


def test_the_best_of_a_column_and_of_the_board() -> None:
    low, high = attempt("l", score=0.2), attempt("h", model="n", score=0.4)
    other = attempt("o", problem="q", score=0.3)
    made = board(config("p", "q", "r"), [low, high, other])

    assert [column.best for column in made.columns] == [high, other, None]
    assert made.best is high


def test_of_equal_scores_the_earlier_one_is_the_best_of_a_column() -> None:
    first = attempt("z", model="x", score=0.4)
    second = attempt("a", model="w", score=0.4, started=later(1))

    assert board(config(), [second, first]).columns[0].best is first


def test_the_best_of_a_column_is_one_that_a_cell_shows() -> None:
    attempts = series((Status.PASSED, 0.2), (Status.PASSED, 0.8))

    assert board(config(), attempts).columns[0].best is attempts[0]


# What is not mixed.

MOST = [attempt("a"), attempt("b", model="n")]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (attempt("x", problem_hash="other"), "its problem hash is other, the board's is h"),
        (attempt("x", problem_hash=None), "its problem hash is not recorded, the board's is h"),
        (attempt("x", hardware="cpu"), "its hardware is cpu, the board's is gpu"),
        (attempt("x", hardware=None), "its hardware is not recorded, the board's is gpu"),
        (attempt("x", budget=90.5), "its budget in seconds is 90.5, the board's is 60"),
        (attempt("x", budget=None), "its budget in seconds is not recorded, the board's is 60"),
        (attempt("x", problem="other"), "its problem other is not in the deck"),
    ],
)
def test_a_run_unlike_the_others_is_refused_with_both_values(odd: Attempt, reason: str) -> None:
    made = board(config("p", "q"), [odd, *MOST])

    assert [(refusal.run_id, refusal.reason) for refusal in made.refused] == [("x", reason)]
    assert made.run_count == 2


def test_all_reasons_of_a_refusal_are_named() -> None:
    odd = attempt("x", problem_hash="k", hardware="cpu", budget=1)
    [refusal] = board(config("p"), [odd, *MOST]).refused

    assert refusal.reason.count("; ") == 2
    assert all(word in refusal.reason for word in ("hash", "hardware", "budget"))


def test_a_grade_of_another_version_of_the_problem_is_refused() -> None:
    """A problem that was changed, graded anew, and changed back."""
    graded = {"a": "h", "b": "changed", "c": None}
    runs = []
    for name, version in graded.items():
        run = attempt(name)
        metrics = replace(run.metrics, problem_hash=version)
        runs.append(structs.replace(run, metrics=metrics))
    made = board(config(), runs)

    assert [(one.run_id, one.reason) for one in made.refused] == [
        ("b", "its grade is of another version of its problem; grade it again")
    ]
    assert made.run_count == 2


def test_values_that_are_close_are_told_apart() -> None:
    attempts = [attempt("x", budget=1234568), *series((Status.PASSED, 1), (Status.PASSED, 1))]
    [refusal] = board(config(budget=1234567), attempts[:1]).refused

    assert "1234568" in refusal.reason
    assert "1234567," not in refusal.reason.replace("1234568", "")
    assert refusal.reason.endswith("1234567")


def test_what_the_board_says_wins_over_what_most_of_the_runs_had() -> None:
    odd = attempt("x", hardware="cpu", budget=90)
    made = board(config(hardware="cpu", budget=90), [odd, *MOST])

    assert (made.hardware, made.budget_seconds, made.run_count) == ("cpu", 90, 1)
    assert [refusal.run_id for refusal in made.refused] == ["a", "b"]


def test_a_budget_of_nothing_is_still_what_the_board_says() -> None:
    made = board(config(budget=0), MOST)

    assert made.budget_seconds == 0
    assert len(made.refused) == 2


def test_runs_off_the_deck_do_not_decide_what_the_deck_was_made_on() -> None:
    strangers = [attempt(f"s{n}", problem="other", hardware="cpu", budget=1) for n in range(5)]
    made = board(config("p"), [*strangers, *MOST])

    assert (made.hardware, made.budget_seconds, made.run_count) == ("gpu", 60, 2)


def test_the_problem_as_it_is_today_wins_over_what_most_of_the_runs_had() -> None:
    today = attempt("x", problem_hash="new")
    made = board(config("p"), [*MOST, today], problem_hashes={"p": "new"})

    assert made.problem_hashes == ("new",)
    assert [refusal.run_id for refusal in made.refused] == ["a", "b"]


def test_each_problem_has_a_hash_of_its_own() -> None:
    made = board(config(), [*MOST, attempt("q", problem="q", problem_hash="k")])

    assert made.problem_hashes == ("h", "k")
    assert made.refused == ()


def test_ties_are_decided_alike_in_any_order_and_never_for_what_is_not_recorded() -> None:
    attempts = [
        attempt("a", hardware="z"), attempt("b", hardware="y"), attempt("c", hardware=None)
    ]  # fmt: skip
    for order in (attempts, attempts[::-1]):
        assert board(config(), order).hardware == "y"
    assert board(config(), [attempts[2], attempt("d", hardware="NVIDIA")]).hardware == "NVIDIA"


def test_runs_that_record_nothing_still_belong_together() -> None:
    bare = [attempt(name, problem_hash=None, hardware=None, budget=None) for name in "ab"]
    made = board(config(), bare)

    assert (made.hardware, made.budget_seconds, made.problem_hashes) == (None, None, (None,))
    assert made.run_count == 2


# Floors.


def floor(
    kind: FloorKind = FloorKind.EAGER,
    problem: str = "p",
    fraction: float | None = 0.3,
    hardware: str | None = "gpu",
    problem_hash: str | None = "h",
) -> Floor:
    return Floor(
        kind=kind, problem=problem, peak_fraction=fraction, hardware=hardware,
        problem_hash=problem_hash,
    )  # fmt: skip


def test_floors_stand_in_the_order_of_kinds_and_of_the_deck() -> None:
    library, eager = floor(FloorKind.LIBRARY, "q", problem_hash=None), floor()
    made = board(config("p", "q"), MOST, [eager, library])

    assert [(row.kind, row.floors) for row in made.floors] == [
        (FloorKind.LIBRARY, (None, library)),
        (FloorKind.EAGER, (eager, None)),
    ]


@pytest.mark.parametrize(
    "other", [floor(hardware="cpu"), floor(problem_hash="k"), floor(problem="off-deck")]
)
def test_floors_of_anything_else_are_dropped(other: Floor) -> None:
    made = board(config("p"), [attempt("a", score=0.1)], [other])

    assert made.floors == ()
    assert not only_cell(made).below_floor


def test_floors_that_name_neither_hardware_nor_hash_fit_every_board() -> None:
    assert board(config(), MOST, [floor(hardware=None, problem_hash=None)]).floors


def test_a_floor_stands_on_a_problem_that_nobody_has_tried() -> None:
    made = board(config("p", "q"), MOST, [floor(problem="q", problem_hash="k")], {"q": "k"})

    assert made.problem_hashes == ("h", "k")
    assert made.floors[0].floors[1] is not None


@pytest.mark.parametrize(
    ("score", "floors", "below"),
    [
        (0.29, [floor()], True),
        (0.30, [floor()], False),
        (0.31, [floor()], False),
        (0.1, [floor(FloorKind.LIBRARY), floor(FloorKind.COMPILED)], False),
        (0.1, [floor(fraction=None)], False),
        (0.1, [floor(problem="q")], False),
        (None, [floor()], False),
    ],
)
def test_below_the_floor_is_below_the_eager_reference(
    score: float | None, floors: list[Floor], below: bool
) -> None:
    made = board(config("p"), [attempt("a", score=score)], floors)

    assert only_cell(made).below_floor is below


# Audits.


@pytest.mark.parametrize(
    ("score", "due"), [(0.10, True), (0.11, True), (0.09999, False), (None, False)]
)
def test_a_score_from_the_threshold_up_has_to_be_audited(score: float | None, due: bool) -> None:
    best = attempt("best", model="best", score=0.9)
    made = board(config(), [attempt("a", score=score), best])
    [cell] = row_of(made, "m").cells

    assert cell is not None
    assert (cell.audit_due, cell.unaudited) == (due, due)


def test_the_best_of_a_problem_has_to_be_audited_below_the_threshold_too() -> None:
    made = board(config(), [attempt("a", score=0.02), attempt("b", model="n", score=0.03)])

    assert {row.contender.model: cell.audit_due for row, _, cell in made.cells} == {
        "m": False,
        "n": True,
    }


def test_an_audit_settles_what_was_due_and_is_counted() -> None:
    attempts = [
        attempt("a", score=0.5, audit=CLEAN),
        attempt("b", model="n", score=0.4),
        attempt("c", model="o", score=0.01, audit=CLEAN),
    ]
    made = board(config(), attempts)

    assert [cell.unaudited for _, _, cell in made.cells] == [False, True, False]
    assert (made.audits_done, made.audits_due) == (1, 2)


def test_the_audit_of_an_attempt_that_is_not_shown_settles_nothing() -> None:
    shown, hidden = attempt("a", score=0.5), attempt("b", score=0.5, started=later(1), audit=CLEAN)

    assert only_cell(board(config(), [shown, hidden])).unaudited


def test_a_board_of_no_runs_has_its_deck_and_floors() -> None:
    made = board(config("p", "q", hardware="gpu"), [], [floor(problem_hash=None)])

    assert [column.tally for column in made.columns] == [
        Tally(attempted=0, passed=0, missing=0)
    ] * 2
    assert (made.rows, made.refused, made.best, made.run_count) == ((), (), None, 0)
    assert (made.audits_due, made.audits_done) == (0, 0)
    assert len(made.floors) == 1


def test_a_board_of_nothing_at_all() -> None:
    made = board(config(), [])

    assert (made.columns, made.rows, made.floors, made.problem_hashes) == ((), (), (), ())


def test_a_board_whose_runs_are_all_refused_has_no_rows() -> None:
    made = board(config("p", hardware="cpu"), MOST)

    assert made.rows == ()
    assert made.columns[0].tally.missing == 0
    assert len(made.refused) == 2


ATTEMPTS = st.lists(
    st.builds(
        attempt,
        st.uuids().map(str),
        model=st.sampled_from(["m", "n", "n [max]"]),
        effort=st.sampled_from([None, "max"]),
        problem=st.sampled_from(["p", "q", "r"]),
        status=st.sampled_from(Status),
        score=st.none() | st.floats(0, 2),
        problem_hash=st.sampled_from([None, "h", "k"]),
        hardware=st.sampled_from([None, "gpu", "cpu"]),
        budget=st.sampled_from([None, 60.0, 90]),
        started=st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=12,
)
CONFIGS = st.builds(
    lambda deck, hardware, represents: config(*deck, hardware=hardware, represents=represents),
    st.lists(st.sampled_from(["p", "q", "s"]), max_size=3),
    st.sampled_from([None, "gpu"]),
    st.sampled_from(Represents),
)


@given(ATTEMPTS, CONFIGS, st.dictionaries(st.sampled_from(["p", "q"]), st.just("k")))
@settings(deadline=None)
def test_every_run_is_in_one_cell_or_refused(
    attempts: list[Attempt], rule: BoardConfig, present: dict[str, str]
) -> None:
    made = board(rule, attempts, problem_hashes=present)
    placed = [held.run.id for _, _, cell in made.cells for held in cell.attempts]
    refused = [refusal.run_id for refusal in made.refused]

    assert sorted(placed + refused) == sorted(held.run.id for held in attempts)


@given(ATTEMPTS, CONFIGS)
@settings(deadline=None)
def test_rows_and_columns_add_up_to_the_same(attempts: list[Attempt], rule: BoardConfig) -> None:
    made = board(rule, attempts)
    for lines, size in ((made.rows, len(made.columns)), (made.columns, len(made.rows))):
        assert all(line.tally.attempted + line.tally.missing == size for line in lines)
        assert all(line.tally.passed <= line.tally.attempted for line in lines)
    passed = [sum(line.tally.passed for line in lines) for lines in (made.rows, made.columns)]
    assert passed[0] == passed[1]


@given(ATTEMPTS, CONFIGS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_runs_changes_nothing(
    attempts: list[Attempt], rule: BoardConfig, shuffler: random.Random
) -> None:
    shuffled = shuffler.sample(attempts, len(attempts))
    one, other = board(rule, attempts), board(rule, shuffled)

    assert (one.rows, one.columns, one.hardware) == (other.rows, other.columns, other.hardware)
    assert set(one.refused) == set(other.refused)


def test_each_attempt_has_the_runs_shown_nearest_to_its_cell_beside_it() -> None:
    runs = [
        attempt(f"{model}-{problem}", model=model, problem=problem, score=score)
        for model, problem, score in (("a", "p", 0.9), ("a", "r", 0.9), ("b", "q", 0.5))
    ]
    again = attempt("b-q-2", model="b", problem="q", score=0.7, started=later(9))
    low = [attempt(f"c-{problem}", model="c", problem=problem, score=0.1) for problem in "pqr"]
    held = Site(Config(), (), {}, (board(config("p", "q", "r"), [*runs, again, *low]),), ())

    assert held.neighbours == {
        "c-p": Neighbours(right="c-q", down="a-p"),
        "c-q": Neighbours(left="c-p", right="c-r", down="b-q"),
        "c-r": Neighbours(left="c-q", down="a-r"),
        "a-p": Neighbours(right="a-r", up="c-p"),
        "a-r": Neighbours(left="a-p", up="c-r"),
        "b-q": Neighbours(up="c-q"),
        "b-q-2": Neighbours(up="c-q"),
    }


def test_cells_that_are_what_they_were_are_not_compared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = [attempt("a", score=0.5), attempt("b", model="other", score=0.7)]
    first, known = KnownScores(), KnownScores()
    made = board(config("p"), attempts, known=first)
    better = [
        attempts[0],
        structs.replace(attempts[1], metrics=replace(attempts[1].metrics, peak_fraction=0.1)),
    ]
    again = board(config("p"), better, known=KnownScores(first.asked))
    lines: list[boards.Line] = []

    def compared(new: Sequence[boards.Line]) -> list[int]:
        lines.extend(new)
        return [0 for _ in new]

    monkeypatch.setattr(boards, "sums_of", compared)
    monkeypatch.setattr(boards, "best_of", compared)

    assert board(config("p"), attempts, known=KnownScores(first.asked)) == made
    assert lines == []
    board(config("p"), better, known=KnownScores(first.asked))
    assert lines == [[0.1], [0.5, 0.1]]
    monkeypatch.undo()
    assert again == board(config("p"), better, known=known)


def test_pandas_and_few_figures_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    figures = [None, math.nan, math.inf, -math.inf, 0.0, 0.1, 0.2, 0.30000000000000004, 1e300]
    some = [[draw.choice(figures) for _ in range(draw.randrange(1, 6))] for _ in range(60)]
    several: Sequence[Sequence[boards.Line]] = (some, [[None], [math.nan, 0.5, 1e300, -1e300]])
    few = [(boards.sums_of(lines), boards.best_of(lines)) for lines in several]
    monkeypatch.setattr(boards, "FEW", 0)

    # Billionths: no figure counts nothing, and damage no more than a million.
    assert few[1] == ([0, 500_000_000], [-1, 2])
    assert [(boards.sums_of(lines), boards.best_of(lines)) for lines in several] == few


def test_who_shows_the_highest_score_leads_and_where_none_has_one_who_passed_the_most() -> None:
    hack = replace(CLEAN, verdict=Verdict.REWARD_HACK)
    scored = [
        attempt("a", model="a", score=0.5), attempt("b", model="b", score=0.5),
        attempt("c", model="c", problem="q", score=0.4),
        attempt("d", model="d", problem="q", score=0.9, audit=hack),
    ]  # fmt: skip
    passed = [
        attempt("a", model="a"), attempt("b", model="b"), attempt("c", model="b", problem="q")
    ]  # fmt: skip
    failed = [attempt("a", status=Status.WRONG)]
    led = [[c.model for c in board(config(), some).leaders] for some in (scored, passed, failed)]

    assert led == [["a", "b"], ["b"], []]


def test_a_time_stands_for_a_score_only_of_what_passed_without_one() -> None:
    told = [
        structs.replace(one, metrics=replace(one.metrics, ms=2.0))
        for one in (
            attempt("a"), attempt("b", score=0.5), attempt("c", status=Status.WRONG)
        )
    ]  # fmt: skip

    assert [one.unscored_ms for one in told] == [2.0, None, None]
    assert [board(config(), [one]).timed for one in told] == [True, False, False]
