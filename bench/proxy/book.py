"""The account of a run: what is open, what ended how, and what it used. A `Meter` for others."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from heapq import merge
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.proxy.clock import Clock
from bench.proxy.draft import Draft
from bench.proxy.form import Account, Exchange, Outcome
from bench.proxy.hiding import Hiding
from bench.proxy.log import Log
from kbsite.model.usage import Usage, total

MOST_KEPT: Final = 1_000
"""Exchanges with models that can be asked for; of all others as many."""

MOST_LINES: Final = 50_000
"""Exchanges with models that are written down; of other paths as many, and of refused ones a
fiftieth of that. All are counted."""

MOST_MODELS: Final = 100


class _Of(Enum):
    """What exchanges are of; the many of one kind leave room for those of the others."""

    MODELS = "models"
    SIDE = "side"
    REFUSED = "refused"


def _of(exchange: Exchange) -> _Of:
    if exchange.outcome is Outcome.REFUSED:
        return _Of.REFUSED
    return _Of.MODELS if exchange.model_request else _Of.SIDE


class Book:
    """What went through a proxy: written by its thread, read by any."""

    def __init__(self, log: Path, clock: Clock, hiding: Hiding) -> None:
        self.clock = clock
        self._hiding = hiding
        self._log = Log(log)
        self._lock = threading.Lock()
        self._begun = 0
        self._open = 0
        self._touched = time.monotonic()
        # Apart, in the order in which they ended: who is in the box makes as many refused ones as
        # he likes, and those say nothing of why the session ended.
        self._kept: dict[_Of, deque[tuple[int, Exchange]]] = {
            one: deque(maxlen=MOST_KEPT) for one in _Of
        }
        self._lines: Counter[_Of] = Counter()
        self._last: Exchange | None = None
        self._failures = 0
        self._answers = 0
        self._usage = Usage()
        self._outcomes: Counter[Outcome] = Counter()
        self._models: dict[str, None] = {}
        self._closed: str | None = None
        self._unwritten: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log.close()
        if self._unwritten is not None and error is None:
            raise self._unwritten

    # What the proxy tells.

    def begin(self, method: str, path: str) -> Draft:
        """An exchange that begins now; `end` has to be called with it."""
        with self._lock:
            self._begun += 1
            self._open += 1
            return Draft(number=self._begun, method=method, path=path, hiding=self._hiding)

    def end(self, draft: Draft) -> None:
        """Write down what became of an exchange."""
        exchange = draft.exchange()
        with self._lock:
            self._open -= 1
            self._outcomes[exchange.outcome] += 1
            of = _of(exchange)
            self._kept[of].append((self._outcomes.total(), exchange))
            if of is _Of.MODELS:
                self._count(exchange)
            self._write(exchange, of)

    def _count(self, exchange: Exchange) -> None:
        self._last = exchange
        self._usage = total([self._usage, exchange.usage])
        if exchange.answered_by and len(self._models) < MOST_MODELS:
            self._models[exchange.answered_by] = None
        if exchange.outcome.answered:
            self._answers += 1
        if exchange.outcome.failed:
            self._failures += 1
        elif exchange.outcome is not Outcome.ABANDONED:
            self._failures = 0

    def _write(self, exchange: Exchange, of: _Of) -> None:
        self._lines[of] += 1
        if self._lines[of] > (MOST_LINES // 50 if of is _Of.REFUSED else MOST_LINES):
            return
        try:
            self._log.write(exchange)
        except OSError as error:
            # Nothing goes on that is not accounted for; the run's owner gets the error at the end.
            self._unwritten = self._unwritten or error
            self._closed = f"the proxy cannot write its log: {error.strerror}"

    def touch(self) -> None:
        """A byte went through."""
        self._touched = time.monotonic()

    @property
    def closed(self) -> str | None:
        """Why no further request goes on; None while they do."""
        return self._closed

    # What others ask: `Meter`.

    @property
    def first_request(self) -> datetime | None:
        """When the first request for a model came; None before."""
        return self.clock.started

    @property
    def quiet_seconds(self) -> float:
        """How long no byte went through, either way."""
        return time.monotonic() - self._touched

    @property
    def open_exchanges(self) -> int:
        """How many requests wait for an answer or its end."""
        with self._lock:
            return self._open

    @property
    def failures_in_a_row(self) -> int:
        """Failed model exchanges since the last that was COMPLETE or CUT."""
        with self._lock:
            return self._failures

    @property
    def last(self) -> Exchange | None:
        """The model exchange that ended last; none that was refused."""
        with self._lock:
            return self._last

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The last exchanges, in the order in which they ended: MOST_KEPT of a kind at most."""
        with self._lock:
            return tuple(exchange for _, exchange in merge(*self._kept.values(), key=itemgetter(0)))

    @property
    def account(self) -> Account:
        """The sum of all so far."""
        with self._lock:
            return Account(
                exchanges=self._outcomes.total(),
                usage=self._usage,
                outcomes=dict(self._outcomes),
                models=tuple(self._models),
                answers=self._answers,
            )

    def close_door(self, why: str) -> None:
        """Refuse each further request with this sentence; those under way go on."""
        self._closed = why
