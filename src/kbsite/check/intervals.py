"""Checks of what a grade of our own says of its uncertainty: drawn anew from the raw samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from kbsite.check.grades import OWN_ROUNDING, is_same, same
from kbsite.check.remarks import Remarks
from kbsite.model.grade import Metrics, ShapeMetrics
from kbsite.model.samples import Samples
from kbsite.model.timing import RoundTimes, ShapeTimes, Times, estimate
from kbsite.store.samples import SAMPLES

MOST_ROUNDS = 500
"""Rounds of a shape that are drawn anew; with more of them draws would fill the memory."""

OTHERWISE = 0.05
"""Share of an interval by which an end of it may be elsewhere where the same draws were made by
another version of NumPy: of 10,000 draws an end hangs on chance by a hundredth of the interval."""

_EQUAL = 1e-9
"""Spreads below this are those of rounds that all took the same, as floats come out."""


class Drawn:
    """The samples of a grade, from which its intervals are drawn anew."""

    def __init__(self) -> None:
        self._rounds: dict[str, list[tuple[int, RoundTimes]]] = {}

    def add(self, samples: Samples) -> None:
        """Keep a line of samples.jsonl."""
        times = RoundTimes.of(samples)
        self._rounds.setdefault(samples.shape, []).append((samples.round, times))

    def compare(self, remarks: Remarks, metrics: Metrics) -> None:
        """Say what of a grade that has all it needs does not follow from the samples."""
        rounds = [self._of(shape) for shape in metrics.shapes]
        if metrics.bootstrap_seed is None or not rounds or not all(rounds):
            return  # told where it is missing
        if max(map(len, rounds)) > MOST_ROUNDS:
            message = f"not computed anew: {SAMPLES} has more than {MOST_ROUNDS} rounds of a shape"
            remarks.warn("interval", message)
            return
        try:
            found = estimate(rounds, seed=metrics.bootstrap_seed)
        except ValueError as error:
            remarks.error("interval", f"does not follow from {SAMPLES}: {error}")
            return
        for number, (shape, times) in enumerate(zip(metrics.shapes, found.shapes, strict=True)):
            _shape(remarks, f"shapes[{number}]", shape, times)
        _whole(remarks, metrics, found)

    def _of(self, shape: ShapeMetrics) -> Sequence[RoundTimes]:
        held = self._rounds.get(shape.shape, [])
        return [times for _, times in sorted(held, key=lambda one: one[0])]


def _whole(remarks: Remarks, metrics: Metrics, found: Times) -> None:
    ceilings = [shape.ceiling_ms or 0.0 for shape in metrics.shapes]
    if metrics.interval is not None and min(ceilings) > 0:
        _ends(remarks, "interval", metrics.interval, found.fraction(ceilings)[1])


def _shape(remarks: Remarks, key: str, told: ShapeMetrics, found: ShapeTimes) -> None:
    if told.interval_ms is not None:
        _ends(remarks, f"{key}.interval_ms", told.interval_ms, found.interval)
    if not _is_spread(told.spread, found.spread):
        message = (
            f"expected the coefficient of variation of the rounds in {SAMPLES}, "
            f"{_shown(found.spread)}, got {_shown(told.spread)}"
        )
        remarks.error(f"{key}.spread", message)
    if told.clocks is None:
        return
    meaning = f"the median over the rounds of the empty calls in {SAMPLES}"
    overhead = told.clocks.overhead_ms, found.clocks.overhead_ms
    same(remarks, f"{key}.clocks.overhead_ms", *overhead, meaning, own=True)
    inside = found.clocks.event_slope_ms
    if told.clocks.event_slope_ms is None and inside is not None:
        message = f"missing; {SAMPLES} has this clock, and it says {inside:.6g}"
        remarks.error(f"{key}.clocks.event_slope_ms", message)


def _is_spread(told: float | None, found: float | None) -> bool:
    if told is None or found is None:
        return told is found
    return isclose(told, found, rel_tol=OWN_ROUNDING, abs_tol=_EQUAL)


def _shown(value: float | None) -> str:
    return "null" if value is None else f"{value:.6g}"


def _ends(
    remarks: Remarks, key: str, told: tuple[float, float], drawn: tuple[float, float]
) -> None:
    """Say where an interval is not the one that the draws of its seed come to."""
    if all(is_same(one, other, own=True) for one, other in zip(told, drawn, strict=True)):
        return
    near = (drawn[1] - drawn[0]) * OTHERWISE
    message = (
        f"expected {drawn[0]:.6g} to {drawn[1]:.6g}, which the draws of bootstrap_seed from "
        f"{SAMPLES} come to; got {told[0]:.6g} to {told[1]:.6g}"
    )
    if all(abs(one - other) <= near for one, other in zip(told, drawn, strict=True)):
        remarks.warn(key, f"{message}: another version of NumPy may have drawn it")
    else:
        remarks.error(key, message)
