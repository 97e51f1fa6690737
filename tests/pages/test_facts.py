"""Numbers and times as a reader sees them, the absurd ones that a transcript may hold included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.pages import facts

INF, NAN = float("inf"), float("nan")


def test_a_summary_is_one_plain_line_and_only_its_beginning_where_nobody_would_read_more() -> None:
    longest = "word " * (facts.LONGEST // 5)

    assert facts.in_short("Casts with `tl.dot`,\n**not** once.") == "Casts with tl.dot, not once."
    assert facts.in_short(longest) == longest.strip()
    assert facts.in_short(f"{longest} more") == f"{longest.strip()} …"
    assert len(facts.in_short("x" * 1_000_000)) == facts.LONGEST + 1
    assert facts.in_short("*" * 1_000_000 + "unseen").endswith("…")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (0, ".000"), (0.0004, ".00040"), (0.0005001, ".001"), (0.534, ".534"),
        (0.5346, ".535"), (0.9994, ".999"), (0.9996, ".9996"), (0.99996, ".99996"),
        (1 - 1e-9, ".999999"), (1, "1.000"), (1.25, "1.250"), (-0.0001, "-.00010"),
        (12.3456, "12.346"), (-0.25, "-.250"), (-1.5, "-1.500"), (1e6, "1000000"),
        (999.999, "999.999"), (999.9996, "1000"), (1234.5678, "1235"), (123456.7, "123457"),
        (-1234.5, "-1234"),
        (1e-6, ".0000010"), (6e-7, ".00000060"), (1.4e-9, ".0000000014"),
        (1.4e-10, "1.4e-10"), (1e308, "1e+308"), (INF, "inf"), (NAN, "nan"),
    ],
)  # fmt: skip
def test_a_score_has_three_digits_and_more_where_these_say_nothing_or_all(
    value: float | None, text: str
) -> None:
    assert facts.score(value) == text


@pytest.mark.parametrize(
    ("value", "of", "text"),
    [(0, 0.5, ".000"), (6.6e-5, 0.5, "<.001"), (0.000499, 0.5, "<.001"), (0.00051, 0.5, ".001"),
     (0.02, 0.5, ".020"), (1e-7, 1.2e-6, ".0000001"), (1e-9, 1.2e-6, "<.0000001"),
     (0.02, 0.00014, ".02000"), (0.0003, 0.9996, ".0003"), (1.5, 0.5, "1.500"),
     (0.02, 1234.5, "<1"), (12.4, 1234.5, "12"), (0, 123456.7, "0"), (0.5004, 12.5, ".500"),
     (1e-11, 1.2e-10, "1.0e-11"), (0.02, None, ".020"), (1e300, 0.5, "1e+300"), (INF, 0.5, "inf")],
)  # fmt: skip
def test_a_margin_has_as_many_digits_as_what_it_is_of(
    value: float, of: float | None, text: str
) -> None:
    assert facts.margin(value, of) == text


@pytest.mark.parametrize(
    ("ends", "text"),
    [((0.4, 0.44), ".400 to .440"), ((0.08321, 0.08344), ".0832 to .0834"),
     ((0.083211, 0.083214), ".083211 to .083214"), ((0.5, 0.5), ".500 to .500"),
     ((0.83494, 0.83506), ".8349 to .8351"), ((1.21e-6, 1.24e-6), ".00000121 to .00000124"),
     ((0.9999996, 0.9999998), ".9999996 to .9999998"), ((1.2341, 1.2342), "1.2341 to 1.2342"),
     ((1234.2, 1234.4), "1234.2 to 1234.4"),
     ((0.9996, 1.0), ".9996 to 1.000"), ((1.41e-10, 1.42e-10), "1.4e-10 to 1.4e-10"),
     ((0.5, 0.5 + 1e-16), ".5000000000000000 to .5000000000000001"), ((NAN, NAN), "nan to nan")],
)  # fmt: skip
def test_ends_of_an_interval_that_differ_are_not_written_alike(
    ends: tuple[float, float], text: str
) -> None:
    assert facts.interval(ends) == text


def test_so_are_times_and_none_is_written_with_fewer_digits_than_beside_others() -> None:
    assert facts.interval_ms((0.19718, 0.2)) == "0.1972 to 0.2000"
    assert facts.interval_ms((0.156312, 0.156348)) == "0.15631 to 0.15635"
    assert facts.interval_ms((123456.2, 123456.4)) == "123456.2 to 123456.4"


SESSION = "0f3c21ab-1111-2222-3333-0123456789ab"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("solution.py lines 3 to 4", "solution.py lines 3 to 4"),
        ("transcript/stdout.jsonl line 5", "transcript/stdout.jsonl line 5"),
        (f"transcript/home/.claude/projects/-w/{SESSION}.jsonl line 54",
         "transcript/…/0f3c21ab….jsonl line 54"),
        (f"transcript/home/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{SESSION}.jsonl",
         "transcript/…/rollout-2026-01-02T03-04-05-0f3c21ab….jsonl"),
        ("x" * 99, "x" * 99), ("", ""),
    ],
)  # fmt: skip
def test_a_place_of_a_run_fits_a_line(where: str, told: str) -> None:
    assert facts.short_place(where) == told


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.1, "10 %"), (0.07, "7 %"), (0.125, "12.5 %"), (1, "100 %"), (-0.1, "-10 %")],
)
def test_a_share_is_a_percentage(value: float, text: str) -> None:
    assert facts.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0, "0"), (999, "999"), (1203, "1,203"), (-1203, "-1,203"),
     (31_000_000, "31,000,000")],
)  # fmt: skip
def test_a_count_has_groups_of_three(value: int | None, text: str) -> None:
    assert facts.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"), (0, "0.00 s"), (0.004, "4 ms"), (-1e-3, "-1 ms"),
        (0.005, "5 ms"), (0.0094, "9 ms"), (-0.006, "-6 ms"), (0.0095, "0.01 s"),
        (0.00096, "1 ms"), (4.6e-6, "5 µs"), (0.9e-6, "< 1 µs"), (3.2, "3.20 s"),
        (9.99, "9.99 s"), (9.994, "9.99 s"), (9.999, "00:10"), (10, "00:10"), (59.4, "00:59"),
        (59.6, "01:00"),
        (60, "01:00"), (2698, "44:58"), (3599.4, "59:59"), (3599.6, "1:00:00"), (3723, "1:02:03"),
        (360_000, "100:00:00"), (-0.3, "-0.30 s"), (-9.999, "-00:10"), (-61, "-01:01"),
        (1e15, "277777777777:46:40"), (INF, "unknown"), (-INF, "unknown"), (NAN, "unknown"),
    ],
)  # fmt: skip
def test_a_duration_is_a_clock(seconds: float | None, text: str) -> None:
    assert facts.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "00:00"), (3.9, "00:03"), (59.99, "00:59"), (60, "01:00"), (3723, "1:02:03"),
        (-0.5, "00:00"), (-1, "-00:01"), (-3723.5, "-1:02:03"), (INF, "unknown"), (NAN, "unknown"),
    ],
)  # fmt: skip
def test_a_place_in_a_session_is_a_clock_that_never_runs_ahead(seconds: float, text: str) -> None:
    assert facts.elapsed(seconds) == text


@given(st.floats())
def test_every_duration_and_sum_of_money_can_be_written(value: float) -> None:
    for text in (facts.duration(value), facts.elapsed(value), facts.money(value)):
        assert text
        assert "inf" not in text
        assert "nan" not in text


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_no_part_of_a_clock_reaches_sixty(one: float, other: float) -> None:
    for text in (facts.duration(one), facts.duration(other)):
        if not text.endswith("s"):
            *_, minutes, rest = text.split(":")
            assert int(minutes) < 60
            assert int(rest) < 60


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC), "2026-01-02 03:04:05 UTC"),
        (
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            "2026-01-01 21:34:05 UTC",
        ),
        (
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            "0001-01-01 00:00:00+02:00",
        ),
        (
            datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
            "9999-12-31 23:00:00-02:00",
        ),
    ],
)
def test_a_moment_is_in_utc(value: datetime | None, text: str) -> None:
    assert facts.moment(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"), (0, "$0.00"), (0.00004, "$0.000040"), (0.0005, "$0.00050"),
        (0.00097, "$0.0010"), (0.0042, "$0.0042"),
        (0.5, "$0.5000"), (0.99999, "$1.00"), (1, "$1.00"), (4.1, "$4.10"),
        (12345.678, "$12,345.68"), (-1.5, "-$1.50"), (-0.25, "-$0.2500"), (INF, "unknown"),
        (NAN, "unknown"),
    ],
)  # fmt: skip
def test_money_is_in_dollars(value: float | None, text: str) -> None:
    assert facts.money(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"),
        (999_499, "999 kB"), (999_500, "1 MB"), (1_200_000, "1.2 MB"), (139 * 10**9, "139 GB"),
        (5 * 10**12, "5 TB"), (10**15, "1 PB"), (12345 * 10**15, "12,345 PB"),
    ],
)  # fmt: skip
def test_a_size_has_three_digits_and_a_unit(value: int, text: str) -> None:
    assert facts.size(value) == text


@given(st.integers(0, 2**80))
def test_no_size_is_written_with_an_exponent(value: int) -> None:
    assert "e" not in facts.size(value)
