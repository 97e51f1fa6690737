"""A table of Parquet follows if it holds what follows, whichever version of a library wrote it."""

from __future__ import annotations

import io
import os
import signal
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kbsite.feeds import parquet
from kbsite.feeds.table import COLUMNS, MOMENT, NUMBER, TRUTH, WHOLE
from kbsite.verifying import tables
from tests.verifying.published import copy_of, errors

VALUES: Mapping[str, object] = {
    WHOLE: 3, NUMBER: 0.5, TRUTH: True, MOMENT: "1970-01-01T00:00:00.000007Z"
}  # fmt: skip
ROW = tuple(VALUES.get(kind, "a") for kind in COLUMNS.values())
ROWS = [ROW, tuple(None for _ in ROW), ROW]
OTHER = "parquet-rs version 99.0.1"
MADE = parquet.parquet(ROWS)  # type: ignore[arg-type]


def written(data: bytes, **options: Any) -> bytes:
    """What a file holds, written otherwise."""
    from arro3.io import read_parquet, write_parquet

    out = io.BytesIO()
    write_parquet(read_parquet(io.BytesIO(data)).read_all(), out, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    "options",
    [{}, {"writer_version": "parquet_2_0"}, {"dictionary_enabled": False},
     {"max_row_group_size": 1}, {"skip_arrow_metadata": True}, {"compression": "zstd(3)"}],
    ids=str,
)  # fmt: skip
def test_how_another_version_writes_a_table_does_not_matter(options: dict[str, Any]) -> None:
    other = written(MADE, **options, created_by=OTHER)

    assert other != MADE
    assert tables.same(MADE, other)


def test_what_the_same_version_wrote_is_the_same_to_the_last_byte() -> None:
    assert tables.same(MADE, written(MADE))
    assert not tables.same(MADE, written(MADE, key_value_metadata={"best": "mine"}))


@pytest.mark.parametrize(
    "rows",
    [ROWS[:2], [*ROWS, ROW], [ROWS[1], ROWS[0], ROW], [("b", *ROW[1:]), *ROWS[1:]],
     [(None, *ROW[1:]), *ROWS[1:]], []],
    ids=range(6),
)  # fmt: skip
def test_a_table_of_other_rows_is_another(rows: list[Any]) -> None:
    other = parquet.parquet(rows)

    assert not tables.same(MADE, other)
    assert not tables.same(MADE, written(other, created_by=OTHER))


LIES = [
    (struct.pack("<d", 0.5), struct.pack("<d", 0.9)), (struct.pack("<q", 3), struct.pack("<q", 4)),
    (b"\x18\x01a", b"\x18\x01b"), (struct.pack("<q", 7), struct.pack("<q", 8)),
]  # fmt: skip
"""What a least or a largest value is, and another."""


@pytest.mark.parametrize("lie", LIES, ids=["numbers", "whole numbers", "texts", "moments"])
@pytest.mark.parametrize("nth", [0, 1])
@pytest.mark.parametrize("part", ["footer", "index"])
def test_what_a_file_says_of_its_columns_has_to_be_so(
    lie: tuple[bytes, bytes], nth: int, part: str
) -> None:
    other = written(MADE, created_by=OTHER, dictionary_enabled=False)
    footer = len(other) - 8 - int.from_bytes(other[-8:-4], "little")
    index = other.index(b"PAR1") if part == "index" else footer
    at = other.rindex(lie[0], 0, footer) if part == "index" else other.index(lie[0], index)
    if nth and part == "footer":
        at = other.index(lie[0], at + 1)
    changed = other[:at] + lie[1] + other[at + len(lie[0]) :]

    assert tables.same(MADE, other)
    assert not tables.same(MADE, changed)


@pytest.mark.parametrize("data", [b"", b"PAR1", MADE[:-100], MADE[:40] + MADE[60:], b"x" * 9000])
def test_what_is_no_table_is_another(data: bytes) -> None:
    assert not tables.same(MADE, data)


def test_a_table_that_ends_who_reads_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "same", lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    assert not tables.same(MADE, b"PAR1")


def test_a_site_with_a_table_of_another_version_follows(site: Path, tmp_path: Path) -> None:
    other = copy_of(site, tmp_path / "site")
    path = other / "data/runs.parquet"
    data = written(path.read_bytes(), created_by=OTHER)
    path.unlink()
    path.write_bytes(data)

    assert errors(other) == []
