from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec.structs import replace

from kbsite.charts import Chart, context_chart, score_chart, work_chart
from kbsite.charts.drawing import (
    LEFT,
    RIGHT,
    ROWS,
    WIDTH,
    Scale,
    amount,
    clock,
    digits,
    percentage,
    share,
    steps,
    steps_of_time,
    table,
)
from kbsite.model.event import Edit, ToolKind, Topic
from kbsite.model.trajectory import Point, PointKind, Trajectory
from kbsite.model.usage import Usage
from kbsite.text import plain
from tests.trajectories.sessions import Work, graded, session

THEME, _, CSS = (
    (Path(__file__).parents[2] / "static" / "kbsite.css").read_text("utf-8").partition("/* Charts:")
)
HOSTILE = "FAIL: </title><script>alert(1)</script>\u202e\0\ud800\"' onload=x"


def href(anchor: str) -> str:
    return f"#{anchor}"


def charts(found: Trajectory) -> Iterator[Chart]:
    for chart in (
        score_chart(found, href),
        context_chart(found.signs, href),
        work_chart(found.signs),
    ):
        if chart is not None:
            yield chart


def parsed(markup: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(markup))


def score(found: Trajectory) -> Chart:
    chart = score_chart(found, href)
    assert chart is not None
    return chart


def shapes(chart: Chart, style: str) -> list[ElementTree.Element]:
    return [e for e in parsed(chart.svg).iter() if style in e.get("class", "").split()]


def rows(chart: Chart) -> list[list[str]]:
    body = parsed(chart.table).find("tbody")
    assert body is not None
    return [["".join(cell.itertext()) for cell in row] for row in body]


def test_every_chart_is_named_described_and_has_a_table() -> None:
    found = list(charts(session().trajectory(graded(0.35), budget=120)))
    assert len(found) == 3
    for chart in found:
        svg = parsed(chart.svg)
        assert svg.get("role") == "img"
        assert [child.tag for child in svg][:2] == ["title", "desc"]
        assert svg[0].text
        assert svg[1].text
        caption = parsed(chart.table).find("caption")
        assert caption is not None
        assert caption.text == svg[0].text
        assert rows(chart)


def test_no_chart_has_a_script_a_style_or_something_to_fetch() -> None:
    for chart in charts(session().trajectory(graded(0.35), budget=120)):
        for markup in (chart.svg, chart.table):
            for part in parsed(markup).iter():
                assert part.tag not in ("script", "style", "image", "use", "foreignObject")
                assert not {n for n in part.attrib if n == "style" or n.startswith("on")}
                assert part.tag == "a" or part.get("href") is None
    assert "href" not in score(session().trajectory()).svg


def test_the_same_numbers_make_the_same_bytes() -> None:
    one, other = (list(charts(session().trajectory(graded(0.3)))) for _ in range(2))
    assert one == other
    assert not re.search(r"\d\.\d{2}", "".join(re.findall(r' d="[^"]*"', one[0].svg)))


def test_every_class_has_a_rule_and_every_colour_is_the_themes() -> None:
    used = {"work-" + kind.value for kind in ToolKind} | {"work-model", "work-idle"}
    work = session().notice(Topic.COMPACTION).say()
    for found in (work.trajectory(graded(0.3), budget=99), work.trajectory()):
        for chart in charts(found):
            for markup in (chart.svg, chart.table):
                used |= {n for e in parsed(markup).iter() for n in e.get("class", "").split()}
    assert used <= set(re.findall(r"\.([\w-]+)", CSS))
    assert set(re.findall(r"var\(--([a-z]+)\)", CSS)) <= set(re.findall(r"--([a-z]+):", THEME))
    assert not re.search(r"#[0-9a-f]{3,8}\b|url\(|@import", CSS)


def test_the_score_chart_shows_each_kind_of_point() -> None:
    chart = score(session().trajectory(graded(0.35), budget=120))
    counts = {name: len(shapes(chart, f"chart-{name}")) for name in (
        "dot", "pass", "fail", "edit", "budget", "grade", "graded", "best", "end")}  # fmt: skip
    assert counts == {
        "dot": 2, "pass": 1, "fail": 1, "edit": 3, "budget": 1, "grade": 1, "graded": 1, "best": 1,
        "end": 0,
    }  # fmt: skip
    titles = [e.findtext("title") for e in shapes(chart, "chart-dot")]
    assert titles == ["0:55 peak_fraction: 0.3842", "1:10 peak_fraction: 0.3511"]
    assert [e.get("data-anchor") for e in shapes(chart, "chart-pass")] == ["L14"]


def _graded_at(chart: Chart) -> float:
    (mark,) = shapes(chart, "chart-graded")
    return float(str(mark.get("d")).split()[0][1:])


def test_a_budget_that_was_hardly_used_does_not_press_the_session_together() -> None:
    near, far = (score(session().trajectory(graded(0.35), budget=n)) for n in (200, 45 * 60))
    assert len(shapes(near, "chart-budget")) == 1
    assert shapes(far, "chart-budget") == []
    assert "budget: 45:00 →" in "".join(parsed(far.svg).itertext())
    assert "The budget of 45:00 ends far to the right of it." in far.svg
    first, last = (_graded_at(chart) for chart in (near, far))
    assert last > first > 0


def test_the_tokens_climb_to_what_was_used_and_end_in_the_cost() -> None:
    chart = score_chart(session().trajectory(graded(0.35), budget=120), href, cost="$4.10")
    assert chart is not None
    (curve,) = shapes(chart, "chart-tokens")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", curve.get("d", ""))]

    assert heights == sorted(heights, reverse=True)
    assert heights[0] - heights[-1] == 32
    assert "18.6k, $4.10" in ["".join(e.itertext()) for e in shapes(chart, "chart-label")]
    assert "tell of 18.6k tokens." in str(parsed(chart.svg)[1].text)


def test_tokens_that_no_message_tells_of_are_not_said_to_be_none() -> None:
    """A provider may tell what few of its answers took, and its CLI what all of them did."""
    found = session().trajectory(graded(0.35))
    found = replace(found, signs=replace(found.signs, usage=Usage(input=2_480_000, output=22_000)))
    chart = score_chart(found, href, cost="$4.10")
    assert chart is not None

    assert "18.6k of 2.5M, $4.10" in ["".join(e.itertext()) for e in shapes(chart, "chart-label")]
    assert "tell of 18.6k of 2.5M tokens." in str(parsed(chart.svg)[1].text)


def test_without_tokens_there_is_no_lane_for_them() -> None:
    chart = score(Work().run("bench", "peak_fraction: 0.1", at=(1, 2)).trajectory())

    assert not shapes(chart, "chart-tokens")
    assert float(parsed(chart.svg).get("height", "0")) < 310


def test_the_table_tells_what_was_spent_until_each_point_where_there_are_prices() -> None:
    def so_far(used: Usage) -> str:
        return f"${used.output}"

    found = session().trajectory(graded(0.35))
    chart = score_chart(found, href, so_far=so_far)
    plain = score_chart(found, href)
    assert chart is not None
    assert plain is not None

    assert [row[-1] for row in rows(chart)] == [f"${point.used.output}" for point in found.points]
    assert "cost of these tokens, estimated" in chart.table
    assert "cost of these" not in plain.table


def test_the_table_leads_to_the_solution_as_it_stood_where_there_is_one() -> None:
    def state(number: int | None) -> str | None:
        return None if number is None else f"page#state-{number + 1}"

    work = Work().run("check", "PASS", at=(1, 2))
    work.edit(Edit("/workspace/solution.py", None, "a"), at=5).run("check", "PASS", at=(7, 8))
    chart = score_chart(work.trajectory(), href, state)
    assert chart is not None

    assert [row[-1] for row in rows(chart)] == ["", "state 1", "state 1", "state 1"]
    assert 'href="page#state-1"' in chart.table


def test_the_score_table_tells_what_the_picture_shows() -> None:
    told = rows(score(session().trajectory(graded(0.35))))
    assert [row[0] for row in told] == [
        "0:10",
        "0:20",
        "0:30",
        "0:55",
        "0:55",
        "1:10",
        "1:10",
        "1:21",
    ]
    assert told[1][2:] == [
        "check ✗", "", "FAIL: shape 0 {'n': 8} seed 42: tolerance exceeded", "L8"
    ]  # fmt: skip
    assert told[4][1:4] == ["15.4k", "benchmark", "0.3842"]
    assert told[-1][2:] == ["end ✓", "0.35", "the session ended; graded: passed", "L23"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9.94, "9.9 s"), (9.96, "0:09"), (754.96, "12:34"), (3599.5, "59:59"), (3600.0, "1:00:00")],
)
def test_a_point_is_told_when_the_rest_of_the_page_tells_it(seconds: float, text: str) -> None:
    chart = score(Work().run("a", "PASS", at=(0, seconds)).trajectory())

    assert rows(chart)[0][0] == text
    (mark,) = shapes(chart, "chart-pass")
    assert str(mark.findtext("title")).startswith(f"{text} ")


def test_the_best_line_never_falls() -> None:
    work = Work()
    for number, peak in enumerate((0.2, 0.1, 0.3, 0.3, 0.05, 0.9)):
        work.run("bench", f"peak_fraction: {peak}", at=(number * 9, number * 9 + 5))
    (best,) = shapes(score(work.trajectory()), "chart-best")
    heights = [float(y) for y in re.findall(r"V([\d.]+)", best.get("d", ""))]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 2


def test_a_score_after_a_check_that_failed_is_marked_and_raises_no_line() -> None:
    work = Work().run("bench", "peak_fraction: 0.2", at=(1, 5))
    for number, peak in enumerate((0.7, 0.9), start=1):
        work.run("both", f"FAIL: no\npeak_fraction: {peak}", at=(number * 900, number * 900 + 5))
    chart = score(work.trajectory())
    (best,) = shapes(chart, "chart-best")
    rejected = [dot for dot in shapes(chart, "chart-dot") if "chart-fail" in dot.get("class", "")]

    assert "V" not in best.get("d", "")
    assert [str(dot.findtext("title")).partition(" ")[2] for dot in rejected] == [
        "peak_fraction: 0.7, after a check that failed",
        "peak_fraction: 0.9, after a check that failed",
    ]
    assert [row[2] for row in rows(chart)] == [
        "benchmark", "check ✗", "benchmark, after a check that failed",
        "check ✗", "benchmark, after a check that failed", "end",
    ]  # fmt: skip
    told = str(parsed(chart.svg).findtext("desc"))
    assert "The best score that the agent saw is 0.2." in told
    assert "Scores after a check that failed, 2 of them, are drawn in red." in told


def test_without_times_the_points_stand_in_their_order_and_no_budget_is_drawn() -> None:
    work = Work(cwd=None).run("a", "FAIL: x").run("b", "PASS")
    chart = score(work.trajectory(budget=60))
    assert shapes(chart, "chart-budget") == []
    assert "tells no times" in str(parsed(chart.svg).findtext("desc"))


def test_a_session_without_scores_has_checks_and_edits_only() -> None:
    chart = score(Work().run("check", "PASS", at=(1, 2)).trajectory())
    assert len(shapes(chart, "chart-pass")) == 1
    assert shapes(chart, "chart-best") == []
    assert len(shapes(chart, "chart-end")) == 1


def test_a_speed_up_is_told_in_the_table_with_its_sign() -> None:
    told = rows(score(Work().run("bench", "speedup: 1.5x", at=(1, 2)).trajectory()))
    assert told[0][3] == "1.5×"


def test_nothing_to_show_is_no_chart() -> None:
    found = Work(cwd=None).say().trajectory(graded(0.5))
    assert list(charts(found)) == []


def test_text_of_a_run_is_escaped_and_visible() -> None:
    work = Work().run("check", HOSTILE, at=(1, 2)).use(5, 1, "m")
    for chart in charts(work.trajectory()):
        assert "<script" not in chart.svg + chart.table
        parsed(chart.svg)
        parsed(chart.table)
    assert str(plain(HOSTILE)) in rows_of(work)


def rows_of(work: Work) -> str:
    return str(score(work.trajectory()).table)


def test_an_address_cannot_leave_its_attribute() -> None:
    chart = score_chart(session().trajectory(), lambda anchor: f'"><b>{anchor}')
    assert chart is not None
    assert "<b>" not in chart.table
    parsed(chart.table)


@pytest.mark.parametrize("make", [score, lambda found: context_chart(found.signs, href)])
def test_many_points_make_a_bounded_picture_and_table(make: Callable[[Trajectory], Chart]) -> None:
    work = Work()
    for number in range(3000):
        output = f"PASS\nFAIL: x\npeak_fraction: 0.{number % 900 + 100}"
        work.run("x", output, at=(number, number + 0.5)).use(number, 1, f"m{number}")
        if number % 10 == 0:
            work.notice(Topic.COMPACTION, at=number)
    chart = make(work.trajectory())
    assert len(list(parsed(chart.svg).iter())) < 2400
    assert len(chart.svg) + len(chart.table) < 300_000
    assert len(rows(chart)) <= ROWS + 1


def test_of_many_benchmarks_in_one_place_the_best_is_drawn() -> None:
    work = Work()
    for number, peak in enumerate((0.2, 0.7, 0.3)):
        work.run("x", f"peak_fraction: {peak}", at=(1000, 1000 + number / 100))
    (dot,) = shapes(score(work.trajectory()), "chart-dot")
    assert "0.7" in str(dot.findtext("title"))


def test_edits_in_a_row_stand_in_one_row_where_there_are_many_points() -> None:
    found = session().trajectory()
    edit = next(p for p in found.points if p.kind is PointKind.EDIT)
    points = (*[edit] * 100, *[p for p in found.points if p.kind is not PointKind.EDIT])
    told = rows(score(replace(found, points=points)))
    assert told[0][4] == "100 changes"
    assert len(told) == 6


def test_the_context_chart_shows_sizes_and_compactions() -> None:
    chart = context_chart(session().trajectory().signs, href)
    assert chart is not None
    assert len(shapes(chart, "chart-compaction")) == 1
    (line,) = shapes(chart, "chart-line")
    assert len(re.findall("[ML]", line.get("d", ""))) == 7
    told = rows(chart)
    assert [row[:2] for row in told][:2] == [["1", "1,000"], ["2", "2,000"]]
    assert [row[3] for row in told] == ["", "", "", "", "", "1", ""]


def test_what_was_compacted_behind_the_last_message_stands_in_the_table_too() -> None:
    work = Work().say().use(10, 1, "a").notice(Topic.COMPACTION).say().use(5, 1, "b")
    work.notice(Topic.COMPACTION).notice(Topic.COMPACTION)
    chart = context_chart(work.trajectory().signs, href)
    assert chart is not None
    assert [row[3] for row in rows(chart)] == ["", "1, 2 after it"]


def test_the_largest_of_many_messages_is_drawn_and_told() -> None:
    work = Work()
    for number in range(2000):
        work.say().use(99_999 if number == 777 else 10, 1, f"m{number}")
    chart = context_chart(work.trajectory().signs, href)
    assert chart is not None
    assert any(row[1] == "99,999" for row in rows(chart))
    drawn = shapes(chart, "chart-line")[0].get("d", "")
    start, ways = drawn.removeprefix("M").split("l")
    (left, top), *moves = zip(*[map(int, f"{start} {ways}".split())] * 2, strict=True)
    heights = list(accumulate((down for _, down in moves), initial=top))
    assert min(heights) < 30
    assert heights.count(max(heights)) > 600
    assert left + sum(across for across, _ in moves) == WIDTH - RIGHT
    assert len(drawn) < 7 * len(heights)


def test_the_bar_of_work_is_as_long_as_the_time() -> None:
    work = Work().say(at=0).run("x", at=(10, 40)).call(ToolKind.READ, {}, at=(41, 51))
    work.notice(Topic.RETRY, at=60)
    chart = work_chart(work.trajectory().signs)
    assert chart is not None
    assert rows(chart) == [
        ["model", "0:11", "18 %", ""],
        ["run", "0:30", "50 %", "1"],
        ["read", "0:10", "17 %", "1"],
        ["idle", "0:09", "15 %", ""],
    ]
    bars = [e for e in shapes(chart, "work") if e.find("title") is not None]
    assert sum(float(e.get("width", "")) for e in bars) == pytest.approx(
        WIDTH - LEFT - RIGHT, abs=0.5
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (7, "0:07"),
        (0.25, "0.2 s"),
        (0.04, "0.04 s"),
        (0.05, "0.05 s"),
        (0.0095, "10 ms"),
        (0.0096, "0.01 s"),
        (0.094, "0.09 s"),
        (0.096, "0.1 s"),
        (9.94, "9.9 s"),
        (9.96, "0:10"),
        (59.96, "1:00"),
        (62, "1:02"),
        (3905, "1:05:05"),
        (59.7, "1:00"),
    ],
)
def test_times_are_told_as_on_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text", "percent"),
    [
        (0.1234, "0.123", "12 %"),
        (0.00000123, "0.00000123", "0.00012 %"),
        (0.9994, "0.999", "99.94 %"),
        (0.9996, "0.9996", "99.96 %"),
        (0.99996, "0.99996", "99.996 %"),
        (1.0, "1.00", "100.0 %"),
        (1.00004, "1.00004", "100.004 %"),
        (1.234, "1.23", "123.4 %"),
        (0.0, "0", "0 %"),
        (1 - 1e-9, "0.999999", "99.9999 %"),
        (1 + 1e-9, "1.000001", "100.0001 %"),
    ],
)
def test_no_share_is_called_whole_that_is_not(value: float, text: str, percent: str) -> None:
    assert (share(value), percentage(value)) == (text, percent)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (950, "950"),
        (12_000, "12k"),
        (1_500_000, "1.5M"),
        (2e9, "2G"),
        (0.25, "0.25"),
        (999.7, "1k"),
        (999_499, "999k"),
        (999_600, "1M"),
        (999_999_999, "1G"),
        (2e12, "2000G"),
    ],
)
def test_amounts_are_told_in_few_letters(count: float, text: str) -> None:
    assert amount(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "0.2000"), (0.19721, "0.1972"), (2, "2.000"), (999.96, "1000"), (9999.6, "10000"),
     (12345.6, "12346"), (123456, "123456"), (0, "0"), (-2.5, "-2.500"), (2.5e-7, "2.500e-07"),
     (float("nan"), "nan"), (float("inf"), "inf")],
)  # fmt: skip
def test_a_figure_keeps_its_digits_where_they_are_zeros(value: float, text: str) -> None:
    assert digits(value) == text


@settings(deadline=None)
@given(st.floats(min_value=0, max_value=1e308))
def test_steps_reach_the_highest_value_and_are_few(high: float) -> None:
    for width, count in (steps(high), steps_of_time(high)):
        assert width > 0
        assert 1 <= count <= 12
        assert width * count >= high * (1 - 1e-6)


@settings(deadline=None)
@given(st.floats(min_value=-1e9, max_value=1e9), st.floats(min_value=0, max_value=1e9))
def test_no_value_stands_beside_its_axis(value: float, high: float) -> None:
    assert 10 <= Scale(high, 10, 50).at(value) <= 50
    assert 10 <= Scale(high, 50, 10).at(value) <= 50


def test_a_long_table_tells_how_much_it_leaves_out() -> None:
    html = table("c", ["n"], [[plain(str(n))] for n in range(100)])
    assert "… 40 more" in html
    assert ">0<" in html
    assert ">99<" in html


NUMBERS = st.none() | st.floats(min_value=0, max_value=1e9)
POINTS = st.builds(
    Point, kind=st.sampled_from(PointKind), anchor=st.text(), at=st.none(), elapsed=NUMBERS,
    tokens=st.none() | st.integers(0, 10**12), passed=st.none() | st.booleans(), score=NUMBERS,
    speedup=NUMBERS, text=st.text(), state=st.none(),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(POINTS, max_size=20), NUMBERS)
def test_no_points_are_refused(points: list[Point], budget: float | None) -> None:
    found = replace(session().trajectory(), points=tuple(points), budget=budget)
    for chart in charts(found):
        parsed(chart.svg)
        parsed(chart.table)


def test_the_table_of_work_has_the_calls_of_all_agents_also_of_kinds_that_took_no_time() -> None:
    work = Work().say(at=0).run("a", at=(1, 3)).call(ToolKind.READ, {}, at=(3, 4), agent="x")
    chart = work_chart(work.run("b", at=(4, 5), agent="x").trajectory().signs)
    assert chart is not None
    assert rows(chart) == [
        ["model", "0:01", "33 %", ""],
        ["run", "0:02", "67 %", "2"],
        ["read", "", "", "1"],
    ]
    assert ">calls of all agents<" in chart.table


def test_of_rows_without_times_there_is_no_bar_of_the_calls_that_tell_how_long_they_took() -> None:
    work = Work(cwd=None).say().call(ToolKind.SEARCH, {}, seconds=0.03).run("an hour's work")
    assert work_chart(work.trajectory().signs) is None
