"""An automaton says where something stands as RE2's own module does, whichever way it is asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from kbsite.redaction import automaton
from kbsite.redaction.automaton import Automaton

PATTERNS, LITERALS = (rb"ab{1,3}", rb"\xff[ac]"), (b"ca", b"cab", b"\0")
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"\xff", b"\0"]), max_size=30).map(b"".join)
PLACES = st.integers(-3, 33)


def made() -> Automaton:
    """An automaton that RE2 has made already."""
    own = Automaton(PATTERNS, LITERALS)
    own.stands_in(b"")
    return own


def as_others_do() -> Automaton:
    """An automaton of a release of RE2's module that is asked as usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automaton, "_is_as_known", lambda: False)
        return made()


class Counting:
    """An expression of a release that tells places as Python does, in characters."""

    def Match(self, _anchor: object, data: bytes, at: int, end: int) -> list[tuple[int, int]]:
        one = MADE(b"b+").search(data.decode("latin-1").encode(), at, end)
        return [(-1, -1) if one is None else one.span()]


MADE = re2.compile
OWN, OTHER = made(), as_others_do()


@pytest.mark.parametrize("release", [SimpleNamespace(), SimpleNamespace(_regexp=Counting())])
def test_a_release_that_is_not_as_known_is_asked_as_usual(
    release: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert automaton._is_as_known()
    monkeypatch.setattr(re2, "compile", lambda *_: release)

    assert not automaton._is_as_known.__wrapped__()
    assert OTHER.next(b"xxcabx", 0, 6) == (2, b"cab")
    assert getattr(OTHER._whole, "func", None) is automaton._asked
    assert not hasattr(OWN._whole, "func"), "and this one is not"


@given(TEXTS, PLACES, PLACES)
def test_both_ways_say_the_same(text: bytes, start: int, end: int) -> None:
    found = list(OWN.find(text, start, end))

    assert found == list(OTHER.find(text, start, end))
    assert OWN.next(text, start, end) == OTHER.next(text, start, end)
    assert OWN.next(text, start, end) == (found[0] if found else None)
    assert OWN.first(text, start, end) == (found[0][0] if found else -1)
    assert OWN.stands_in(text) == OTHER.stands_in(text) == bool(list(OWN.find(text, 0, len(text))))


@given(TEXTS)
def test_where_each_stands_is_what_the_module_says(text: bytes) -> None:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    both = b"|".join([*PATTERNS, *map(re2.escape, sorted(LITERALS, reverse=True))])
    told = [(one.start(), one.group()) for one in MADE(both, options).finditer(text)]

    assert list(OWN.find(text, 0, len(text))) == told


def test_an_automaton_of_nothing_finds_nothing() -> None:
    nothing = Automaton(())

    assert list(nothing.find(b"abc", 0, 3)) == []
    assert nothing.next(b"abc", 0, 3) is None
    assert nothing.first(b"abc", 0, 3) == -1
    assert not nothing.stands_in(b"abc")
