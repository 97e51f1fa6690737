"""A transcript cut into parts: pages of at most 50 steps, which never split a call from its result.

The first part stands on the run's own page. What is appended to a transcript changes only the
last part, since a part ends as soon as the next item does not fit into it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kbsite.model.audit import Quote
from kbsite.model.event import Source
from kbsite.model.transcript import Transcript
from kbsite.pages.long_text import LongTexts
from kbsite.pages.page import INDEX, File, Renderer
from kbsite.pages.readable import readable
from kbsite.pages.step_html import item as item_html
from kbsite.pages.steps import Item, items, line_ranges
from kbsite.store.runs import TRANSCRIPT

FIRST_STEPS, FIRST_BYTES = 20, 30_000
"""What the run's own page holds at most, so that it opens at once."""

PART_STEPS, PART_BYTES = 50, 100_000
"""What every other part holds at most; a single larger item is a part of its own."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What rendering the steps of a run needs to know of it."""

    run_id: str
    side_file: Callable[[str], str | None]
    """The address of a file that the CLI names."""
    long_texts: LongTexts
    quotes: tuple[Quote, ...] = ()
    """Passages that the audit of the run cites."""
    cited: dict[int, str] = field(default_factory=dict)
    """The anchor of the first step that a quote stands in, by the quote's index."""
    quoted: set[str] = field(default_factory=set)
    """The anchors of all steps that a quote stands in."""

    def cites(self, item: Item) -> bool:
        """Whether a quote stands in an item; takes down where, for the quote to link to."""
        for number, quote in enumerate(self.quotes):
            if any(_covers(quote, source) for source in item.sources):
                self.cited.setdefault(number, item.anchor)
                self.quoted.add(item.anchor)
        return item.anchor in self.quoted


def _covers(quote: Quote, source: Source) -> bool:
    if not quote.lines or quote.file != f"{TRANSCRIPT}{source.file}":
        return False
    return quote.lines[0] <= source.line <= quote.lines[-1]


@dataclass(slots=True)
class Part:
    """A part of a transcript."""

    number: int
    """From 1; the first one stands on the run's own page."""
    start: int
    """Which item it starts with, from 1."""
    items: list[Item] = field(default_factory=list)
    html: str = ""
    """Its items, rendered; kept for the first part only."""

    @property
    def page(self) -> str:
        """File name of its page, in the folder of the run's page."""
        return INDEX if self.number == 1 else f"steps-{self.number:04}.html"

    @property
    def end(self) -> int:
        """Which item it ends with."""
        return self.start + len(self.items) - 1

    @property
    def lines(self) -> str:
        """The lines of the files that it stands for, for a script to find a permalink's part."""
        return line_ranges(self.items)

    @property
    def elapsed(self) -> tuple[float, float] | None:
        """When it starts and ends, seconds into the session; None where nothing tells."""
        known = [i.step.elapsed for i in self.items if i.step and i.step.elapsed is not None]
        return (known[0], known[-1]) if known else None


def cut(
    transcript: Transcript, parts: list[Part], reading: Reading, renderer: Renderer
) -> Iterator[File]:
    """The pages of all parts but the first, and of long texts; `parts` is filled on the way."""
    part, size = Part(1, 1), 0
    shown: list[str] = []
    for item in items(transcript):
        html = item_html(item, reading)
        if part.items and not _fits(part, size + len(html)):
            yield from _closed(part, "".join(shown), reading, renderer, last=False)
            parts.append(part)
            part, shown, size = Part(part.number + 1, part.end + 1), [], 0
        part.items.append(item)
        shown.append(html)
        size += len(html)
        yield from _long(reading, renderer)
    yield from _closed(part, "".join(shown), reading, renderer, last=True)
    parts.append(part)


def _fits(part: Part, size: int) -> bool:
    first = part.number == 1
    steps, room = (FIRST_STEPS, FIRST_BYTES) if first else (PART_STEPS, PART_BYTES)
    return len(part.items) < steps and size <= room


def _closed(
    part: Part, html: str, reading: Reading, renderer: Renderer, *, last: bool
) -> Iterator[File]:
    if part.number == 1:
        part.html = html
        return
    path = f"runs/{reading.run_id}/{part.page}"
    values = {"title": f"steps {part.start} to {part.end}", "part": part, "html": html}
    values |= {"last": last, "before": Part(part.number - 1, 1), "after": Part(part.number + 1, 1)}
    yield File(path, readable(renderer.page("pages/part.html", path, values)))


def _long(reading: Reading, renderer: Renderer) -> Iterator[File]:
    for text in reading.long_texts.take():
        path = f"runs/{reading.run_id}/{text.page}"
        html = renderer.page("pages/long.html", path, {"title": "text", "held": text})
        yield File(path, readable(html))
