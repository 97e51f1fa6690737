"""Passages held against the texts of an event of a transcript."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice

from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import Line
from kbsite.model.audit import Quote
from kbsite.model.event import AgentStart, Event, Malformed, Source, TokenUse
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs.files import FOUND, MOST_LINES
from kbsite.proofs.passages import Passage, flat, rows_from, starts
from kbsite.store.files import Stored
from kbsite.store.runs import TRANSCRIPT, StoredRun
from kbsite.transcripts import events, shown

LARGEST = 64_000_000
"""Bytes of a file that is read as events where the cited line alone does not tell."""

_ANCHOR = re.compile(
    r"(?:f(?P<file>[0-9a-f]{12})-)?L(?P<line>[0-9]{1,9})(?:-(?P<part>[0-9]{1,6}))?(?:x[0-9]{1,6})?"
)
_FIRST = 1000
"""Events within which a transcript's main file says something."""


@dataclass(frozen=True, slots=True)
class _Place:
    """An event of a file of a transcript."""

    form: Format
    file: Stored
    """Named from transcript/."""
    main: bool
    """Whether anchors leave its name out."""
    line: int
    part: int

    def anchor(self, source: Source) -> str:
        """The anchor of an event of this file on the run's page, if it is the only one there."""
        own = f"L{source.line}" + (f"-{source.part}" if source.part else "")
        return own if self.main else f"f{_name(self.file.name)}-{own}"

    def holds(self, event: Event) -> bool:
        """Whether an event is the one that is cited."""
        return (event.source.line, event.source.part) == (self.line, self.part)


def event_proof(stored: StoredRun, quote: Quote) -> Proof:
    """What becomes of a quote that cites an event of a file of the transcript.

    The cited line alone is read where lines tell of an event; all of the file where they do not.
    """
    place = _place(stored, quote)
    if place is None:
        return Proof(quote=quote, state=ProofState.NO_LINE)
    passage = Passage(quote.text)
    own = [event for event in _of_line(place) if place.holds(event)]
    if any(_says(event, passage) for event in own):
        return Proof(quote=quote, state=ProofState.PROVEN)
    if place.file.size > LARGEST:
        state = ProofState.DIFFERS if own else ProofState.NO_LINE
        return Proof(quote=quote, state=state, found=_told(own))
    return _of_file(place, quote, passage)


def _of_file(place: _Place, quote: Quote, passage: Passage) -> Proof:
    own: list[Event] = []
    elsewhere: list[Source] = []
    for event in events(place.form, [place.file]):
        if isinstance(event, TokenUse | AgentStart):
            continue
        cited = place.holds(event)
        if cited:
            own.append(event)
        if _says(event, passage):
            if cited:
                return Proof(quote=quote, state=ProofState.PROVEN)
            elsewhere.append(event.source)
    found = _told(own)
    if not elsewhere:
        state = ProofState.DIFFERS if own else ProofState.NO_LINE
        return Proof(quote=quote, state=state, found=found)
    near = min(elsewhere, key=lambda source: (abs(source.line - place.line), source.line))
    return Proof(quote=quote, state=ProofState.ELSEWHERE, found=found, event=place.anchor(near))


def _place(stored: StoredRun, quote: Quote) -> _Place | None:
    """Where the cited event has to stand; None where no anchor of the run's page leads."""
    told = _ANCHOR.fullmatch(quote.event)
    chosen = shown(stored.run.harness, stored.transcripts)
    if told is None or chosen is None or not quote.file.startswith(TRANSCRIPT):
        return None
    form, held = chosen
    name = quote.file.removeprefix(TRANSCRIPT)
    file = next((file for file in held if file.name == name), None)
    main = file is not None and _main(form, held) == name
    if file is None or told["file"] != (None if main else _name(name)):
        return None
    return _Place(form, file, main, int(told["line"]), int(told["part"] or 0))


def _main(form: Format, held: Sequence[Stored]) -> str:
    """The file whose events have the shortest anchors: the first that tells of no sub-agent."""
    for event in islice(events(form, held), _FIRST):
        if not event.agent and not isinstance(event, TokenUse | AgentStart):
            return event.source.file
    return held[0].name


def _name(file: str) -> str:
    return hashlib.sha256(file.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _of_line(place: _Place) -> Iterator[Event]:
    """What the cited line alone says; nothing where a line is no event."""
    if not place.file.name.endswith(".jsonl"):
        return
    data = place.file.path.read_bytes()
    start = starts(data, {place.line}, MOST_LINES).get(place.line)
    if start is None:
        return
    text = rows_from(data, start, 1)[0].decode("utf-8", "surrogateescape")
    for event in place.form.parse(iter([Line(place.line, text)]), place.file.name):
        if not isinstance(event, Malformed | TokenUse | AgentStart):
            yield event


def _says(event: Event, passage: Passage) -> bool:
    return any(passage.stands_within(flat(text)) for text in _texts(event))


def _told(own: Sequence[Event]) -> str:
    text = "\n".join(text for event in own for text in _texts(event) if text)
    return text if len(text) <= FOUND else f"{text[:FOUND]}…"


def _texts(event: Event) -> Iterator[str]:
    """Every text that an event holds, however deep."""
    waiting: deque[object] = deque(getattr(event, field.name) for field in fields(event))
    while waiting:
        value = waiting.popleft()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif is_dataclass(value) and not isinstance(value, Source | type):
            waiting += [getattr(value, field.name) for field in fields(value)]
