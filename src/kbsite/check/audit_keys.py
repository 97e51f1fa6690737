"""Keys of an audit.yaml that kbsite does not know.

Records are read without regard to keys that nobody knows; but persons write this file, and a key
that is misspelt, or that repeats what the run says itself, would silently mean nothing.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import islice
from pathlib import Path

from kbsite.model.audit import Audit, Earlier, Quote
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.store.config_keys import MOST, Say, meant
from kbsite.store.parsing import LIMIT_YAML_BYTES, read_text, yaml_data
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import METRICS, RUN

_LISTS: dict[str, type] = {"quotes": Quote, "history": Earlier}
_TOLD = {
    **{field.name: RUN for field in fields(Run)},
    **{field.name: METRICS for field in fields(Metrics)},
    "run_id": RUN, "run": RUN, "contender": RUN, "cost": RUN, "tokens": RUN,
    "score": METRICS, "speedup": METRICS, "ms": METRICS, "fraction": METRICS,
}  # fmt: skip
"""What a run says itself, and the file that says it."""


def key_remarks(path: Path, wrong: Say, warn: Say) -> None:
    """Say of each key of an audit.yaml that nobody knows what it may have been meant for."""
    try:
        data = yaml_data(path, read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff"))
    except InvalidFileError:
        return  # it was read a moment ago
    for key, name, kind in islice(_unknown(data), MOST):
        if kind is Audit and name in _TOLD and name != "format":
            message = f"comes from {_TOLD[name]}, and is never repeated here; delete the key"
            wrong(key, message)
            continue
        known = [field.name for field in fields(kind)]
        warn(key, f"unknown, so it is ignored; {meant(name, known)}")


def _unknown(data: object) -> list[tuple[str, str, type]]:
    """The path, the name, and the record of each key that is none of that record's."""
    held = data if isinstance(data, dict) else {}
    found: list[tuple[str, str, type]] = [(name, name, Audit) for name in _strange(held, Audit)]
    for place, kind in _LISTS.items():
        for number, item in enumerate(held.get(place) or ()):
            names = _strange(item, kind)
            found += [(f"{place}[{number}].{name}", name, kind) for name in names]
    return found


def _strange(item: object, kind: type) -> list[str]:
    known = {field.name for field in fields(kind)}
    return [str(name) for name in item if name not in known] if isinstance(item, dict) else []
