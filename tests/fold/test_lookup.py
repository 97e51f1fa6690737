"""Values by name, which lie in a file where a transcript is long."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.fold import lookup
from kbsite.fold.lookup import Lookup, Name, by_name
from kbsite.model.usage import Usage

NAMES = st.tuples(st.text(max_size=3), st.text(max_size=3))
VALUES = st.integers(-(2**70), 2**70)
DEEDS = st.lists(st.tuples(st.sampled_from(["put", "drop", "get"]), NAMES, VALUES), max_size=30)


@pytest.fixture(autouse=True, scope="module", params=[0, 3, 10_000])
def _at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_AT_ONCE", request.param)
        yield


@given(DEEDS)
def test_it_answers_as_a_dictionary_does(deeds: list[tuple[str, Name, int]]) -> None:
    held, plain = Lookup(int), dict[Name, int]()
    for deed, name, value in deeds:
        if deed == "put":
            held[name] = plain[name] = value
        elif deed == "drop":
            assert held.pop(name, None) == plain.pop(name, None)
        assert held.get(name) == plain.get(name)
        assert (name in held) == (name in plain)
    assert dict(held) == plain
    assert len(held) == len(plain)


def test_names_come_in_the_order_in_which_they_first_came() -> None:
    held = Lookup(int)
    for number, name in enumerate(["c", "a", "b", "a"]):
        held["", name] = number

    assert list(held.items()) == [(("", "c"), 0), (("", "a"), 3), (("", "b"), 2)]


def test_halves_of_characters_and_names_with_anything_in_them_are_names() -> None:
    held = Lookup(dict[str, Usage])
    names = [("\ud800", "a"), ("a\0", "b"), ("a", "\0b"), ("", "'; DROP TABLE held; --")]
    for number, name in enumerate(names):
        held[name] = {"m": Usage(input=number)}

    assert [held[name]["m"].input for name in names] == [0, 1, 2, 3]


def test_what_was_got_is_a_copy() -> None:
    held = Lookup(list[int])
    held["", "a"] = [1]
    held["", "a"].append(2)

    assert held["", "a"] == [1]


def test_what_the_file_has_no_room_for_stays_in_memory() -> None:
    held = Lookup(str)
    held["", "before"] = "there"
    assert list(held) == [("", "before")]
    held._file.execute("PRAGMA max_page_count = 4")
    for number in range(100):
        held["", f"{number}"] = f"{number} " * 1_000
    held["", "before"] = "now " * 1_000

    assert len(list(held)) == 101
    assert len(held._beside) > 90
    assert held["", "before"] == "now " * 1_000
    assert all(held["", f"{number}"] == f"{number} " * 1_000 for number in range(100))
    del held["", "before"]
    assert ("", "before") not in held


def test_a_file_that_cannot_be_read_is_told() -> None:
    held = Lookup(int)
    held["", "a"] = 1
    assert len(held) == 1
    held._file.close()

    with pytest.raises(OSError, match="file without a name"):
        _ = held["", "a"]
    with pytest.raises(OSError, match="file without a name"):
        list(held)


def test_it_takes_little_memory_and_leaves_nothing_behind() -> None:
    held = Lookup(str)
    for number in range(20_000):
        held["agent", f"a name that is as long as ids are, {number}"] = "x" * 100
    assert len(held) == 20_000
    file = held._file
    used = file.execute("PRAGMA page_count").fetchone()[0] * 4096
    assert used > 3_000_000
    assert file.execute("PRAGMA cache_size").fetchone() == (-1000,)
    assert not held._beside
    del held
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        file.execute("SELECT 1")


def test_only_what_is_large_lies_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_name(int, large=False) == {}
    assert isinstance(by_name(int, large=True), Lookup)

    def full(_: object, **__: object) -> Iterator[None]:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", full)
    assert isinstance(by_name(int, large=True), dict)
