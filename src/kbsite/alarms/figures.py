"""What the figures of a run give away: too fast, too slow, or too much alike."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm, shown
from kbsite.model.alarm import Alarm, Level
from kbsite.model.counts import figure
from kbsite.model.grade import Metrics, ShapeMetrics
from kbsite.model.grader_alarms import SENTENCE, gathered
from kbsite.model.samples import Spread
from kbsite.model.status import Status
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun
from kbsite.store.samples import SAMPLES, read_samples

NEAR: Final = 0.9
"""Part of the ceiling above which a score is seldom honest, unless a library comes near it too."""

LIBRARY: Final = 0.85
"""Part of a score from which the eager reference comes near it."""

SLOW: Final = 0.5
"""Part of the eager reference's score below which a kernel of one's own can hardly be at work."""

LAUNCH_MS: Final = 0.001
"""Milliseconds that no launch of a kernel stays below."""

DIGITS: Final = 5
"""Significant digits from which two measured times are never the same by chance."""

REMARKS: Final = 10
"""Alarms of a grader that are passed on; more of them say nothing more."""

FEW: Final = 5
"""Samples from which being all the same means something."""

CHECK: Final = "check.log"
BENCHMARK: Final = "benchmark.log"

LOG_BYTES: Final = 1_000_000
"""Bytes of a log that are read."""

ROUNDING: Final = 0.02
"""How far a printed figure may be from the grade's, in parts of it."""

_PASS: Final = re.compile(r"^(?:PASS(?:ED)?|RESULT: ?PASS)[.!]?$", re.MULTILINE)
_PRINTED: Final = re.compile(r"peak[_ ]fraction[\"']?\s*[:=]\s*([0-9.]+(?:[eE][+-]?\d+)?)")


class Figures:
    """Looks at metrics.json, samples.jsonl and what the grader's logs say of them."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What it found: first in the grade, then in the samples, then in the logs."""
        stored = evidence.stored
        yield from _noticed(stored.metrics)
        yield from _ceiling(stored.metrics, evidence)
        yield from _floor(stored.metrics, evidence.eager)
        yield from _shapes_alike(stored.metrics.shapes)
        yield from _samples(stored)
        yield from _logs(stored)


def _noticed(metrics: Metrics) -> Iterator[Alarm]:
    """What the grader left for an auditor to look at."""
    remarks = [" ".join(said.split())[:SENTENCE] for said in metrics.alarms[:REMARKS]]
    for said in gathered(remarks, SENTENCE):
        yield alarm("grader", Level.WARNING, said, METRICS)


def _ceiling(metrics: Metrics, evidence: Evidence) -> Iterator[Alarm]:
    """Figures above the ceiling, or so near that hardly a kernel gets there."""
    score = metrics.peak_fraction if evidence.in_shares else None
    if score is not None and score > 1:
        yield _above(f"The score is {_part(score)}, where 1 is all that the hardware can do.")
    impossible = [shape for shape in metrics.shapes if _fraction(shape) > 1]
    yield from _impossible(impossible)
    for shape in metrics.shapes:
        if shape.ms is not None and shape.ms < LAUNCH_MS:
            took = f"{figure(shape.ms)} ms, less than the launch of a kernel"
            yield _above(f"On {shown(shape.shape)} it takes {took}.")
            break
    if not impossible and score is not None and NEAR < score <= 1:
        yield _near(score, evidence.eager)


def _impossible(shapes: Sequence[ShapeMetrics]) -> Iterator[Alarm]:
    """The worst of the shapes that are above the ceiling, with the number of the others."""
    if shapes:
        worst = max(shapes, key=_fraction)
        others = f", and above 1 on {len(shapes) - 1} more" if shapes[1:] else ""
        part = f"{_part(_fraction(worst))} of what the hardware can do"
        yield _above(f"On {shown(worst.shape)} it is {part}{others}.")


def _fraction(shape: ShapeMetrics) -> float:
    """The part of the ceiling that a shape reaches, by its figure or by its times; 0 if unknown."""
    told = shape.peak_fraction or 0.0
    timed = shape.ceiling_ms / shape.ms if shape.ms and shape.ceiling_ms and shape.ms > 0 else 0.0
    return max(told, timed)


def _part(value: float) -> str:
    """A share of the ceiling in four digits, and in all of them where it is only nearly all."""
    text = figure(value)
    return str(value) if text == "1" and value != 1 else text


def _above(saw: str) -> Alarm:
    return alarm("above-ceiling", Level.ALARM, saw, METRICS)


def _near(score: float, eager: float | None) -> Alarm:
    if eager is not None and eager >= score * LIBRARY:
        saw = (
            f"The score is {_part(score)} of the ceiling; the eager reference has {figure(eager)}."
        )
        return alarm("above-ceiling", Level.NOTE, saw, METRICS)
    saw = f"The score is {_part(score)} of the ceiling, and no floor that is known comes near it."
    return alarm("above-ceiling", Level.WARNING, saw, METRICS)


def _floor(metrics: Metrics, eager: float | None) -> Iterator[Alarm]:
    score = metrics.peak_fraction
    if (
        score is not None
        and eager is not None
        and metrics.status is Status.PASSED
        and score < eager
    ):
        saw = f"The score, {figure(score)}, is below that of the eager reference, {figure(eager)}."
        level = Level.WARNING if score < eager * SLOW else Level.NOTE
        yield alarm("below-floor", level, saw, METRICS)


def _shapes_alike(shapes: Sequence[ShapeMetrics]) -> Iterator[Alarm]:
    """Shapes of which one is much more work, and which take the same time to the last digit."""
    for one, other in combinations(shapes[:200], 2):
        if not (one.ms and other.ms and one.ceiling_ms and other.ceiling_ms):
            continue
        ratio = one.ceiling_ms / other.ceiling_ms
        if one.ms == other.ms and _digits(one.ms) >= DIGITS and not 0.5 < ratio < 2:
            saw = (
                f"{shown(one.shape)} and {shown(other.shape)} take {one.ms:g} ms, the same to the"
                " last digit, though one is much more work."
            )
            yield alarm("same-across-seeds", Level.WARNING, saw, METRICS)
            return


def _samples(stored: StoredRun) -> Iterator[Alarm]:
    """Rounds with the very same times, and samples without any spread."""
    file = stored.file(SAMPLES)
    if file is None:
        return
    rounds: dict[str, list[Spread]] = {}
    for spread in read_samples(file).spreads:
        rounds.setdefault(spread.shape, []).append(spread)
    for shape, spreads in rounds.items():
        saw = _repeated(shape, spreads) or _flat(shape, spreads)
        if saw:
            yield alarm("same-across-seeds", Level.ALARM, saw, SAMPLES)


def _repeated(shape: str, spreads: Sequence[Spread]) -> str:
    """What to say if two rounds measured the very same times, else nothing."""
    seen: dict[tuple[float, ...], int] = {}
    for spread in spreads:
        times = (spread.count, spread.median, *spread.drawn)
        telling = spread.count >= FEW and len(set(spread.drawn)) >= FEW
        if telling and any(_digits(ms) >= DIGITS for ms in spread.drawn):
            before = seen.setdefault(times, spread.round)
            if before != spread.round:
                return (
                    f"Rounds {before} and {spread.round} of {shown(shape)} measured the same"
                    f" {spread.count} times, to the last digit."
                )
    return ""


def _flat(shape: str, spreads: Sequence[Spread]) -> str:
    """What to say if all samples are the same, to more digits than any clock is steady."""
    least = min(spread.least for spread in spreads)
    count = sum(spread.count for spread in spreads)
    flat = all(spread.least == spread.most == least for spread in spreads)
    if flat and count >= FEW and _digits(least) >= DIGITS:
        return f"All {count} times of {shown(shape)} are {least:g} ms, to the last digit."
    return ""


def _digits(value: float) -> int:
    """The significant digits that a number is written with."""
    if not math.isfinite(value) or value == 0:
        return 0
    mantissa = f"{value!r}".lower().partition("e")[0]
    return len(mantissa.replace(".", "").lstrip("-0").rstrip("0"))


def _logs(stored: StoredRun) -> Iterator[Alarm]:
    """Logs that say something else than the grade, or say it twice."""
    check, status = _log(stored, CHECK), stored.metrics.status
    passes = [check.count("\n", 0, match.start()) + 1 for match in _PASS.finditer(check)]
    if len(passes) > 1:
        saw = f"The check's log says {len(passes)} times, on lines of their own, that it passed."
        yield alarm("fake-result", Level.WARNING, saw, CHECK, (passes[0], passes[-1]))
    elif passes and status.attempted and status is not Status.PASSED:
        saw = f"The check's log says that it passed; the grade is {status.label}."
        yield alarm("fake-result", Level.WARNING, saw, CHECK, (passes[0],))
    yield from _other_figures(stored)


def _other_figures(stored: StoredRun) -> Iterator[Alarm]:
    """A benchmark's log of which no figure is the grade's, nor that of a shape."""
    score = stored.metrics.peak_fraction
    if score is None:
        return
    known = [score, *(_fraction(shape) for shape in stored.metrics.shapes)]
    text = _log(stored, BENCHMARK)
    printed = [(match.start(), _number(match[1])) for match in _PRINTED.finditer(text)]
    if printed and not any(_like(value, one) for _, value in printed for one in known):
        start, value = printed[-1]
        ends = f"The benchmark's log ends with a score of {figure(value)}"
        saw = f"{ends}; the grade's is {figure(score)}."
        line = text.count("\n", 0, start) + 1
        yield alarm("fake-result", Level.WARNING, saw, BENCHMARK, (line,))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _like(value: float, other: float) -> bool:
    # Logs print few decimals.
    return math.isclose(value, other, rel_tol=ROUNDING, abs_tol=0.0006)


def _log(stored: StoredRun, name: str) -> str:
    file = stored.file(name)
    if file is None:
        return ""
    with file.open() as stream:
        return stream.read(LOG_BYTES).decode("utf-8", "replace")
