"""JSON Schema of the records, made from the records and their attribute docstrings."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Callable
from datetime import datetime
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from kbsite.model.audit import Audit, Earlier, Quote
from kbsite.model.grade import (
    Clocks,
    Commitment,
    Isolation,
    Metrics,
    OutputError,
    Proof,
    ShapeMetrics,
)
from kbsite.model.leaderboard import (
    Leaderboard,
    ListedBoard,
    ListedCell,
    ListedCoverage,
    ListedFloors,
    ListedLeak,
    ListedProblem,
    ListedRefusal,
    ListedRow,
)
from kbsite.model.listing import ListedRun, Listing
from kbsite.model.published import Published, PublishedBoard, PublishedProblem
from kbsite.model.redacted import RedactedFile, Redactions
from kbsite.model.run import Host, Run
from kbsite.model.samples import Samples
from kbsite.model.usage import Usage
from kbsite.store.writing import json_text

SCHEMAS: dict[str, type] = {
    "run": Run,
    "metrics": Metrics,
    "audit": Audit,
    "runs": Listing,
    "leaderboard": Leaderboard,
    "site": Published,
    "redaction": Redactions,
    "samples": Samples,
}
"""The published schemas, by name of the file that they describe; of samples.jsonl, a line."""

_DESCRIBED = (
    Run, Metrics, Audit, Quote, Earlier, Host, ShapeMetrics, Usage, Listing, ListedRun, Samples,
    Clocks, OutputError, Proof, Isolation, Commitment, Leaderboard, ListedBoard, ListedCell,
    ListedCoverage, ListedFloors, ListedLeak, ListedProblem, ListedRefusal, ListedRow, Published,
    PublishedBoard, PublishedProblem, RedactedFile, Redactions,
)  # fmt: skip
_MODELS = "kbsite.model."
"""What the names of the modules begin with that records are of."""
_RECORDS: dict[str, type] = {kind.__name__: kind for kind in _DESCRIBED}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file of a run, or of data/runs.json, by its stem."""
    kind = SCHEMAS[name]
    _documented()
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for part_name, part in parts.items():
        _describe(part, part_name)
        if "description" in part:
            # Python 3.13 has taken the indentation out of docstrings, others have not.
            part["description"] = inspect.cleandoc(part["description"])
    top = parts.pop(kind.__name__)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"kbsite {name}",
        **{key: value for key, value in top.items() if key != "title"},
        "$defs": dict(sorted(parts.items())),
    }
    # Defaults are tuples.
    plain: dict[str, Any] = json.loads(json.dumps(whole), object_hook=_standard)
    return plain


def _standard(part: dict[str, Any]) -> dict[str, Any]:
    """A part with no format but those that JSON Schema has: strict readers refuse others."""
    if part.get("format") != "decimal":
        return part
    return {key: value for key, value in part.items() if key != "format"} | {"pattern": _DECIMAL}


_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?(E[+-]?[0-9]+)?$"


@cache
def schema_text(name: str) -> str:
    """The same as it stands in a site."""
    return json_text(schema(name))


def _describe(part: dict[str, Any], name: str) -> None:
    kind = _RECORDS.get(name)
    if kind is None or "properties" not in part:
        return
    for field, text in attribute_docs(kind).items():
        if field in part["properties"]:
            part["properties"][field]["description"] = text
    for field, hint in get_type_hints(kind).items():
        if datetime in get_args(hint):
            # A time without zone is refused, which is what the format asks for.
            texts = (one for one in part["properties"][field]["anyOf"] if one["type"] == "string")
            next(texts)["format"] = "date-time"


@cache
def attribute_docs(kind: type) -> dict[str, str]:
    """The docstrings that stand under the fields of a record, by field."""
    found = {}
    for field, after in pairwise(_defined(kind.__module__)[kind.__name__].body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[field.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def docstring(held: ModuleType | Callable[..., object]) -> str:
    """What a module, a class or a function says of itself, also where Python left that out.

    It does with -OO. Then the source is asked, of modules, and of what they have at their outside.
    """
    if held.__doc__:
        return inspect.cleandoc(held.__doc__)
    if isinstance(held, ModuleType):
        node: ast.Module | _Defined | None = _tree(held.__name__)
    else:
        named = inspect.unwrap(held)
        node = _defined(named.__module__).get(named.__name__)
    return (ast.get_docstring(node) if node else None) or ""


@cache
def _documented() -> None:
    """Give the records the docstrings that -OO left out: the library reads them there."""
    models = [name for name in sys.modules if name.startswith(_MODELS)]
    for module in models if sys.flags.optimize > 1 else ():
        for name, node in _defined(module).items():
            if isinstance(node, ast.ClassDef):
                getattr(sys.modules[module], name).__doc__ = ast.get_docstring(node, clean=False)


_Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def _tree(module: str) -> ast.Module:
    """The source of a module, which is read once for all that it states."""
    return ast.parse(inspect.getsource(sys.modules[module]))


@cache
def _defined(module: str) -> dict[str, _Defined]:
    """The classes and functions of a module by name."""
    return {held.name: held for held in _tree(module).body if isinstance(held, _Defined)}
