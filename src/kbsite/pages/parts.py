"""A transcript cut into parts: pages of at most 50 steps, which never split a call from its result.

The first part stands on the run's own page. What is appended to a transcript changes only the
last part, since a part ends as soon as the next item does not fit into it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property, partial
from hashlib import sha256

from msgspec import Struct

from kbsite.model.audit import Quote
from kbsite.model.transcript import Transcript
from kbsite.pages.citing import CitedSteps, cited_steps
from kbsite.pages.coloured import Made
from kbsite.pages.item_row import items
from kbsite.pages.long_text import LargePicture, Overflow
from kbsite.pages.page import INDEX, File, Renderer, run_path
from kbsite.pages.readable import readable
from kbsite.pages.rendered import Rendered
from kbsite.pages.steps import Item, line_ranges

FIRST_STEPS, FIRST_BYTES, FIRST_ELEMENTS = 20, 30_000, 1_500
"""What the run's own page holds at most, so that it opens at once."""

PART_STEPS, PART_BYTES, PART_ELEMENTS = 50, 100_000, 3_000
"""What every other part holds at most; a single larger item is a part of its own."""


class Reading(Struct):
    """What rendering the steps of a run needs to know of it."""

    run_id: str
    side_file: Callable[[str], str | None]
    """The address of a file that the CLI names."""
    overflow: Overflow
    files: tuple[str, ...] = ()
    """The names of the run's files, which a CLI may name."""
    quotes: tuple[tuple[int, Quote], ...] = ()
    """Proven passages that the audit of the run cites, with their numbers, from 0."""
    cited: CitedSteps = CitedSteps()
    """Where they stand, once the steps are known."""


class Part(Struct, dict=True):
    """A part of a transcript."""

    number: int
    """From 1; the first one stands on the run's own page."""
    start: int
    """Which item it starts with, from 1."""
    items: Sequence[Item] = ()
    html: str = ""
    """Its items, rendered; kept for the first part only."""

    @property
    def page(self) -> str:
        """File name of its page, in the folder of the run's page."""
        return INDEX if self.number == 1 else f"steps-{self.number:04}.html"

    def path(self, run_id: str) -> str:
        """Where its page stands within the site."""
        return f"runs/{run_id}/{self.page}"

    @property
    def end(self) -> int:
        """Which item it ends with."""
        return self.start + len(self.items) - 1

    @cached_property
    def lines(self) -> str:
        """The lines of the files that it stands for, for a script to find a permalink's part."""
        return line_ranges(self.items)

    @cached_property
    def elapsed(self) -> tuple[float, float] | None:
        """When it starts and ends, seconds into the session; None where nothing tells.

        Sub-agents that worked at the same time stand one after the other.
        """
        known = [i.step.elapsed for i in self.items if i.step and i.step.elapsed is not None]
        return (min(known), max(known)) if known else None


def cut(
    transcript: Transcript, parts: list[Part], reading: Reading, renderer: Renderer
) -> Iterator[File]:
    """The pages of all parts but the first, and what overflows; `parts` is filled on the way.

    A part that is what it was when the site was made the last time is not made again.
    """
    row = items(transcript)
    reading.cited = cited_steps(row, reading, reading.quotes)
    # Where the site stands already, few parts have to be made: not half of them beside.
    known = renderer.made(Part(2, 1).path(reading.run_id), run_path(reading.run_id))
    at = 0
    with closing(Rendered(row, reading, ahead=known is None)) as rendered:
        while at < len(row) or not parts:
            part = Part(len(parts) + 1, at + 1)
            parts.append(part)
            stays = _as_it_was(part, row, reading, renderer)
            if stays:
                yield from (File(path, made=None, stays=True) for path in stays.others)
                yield File(part.path(reading.run_id), made=stays, stays=True)
            else:
                yield from _made(part, row, rendered, reading, renderer)
            at = part.end


def _as_it_was(
    part: Part, row: Sequence[Item], reading: Reading, renderer: Renderer
) -> Made | None:
    """What a part was made of, if that is what it would be made of now; fills it then."""
    if part.number == 1:
        return None
    made = renderer.made(part.path(reading.run_id), run_path(reading.run_id))
    if not made or not made.digest or made.digest != _digest(row, part.start, made.items, reading):
        return None
    part.items = row[part.start - 1 : part.start - 1 + made.items]
    return made


def _digest(row: Sequence[Item], start: int, count: int, reading: Reading) -> str:
    """A digest of what a part is made of; of the next item too, which did not fit into it.

    Empty where that cannot be told.
    """
    held = row[start - 1 : start + count]
    last = start - 1 + count >= len(row)
    whole = sha256(repr((start, last, reading.quotes, reading.files)).encode("utf-8", "replace"))
    for item in held:
        packed = item.packed
        if packed is None:
            return ""
        whole.update(packed)
    return whole.hexdigest()


def _made(
    part: Part, row: Sequence[Item], rendered: Rendered, reading: Reading, renderer: Renderer
) -> Iterator[File]:
    """The page of a part, filled with as many items as fit, and what it sets apart."""
    shown: list[str] = []
    size = elements = 0
    steps, room, most = PART_STEPS, PART_BYTES, PART_ELEMENTS
    if part.number == 1:
        steps, room, most = FIRST_STEPS, FIRST_BYTES, FIRST_ELEMENTS
    for index in range(part.start - 1, len(row)):
        html = rendered.html(index)
        size += len(html)
        elements += html.count("<") - html.count("</")
        if shown and (len(shown) == steps or size > room or elements > most):
            reading.overflow.drop(row[index].anchor)
            break
        shown.append(html)
    part.items = row[part.start - 1 : part.start - 1 + len(shown)]
    others = [f"runs/{reading.run_id}/{one.page}" for one in reading.overflow.held]
    yield from _overflowing(part, reading, renderer)
    last = part.end >= len(row)
    if part.number == 1:
        part.html = "".join(shown)
        return
    path = part.path(reading.run_id)
    values = {"title": f"steps {part.start} to {part.end}", "part": part, "html": "".join(shown)}
    values |= {"last": last, "before": Part(part.number - 1, 1), "after": Part(part.number + 1, 1)}
    html = readable(renderer.page("pages/part.html", path, values))
    made = Made(_digest(row, part.start, len(part.items), reading), len(part.items), tuple(others))
    yield File(path, html, made=made)


def _overflowing(part: Part, reading: Reading, renderer: Renderer) -> Iterator[File]:
    for one in reading.overflow.take():
        path = f"runs/{reading.run_id}/{one.page}"
        if isinstance(one, LargePicture):
            yield File(path, data=partial(bytes, one.data))
            continue
        values = {"title": "text", "held": one, "shown": reading.cited.text(one), "part": part}
        html = renderer.page("pages/long.html", path, values)
        yield File(path, readable(html))
