"""What a session of a contender shows: with a script in the model's place, and with the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from types import MappingProxyType
from typing import Final

from bench.preflight.form import Check, State, Wanted
from bench.preflight.looking import dialect_of
from bench.preflight.playing import LIMITS, Leash, Played, play
from bench.preflight.tools import Tools
from bench.providers import key_of
from bench.proxy.form import Exchange, Outcome
from bench.proxy.troubles import sentence
from bench.scripted import Request, Script, Server, expected_usage, scripted_provider
from kbsite.errors import KbsiteError
from kbsite.model.counts import number_of
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage

LIVE_TOKENS: Final = 60_000
"""A real turn is ended when it used so many; a first request of some CLIs has 20,000."""

LIVE_SECONDS: Final = 120.0

SESSION, LIVE = "session", "live"

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What scripted sessions are played with."""

    server: Server
    script: Script
    stop: Event
    """Set by a person who has enough."""

    @property
    def writes(self) -> bool:
        """Whether a session that plays the script leaves a solution.py."""
        return any(one.write is not None for turn in self.script.turns for one in turn.calls)


def scripted(wanted: Wanted, tools: Tools, stage: Stage) -> Check:
    """Whether a contender plays a script to its end, and all counts of its tokens agree."""
    run = f"preflight-{next(_numbers)}"
    played_by = scripted_provider(stage.server.url, run, stage.script.name)
    dialect = dialect_of(wanted, tools)
    if dialect is None:
        return Check(name=SESSION, state=State.NOT_TRIED, seen="no dialect was found for it")
    base = MappingProxyType({dialect: played_by.bases[dialect]})
    try:
        played = play(
            wanted, tools, replace(played_by, bases=base), None, Leash(operator=stage.stop)
        )
    except (KbsiteError, OSError) as error:
        return Check(name=SESSION, state=State.WRONG, seen=f"it cannot be started: {error}")
    requests = stage.server.requests_of(run)
    wrong = list(_wrong(wanted, played, requests, writes=stage.writes))
    if wrong:
        cure = "play it alone with kbsite bench run, and read transcript/stderr.log"
        return Check(name=SESSION, state=State.WRONG, seen="; ".join(wrong), cure=cure)
    return Check(name=SESSION, state=State.FINE, seen=_fine(played))


def _fine(played: Played) -> str:
    count = len(played.asked)
    seen = f"{played.seconds:.1f} s, {number_of(count, 'request')}, {_words(played.run.usage)}"
    return "; ".join([seen, *(note.rstrip(".") for note in played.run.notes)])


def _words(usage: Usage) -> str:
    return f"{usage.sent} tokens in and {usage.output} out"


def _wrong(
    wanted: Wanted, played: Played, requests: Sequence[Request], *, writes: bool
) -> Iterator[str]:
    """All that was not as it has to be, in sentences without their full stop."""
    if played.ended.reason != EndReason.FINISHED.value:
        yield f"it ended as {played.ended.reason}: {played.ended.detail.rstrip('.')}"
    yield from _miscounted(played, expected_usage(requests))
    yield from _in_the_proxy(wanted, played.exchanges)
    if writes and not played.solved:
        yield "it left no solution.py, which the script writes"
    if played.left:
        yield f"processes outlived it: {', '.join(played.left)}"


def _miscounted(played: Played, told: Usage) -> Iterator[str]:
    counted, own = played.run.usage, played.own
    if counted != told:
        yield f"the proxy counted {_words(counted)}, the answers told {_words(told)}"
    if own is None or not own.known:
        yield "its own log tells no tokens"
    elif (own.sent, own.output) != (told.sent, told.output):
        yield f"its own log says {_words(own)}, the answers told {_words(told)}"


def _in_the_proxy(wanted: Wanted, exchanges: Sequence[Exchange]) -> Iterator[str]:
    for one in exchanges:
        if one.outcome is Outcome.REFUSED:
            yield f"the proxy refused {one.method} {one.path[:100]}: {one.error}"
    asked = {one.model for one in exchanges if one.model_request and one.model}
    if asked and wanted.model not in asked:
        yield f"it asked for {', '.join(sorted(asked))[:200]}, and never for {wanted.model}"


def live(wanted: Wanted, tools: Tools, stop: Event) -> Check:
    """Whether the real model answers a contender once; ended when it uses more than a little."""
    provider = tools.providers.get(wanted.provider or "")
    if provider is None:
        return Check(name=LIVE, state=State.NOT_TRIED, seen="no known provider was named")
    leash = Leash(
        operator=stop, tokens=LIVE_TOKENS, budget_seconds=LIVE_SECONDS,
        limits=replace(LIMITS, stall_seconds=LIVE_SECONDS),
    )  # fmt: skip
    try:
        key = key_of(provider, dict(tools.environment))
        played = play(wanted, tools, provider, key, leash)
    except (KbsiteError, OSError) as error:
        return Check(name=LIVE, state=State.WRONG, seen=f"it cannot be started: {error}")
    answered = [one for one in played.asked if one.outcome.answered]
    if not answered:
        return Check(
            name=LIVE, state=State.WRONG, seen=_unanswered(played, provider.id),
            cure="see to key, account and the model's name",
        )  # fmt: skip
    first = answered[0]
    seen = f"{first.answered_by or 'a model'} answered in {first.seconds:.1f} s"
    return Check(
        name=LIVE, state=State.FINE, seen=f"{seen}; {_words(played.run.usage)} were used in all"
    )


def _unanswered(played: Played, provider: str) -> str:
    """What the provider said last, or else how the session ended."""
    said = [text for one in played.asked if (text := sentence(one, provider))]
    return said[-1] if said else f"no answer came: {played.ended.detail.rstrip('.')}"
