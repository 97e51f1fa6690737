"""Lines and JSON objects of files in every state."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.harnesses import bounds
from kbsite.harnesses import lines as lines_of_files
from kbsite.harnesses.lines import (
    Line,
    Record,
    count,
    dump,
    lines,
    mapping,
    number,
    parsed,
    records,
    sequence,
    spread,
    text,
    timestamp,
)
from kbsite.harnesses.rows import documents
from kbsite.model.event import Malformed


def split(data: bytes) -> list[Line]:
    return list(lines(io.BytesIO(data)))


def read(data: bytes | str) -> list[Record | Malformed]:
    return list(records(split(data if isinstance(data, bytes) else data.encode()), "f.jsonl"))


def values(data: bytes | str) -> list[Any]:
    return [record.value for record in read(data) if isinstance(record, Record)]


def only(data: bytes | str) -> Malformed:
    (record,) = read(data)
    assert isinstance(record, Malformed)
    return record


def test_an_empty_file_has_no_lines() -> None:
    assert split(b"") == []


def test_lines_are_counted_from_one() -> None:
    assert [line.number for line in split(b"a\n\nb\n")] == [1, 2, 3]


def test_line_ends_of_either_kind_are_taken_off() -> None:
    assert [line.text for line in split(b"a\r\nb\nc\r")] == ["a", "b", "c"]


def test_a_byte_order_mark_is_taken_off_the_first_line_only() -> None:
    mark = "\ufeff".encode()

    assert [line.text for line in split(mark + b"a\n" + mark + b"b\n")] == ["a", "\ufeffb"]


def test_a_file_with_a_byte_order_mark_and_carriage_returns_is_read() -> None:
    assert values(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n') == [{"a": 1}, {"a": 2}]


def test_only_a_line_end_makes_a_line_whole() -> None:
    assert [line.whole for line in split(b"a\nb")] == [True, False]


@pytest.mark.parametrize("inside", ["\u2028", "\u0085", "\x0c", "\r", "\x1e"])
def test_other_separators_do_not_end_a_line(inside: str) -> None:
    assert values(f'{{"a": "x{inside}y"}}\n') == [{"a": f"x{inside}y"}]


def test_bad_utf8_loses_no_byte() -> None:
    (value,) = values(b'{"a": "caf\xe9 \xff"}\n')

    assert value["a"].encode("utf-8", "surrogateescape") == b"caf\xe9 \xff"


def test_a_nul_within_a_string_is_kept() -> None:
    assert values(b'{"a": "x\x00y", "b": "\\u0000"}\n') == [{"a": "x\0y", "b": "\0"}]


def test_a_tail_of_nuls_is_malformed() -> None:
    assert only(b"\x00" * 64).reason == "a line of text, not JSON"


def test_half_a_surrogate_pair_is_kept() -> None:
    assert values('{"a": "\\ud83d"}') == [{"a": "\ud83d"}]


def test_blank_lines_are_no_records() -> None:
    assert read("\n  \n\t\r\n") == []


def test_a_record_keeps_its_own_text_and_place() -> None:
    (record,) = read('\n  {"a":1.50}  \n')

    assert isinstance(record, Record)
    assert (record.raw, record.source.line, record.source.part) == ('{"a":1.50}', 2, 0)


def test_two_objects_glued_onto_one_line_are_two_records() -> None:
    glued = read('{"a": 1}{"a": 2} {"a": 3}\n')

    assert [(record.source.line, record.source.part) for record in glued] == [
        (1, 0),
        (1, 1),
        (1, 2),
    ]
    assert values('{"a": 1}{"a": 2} {"a": 3}\n') == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_what_follows_an_object_is_malformed_and_the_object_is_kept() -> None:
    record, rest = read('{"a": 1} Killed\n')

    assert isinstance(record, Record)
    assert isinstance(rest, Malformed)
    assert (rest.text, rest.source.part) == ("Killed", 1)


def test_a_last_line_that_is_cut_says_so() -> None:
    cut = only('{"a": "hel')

    assert (cut.text, cut.reason) == ('{"a": "hel', "the file ends in the middle of this line")


def test_a_cut_line_does_not_touch_the_lines_around_it() -> None:
    assert values('{"a": 1}\n{"a": \n{"a": 3}\n') == [{"a": 1}, {"a": 3}]


def test_an_object_that_is_not_valid_says_what_is_wrong() -> None:
    assert only("{'a': 1}\n").reason.startswith("not valid JSON: ")


@pytest.mark.parametrize("line", ["Error: spawn ps ENOENT", "    at run (cli.js:3)", "}", "]"])
def test_a_line_of_text_is_malformed(line: str) -> None:
    assert only(line + "\n").reason == "a line of text, not JSON"


@pytest.mark.parametrize("line", ["2026-01-26 03:04 started", '"quoted" words', "[info] x", "3 4"])
def test_a_line_of_text_that_starts_like_json_stays_in_one_piece(line: str) -> None:
    found = only(line + "\n")

    assert (found.text, found.reason) == (line, "a line of text, not JSON")


@pytest.mark.parametrize("line", ["[1, 2]", "3", '"text"', "null", "true", "NaN"])
def test_json_that_is_no_object_is_malformed(line: str) -> None:
    assert only(line + "\n").reason == "JSON, but not an object"


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"a":['])
def test_nesting_without_end_is_malformed(opening: str) -> None:
    assert only(opening * 200_000 + "\n").text == opening * 200_000


def test_a_number_of_too_many_digits_is_malformed() -> None:
    assert only('{"a": ' + "9" * 5000 + "}\n").reason.startswith("not valid JSON")


def test_a_line_of_fifty_megabytes_is_read() -> None:
    size = 50 * 2**20
    (value,) = values(b'{"a": "' + b"x" * size + b'"}\n')

    assert len(value["a"]) == size


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_of_a_line_without_an_end_no_more_is_held_than_is_shown(
    end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_of_files, "LONGEST", 1_000)
    monkeypatch.setattr(lines_of_files, "_BEGINNING", 100)
    just = b'{"a":"' + b"x" * 992 + b'"}\n'
    data = just + b"\0" * 3_000_000 + end + (b'{"b":2}\n' if end else b"")
    first, cut, *rest = list(records(split(data), "f"))

    assert isinstance(first, Record)
    assert isinstance(cut, Malformed)
    assert (cut.text, cut.source.line) == ("\0" * 100, 2)
    size = 3_000_000 + len(end)
    told = f"a line of {size} bytes, of which the first 100 are read; the raw file has all"
    assert cut.reason == told
    assert [one.value for one in rest if isinstance(one, Record)] == ([{"b": 2}] if end else [])


def test_a_document_with_such_a_line_is_not_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_of_files, "LONGEST", 10)
    monkeypatch.setattr(lines_of_files, "_BEGINNING", 8)
    (held,) = documents(split(b"{\n" + b'"a":"xx"' + b" " * 100 + b"\n}\n"), "f")

    assert isinstance(held, Malformed)
    assert "the raw file has all" in held.reason


@pytest.mark.parametrize("opening", [b"{", b"[", b" {\r", b"\xef\xbb\xbf{", b"\xef\xbb\xbf[ "])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_document_that_is_spread_over_lines_is_one(opening: bytes, end: bytes) -> None:
    data = opening + b'\n  "a": 1,\n\n  "b": "\xff"\n}' + end
    (line,) = spread(io.BytesIO(data))

    assert (line.number, line.whole) == (1, bool(end))
    assert line.held == data.removeprefix("\ufeff".encode())


@pytest.mark.parametrize(
    "data",
    [b"", b"\n{\n", b"{}\n{}\n", b'{"a": 1\n}\n', b"{" + b" " * 20 + b"\n}\n", b"x\ny\n"],
)
def test_what_opens_no_document_is_read_by_lines(data: bytes) -> None:
    assert list(spread(io.BytesIO(data))) == split(data)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.text('{}[]",:a1 \n\r\ufeff', max_size=60).map(str.encode))
def test_a_document_says_the_same_in_one_line_as_in_many(data: bytes) -> None:
    def told(read_by: list[Line]) -> list[object]:
        return [
            one.value if isinstance(one, Record) else type(one) for one in documents(read_by, "f")
        ]

    assert told(list(spread(io.BytesIO(data)))) == told(split(data))


@pytest.mark.parametrize(("end", "whole"), [(b"\n", True), (b"", False)])
def test_of_a_document_that_is_too_long_no_more_is_held_than_is_shown(
    end: bytes, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_of_files, "LONGEST", 1_000)
    monkeypatch.setattr(lines_of_files, "_BEGINNING", 100)
    just = b"{\n" + b" " * (998 - len(end)) + end
    data = b"{\n" + b"\0" * 3_000_000 + end
    (held,) = spread(io.BytesIO(just))
    (cut,) = spread(io.BytesIO(data))

    assert held.held == just
    assert (cut.held, cut.whole, cut.unread) == (data[:100], whole, len(data) - 100)


def test_a_line_is_read_before_the_next_one_is_there() -> None:
    def endless() -> Any:
        yield Line(1, '{"a": 1}')
        pytest.fail("read ahead")

    assert isinstance(next(records(endless(), "f")), Record)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=80) | st.text('{}[]",:a1 \n\\\x00', max_size=80).map(str.encode))
def test_every_line_that_is_not_blank_yields_a_record_or_is_malformed(data: bytes) -> None:
    found = {record.source.line for record in read(data)}

    assert found == {line.number for line in split(data) if line.text.strip()}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text()), max_size=4))
def test_objects_survive_with_any_separation(objects: list[dict[str, Any]]) -> None:
    whole = [json.dumps(value) for value in objects]

    assert (
        values("\n".join(whole)) == values("".join(whole)) == values("\r\n".join(whole)) == objects
    )


@pytest.mark.parametrize(
    "given_moment",
    [
        "2026-01-26T03:04:05Z",
        "2026-01-26T03:04:05+00:00",
        "2026-01-26T04:04:05+01:00",
        "2026-01-26T03:04:05",
        1769396645,
        1769396645.0,
        1769396645000,
    ],
)
def test_a_moment_is_read_in_every_spelling(given_moment: object) -> None:
    moment = timestamp(given_moment)

    assert moment == datetime(2026, 1, 26, 3, 4, 5, tzinfo=UTC)
    assert moment.tzinfo is UTC


def test_fractions_of_a_second_are_kept() -> None:
    moment = timestamp(1769396645123)

    assert moment is not None
    assert moment.microsecond == 123000


@pytest.mark.parametrize(
    "absurd",
    [
        math.nan, math.inf, -math.inf, 0, -5, 1e300, 10**400, 2**70, True, False, None, "", "soon",
        "2026-13-45T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", [], {},
        "１７６９", "\0",
    ],
)  # fmt: skip
def test_what_is_no_moment_is_none(absurd: object) -> None:
    assert timestamp(absurd) is None


@settings(max_examples=200, deadline=None)
@given(st.integers() | st.floats() | st.text(max_size=30))
def test_every_moment_can_be_brought_to_another_time_zone(value: object) -> None:
    moment = timestamp(value)

    assert moment is None or moment.astimezone(UTC).tzinfo is UTC


@pytest.mark.parametrize("value", [True, -1, 1.5, "3", None, [], 2**53, 10**400, math.nan])
def test_what_counts_no_tokens_is_none(value: object) -> None:
    assert count(value) is None


@pytest.mark.parametrize("value", [0, 1, 2**53 - 1])
def test_counts_are_kept(value: int) -> None:
    assert count(value) == value


@pytest.mark.parametrize("value", [True, "3", None, [], math.nan, math.inf, -math.inf, 10**400])
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert number(value) is None


@pytest.mark.parametrize("value", [0, -3, 1.5, 2**70])
def test_numbers_are_kept(value: float) -> None:
    assert number(value) == value


@pytest.mark.parametrize("value", [None, [], "text", 3, True])
def test_what_is_no_object_is_an_empty_one(value: object) -> None:
    assert mapping(value) == {}


@pytest.mark.parametrize("value", [None, {}, "text", 3, True])
def test_what_is_no_list_is_an_empty_one(value: object) -> None:
    assert sequence(value) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [("é", "é"), (None, ""), (3, "3"), (True, "true"), ({"é": [1]}, '{"é": [1]}'), ([], "[]")],
)
def test_everything_has_a_text(value: object, said: str) -> None:
    assert text(value) == said


def lists(depth: int) -> str:
    """A row of an object and so many lists within each other, less one."""
    return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize("frames", [0, 400])
@pytest.mark.parametrize("depth", [299, 300, 301, 500, 700, 900, 1000, 5000])
@pytest.mark.parametrize("row", [lists, lambda depth: lists(depth) + "{}"])
def test_how_deep_json_is_read_does_not_hang_on_who_reads_it(
    row: Callable[[int], str], depth: int, frames: int
) -> None:
    def found(frames: int) -> list[str]:
        if frames:
            return found(frames - 1)
        told = read(row(depth))
        return [dump(one.value) if isinstance(one, Record) else one.reason for one in told]

    deep = "JSON nested too deeply to read"
    assert found(frames)[0] == (deep if depth > 300 else lists(depth).replace(":", ": "))


def test_many_brackets_that_do_not_stand_within_each_other_are_not_deep() -> None:
    row = json.dumps({"a": [[{}] for _ in range(500)], "b": "[" * 500})

    assert [one.value for one in read(row) if isinstance(one, Record)] == [json.loads(row)]
    assert parsed(row) == json.loads(row)


@pytest.mark.parametrize(
    ("row", "many"),
    [
        (json.dumps({"a": [[] for _ in range(53)]}), False),
        (json.dumps({"a": [[] for _ in range(54)]}), True),
        ("{}" * 110, True),
        (json.dumps({"a": "[,{" * 500}), False),
        (json.dumps({"a": '\\"[,{' * 500, "é": "\ud800"}), False),
        ("," * 110, True),
        ('{"a": "' + "," * 500, False),
    ],
)
def test_of_a_row_of_more_values_than_are_read_the_beginning_is_shown(
    monkeypatch: pytest.MonkeyPatch, row: str, many: bool
) -> None:
    monkeypatch.setattr(bounds, "MOST", 108)
    monkeypatch.setattr(lines_of_files, "_BEGINNING", 10)
    told = read(f'{row}\n{{"b":1}}')

    cut = [one for one in told if isinstance(one, Malformed) and "are read" in one.reason]
    assert [one.text for one in cut] == [row[:10]] * many
    assert cut == [] or f"a line of {len(row) + 1} bytes, of which the first 10" in cut[0].reason
    assert isinstance(told[-1], Record), "the next row is read"


def test_a_text_of_more_values_than_are_read_is_none_that_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "MOST", 9)

    assert parsed("[1,2,3,4,5,6,7,8]") == [*range(1, 9)]
    with pytest.raises(ValueError, match="more than 9 values"):
        parsed("[1,2,3,4,5,6,7,8,9]")


def test_of_lines_that_are_one_document_no_more_is_held_than_of_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines_of_files, "LONGEST", 1000)
    (told,) = documents(split(b'{"a": [\n' + b"1,\n" * 1000 + b"1]}"), "f.json")

    assert isinstance(told, Malformed)
    assert told.text.startswith('{"a": [\n1,\n')
    assert len(told.text) < 1000
    assert "a line of" in told.reason


def test_what_is_nested_too_deeply_is_not_written() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]

    assert dump(value) == "(nested too deeply to write)"


@pytest.mark.parametrize(
    "told",
    [
        "-0", "1e5", "123456789012345678901234567890", "1e400", "NaN", '{"a": 1, "a": 2}',
        r'"\ud800"', r'"\ud83d\ude00"', '"a\x01"', ' [1, "\u00e4"]\n',
    ],
)  # fmt: skip
def test_a_text_says_what_the_standard_reader_makes_of_it(told: str) -> None:
    assert repr(parsed(told)) == repr(json.loads(told, strict=False))


@pytest.mark.parametrize("told", ["", "{", "[1,]", "01", "\ufeff1", "9" * 5000])
def test_a_text_that_is_no_json_says_nothing(told: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(told)


def test_a_strict_reader_takes_no_control_characters() -> None:
    with pytest.raises(ValueError, match="control character"):
        parsed('"a\x01"', strict=True)


@pytest.mark.parametrize(
    "line", ["", " \t\r", "\u00a0", "\u2028 \x85", "\x1c", "x", " \u00a0x", "\x7f"]
)
def test_a_line_is_blank_where_its_text_is(line: str) -> None:
    for held in (line, line.encode(), f"{line}\n".encode()):
        assert Line(1, held).blank == (not line.strip())
