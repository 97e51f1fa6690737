"""Charts say what the board says, in drawings that hold nothing but shapes and words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kbsite.boards import board
from kbsite.charts.board import SERIES, BoardChart, Entry, Measure, peaks, scatter, spent
from kbsite.charts.board_drawing import LETTER, RIGHT, WIDTH, clipped, ticks, x_axis
from kbsite.charts.board_ends import ends
from kbsite.model.board import Attempt, Board
from kbsite.model.config import Represents
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.price import PriceTable
from kbsite.model.status import EndReason, Status
from kbsite.model.usage import Usage
from kbsite.pages import facts
from kbsite.pages.board_figures import MEASURES, cost_measure
from tests.test_boards import attempt, config
from tests.test_ranking_and_audits import HACK

STATIC = Path(__file__).parents[2] / "static"
CSS = (STATIC / "board.css").read_text("utf-8")
TIME, TOKENS = MEASURES
COST = cost_measure(PriceTable())
HOSTILE = "<script>alert(1)</script>\x00\u202e\"'&amp;{{7*7}}"


def took(
    held: Attempt,
    *,
    seconds: float | None = None,
    tokens: int | None = None,
    cost: float | None = None,
    end: EndReason = EndReason.FINISHED,
) -> Attempt:
    usage = Usage(output=tokens)
    return structs.replace(
        held,
        run=replace(held.run, seconds=seconds, usage=usage, cost_usd=cost, end_reason=end),
    )


def all_of(made: Board) -> list[BoardChart]:
    measures = (TIME, TOKENS, COST)
    scatters = [scatter(made, measure, facts.score) for measure in measures]
    return [peaks(made, facts.score), *scatters, spent(made, measures, facts.score), ends(made)]


def drawn(chart: BoardChart) -> Xml.Element:
    assert chart.drawing is not None
    return Xml.fromstring(str(chart.drawing))


def shapes(chart: BoardChart, name: str) -> list[Xml.Element]:
    return [node for node in drawn(chart).iter() if node.get("class") == name]


def points(chart: BoardChart) -> list[str]:
    """What each point of a drawing is called."""
    return [node[0].text or "" for node in drawn(chart).iter("path") if len(node)]


def texts(chart: BoardChart) -> list[str]:
    return [node.text or "" for node in drawn(chart).iter("text")]


def table(chart: BoardChart) -> list[list[str]]:
    return [[entry.text for entry in row] for row in chart.rows]


def floor(kind: FloorKind, share: float | None, problem: str = "p") -> Floor:
    return Floor(kind=kind, problem=problem, peak_fraction=share, ms=1.0)


# Ceilings.


def test_a_bar_goes_from_the_eager_floor_to_the_ceiling() -> None:
    floors = [floor(FloorKind.EAGER, 0.25), floor(FloorKind.COMPILED, 0.5)]
    made = peaks(board(config("p"), [attempt("a", score=0.75)], floors), facts.score)
    bar, mark = shapes(made, "bc-span")[-1], shapes(made, "bc-compiled")[-1]
    [best] = shapes(made, "bc-best")[1:]

    assert (float(bar.get("x", "")), float(bar.get("width", ""))) == (111, 297)
    assert float(mark.get("x", "")) == 209
    assert best.get("transform", "").startswith("translate(309 ")
    assert "best .750" in texts(made)
    assert table(made) == [["p", "–", ".500", ".250", ".750", "claude · m", "1"]]
    assert made.rows[0][4] == Entry(".750", "a")


def test_every_scored_attempt_is_a_point_and_the_rest_is_counted() -> None:
    attempts = [
        attempt("a", score=0.2), attempt("b", score=0.4), attempt("c", model="n", score=0.3),
        attempt("d", model="n", problem="q"), attempt("e", model="o", status=Status.WRONG),
    ]  # fmt: skip
    made = peaks(board(config("p", "q"), attempts), facts.score)

    assert sorted(points(made)) == [
        "claude · m, p: .200", "claude · m, p: .400", "claude · n, p: .300"
    ]  # fmt: skip
    assert "2 of 5 runs are left out" in made.note
    assert table(made)[1] == ["q", "–", "–", "–", "–", "–", "0"]
    assert "no score" in texts(made)


@pytest.mark.parametrize(("rule", "best"), [(Represents.FIRST, ".200"), (Represents.BEST, ".400")])
def test_the_best_is_the_board_s_in_the_drawing_and_in_its_table(
    rule: Represents, best: str
) -> None:
    attempts = [attempt("a", score=0.2), attempt("b", score=0.4)]
    made = peaks(board(config("p", represents=rule), attempts), facts.score)
    [mark] = [node for node in shapes(made, "bc-best") if len(node)]

    assert f"best {best}" in texts(made)
    assert table(made)[0][4] == best
    assert (mark[0].text or "").endswith(f": {best}")
    assert ("does not stand for its cell" in made.note) is (rule is Represents.FIRST)


def test_without_an_eager_floor_there_is_no_bar() -> None:
    floors = [floor(FloorKind.EAGER, None), floor(FloorKind.LIBRARY, 0.5)]
    made = peaks(board(config("p"), [], floors), facts.score)

    assert len(shapes(made, "bc-span")) == 1  # the legend's
    assert len(shapes(made, "bc-library")) == 2


def test_a_score_above_the_ceiling_stays_in_the_picture() -> None:
    made = peaks(board(config("p"), [attempt("a", score=2.5)]), facts.score)
    [best] = shapes(made, "bc-best")[1:]

    assert best.get("transform", "").startswith(f"translate({RIGHT} ")


def test_a_floor_above_the_ceiling_stays_in_the_picture() -> None:
    made = peaks(board(config("p"), [], [floor(FloorKind.LIBRARY, 1.1)]), facts.score)
    mark = shapes(made, "bc-library")[-1]

    assert float(mark.get("x", "")) == RIGHT - 1


# Points.


def test_a_point_needs_a_score_and_what_it_is_held_against() -> None:
    attempts = [
        took(attempt("a", score=0.5), seconds=600, tokens=100),
        took(attempt("b", model="n", score=0.2), seconds=1200),
        took(attempt("c", model="o", status=Status.WRONG), seconds=10, tokens=10, cost=1.0),
    ]
    made = board(config("p"), attempts)
    time, tokens, cost = (scatter(made, measure, facts.score) for measure in (TIME, TOKENS, COST))

    assert points(time) == ["claude · m, p: .500, 10:00", "claude · n, p: .200, 20:00"]
    assert points(tokens) == ["claude · m, p: .500, 100"]
    assert "1 of 3 runs is left out: it has no score or no time" in time.note
    assert "2 of 3 runs are left out" in tokens.note
    assert cost.drawing is None
    assert cost.note == "No run has both a score and its cost on record."


def test_one_table_has_all_that_runs_took_and_nothing_that_no_run_tells() -> None:
    attempts = [
        took(attempt("a", score=0.5), seconds=600, tokens=100),
        took(attempt("b", model="n", score=0.2), seconds=1200),
        took(attempt("c", model="o", status=Status.WRONG), seconds=10, tokens=10, cost=1.0),
    ]
    made = spent(board(config("p"), attempts), (TIME, TOKENS, COST), facts.score)

    assert made.heads == ("contender", "problem", "score", "time", "output tokens")
    assert table(made) == [
        ["claude · m", "p", ".500", "10:00", "100"], ["claude · n", "p", ".200", "20:00", "–"],
    ]  # fmt: skip
    assert [row[2].run_id for row in made.rows] == ["a", "b"]


def test_points_stand_where_their_numbers_are() -> None:
    attempts = [
        took(attempt("a", score=0.0), cost=0.0),
        took(attempt("b", model="n", score=0.5), cost=5.0),
    ]
    made = scatter(board(config("p"), attempts), COST, facts.score)
    found = [node.get("transform") for node in drawn(made).iter("path") if len(node)]

    assert sorted(map(str, found)) == ["translate(408 50)", "translate(46 250)"]


def test_a_run_that_cost_nothing_is_known_to() -> None:
    free = board(config("p"), [took(attempt("a", score=0.0), cost=0.0)])
    made = spent(free, (COST,), facts.score)

    assert len(points(scatter(free, COST, facts.score))) == 1
    assert table(made) == [["claude · m", "p", ".000", "$0.00"]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e300])
def test_absurd_values_are_left_out(value: float) -> None:
    attempts = [took(attempt("a", score=0.5), seconds=value), attempt("b", model="n", score=value)]
    made = board(config("p"), attempts)

    assert scatter(made, TIME, facts.score).drawing is None
    assert len(points(peaks(made, facts.score))) == 1


@pytest.mark.parametrize(
    ("contenders", "harnesses", "expected"),
    [(SERIES, 1, SERIES), (SERIES + 1, 2, 2), (SERIES + 1, SERIES + 1, 1)],
)
def test_points_are_told_apart_by_as_much_as_there_are_shapes_for(
    contenders: int, harnesses: int, expected: int
) -> None:
    attempts = []
    for number in range(contenders):
        held = took(attempt(f"r{number}", model=f"m{number}", score=0.5), seconds=60)
        run = replace(held.run, harness=f"h{number % harnesses}")
        attempts.append(structs.replace(held, run=run))
    made = scatter(board(config("p"), attempts), TIME, facts.score)
    used = {node.get("class") for node in drawn(made).iter("path") if len(node)}

    assert used == {f"bc-s{number}" for number in range(expected)}
    assert len(points(made)) == contenders


# Ends.


def test_ends_are_counted_over_all_attempts_of_a_contender() -> None:
    attempts = [
        took(attempt("a"), end=EndReason.BUDGET),
        took(attempt("b"), end=EndReason.FINISHED),
        took(attempt("c", problem="q"), end=EndReason.BUDGET),
        took(attempt("d", model="n"), end=EndReason.ERROR),
    ]
    made = ends(board(config(represents=Represents.LATEST), attempts))

    assert made.heads == ("contender", "finished", "budget", "error", "runs")
    assert table(made) == [
        ["claude · m", "1", "2", "0", "3"], ["claude · n", "0", "0", "1", "1"]
    ]  # fmt: skip
    widths = [float(s.get("width", "")) for s in shapes(made, "bc-end-budget")[1:]]
    assert widths == [pytest.approx(396 * 2 / 3 - 1.5)]
    assert [text for text in texts(made) if text.isdigit()] == ["1", "2", "1"]


@pytest.mark.parametrize("reason", EndReason)
def test_every_end_has_its_colour_and_its_words(reason: EndReason) -> None:
    made = ends(board(config("p"), [took(attempt("a"), end=reason)]))
    styles = (Path(__file__).parents[2] / "static" / "board.css").read_text()

    assert len(shapes(made, f"bc-end-{reason.value}")) == 2
    assert any(text.startswith(f"{reason.value.replace('_', ' ')}: ") for text in texts(made))
    assert f".bc-end-{reason.value} {{" in styles


# All of them.


def test_an_empty_board_has_no_drawings() -> None:
    for chart in all_of(board(config(), [])):
        assert chart.drawing is None
        assert not chart.rows
    assert peaks(board(config("p"), []), facts.score).drawing is not None


def test_hostile_names_are_words_and_nothing_else() -> None:
    held = attempt("a", model=HOSTILE, effort=HOSTILE, problem=HOSTILE, score=0.5)
    made = board(config(), [took(held, seconds=60, tokens=5, cost=1.0)])
    drawings = [chart for chart in all_of(made) if chart.drawing is not None]
    assert len(drawings) == 5
    for chart in drawings:
        html = str(chart.drawing)
        assert "<script" not in html
        assert "\u202e" not in html
        assert "\x00" not in html
        assert any("<script>" in text for text in [*texts(chart), *points(chart)])


def test_long_names_are_clipped_in_drawings_and_whole_in_tables() -> None:
    long = "x" * 5000
    held = took(attempt("a", model=long, problem=long, score=0.5), seconds=60, tokens=5, cost=1)
    charts = all_of(board(config(), [held]))
    tables = [table(chart) for chart in charts if chart.rows]
    assert len(tables) == 3
    assert all(len(str(chart.drawing)) < 12_000 for chart in charts)
    assert all(any(long in text for row in rows for text in row) for rows in tables)


def test_what_fits_is_not_clipped() -> None:
    assert clipped("abcdef", 7.25 * 6) == "abcdef"
    assert clipped("abcdef", 7.25 * 5) == "abcd…"
    assert clipped("abcdef", -3) == "…"


ATTEMPTS = st.lists(
    st.builds(
        took,
        st.builds(
            attempt,
            st.uuids().map(str),
            model=st.text(max_size=70),
            problem=st.sampled_from(["p", "q", "\ud800"]),
            score=st.none() | st.floats(),
        ),
        seconds=st.none() | st.floats(),
        tokens=st.none() | st.integers(-5, 10**20),
        cost=st.none() | st.floats(),
        end=st.sampled_from(EndReason),
    ),
    max_size=12,
)


@given(ATTEMPTS)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_no_drawing_leaves_its_picture_or_holds_anything_that_does_something(
    attempts: Sequence[Attempt],
) -> None:
    floors = [floor(kind, 0.1) for kind in FloorKind]
    for chart in all_of(board(config(), attempts, floors)):
        if chart.drawing is None:
            continue
        root = drawn(chart)
        height = float(root.get("viewBox", "").split()[3])
        assert (root.get("role"), root[0].tag, root[0].text) == ("img", "title", chart.title)
        assert {node.tag for node in root.iter()} <= {"svg", "title", "text", "rect", "path"}
        for node in root.iter():
            allowed = {"class", "x", "y", "width", "height", "d", "transform", "role", "viewBox"}
            assert set(node.attrib) <= allowed
            for x, y in re.findall(r"^translate\(([\d.]+) ([\d.]+)\)$", node.get("transform", "")):
                assert 0 <= float(x) <= WIDTH
                assert 0 <= float(y) <= height
            if node.tag == "rect":
                assert 0 <= float(node.get("x", "")) + float(node.get("width", "")) <= WIDTH
        assert all(len(row) == len(chart.heads) for row in chart.rows)


def test_the_same_runs_make_the_same_drawings() -> None:
    attempts = [took(attempt(f"r{n}", problem=f"p{n}", score=n / 9), seconds=n) for n in range(9)]
    made = board(config(), attempts)

    told = [[(one.note, one.drawing, [*one.rows]) for one in all_of(made)] for _ in range(2)]
    assert told[0] == told[1]
    for chart in all_of(made):
        numbers = re.findall(r' (?:x|y|width|height)="([^"]+)"', str(chart.drawing))
        assert all(re.fullmatch(r"\d+(\.\d)?", number) for number in numbers)


@given(st.floats(0, 1e15), st.sampled_from([(TIME.steps, TIME.base), ((1, 2, 5), 10)]))
def test_ticks_are_few_even_and_reach_the_largest(
    largest: float, rule: tuple[tuple[int, ...], int]
) -> None:
    made = ticks(largest, *rule)

    assert made[0] == 0
    assert 2 <= len(made) <= 7
    assert made[-1] >= largest * (1 - 1e-6)
    assert made[1] * (len(made) - 1) == pytest.approx(made[-1])


@pytest.mark.parametrize(
    ("largest", "measure", "expected"),
    [(2700, TIME, [0, 600, 1200, 1800, 2400, 3000]), (37, TOKENS, [0, 10, 20, 30, 40]),
     (7200, TIME, [0, 1800, 3600, 5400, 7200]), (0, COST, [0, 0.2, 0.4, 0.6, 0.8, 1])],
)  # fmt: skip
def test_ticks_are_round(largest: float, measure: Measure, expected: list[float]) -> None:
    assert ticks(largest, measure.steps, measure.base) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("largest", "measure", "expected"),
    [
        (9.5, TIME, ["00:00", "00:02", "00:04", "00:06", "00:08", "00:10"]),
        (2.0, TIME, ["0.00 s", "0.50 s", "1.00 s", "1.50 s", "2.00 s"]),
        (3, TOKENS, ["0", "1", "2", "3"]), (0, TOKENS, ["0", ".2", ".4", ".6", ".8", "1"]),
        (0.00012, COST, ["$0.00", "$0.000050", "$0.00010", "$0.00015"]),
    ],
)  # fmt: skip
def test_no_two_numbers_of_an_axis_read_alike(
    largest: float, measure: Measure, expected: list[str]
) -> None:
    held = took(attempt("a", score=0.0012), seconds=largest, tokens=int(largest), cost=largest)
    told = texts(scatter(board(config("p"), [held]), measure, facts.score))

    assert told[1:] == ["0", ".0005", ".001", ".0015", *expected]


# The style sheet.


def test_every_class_of_a_drawing_has_a_rule() -> None:
    attempts = [
        took(attempt(f"r{n}", model=f"m{n % SERIES}", score=n / 9), seconds=9, end=end)
        for n, end in enumerate([*EndReason] * 2)
    ]
    floors = [floor(kind, 0.1) for kind in FloorKind]
    html = "".join(str(chart.drawing) for chart in all_of(board(config(), attempts, floors)))
    used = {name for names in re.findall(r'class="([^"]*)"', html) for name in names.split()}

    assert used <= set(re.findall(r"\.([\w-]+)", CSS))


def test_the_charts_have_no_colours_but_the_theme_s() -> None:
    theme = (STATIC / "kbsite.css").read_text("utf-8")
    used = set(re.findall(r"var\(--([a-z]+)\)", CSS))

    assert used <= set(re.findall(r"--([a-z]+):", theme))
    values = re.findall(r"(?:fill|stroke|color|background):\s*([^;]+);", CSS)
    assert all(re.fullmatch(r"var\(--[a-z]+\)|currentcolor", value) for value in values)


# What a verdict takes out.


def _one_struck() -> Board:
    struck = took(attempt("a", score=0.9, audit=HACK), seconds=60)
    kept = took(attempt("b", model="n", score=0.4), seconds=120)
    blank = took(attempt("c", model="o", status=Status.WRONG), seconds=60)
    return board(config(), [struck, kept, blank])


def test_a_struck_run_is_neither_the_best_nor_drawn_and_is_counted() -> None:
    chart = peaks(_one_struck(), facts.score)

    told = "".join(drawn(chart).itertext())

    assert "claude · n, p: .400" in told
    assert "claude · m" not in told
    assert [entry.text for entry in chart.rows[0]][-3:] == [".400", "claude · n", "1"]
    assert "1 of 3 runs is left out: it has no score on record." in chart.note
    assert "1 of 3 runs is left out: it is taken out by its verdict." in chart.note


def test_a_struck_run_is_no_point_of_a_scatter() -> None:
    chart = scatter(_one_struck(), TIME, facts.score)

    assert points(chart) == ["claude · n, p: .400, 02:00"]
    assert [row[0].text for row in spent(_one_struck(), (TIME,), facts.score).rows] == [
        "claude · n"
    ]
    assert "1 of 3 runs is left out: it has no score or no time on record." in chart.note
    assert chart.note.endswith("1 of 3 runs is left out: it is taken out by its verdict.")


def test_a_board_without_struck_runs_says_nothing_of_them() -> None:
    made = board(config(), [attempt("b", score=0.4)])

    assert all("verdict" not in chart.note for chart in all_of(made))


@pytest.mark.parametrize("top", [1.0, 5.0, 100_000.0, 1e9, 1e15])
def test_no_number_below_an_axis_runs_into_the_next(top: float) -> None:
    marked = ticks(top, (1, 2, 5), 10)
    drawn = "".join(x_axis(0, marked[-1], marked, lambda value: f"{value:,.0f}", 46))
    until = 0.0
    for name, x, text in re.findall(r'<text class="([^"]*)" x="([^"]*)" y="18">([^<]*)<', drawn):
        width = len(text) * LETTER
        starts = float(x) - width * (1 if "bc-end" in name else 0.5 if "bc-middle" in name else 0)
        assert starts - until >= LETTER - 0.1
        until = starts + width
