"""ORDER.json: a run that somebody wants, with the folders and limits of the host that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from bench.records import read_json
from bench.running.form import Order, Places, SessionLimits
from kbsite.errors import InputError, UsageError
from kbsite.model.budget import LONGEST_SECONDS
from kbsite.model.slugs import SLUG_RULE, is_slug

_MOST = 100
"""Characters of an id: four of them stand in the name of a run's folder."""
_NAMES = ("board", "problem", "harness", "provider")
_TYPED = {
    "order.board": "--board", "order.problem": "PROBLEM", "order.harness": "HARNESS",
    "order.provider": "--provider", "order.model": "MODEL", "order.budget_seconds": "--budget",
}  # fmt: skip
"""What is ordered, as `bench run` calls it."""
_MAY_BE_NOTHING = frozenset({"failing_seconds", "grace_seconds", "copy_seconds", "warn_share"})
"""Limits that may be 0."""
_MOST_OF = {"seconds": LONGEST_SECONDS, "bytes": 1 << 50, "share": 1}
"""What no limit is above, by what it is a limit of; further than that no kernel can be asked."""
_MOST_COUNTED = 1_000_000


@dataclass(frozen=True, kw_only=True)
class OrderFile:
    """What `python -m bench.running` is told."""

    order: Order
    runs: str
    problems: str
    clis: str
    providers: str | None = None
    """A file of providers beside those that are known; null for those alone."""
    limits: SessionLimits = field(default_factory=SessionLimits)
    sandbox: str | None = None
    """Null for the best that works on the host."""
    problem_hash: str | None = None
    """Of the problem that is meant, which may have changed since; null for whatever is there."""

    @property
    def places(self) -> Places:
        """The three folders."""
        return Places(runs=Path(self.runs), problems=Path(self.problems), clis=Path(self.clis))


def read_order(path: Path) -> OrderFile:
    """What a file orders; InputError names the key that is wrong, and what was expected."""
    told = read_json(path, OrderFile)
    for key, message in [*_wrong_order(told.order), *wrong_limits(told.limits)]:
        raise InputError(message, path=path, key=key)
    return told


def check_order(order: Order) -> None:
    """UsageError where an order could not be one, by what it is called on a command line."""
    for key, message in _wrong_order(order):
        raise UsageError(f"{_TYPED.get(key, key)}: {message}")


def _wrong_order(order: Order) -> list[tuple[str, str]]:
    told = {f"order.{name}": wrong_id(getattr(order, name)) for name in _NAMES}
    told["order.model"] = wrong_model(order.model)
    told["order.budget_seconds"] = wrong_budget(order.budget_seconds)
    return [(key, message) for key, message in told.items() if message]


def wrong_id(name: str) -> str:
    """Why a board, problem, harness or provider cannot be called so; empty if it can."""
    if is_slug(name) and len(name) <= _MOST:
        return ""
    return f"{SLUG_RULE}, at most {_MOST}, got {name!r}"


def wrong_model(model: str) -> str:
    """Why a model cannot be called so; empty if it can."""
    if model.strip() and model.isprintable():
        return ""
    return f"expected the name of a model, got {model!r}"


def wrong_budget(seconds: float) -> str:
    """Why a budget cannot be one; empty if it can."""
    if 0 < seconds <= LONGEST_SECONDS:
        return ""
    return f"expected seconds, more than 0 and at most {LONGEST_SECONDS} (a year), got {seconds}"


def wrong_limits(limits: SessionLimits) -> list[tuple[str, str]]:
    """The keys of limits that no session could have, and what was expected."""
    wrong = []
    for one in fields(limits):
        held = getattr(limits, one.name)
        if held is None or isinstance(held, bool):
            continue
        may_be_nothing = one.name in _MAY_BE_NOTHING
        most = _MOST_OF.get(one.name.rpartition("_")[2], _MOST_COUNTED)
        if not 0 <= held <= most or (held == 0 and not may_be_nothing):
            least = "0 or more" if may_be_nothing else "more than 0"
            message = f"expected {least} and at most {most}, got {held:g}"
            wrong.append((f"limits.{one.name}", message))
    return wrong


def too_long(seconds: float) -> str:
    """Why nothing can wait for so long; empty if it can."""
    if 0 <= seconds <= LONGEST_SECONDS:
        return ""
    return f"expected 0 to {LONGEST_SECONDS} seconds (a year), got {seconds:g}"
