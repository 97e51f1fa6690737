"""Where the steps of each agent stand on the axes of the map: by time, and by tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from kbsite.model.transcript import Step
from kbsite.pages.facts import count, elapsed
from kbsite.pages.steps import Item

GRAIN = 1000
"""In how many pieces an axis is divided: places on it are whole numbers of them."""


class Stretch(Struct):
    """The steps of one mark of the map, on each axis; None where nothing tells."""

    begins: float | None = None
    ends: float | None = None
    """In seconds into the session."""
    before: int = 0
    after: int = 0
    """In tokens, sent and written, of all agents."""

    def extend(self, begins: float | None, ends: float | None, after: int) -> None:
        """Take a further step in."""
        if self.begins is None or (begins is not None and begins < self.begins):
            self.begins = begins
        if self.ends is None or (ends is not None and ends > self.ends):
            self.ends = ends
        self.after = after


class Axes(Struct):
    """Collects the stretches of a transcript's items, given in their order."""

    seconds: float = 0.0
    tokens: int = 0
    whole: int = 0
    """All tokens of the session: not every CLI tells what each message took."""
    _stretches: dict[tuple[str, int], Stretch] = field(default_factory=dict)
    _pauses: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, item: Item, lane: str, column: int) -> None:
        """An item that stands in a column of a lane."""
        before = self.tokens
        begins, ends = times(item)
        for step in _steps(item):
            self.tokens += step.usage.tokens
        self.seconds = max(self.seconds, ends or 0.0)
        if item.pause > 0 and begins is not None:
            self._pauses.setdefault(lane, []).append((begins - item.pause, begins))
        held = self._stretches.setdefault((lane, column), Stretch(before=before))
        held.extend(begins, ends, self.tokens)

    def time(self, lane: str, columns: Iterable[int]) -> str:
        """From where to where on the axis of time each column stands: "0-12 12-40".

        Empty if the transcript does not tell.
        """
        if not self.seconds:
            return ""
        spans, last = [], 0.0
        for column in columns:
            held = self._stretches[lane, column]
            begins = last if held.begins is None else max(0.0, held.begins)
            last = begins if held.ends is None else max(begins, held.ends)
            spans.append(_span(begins, last, self.seconds))
        return " ".join(spans)

    def spent(self, lane: str, columns: Iterable[int]) -> str:
        """From where to where on the axis of tokens each column stands; empty if unknown."""
        if not self.tokens:
            return ""
        held = [self._stretches[lane, column] for column in columns]
        return " ".join(_span(stretch.before, stretch.after, self.tokens) for stretch in held)

    def pauses(self, lane: str) -> str:
        """From where to where on the axis of time a lane's agent paused."""
        return " ".join(_span(*pause, self.seconds) for pause in self._pauses.get(lane, ()))

    @property
    def time_end(self) -> str:
        """What stands at the end of the axis of time."""
        return elapsed(self.seconds)

    @property
    def tokens_end(self) -> str:
        """What stands at the end of the axis of tokens."""
        of = f" of {count(self.whole)}" if self.whole > self.tokens else ""
        return f"{count(self.tokens)}{of} tokens"


def times(item: Item) -> tuple[float | None, float | None]:
    """When an item begins and ends, in seconds into the session; None where nothing tells."""
    if item.step is not None:
        return item.step.elapsed, item.step.ended
    begins = [step.elapsed for step in item.rows if step.elapsed is not None]
    ends = [step.ended for step in item.rows if step.ended is not None]
    return min(begins, default=None), max(ends, default=None)


def _steps(item: Item) -> Sequence[Step]:
    return item.rows if item.step is None else (item.step,)


def _span(start: float, end: float, whole: float) -> str:
    return f"{round(start * GRAIN / whole)}-{round(end * GRAIN / whole)}"
