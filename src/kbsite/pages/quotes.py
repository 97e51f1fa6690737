"""The quotes of an audit on the page of its run: proven ones lead to their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.audit import Quote
from kbsite.model.lines import line_words
from kbsite.model.proof import Proof
from kbsite.pages.file_names import raw_path
from kbsite.pages.page import INDEX, Site, address, run_path
from kbsite.proofs import proofs
from kbsite.proofs.unseen import unseen
from kbsite.store.runs import StoredRun
from kbsite.text.passages import Passage, back

FOUND = 300
"""Characters of what the cited lines say instead that the page shows."""


class ShownQuote(Struct, frozen=True):
    """A quote, and where its lines are."""

    number: int
    """From 1."""
    quote: Quote
    proof: Proof
    address: str
    """Where the lines stand, seen from the run's page; empty for what is not proven."""
    raw: bool
    """Whether they are shown on no page, and the address is that of the file."""

    @property
    def where(self) -> str:
        """The file and the lines, or the event, in words."""
        return self.quote.where

    @property
    def instead(self) -> str:
        """Where an unproven passage really stands, in words; empty if it does nowhere."""
        if self.proof.event:
            return f"It stands in event {self.proof.event}."
        return f"It stands in {line_words(self.proof.lines)}." if self.proof.lines else ""

    @property
    def found(self) -> str:
        """What the cited lines say instead, or its beginning."""
        found = self.proof.found
        return found if len(found) <= FOUND else f"{found[:FOUND]}…"

    @property
    def alike(self) -> str:
        """How the passage differs from what looks like it there, in words; empty if it is seen."""
        return unseen(self.quote.text, self.proof.found)


def proofs_of(site: Site, stored: StoredRun) -> tuple[Proof, ...]:
    """What became of the quotes of a run's audit; found out now where nobody did before."""
    held = site.proofs.get(stored.run.id, ())
    quotes = stored.audit.quotes if stored.audit else ()
    return held if len(held) == len(quotes) else proofs(stored)


def proven(held: tuple[Proof, ...]) -> Iterator[tuple[int, Quote]]:
    """The quotes that may be shown as what the run says, each with its number, from 0."""
    return ((number, proof.quote) for number, proof in enumerate(held) if proof.proven)


def shown_quotes(
    stored: StoredRun, held: tuple[Proof, ...], places: Mapping[int, str]
) -> list[ShownQuote]:
    """All quotes; `places` are the addresses of those whose lines some page shows, by number."""
    return [
        ShownQuote(
            number=number + 1,
            quote=proof.quote,
            proof=proof,
            address=(places.get(number) or _raw(stored, proof.quote)) if proof.proven else "",
            raw=number not in places,
        )
        for number, proof in enumerate(held)
    ]


def _raw(stored: StoredRun, quote: Quote) -> str:
    """The address of a file that no page shows; empty for what is no file of its own."""
    if stored.file(quote.file) is None:
        return ""
    return address(raw_path(stored.run.id, quote.file), seen_from=run_path(stored.run.id))


def lines_by_file(held: tuple[Proof, ...]) -> Mapping[str, frozenset[int]]:
    """The lines that proven quotes cite, by file."""
    found: dict[str, set[int]] = {}
    for _, quote in proven(held):
        if quote.lines:
            found.setdefault(quote.file, set()).update(range(quote.lines[0], quote.lines[-1] + 1))
    return {name: frozenset(lines) for name, lines in found.items()}


def passage(number: int, quote: Quote, place: str = "") -> Passage:
    """What a quote says, and the way back to it; `number` is from 0."""
    label = f"quoted by the audit: {quote.label or number + 1}"
    return Passage(place, quote.text, f"{INDEX}#quote-{number + 1}", label)


def backs_by_file(held: tuple[Proof, ...], *, first: bool = False) -> dict[str, dict[int, Markup]]:
    """Links to the proven quotes, by file and by the last line that they cite, or the first."""
    found: dict[str, dict[int, Markup]] = {}
    for number, quote in proven(held):
        if quote.lines:
            lines, at = found.setdefault(quote.file, {}), quote.lines[0 if first else -1]
            link = Markup(back(passage(number, quote)))  # noqa: S704 - it is escaped there
            lines[at] = lines.get(at, Markup()) + link
    return found
