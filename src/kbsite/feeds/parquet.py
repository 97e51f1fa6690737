"""data/runs.parquet, where the extra `parquet` is installed.

arro3 writes the file: twelve megabytes of wheels, where pyarrow takes five times as much and is
imported by every build once it is there, since pandas looks for it; fastparquet is retired.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kbsite.feeds.parquet_sums import honest

if TYPE_CHECKING:
    from kbsite.feeds.table import Value

EXTRA = "kbsite[parquet]"


def available() -> bool:
    """Whether what writes the file is installed."""
    return find_spec("arro3") is not None


def parquet(held: Sequence[Sequence[Value]]) -> bytes:
    """Rows, with a value for each of COLUMNS, as a file of Apache Parquet.

    ImportError where the extra is not installed.
    """
    from arro3.core import Array, DataType, Table
    from arro3.io import write_parquet

    from kbsite.feeds.table import COLUMNS, MOMENT, NUMBER, TRUTH, WHOLE

    kinds = {
        WHOLE: DataType.int64(), NUMBER: DataType.float64(), TRUTH: DataType.bool(),
        MOMENT: DataType.timestamp("us", tz="UTC"),
    }  # fmt: skip
    told = zip(*held, strict=True) if held else ((),) * len(COLUMNS)
    columns = [
        # As text, moments could not be put in order: some have parts of a second.
        Array(values, DataType.utf8()).cast(kinds[kind])
        if kind == MOMENT
        else Array(_values(values, kind == NUMBER), kinds.get(kind, DataType.utf8()))
        for values, kind in zip(told, COLUMNS.values(), strict=True)
    ]
    out = io.BytesIO()
    write_parquet(Table.from_arrays(columns, names=list(COLUMNS)), out)
    return out.getvalue()


def same(made: bytes, found: bytes) -> bool:
    """Whether a file has the columns and rows of one of ours, and says nothing else of them.

    A file that is made for that ends the process. ImportError where the extra is not installed.
    """
    ours, theirs = _read(made), _read(found)
    if ours is None or ours != theirs:
        return False
    return honest(found, [column[3] for column in ours])


Column = tuple[str, str, bool, list[object]]
"""Its name, its type, whether it may lack values, and those."""


def _read(data: bytes) -> tuple[Column, ...] | None:
    """The columns of a file, and what each holds; None where it is none."""
    from arro3.core import DataType
    from arro3.io import read_parquet

    try:
        table = read_parquet(io.BytesIO(data)).read_all()
    except BaseException as error:
        # What a library in Rust says of a broken file is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return None
        raise
    columns: list[Column] = []
    for number, name in enumerate(table.column_names):
        field, held = table.schema.field(number), table.column(number)
        if DataType.is_timestamp(field.type):
            # What a file says of its moments it says of numbers.
            held = held.cast(DataType.int64())
        columns.append((name, str(field.type), field.nullable, list(held.to_pylist())))
    return tuple(columns)


def _values(values: Sequence[Value], number: bool) -> list[Value]:  # noqa: FBT001
    """A column; numbers that are whole in some rows are not in any."""
    if number:
        return [float(one) if isinstance(one, int) else one for one in values]
    return list(values)
