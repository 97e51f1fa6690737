"""Records are read strictly: every slip is named with its file, its line and its key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from bench.records import HARDWARE, plain, read_json, read_yaml, record
from kbsite.errors import InputError
from kbsite.model.hardware import Hardware
from kbsite.model.problem import Problem
from kbsite.store.records import yaml_record
from tests.bench.toys import TOY


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str
    version: Literal[1]
    colour: Colour = Colour.RED
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    pair: tuple[int, str] | None = None
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    by_colour: Mapping[Colour, float] = field(default_factory=dict)
    mixed: tuple[str | int | float | bool, ...] = ()
    at: datetime | None = None
    day: date | None = None
    on: bool = False


LEAST: dict[str, Any] = {"name": "x", "version": 1}


def test_data_become_records_of_the_declared_types() -> None:
    made = record(
        {
            **LEAST, "colour": "blue", "inner": {"size": 1, "share": 2},
            "many": [{"size": 3}], "pair": [4, "b"], "by_name": {"k": {"size": 5}},
            "by_colour": {"red": 1}, "mixed": ["a", 1, 0.5, True],
            "at": "2026-01-02T03:04:05+00:00", "day": "2026-01-02", "on": True,
        },
        Outer, "x.json",
    )  # fmt: skip
    assert made == Outer(
        name="x", version=1, colour=Colour.BLUE, inner=Inner(size=1, share=2.0),
        many=(Inner(size=3),), pair=(4, "b"), by_name={"k": Inner(size=5)},
        by_colour={Colour.RED: 1.0}, mixed=("a", 1, 0.5, True),
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), day=date(2026, 1, 2), on=True,
    )  # fmt: skip
    assert isinstance(made.inner and made.inner.share, float)
    assert [type(one) for one in made.mixed] == [str, int, float, bool]


def test_what_was_read_can_be_written_and_read_again() -> None:
    made = Outer(
        name="x", version=1, inner=Inner(size=1), pair=(1, "a"), by_colour={Colour.BLUE: 0.5},
        at=datetime(2026, 1, 2, tzinfo=UTC), day=date(2026, 1, 2),
    )  # fmt: skip
    data = json.loads(json.dumps(plain(made)))
    assert data["by_colour"] == {"blue": 0.5}
    assert data["at"] == "2026-01-02T00:00:00+00:00"
    assert record(data, Outer, "x.json") == made
    assert plain(Path("a/b")) == "a/b"
    with pytest.raises(TypeError, match="object is no part of a record"):
        plain(object())


WRONG: list[tuple[dict[str, Any], str | None, str]] = [
    ({"nmae": 1}, "nmae", "no such key; expected one of name, version, colour"),
    ({"version": 2}, "version", "expected 1, got 2"),
    ({"name": 5}, "name", "expected text, got 5; put it in quotes"),
    ({"name": None}, "name", "expected text, got null"),
    ({"colour": "green"}, "colour", "expected one of red, blue, got 'green'"),
    ({"colour": 1}, "colour", "expected one of red, blue, got 1"),
    ({"inner": {}}, "inner.size", "missing; expected a whole number"),
    ({"inner": 5}, "inner", "expected keys and values, got 5"),
    ({"inner": {"size": 1.5}}, "inner.size", "expected a whole number, got 1.5"),
    ({"inner": {"size": True}}, "inner.size", "expected a whole number, got True"),
    ({"inner": {"size": 1, "share": "5e-2"}}, "inner.share",
     "expected a number, got '5e-2'; YAML reads it as text: write it as 0.05 or 5.0e-2"),
    ({"inner": {"size": "12"}}, "inner.size",
     "got '12'; YAML reads it as text: write it as 12, without quotes, a dot or an e"),
    ({"inner": {"size": 1, "share": "much"}}, "inner.share", "expected a number, got 'much'"),
    ({"inner": {"size": 1, "share": float("nan")}}, "inner.share", "expected a number, got nan"),
    ({"inner": {"size": 1, "share": True}}, "inner.share", "expected a number, got True"),
    ({"inner": {"size": 1, "share": 10**400}}, "inner.share", "expected a number, got 1000000"),
    ({"many": [{"size": 1}, {"size": "a"}]}, "many[1].size", "expected a whole number, got 'a'"),
    ({"many": {"size": 1}}, "many", "expected a list, got {'size': 1}"),
    ({"pair": [1]}, "pair", "expected a list of 2, got one of 1"),
    ({"pair": ["a", "b"]}, "pair[0]", "expected a whole number, got 'a'"),
    ({"by_name": {"k": {"size": 1, "more": 2}}}, "by_name.k.more", "no such key"),
    ({"by_name": {5: {"size": 1}}}, "by_name", "expected text as keys, got 5; put it in quotes"),
    ({"by_colour": {"green": 1}}, "by_colour", "expected one of red, blue, got 'green'"),
    ({"mixed": [None]}, "mixed[0]", "expected text or a whole number or a number or true or"),
    ({"at": "2026-01-02T03:04:05"}, "at", "expected a time with zone"),
    ({"at": "soon"}, "at", "expected a time with zone (ISO 8601), got 'soon'"),
    ({"day": "2026-13-01"}, "day", "expected a date (YYYY-MM-DD), got '2026-13-01'"),
    ({"on": "yes"}, "on", "expected true or false, got 'yes'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "key", "message"), WRONG)
def test_a_slip_is_named_by_its_key(change: dict[str, Any], key: str | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        record({**LEAST, **change}, Outer, "a/b.yaml")
    assert caught.value.key == key
    assert message in caught.value.message
    assert str(caught.value).startswith("a/b.yaml: ")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"b\.yaml: name: missing; expected text"):
        record({"version": 1}, Outer, "b.yaml")
    with pytest.raises(InputError, match=r"b\.yaml: expected keys and values, got \[\]"):
        record([], Outer, "b.yaml")
    with pytest.raises(InputError, match="got null"):
        record(None, Outer, "an empty file")
    with pytest.raises(InputError, match="…") as caught:
        record("x" * 1_000_000, Outer, "b.yaml")
    assert len(str(caught.value)) < 200


YAML_WRONG = {
    "name: x\nversion: 1\ninner:\n  size: 1\n  share: 5e-2\n": (5, "inner.share"),
    "name: x\nversion: 1\nmany:\n  - size: 1\n  - {size: 2, more: 3}\n": (5, "many[1].more"),
    "name: x\nversion: 1\nmany:\n  - share: 1\n": (4, "many[0].size"),
    "name: x\nversion: 1\nname: y\n": (3, None),
    "name: x\nversion: [\n": (3, None),
    "name: &a x\nversion: *a\n": (2, None),
    "version: 1\nname: 2001-99-99\n": (2, None),
    "version: 1\nname: 2001-01-01 99:00:00\n": (2, None),
    "version: 1\nname: !!int x\n": (2, None),
    "version: 1\nname: !!bool x\n": (2, None),
    "version: 1\nname: !!timestamp x\n": (2, None),
    f"version: 1\nname: {'1' * 5000}\n": (2, None),
    f"version: 1\nname: 1{':1' * 99_000}\n": (2, None),
    f"version: 1\nname: 1{':1' * 99_000}.5\n": (2, None),
    "name: !!python/object:os.system x\nversion: 1\n": (1, None),
    "? [a, b]\n: x\n": (1, None),
    "version: 1\n": (None, "name"),
    "[" * 5_000: (None, None),
}


@pytest.mark.parametrize("text", YAML_WRONG, ids=range(len(YAML_WRONG)))
def test_a_slip_in_yaml_is_named_by_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_yaml(path, Outer)
    assert (caught.value.line, caught.value.key) == YAML_WRONG[text]
    assert caught.value.path == path


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * 1_000_001, None])
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
    for read in (read_yaml, read_json):
        with pytest.raises(InputError, match=r"x\.yaml"):
            read(path, Outer)


def test_json_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"name": "x", "version": 1}')
    assert read_json(path, Outer) == Outer(name="x", version=1)
    path.write_text(f'{{"name": "x", "version": {"1" * 5000}}}')
    with pytest.raises(InputError, match="not valid JSON"):
        read_json(path, Outer)
    path.write_text('{"name": "x",\n "version": }')
    with pytest.raises(InputError, match=r"x\.json:2: not valid JSON"):
        read_json(path, Outer)


@pytest.mark.parametrize("path", sorted(HARDWARE.glob("*.yaml")), ids=lambda path: path.stem)
def test_hardware_is_read_as_the_site_reads_it(path: Path) -> None:
    assert read_yaml(path, Hardware) == yaml_record(path, Hardware)


def test_a_problem_is_read_as_the_site_reads_it(tmp_path: Path) -> None:
    path = TOY / "problem.yaml"
    assert read_yaml(path, Problem) == yaml_record(path, Problem)
    again = tmp_path / "problem.yaml"
    again.write_text(yaml.safe_dump(plain(read_yaml(path, Problem))))
    assert read_yaml(again, Problem) == read_yaml(path, Problem)
