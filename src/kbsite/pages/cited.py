"""The quotes of an audit as other pages than its run's show them: short, and never unmarked."""

from __future__ import annotations

from msgspec import Struct

from kbsite.model.audit import Quote
from kbsite.model.board import Attempt
from kbsite.model.proof import Proof
from kbsite.pages.line_places import line_place
from kbsite.pages.page import Site, run_path

SHOWN = 3
"""Quotes of an audit that are shown; its run's page shows all."""

LONGEST = 400
"""Characters of a quote that are shown; its run's page shows all."""

UNCHECKED = "Nobody could hold it against the file."


class Cited(Struct, frozen=True):
    """A passage, and whether it stands where the audit says."""

    quote: Quote
    text: str
    """The passage, or its beginning."""
    shortened: bool
    doubt: str
    """Why it is not proven, in a sentence; empty if it is."""
    path: str
    """The page that shows the passage in its place, or the audit that quotes it."""
    fragment: str

    @property
    def where(self) -> str:
        """The file and the lines, or the event, in words."""
        return self.quote.where


def cited(site: Site, attempt: Attempt) -> tuple[Cited, ...]:
    """The first quotes of a run's audit; none without one."""
    audit = attempt.audit
    proofs = site.proofs.get(attempt.run.id, ())
    quotes = audit.quotes[:SHOWN] if audit else ()
    return tuple(
        _cited(site, attempt.run.id, number, proofs[number : number + 1], quote)
        for number, quote in enumerate(quotes)
    )


def unproven(site: Site, attempt: Attempt) -> int:
    """How many quotes of a run's audit are not proven, whether or not they are shown."""
    quotes = attempt.audit.quotes if attempt.audit else ()
    proofs = site.proofs.get(attempt.run.id, ())[: len(quotes)]
    return len(quotes) - sum(proof.proven for proof in proofs)


def _cited(site: Site, run_id: str, number: int, proof: tuple[Proof, ...], quote: Quote) -> Cited:
    doubt = UNCHECKED
    if proof:
        quote = proof[0].quote
        doubt = "" if proof[0].proven else proof[0].state.sentence
    stored = site.by_id.get(run_id)
    passage = quote.text.strip("\n")
    place = line_place(stored, quote) if stored and not doubt else None
    path = run_path(run_id)
    if place:
        path, fragment = f"{path.rpartition('/')[0]}/{place[0]}", place[1]
    else:
        # Its lines stand in a part of the transcript that only the run's page knows.
        fragment = f"quote-{number + 1}"
    return Cited(
        quote=quote,
        text=_beginning(passage),
        shortened=len(passage) > LONGEST,
        doubt=doubt,
        path=path,
        fragment=fragment,
    )


def _beginning(passage: str) -> str:
    """A passage, up to the last line or word of it that is shown whole."""
    if len(passage) <= LONGEST:
        return passage
    shown = passage[: LONGEST + 1]
    for end in ("\n", " "):
        if end in shown:
            return shown.rpartition(end)[0].rstrip()
    return passage[:LONGEST]
