"""Checks of metrics.json: figures that contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.grade import Metrics, ShapeMetrics
from kbsite.model.status import Status
from kbsite.store.runs import METRICS, StoredRun
from kbsite.store.samples import SAMPLES, read_samples

ROUNDING = 0.02
"""How far a figure may be from the one computed anew, in parts of it: figures are rounded."""


def metrics_findings(stored: StoredRun) -> list[Finding]:
    """What is wrong with a run's grade."""
    remarks = Remarks(stored.folder / METRICS)
    metrics = stored.metrics
    if metrics.peak_fraction is not None and metrics.status is not Status.PASSED:
        message = f"only a passed run has one; the status is {metrics.status.value}"
        remarks.error("peak_fraction", message)
    _fraction(remarks, "peak_fraction", metrics.peak_fraction)
    _interval(remarks, metrics)
    names: set[str] = set()
    for number, shape in enumerate(metrics.shapes):
        key = f"shapes[{number}]"
        if shape.shape in names:
            remarks.error(f"{key}.shape", f"{shape.shape!r} is there twice")
        names.add(shape.shape)
        _shape(remarks, key, shape)
    _mean(remarks, metrics)
    return remarks.findings()


def samples_findings(stored: StoredRun) -> Iterator[Finding]:
    """What is wrong with a run's raw samples, and where its grade does not follow from them."""
    file = stored.file(SAMPLES)
    if file is None:
        return
    read = read_samples(file)
    yield from read.findings
    rounds: dict[str, list[float]] = {}
    for spread in read.spreads:
        rounds.setdefault(spread.shape, []).append(spread.median)
    remarks = Remarks(stored.folder / METRICS)
    for number, shape in enumerate(stored.metrics.shapes):
        if shape.ms and shape.shape in rounds:
            computed = median(rounds[shape.shape])
            meaning = "the median of the medians of the rounds in samples.jsonl"
            _same(remarks, f"shapes[{number}].ms", shape.ms, computed, meaning)
    yield from remarks.findings()


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


def _shape(remarks: Remarks, key: str, shape: ShapeMetrics) -> None:
    for name in ("ms", "ceiling_ms"):
        value = getattr(shape, name)
        if value is not None and value <= 0:
            remarks.error(f"{key}.{name}", f"expected more than 0, got {value}")
    _fraction(remarks, f"{key}.peak_fraction", shape.peak_fraction)
    if shape.ms and shape.ceiling_ms and shape.peak_fraction is not None:
        _same(remarks, f"{key}.peak_fraction", shape.peak_fraction, shape.ceiling_ms / shape.ms,
              "ceiling_ms / ms")  # fmt: skip


def _mean(remarks: Remarks, metrics: Metrics) -> None:
    each = [s.peak_fraction for s in metrics.shapes if s.peak_fraction is not None]
    whole = len(each) == len(metrics.shapes) and all(value > 0 for value in each)
    if each and whole and metrics.peak_fraction is not None:
        mean = math.exp(math.fsum(map(math.log, each)) / len(each))
        meaning = "the geometric mean over the shapes"
        _same(remarks, "peak_fraction", metrics.peak_fraction, mean, meaning)


def _same(remarks: Remarks, key: str, value: float, computed: float, meaning: str) -> None:
    if not math.isclose(value, computed, rel_tol=ROUNDING):
        remarks.warn(key, f"expected {meaning}, {computed:.4g}, got {value}")
