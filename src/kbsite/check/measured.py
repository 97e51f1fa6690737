"""Checks of samples.jsonl, and of the grade that has to follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median

from kbsite.check.grades import is_own, same
from kbsite.check.intervals import Drawn
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.grade import Clocks, Metrics, ShapeMetrics
from kbsite.model.samples import Spread
from kbsite.model.status import Status
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun
from kbsite.store.samples import SAMPLES, read_samples

CLOCKS = ("event", "wall", "slope", "event_slope")
"""Clocks of a shape whose figures follow from samples."""


def samples_findings(stored: StoredRun) -> Iterator[Finding]:
    """What is wrong with a run's raw samples, and where its grade does not follow from them."""
    file = stored.file(SAMPLES)
    metrics = stored.metrics
    own = is_own(metrics)
    whole = own and metrics.status is Status.PASSED
    remarks = Remarks(stored.folder / METRICS)
    rounds: dict[str, list[Spread]] = {}
    drawn = Drawn()
    if file is not None:
        read = read_samples(file, drawn.add if whole else None)
        yield from read.findings
        for spread in read.spreads:
            rounds.setdefault(spread.shape, []).append(spread)
    for number, shape in enumerate(metrics.shapes):
        if shape.shape in rounds:
            _shape(remarks, f"shapes[{number}]", shape, rounds[shape.shape], own=own)
    if whole:
        _held(remarks, metrics, rounds)
        drawn.compare(remarks, metrics)
    yield from remarks.findings()


def _held(remarks: Remarks, metrics: Metrics, rounds: Collection[str]) -> None:
    """Say which shapes of the grade, and which of the samples, the other one does not have."""
    for number, shape in enumerate(metrics.shapes):
        if shape.ms is not None and shape.shape not in rounds:
            message = f"{SAMPLES} has no samples of {shape.shape!r}"
            remarks.error(f"shapes[{number}].ms", message)
    for name in rounds:
        if name not in {shape.shape for shape in metrics.shapes}:
            remarks.error("shapes", f"{SAMPLES} has samples of {name!r}, which is not among them")


def _shape(
    remarks: Remarks, key: str, shape: ShapeMetrics, rounds: Sequence[Spread], *, own: bool
) -> None:
    if shape.ms:
        computed = median(spread.time for spread in rounds)
        meaning = f"the median of the times of the rounds in {SAMPLES}"
        same(remarks, f"{key}.ms", shape.ms, computed, meaning, own=own)
    if own:
        _counts(remarks, key, shape, rounds)
    for name, value in _clocks(shape.clocks).items():
        held = [spread.clocks[name] for spread in rounds if name in spread.clocks]
        if held:
            meaning = f"the median over the rounds of the clock {name} in {SAMPLES}"
            same(remarks, f"{key}.clocks.{name}_ms", value, median(held), meaning, own=own)


def _counts(remarks: Remarks, key: str, shape: ShapeMetrics, rounds: Sequence[Spread]) -> None:
    """Say where other rounds were measured, or more calls than were made and not dropped."""
    if shape.rounds not in (None, len(rounds)):
        message = f"{SAMPLES} has {len(rounds)} rounds of {shape.shape!r}, not {shape.rounds}"
        remarks.error(f"{key}.rounds", message)
    if shape.calls is None or shape.dropped is None:
        return
    # How many calls a batch had is not kept; they are two at least.
    timed = sum(spread.single + 2 * spread.batches for spread in rounds)
    if not 0 <= shape.dropped <= shape.calls - timed:
        told = f"{shape.dropped} of {shape.calls} were dropped"
        remarks.error(f"{key}.dropped", f"{SAMPLES} has {timed} timed calls or more; {told}")


def _clocks(clocks: Clocks | None) -> Mapping[str, float]:
    if clocks is None:
        return {}
    held = {name: getattr(clocks, f"{name}_ms") for name in CLOCKS}
    return {name: value for name, value in held.items() if value is not None}
