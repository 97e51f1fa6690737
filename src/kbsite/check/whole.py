"""Checks that a grade of our own tells what its figures follow from, and what follows from it."""

from __future__ import annotations

import re

from kbsite.check.remarks import Remarks
from kbsite.model.grade import Metrics, ShapeMetrics, passed_sentence
from kbsite.model.grader_alarms import shape_alarms

CPU = "cpu"
"""The device whose ceilings are what its grade says that it was measured at."""

ALWAYS = ("interval", "shapes", "device", "rounds", "calls_per_round", "bootstrap_seed",
          "commitment", "problem_hash", "solution_hash")  # fmt: skip
"""Keys that our own grader writes whenever a run passed, beside the means over the shapes: without
one of them figures would follow from nothing."""

OF_SHAPE = ("ms", "interval_ms", "ceiling_ms", "bound_by", "floor_ms", "clocks", "rounds", "calls",
            "dropped")  # fmt: skip
"""The same for each of its shapes, beside the shares."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def whole(remarks: Remarks, metrics: Metrics) -> None:
    """Say what the grade of a run that passed lacks, and where its counts contradict each other."""
    lacking = [name for name in ALWAYS if getattr(metrics, name) in (None, ())]
    if metrics.device != CPU and metrics.hardware is None:
        lacking.append("hardware")
    for number, shape in enumerate(metrics.shapes):
        key = f"shapes[{number}]"
        lacking += [f"{key}.{name}" for name in OF_SHAPE if getattr(shape, name) is None]
        _counts(remarks, key, shape, metrics)
    for key in lacking:
        remarks.error(key, "missing; our own grader tells it of every run that passed")
    _sentence(remarks, metrics)
    _alarms(remarks, metrics)


def _sentence(remarks: Remarks, metrics: Metrics) -> None:
    if not metrics.detail or metrics.peak_fraction is None or metrics.interval is None:
        return
    calls = sum(shape.calls or 0 for shape in metrics.shapes)
    told = passed_sentence(calls, metrics.rounds or 0, metrics.peak_fraction, metrics.interval)
    # Its words are those of the grader's version.
    if _NUMBER.findall(told) != _NUMBER.findall(metrics.detail):
        remarks.error("detail", f"expected what follows from the other keys: {told}")


def _alarms(remarks: Remarks, metrics: Metrics) -> None:
    """Say which alarms were taken out, or tell other figures than their shapes have."""
    told = [_figures(one) for one in metrics.alarms]
    for expected in shape_alarms(metrics.shapes):
        if _figures(expected) not in told:
            remarks.error("alarms", f"missing is what follows from the shapes: {expected}")


def _figures(alarm: str) -> tuple[str, list[str]]:
    """The shape and the figures of an alarm; its words are those of the grader's version."""
    return alarm.partition(":")[0], _NUMBER.findall(alarm)


def _counts(remarks: Remarks, key: str, shape: ShapeMetrics, metrics: Metrics) -> None:
    if None not in (shape.rounds, metrics.rounds) and shape.rounds != metrics.rounds:
        remarks.error(f"{key}.rounds", f"expected {metrics.rounds} (rounds), got {shape.rounds}")
    least = (metrics.rounds or 0) * (metrics.calls_per_round or 0)
    if shape.calls is not None and shape.calls < least:
        message = f"expected {least} (rounds * calls_per_round) or more, got {shape.calls}"
        remarks.error(f"{key}.calls", message)
