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
        Array(_values(name, kind == NUMBER, held), kinds.get(kind, DataType.utf8()))
        for name, kind in COLUMNS.items()
    ]
    out = io.BytesIO()
    write_parquet(Table.from_arrays(columns, names=list(COLUMNS)), out)
    return out.getvalue()


def _values(name: str, number: bool, held: Sequence[Mapping[str, Value]]) -> list[Value]:  # noqa: FBT001
    """A column; numbers that are whole in some rows are not in any."""
    values = [row[name] for row in held]
    return [float(one) if isinstance(one, int) else one for one in values] if number else values
