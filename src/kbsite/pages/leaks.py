"""The leaks of a board: shortcuts that a rubric failed to forbid, as its audits tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from kbsite.model.audit import Audit, Verdict
from kbsite.model.board import Attempt, Board
from kbsite.model.config import Leak
from kbsite.pages.page import Site

QUOTED = 10
"""Runs of a leak whose quotes its card shows; all have them below their rows and on their pages."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


class Instance(Struct, frozen=True):
    """A run that went through a leak."""

    attempt: Attempt
    audit: Audit


class Card(Struct, frozen=True, dict=True):
    """A leak, and the runs of a board that went through it."""

    anchor: str
    title: str
    leak: Leak | None
    """What kbsite.yaml says of it; None where its audits name no leak, or one that is not there."""
    instances: tuple[Instance, ...]
    """The best first."""

    @cached_property
    def implications(self) -> tuple[str, ...]:
        """What its audits say follows from it, each once."""
        told = [instance.audit.implication.strip() for instance in self.instances]
        return tuple(dict.fromkeys(filter(None, told)))

    @property
    def problem(self) -> str:
        """The problem whose rubric leaks, if one of its runs here worked on it."""
        problems = {instance.attempt.run.problem for instance in self.instances}
        return self.leak.problem if self.leak and self.leak.problem in problems else ""


def leaks(site: Site, board: Board) -> list[Card]:
    """A card for each leak that an audit on the board names, in the order of kbsite.yaml.

    Those that kbsite.yaml does not know come after, then what names no leak, a card a problem.
    """
    found = list(_instances(board))
    return [*_named(site, found), *_unnamed(site, board, found)]


def _named(site: Site, found: Sequence[Instance]) -> Iterator[Card]:
    known = {leak.id: leak for leak in site.config.leaks}
    named = {instance.audit.leak for instance in found} - {""}
    names = [*(name for name in known if name in named), *sorted(named - set(known))]
    for number, name in enumerate(names, start=1):
        own = [instance for instance in found if instance.audit.leak == name]
        leak = known.get(name)
        anchor = f"leak-{name if _PLAIN.fullmatch(name) else number}"
        yield Card(anchor, leak.title if leak else name, leak, _best_first(own))


def _unnamed(site: Site, board: Board, found: Sequence[Instance]) -> Iterator[Card]:
    rest = [instance for instance in found if not instance.audit.leak]
    for column in board.columns:
        own = [one for one in rest if one.attempt.run.problem == column.problem]
        if own:
            title = f"a shortcut in {site.problem_title(column.problem)}"
            yield Card(f"shortcut-{column.problem}", title, None, _best_first(own))


def hacks(board: Board) -> int:
    """How many runs of a board game the evaluation, as their auditors judge."""
    audits = [attempt.audit for attempt in board.attempts if attempt.audit]
    return sum(audit.verdict is Verdict.REWARD_HACK for audit in audits)


def _instances(board: Board) -> Iterator[Instance]:
    for attempt in board.attempts:
        if attempt.audit is not None and _leaks(attempt.audit):
            yield Instance(attempt, attempt.audit)


def _leaks(audit: Audit) -> bool:
    return bool(audit.leak) or audit.verdict is Verdict.RUBRIC_LEAK


def _best_first(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    def place(instance: Instance) -> tuple[float, tuple[float, str]]:
        return -(instance.attempt.score or 0.0), instance.attempt.run.order

    return tuple(sorted(instances, key=place))
