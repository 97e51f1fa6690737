"""What is not as it has to be is named by its key or its line, with both values."""

from __future__ import annotations

import json

import pytest

from kbsite.model.finding import Severity
from kbsite.verifying.differences import MOST, differences

Told = list[tuple[str | None, str]]


def told(path: str, wanted: object, got: object) -> Told:
    first, second = (
        one if isinstance(one, bytes) else json.dumps(one).encode() for one in (wanted, got)
    )
    found = list(differences(path, first, second))
    assert all((one.severity, one.path) == (Severity.ERROR, path) for one in found)
    return [(one.key, one.message) for one in found]


def follows(wanted: str, got: str) -> str:
    return f"{wanted} follows from the raw data, not {got}"


@pytest.mark.parametrize(
    ("wanted", "got", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [("a.b[1]", follows("2", "3"))]),
        ({"a": 1}, {"a": True}, [("a", follows("1", "true"))]),
        ({"a": 1}, {"a": 1.0}, [("a", follows("1", "1.0"))]),
        ({"a": None}, {"a": 0}, [("a", follows("null", "0"))]),
        ({"a": 1}, {}, [("a", "missing; 1 follows from the raw data")]),
        ({}, {"a": 1}, [("a", "nothing of the raw data says so; got 1")]),
        ({"a": {}}, {"a": []}, [("a", follows("{}", "[]"))]),
        ({"a": [1]}, {"a": [1, 2]}, [("a", "1 items follow from the raw data, not 2")]),
        ([], {}, [("", follows("[]", "{}"))]),
    ],
)
def test_values_of_json_are_named_by_their_keys(wanted: object, got: object, found: Told) -> None:
    assert told("x.json", wanted, got) == found


ONE, TWO = {"id": "one", "score": 1}, {"id": "two", "score": 2}


@pytest.mark.parametrize(
    ("got", "found"),
    [
        ([ONE, {**TWO, "score": 3}], [("runs[two].score", follows("2", "3"))]),
        ([TWO], [("runs[one]", "missing; it follows from the raw data")]),
        ([ONE, TWO, {"id": "three"}], [("runs[three]", "nothing of the raw data says so")]),
        ([TWO, ONE], [("runs", 'the order that follows is ["one", "two"], not ["two", "one"]')]),
        ([{"score": 1}, TWO], [("runs[0].id", 'missing; "one" follows from the raw data')]),
    ],
)
def test_items_of_a_list_are_named_by_what_tells_them_apart(got: object, found: Told) -> None:
    assert told("x.json", {"runs": [ONE, TWO]}, {"runs": got}) == found


def test_json_that_is_none_or_written_otherwise_is_told_so() -> None:
    assert told("x.json", {"a": 1}, b"{") == [(None, "is no JSON")]
    assert told("x.json", {"a": 1}, b"[" * 100_000) == [(None, "is no JSON")]
    assert told("x.json", {"a": 1}, b'{"a":1}') == [(None, "not written as kbsite writes it")]


def test_of_many_differences_a_few_are_named() -> None:
    found = told("x.json", list(range(100)), [-1] * 100)

    assert len(found) == MOST + 1
    assert found[-1] == (None, f"more than {MOST} differences; the rest is not named")


TABLE = b"id,score\r\none,1\r\ntwo,2\r\n"


@pytest.mark.parametrize(
    ("got", "found"),
    [
        (TABLE.replace(b"2", b"3"), [("two.score", "'2' follows from the raw data, not '3'")]),
        (TABLE[:-7], [("two", "the row is missing")]),
        (TABLE + b"three,3\r\n", [("three", "nothing of the raw data says so")]),
        (TABLE.replace(b"two,2", b"two"), [("two.score", "'2' follows from the raw data, not ''")]),
        (
            TABLE.replace(b"2", b"2" * 140_000),
            [("two.score", f"'2' follows from the raw data, not '{'2' * 99}…")],
        ),
        (TABLE.replace(b"\r\n", b"\n"), [(None, "not written as kbsite writes it")]),
    ],
)
def test_cells_of_a_table_are_named_by_row_and_column(got: bytes, found: Told) -> None:
    assert told("x.csv", TABLE, got) == found


PAGE = b'<h2 id="a">one</h2>\n<p>2 runs</p>\n<b id="c">3</b><i>4</i>\nend\n'


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "says"),
    [
        (b"2 runs", b"5 runs", 2, "#a", "“<p>5 runs</p>”"),
        (b"4", b"7", 3, "#c", "<i>7</i>"),
        (b"end\n", b"end\nmore\n", 5, "#c", "not “more”"),
        (b"one", b"\xff", 1, "#a", "\ufffd"),
    ],
)
def test_lines_of_a_page_are_named_by_the_last_place_before(
    old: bytes, new: bytes, line: int, key: str, says: str
) -> None:
    first, *_ = differences("x.html", PAGE, PAGE.replace(old, new))

    assert (first.line, first.key) == (line, key)
    assert says in first.message


def test_a_page_that_is_cut_short_says_how_much_there_should_be() -> None:
    found = list(differences("x.html", PAGE, PAGE[:30]))

    assert found[-1].message == "5 lines follow from the raw data, not 2"


def test_a_long_line_is_shown_around_where_it_differs() -> None:
    (found,) = differences(
        "x.js", b"a" * 5000 + b"1" + b"b" * 5000, b"a" * 5000 + b"2" + b"b" * 5000
    )

    assert "a1b" in found.message
    assert "a2b" in found.message
    assert len(found.message) < 400


def test_other_files_are_the_same_or_not() -> None:
    assert told("x.parquet", b"\0\1", b"\0\1") == []
    assert told("x.parquet", b"\0\1", b"\0\2") == [
        (None, "its bytes are not those that follow from the raw data")
    ]
