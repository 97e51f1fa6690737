"""Passages that an auditor points at: taken from the run's own files, and proven."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kbsite.auditing.moves import addresses
from kbsite.errors import InputError, KbsiteError, UsageError
from kbsite.model.audit import Quote
from kbsite.model.event import Event, Message, Notice, Thought, ToolCall, ToolResult
from kbsite.model.finding import one_line
from kbsite.model.lines import line_span
from kbsite.model.proof import Proof
from kbsite.model.transcript import Transcript
from kbsite.proofs import proof, quotable
from kbsite.proofs.unseen import unseen
from kbsite.store.run_folders import AUDIT, TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.transcripts import transcript

LONGEST = 4_000
"""Characters of a passage that is taken whole: of more, nobody knows which are meant."""

_LINES = re.compile(r"(?P<file>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)
_EVENT = re.compile(r"(?P<file>.+)@(?P<event>[A-Za-z0-9_-]+)", re.DOTALL)
FORMS = "expected FILE:12, FILE:12-20 or transcript/FILE@EVENT"


class UnprovenError(KbsiteError):
    """A passage that does not stand where it is said to."""


@dataclass(frozen=True, slots=True)
class Cited:
    """Where a passage stands, as it is written on a command line."""

    file: str
    lines: tuple[int, ...] = ()
    event: str = ""


def cited(told: str) -> Cited:
    """The place that is meant by "solution.py:12-20" or "transcript/stdout.jsonl@L12"."""
    if found := _LINES.fullmatch(told):
        first, last = int(found["first"]), int(found["last"] or found["first"])
        if not 0 < first <= last:
            raise UsageError(f"{one_line(told)}: lines count from 1, the first before the last")
        return Cited(found["file"], (first,) if first == last else (first, last))
    if found := _EVENT.fullmatch(told):
        return Cited(found["file"], event=found["event"])
    raise UsageError(f"{one_line(told)}: {FORMS}")


def proven_quote(stored: StoredRun, where: Cited, label: str, text: str = "") -> Quote:
    """A quote of a run; without `text`, of all that stands there.

    UsageError where nobody can tell which passage is meant, UnprovenError where it is not there.
    """
    named = replace(where, file=_file(stored, where.file))
    passage = text or (_of_event(stored, named) if named.event else _of_lines(stored, named))
    quote = Quote(file=named.file, lines=named.lines, event=named.event, label=label, text=passage)
    found = proof(stored, quote)
    if not found.proven:
        raise UnprovenError(_unproven(found))
    return found.quote


def address(quote: Quote) -> str:
    """Where a quote stands, as it is written on a command line."""
    if quote.event:
        return f"{quote.file}@{quote.event}"
    return f"{quote.file}:{line_span(quote.lines)}"


def _file(stored: StoredRun, name: str) -> str:
    """The name of a file of the run; that of a file of its transcript may leave out the folder."""
    if name == AUDIT:
        raise InputError("what an audit says proves nothing; quote what it judges", path=AUDIT)
    for known in (name, f"{TRANSCRIPT}{name}"):
        if stored.file(known) or (quotable(stored, known) is not None):
            return known
    names = [file.name for file in stored.files]
    near = [known for known in names if known.rpartition("/")[2] == name.rpartition("/")[2]]
    told = f"meant is perhaps {', '.join(near[:3])}" if near else "`kbsite audit show` lists all"
    raise InputError(one_line(f"the run has no such file; {told}"), path=one_line(name))


def _of_lines(stored: StoredRun, where: Cited) -> str:
    data = quotable(stored, where.file) or b""
    rows = data.removesuffix(b"\n").split(b"\n") if data else []
    first, last = where.lines[0], where.lines[-1]
    if last > len(rows):
        path = one_line(where.file)
        raise InputError(f"there is no line {last}; the last is {len(rows)}", path=path)
    held = b"\n".join(row.removesuffix(b"\r") for row in rows[first - 1 : last])
    try:
        return _whole(held.decode("utf-8"), where)
    except UnicodeDecodeError as error:
        raise UsageError(f"{_told(where)}: no text; say which passage by --text") from error


def _of_event(stored: StoredRun, where: Cited) -> str:
    shown = transcript(stored.run.harness, stored.transcripts)
    event = None if shown is None else _event(shown, where)
    if event is None:
        raise InputError(f"there is no event {where.event}", path=one_line(where.file))
    return _whole(_said(event), where)


def _event(shown: Transcript, where: Cited) -> Event | None:
    files = addresses(shown)
    for agent in shown.agents:
        for step in agent.every_step:
            if step.result and step.result_anchor == where.event:
                return step.result
            if step.anchor == where.event and files[step.anchor] == where.file:
                return step.event
    return None


def _said(event: Event) -> str:
    match event:
        case Message() | Thought() | Notice():
            return event.text
        case ToolCall():
            return event.summary
        case ToolResult():
            return event.output
        case _:
            return ""


def _whole(text: str, where: Cited) -> str:
    if not text.strip():
        raise UsageError(f"{_told(where)}: nothing to read stands there; say what by --text")
    if len(text) > LONGEST:
        raise UsageError(f"{_told(where)}: {len(text)} characters; say which passage by --text")
    return text


def _told(where: Cited) -> str:
    return one_line(address(Quote(file=where.file, lines=where.lines, event=where.event, text="")))


def _unproven(found: Proof) -> str:
    quote = found.quote
    lines = [f"{one_line(address(quote))}: {found.state.sentence}"]
    place = replace(quote, lines=found.lines, event=found.event)
    if found.lines or found.event:
        lines.append(f"  it stands at {one_line(address(place))}")
    if found.found:
        lines.append("  quoted:")
        lines += [f"    {one_line(row)}" for row in quote.text.split("\n")]
        lines.append("  stands there:")
        lines += [f"    {one_line(row)}" for row in found.found.split("\n")]
        alike = unseen(quote.text, found.found)
        lines += [f"  they look alike: {one_line(alike)}"] if alike else []
    return "\n".join(lines)
