"""The passages of a transcript that an audit quotes: in which steps they stand, and where there.

A quote cites a line of a file, and a line may tell of several steps: the one is looked for that
shows the passage. Its page then has a mark there, and a link back to the quote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from kbsite.model.audit import Quote
from kbsite.model.event import Source
from kbsite.pages.long_text import LongText, Overflow
from kbsite.pages.quotes import passage
from kbsite.pages.step_html import item as item_html
from kbsite.pages.steps import Item
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.text.passages import Passage, backs, mark, mark_long
from kbsite.text.terminal import breakable

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

MOST = 20
"""Steps of one line in which a passage is looked for."""


class CitedSteps(Struct, frozen=True):
    """What an audit quotes of a transcript."""

    places: Mapping[int, tuple[str, str, str]] = {}
    """By the number of the quote, from 0: the step, the place in its page, and that page, if it is
    the page of a long text."""
    passages: Mapping[str, tuple[Passage, ...]] = {}
    """Those that a step shows, or a long text of it, by the anchor of the step."""
    unseen: Mapping[str, tuple[Passage, ...]] = {}
    """Those that stand in what a step is made of, and that it does not show as they are."""
    quoted: frozenset[str] = frozenset()
    """The anchors of all steps that a quote stands in."""

    @property
    def first(self) -> dict[str, str]:
        """All steps that a quote stands in, each with the place of the first that it shows."""
        seen = {own: at for own, at, page in list(self.places.values())[::-1] if not page}
        return {own: seen.get(own, own) for own in self.quoted}

    def addresses(self, steps: Mapping[str, str]) -> dict[int, str]:
        """Where each quote stands, seen from the run's page; `steps` are the addresses of steps."""
        return {
            number: f"{page or steps[step].partition('#')[0]}#{at}"
            for number, (step, at, page) in self.places.items()
        }

    def shown(self, anchor: str, html: str) -> str:
        """A step with the marks of its passages, and links to the quotes."""
        passages, unseen = self.passages.get(anchor, ()), self.unseen.get(anchor, ())
        return (mark(html, passages)[0] if passages else html) + backs(unseen)

    def text(self, held: LongText) -> str:
        """A long text of a step with the marks of the passages in it."""
        html = str(breakable(held.text))
        passages = self.passages.get(held.anchor, ())
        return mark_long(html, passages, changes=held.changes)[0] if passages else html


def cited_steps(
    row: Sequence[Item], reading: Reading, quotes: Sequence[tuple[int, Quote]]
) -> CitedSteps:
    """Where the passages of quotes stand among the items of a transcript."""
    places: dict[int, tuple[str, str, str]] = {}
    passages: dict[str, tuple[Passage, ...]] = {}
    unseen: dict[str, tuple[Passage, ...]] = {}
    quoted: set[str] = set()
    made: dict[str, tuple[str, list[LongText]]] = {}
    for (number, quote), held, anchors in _citing(row, quotes):
        alone = bool(quote.event) or quote.lines[0] == quote.lines[-1]
        for item in held if alone else ():
            told = passage(number, quote, f"{item.anchor}.q{number + 1}")
            page = _page(told, item, made, reading)
            if page is not None:
                places[number] = item.anchor, told.place, page
                passages[item.anchor] = (*passages.get(item.anchor, ()), told)
                quoted.add(item.anchor)
                break
        else:
            first = held[0]
            at = quote.event if quote.event in first.anchors else first.anchor
            places[number] = first.anchor, at, ""
            unseen[first.anchor] = *unseen.get(first.anchor, ()), passage(number, quote)
            quoted |= anchors
    return CitedSteps(places, passages, unseen, frozenset(quoted))


def _citing(
    row: Sequence[Item], quotes: Sequence[tuple[int, Quote]]
) -> Iterator[tuple[tuple[int, Quote], list[Item], set[str]]]:
    """Each quote that cites steps, with the first of these, and the anchors of all."""
    held: dict[int, tuple[list[Item], set[str]]] = {}
    for item in row if quotes else ():
        anchors, sources = item.anchors, item.sources
        for number, quote in quotes:
            if quote.event in anchors or any(_covers(quote, source) for source in sources):
                first, named = held.setdefault(number, ([], set()))
                named.add(item.anchor)
                if len(first) < MOST:
                    first.append(item)
    for number, quote in quotes:
        if number in held:
            yield (number, quote), *held[number]


def _covers(quote: Quote, source: Source) -> bool:
    if not quote.lines or quote.file != f"{TRANSCRIPT}{source.file}":
        return False
    return quote.lines[0] <= source.line <= quote.lines[-1]


def _page(
    told: Passage, item: Item, made: dict[str, tuple[str, list[LongText]]], reading: Reading
) -> str | None:
    """The page of the long text that shows a passage; empty for the step; None where none does."""
    if item.anchor not in made:
        overflow = Overflow()
        html = item_html(item, structs.replace(reading, overflow=overflow))
        texts = [one for one in overflow.take() if isinstance(one, LongText)]
        made[item.anchor] = html, texts
    html, held = made[item.anchor]
    if mark(html, [told])[1]:
        return ""
    for text in held:
        if mark_long(str(breakable(text.text)), [told], changes=text.changes)[1]:
            return text.page
    return None
