"""A run as compact Markdown, for people and agents: facts, verdict, grade, then every step.

Texts are whole up to a bound; beyond it, and in outputs much sooner, the middle is left out with
a count of what is missing, and the file says at its top how much that is. Whatever comes from a
run stands between fences longer than any within it, so that it cannot pass for a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from unicodedata import category

from msgspec import Struct

from kbsite.exports.plain import filled, iso, ordinary, whole
from kbsite.harnesses.lines import dump
from kbsite.model.audit import Earlier, Quote
from kbsite.model.board import Attempt
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Session,
    Thought,
    ToolCall,
    ToolResult,
    Unknown,
)
from kbsite.model.lines import line_span
from kbsite.model.proof import Proof
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.model.usage import Usage


class Bound(Struct, frozen=True):
    """How much of a text is kept: so much of its head, and as much of its tail."""

    lines: int
    characters: int


TEXT = Bound(100, 4_000)
"""What people and the model say, and what a call asks for."""
OUTPUT = Bound(12, 1_000)
"""What tools gave back, and what the CLI put in by itself."""

LONGEST = 2_000
"""Characters of a fact that are shown."""

_TICKS = re.compile("`+")
_ONE_WORD = re.compile(r"[A-Za-z0-9_.-]+")
"""What most names are, and all anchors: it stands between marks as it is."""


class Left(Struct):
    """What is left out."""

    characters: int = 0
    places: int = 0
    rows: int = 0
    pictures: int = 0


def page(told: Transcript | None, attempt: Attempt, proofs: Sequence[Proof] = ()) -> Iterator[str]:
    """The whole file, in pieces that end in line ends: a transcript is never one text.

    `proofs` are those of the audit's quotes; a quote that is not proven by one says so.
    """
    left = Left()
    steps = list(_transcript(told, left)) if told else ["There is no transcript of this run."]
    for line in chain(_head(told, attempt, proofs), _left(told, left), ["", "## Steps", ""], steps):
        yield f"{line}\n"


def _head(told: Transcript | None, attempt: Attempt, proofs: Sequence[Proof]) -> Iterator[str]:
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
        "tokens": _tokens(told.usage if told and told.usage.known else run.usage, told),
        "cost": None if run.cost_usd is None else f"${run.cost_usd:.4f}",
        "origin": run.origin,
    })  # fmt: skip
    yield from (f"- note: {code(note)}" for note in run.notes)
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
    return None if value is None else f"{value:g} s"


def _tokens(usage: Usage, told: Transcript | None) -> str | None:
    counts = {
        "input": usage.input,
        "cache read": usage.cache_read,
        "cache write": usage.cache_write,
        "output": usage.output,
        "of it reasoning": usage.reasoning,
    }
    known = [f"{name} {value:,}" for name, value in counts.items() if value is not None]
    bound = " (a lower bound)" if known and told and told.lower_bound else ""
    return ", ".join(known) + bound or None


def _verdict(attempt: Attempt, proofs: Sequence[Proof]) -> Iterator[str]:
    audit = attempt.audit
    if audit is None:
        yield "Nobody has audited this run."
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
    head = (
        f"Unproven quote, said to be from {code(place)}" if doubt else f"Quote from {code(place)}"
    )
    yield from ["", f"{head}{_aside(quote.label)}:{f' {doubt}' if doubt else ''}"]
    yield fenced(quote.text)


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


def _aside(text: str) -> str:
    return f" ({code(text)})" if text else ""


def _grade(attempt: Attempt) -> Iterator[str]:
    metrics = attempt.metrics
    yield f"**{metrics.status.value}**: {metrics.status.sentence}"
    yield ""
    low_high = metrics.interval
    yield from _facts({
        "peak_fraction": _number(metrics.peak_fraction),
        "interval": f"{low_high[0]:.4g} to {low_high[1]:.4g}" if low_high else None,
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
    return None if value is None else f"{value:.4g}"


def _left(told: Transcript | None, left: Left) -> Iterator[str]:
    """What the file leaves out."""
    if told is None:
        return
    parts = {
        f"{left.characters:,} characters of long texts and outputs, in {left.places:,} places": (
            left.characters
        ),
        f"{left.rows:,} rows of bookkeeping": left.rows,
        f"{left.pictures:,} pictures": left.pictures,
    }
    named = "; ".join(part for part, number in parts.items() if number) or "no row and no text"
    yield from ["", "## Left out", ""]
    yield f"Left out here: {named}; and the CLI's own richer copies of results."
    yield f"All of it is in raw/transcript/: {', '.join(code(name) for name in told.files)}."
    yield "Each step is headed by its number, its place (an anchor of the run's page) and the time."


def _transcript(told: Transcript, left: Left) -> Iterator[str]:
    for log in told.agents:
        if log.id:
            yield f"### Sub-agent {code(log.id)}{_aside(log.title)}, which nothing ties to a call\n"
        yield from _log(log, "", left)
    if told.finish and told.finish.source.file not in told.files:
        title, *blocks = _remark(told.finish, left)
        yield from [f"#### {code(told.finish.source.file)} · {title}", *blocks]


def _log(log: AgentLog, prefix: str, left: Left) -> Iterator[str]:
    """The steps of an agent, and below a call those of the sub-agents that it started."""
    number = 0
    for step in log.steps:
        body = list(_body(step, left))
        if not body:
            left.rows += 1
            continue
        number += 1
        title, *blocks = body
        time = "" if step.elapsed is None else f" · {step.elapsed:.0f} s"
        yield f"#### {prefix}{number} · {code(step.anchor)}{time} · {title}"
        yield from blocks
        yield ""
        for agent in step.agents:
            yield f"### Sub-agent {code(agent.id)}{_aside(agent.title)}, of step {prefix}{number}\n"
            yield from _log(agent, f"{prefix}{number}.", left)
            yield f"### End of sub-agent {code(agent.id)}\n"


def _body(step: Step, left: Left) -> Iterator[str]:
    """The title of a step, then its blocks; nothing for bookkeeping."""
    event = step.event
    match event:
        case Message():
            yield f"{event.role.value}{', put in by the CLI' if event.injected else ''}"
            yield from _block(event.text, OUTPUT if event.injected else TEXT, left)
            yield from _pictures(len(event.images), left)
        case Thought():
            yield "thought" if event.text else "thought, not told"
            yield from _block(event.text, TEXT, left)
        case ToolCall():
            yield f"call of {code(event.tool)}"
            yield from _block(_asked(event), TEXT, left)
            yield from _result(step.result, left)
        case ToolResult():
            yield f"result of a call that is not there{_aside(event.call_id)}"
            yield from _result(event, left)
        case _:
            yield from _remark(event, left)


def _remark(event: Event, left: Left) -> Iterator[str]:
    match event:
        case Notice():
            yield f"notice: {event.topic.value}"
            yield from _block(event.text, TEXT, left)
        case Finish():
            yield f"finish{_aside(event.reason)}"
            yield from _block(event.text, OUTPUT, left)
        case Session(model=model, effort=effort):
            yield "session" + _aside(" ".join(filter(None, [model, effort])))
        case Unknown():
            yield f"row of an unknown type, {code(event.type)}"
            yield from _block(event.raw, OUTPUT, left)
        case Malformed():
            yield f"unreadable: {code(event.reason)}"
            yield from _block(event.text, OUTPUT, left)
        case _:
            return


def _asked(call: ToolCall) -> str:
    """What a call asks for: its arguments, each on its own lines, texts as they are."""
    if isinstance(call.arguments, str):
        return call.arguments
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else dump(value)}"
        for key, value in call.arguments.items()
    )


def _result(result: ToolResult | None, left: Left) -> Iterator[str]:
    if result is None:
        yield "No result came back."
        return
    facts = [
        "an error" if result.is_error else "",
        "" if result.exit_code is None else f"exit code {result.exit_code}",
        "" if result.seconds is None else f"{result.seconds:.3g} s",
        "" if result.output else "empty",
    ]
    yield ", ".join(["Result", *filter(None, facts)]) + ":"
    yield from _block(result.output, OUTPUT, left)
    yield from _pictures(len(result.images), left)


def _pictures(number: int, left: Left) -> Iterator[str]:
    if number:
        left.pictures += number
        yield f"({number} picture{'s' if number > 1 else ''} left out)"


def _block(text: str, bound: Bound, left: Left) -> Iterator[str]:
    if text.strip():
        yield fenced(excerpt(text, bound, left))


def excerpt(text: str, bound: Bound, left: Left) -> str:
    """`text`, or its head and tail with a line between them that counts what is missing."""
    if len(text) <= bound.characters and text.count("\n") < bound.lines:
        return text
    head, tail = _ends(text, bound)
    missing = text[len(head) : len(text) - len(tail)]
    if len(head) + len(tail) >= len(text) or len(missing) < 200:
        return text
    left.characters += len(missing)
    left.places += 1
    count = f"{len(missing):,} characters, {missing.count(chr(10)):,} line ends"
    return f"{head}\n[… {count} left out …]\n{tail}"


def _ends(text: str, bound: Bound) -> tuple[str, str]:
    """As much of both ends as the bound allows, in lines and in characters."""
    head = text[: bound.characters].splitlines(keepends=True)
    tail = text[-bound.characters :].splitlines(keepends=True)
    return "".join(head[: bound.lines]), "".join(tail[-bound.lines :])


def fenced(text: str) -> str:
    """`text` between fences that nothing in it can close."""
    fence = "`" * (_longest_ticks(text) + 1) if "```" in text else "```"
    return f"{fence}text\n{shown(text).rstrip(chr(10))}\n{fence}"


def code(text: str) -> str:
    """`text` on one line, in marks that nothing in it can close."""
    if len(text) <= LONGEST and _ONE_WORD.fullmatch(text):
        return f"`{text}`"
    line = " ".join(shown(text[:LONGEST]).split()) or "(empty)"
    if len(text) > LONGEST:
        line += f" … and {len(text) - LONGEST:,} characters more"
    ticks = "`" * (_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _longest_ticks(text: str) -> int:
    if "`" not in text:
        return 0
    return max(map(len, _TICKS.findall(text)))


def shown(text: str) -> str:
    """`text` with what has no shape of its own, or turns text around, written as an escape."""
    if ordinary(text):
        return text
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # what is odd is not printable, nor is half of a character
    text = whole(text)
    # There are few of them, in a text and at all, and a table is asked for every character.
    for char in set(text) - _EVEN:
        if category(char) in _ODD:
            code = ord(char)
            text = text.replace(char, f"\\u{code:04x}" if code > 255 else f"\\x{code:02x}")
    return text


_EVEN = frozenset("\n\t").union(map(chr, range(0x20, 0x7F)))
_ODD = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Controls, marks of direction and joining, and line ends that only some readers know."""
