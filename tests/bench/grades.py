"""Grades made by hand, as the grader writes them, to store and to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bench.grading.setting import Grade
from kbsite.model.grade import Isolation, Outcome, OutputError, Proof
from kbsite.model.samples import Samples
from tests.following import CALLS, SOLUTION, following

GRADED = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
SHAPES = ("square", "tall")
BESIDE = {"kernel.cu": b"// fast\n", "inner/__init__.py": b""}
"""What lies beside the solution that these are the grades of, which is that of any run of tests."""
ERRORS = (
    OutputError(
        output="y",
        largest=0.31,
        typical=0.002,
        quantiles={"0.5": 0.05, "0.99": 0.2, "0.999": 0.25},
    ),
)


def samples(name: str, number: int, ms: float = 2.0) -> Samples:
    """A round in which the grader's clock is the slowest one, and all agree within a twentieth.

    The second of three is slower than the first, so that two spread by 0.2 %.
    """
    ms *= 1 + 0.002 / 2**0.5 * (0, -1, 1)[number % 3]
    return Samples(
        round=number, shape=name, ms=(0.99 * ms, ms, 1.01 * ms), event_ms=(0.95 * ms,),
        wall_ms=(0.99 * ms + 0.1, ms + 0.1, 1.01 * ms + 0.1), slope_ms=(0.98 * ms,),
        event_slope_ms=(0.97 * ms,), overhead_ms=(0.1,),
    )  # fmt: skip


def grade(ms: float = 2.0, rounds: int = 2, calls: int = CALLS, **metrics: Any) -> Grade:
    """A grade of the toy problem that passed, and follows from its samples."""
    measured = tuple(samples(name, at, ms) for name in SHAPES for at in range(1, rounds + 1))
    made = following(
        measured, dict.fromkeys(SHAPES, 1.0), host_ms=0.01 * ms, calls=calls,
        solution={**SOLUTION, **BESIDE},
        proofs=(
            Proof(name="dispatched operations", available=True, passed=True, detail="seen: mm"),
            Proof(name="DRAM bytes", available=False, detail="a CPU does not count them"),
        ),
        isolation=Isolation(sandbox="namespaces", level="L2",
                            proven={"network": "the probe connects to its starter"},
                            missing={"limit of memory": "the kernel keeps no account here"}),
        device="cpu", hardware=None, anchors={"copy GB/s": 10.0, "bf16 TFLOP/s": 0.1},
        host={"cpu": "A fast one", "threads": "2"}, stages={"isolation": 1.5, "rounds": 12.25},
        graded=GRADED,
    )  # fmt: skip
    shapes = tuple(replace(shape, errors=ERRORS) for shape in made.shapes)
    return Grade(
        metrics=replace(made, **{"shapes": shapes, **metrics}),
        samples=measured,
        log="== round-1-1\nhello\n",
    )


def failed(outcome: Outcome, detail: str = "y[0, 3] is 7, expected 1") -> Grade:
    """A grade that ended early."""
    ended = grade(
        outcome=outcome, status=outcome.status, detail=detail, shapes=(), peak_fraction=None,
        interval=None, achievable_fraction=None,
    )  # fmt: skip
    return replace(ended, metrics=replace(ended.metrics, ms=None), samples=())
