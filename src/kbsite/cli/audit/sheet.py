"""A run's dossier as lines for a terminal, each section in the order in which one judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from kbsite.auditing.dossier import Dossier
from kbsite.auditing.moves import Move, Moves
from kbsite.auditing.quoting import address
from kbsite.cli.audit.code import marks, sources
from kbsite.cli.audit.printing import (
    as_line,
    columns,
    place,
    safe,
    score_of,
    titled,
    toned,
    wrapped,
)
from kbsite.model.alarm import Alarm
from kbsite.model.counts import figure
from kbsite.model.proof import Proof
from kbsite.model.status import Tone
from kbsite.model.trajectory import Point, PointKind
from kbsite.pages.costs import in_words
from kbsite.pages.facts import count, duration, elapsed, interval, moment, score, size
from kbsite.store.run_folders import AUDIT, SOLUTION

MOVES, FILES, SHAPES = 300, 60, 60
"""Lines of a section; what is more is counted."""

SAID = 600
"""Characters of the CLI's last words."""


def sheet(held: Dossier, *, colour: bool) -> Iterator[str]:
    """All of it, line by line; the sources in colours where they will be seen."""
    yield from _head(held)
    for title, section in _SECTIONS.items():
        lines = list(section(held))
        if lines:
            yield titled(title)
            yield from lines
    yield from sources(held.stored, marks(held.alarms, held.proofs), colour=colour)
    yield titled("files, as `kbsite audit quote` takes them")
    yield from _files(held)
    yield titled("next")
    yield from _next(held)


def _head(held: Dossier) -> Iterator[str]:
    run = held.stored.run
    yield as_line(run.id)
    attempts = [one.run.id for one in held.site.attempts.get(run.id, ())]
    told = f"{run.board} / {run.problem} / {run.contender.label}"
    if len(attempts) > 1:
        told += f" / attempt {attempts.index(run.id) + 1} of {len(attempts)}"
    yield from wrapped(safe(told))
    yield f"  {place(held.stored.folder)}"
    due = "; ".join(held.due)
    if held.refused:
        yield from wrapped(safe(f"not on its board: {held.refused}"))
    yield from wrapped(f"due for an audit: {due}" if due else "nothing asks for an audit of it")


def _facts(held: Dossier) -> Iterator[str]:
    run = held.stored.run
    budget = "" if run.budget_seconds is None else f" of {duration(run.budget_seconds)}"
    end = run.end_reason.sentence
    if run.exit_code is not None:
        end += f" Exit code {run.exit_code}."
    few = held.transcript is not None and held.transcript.lower_bound
    facts = {
        "started": moment(run.started),
        "took": f"{duration(run.elapsed_seconds)}{budget}",
        "end": end,
        "the CLI said": _finish(held),
        "tokens": _tokens(held),
        "cost": in_words(held.site.cost(run, held.transcript), few=few),
        "hardware": run.hardware or "",
        "harness": f"{run.harness} {run.harness_version or ''}",
        "origin": run.origin or "",
        "transcript": _transcript(held),
    }
    for name, value in facts.items():
        if value.strip():
            yield from _fact(name, value)
    for note in run.notes:
        yield from _fact("note", note)
    for finding in held.stored.findings:
        yield from _fact("wrong", finding.text)


def _fact(name: str, value: str) -> Iterator[str]:
    first, *rest = list(wrapped(safe(value), 16)) or [""]
    yield f"  {name:<14}{first[16:]}"
    yield from rest


def _finish(held: Dossier) -> str:
    finish = held.transcript.finish if held.transcript else None
    told = ": ".join(filter(None, (finish.reason, finish.text))) if finish else ""
    return told if len(told) <= SAID else f"{told[:SAID]}…"


def _tokens(held: Dossier) -> str:
    """Those that its transcript tells, as on its page; else those that were counted."""
    shown, used = held.transcript, held.stored.run.usage
    bound = ""
    if shown is not None and shown.usage.known:
        used, bound = shown.usage, ", a lower bound" if shown.lower_bound else ""
    return f"{count(used.sent)} sent, {count(used.output)} generated{bound}" if used.known else ""


def _transcript(held: Dossier) -> str:
    shown = held.transcript
    if shown is None:
        return "none"
    calls = shown.kinds.get("call", 0)
    return f"{shown.title}: {sum(shown.kinds.values())} events, {calls} calls"


def _grade(held: Dossier) -> Iterator[str]:
    metrics = held.stored.metrics
    told = f"{metrics.status.label}: {metrics.status.sentence}"
    if metrics.outcome:
        told = f"{metrics.outcome.value}: {metrics.outcome.sentence}"
    yield from (toned(line, metrics.status.tone) for line in wrapped(told))
    yield from wrapped(safe(metrics.detail or ""))
    for said in metrics.alarms[:SHAPES]:
        yield from (toned(line, Tone.WARN) for line in wrapped(f"! {safe(said)}"))
    yield from columns(list(_beside_floors(held)))
    if metrics.shapes:
        shapes = [
            (safe(one.shape), _figure(one.ms), _figure(one.ceiling_ms), score(one.peak_fraction))
            for one in metrics.shapes[:SHAPES]
        ]
        yield ""
        yield from columns([("shape", "ms", "ceiling ms", "score"), *shapes])
        yield from _more(len(metrics.shapes) - SHAPES, "shapes")


def _beside_floors(held: Dossier) -> Iterator[tuple[str, str, str]]:
    """The run's score with its interval, and each floor's with how many times it that is."""
    metrics = held.stored.metrics
    own, around = metrics.peak_fraction, ""
    if metrics.interval:
        around = interval(metrics.interval)
    yield "this run", score_of(held.attempt), around
    for floor in held.floors:
        known = floor.peak_fraction
        times = f"{own / known:.2f} times it" if own and known else ""
        yield floor.kind.label, score(known) or "no score", times


def _figure(value: float | None) -> str:
    return "" if value is None else figure(value)


def _audit(held: Dossier) -> Iterator[str]:
    audit = held.stored.audit
    if audit is None:
        return
    verdict = audit.verdict
    told = f"{verdict.glyph} {verdict.value}: {verdict.sentence}"
    yield from (toned(line, verdict.tone) for line in wrapped(told))
    yield from _fact("summary", audit.summary)
    yield from _fact("implication", audit.implication or "none")
    day = audit.date.isoformat() if audit.date else "an unknown day"
    counts = "it counts in the ranking" if audit.counts else "it does not count in the ranking"
    yield from _fact("by", f"{audit.auditor}, {day}; {counts}")
    judged = {
        "validity": audit.validity, "measurement": audit.measurement,
        "provenance": audit.provenance,
    }  # fmt: skip
    for name, value in judged.items():
        yield from _fact(name, value.value) if value else ()
    yield from _fact("leak", audit.leak) if audit.leak else ()
    for proof in held.proofs:
        yield from _quote(proof)
    for earlier in audit.history:
        told = f"{earlier.verdict.value} until {earlier.replaced}, changed by {earlier.by}"
        yield from _fact("before", f"{told}: {earlier.why}")


def _quote(proof: Proof) -> Iterator[str]:
    quote = proof.quote
    state = "proven" if proof.proven else proof.state.sentence
    if proof.lines or proof.event:
        state += f" It stands in {replace(quote, lines=proof.lines, event=proof.event).place}."
    yield from _fact("quote", ": ".join(filter(None, [address(quote), quote.label, state])))


def _alarms(held: Dossier) -> Iterator[str]:
    for alarm in held.alarms:
        where = f"  {alarm_place(alarm)}" if alarm.file or alarm.other else ""
        yield toned(f"  {alarm.level.value:<9}{alarm.kind}{where}", alarm.level.tone)
        yield from wrapped(safe(f"{alarm.saw} {alarm.look}"), 11)


def alarm_place(alarm: Alarm) -> str:
    """Where an alarm points, as `quote` takes it where that is in the run itself."""
    other = f"(other run: {alarm.other})" if alarm.other else ""
    return safe(f"{alarm.span} {other}")


def _moves(held: Dossier) -> Iterator[str]:
    found = held.moves
    if held.transcript is None:
        return
    main = main_file(found)
    if not found.held:
        yield "  The transcript tells of no change of solution.py and of no score."
    else:
        yield "  Scores are what the agent saw. @L12 is short for"
        yield f"  {as_line(main)}@L12"
    for move in found.held[:MOVES]:
        yield _move(move, main)
    yield from _more(len(found.held) - MOVES, "steps")
    if found.repeats:
        yield f"  {found.repeats} checks and benchmarks that told nothing new are left out."


def main_file(found: Moves) -> str:
    """The file of the transcript that most of the moves stand in."""
    files = Counter(move.address.rpartition("@")[0] for move in found.held)
    return files.most_common(1)[0][0] if files else ""


def _move(move: Move, main: str) -> str:
    point = move.point
    when = "" if point.elapsed is None else elapsed(point.elapsed)
    where = move.address.removeprefix(main)
    if point.kind is PointKind.EDIT:
        lines = "unknown" if move.lines is None else f"{move.lines} lines"
        told = lines if not move.grown else f"{lines} ({move.grown:+})"
    else:
        told = _told(point) + (f" ({move.gain:+.3f})" if move.gain is not None else "")
    text = f"  {when:>7} {where:<10} {point.kind.value:<9} {told:<16} "
    return safe_line(text, point.text)


def safe_line(head: str, text: str) -> str:
    """A line that starts with aligned columns and ends with a text of others, shortened."""
    room = max(20, 80 - len(head))
    flat = safe(text)
    return as_line(head) + (flat if len(flat) <= room else f"{flat[: room - 1]}…")


def _told(point: Point) -> str:
    after = " ✗" if point.rejected else ""
    if point.score is not None:
        return f"{score(point.score)}{after}"
    if point.speedup is not None:
        return f"{point.speedup:g}x{after}"
    return {None: "", True: "passed", False: "failed"}[point.passed]


def _files(held: Dossier) -> Iterator[str]:
    # Nothing is proven by what an audit says.
    files = [file for file in held.stored.files if file.name != AUDIT]
    for file in files[:FILES]:
        yield f"  {size(file.size):>8}  {as_line(file.name)}"
    yield from _more(len(files) - FILES, "files")


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"  and {count} more {what}"


def _next(held: Dossier) -> Iterator[str]:
    run_id = held.stored.run.id
    if held.stored.audit is None:
        yield f"  kbsite audit new {run_id}"
    else:
        yield f"  kbsite audit amend {run_id} --verdict VERDICT --why WHY"
    if held.stored.file(SOLUTION):
        yield f"  kbsite audit quote {run_id} {SOLUTION}:1-2 --label LABEL"


_SECTIONS: dict[str, Callable[[Dossier], Iterator[str]]] = {
    "facts": _facts,
    "grade": _grade,
    "audit": _audit,
    "alarms": _alarms,
    "how the solution came about": _moves,
}
