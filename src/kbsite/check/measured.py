"""Checks of samples.jsonl, and of the grade that has to follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from kbsite.check.grades import same
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.grade import Clocks, ShapeMetrics
from kbsite.model.samples import Spread
from kbsite.model.status import Status
from kbsite.store.runs import METRICS, StoredRun
from kbsite.store.samples import SAMPLES, read_samples

CLOCKS = ("event", "wall", "slope", "event_slope")
"""Clocks of a shape whose figures follow from samples."""


def samples_findings(stored: StoredRun) -> Iterator[Finding]:
    """What is wrong with a run's raw samples, and where its grade does not follow from them."""
    file = stored.file(SAMPLES)
    own = stored.metrics.outcome is not None
    remarks = Remarks(stored.folder / METRICS)
    rounds: dict[str, list[Spread]] = {}
    if file is not None:
        read = read_samples(file)
        yield from read.findings
        for spread in read.spreads:
            rounds.setdefault(spread.shape, []).append(spread)
    for number, shape in enumerate(stored.metrics.shapes):
        key = f"shapes[{number}]"
        if shape.shape in rounds:
            _shape(remarks, key, shape, rounds[shape.shape], own=own)
        elif own and shape.ms is not None and stored.metrics.status is Status.PASSED:
            remarks.error(f"{key}.ms", f"{SAMPLES} has no samples of {shape.shape!r}")
    yield from remarks.findings()


def _shape(
    remarks: Remarks, key: str, shape: ShapeMetrics, rounds: Sequence[Spread], *, own: bool
) -> None:
    if shape.ms:
        computed = median(spread.time for spread in rounds)
        meaning = f"the median of the times of the rounds in {SAMPLES}"
        same(remarks, f"{key}.ms", shape.ms, computed, meaning, own=own)
    if own and shape.rounds not in (None, len(rounds)):
        message = f"{SAMPLES} has {len(rounds)} rounds of {shape.shape!r}, not {shape.rounds}"
        remarks.error(f"{key}.rounds", message)
    for name, value in _clocks(shape.clocks).items():
        held = [spread.clocks[name] for spread in rounds if name in spread.clocks]
        if held:
            meaning = f"the median over the rounds of the clock {name} in {SAMPLES}"
            same(remarks, f"{key}.clocks.{name}_ms", value, median(held), meaning, own=own)


def _clocks(clocks: Clocks | None) -> Mapping[str, float]:
    if clocks is None:
        return {}
    held = {name: getattr(clocks, f"{name}_ms") for name in CLOCKS}
    return {name: value for name, value in held.items() if value is not None}
