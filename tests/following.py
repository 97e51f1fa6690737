"""Grades of our own grader made by hand, all of whose figures follow from their samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from statistics import geometric_mean
from typing import Any

from kbsite.model.accounting import Ceilings
from kbsite.model.grade import Commitment, Metrics, Outcome, ShapeMetrics, passed_sentence
from kbsite.model.grader_alarms import shape_alarms
from kbsite.model.samples import Samples
from kbsite.model.secret import bootstrap_seed
from kbsite.model.solution import solution_hash
from kbsite.model.timing import RoundTimes, ShapeTimes, estimate
from tests.conftest import SOLUTION_TEXT

SEED = "5eed" * 16
CALLS = 20
"""Calls of a round on one shape."""

SOLUTION = {"solution.py": SOLUTION_TEXT.encode()}


def following(
    samples: Iterable[Samples],
    ceilings: Mapping[str, float | Ceilings],
    *,
    solution: Mapping[str, bytes] = SOLUTION,
    host_ms: float | None = None,
    calls: int = CALLS,
    **told: Any,
) -> Metrics:
    """What the grader says of a passed solution with these samples, with ceilings by shape.

    Of a ceiling that is a number, what no honest kernel beats is 0.8, what the machine reaches 1.2.
    """
    limits = {name: _limits(one) for name, one in ceilings.items()}
    held: dict[str, list[Samples]] = {name: [] for name in ceilings}
    for one in samples:
        held[one.shape].append(one)
    secret = bytes.fromhex(SEED)
    found = estimate(
        [[RoundTimes.of(one, host_ms) for one in rounds] for rounds in held.values()],
        seed=bootstrap_seed(secret),
    )
    fraction, interval = found.fraction([one.ceiling_ms for one in limits.values()])
    shapes = tuple(
        _shape(name, times, limits[name], (len(held[name]), calls))
        for name, times in zip(held, found.shapes, strict=True)
    )
    rounds = len(next(iter(held.values())))
    return Metrics(**{
        "format": 1, "status": Outcome.PASS.status, "outcome": Outcome.PASS,
        "detail": passed_sentence(len(shapes) * calls * rounds, rounds, fraction, interval),
        "peak_fraction": fraction, "interval": interval, "ms": found.ms, "shapes": shapes,
        "achievable_fraction": geometric_mean(one.achievable_fraction or 0.0 for one in shapes),
        "device": "cuda", "hardware": "gpu-a", "problem_hash": "a" * 64,
        "solution_hash": solution_hash(solution),
        "commitment": Commitment(sha256=sha256(secret).hexdigest(), seed=SEED),
        "rounds": rounds, "calls_per_round": calls, "bootstrap_seed": bootstrap_seed(secret),
        "alarms": tuple(shape_alarms(shapes)), "grader": "kbsite 1", **told,
    })  # fmt: skip


def _shape(
    name: str, times: ShapeTimes, limit: Ceilings, rounds_of_calls: tuple[int, int]
) -> ShapeMetrics:
    rounds, calls = rounds_of_calls
    achievable = limit.achievable_ms or limit.ceiling_ms
    return ShapeMetrics(
        shape=name, ms=times.ms, interval_ms=times.interval, ceiling_ms=limit.ceiling_ms,
        bound_by=limit.bound_by, floor_ms=limit.floor_ms,
        peak_fraction=limit.ceiling_ms / times.ms, achievable_ms=achievable,
        achievable_fraction=achievable / times.ms, clocks=times.clocks, spread=times.spread,
        rounds=rounds, calls=calls * rounds, dropped=0,
    )  # fmt: skip


def _limits(ceiling: float | Ceilings) -> Ceilings:
    if isinstance(ceiling, Ceilings):
        return ceiling
    return Ceilings(
        ceiling_ms=ceiling, bound_by="bf16", floor_ms=0.8 * ceiling, achievable_ms=1.2 * ceiling
    )
