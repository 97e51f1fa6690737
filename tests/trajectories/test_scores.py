from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.model.trajectory import PointKind
from kbsite.trajectories.scores import LONGEST, MOST, scores
from tests.trajectories.sessions import BENCHMARK


def said(output: str) -> list[tuple[bool | None, float | None]]:
    return [(score.passed, score.peak) for score in scores(output)]


@pytest.mark.parametrize(
    "output",
    ["PASS", "PASS\n", "PASS\r\n", "x\nPASS  \ny", "\x1b[1;32mPASS\x1b[0m\n", "50 %\rPASS\n",
     "\x1b]0;title\x07PASS\n", "<system>Command executed successfully.</system>\nPASS\n"],
)  # fmt: skip
def test_a_check_that_passed_is_recognised(output: str) -> None:
    assert said(output) == [(True, None)]


def test_a_check_that_failed_is_recognised_with_its_reason() -> None:
    (score,) = scores("Exit code 1\r\nFAIL: forbidden op used: torch.topk\r\n")
    assert score.passed is False
    assert score.text == "FAIL: forbidden op used: torch.topk"


@pytest.mark.parametrize(
    "output",
    ["", "PASSED\n", "all PASS\n", " PASS\n", "PASS 3 of 4\n", "12:PASS\n", "print('PASS')",
     "BYPASS", "FAILED\n", "    FAIL: no\n", "# peak_fraction: 0.5", "peak_fraction: high\n",
     "peak_fraction: 0.5 is what we want\n", "x_peak_fraction: 0.5\n", "RESULT: GOOD\n",
     "shape=0 variant=eager tflops=1.0 gbps=1.0 ms=1.0\n", "peak_fraction: nan\n",
     "peak_fraction: -0.5\n", "peak_fraction: 0.1.2\n", "speedups: 3\n"],
)  # fmt: skip
def test_what_only_looks_like_it_is_not_recognised(output: str) -> None:
    assert scores(output) == []


@pytest.mark.parametrize(
    "output",
    ["=== RUN   TestSum\n--- PASS: TestSum (0.00s)\nPASS\nok  \texample.com/sum\t0.003s\n",
     "PASS\nok  \texample.com/sum\t(cached)\n",
     "PASS\r\nok  \texample.com/sum\t12.5s\r\n",
     "PASS\ncoverage: 81.2% of statements\nok  \texample.com/sum\t0.003s\n",
     "    --- SKIP: TestSum/gpu (0.00s)\nPASS\n"],
)  # fmt: skip
def test_what_go_test_says_of_its_tests_is_no_check_of_a_solution(output: str) -> None:
    assert scores(output) == []
    assert said(f"{output}PASS\n") == [(True, None)]


def test_the_lines_of_one_benchmark_are_one_score() -> None:
    (score,) = scores(BENCHMARK.format("0.3842"))
    assert (score.kind, score.peak, score.text) == (
        PointKind.BENCHMARK, 0.3842, "peak_fraction: 0.3842"
    )  # fmt: skip


def test_benchmarks_in_a_row_are_told_one_by_one() -> None:
    output = "".join(BENCHMARK.format(peak) for peak in ("0.1", "0.2", "0.3"))
    assert said(output) == [(None, 0.1), (None, 0.2), (None, 0.3)]
    assert said("peak_fraction: 0.1\npeak_fraction: 0.2\n") == [(None, 0.1), (None, 0.2)]


def test_check_and_benchmark_stand_in_the_order_of_the_output() -> None:
    output = "PASS\n" + BENCHMARK.format("0.2") + "FAIL: later\n"
    assert said(output) == [(True, None), (None, 0.2), (False, None)]


def test_a_benchmark_without_a_headline_has_no_score() -> None:
    (cut,) = scores("shape=0 solution_peak_fraction=0.4\nshape=1 solution_peak_fraction=0.5\n")
    assert (cut.kind, cut.peak) == (PointKind.BENCHMARK, None)
    assert cut.text == "shape=1 solution_peak_fraction=0.5"
    (low,) = scores("RESULT: LOW\n")
    assert (low.peak, low.passed, low.text) == (None, None, "RESULT: LOW")


@pytest.mark.parametrize("line", ["speedup: 1.5x", "speedup=1.5", "speedup: 1.50"])
def test_a_speed_up_is_no_peak_fraction(line: str) -> None:
    (score,) = scores(f"{line}\n")
    assert (score.peak, score.speedup) == (None, 1.5)


def test_a_flood_of_lines_is_bounded_and_the_last_ones_stay() -> None:
    found = scores("FAIL: first\n" * 10_000 + "PASS\n")
    assert len(found) == MOST
    assert found[-1].passed


def test_a_line_without_end_is_cut() -> None:
    (score,) = scores("FAIL: " + "x" * 1_000_000)
    assert len(score.text) == LONGEST


PIECES = st.sampled_from(
    ["PASS", "FAIL:", "peak_fraction: ", "0.5", "1e99", "9" * 30, "RESULT: OK", "speedup: ", "x",
     "shape=0 ", "solution_peak_fraction=", "\n", "\r\n", "\r", "\x1b[", "31m", "\x1b]", "\x07",
     "\ud800", "\0", " "]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES | st.text(), max_size=40).map("".join))
def test_no_output_is_refused(output: str) -> None:
    for score in scores(output):
        assert score.text
        assert score.passed is not None or score.kind is PointKind.BENCHMARK
        assert score.peak is None or 0 <= score.peak < float("inf")
