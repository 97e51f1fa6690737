"""Boards of many problems: decks in groups, and ranks where there are times and no scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from msgspec import structs

from kbsite.boards import board
from kbsite.feeds.leaderboard import listed_board
from kbsite.model.audit import Verdict
from kbsite.model.board import Attempt, Board, Group
from kbsite.model.config import BoardConfig, DeckGroup
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.status import Status
from kbsite.pages.board_choices import columns
from kbsite.pages.home import audited_in_short
from kbsite.standings import standings
from tests.pages.test_board_verdicts import HOSTILE, audit, cell_of, having, page_of, said, site_of
from tests.test_boards import attempt, row_of

EASY = DeckGroup(title="Easy", problems=("a1", "a2", "a3"))
HARD = DeckGroup(title="Hard", problems=("b1", "b2"))


def config(*groups: DeckGroup) -> BoardConfig:
    return BoardConfig(id="b", title="B", metric="problems_passed", groups=groups)


def timed(run_id: str, model: str, problem: str, ms: float, **about: Any) -> Attempt:
    """A run that passed with a time and no score."""
    made = attempt(run_id, model=model, problem=problem, **about)
    return structs.replace(made, metrics=replace(made.metrics, ms=ms))


def failed(run_id: str, model: str, problem: str) -> Attempt:
    return attempt(run_id, model=model, problem=problem, status=Status.WRONG)


def eager(problem: str, ms: float, share: float | None = None) -> Floor:
    return Floor(kind=FloorKind.EAGER, problem=problem, ms=ms, peak_fraction=share)


def two_contenders(floors: Sequence[Floor] = ()) -> Board:
    """The quick one passes one problem at once, the steady one three problems slowly."""
    runs = [
        timed("q-a1", "quick", "a1", 0.001), failed("q-a2", "quick", "a2"),
        failed("q-b1", "quick", "b1"), timed("s-a1", "steady", "a1", 5.0),
        timed("s-a3", "steady", "a3", 5.0), timed("s-b2", "steady", "b2", 5.0),
    ]  # fmt: skip
    return board(config(EASY, HARD), runs, floors)


# Groups.


def test_the_deck_of_groups_is_that_of_all_of_them_in_order() -> None:
    made = two_contenders()

    assert [column.problem for column in made.columns] == ["a1", "a2", "a3", "b1", "b2"]
    assert made.groups == (Group("Easy", 0, 3), Group("Hard", 3, 5))
    steady, quick = made.rows
    assert [steady.passed_of(group) for group in made.groups] == [2, 1]
    assert [quick.passed_of(group) for group in made.groups] == [1, 0]


def test_a_run_of_a_problem_that_no_group_names_is_refused() -> None:
    made = board(config(EASY), [timed("x", "m", "b1", 1.0)])

    assert [refusal.run_id for refusal in made.refused] == ["x"]


def test_a_problem_of_two_groups_stands_once_and_an_empty_group_nowhere() -> None:
    again = DeckGroup(title="Again", problems=("a3", "c1"))
    nothing = DeckGroup(title="Nothing", problems=())
    made = board(config(EASY, nothing, again), [])

    assert [column.problem for column in made.columns] == ["a1", "a2", "a3", "c1"]
    assert made.groups == (Group("Easy", 0, 3), Group("Again", 3, 4))


def test_a_pass_that_a_verdict_takes_out_is_none_of_its_group() -> None:
    hacked = timed("x", "m", "a1", 1.0, audit=audit(Verdict.REWARD_HACK))
    made = board(config(EASY), [hacked, timed("y", "m", "a2", 1.0)])

    assert [made.rows[0].passed_of(group) for group in made.groups] == [1]


def test_leaderboard_json_says_which_group_a_problem_is_of() -> None:
    made = two_contenders()
    listed = listed_board(made, (), str, str, "b/index.html", standings(made))

    assert [problem.group for problem in listed.problems] == ["Easy"] * 3 + ["Hard"] * 2


# The page.


def _width(row: Element) -> int:
    cells = [cell for cell in row if cell.tag in ("td", "th")]
    return sum(int(cell.get("colspan") or 1) for cell in cells)


def test_groups_are_heads_of_their_columns_and_every_row_fits_them() -> None:
    hacked = timed("x", "m", "a1", 1.0, audit=audit(Verdict.REWARD_HACK))
    runs = [hacked, timed("y", "m", "a2", 1.0), failed("z", "n", "b1")]
    made = board(config(EASY, HARD), runs, [eager("a1", 2.0)])
    page = page_of(site_of(boards=[made]))
    [grid] = having(page, "table", "grid")
    spans = [int(column.get("span") or 1) for column in grid.iter("colgroup")]
    groups, names = next(grid.iter("thead"))

    assert spans == [1, 3, 3, 2, 4]
    assert [_width(row) for row in grid.iter("tr")] == [13] * len(list(grid.iter("tr")))
    heads = [(said(cell), cell.get("scope"), cell.get("colspan")) for cell in groups.iter("th")]
    assert heads == [("Easy", "colgroup", "3"), ("Hard", "colgroup", "2")]
    assert [said(cell) for cell in names] == columns(made)
    assert columns(made)[:4] == ["contender", "all passed", "Easy passed", "Hard passed"]


def test_each_contender_is_told_with_what_it_passed_of_each_group() -> None:
    page = page_of(site_of(boards=[two_contenders()]))
    told = [
        {cell.get("data-problem"): said(cell) for cell in body.iter("td")}
        for body in having(page, "tbody", "contenders")
    ]

    assert [(one["all passed"], one["Easy passed"], one["Hard passed"]) for one in told] == [
        ("3/5", "2/3", "1/2"), ("1/5", "1/3", "0/2"),
    ]  # fmt: skip
    assert [cell.get("data-group") for cell in page.iter("td") if cell.get("data-group")] == (
        # Two contenders, what all of them attempted, passed and missed, and comparisons.
        ["Easy", "Hard"] * 6
    )


def test_a_board_without_groups_has_neither_heads_nor_counts_of_them() -> None:
    made = board(BoardConfig(id="b", title="B"), [timed("x", "m", "a1", 1.0)])
    page = page_of(site_of(boards=[made]))
    [grid] = having(page, "table", "grid")

    assert list(grid.iter("colgroup")) == []
    assert len(next(grid.iter("thead"))) == 1
    assert columns(made) == ["contender", "a1", "attempted", "passed", "missing", "group"]


def test_a_title_is_nobodys_markup() -> None:
    made = board(config(DeckGroup(title=HOSTILE, problems=("a1",))), [timed("x", "m", "a1", 1.0)])
    page = page_of(site_of(boards=[made]))
    [groups] = having(page, "tr", "groups")

    assert [said(script) for script in page.iter("script") if said(script)] == []
    assert "<script>alert(1)</script>" in said(groups)


# Times in place of scores.


def test_without_scores_problems_passed_rank_and_times_do_not() -> None:
    made = two_contenders()
    steady, quick = standings(made)

    assert [row.contender.model for row in made.rows] == ["steady", "quick"]
    assert (steady.mean, quick.mean) == pytest.approx((0.6, 0.2))


def test_who_passes_many_more_problems_is_told_apart_from_who_passes_few() -> None:
    deck = DeckGroup(title="All", problems=tuple(f"p{n:02}" for n in range(20)))
    runs = [timed(f"s{n}", "strong", problem, 9.0) for n, problem in enumerate(deck.problems)]
    runs += [failed(f"w{n}", "weak", problem) for n, problem in enumerate(deck.problems)]
    strong, weak = standings(board(config(deck), runs))

    assert (strong.letters, weak.letters) == ("a", "b")


def test_one_score_on_a_board_lets_scores_rank_as_ever() -> None:
    runs = [
        attempt("x", model="scored", problem="a1", score=0.5),
        timed("y", "timed", "a1", 0.1), timed("z", "timed", "a2", 0.1),
    ]  # fmt: skip
    made = board(config(EASY), runs)

    assert made.scored
    assert [(one.contender.model, one.mean) for one in standings(made)] == [
        ("timed", 0), ("scored", pytest.approx(0.5 / 3)),
    ]  # fmt: skip


def test_the_order_of_the_rows_is_called_what_it_is() -> None:
    """A mean of 0 may stand first: no list that begins so is in the order of the ranks."""
    runs = [
        attempt("x", model="scored", problem="a1", score=0.5),
        timed("y", "timed", "a1", 0.1), timed("z", "timed", "a2", 0.1),
    ]  # fmt: skip
    asked = ("passed, then by score", "passed")
    for made, wanted in zip((board(config(EASY), runs), two_contenders()), asked, strict=True):
        page = page_of(site_of(boards=[made]))
        (sort,) = [node for node in page.iter("select") if node.get("name") == "sort"]
        assert said(next(sort.iter("option"))) == wanted


def test_a_pass_without_a_score_shows_its_time() -> None:
    page = page_of(site_of(boards=[two_contenders()]))

    assert said(cell_of(page, "s-a1")) == "5.00 ms"
    assert said(cell_of(page, "q-a2")).endswith("wrong")
    text = said(next(page.iter("main")))
    assert "no score" in text
    assert "shares of problems passed" in text
    assert "mean score" not in text


def test_a_score_is_shown_before_its_time() -> None:
    scored = attempt("x", model="m", problem="a1", score=0.5)
    scored = structs.replace(scored, metrics=replace(scored.metrics, ms=3.0))
    page = page_of(site_of(boards=[board(config(EASY), [scored])]))

    assert said(cell_of(page, "x")).startswith(".500")
    assert "mean score" in said(next(page.iter("main")))


@pytest.mark.parametrize(
    ("floor", "below"),
    [
        (eager("a1", 4.0), True),
        (eager("a1", 6.0), False),
        # Neither a share nor a time of another kind says anything of it.
        (eager("a1", 4.0, share=0.9), False),
        (eager("a2", 4.0), False),
    ],
)
def test_slower_than_the_eager_reference_is_told_by_times_where_no_score_is(
    floor: Floor, below: bool
) -> None:
    made = two_contenders([floor])

    cell = row_of(made, "steady").cells[0]
    assert cell is not None
    assert cell.below_floor is below


def test_ceilings_that_nothing_comes_near_are_not_drawn() -> None:
    page = page_of(site_of(boards=[two_contenders([eager("a1", 4.0)])]))
    text = said(next(page.iter("main")))

    assert "how near the times are to a ceiling is not known" in text
    assert "Scores between floor and ceiling" not in text


@pytest.mark.parametrize(("origin", "told"), [("a table", True), (None, False)])
def test_the_card_of_a_board_says_that_its_figures_are_imported(
    origin: str | None, told: bool
) -> None:
    runs = [timed("x", "m", "a1", 1.0), timed("y", "m", "a2", 1.0)]
    runs = [
        structs.replace(run, metrics=replace(run.metrics, origin=origin or number))
        for run, number in zip(runs, ("a table", None), strict=True)
    ]
    made = board(config(EASY), runs)

    assert ("figures imported" in audited_in_short(site_of(boards=[made]), made)) is told
