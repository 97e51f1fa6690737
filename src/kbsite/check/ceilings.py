"""Checks of a grade's ceilings against the accounting of its problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kbsite.check.grades import is_own, same
from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.check.whole import CPU
from kbsite.model.accounting import (
    Ceilings,
    ListedShape,
    Rates,
    ceilings_of_cpu,
    ceilings_of_gpu,
    work,
)
from kbsite.model.finding import Finding
from kbsite.model.grade import Metrics, ShapeMetrics
from kbsite.model.hardware import Hardware
from kbsite.model.problem import Problem
from kbsite.model.status import Status
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun


def ceilings_findings(stored: StoredRun, there: Known) -> Iterator[Finding]:
    """Where the ceilings of a run's grade are not what its problem's formulas come to.

    Only of our own grades, and where the problem is still the one that was graded.
    """
    metrics = stored.metrics
    if not is_own(metrics):
        return
    remarks = Remarks(stored.folder / METRICS)
    if metrics.status is Status.PASSED:
        _other_kind(remarks, metrics, there.hardware)
    problem = there.problem(stored.run.problem, metrics.problem_hash)
    if problem is not None:
        _shapes(remarks, problem, metrics, there.hardware.get(metrics.hardware or ""))
    elif metrics.status is Status.PASSED and there.problems is not None:
        # Of a run's own hash it is told there whether it is the present one.
        present = {stored.run.problem_hash, there.problems.get(stored.run.problem)}
        if not {metrics.problem_hash, None} & present:
            remarks.warn("problem_hash", "graded on another problem than the run worked on")
    yield from remarks.findings()


def _shapes(
    remarks: Remarks, problem: Problem, metrics: Metrics, hardware: Hardware | None
) -> None:
    if metrics.status is Status.PASSED:
        _missing(remarks, problem, metrics)
        _unknown(remarks, metrics, hardware)
    for number, shape in enumerate(metrics.shapes):
        if shape.ceiling_ms is None:
            continue
        try:
            expected = _expected(problem, shape.shape, metrics, hardware)
        except ValueError as error:
            remarks.warn(f"shapes[{number}].ceiling_ms", f"cannot be computed anew: {error}")
            continue
        if expected is None:
            continue
        _compare(remarks, f"shapes[{number}]", shape, expected)
        if metrics.status is Status.PASSED:
            _known(remarks, f"shapes[{number}]", shape.achievable_ms, expected.achievable_ms)


def _missing(remarks: Remarks, problem: Problem, metrics: Metrics) -> None:
    """Say which shapes of the problem a grade leaves out: one on some of them is kept in no run."""
    graded = {shape.shape for shape in metrics.shapes}
    names = [str(one.get("id")) for one in _listed(problem, metrics)]
    missing = ", ".join(name for name in names if name not in graded)
    if missing:
        remarks.error("shapes", f"expected all of the problem's; missing are {missing}")


def _listed(problem: Problem, metrics: Metrics) -> Sequence[ListedShape]:
    return problem.cpu_shapes if metrics.device == CPU else problem.shapes


def _unknown(remarks: Remarks, metrics: Metrics, hardware: Hardware | None) -> None:
    if metrics.device != CPU and metrics.hardware is not None and hardware is None:
        message = f"no hardware is called {metrics.hardware!r}: ceilings cannot be computed anew"
        remarks.warn("hardware", message)


def _other_kind(remarks: Remarks, metrics: Metrics, known: Mapping[str, Hardware]) -> None:
    """Say where a GPU is called as other hardware is than that whose ceiling it is held against."""
    gpu, named = metrics.host.get("gpu"), known.get(metrics.hardware or "")
    # What is called nothing cannot be told from its siblings.
    if gpu is None or named is None or not named.aliases or _is_called(gpu, named):
        return
    other = next((name for name, one in known.items() if _is_called(gpu, one)), None)
    if other is not None:
        message = f"graded on {gpu!r}, which is {other}, not {metrics.hardware}"
        remarks.error("hardware", message)


def _is_called(gpu: str, hardware: Hardware) -> bool:
    return gpu.strip().lower() in {alias.lower() for alias in hardware.aliases}


def _compare(remarks: Remarks, key: str, told: ShapeMetrics, expected: Ceilings) -> None:
    meaning = "what the problem's formulas come to"
    for name in ("ceiling_ms", "floor_ms", "achievable_ms"):
        value, computed = getattr(told, name), getattr(expected, name)
        if value is not None and computed is not None:
            same(remarks, f"{key}.{name}", value, computed, meaning, own=True)
    if told.bound_by != expected.bound_by:
        remarks.error(f"{key}.bound_by", f"expected {expected.bound_by!r}, got {told.bound_by!r}")


def _known(remarks: Remarks, key: str, told: float | None, expected: float | None) -> None:
    """Say where only the grade, or only its anchors, know what is achievable."""
    if (told is None) is not (expected is None):
        shown = "null" if expected is None else f"{expected:.6g}"
        remarks.error(f"{key}.achievable_ms", f"expected {shown} by the anchors, got {told}")


def _expected(
    problem: Problem, name: str, metrics: Metrics, hardware: Hardware | None
) -> Ceilings | None:
    """The least times of a shape; None where they cannot be known here."""
    shape = next((one for one in _listed(problem, metrics) if one.get("id") == name), None)
    if shape is None:
        raise ValueError(f"the problem has no shape {name!r}")
    measured = Rates.of(metrics.anchors)
    if metrics.device == CPU:
        found = ceilings_of_cpu(work(problem, shape), measured)
        if found is None:
            raise ValueError("the grade does not say what the machine was measured at")
        return found
    return None if hardware is None else ceilings_of_gpu(hardware, work(problem, shape), measured)
