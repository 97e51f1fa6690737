"""data/runs.parquet, where the extra `parquet` is installed.

arro3 writes the file: twelve megabytes of wheels, where pyarrow takes five times as much and is
imported by every build once it is there, since pandas looks for it; fastparquet is retired.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbsite.feeds.table import Value

EXTRA = "kbsite[parquet]"


def available() -> bool:
    """Whether what writes the file is installed."""
    return find_spec("arro3") is not None


def parquet(held: Sequence[Mapping[str, Value]]) -> bytes:
    """The rows as a file of Apache Parquet; ImportError where the extra is not installed."""
    from arro3.core import Array, DataType, Table
    from arro3.io import write_parquet

    from kbsite.feeds.table import COLUMNS, NUMBER, TRUTH, WHOLE

    kinds = {WHOLE: DataType.int64(), NUMBER: DataType.float64(), TRUTH: DataType.bool()}
    columns = [
        Array([_typed(kind, row[name]) for row in held], kinds.get(kind, DataType.utf8()))
        for name, kind in COLUMNS.items()
    ]
    out = io.BytesIO()
    write_parquet(Table.from_arrays(columns, names=list(COLUMNS)), out)
    return out.getvalue()


def _typed(kind: str, value: Value) -> Value:
    from kbsite.feeds.table import NUMBER

    return float(value) if kind == NUMBER and isinstance(value, int) else value
