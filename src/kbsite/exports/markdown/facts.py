"""What is recorded of a run: its facts, the verdict on it with quotes, and its grade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from kbsite.exports.markdown.fences import aside, code, fenced
from kbsite.exports.plain import filled, iso
from kbsite.model.audit import Earlier, Quote
from kbsite.model.board import Attempt
from kbsite.model.config import canary_line
from kbsite.model.counts import between, figure, small
from kbsite.model.lines import line_span
from kbsite.model.proof import Proof
from kbsite.model.run import Run
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage, of_run


def head(
    told: Transcript | None, attempt: Attempt, proofs: Sequence[Proof], canary: str
) -> Iterator[str]:
    """The lines above the steps."""
    run = attempt.run
    yield f"# {code(run.problem)} by {code(run.contender.label)}"
    yield ""
    yield from _facts({
        "run": run.id,
        "board": run.board,
        "hardware": run.hardware,
        "harness version": run.harness_version,
        "started": iso(run.started),
        "took": _seconds(run.elapsed_seconds),
        "budget": _seconds(run.budget_seconds),
        "ended": run.end_reason.sentence,
        "tokens": _tokens(of_run(told.usage, run.usage) if told else run.usage, told),
        "cost": _cost(run, told),
        "origin": run.origin,
    })  # fmt: skip
    yield from (f"- note: {code(note)}" for note in run.notes)
    yield from (f"- {line}" for line in [canary_line(canary)] if line)
    yield from [
        "",
        "## Verdict",
        "",
        *_verdict(attempt, proofs),
        "",
        "## Grade",
        "",
        *_grade(attempt),
    ]


def _facts(facts: Mapping[str, str | None]) -> Iterator[str]:
    return (f"- {name}: {code(str(value))}" for name, value in filled(facts).items())


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{figure(value, 6)} s"


def _dollars(value: float | None) -> str | None:
    if value is None:
        return None
    return f"${small(value)}" if 0 < value < 0.00095 else f"${value:.4f}"


def _cost(run: Run, told: Transcript | None) -> str | None:
    cost = told.cost_usd if told and run.cost_usd is None else run.cost_usd
    dollars = _dollars(cost)
    return f"{dollars} (a lower bound)" if dollars and told and told.lower_bound else dollars


def _tokens(usage: Usage, told: Transcript | None) -> str | None:
    counts = {
        "input": usage.input,
        "cache read": usage.cache_read,
        "cache write": usage.cache_write,
        "of it for an hour": usage.cache_write_1h or None,
        "output": usage.output,
        "of it reasoning": usage.reasoning,
    }
    known = [f"{name} {value:,}" for name, value in counts.items() if value is not None]
    bound = " (a lower bound)" if known and told and told.lower_bound else ""
    return ", ".join(known) + bound or None


def _verdict(attempt: Attempt, proofs: Sequence[Proof]) -> Iterator[str]:
    audit = attempt.audit
    if audit is None:
        yield "No verdict on this run is known."
        return
    yield f"**{audit.verdict.value}**: {audit.verdict.sentence}"
    yield ""
    yield from _facts({
        "summary": audit.summary,
        "implication": audit.implication,
        "auditor": audit.auditor,
        "date": audit.date.isoformat() if audit.date else None,
        "origin": audit.origin,
        "in the ranking": "counts" if audit.counts else "does not count",
        "validity": audit.validity.value if audit.validity else None,
        "measurement": audit.measurement.value if audit.measurement else None,
        "provenance": audit.provenance.value if audit.provenance else None,
        "leak": audit.leak,
    })  # fmt: skip
    for quote, proof in zip_longest(audit.quotes, proofs[: len(audit.quotes)]):
        yield from _quote(quote, proof)
    for earlier in audit.history:
        yield from _earlier(earlier)


def _quote(quote: Quote, proof: Proof | None) -> Iterator[str]:
    lines = line_span(quote.lines) or quote.event
    place = f"{quote.file}:{lines}" if lines else quote.file
    doubt = _UNCHECKED if proof is None else "" if proof.proven else proof.state.sentence
    begin = (
        f"Unproven quote, said to be from {code(place)}" if doubt else f"Quote from {code(place)}"
    )
    yield from ["", f"{begin}{aside(quote.label)}:{f' {doubt}' if doubt else ''}"]
    yield fenced((proof.quote if proof else quote).text)


_UNCHECKED = "Nobody held it against the file."


def _earlier(earlier: Earlier) -> Iterator[str]:
    yield from ["", f"Before {earlier.replaced.isoformat()}: **{earlier.verdict.value}**", ""]
    yield from _facts({
        "summary": earlier.summary,
        "auditor": earlier.auditor,
        "date": earlier.date.isoformat() if earlier.date else None,
        "replaced by": earlier.by,
        "why": earlier.why,
    })  # fmt: skip


def _grade(attempt: Attempt) -> Iterator[str]:
    metrics = attempt.metrics
    yield f"**{metrics.status.value}**: {metrics.status.sentence}"
    yield ""
    low_high = metrics.interval
    yield from _facts({
        "peak_fraction": _number(metrics.peak_fraction),
        "interval": between(low_high, _figure) if low_high else None,
        "outcome": metrics.outcome.value if metrics.outcome else None,
        "detail": metrics.detail,
        "alarms of the grader": "; ".join(metrics.alarms[:20]) or None,
        "grader": metrics.grader,
    })  # fmt: skip
    for shape in metrics.shapes:
        known = {
            "ms": _number(shape.ms),
            "ceiling ms": _number(shape.ceiling_ms),
            "peak_fraction": _number(shape.peak_fraction),
        }
        told = ", ".join(f"{name} {value}" for name, value in filled(known).items())
        yield f"- shape {code(shape.shape)}: {told or 'not measured'}"


def _number(value: float | None) -> str | None:
    """Four digits of a figure, and all of them of a share that is only nearly 1."""
    return None if value is None else _figure(value)


def _figure(value: float) -> str:
    text = figure(value)
    return str(value) if text == "1" and value != 1 else text
