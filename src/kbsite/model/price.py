"""What tokens cost: a dated table of prices, and what a run cost by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kbsite.model.usage import with_hours_of

if TYPE_CHECKING:
    from kbsite.model.run import Run
    from kbsite.model.transcript import Transcript
    from kbsite.model.usage import Usage

MILLION = 1_000_000
"""Tokens that a price is for."""


class TokenKind(Enum):
    """The kinds of token that have a price of their own; the values are fields of Usage."""

    INPUT = "input"
    CACHE_READ = "cache_read"
    CACHE_WRITE = "cache_write"
    CACHE_WRITE_1H = "cache_write_1h"
    OUTPUT = "output"

    @property
    def label(self) -> str:
        """What pages call it."""
        return _LABELS[self]


_LABELS = {
    TokenKind.INPUT: "new",
    TokenKind.CACHE_READ: "from cache",
    TokenKind.CACHE_WRITE: "written to cache",
    TokenKind.CACHE_WRITE_1H: "written to cache for an hour",
    TokenKind.OUTPUT: "out",
}


class Price(Struct, frozen=True, kw_only=True):
    """What the tokens of some models cost from a day on: US dollars per million."""

    models: tuple[str, ...]
    """Their ids as CLIs write them; with a star at the end, all ids that start so."""
    since: date | None = None
    """The first day of these prices; None where nobody says, and no earlier ones are known."""
    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    """Written for as long as the provider keeps it by default: five minutes, where it says."""
    cache_write_1h: Decimal | None = None
    """Written for an hour."""
    source: str
    """Public address that states them."""
    looked_up: date
    note: str = ""
    """What they leave out, as a sentence."""

    @property
    def dated(self) -> date:
        """The day that they are known of: their first, else the one of the look-up."""
        return self.since or self.looked_up

    @property
    def stated(self) -> str:
        """Where it is stated, and when that was looked up, as runs that it was used for say."""
        return f"{self.source}, looked up {self.looked_up}"

    def of(self, kind: TokenKind) -> Decimal | None:
        """The price of a kind; None where the table has none."""
        held: Decimal | None = getattr(self, kind.value)
        return held

    def names(self, model: str) -> int:
        """How closely it names a model: characters that are the same; -1 for not at all."""
        return max((_closeness(name, model) for name in self.models), default=-1)


def _closeness(name: str, model: str) -> int:
    if name.endswith("*"):
        return len(name) - 1 if model.startswith(name[:-1]) else -1
    # The whole name is closer than any beginning of it.
    return len(name) + 1 if name == model else -1


class PriceTable(Struct, frozen=True, kw_only=True, dict=True):
    """prices.yaml: the prices of models, each from a day on."""

    prices: tuple[Price, ...] = ()

    def price(self, model: str, day: date | None) -> Price | None:
        """What a model's tokens cost on a day, the latest known for None; None if nobody says."""
        if (model, day) not in self._found:
            self._found[model, day] = self._price(model, day)
        return self._found[model, day]

    @cached_property
    def _found(self) -> dict[tuple[str, date | None], Price | None]:
        """What was asked for already: each page of a run asks some times over."""
        return {}

    def _price(self, model: str, day: date | None) -> Price | None:
        closest = max((price.names(model) for price in self.prices), default=-1)
        if closest < 0:
            return None
        own = [price for price in self.prices if price.names(model) == closest]
        valid = [price for price in own if day is None or _first(price) <= day]
        return max(valid, key=_first, default=None)


def _first(price: Price) -> date:
    return price.since or date.min


class CostPart(Struct, frozen=True):
    """What the tokens of one kind cost."""

    kind: TokenKind
    tokens: int
    price: Decimal | None
    """US dollars per million; None where the table has none."""

    @property
    def usd(self) -> Decimal | None:
        """US dollars, exact; None where there is no price."""
        return None if self.price is None else self.price * self.tokens / MILLION


class Estimate(Struct, frozen=True):
    """What a run cost by the table."""

    price: Price
    parts: tuple[CostPart, ...]
    """The kinds that the CLI told, in the order of TokenKind."""

    @property
    def usd(self) -> Decimal:
        """US dollars, exact; of all kinds that have a price."""
        return sum((part.usd for part in self.parts if part.usd is not None), Decimal(0))

    @property
    def usd_1h(self) -> Decimal | None:
        """The same if all that was written to the cache was kept for an hour; None if no other.

        Or if the counts tell for how long it was kept.
        """
        rate, low = self.price.cache_write_1h, self.price.cache_write
        told = any(part.kind is TokenKind.CACHE_WRITE_1H for part in self.parts)
        if told or rate is None or low is None:
            return None
        written = sum(p.tokens for p in self.parts if p.kind is TokenKind.CACHE_WRITE)
        return self.usd + (rate - low) * written / MILLION if written else None

    @property
    def lower_bound(self) -> bool:
        """Whether tokens of some kind have no price, so that it says too little."""
        return any(part.tokens and part.price is None for part in self.parts)


def estimate(usage: Usage, model: str, day: date | None, table: PriceTable) -> Estimate | None:
    """What tokens cost by the table; None without a price, or without a count of both directions.

    The counts are those of a whole run: where a run used several models, all are priced as `model`.
    """
    price = table.price(model, day)
    if price is None or usage.output is None or usage.sent is None:
        return None
    return Estimate(price, tuple(_parts(usage, price)))


def _parts(usage: Usage, price: Price) -> Iterator[CostPart]:
    for kind in TokenKind:
        tokens: int | None = getattr(usage, kind.value)
        if tokens is None:
            continue
        if kind is TokenKind.CACHE_WRITE:
            tokens = max(0, tokens - (usage.cache_write_1h or 0))
        elif kind is TokenKind.CACHE_WRITE_1H:
            # A part of what was written is no more than all of it.
            tokens = min(tokens, usage.cache_write or 0)
        yield CostPart(kind, tokens, price.of(kind))


class Cost(Struct, frozen=True):
    """What a run cost: as its CLI says, and by the table."""

    told: float | None
    """The CLI's own figure, US dollars; or of whoever published the run."""
    estimate: Estimate | None
    guessed: bool = False
    """Whether what is told is an estimate itself."""

    @property
    def usd(self) -> float | None:
        """The figure to compare runs by: the CLI's own, else the estimate; US dollars."""
        if self.told is not None:
            return self.told
        return None if self.estimate is None else float(self.estimate.usd)

    @property
    def estimated(self) -> bool:
        """Whether `usd` is an estimate."""
        return self.guessed if self.told is not None else self.estimate is not None

    @property
    def least(self) -> bool:
        """Whether `usd` is an estimate that lacks the price of some kind of its tokens."""
        return self.told is None and self.estimate is not None and self.estimate.lower_bound

    @property
    def remark(self) -> str:
        """What has to be said beside `usd`: "estimate", or nothing of what a CLI told."""
        if not self.estimated:
            return ""
        return "estimate, at least" if self.least else "estimate"

    @property
    def difference(self) -> Decimal | None:
        """By how much the estimate is larger than the CLI's own figure, US dollars."""
        if self.told is None or self.estimate is None:
            return None
        return self.estimate.usd - Decimal(str(self.told))


def cost(run: Run, table: PriceTable, shown: Transcript | None = None) -> Cost:
    """What a run cost, by what run.json records, else by its transcript, if that is given."""
    told, usage = run.cost_usd, run.usage
    if shown is not None:
        told = shown.cost_usd if told is None else told
        usage = with_hours_of(usage, shown.usage) if usage.known else shown.usage
    return Cost(told, estimate(usage, run.model, run.day, table), run.cost_is_estimate)
