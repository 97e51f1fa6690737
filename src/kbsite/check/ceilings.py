"""Checks of a grade's ceilings against the accounting of its problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kbsite.check.grades import same
from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.model.accounting import DRAM, bound_by, ceiling_of, work
from kbsite.model.finding import Finding
from kbsite.model.grade import Metrics
from kbsite.model.hardware import Hardware
from kbsite.model.problem import Problem
from kbsite.store.runs import METRICS, StoredRun

CPU = "cpu"
"""The device whose ceilings are what its grade says that it was measured at."""


def ceilings_findings(stored: StoredRun, there: Known) -> Iterator[Finding]:
    """Where the ceilings of a run's grade are not what its problem's formulas come to.

    Only of our own grades, and where the problem is still the one that was graded.
    """
    metrics = stored.metrics
    problem = there.problem(stored.run.problem, metrics.problem_hash)
    if metrics.outcome is None or problem is None:
        return
    hardware = there.hardware.get(metrics.hardware or "")
    remarks = Remarks(stored.folder / METRICS)
    for number, shape in enumerate(metrics.shapes):
        if shape.ceiling_ms is None:
            continue
        try:
            expected = _expected(problem, shape.shape, metrics, hardware)
        except ValueError as error:
            remarks.warn(f"shapes[{number}].ceiling_ms", f"cannot be computed anew: {error}")
            continue
        if expected is not None:
            _compare(remarks, f"shapes[{number}]", (shape.ceiling_ms, shape.bound_by), expected)
    yield from remarks.findings()


def _compare(
    remarks: Remarks, key: str, told: tuple[float, str | None], expected: tuple[float, str]
) -> None:
    meaning = "what the problem's formulas come to"
    same(remarks, f"{key}.ceiling_ms", told[0], expected[0], meaning, own=True)
    if told[1] != expected[1]:
        remarks.error(f"{key}.bound_by", f"expected {expected[1]!r}, got {told[1]!r}")


def _expected(
    problem: Problem, name: str, metrics: Metrics, hardware: Hardware | None
) -> tuple[float, str] | None:
    """Ceiling time in milliseconds and what it is bound by; None where it cannot be known here."""
    listed = problem.cpu_shapes if metrics.device == CPU else problem.shapes
    shape = next((one for one in listed if one.get("id") == name), None)
    if shape is None:
        raise ValueError(f"the problem has no shape {name!r}")
    if metrics.device == CPU:
        return _measured(problem, shape, metrics.anchors)
    if hardware is None:
        return None
    found = ceiling_of(problem, shape, hardware)
    return found.ms, bound_by(found)


def _measured(
    problem: Problem, shape: Mapping[str, int | float | str | bool], anchors: Mapping[str, float]
) -> tuple[float, str]:
    """The same by what a machine was measured at; formats that it lacks count as its fastest."""
    needed = work(problem, shape)
    products = [rate for name, rate in anchors.items() if name.endswith(" TFLOP/s")]
    streams = [rate for name, rate in anchors.items() if name.endswith(" GB/s")]
    if not products or not streams:
        raise ValueError("the grade does not say what the machine was measured at")
    times = {DRAM: needed.bytes / (max(streams) * 1e6)}
    for (number, _), flops in needed.flops.items():
        rate = anchors.get(f"{number.value} TFLOP/s", max(products))
        times[number.value] = flops / (rate * 1e9)
    longest = max(times, key=lambda name: times[name])
    return times[longest], longest
