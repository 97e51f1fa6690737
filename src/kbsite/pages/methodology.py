"""/methodology/: how a number is made, told by the code that makes it, and what it was tried on.

What the page says of a rule is the rule's own docstring, constant or sentence: nothing is typed
here a second time, so nothing can be out of date.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from kbsite import exploits, standings
from kbsite.alarms import caught
from kbsite.alarms.kinds import BY_ID, KINDS
from kbsite.model.alarm import Level
from kbsite.model.audit import Audit, Measurement, Provenance, Validity, Verdict
from kbsite.model.board import Due
from kbsite.model.config import BoardConfig, Represents
from kbsite.model.floor import FloorKind
from kbsite.model.grade import Clocks, Metrics, Outcome, OutputError, ShapeMetrics
from kbsite.model.proof import ProofState
from kbsite.model.status import Status
from kbsite.pages.page import INDEX, Page, Site, templated
from kbsite.store.schema import attribute_docs, docstring

PATH = f"methodology/{INDEX}"
CAUGHT = f"methodology/alarms/{INDEX}"
"""All that detectors were tried on: long, and read by few who read the rules."""
EXPLOITS = f"methodology/exploits/{INDEX}"
"""All that the grader was tried on."""


class Rule(Struct, frozen=True):
    """Something that the code states about itself."""

    name: str
    text: str
    """Markdown."""
    source: str
    """Where in the code it stands, as Python names it."""
    value: str = ""
    """What it is set to, where it is a constant."""


class Question(Struct, frozen=True):
    """What an audit can answer beside its verdict."""

    name: str
    text: str
    answers: tuple[str, ...]


def pages(site: Site) -> Iterator[Page]:
    """Three pages, the same on every site but for the rules of its boards."""
    shown = partial(values, site, caught.PATH, exploits.PATH)
    yield templated(PATH, "pages/methodology.html", shown, partial(_depends, site))
    yield templated(CAUGHT, "pages/caught.html", partial(caught_values, caught.PATH), tuple)
    yield templated(EXPLOITS, "pages/exploits.html", partial(exploits_values, exploits.PATH), tuple)


def _depends(site: Site) -> object:
    """What the page shows beside code and settings."""
    return bool(site.hardware), [(board.audits_done, board.audits_due) for board in site.boards]


def values(site: Site, table: Path, graded: Path = exploits.PATH) -> dict[str, object]:
    """What the page shows.

    `table` is the file that says what detectors caught, `graded` what the grader did with exploits.
    """
    return {
        "title": "methodology",
        "figures": list(_figures()),
        "floors": list(FloorKind),
        "statuses": list(Status),
        "outcomes": list(Outcome),
        "represents": list(Represents),
        "verdicts": list(Verdict),
        "questions": list(_questions()),
        "effect": attribute_docs(Audit)["effect"],
        "proof_states": list(ProofState),
        "dues": list(Due),
        "threshold": attribute_docs(BoardConfig)["audit_threshold"],
        "boards": site.boards,
        "standing": docstring(standings).partition("\n\n")[2],
        "constants": _constants(standings),
        "methods": [_method(f) for f in _METHODS],
        "levels": list(reversed(Level)),
        "kinds": KINDS,
        "caught_path": CAUGHT,
        "exploits_path": EXPLOITS,
        "caught": caught.read_caught(table),
        "exploits": exploits.read_exploits(graded),
        "dealt": list(exploits.Dealt),
        "dealt_rightly": exploits.right,
        "dealt_with": exploits.graded,
        "known_open": exploits.known,
    }


def caught_values(table: Path) -> dict[str, object]:
    """Everything that detectors were tried on, and what they raised."""
    return {
        "title": "what alarms catch",
        "methodology_path": PATH,
        "kind_of": BY_ID,
        "caught": caught.read_caught(table),
    }


def exploits_values(graded: Path) -> dict[str, object]:
    """Everything that the grader was tried on, and how it ended."""
    return {
        "title": "what the grader withstands",
        "methodology_path": PATH,
        "exploits": exploits.read_exploits(graded),
    }


_METHODS: tuple[Callable[..., object], ...] = (
    standings.told_apart,
    standings.letter_groups,
    standings.wilson,
)


def _figures() -> Iterator[Rule]:
    """The figures of a grade, from raw to whole."""
    for kind, names in (
        (Clocks, ("event_ms", "wall_ms", "slope_ms", "event_slope_ms", "overhead_ms")),
        (ShapeMetrics, ("ms", "interval_ms", "spread", "ceiling_ms", "floor_ms")),
        (OutputError, ("largest", "typical")),
        (Metrics, ("peak_fraction", "interval", "achievable_fraction")),
    ):
        docs = attribute_docs(kind)
        for name in names:
            yield Rule(name, docs[name], f"{kind.__module__}.{kind.__name__}.{name}")


def _questions() -> Iterator[Question]:
    kinds: tuple[type[Enum], ...] = (Validity, Measurement, Provenance)
    for kind in kinds:
        answers = tuple(str(member.value) for member in kind)
        yield Question(kind.__name__.lower(), docstring(kind), answers)


def _method(function: Callable[..., object]) -> Rule:
    return Rule(
        function.__name__, docstring(function), f"{function.__module__}.{function.__name__}"
    )


@cache
def _constants(module: ModuleType) -> tuple[Rule, ...]:
    """The public constants of a module that say what they are."""
    return tuple(_stated(module))


def _stated(module: ModuleType) -> Iterator[Rule]:
    for stated, doc in pairwise(ast.parse(inspect.getsource(module)).body):
        match stated, doc:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if name.isupper() and not name.startswith("_"):
                held = f"{module.__name__}.{name}"
                yield Rule(name, inspect.cleandoc(text), held, f"{getattr(module, name)}")
            case _:
                pass
