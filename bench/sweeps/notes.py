"""What a driver tells of providers that are down, or refuse: in the ledger, and to a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from bench.sweeps.ledger import Ledger
from bench.sweeps.outages import Asked, Outage, Outages
from bench.sweeps.plan import duration
from bench.sweeps.states import State

NOTE_SECONDS = 5.0
"""By so much what others are told may differ from what is."""

_TO_COME = (State.WAITING, State.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Note:
    """A provider, or a model of one, that was down when a driver looked last."""

    provider: str
    model: str | None
    """None where all of its models were."""
    since: float
    """Seconds since 1970."""
    again: float
    """When a session asks it again."""
    mend: bool
    """Whether a person has to mend something first."""
    why: str
    """What it said last."""

    @property
    def name(self) -> str:
        """What is down, as a person reads it."""
        return _name((self.provider, self.model))

    def words(self, now: float) -> str:
        """How it stands with a driver at work."""
        since, again = max(0.0, now - self.since), max(0.0, self.again - now)
        what = "has refused sessions" if self.mend else "is down"
        mend = "; a person has to mend that" if self.mend else ""
        when = f"in {duration(again)}" if again else "now"
        return (
            f"{self.name} {what} for {duration(since)}: one session tries it {when}, and its other "
            f"cells wait; {self.why.rstrip('.')}{mend}"
        )

    @property
    def left(self) -> str:
        """How it stands when nobody drives the sweep."""
        what = "refused sessions" if self.mend else "was down"
        then = "mend that, then `run` goes on" if self.mend else "`run` asks it again"
        return f"{self.name} {what} when it was asked last: {self.why.rstrip('.')}; {then}"


def notes(ledger: Ledger) -> Iterator[Note]:
    """What a ledger holds of providers that sessions are to come for, and of their models."""
    # What has no session to come is asked by nobody.
    to_come = [one for one in ledger.cells() if one.wanted and one.state in _TO_COME]
    asked = {(one.cell.contender.provider, one.cell.contender.model) for one in to_come}
    down = set()
    for provider in sorted({each for each, _ in asked}):
        if (note := _noted(ledger, (provider, None))) is not None:
            down.add(provider)
            yield note
    for provider, model in sorted(one for one in asked if one[0] not in down):
        if (note := _noted(ledger, (provider, model))) is not None:
            yield note


def _noted(ledger: Ledger, asked: Asked) -> Note | None:
    told = ledger.told(_key(asked))
    return None if told is None else Note(**json.loads(told))


def _name(asked: Asked) -> str:
    provider, model = asked
    return provider if model is None else f"{model} at {provider}"


def _key(asked: Asked) -> str:
    """The name under which the ledger holds it."""
    provider, model = asked
    return f"failing {provider}" if model is None else f"failing {provider} {model}"


def _note(asked: Asked, outage: Outage, now: float) -> Note | None:
    """How a provider, or a model of it, stands; None where it is not down."""
    last = outage.last
    if last is None:
        return None
    provider, model = asked
    return Note(
        provider=provider, model=model, since=now - outage.seconds,
        again=now + outage.wait_seconds, mend=last.trouble.to_mend, why=last.sentence,
    )  # fmt: skip


class Notes:
    """Keeps in a ledger what is down, and tells when that changes."""

    def __init__(self, ledger: Ledger, outages: Outages) -> None:
        self._ledger = ledger
        self._outages = outages
        self._said: dict[Asked, bool] = {}

    def forget(self) -> None:
        """What an earlier driver noted is over: each provider is asked anew."""
        for asked in self._outages.each:
            self._ledger.tell(_key(asked), None)

    def take(self, now: float) -> Iterator[str]:
        """Note how all stand; a line for each that goes down, or answers again, since last time."""
        for asked, outage in self._outages.each.items():
            note = _note(asked, outage, now)
            self._keep(asked, note)
            whole = self._outages.each[asked[0], None]
            if note is None:
                if self._said.pop(asked, None) is not None:
                    yield f"{_name(asked)} answers again"
            elif outage is whole or not whole.down:
                if self._said.get(asked) is not note.mend:
                    yield note.words(now)
                self._said[asked] = note.mend

    def _keep(self, asked: Asked, note: Note | None) -> None:
        noted = _noted(self._ledger, asked)
        if note is None:
            if noted is not None:
                self._ledger.tell(_key(asked), None)
        elif noted is None or noted.why != note.why or abs(noted.again - note.again) > NOTE_SECONDS:
            self._ledger.tell(_key(asked), json.dumps(asdict(note)))
