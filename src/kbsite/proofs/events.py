"""Passages held against the texts of an event of a transcript."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct, field, structs

from kbsite.fold.anchors import ANCHOR, anchor_of, file_key
from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import Line
from kbsite.model.audit import Quote
from kbsite.model.event import AgentStart, Event, Malformed, Source, TokenUse
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs.files import FOUND, MOST_LINES
from kbsite.proofs.passages import Passage, flat, rows_from, starts
from kbsite.store.files import Stored
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.transcripts import as_told, events, shown

LARGEST = 64_000_000
"""Bytes of a file that is read as events where the cited line alone does not tell."""

_FIRST = 1000
"""Events within which a transcript's main file says something."""


class _Shown(Struct, frozen=True):
    """A file of the transcript that the run's page shows."""

    form: Format
    file: Stored
    """Named from transcript/."""
    main: bool
    """Whether anchors leave its name out."""

    def place(self, quote: Quote) -> tuple[int, int] | None:
        """The line and the part of the cited event; None where no anchor of this file is cited."""
        told = ANCHOR.fullmatch(quote.event)
        if told is None or told["file"] != (None if self.main else file_key(self.file.name)):
            return None
        return int(told["line"]), int(told["part"] or 0)

    def anchor(self, source: Source) -> str:
        """The anchor of an event of this file on the run's page, if it is the only one there."""
        return anchor_of(source, source.file if self.main else None)


class _Search(Struct):
    """A quote that is looked for in all events of a file."""

    quote: Quote
    place: tuple[int, int] | None
    """The line and the part of the cited event; None where no anchor of the file is cited."""
    passage: Passage
    own: list[Event] = field(default_factory=list)
    """What the cited event says."""
    proven: bool = False
    near: Source | None = None
    """The event nearest to the cited one that the passage stands in."""

    def see(self, event: Event, texts: Sequence[str]) -> None:
        """Take the next event in."""
        if self.place is None:
            return
        cited = (event.source.line, event.source.part) == self.place
        if cited:
            self.own.append(event)
        if self.proven or not any(map(self.passage.stands_within, texts)):
            return
        self.proven = cited
        line = self.place[0]
        if self.near is None or abs(event.source.line - line) < abs(self.near.line - line):
            self.near = event.source

    def proof(self, shown: _Shown) -> Proof:
        """What became of the quote."""
        if self.proven:
            return Proof(quote=self.quote, state=ProofState.PROVEN)
        found = _told(self.own)
        if self.near is not None:
            anchor = shown.anchor(self.near)
            return Proof(quote=self.quote, state=ProofState.ELSEWHERE, found=found, event=anchor)
        state = ProofState.DIFFERS if self.own else ProofState.NO_LINE
        return Proof(quote=self.quote, state=state, found=found)


def event_proofs(stored: StoredRun, name: str, data: bytes, quotes: Sequence[Quote]) -> list[Proof]:
    """What becomes of quotes that cite events of one file of the run, which holds `data`.

    The cited lines alone are read where a line tells of an event; all of the file, once, for the
    quotes that they do not prove.
    """
    shown_file = _shown(stored, name) if quotes else None
    if shown_file is None:
        return [Proof(quote=quote, state=ProofState.NO_LINE) for quote in quotes]
    searches = [_Search(quote, shown_file.place(quote), Passage(quote.text)) for quote in quotes]
    _search(shown_file, data, [search for search in searches if search.place])
    return [search.proof(shown_file) for search in searches]


def _search(shown_file: _Shown, data: bytes, searches: Sequence[_Search]) -> None:
    cited = {search.place[0] for search in searches if search.place}
    _see(_of_lines(shown_file, data, cited), searches)
    waiting = [search for search in searches if not search.proven]
    if waiting and len(data) <= LARGEST:
        for search in waiting:
            search.own, search.near = [], None
        _see(as_told(shown_file.form, [shown_file.file]), waiting)


def _see(told: Iterable[Event], waiting: Sequence[_Search]) -> None:
    for event in told if waiting else ():
        if isinstance(event, TokenUse | AgentStart):
            continue
        texts = [flat(text) for text in _texts(event)]
        for search in waiting:
            search.see(event, texts)


def _shown(stored: StoredRun, name: str) -> _Shown | None:
    """The file of this name, if the run's page shows its events."""
    chosen = shown(stored.run.harness, stored.transcripts)
    if chosen is None or not name.startswith(TRANSCRIPT):
        return None
    form, held = chosen
    own = name.removeprefix(TRANSCRIPT)
    file = next((file for file in held if file.name == own), None)
    return None if file is None else _Shown(form, file, _main(form, held) == own)


def _main(form: Format, held: Sequence[Stored]) -> str:
    """The file whose events have the shortest anchors: the first that tells of no sub-agent."""
    for event in islice(events(form, held), _FIRST):
        if not event.agent and not isinstance(event, TokenUse | AgentStart):
            return event.source.file
    return held[0].name


def _of_lines(shown_file: _Shown, data: bytes, wanted: set[int]) -> Iterator[Event]:
    """What some lines alone say; nothing where a line is no event."""
    name = shown_file.file.name
    if not name.endswith(".jsonl"):
        return
    for number, start in starts(data, wanted, MOST_LINES).items():
        text = rows_from(data, start, 1)[0].decode("utf-8", "surrogateescape")
        for event in shown_file.form.parse(iter([Line(number, text)]), name):
            if not isinstance(event, Malformed):
                yield event


def _told(own: Sequence[Event]) -> str:
    text = "\n".join(text for event in own for text in _texts(event) if text)
    return text if len(text) <= FOUND else f"{text[:FOUND]}…"


def _texts(event: Event) -> Iterator[str]:
    """Every text that an event holds, however deep."""
    waiting: deque[object] = deque(structs.astuple(event))
    while waiting:
        value = waiting.popleft()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, Struct) and not isinstance(value, Source):
            waiting += structs.astuple(value)
