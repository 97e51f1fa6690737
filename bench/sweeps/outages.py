"""Providers that are down, or refuse: asked by one session now and then, at no cell's cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

from bench.sweeps.cells import Cell
from bench.sweeps.ledger import Held
from bench.sweeps.refusals import Failure
from bench.sweeps.sheet import Contender, Retries
from bench.sweeps.states import backoff

TELLING = 2
"""Sessions in a row that failed at a provider, with no answer in between, say that it is down."""

Asked = tuple[str, str | None]
"""A provider and one of its models; None for all of them."""


class Outage:
    """Whether one provider is down, or one of its models."""

    def __init__(self, retries: Retries, now: Callable[[], float], chance: Random) -> None:
        self._retries = retries
        self._now = now
        self._chance = chance
        self._failures = 0
        self._rounds = 0
        self._since = 0.0
        self._until = 0.0
        self._last: Failure | None = None

    @property
    def down(self) -> bool:
        """Whether it is."""
        return self._failures >= TELLING

    @property
    def seconds(self) -> float:
        """How long it has been, since the first session that failed."""
        return self._now() - self._since if self.down else 0.0

    @property
    def wait_seconds(self) -> float:
        """How long nobody asks it."""
        return max(0.0, self._until - self._now()) if self.down else 0.0

    @property
    def last(self) -> Failure | None:
        """What was wrong with it last; None while it is not down."""
        return self._last if self.down else None

    @property
    def given_up(self) -> bool:
        """Whether it has been down for so long that nobody waits for it who has no other work."""
        return self.seconds > self._retries.outage_seconds

    def most(self, slots: int) -> int:
        """How many sessions may use it now, of so many at other times."""
        if not self.down:
            return slots
        return 0 if self.wait_seconds else 1

    def failed(self, found: Failure, *, sure: bool = False) -> bool:
        """A session failed at it, and may not later; whether that counts for no cell.

        It does not where others fail as well: the session before did, or it is `sure` that they do.
        """
        now = self._now()
        if not self._failures:
            self._since = now
        self._failures += TELLING if sure else 1
        self._last = found
        if self.down and now >= self._until:
            # What fails while nobody asks was begun before.
            self._rounds += 1
            self._until = now + backoff(self._rounds, self._retries, self._chance)
        return self.down

    def answered(self) -> None:
        """It answered a session."""
        self._failures = self._rounds = 0
        self._until = 0.0

    def ask_now(self) -> None:
        """Whatever kept it from answering may be over: nobody has to wait any longer."""
        self._until = 0.0


class Outages:
    """Whether the providers of a sweep are down: each as a whole, or some of its models alone.

    A provider is down as a whole where sessions of two models failed in a row, if a sweep has two.
    """

    def __init__(
        self, contenders: Iterable[Contender], retries: Retries, now: Callable[[], float],
        chance: Random,
    ) -> None:  # fmt: skip
        models: dict[str, set[str]] = {}
        for one in contenders:
            models.setdefault(one.provider, set()).add(one.model)
        self._failing: dict[str, set[str]] = {name: set() for name in models}
        self._held: dict[Asked, Outage] = {}
        for provider, own in sorted(models.items()):
            # Of a single model both would always say the same.
            for model in (None, *(sorted(own) if len(own) > 1 else ())):
                self._held[provider, model] = Outage(retries, now, chance)
        self._asked = 0
        self._turns: dict[Contender | str, int] = {}

    @property
    def each(self) -> Mapping[Asked, Outage]:
        """All that can be down."""
        return self._held

    def failed(self, who: Contender, found: Failure) -> bool:
        """A session of a contender failed, and may not later; whether that counts for no cell."""
        whole, own = self._of(who)
        failing = self._failing[who.provider]
        told = own is None or whole.down or who.model not in failing
        failing.add(who.model)
        # A key may be refused, and credit be too little, for one model alone.
        sure = found.trouble.of_account
        down = own is not None and own.failed(found, sure=sure)
        return (told and whole.failed(found, sure=sure and own is None)) or down

    def answered(self, who: Contender) -> None:
        """A provider answered a session of a contender."""
        whole, own = self._of(who)
        if whole.down:
            # What its models failed at may have been that alone.
            for (provider, _), one in self._held.items():
                if provider == who.provider:
                    one.ask_now()
        self._failing[who.provider].clear()
        whole.answered()
        if own is not None:
            own.answered()

    def room(self, who: Contender, busy: Mapping[Asked, int], slots: int) -> bool:
        """Whether a session of a contender may start now, with so many under way.

        `slots` are the sessions that its provider takes at other times.
        """
        whole, own = self._of(who)
        if busy.get((who.provider, None), 0) >= whole.most(slots):
            return False
        return own is None or busy.get((who.provider, who.model), 0) < own.most(slots)

    def waited_for(self, who: Contender) -> bool:
        """Whether a sweep that has nothing else to do waits until a contender's model answers."""
        return not any(one is not None and one.given_up for one in self._of(who))

    def asks(self, cell: Cell) -> None:
        """A session of a cell starts."""
        self._asked += 1
        self._turns[cell.contender] = self._turns[cell.key] = self._asked

    def in_turn(self, waiting: Sequence[Held]) -> Iterator[Held]:
        """Cells in their order, but that all take turns to ask what is down, contenders first.

        Else one that fails for a reason of its own would ask alone, and all others wait for it.
        """
        places = [self._down(one.cell.contender) for one in waiting]
        groups: dict[Asked, list[Held]] = {}
        for one, place in zip(waiting, places, strict=True):
            if place is not None:
                groups.setdefault(place, []).append(one)
        turns = {place: iter(sorted(own, key=self._turn)) for place, own in groups.items()}
        for one, place in zip(waiting, places, strict=True):
            yield one if place is None else next(turns[place])

    def _turn(self, one: Held) -> tuple[int, int]:
        return self._turns.get(one.cell.contender, 0), self._turns.get(one.cell.key, 0)

    def _of(self, who: Contender) -> tuple[Outage, Outage | None]:
        return self._held[who.provider, None], self._held.get((who.provider, who.model))

    def _down(self, who: Contender) -> Asked | None:
        """What is down of all that a contender needs; None where nothing is."""
        whole, own = self._of(who)
        if whole.down:
            return who.provider, None
        return (who.provider, who.model) if own is not None and own.down else None
