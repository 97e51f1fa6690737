"""Checks of metrics.json: figures that contradict each other."""

from __future__ import annotations

import math
from hashlib import sha256
from statistics import geometric_mean

from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.check.whole import whole
from kbsite.model.finding import Finding
from kbsite.model.grade import IMPOSSIBLE, Metrics, ShapeMetrics
from kbsite.model.secret import bootstrap_seed
from kbsite.model.status import Status
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun

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

OWN = "kbsite "
"""What the name of our own grader begins with; its version follows."""


def metrics_findings(stored: StoredRun, there: Known) -> list[Finding]:
    """What is wrong with a run's grade."""
    remarks = Remarks(stored.folder / METRICS)
    metrics = stored.metrics
    _status(remarks, metrics)
    if is_own(metrics) and metrics.status is Status.PASSED:
        whole(remarks, metrics)
    most = math.inf if stored.run.board in there.own_metrics else 1
    _fraction(remarks, "peak_fraction", metrics.peak_fraction, most)
    _interval(remarks, metrics)
    _commitment(remarks, metrics)
    names: set[str] = set()
    for number, shape in enumerate(metrics.shapes):
        key = f"shapes[{number}]"
        if shape.shape in names:
            remarks.error(f"{key}.shape", f"{shape.shape!r} is there twice")
        names.add(shape.shape)
        _shape(remarks, key, shape, own=is_own(metrics))
    for mean in MEANS:
        _mean(remarks, metrics, mean)
    return remarks.findings()


def is_own(metrics: Metrics) -> bool:
    """Whether a grade is said to be our own grader's, which rounds nothing and tells everything."""
    return metrics.outcome is not None or (metrics.grader or "").startswith(OWN)


def _status(remarks: Remarks, metrics: Metrics) -> None:
    if metrics.peak_fraction is not None and metrics.status is not Status.PASSED:
        message = f"only a passed run has one; the status is {metrics.status.value}"
        remarks.error("peak_fraction", message)
    if metrics.outcome is not None and metrics.outcome.status is not metrics.status:
        meant = metrics.outcome.status.value
        message = f"expected {meant}, as {metrics.outcome.value} means; got {metrics.status.value}"
        remarks.error("status", message)
    if metrics.outcome is None and (metrics.grader or "").startswith(OWN):
        remarks.error("outcome", f"missing; {metrics.grader} tells one of every grade")


def _fraction(remarks: Remarks, key: str, value: float | None, most: float = 1) -> None:
    if value is None:
        return
    if value <= 0:
        remarks.error(key, f"expected more than 0, got {value}")
    elif value > most:
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
        secret = bytes.fromhex(made.seed)
    except ValueError:
        remarks.error("commitment.seed", "expected hexadecimal digits")
        return
    computed, drawn = sha256(secret).hexdigest(), bootstrap_seed(secret)
    if metrics.bootstrap_seed not in (None, drawn):
        message = f"expected {drawn}, which is drawn from commitment.seed"
        remarks.error("bootstrap_seed", message)
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
        _share(remarks, f"{key}.{share}", (getattr(shape, share), getattr(shape, time)), shape.ms,
               f"{time} / ms", own=own)  # fmt: skip
    _around(remarks, f"{key}.interval_ms", shape)
    if shape.ms and shape.floor_ms and shape.ms < IMPOSSIBLE * shape.floor_ms:
        message = f"{shape.ms} is less than any honest kernel takes, {shape.floor_ms} (floor_ms)"
        remarks.warn(f"{key}.ms", message)


def _share(
    remarks: Remarks, key: str, told: tuple[float | None, float | None], ms: float | None,
    meaning: str, *, own: bool,
) -> None:  # fmt: skip
    value, least = told
    if ms and least and value is not None:
        same(remarks, key, value, least / ms, meaning, own=own)
    elif own and ms and (value is None) is not (least is None):
        remarks.error(key, f"expected {meaning}, and null where that is null")


def _around(remarks: Remarks, key: str, shape: ShapeMetrics) -> None:
    if shape.interval_ms and shape.ms:
        low, high = shape.interval_ms
        if not low <= shape.ms <= high:
            remarks.error(key, f"expected {shape.ms} (ms) between {low} and {high}")


def _mean(remarks: Remarks, metrics: Metrics, name: str) -> None:
    each = [getattr(shape, name) for shape in metrics.shapes]
    value, own = getattr(metrics, name), is_own(metrics)
    if own:
        # What our own grader could not know of a shape it leaves out of the mean.
        each = [one for one in each if one is not None]
    if not each or not all(one is not None and one > 0 for one in each):
        return
    if value is not None:
        mean = geometric_mean(each)
        same(remarks, name, value, mean, "the geometric mean over the shapes", own=own)
    elif own:
        remarks.error(name, "missing; it is the geometric mean over the shapes")


def same(
    remarks: Remarks, key: str, value: float, computed: float, meaning: str, *, own: bool
) -> None:
    """Say that a figure is not what it is computed anew: of our own grader that is an error."""
    if not is_same(value, computed, own=own):
        message = f"expected {meaning}, {computed:.6g}, got {value}"
        (remarks.error if own else remarks.warn)(key, message)


def is_same(value: float, computed: float, *, own: bool) -> bool:
    """Whether a figure is what it is computed anew, but for how it is rounded."""
    return math.isclose(value, computed, rel_tol=OWN_ROUNDING if own else ROUNDING)
