"""From rounds to a score: medians, intervals, ceilings, and what speaks against a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from statistics import median

import pytest

from bench.anchors import Anchors
from bench.ceilings import ceilings
from bench.grading.failures import Failure
from bench.grading.on_shape import Subject
from bench.grading.rounds import Round
from bench.grading.score import Scored, doubted, raw_samples, score
from bench.grading.secret import Secret
from bench.grading.setting import Setting
from bench.grading.times import MOST_DELAY_MS, MOST_DRIFT, Batch, Empty, Lateness, Times
from bench.sandbox import SANDBOXES
from kbsite.model.grade import Outcome, OutputError
from kbsite.model.status import Status
from tests.bench.grading.setups import Quick
from tests.bench.toys import sound

ANCHORS = Anchors(
    host={},
    made=datetime(2026, 11, 21, tzinfo=UTC),
    gb_per_second={"copy": 10.0},
    tflops={"bf16": 0.1, "fp32": 0.1},
)
PROBLEM = sound()
SHAPES = PROBLEM.shapes("cpu")


def subject(**changed: object) -> Subject:
    setting = Setting(device=Quick(), sandbox=SANDBOXES[0], anchors=ANCHORS, rounds=3)
    setting = replace(setting, **changed)  # type: ignore[arg-type]
    return Subject(PROBLEM, PROBLEM.oracle(), setting, Secret(b"s" * 32), lambda _: None)


def times(ms: float, *, event: float = 1.0, slope: float = 1.0, inside: float = 1.0) -> Times:
    """What the clocks show where single calls take `ms`, with an overhead of 1 ms on top."""
    found = Times(
        event=[ms * event] * 4, wall=[ms + 1.0] * 4, host=[ms * 0.01] * 4, calls=14,
        errors={"y": [OutputError(output="y", largest=0.25, typical=0.1, quantiles={"0.5": 0.02}),
                      OutputError(output="y", largest=0.5, typical=0.05, quantiles={"0.5": 0.04})]},
    )  # fmt: skip
    found.batches = [Batch(9, ms + 1 + 8 * ms * slope, ms * event + 8 * ms * inside)]
    return found


def rounds(*per_round: float, **clocks: float) -> list[Round]:
    return [
        Round(
            number, Empty((0.9, 1.0, 1.1)), {shape.id: times(ms, **clocks) for shape in SHAPES}, {}
        )
        for number, ms in enumerate(per_round, start=1)
    ]


def scored(*per_round: float, **clocks: float) -> Scored:
    return score(rounds(*per_round, **clocks), subject())


def refused(*per_round: float, **clocks: float) -> Failure:
    with pytest.raises(Failure) as caught:
        scored(*per_round, **clocks)
    return caught.value


def test_peak_fraction_is_ceiling_over_time_as_a_geometric_mean() -> None:
    found = scored(50.0, 50.0, 50.0)
    limits = [ceilings(PROBLEM, shape, None, ANCHORS).ceiling_ms for shape in SHAPES]

    assert found.peak_fraction == pytest.approx(sqrt(limits[0] * limits[1]) / 50.0)
    assert [shape.ceiling_ms for shape in found.shapes] == limits
    assert [shape.ms for shape in found.shapes] == pytest.approx([50.0, 50.0])
    assert found.ms == pytest.approx(50.0)
    assert found.interval is not None
    assert found.peak_fraction is not None
    assert found.interval[0] <= found.peak_fraction <= found.interval[1]
    assert "42 calls" not in found.sentence
    assert "84 calls in 3 fresh processes" in found.sentence


def test_the_median_of_the_rounds_is_the_time_and_their_variation_the_spread() -> None:
    found = scored(50.0, 53.0, 51.0).shapes[0]

    assert found.ms == pytest.approx(51.0)
    assert found.spread == pytest.approx(0.0298, abs=0.001)
    assert found.interval_ms is not None
    assert found.interval_ms[0] <= 51.0 <= found.interval_ms[1]


@pytest.mark.parametrize(
    ("clocks", "ms"), [({"event": 1.1}, 55.0), ({"slope": 1.2, "inside": 1.2}, 60.0)]
)
def test_the_slowest_clock_is_the_time(clocks: dict[str, float], ms: float) -> None:
    assert scored(50.0, 50.0, 50.0, **clocks).ms == pytest.approx(ms)


def test_errors_are_the_worst_of_all_calls() -> None:
    [worst] = scored(50.0, 50.0, 50.0).shapes[0].errors

    assert (worst.largest, worst.typical, worst.quantiles) == (0.5, 0.1, {"0.5": 0.04})


def test_samples_say_what_the_metrics_follow_from() -> None:
    measured = rounds(50.0, 52.0, 51.0)
    found = score(measured, subject())
    of_first = [one for one in raw_samples(measured, subject()) if one.shape == SHAPES[0].id]

    assert [one.round for one in of_first] == [1, 2, 3]
    assert median(median(one.ms) for one in of_first) == pytest.approx(found.shapes[0].ms)
    assert of_first[0].overhead_ms == (0.9, 1.0, 1.1)
    assert of_first[0].wall_ms == (51.0,) * 4
    assert of_first[0].slope_ms == pytest.approx((50.0,))
    assert of_first[0].event_slope_ms == pytest.approx((50.0,))


@pytest.mark.parametrize("clocks", [{"event": 0.01}, {"inside": 0.1}, {"slope": 2.5}])
def test_clocks_that_disagree_are_a_finding_of_their_own(clocks: dict[str, float]) -> None:
    failure = refused(50.0, 50.0, 50.0, **clocks)

    assert failure.outcome is Outcome.CLOCK_MISMATCH
    assert SHAPES[0].id in failure.detail


def test_on_a_busy_machine_clocks_are_as_far_apart_as_its_noise() -> None:
    measured = rounds(50.0, 50.0, 50.0, event=0.6)
    for one in measured:
        for found in one.shapes.values():
            found.wall = [20.0, 51.0, 51.0, 90.0]

    assert score(measured, subject()).ms == pytest.approx(50.0)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("clock", ["single", "batch"])
def test_on_a_machine_of_others_a_clock_is_off_only_if_it_is_in_every_call(
    clock: str, left: int
) -> None:
    measured = rounds(50.0, 50.0, 50.0)
    for one in measured:
        for found in one.shapes.values():
            if clock == "single":
                found.wall = [51.0] * left + [1051.0] * (8 - left)
                found.event, found.host = [50.0] * 8, [0.5] * 8
            else:
                slow = Batch(9, 51 + 8 * 1050.0, 50 + 8 * 1050.0)
                found.batches = found.batches * left + [slow] * (4 - left)
    if left:
        assert (score(measured, subject()).ms or 0) >= 50.0
        return
    with pytest.raises(Failure) as caught:
        score(measured, subject())
    assert caught.value.outcome is Outcome.CLOCK_MISMATCH


@pytest.mark.parametrize(
    ("per_round", "single", "calls", "sure"),
    [((50.0,), 4, 2, False), ((50.0,), 10, 2, False), ((50.0,), 3, 9, False),
     ((50.0,), 8, 6, True), ((50.0,) * 3, 3, 2, True)],
)  # fmt: skip
def test_of_a_few_calls_no_clock_accuses_anybody(
    per_round: Sequence[float], single: int, calls: int, *, sure: bool
) -> None:
    measured = rounds(*per_round)
    for one in measured:
        for found in one.shapes.values():
            found.wall = [51.0] * single
            found.batches = [Batch(calls, 51.0, 50.0)]
    failure = Failure(Outcome.CLOCK_MISMATCH, "A single call takes 9 ms.")
    told = doubted(failure, measured)

    assert (told is failure) == sure
    if not sure:
        assert told.outcome is Outcome.UNSTABLE_CLOCKS
        assert told.outcome.status is Status.INFRA
        said = f"{single} single calls and {calls} in batches are too few to tell whether"
        assert told.detail.startswith(said)
        assert "grade it with more calls or rounds. A single call takes 9 ms." in told.detail
    other = Failure(Outcome.INCORRECT, "wrong")
    assert doubted(other, measured) is other


def test_to_dawdle_in_single_calls_makes_the_slope_small_and_is_a_mismatch() -> None:
    measured = rounds(50.0, 50.0, 50.0)
    for one in measured:
        for found in one.shapes.values():
            found.wall = [wall + 80 for wall in found.wall]

    assert measured[0].shapes[SHAPES[0].id].slopes(Lateness()) == pytest.approx([40.0])
    with pytest.raises(Failure) as caught:
        score(measured, subject())
    assert caught.value.outcome is Outcome.CLOCK_MISMATCH
    assert "130 ms by the parent's clock, but only 50 ms" in caught.value.detail


class Late(Quick):
    """A device of which the grader's clock may be 2 ms late for a single call."""

    agreement = replace(Quick.agreement, late_ms=2.0)


@pytest.mark.parametrize(("late", "ms"), [(0.0, 50.0), (1.5, 50.0), (2.0, 50.0), (5.0, 53.0)])
def test_what_the_parents_clock_may_be_late_by_is_no_time(late: float, ms: float) -> None:
    measured = rounds(50.0, 50.0, 50.0)
    for one in measured:
        for found in one.shapes.values():
            found.wall = [wall + late for wall in found.wall]
            found.batches = [replace(batch, wall=batch.wall + late) for batch in found.batches]

    made = score(measured, subject(device=Late()))
    samples = raw_samples(measured, subject(device=Late()))

    assert made.ms == pytest.approx(ms)
    assert {one.late_ms for one in samples} == {2.0}
    assert all(one.time_ms == pytest.approx(ms) for one in samples)
    assert all(median(one.ms) == pytest.approx(ms) for one in samples)


def test_what_the_parents_clock_is_later_for_after_a_batch_is_no_time_either() -> None:
    late = Lateness(0.5, 0.005)
    measured = [replace(one, empty=replace(one.empty, late=late)) for one in rounds(50.0, 50.0)]
    for one in measured:
        for found in one.shapes.values():
            single = median(found.wall)
            found.batches = [
                replace(batch, wall=single + (batch.wall - single + 0.5) / 0.995)
                for batch in found.batches
            ]

    made = score(measured, subject())

    assert [shape.clocks and shape.clocks.slope_ms for shape in made.shapes] == pytest.approx(
        [50.0, 50.0]
    )
    samples = raw_samples(measured, subject())
    assert {(one.delay_ms, one.drift) for one in samples} == {(0.5, 0.005)}


@pytest.mark.parametrize(
    ("early", "late", "found"),
    [
        (0.0, 0.0, Lateness()),
        (0.02, 0.02, Lateness(0.02, 0.0)),
        (0.02, 0.065, Lateness(0.015, 0.005)),
        (-0.3, -0.4, Lateness()),
        (0.3, 3.0, Lateness(MOST_DELAY_MS, MOST_DRIFT)),
    ],
)
def test_lateness_is_a_line_through_what_short_and_long_waits_take_more_of_the_parents_clock(
    early: float, late: float, found: Lateness
) -> None:
    short, long = (
        [Batch(1, 1.0 + wait + more + noise, wait + noise) for noise in (0.0, 0.2, -0.1)]
        for wait, more in ((1.0, early), (10.0, late))
    )

    made = Lateness.of([0.9, 1.0, 1.1], short, long)

    assert made.drift == pytest.approx(found.drift)
    assert made.delay_ms == pytest.approx(found.delay_ms)


def test_faster_than_physics_is_impossible() -> None:
    floor = ceilings(PROBLEM, SHAPES[0], None, ANCHORS).floor_ms
    failure = refused(floor * 0.5, floor * 0.5, floor * 0.5)

    assert failure.outcome is Outcome.IMPOSSIBLE_TIME
    assert "the hardware takes" in failure.detail


def test_no_time_at_all_is_impossible() -> None:
    failure = refused(0.0, 0.0, 0.0)

    assert failure.outcome is Outcome.IMPOSSIBLE_TIME
    assert "no time" in failure.detail


def test_the_same_secret_makes_the_same_interval() -> None:
    assert scored(50.0, 53.0, 51.0).interval == scored(50.0, 53.0, 51.0).interval
