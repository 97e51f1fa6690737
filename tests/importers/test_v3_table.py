"""A row of the table is whole or an error that names file, line and column; the others stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbsite.importers.v3_table import COLUMNS, problem_id, read_table
from kbsite.store.parsing import InvalidFileError
from tests.importers.v3_csv import BROKEN, FAILED, PASSED, SILENT, table


def test_what_a_row_says_is_read_and_what_it_leaves_empty_is_none(tmp_path: Path) -> None:
    read = read_table(table(tmp_path / "t.csv", PASSED, SILENT))

    assert read.errors == ()
    first, second = read.rows
    assert (first.line, first.model, first.gpu, first.level) == (2, "Alpha 1", "H100", 1)
    assert (first.file, first.problem) == ("23_Softmax.py", "23_softmax")
    assert (first.compiled, first.correct, first.stamp) == (True, True, "20260102_030405")
    assert (first.speedup, first.ref_ms, first.sol_ms) == (0.5, 0.25, 0.5)
    assert (first.turns, first.tokens, first.cost_usd) == (7, 12345, 0.125)
    assert (second.speedup, second.ref_ms, second.sol_ms, second.cost_usd) == (None,) * 4
    assert (second.turns, second.tokens, second.kind, second.baseline) == (1, 0, "", "")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("model", "", "expected a name"),
        ("model", "x" * 301, "at most 300 characters"),
        ("model", "a\x1b[31mb", "printable text"),
        ("gpu", "H 100", "expected a name as H100, got 'H 100'"),
        ("gpu", "../H100", "expected a name as H100"),
        ("level", "0", "expected 1 to 99"),
        ("level", "one", "expected a whole number"),
        ("problem", "a/b.py", "small letters, digits"),
        ("problem", "..py", "small letters, digits"),
        ("compiled", "yes", "expected True or False, got 'yes'"),
        ("compiled", "False", "it did not compile"),
        ("speedup", "nan", "expected a finite number from 0 up, or nothing, got 'nan'"),
        ("ref_ms", "1e999", "expected a finite number"),
        ("sol_ms", "0", "expected a number above 0"),
        ("sol_ms", "-1", "expected a finite number"),
        ("turns", "1.5", "expected a whole number"),
        ("turns", "٣", "expected a whole number"),
        ("total_tokens", "9" * 400, "expected at most 300 characters"),
        ("run_dir", "run_20261302_030405", "expected run_ and a moment"),
        ("run_dir", "../run_20260102_030405", "expected run_ and a moment"),
    ],
)
def test_a_field_that_is_wrong_takes_its_row_and_no_other(
    tmp_path: Path, column: str, value: str, told: str
) -> None:
    other: dict[str, Any] = {**PASSED, "problem": "1_Sum.py"}
    path = table(tmp_path / "t.csv", other, {**PASSED, column: value}, FAILED | {"gpu": "B200"})

    read = read_table(path)

    assert [row.line for row in read.rows] == [2, 4]
    (error,) = read.errors
    assert (error.path, error.line) == (path, 3)
    assert error.key == ("correct" if "not compile" in told else column)
    assert told in error.message
    assert error.message.isprintable()
    assert error.message.endswith("the row is left out")


def test_rows_that_are_no_csv_or_have_other_fields_are_named_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    path = table(tmp_path / "t.csv", PASSED, {**PASSED, "model": "Two\nlines"})
    text = path.read_text("utf-8")
    path.write_text(f'{text}a,b\r\n"a"b,c\r\n\r\n{text.splitlines()[1]}\r\n', newline="")

    read = read_table(path)

    assert [row.line for row in read.rows] == [2, 8]
    assert [(error.line, error.key) for error in read.errors] == [
        (3, "model"), (5, None), (6, None),
    ]  # fmt: skip
    _, short, odd = read.errors
    assert "has 2 fields; expected 18" in short.message
    assert "not valid CSV" in odd.message


def test_two_files_that_would_be_one_problem_are_not_mixed(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", PASSED, {**PASSED, "problem": "23_softmax_.py"})

    read = read_table(path)

    assert [row.file for row in read.rows] == ["23_Softmax.py"]
    assert [(error.line, error.key) for error in read.errors] == [(3, "problem")]
    assert "'23_Softmax.py' in line 2" in read.errors[0].message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty; expected a table with the columns model, gpu"),
        ("model,gpu\nA,H100\n", "lacks the columns level, problem"),
        (",".join((*COLUMNS, "gpu")), "has the columns gpu twice"),
    ],
)
def test_what_is_no_such_table_is_one_error(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)

    with pytest.raises(InvalidFileError, match=told):
        read_table(path)


def test_columns_may_stand_in_any_order_beside_others_and_behind_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    held = {**BROKEN, "more": "x"}
    names = sorted(held)
    path.write_text(f"\ufeff{','.join(names)}\n{','.join(str(held[n]) for n in names)}\n")

    read = read_table(path)

    assert read.errors == ()
    assert [(row.model, row.compiled) for row in read.rows] == [("Alpha 1", False)]


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("36_RMSNorm_.py", "36_rmsnorm"),
        ("gemm_bf16.py", "gemm_bf16"),
        ("63_conv__square_kernel.py", "63_conv__square_kernel"),
    ],
)
def test_the_id_of_a_problem_can_stand_in_an_address(file: str, problem: str) -> None:
    assert problem_id(file) == problem
