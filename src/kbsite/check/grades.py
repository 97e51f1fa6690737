"""Checks of metrics.json: figures that contradict each other."""

from __future__ import annotations

import math
from hashlib import sha256
from statistics import geometric_mean

from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.grade import IMPOSSIBLE, Metrics, ShapeMetrics
from kbsite.model.status import Status
from kbsite.store.runs import METRICS, StoredRun

TIMES = ("ms", "ceiling_ms", "floor_ms", "achievable_ms")
"""Keys of a shape's times, in milliseconds."""

SHARES = (("peak_fraction", "ceiling_ms"), ("achievable_fraction", "achievable_ms"))
"""Which share of a shape is which time divided by the measured one."""

MEANS = ("peak_fraction", "achievable_fraction", "ms")
"""Keys of a grade that are the geometric means of the same keys of its shapes."""

ROUNDING = 0.02
"""How far a figure may be from the one computed anew, in parts of it: figures are rounded."""

OWN_ROUNDING = 1e-4
"""The same for our own grader, which rounds nothing."""


def metrics_findings(stored: StoredRun) -> list[Finding]:
    """What is wrong with a run's grade."""
    remarks = Remarks(stored.folder / METRICS)
    metrics = stored.metrics
    if metrics.peak_fraction is not None and metrics.status is not Status.PASSED:
        message = f"only a passed run has one; the status is {metrics.status.value}"
        remarks.error("peak_fraction", message)
    if metrics.outcome is not None and metrics.outcome.status is not metrics.status:
        meant = metrics.outcome.status.value
        message = f"expected {meant}, as {metrics.outcome.value} means; got {metrics.status.value}"
        remarks.error("status", message)
    _fraction(remarks, "peak_fraction", metrics.peak_fraction)
    _interval(remarks, metrics)
    _commitment(remarks, metrics)
    names: set[str] = set()
    for number, shape in enumerate(metrics.shapes):
        key = f"shapes[{number}]"
        if shape.shape in names:
            remarks.error(f"{key}.shape", f"{shape.shape!r} is there twice")
        names.add(shape.shape)
        _shape(remarks, key, shape, own=metrics.outcome is not None)
    for mean in MEANS:
        _mean(remarks, metrics, mean)
    return remarks.findings()


def _fraction(remarks: Remarks, key: str, value: float | None) -> None:
    if value is None:
        return
    if value <= 0:
        remarks.error(key, f"expected more than 0, got {value}")
    elif value > 1:
        remarks.warn(key, f"{value} is above the ceiling")


def _interval(remarks: Remarks, metrics: Metrics) -> None:
    if metrics.interval is None:
        return
    low, high = metrics.interval
    if metrics.peak_fraction is None:
        remarks.error("interval", "expected null where peak_fraction is null")
    elif low > high:
        remarks.error("interval", f"expected the lower end first, got {low} and {high}")
    elif not low <= metrics.peak_fraction <= high:
        message = f"expected {metrics.peak_fraction} (peak_fraction) between {low} and {high}"
        remarks.error("interval", message)


def _commitment(remarks: Remarks, metrics: Metrics) -> None:
    made = metrics.commitment
    if made is None:
        return
    try:
        computed = sha256(bytes.fromhex(made.seed)).hexdigest()
    except ValueError:
        remarks.error("commitment.seed", "expected hexadecimal digits")
        return
    if computed != made.sha256:
        message = f"expected the SHA-256 of the seed, {computed}; got {made.sha256}"
        remarks.error("commitment.sha256", message)


def _shape(remarks: Remarks, key: str, shape: ShapeMetrics, *, own: bool) -> None:
    for name in TIMES:
        value = getattr(shape, name)
        if value is not None and value <= 0:
            remarks.error(f"{key}.{name}", f"expected more than 0, got {value}")
    _fraction(remarks, f"{key}.peak_fraction", shape.peak_fraction)
    for share, time in SHARES:
        value, least = getattr(shape, share), getattr(shape, time)
        if shape.ms and least and value is not None:
            same(remarks, f"{key}.{share}", value, least / shape.ms, f"{time} / ms", own=own)
    _around(remarks, f"{key}.interval_ms", shape)
    if shape.ms and shape.floor_ms and shape.ms < IMPOSSIBLE * shape.floor_ms:
        message = f"{shape.ms} is less than any honest kernel takes, {shape.floor_ms} (floor_ms)"
        remarks.warn(f"{key}.ms", message)


def _around(remarks: Remarks, key: str, shape: ShapeMetrics) -> None:
    if shape.interval_ms and shape.ms:
        low, high = shape.interval_ms
        if not low <= shape.ms <= high:
            remarks.error(key, f"expected {shape.ms} (ms) between {low} and {high}")


def _mean(remarks: Remarks, metrics: Metrics, name: str) -> None:
    each = [getattr(shape, name) for shape in metrics.shapes]
    value = getattr(metrics, name)
    if each and value is not None and all(one is not None and one > 0 for one in each):
        mean = geometric_mean(each)
        own = metrics.outcome is not None
        same(remarks, name, value, mean, "the geometric mean over the shapes", own=own)


def same(
    remarks: Remarks, key: str, value: float, computed: float, meaning: str, *, own: bool
) -> None:
    """Say that a figure is not what it is computed anew: of our own grader that is an error."""
    if not math.isclose(value, computed, rel_tol=OWN_ROUNDING if own else ROUNDING):
        message = f"expected {meaning}, {computed:.6g}, got {value}"
        (remarks.error if own else remarks.warn)(key, message)
