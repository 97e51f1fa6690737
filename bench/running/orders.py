"""ORDER.json: a run that somebody wants, with the folders and limits of the host that runs it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from pathlib import Path

from bench.records import read_json
from bench.running.form import Order, Places, SessionLimits
from kbsite.errors import InputError
from kbsite.model.slugs import SLUG_RULE, is_slug

_MOST = 100
"""Characters of an id: four of them stand in the name of a run's folder."""
_NAMES = ("board", "problem", "harness", "provider")


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

    @property
    def places(self) -> Places:
        """The three folders."""
        return Places(runs=Path(self.runs), problems=Path(self.problems), clis=Path(self.clis))


def read_order(path: Path) -> OrderFile:
    """What a file orders; InputError names the key that is wrong, and what was expected."""
    told = read_json(path, OrderFile)
    for key, message in [*_wrong_order(told.order), *_wrong_limits(told.limits)]:
        raise InputError(message, path=path, key=key)
    return told


def check_order(order: Order, where: Path | str) -> None:
    """Raise InputError where an order could not be one; `where` is who ordered it."""
    for key, message in _wrong_order(order):
        raise InputError(message, path=where, key=key)


def _wrong_order(order: Order) -> list[tuple[str, str]]:
    wrong = []
    for name in _NAMES:
        held = getattr(order, name)
        if not is_slug(held) or len(held) > _MOST:
            wrong.append((f"order.{name}", f"{SLUG_RULE}, at most {_MOST}, got {held!r}"))
    if not order.model.strip() or not order.model.isprintable():
        wrong.append(("order.model", f"expected the name of a model, got {order.model!r}"))
    if not (math.isfinite(order.budget_seconds) and order.budget_seconds > 0):
        message = f"expected seconds, more than 0, got {order.budget_seconds}"
        wrong.append(("order.budget_seconds", message))
    return wrong


def _wrong_limits(limits: SessionLimits) -> list[tuple[str, str]]:
    wrong = []
    for one in fields(limits):
        held = getattr(limits, one.name)
        if held is None or isinstance(held, bool):
            continue
        if not (math.isfinite(held) and held > 0):
            wrong.append((f"limits.{one.name}", f"expected more than 0, got {held}"))
    return wrong
