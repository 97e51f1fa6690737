"""Keys of an audit.yaml that kbsite does not know.

Records are read without regard to keys that nobody knows; but persons write this file, and a key
that is misspelt, or that repeats what the run says itself, would silently mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import islice
from pathlib import Path

from kbsite.model.audit import Audit, Earlier, Quote
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.store.config_keys import MOST, Within, ignored, unknown
from kbsite.store.parsing import LIMIT_YAML_BYTES, read_text, yaml_data
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import METRICS, RUN

_WITHIN: Within = {Audit: {"quotes": Quote, "history": Earlier}}
_TOLD = {
    **{field.name: RUN for field in fields(Run)},
    **{field.name: METRICS for field in fields(Metrics)},
    "run_id": RUN, "run": RUN, "contender": RUN, "cost": RUN, "tokens": RUN,
    "score": METRICS, "speedup": METRICS, "ms": METRICS, "fraction": METRICS,
}  # fmt: skip
"""What a run says itself, and the file that says it."""


Say = Callable[[str, str], None]
"""Takes a key, and what there is to say of it."""


def key_remarks(path: Path, wrong: Say, warn: Say) -> None:
    """Say of each key of an audit.yaml that nobody knows what it may have been meant for."""
    try:
        data = yaml_data(path, read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff"))
    except InvalidFileError:
        return  # it was read a moment ago
    for key, name, kind in islice(unknown(data, Audit, _WITHIN), MOST):
        if kind is Audit and name in _TOLD and name != "format":
            wrong(key, f"comes from {_TOLD[name]}, and is never repeated here; delete the key")
        else:
            warn(key, ignored(name, kind))
