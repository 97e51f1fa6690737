"""A grade in plain words, one screen: what `bench grade` prints and a run keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbsite.model.grade import Metrics, Proof, ShapeMetrics

HEADS = (
    "shape", "ms", "95 %", "ceiling", "by", "peak", "floor", "event", "wall", "slope", "apart",
    "spread", "calls", "error",
)  # fmt: skip
LEFT = frozenset(("shape", "by"))
"""Columns of words."""

MOST_REASONS = 3
"""Holes of a sandbox that are explained; of more, the names are told."""

MOST_ROWS = 24
"""Shapes that fit a screen."""


def sentence(metrics: Metrics) -> str:
    """What the grader found, in one sentence, and what exactly, in a second one."""
    outcome = metrics.outcome.sentence if metrics.outcome else metrics.status.sentence
    return f"{outcome} {metrics.detail}" if metrics.detail else outcome


def headline(problem: str, metrics: Metrics) -> str:
    """Problem, outcome and score in one line."""
    said = metrics.outcome.value if metrics.outcome else metrics.status.value.upper()
    told = [f"{problem}: {said}"]
    if metrics.peak_fraction is not None:
        told.append(f"peak_fraction {metrics.peak_fraction:.3f}{_interval(metrics)}")
    if metrics.achievable_fraction is not None:
        told.append(f"achievable_fraction {metrics.achievable_fraction:.3f}")
    if metrics.ms is not None:
        told.append(f"{metrics.ms:.4g} ms")
    return " · ".join(told)


def _interval(metrics: Metrics) -> str:
    if metrics.interval is None:
        return ""
    low, high = metrics.interval
    return f" ({low:.3f} to {high:.3f})"


def lines(problem: str, metrics: Metrics) -> Iterator[str]:
    """The whole report."""
    yield headline(problem, metrics)
    yield sentence(metrics)
    yield _how(metrics)
    if metrics.shapes:
        yield ""
        yield from table(HEADS, [_row(shape) for shape in metrics.shapes[:MOST_ROWS]], LEFT)
        if len(metrics.shapes) > MOST_ROWS:
            yield f"and {len(metrics.shapes) - MOST_ROWS} more shapes"
        yield ""
    for alarm in metrics.alarms:
        yield f"! {alarm}"
    for proof in metrics.proofs:
        yield _proof(proof)
    yield from _missing(metrics)
    if metrics.stages:
        spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in metrics.stages.items())
        yield f"took {sum(metrics.stages.values()):.1f} s: {spent}"


def _missing(metrics: Metrics) -> Iterator[str]:
    """What the sandbox does not keep, with why where that is little."""
    missing = metrics.isolation.missing if metrics.isolation else {}
    if len(missing) > MOST_REASONS:
        yield f"not isolated: {', '.join(missing)}"
        return
    for name, why in missing.items():
        yield f"not isolated: {name}: {why}"


def _how(metrics: Metrics) -> str:
    told = [f"on {metrics.hardware or metrics.device or 'unknown hardware'}"]
    if metrics.rounds and metrics.calls_per_round:
        told.append(f"{metrics.rounds} fresh processes x {metrics.calls_per_round} calls a shape")
    if metrics.isolation:
        told.append(f"isolated by {metrics.isolation.sandbox} ({metrics.isolation.level})")
    return ", ".join(told)


def _proof(proof: Proof) -> str:
    if not proof.available:
        return f"proof of work, {proof.name}: not available: {proof.detail}"
    held = "not told" if proof.passed is None else "passed" if proof.passed else "failed"
    return f"proof of work, {proof.name}: {held}" + (f": {proof.detail}" if proof.detail else "")


def _row(shape: ShapeMetrics) -> list[str]:
    clocks = shape.clocks
    low_high = shape.interval_ms
    worst = max((error.largest for error in shape.errors), default=None)
    return [
        shape.shape,
        _number(shape.ms),
        f"{low_high[0]:.4g} to {low_high[1]:.4g}" if low_high else "-",
        _number(shape.ceiling_ms),
        shape.bound_by or "-",
        _number(shape.peak_fraction, ".3f"),
        _number(shape.floor_ms),
        *(_number(getattr(clocks, f"{name}_ms", None)) for name in ("event", "wall", "slope")),
        _share(clocks.disagreement if clocks else None),
        _share(shape.spread),
        str(shape.calls or "-"),
        _share(worst),
    ]


def _number(value: float | None, form: str = ".4g") -> str:
    return "-" if value is None else f"{value:{form}}"


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 100:.2g} %" if abs(value) < 0.995 else f"{value * 100:.0f} %"


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: frozenset[str]
) -> Iterator[str]:
    """Rows below their heads, in columns; figures stand at the right but in those named `left`."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = [
            cell.ljust(width) if head in left else cell.rjust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        ]
        yield "  ".join(cells).rstrip()
