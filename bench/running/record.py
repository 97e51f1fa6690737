"""run.json of a session, and what lies beside it: who, what, when, on what, and at which price."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bench.commit import git_commit
from bench.harnesses.form import Program
from bench.proxy.form import Account, Exchange
from bench.records import plain
from bench.running.ending import Verdict
from bench.running.form import Order
from bench.running.given import Workspace
from bench.running.hosts import CPU
from bench.running.proven import level
from bench.sandbox.box import Ending, Proven
from kbsite import __version__
from kbsite.errors import UsageError
from kbsite.model.counts import number_of
from kbsite.model.price import Estimate, PriceTable, estimate
from kbsite.model.run import FORMAT, Host, Run
from kbsite.model.slugs import id_of_run
from kbsite.model.usage import Usage
from kbsite.store.files import contents
from kbsite.store.folders import new_run_folder
from kbsite.store.prices import PRICES
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.store.writing import json_text

PROXY = "proxy.jsonl"
SANDBOX = "sandbox.json"
ORDER = "order.json"
SESSION = "session.json"
PROMPT = "prompt.txt"

READABLE_BYTES = 64 << 20
"""A transcript that is larger is not read here: whoever watches a session stays small."""

MOST_EVENTS = 1_000_000
"""Nor is one that tells of more: of so many small rows a session has none, but for one that wants
to keep its supervisor busy for minutes."""

PROMPT_WORD = "PROMPT"
"""Stands in the recorded command line for the prompt, where a CLI wants it there."""

_MOST_TRIES = 100


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is known of a session before it starts."""

    order: Order
    program: Program
    provider_host: str
    command: Sequence[str]
    environment: Mapping[str, str]
    given: Workspace
    host: Host
    started: datetime


@dataclass(frozen=True, kw_only=True)
class Became:
    """What is known of it when it is over."""

    verdict: Verdict
    ending: Ending
    ended: datetime
    account: Account
    proven: Proven
    notes: tuple[str, ...]


def new_folder(runs: Path, order: Order, started: datetime) -> Path:
    """A fresh `<run-id>.partial`, of an id that no run of the board has or gets meanwhile.

    It holds its order from the first: by that a sweep knows of which cell it is.
    """
    board, holds = runs / order.board, {ORDER: json_text(hidden(order)).encode("utf-8")}
    base = id_of_run(started, order.harness, order.model, order.problem)
    for number in range(1, _MOST_TRIES):
        name = base if number == 1 else f"{base}-{number}"
        try:
            return new_run_folder(board, name, holds)
        except UsageError:
            # Of the same second, maybe of another supervisor: whatever else is wrong is told below.
            continue
    return new_run_folder(board, base, holds)


def hidden(order: Order) -> dict[str, object]:
    """An order as it lies in its run: which GPU it was can be told, and nothing else of it."""
    uuid = (order.gpu or "").removeprefix("GPU-")
    told = hashlib.sha256(uuid.encode()).hexdigest()[:12] if uuid else None
    shown: dict[str, object] = plain(replace(order, gpu=told))
    return shown


def run_record(run_id: str, told: Told, became: Became, prices: PriceTable, folder: Path) -> Run:
    """run.json of the run in a folder, whose transcript is complete."""
    order, usage = told.order, became.account.usage
    price = estimate(usage, order.model, told.started.date(), prices)
    return Run(
        format=FORMAT,
        id=run_id,
        board=order.board,
        problem=order.problem,
        problem_hash=told.given.problem_hash,
        prompt_hash=told.given.prompt_hash,
        harness=order.harness,
        harness_version=told.program.version,
        model=order.model,
        effort=order.effort,
        variant=order.variant,
        provider=order.provider,
        base_url_host=told.provider_host,
        command=tuple(_without(told.given.prompt, word) for word in told.command),
        environment=tuple(sorted(told.environment)),
        hardware=order.hardware or (None if order.gpu else CPU),
        host=told.host,
        budget_seconds=order.budget_seconds,
        started=told.started,
        ended=became.ended,
        exit_code=became.ending.exit_code,
        signal=_signal(became.ending),
        end_reason=became.verdict.reason,
        end_detail=became.verdict.detail,
        usage=usage,
        usage_source=usage_source(order.harness, became.account, folder),
        answers=became.account.answers,
        cost_usd=round(float(price.usd), 6) if price else None,
        cost_source=_cost_source(price) if price else None,
        sandbox=level(became.proven),
        kbsite_version=__version__,
        git_commit=git_commit(),
        notes=became.notes,
    )


def _without(prompt: str, word: str) -> str:
    """A word of the command line, whose end may be the prompt."""
    return word.removesuffix(prompt) + PROMPT_WORD if word.endswith(prompt) else word


def about_models(order: Order, exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Sentences about what was asked of a provider that the order does not tell."""
    asked, answered, tools = set[str](), set[str](), set[str]()
    for one in exchanges:
        if one.model_request:
            asked |= {one.model} if one.model else set()
            answered |= {one.answered_by} if one.answered_by else set()
            tools.update(one.server_tools)
    asked.discard(order.model)
    if asked:
        yield f"The CLI asked for other models, too: {_listed(sorted(asked))}."
    if others := sorted(answered - {order.model, *asked}):
        yield f"Answers named other models than were asked: {_listed(others)}."
    if tools:
        yield f"The CLI let the provider use tools of its own: {_listed(sorted(tools))}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:100] for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"


def _signal(ending: Ending) -> str | None:
    if ending.signal is not None:
        return Ending(signal=ending.signal).sentence.rpartition(" ")[2]
    return "SIGKILL" if ending.killed else None


def _cost_source(price: Estimate) -> str:
    least = ", at least: some kinds of token have no price there" if price.lower_bound else ""
    return f"{PRICES} ({price.price.stated}) and the tokens in {PROXY}{least}"


def usage_source(harness: str, account: Account, folder: Path) -> str:
    """Where the tokens were counted, and whether the CLI's own log says the same."""
    counted = f"{PROXY}: {number_of(account.exchanges, 'exchange')}"
    own = own_usage(harness, folder)
    if own is None or not own.known:
        return f"{counted}; the CLI's own log tells no total"
    if (own.sent, own.output) == (account.usage.sent, account.usage.output):
        return f"{counted}; the CLI's own log says the same"
    return f"{counted}; the CLI's own log says {_words(own)}, here it is {_words(account.usage)}"


def own_usage(harness: str, folder: Path) -> Usage | None:
    """The total of a CLI's own log; None where there is no log, or one that is too large."""
    # No CLI has to wait for it to be loaded.
    from kbsite.transcripts import tokens

    kept = [
        replace(one, name=one.name.removeprefix(TRANSCRIPT))
        for one in contents(folder)[0]
        if one.name.startswith(TRANSCRIPT)
    ]
    if sum(one.size for one in kept) > READABLE_BYTES:
        return None
    return tokens(harness, kept, MOST_EVENTS)


def _words(usage: Usage) -> str:
    return f"{usage.sent} in and {usage.output} out"
