"""The quotes of an audit as other pages than its run's show them: short, and never unmarked."""

from __future__ import annotations

from dataclasses import dataclass

from kbsite.model.audit import Quote
from kbsite.model.board import Attempt
from kbsite.model.proof import Proof
from kbsite.pages.page import Site, run_path

SHOWN = 3
"""Quotes of an audit that are shown; its run's page shows all."""

LONGEST = 400
"""Characters of a quote that are shown; its run's page shows all."""

UNCHECKED = "Nobody could hold it against the file."


@dataclass(frozen=True, slots=True)
class Cited:
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
        """The file and the lines, in words."""
        lines = self.quote.lines
        if not lines:
            return self.quote.file
        told = f"line {lines[0]}" if lines[0] == lines[-1] else f"lines {lines[0]} to {lines[-1]}"
        return f"{self.quote.file} {told}"


def cited(site: Site, attempt: Attempt) -> tuple[Cited, ...]:
    """The first quotes of a run's audit; none without one."""
    audit = attempt.audit
    proofs = site.proofs.get(attempt.run.id, ())
    quotes = audit.quotes[:SHOWN] if audit else ()
    return tuple(
        _cited(attempt.run.id, number, quote, proofs[number] if number < len(proofs) else None)
        for number, quote in enumerate(quotes)
    )


def _cited(run_id: str, number: int, quote: Quote, proof: Proof | None) -> Cited:
    passage = quote.text.strip("\n")
    doubt = UNCHECKED if proof is None else "" if proof.proven else proof.state.sentence
    return Cited(
        quote=quote,
        text=passage[:LONGEST],
        shortened=len(passage) > LONGEST,
        doubt=doubt,
        path=run_path(run_id),
        fragment=f"quote-{number + 1}",
    )
