"""Grades made by hand, as the grader writes them, to store and to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from bench.grading.setting import Grade
from kbsite.model.grade import (
    Clocks,
    Commitment,
    Isolation,
    Metrics,
    Outcome,
    OutputError,
    Proof,
    ShapeMetrics,
)
from kbsite.model.samples import Samples

GRADED = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
SEED = "5eed" * 16
SHAPES = ("square", "tall")


def shape(name: str, ms: float = 2.0, ceiling: float = 1.0) -> ShapeMetrics:
    """A shape on which all clocks agree within a twentieth."""
    return ShapeMetrics(
        shape=name, ms=ms, interval_ms=(0.99 * ms, 1.01 * ms), ceiling_ms=ceiling, bound_by="bf16",
        floor_ms=0.8 * ceiling, peak_fraction=ceiling / ms, achievable_ms=1.2 * ceiling,
        achievable_fraction=1.2 * ceiling / ms,
        clocks=Clocks(event_ms=0.95 * ms, wall_ms=ms, slope_ms=0.98 * ms, overhead_ms=0.1,
                      event_slope_ms=0.97 * ms, host_ms=0.01 * ms),
        spread=0.002, rounds=2, calls=40, dropped=0,
        errors=(OutputError(output="y", largest=0.31, typical=0.002,
                            quantiles={"0.5": 0.05, "0.99": 0.2, "0.999": 0.25}),),
    )  # fmt: skip


def samples(name: str, number: int, ms: float = 2.0) -> Samples:
    """A round that says of a shape what `shape` says."""
    return Samples(
        round=number, shape=name, ms=(0.99 * ms, ms, 1.01 * ms), event_ms=(0.95 * ms,),
        wall_ms=(0.99 * ms + 0.1, ms + 0.1, 1.01 * ms + 0.1), slope_ms=(0.98 * ms,),
        event_slope_ms=(0.97 * ms,), overhead_ms=(0.1,),
    )  # fmt: skip


def grade(ms: float = 2.0, **metrics: Any) -> Grade:
    """A grade of the toy problem that passed, and follows from its samples."""
    fraction = 1.0 / ms
    made = Metrics(
        format=1, status=Outcome.PASS.status, outcome=Outcome.PASS,
        detail="80 calls in 2 fresh processes were all right.",
        peak_fraction=fraction, interval=(0.99 * fraction, 1.01 * fraction),
        achievable_fraction=1.2 * fraction, ms=ms,
        shapes=tuple(shape(name, ms) for name in SHAPES),
        proofs=(
            Proof(name="dispatched operations", available=True, passed=True, detail="seen: mm"),
            Proof(name="DRAM bytes", available=False, detail="a CPU does not count them"),
        ),
        isolation=Isolation(sandbox="namespaces", level="L2",
                            proven={"network": "the probe connects to its starter"},
                            missing={"limit of memory": "the kernel keeps no account here"}),
        device="cpu", anchors={"copy GB/s": 10.0, "bf16 TFLOP/s": 0.1},
        host={"cpu": "A fast one", "threads": "2"}, problem_hash="a" * 64, solution_hash="b" * 64,
        commitment=Commitment(sha256=sha256(bytes.fromhex(SEED)).hexdigest(), seed=SEED),
        rounds=2, calls_per_round=20, bootstrap_seed=7, stages={"isolation": 1.5, "rounds": 12.25},
        grader="kbsite 1", graded=GRADED,
    )  # fmt: skip
    return Grade(
        metrics=replace(made, **metrics),
        samples=tuple(samples(name, number, ms) for name in SHAPES for number in (1, 2)),
        log="== round-1-1\nhello\n",
    )


def failed(outcome: Outcome, detail: str = "y[0, 3] is 7, expected 1") -> Grade:
    """A grade that ended early."""
    ended = grade(
        outcome=outcome, status=outcome.status, detail=detail, shapes=(), peak_fraction=None,
        interval=None, achievable_fraction=None,
    )  # fmt: skip
    return replace(ended, metrics=replace(ended.metrics, ms=None), samples=())
