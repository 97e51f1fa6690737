from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.alarms.caught import PATH as CAUGHT
from kbsite.alarms.caught import Caught
from kbsite.exploits import PATH as EXPLOITS
from kbsite.exploits import Exploits
from kbsite.store.parsing import LIMIT_YAML_BYTES
from kbsite.store.places import lines_of
from kbsite.store.records import (
    LIMIT_BYTES,
    InvalidFileError,
    json_record,
    line_of,
    packaged_record,
    yaml_record,
)


class Colour(Enum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str
    colour: Colour = Colour.RED


@dataclass(frozen=True, kw_only=True)
class Thing:
    format: Literal[1]
    title: str
    colour: Colour | None = None
    size: float | None = None
    count: int = 0
    at: datetime | None = None
    day: date | None = None
    pair: tuple[float, float] | None = None
    names: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    facts: Mapping[str, int | float | str | bool] = field(default_factory=dict)


def file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "thing"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return path


def refused(path: Path, *, of_yaml: bool) -> list[tuple[int | None, str | None, str]]:
    """Line, key and message of each error of a file that is refused."""
    with pytest.raises(InvalidFileError) as caught:
        (yaml_record if of_yaml else json_record)(path, Thing)
    for error in caught.value.errors:
        assert error.path == path
    assert str(caught.value).count("\n") == len(caught.value.errors) - 1
    return [(error.line, error.key, error.message) for error in caught.value.errors]


def in_json(tmp_path: Path, text: str | bytes) -> list[tuple[int | None, str | None, str]]:
    return refused(file(tmp_path, text), of_yaml=False)


def in_yaml(tmp_path: Path, text: str | bytes) -> list[tuple[int | None, str | None, str]]:
    return refused(file(tmp_path, text), of_yaml=True)


WHOLE = """format: 1
title: on
colour: green
size: 1e-5
count: 12
at: 2026-01-02T03:04:05Z
day: 2026-01-02
pair: [1, 2.5]
names: [yes, 12:30, "7"]
parts:
- name: 2026-01-02
  colour: red
facts: {a: true, b: .5, c: 0x10, d: 7}
more: nobody reads this
"""


def test_yaml_is_read_as_json_would_be(tmp_path: Path) -> None:
    thing = yaml_record(file(tmp_path, WHOLE), Thing)
    assert thing == Thing(
        format=1,
        title="on",
        colour=Colour.GREEN,
        size=1e-5,
        count=12,
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        day=date(2026, 1, 2),
        pair=(1.0, 2.5),
        names=("yes", "12:30", "7"),
        parts=(Part(name="2026-01-02"),),
        facts={"a": True, "b": 0.5, "c": "0x10", "d": 7},
    )


def test_a_byte_order_mark_before_yaml_is_passed_over(tmp_path: Path) -> None:
    assert yaml_record(file(tmp_path, "\ufeff" + WHOLE), Thing).title == "on"


def test_every_wrong_key_is_named_with_its_line(tmp_path: Path) -> None:
    record = {
        "format": 2,
        "colour": "blue",
        "size": "big",
        "at": "2026-01-02T03:04:05",
        "pair": [1],
        "names": ["a", 3],
        "parts": [{"name": "a"}, {"colour": "red"}],
        "facts": [],
    }
    text = json.dumps(record, indent=1)
    rows = text.splitlines()

    def at(start: str) -> int:
        return next(n for n, row in enumerate(rows, 1) if row.strip().startswith(start))

    second_name = at("3")
    second_part = at('"colour": "red"') - 1
    assert in_json(tmp_path, text) == [
        (at('"format"'), "format", "Invalid enum value 2; expected 1"),
        (None, "title", "missing; expected text"),
        (
            at('"colour": "blue"'),
            "colour",
            "Invalid enum value 'blue'; expected one of red, green or null",
        ),
        (at('"size"'), "size", "expected a number or null, got text"),
        (at('"at"'), "at", "expected a time with zone (ISO 8601) or null, got one without zone"),
        (at('"pair"'), "pair", "expected a list of 2 or null, got 1"),
        (second_name, "names[1]", "expected text, got a whole number"),
        (second_part, "parts[1].name", "missing; expected text"),
        (at('"facts"'), "facts", "expected keys and values, got a list"),
    ]


NEARLY = [
    ("titel: a", "title", "titel"),
    ("title: a\nparts:\n- {nme: b}", "parts[0].name", "nme"),
    ("title: a\nparts:\n- name: b\n- {naame: b, colour: red}", "parts[1].name", "naame"),
]


@pytest.mark.parametrize(("text", "key", "meant"), NEARLY)
def test_a_key_that_is_misspelt_is_named_where_it_is_missing(
    text: str, key: str, meant: str, tmp_path: Path
) -> None:
    (told,) = in_yaml(tmp_path, f"format: 1\n{text}")

    assert told[1:] == (key, f"missing; expected text; did you mean this by {meant}?")


def test_what_a_record_knows_by_another_name_is_no_slip(tmp_path: Path) -> None:
    """`name` is nearly `names`, which is a key of its own; a far word is none either."""
    (told,) = in_yaml(tmp_path, "format: 1\nnames: [a]\nheading: b\n1: c\n")

    assert told[1:] == ("title", "missing; expected text")


WRONG_YAML = [
    ("title: 5", 2, "title", "expected text, got a whole number"),
    ("title: 1.5", 2, "title", "expected text, got a number"),
    ("title: null", 2, "title", "expected text, got null"),
    ("title: [a]", 2, "title", "expected text, got a list"),
    ("title: a\nsize: .nan", 3, "size", "expected a number or null, got text"),
    ("title: a\nsize: 1e999", 3, "size", "expected a number or null, got text"),
    ("title: a\ncount: 1.5", 3, "count", "expected a whole number, got a number"),
    ("title: a\ncount: true", 3, "count", "expected a whole number, got true or false"),
    ("title: a\ncount: 99999999999999999999", 3, "count", "expected a whole number, got text"),
    ("title: a\nday: tomorrow", 3, "day", "a date (YYYY-MM-DD) or null"),
    ("title: a\nday: 2026-02-30", 3, "day", "a date (YYYY-MM-DD) or null"),
    ("title: a\nnames: b", 3, "names", "expected a list, got text"),
    ("title: a\nfacts: {1: 2}", 3, "facts", "expected text as keys"),
    ("title: a\nfacts:\n  b: [1]", 4, "facts.b", "text or true or false, got a list"),
    ("title: a\nparts:\n- name: b\n- name: c\n  colour: x", 6, "parts[1].colour", "red, green"),
    ("title: a\ntitle: b", 3, "title", "stands there twice"),
    ("title: a\nparts:\n- name: b\n  name: c", 5, "name", "stands there twice"),
    ("title: &x a", 2, None, "anchors and aliases are not read"),
    ("title: *x", 2, None, "anchors and aliases are not read"),
    ("title: !!str a", 2, None, "the tag tag:yaml.org,2002:str is not read"),
    ("title: !!python/object/apply:os.system [x]", 2, None, "is not read"),
    ("title: a\n? [b]\n: c", 3, None, "unhashable"),
    ("title: a: b", 2, None, "mapping values are not allowed"),
    ("title: 'a", 3, None, "not valid YAML"),
    ("title: a\n---\nformat: 1", 3, None, "another document begins here; delete the dashes"),
    ("title: \0", 2, None, "control characters are not allowed"),
    ("title: a\n\tcount: 1", 3, None, "not valid YAML"),
]


@pytest.mark.parametrize(("text", "line", "key", "expectation"), WRONG_YAML)
def test_wrong_yaml(
    tmp_path: Path, text: str, line: int, key: str | None, expectation: str
) -> None:
    ((at, of, message),) = in_yaml(tmp_path, f"format: 1\n{text}\n")
    assert (at, of) == (line, key)
    assert expectation in message


WRONG_JSON = [
    ('"title": NaN', 3, None, "NaN is not JSON; write null"),
    ('"title": "NaN", "size": -Infinity', 3, None, "-Infinity is not JSON"),
    ('"title": "a", "size": 1e999', 3, None, "1e999 is too large"),
    ('"title": "a", "count": ' + "9" * 5000, 3, None, "99999999999999999999… has more than"),
    ('"title": "a",\n"title": "b"', 4, "title", "stands there twice"),
    ('"title": "a",\n"parts": [{"name": "a",\n\n"name": "b"}]', 6, "name", "stands there twice"),
    ('"title": "\\ud800"', 3, None, "\\ud800 is half of a character"),
    ('"title": "a",\n"facts": {"\\uDFFF": 1}', 4, None, "\\udfff is half of a character"),
    ('"title": "a"}\n{', 4, None, "not valid JSON: Extra data"),
    ("\"title\": 'a'", 3, None, "not valid JSON"),
    ('"title": "a\nb"', 3, None, "not valid JSON"),
    ('"title": "a", "size": "\\u001b[31m"', 3, "size", "got text"),
    ('"title": "a", "colour": "\\u001b\\n"', 3, "colour", "\\x1b\\n"),
]


@pytest.mark.parametrize(("text", "line", "key", "expectation"), WRONG_JSON)
def test_wrong_json(
    tmp_path: Path, text: str, line: int, key: str | None, expectation: str
) -> None:
    ((at, of, message),) = in_json(tmp_path, f'{{\n"format": 1,\n{text}\n}}')
    assert (at, of) == (line, key)
    assert expectation in message
    assert message.isprintable()


def test_a_key_of_a_hostile_name_stays_on_one_line(tmp_path: Path) -> None:
    ((line, key, _),) = in_json(tmp_path, '{"a\\n\\u001b": 1,\n"a\\n\\u001b": 2}')
    assert (line, key) == (2, r"a\n\x1b")


@pytest.mark.parametrize(
    ("key", "expected"),
    [("format", "1"), ("colour", "one of red, green or null"), ("facts", "keys and values")],
)
def test_halves_of_characters_are_no_value_where_they_may_name_files(
    tmp_path: Path, key: str, expected: str
) -> None:
    told = {"format": 1, "title": "\ud800", key: "\ud800"}
    with pytest.raises(InvalidFileError) as raised:
        json_record(file(tmp_path, json.dumps(told)), Thing, any_text=True)
    (error,) = raised.value.errors
    assert (error.key, error.message) == (key, f"expected {expected}, got half of a character")


def test_pairs_of_surrogates_are_text(tmp_path: Path) -> None:
    path = file(tmp_path, '{"format": 1, "title": "\\ud83d\\ude00"}')
    assert json_record(path, Thing).title == "😀"


@pytest.mark.parametrize("of_yaml", [True, False])
@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'{"format": 1,\n"title": "\xff"}', 2),
        (b'\xff\xfe{\x00"\x00', 1),
        (b'{"format": 1,\n\n"title": "\xed\xa0\x80"}', 3),
    ],
)
def test_bytes_that_are_no_utf8(tmp_path: Path, data: bytes, line: int, of_yaml: bool) -> None:
    ((at, _, message),) = refused(file(tmp_path, data), of_yaml=of_yaml)
    assert at == line
    assert "expected UTF-8 text" in message


def test_a_byte_order_mark_before_json_is_refused(tmp_path: Path) -> None:
    assert in_json(tmp_path, '\ufeff{"format": 1}')[0][0] == 1


DEEP = 10_000
HOSTILE = [
    "[" * DEEP + "]" * DEEP,
    "\n" + '{"a":' * DEEP + "1" + "}" * DEEP,
    "- " * DEEP,
    "? " * DEEP,
    "{a: " * DEEP,
    "format: 1\ntitle:\n" + "\n".join(" " * n + "- a:" for n in range(500)),
    '"' * 900_000,
    "{" * 900_000,
    "#" * 900_000,
    "a: 1" + ":59" * 300_000,
    "a: 0x" + "f" * 900_000,
    "a: " + "1" * 900_000,
    "&a " * 300_000,
    "a: \"" + "\\x41" * 200_000,
    "a\n" * 400_000,
    "{" + ",".join(f'"k{n}": {n}' for n in range(60_000)) + ', "k59999": 1}',
    "\n".join(f"k{n}: {n}" for n in range(60_000)) + "\nformat: x\ntitle: []\nsize: []",
    "",
    "null",
    "[]",
    "7",
]  # fmt: skip


@pytest.mark.parametrize("of_yaml", [True, False])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_quickly(tmp_path: Path, text: str, of_yaml: bool) -> None:
    errors = refused(file(tmp_path, text), of_yaml=of_yaml)
    assert all(line or "missing" in message for line, _, message in errors)


def test_depth_is_told_with_its_line(tmp_path: Path) -> None:
    ((line, _, message),) = in_json(tmp_path, '{"a":\n' + "[" * DEEP + "]" * DEEP + "}")
    assert (line, message) == (2, "nested too deeply")
    ((line, _, message),) = in_yaml(tmp_path, "[\n" * DEEP)
    assert (line, message) == (101, "nested too deeply")


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(50_000_000_000)  # a sparse file
    for of_yaml, limit in ((True, LIMIT_YAML_BYTES), (False, LIMIT_BYTES)):
        ((_, _, message),) = refused(path, of_yaml=of_yaml)
        assert message == f"too large; expected at most {limit} bytes"


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file(tmp_path, WHOLE))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, expectation in (
        ("link", "symbolic link"), ("pipe", "regular file"), ("folder", "regular file"),
        ("nothing", "no such file"),
    ):  # fmt: skip
        ((_, _, message),) = refused(tmp_path / name, of_yaml=True)
        assert expectation in message


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, WHOLE)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    ((_, _, message),) = refused(path, of_yaml=True)
    cure = "let the user who builds read it (chmod u+r)"
    assert message == f"cannot be read: Permission denied; {cure}"


def test_the_line_of_a_key_in_four_megabytes_is_found() -> None:
    many = ",\n".join(f'"key {n}": {{"a": [1, "{{,\\""]}}' for n in range(110_000))
    text = f'{{\n{many},\n"last":\n{{"a": [0,\n5]}}}}'
    assert 3_000_000 < len(text) < LIMIT_BYTES
    keys = [".last.a[1]", ".last", ".key 3.a", ".no.such"]
    assert lines_of(text, keys) == [110_004, 110_002, 5, None]


@pytest.mark.parametrize(
    ("key", "line"),
    [(".a", 2), (".a.b", 3), (".a.b[1]", 5), (".a.b[1].c", 6), (".a.b[7]", 3), (".a.x.y", 2)],
)
def test_the_line_of_a_key(key: str, line: int) -> None:
    text = '{\n"a": {\n"b": [\n1,\n{\n"c": "}],:"}]}}'
    assert line_of(text, key) == line
    assert line_of("# a comment\na:\n  b:\n  - 1\n  -\n    c: x\n", ".a.b[1].c") == 6
    assert line_of("a: [", ".a") is None


plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text("ab"), inside),
)


@given(st.dictionaries(st.sampled_from("cdef"), plain), st.integers(0, 4))
def test_the_line_of_each_top_key_is_that_of_its_text(data: dict[str, Any], indent: int) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if not data:
        return
    rows = text.split("\n")
    for key, at in zip(data, lines_of(text, [f".{key}" for key in data]), strict=True):
        assert at is not None
        assert rows[at - 1].startswith(" " * indent + f'"{key}"')


@pytest.mark.parametrize("read", [json_record, yaml_record])
def test_a_wrong_value_is_repeated_as_far_as_anybody_reads(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "thing"
    path.write_text(json.dumps({"format": 1, "title": "a", "colour": "x" * 900_000}))
    with pytest.raises(InvalidFileError) as caught:
        read(path, Thing)
    (error,) = caught.value.errors

    assert error.key == "colour"
    assert "Invalid enum value" in error.message
    assert error.message.endswith("…; expected one of red, green or null")
    assert len(error.message) < 300


@pytest.mark.parametrize(("path", "kind"), [(EXPLOITS, Exploits), (CAUGHT, Caught)])
def test_a_record_of_the_package_is_read_as_any_other(path: Path, kind: type[object]) -> None:
    assert packaged_record(path, kind) == json_record(path, kind)


@pytest.mark.parametrize(
    ("text", "what"), [("", "empty"), (" \n", "empty"), ("\0" * 9, "nothing but zeros")]
)
def test_what_a_crash_left_of_a_record_is_no_riddle(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match=rf":1: {what}, as a full disk or a crash leaves"):
        json_record(path, Exploits)
