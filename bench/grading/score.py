"""From what the rounds measured to the score, and what the clocks and the ceilings say to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median, quantiles

from bench.clocks import disagreeing
from bench.devices.device import Agreement
from bench.grading.failures import Failure
from bench.grading.on_shape import Subject
from bench.grading.rounds import Round
from bench.grading.times import Times
from bench.problems import Shape
from kbsite.model.accounting import Ceilings
from kbsite.model.grade import (
    IMPOSSIBLE,
    Clocks,
    Outcome,
    OutputError,
    ShapeMetrics,
    passed_sentence,
)
from kbsite.model.grader_alarms import alarms
from kbsite.model.samples import Samples
from kbsite.model.timing import RoundTimes, ShapeTimes, estimate
from kbsite.model.timing import Times as Estimate

FEWEST_SINGLE, FEWEST_IN_BATCHES = 8, 6
"""Calls of a shape, over all rounds, below which clocks that disagree are held against nobody."""

FEWEST_TO_SPREAD = 4
"""Samples below which nothing is said of how they are spread."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What a solution that was right everywhere is scored; nothing where it was not."""

    peak_fraction: float | None = None
    interval: tuple[float, float] | None = None
    achievable_fraction: float | None = None
    ms: float | None = None
    shapes: tuple[ShapeMetrics, ...] = ()
    alarms: tuple[str, ...] = ()
    bootstrap_seed: int | None = None
    sentence: str = ""


def score(rounds: Sequence[Round], subject: Subject) -> Scored:
    """The score of rounds that were right; Failure where clocks or physics speak against them."""
    shapes = _measured(rounds, subject)
    seed = subject.secret.bootstrap_seed
    late = subject.setting.device.agreement.late_ms
    found = _estimate([[_times(one, shape, late) for one in rounds] for shape in shapes], seed)
    limits = [subject.ceiling(shape) for shape in shapes]
    for shape, times, limit in zip(shapes, found.shapes, limits, strict=True):
        agreement = _agreement(rounds, shape, subject)
        least = _least(rounds, shape, times.clocks) if agreement.every else None
        _refuse(shape, times, limit, disagreeing(times.clocks, agreement, least))
    fraction, interval = found.fraction([limit.ceiling_ms for limit in limits])
    metrics = [
        _metrics(shape, times, limit, [one.shapes[shape.id] for one in rounds])
        for shape, times, limit in zip(shapes, found.shapes, limits, strict=True)
    ]
    return Scored(
        peak_fraction=fraction,
        interval=interval,
        achievable_fraction=_achievable(metrics),
        ms=found.ms,
        shapes=tuple(metrics),
        alarms=tuple(alarms(metrics, subject.setting.library_fraction)),
        bootstrap_seed=seed,
        sentence=_sentence(rounds, fraction, interval),
    )


def _achievable(shapes: Sequence[ShapeMetrics]) -> float | None:
    known = [one.achievable_fraction for one in shapes if one.achievable_fraction]
    return geometric_mean(known) if known else None


def _measured(rounds: Sequence[Round], subject: Subject) -> list[Shape]:
    listed = subject.problem.shapes(subject.setting.device.name)
    return [shape for shape in listed if shape.id in rounds[0].shapes]


def _agreement(rounds: Sequence[Round], shape: Shape, subject: Subject) -> Agreement:
    """How far clocks may be apart on a shape: what the device allows, or its noise.

    Noise of a move is shared by the calls of a batch.
    """
    allowed = subject.setting.device.agreement
    noise = _noise(rounds, shape)
    more = min(batch.calls for one in rounds for batch in one.shapes[shape.id].batches) - 1
    return replace(
        allowed,
        absolute_ms=max(allowed.absolute_ms, noise / more),
        late_ms=max(allowed.late_ms, noise),
    )


def _sentence(rounds: Sequence[Round], fraction: float, interval: tuple[float, float]) -> str:
    calls = sum(times.calls for one in rounds for times in one.shapes.values())
    return passed_sentence(calls, len(rounds), fraction, interval)


def _estimate(shapes: Sequence[Sequence[RoundTimes]], seed: int) -> Estimate:
    try:
        return estimate(shapes, seed=seed)
    except ValueError as error:
        raise Failure(Outcome.IMPOSSIBLE_TIME, f"the clocks show no time: {error}") from error


def _times(one: Round, shape: Shape, late: float) -> RoundTimes:
    """What is kept of a round in samples.jsonl, so that it comes to the same for any reader."""
    return RoundTimes.of(_samples(one, shape, late), median(one.shapes[shape.id].host))


def _noise(rounds: Sequence[Round], shape: Shape) -> float:
    """How far the middle half of the parent's times is spread, milliseconds; median of the rounds.

    Of single and of empty calls together: on a busy machine clocks that agree are that far apart.
    Whoever spreads them on purpose only hides that a clock is too quick, and it is not that one
    which counts.
    """
    return median(
        _middle_half(one.shapes[shape.id].wall) + _middle_half(one.empty.wall) for one in rounds
    )


def _middle_half(times: Sequence[float]) -> float:
    if len(times) < FEWEST_TO_SPREAD:
        return 0.0
    low, _, high = quantiles(times, n=4)
    return high - low


def _least(rounds: Sequence[Round], shape: Shape, clocks: Clocks) -> Clocks:
    """What each clock showed at least: what is done on purpose is done in every call."""
    held = [(one.shapes[shape.id], one.empty) for one in rounds]
    return replace(
        clocks,
        event_ms=min(min(times.event) for times, _ in held),
        wall_ms=min(min(times.wall) - median(empty.wall) for times, empty in held),
        slope_ms=min(min(times.slopes(empty.late)) for times, empty in held),
        event_slope_ms=min(min(times.event_slopes) for times, _ in held),
    )


def doubted(failure: Failure, rounds: Sequence[Round]) -> Failure:
    """A failure as it is told: of a few calls no clock tells whether it was the solution."""
    if failure.outcome is not Outcome.CLOCK_MISMATCH:
        return failure
    shapes = rounds[0].shapes if rounds else {}
    held = [[one.shapes[name] for one in rounds] for name in shapes]
    single = min((sum(len(times.wall) for times in one) for one in held), default=0)
    in_batches = min((sum(b.calls for t in one for b in t.batches) for one in held), default=0)
    if single >= FEWEST_SINGLE and in_batches >= FEWEST_IN_BATCHES:
        return failure
    return Failure(
        Outcome.UNSTABLE_CLOCKS,
        f"{single} single calls and {in_batches} in batches are too few to tell whether that was "
        f"the solution or another program: grade it with more calls or rounds. {failure.detail}",
    )


def _refuse(shape: Shape, times: ShapeTimes, limit: Ceilings, said: str | None) -> None:
    if said:
        raise Failure(Outcome.CLOCK_MISMATCH, f"{said} (shape {shape.id})")
    if times.ms < IMPOSSIBLE * limit.floor_ms:
        raise Failure(
            Outcome.IMPOSSIBLE_TIME,
            f"{times.ms:.4g} ms, but the hardware takes {limit.floor_ms:.4g} ms at least "
            f"(shape {shape.id})",
        )


def _metrics(
    shape: Shape, times: ShapeTimes, limit: Ceilings, rounds: Sequence[Times]
) -> ShapeMetrics:
    achievable = limit.achievable_ms
    return ShapeMetrics(
        shape=shape.id,
        ms=times.ms,
        interval_ms=times.interval,
        ceiling_ms=limit.ceiling_ms,
        bound_by=limit.bound_by,
        floor_ms=limit.floor_ms,
        peak_fraction=limit.ceiling_ms / times.ms,
        achievable_ms=achievable,
        achievable_fraction=achievable / times.ms if achievable else None,
        clocks=times.clocks,
        spread=times.spread,
        rounds=len(rounds),
        calls=sum(one.calls for one in rounds),
        dropped=sum(one.dropped for one in rounds),
        errors=tuple(_worst(rounds)),
    )


def _worst(rounds: Sequence[Times]) -> list[OutputError]:
    """The worst of each output over all calls."""
    names = {name: None for one in rounds for name in one.errors}
    return [
        _worst_of(name, [error for one in rounds for error in one.errors.get(name, ())])
        for name in names
    ]


def _worst_of(name: str, errors: Sequence[OutputError]) -> OutputError:
    typical = [error.typical for error in errors if error.typical is not None]
    keys = {key: None for error in errors for key in error.quantiles}
    return OutputError(
        output=name,
        largest=max(error.largest for error in errors),
        typical=max(typical, default=None),
        quantiles={key: max(error.quantiles.get(key, 0.0) for error in errors) for key in keys},
    )


def raw_samples(rounds: Sequence[Round], subject: Subject) -> tuple[Samples, ...]:
    """What was measured of each shape in each round, whatever it comes to.

    Without what shows no time: of a solution that does nothing, a clock may be behind.
    """
    late = subject.setting.device.agreement.late_ms
    held = [_samples(one, shape, late) for shape in _measured(rounds, subject) for one in rounds]
    return tuple(one for one in held if one.time_ms > 0)


def _samples(one: Round, shape: Shape, late: float) -> Samples:
    times = one.shapes[shape.id]
    overhead = median(one.empty.wall)
    slopes = times.slopes(one.empty.late)
    clocks = {
        "event": times.event,
        "wall": [wall - overhead - late for wall in times.wall],
        "slope": slopes,
    }
    slowest = max(clocks.values(), key=median)
    return Samples(
        round=one.number,
        shape=shape.id,
        ms=tuple(slowest),
        event_ms=tuple(times.event),
        wall_ms=tuple(times.wall),
        slope_ms=tuple(slopes),
        event_slope_ms=tuple(times.event_slopes),
        overhead_ms=one.empty.wall,
        late_ms=late,
        delay_ms=one.empty.late.delay_ms,
        drift=one.empty.late.drift,
    )
