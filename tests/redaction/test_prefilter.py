"""What Hyperscan is asked first changes nothing of what RE2 finds, only how long that takes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.redaction import automaton as automata
from kbsite.redaction import prefilter as prefilters
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.gates import RULES, gate
from kbsite.redaction.prefilter import prefilter
from kbsite.redaction.reach import Reach, ending, reach
from kbsite.user_cache import CACHE

PATTERNS = (rb"[0-9]\.[0-9]+\.[0-9]", rb"(?i:key)\\*=[a-z]{3}", rb"k<[^<>]*>x", rb"^-?a{2,}")
LITERALS = (b"key", b"ke", b"a.1")
GATES = sorted({rule.gate for rule in RULES if rule.gate})
MATCH = st.sampled_from(GATES).flatmap(st.from_regex)
FILLER = st.sampled_from([b" ", b"\n", b"1", b"a", b"<", b">", b"\\", b'"', b"key", b"=", b":"])
TEXTS = st.lists(MATCH | FILLER | st.binary(max_size=6), max_size=12).map(b"".join)
SMALL = st.lists(
    st.sampled_from(
        [b"key", b"K", b"E", b"y", b"=", b"abc", b"1.", b"<", b">x", b"k", b"-", b"\\"]
    ),
    max_size=30,
).map(b"".join)


@functools.cache
def small() -> Automaton:
    """An automaton of these that asks Hyperscan first."""
    return Automaton(PATTERNS, LITERALS, prefiltered=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what is made is kept."""
    monkeypatch.setenv(CACHE, str(tmp_path))
    return tmp_path / "compiled"


def walked(automaton: Automaton, data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    walk = automaton.walk(data, start, end)
    found = walk.next(start)
    while found:
        yield found
        found = walk.next(found[0] + len(found[1]))


def asked(automaton: Automaton, data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    while found := automaton.next(data, start, end):
        yield found
        start = found[0] + len(found[1])


def test_the_gate_is_looked_for_where_hyperscan_says() -> None:
    held = gate()._prefilter
    assert held, "and not by RE2 alone"
    data = b"x" * 5000 + b" me@example.org " + b"y" * 5000
    [(start, end, numbers)] = held.parts(data, 0, len(data))
    assert 5000 < start < end < 5020
    assert numbers
    assert len(numbers) < 5


@given(TEXTS, st.integers(0, 20), st.integers(0, 20))
def test_the_gate_finds_the_same_either_way(data: bytes, before: int, behind: int) -> None:
    start, end = min(before, len(data)), max(before, len(data) - behind)
    end = min(end, len(data))
    assert list(walked(gate(), data, start, end)) == list(asked(gate(), data, start, end))
    walk = gate().walk(data, start, end)
    for at in range(start, end + 1, 3):
        assert walk.next(at) == gate().next(data, at, end)


@given(SMALL, st.integers(0, 40), st.integers(0, 40))
def test_what_begins_and_ends_anywhere_is_found_either_way(
    data: bytes, start: int, end: int
) -> None:
    start, end = min(start, len(data)), min(end, len(data))
    own = small()
    assert own._prefilter
    for at in range(start, end + 1):
        assert own.walk(data, start, end).next(at) == own.next(data, at, end)


def test_a_match_that_begins_far_before_its_end_is_found() -> None:
    own = small()
    tags = b"k<" + b"y" * 3000 + b">x"
    data = b"1.0.1 " + tags * 3 + b" k<> " + tags
    assert list(walked(own, data, 0, len(data))) == list(asked(own, data, 0, len(data)))
    assert own.walk(data, 0, len(data)).next(7) == (6 + len(tags), tags)


def test_re2_looks_for_no_more_than_may_stand_there() -> None:
    own = Automaton(PATTERNS, LITERALS, prefiltered=True)
    data = b"key=abc 1.0.1 " * 20
    assert len(list(walked(own, data, 0, len(data)))) == 40
    assert "_whole" not in vars(own)
    assert len(own._some) < 5


def test_of_very_many_choices_of_patterns_some_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automata, "_KEPT", 1)
    own = Automaton(PATTERNS, LITERALS, prefiltered=True)
    data = b"key=abc 1.0.1 k<y>x " * 3
    assert list(walked(own, data, 0, len(data))) == list(asked(own, data, 0, len(data)))
    assert len(own._some) == 1


def test_of_very_many_matches_re2_finds_all() -> None:
    held = gate()._prefilter
    assert held
    data = b" a@b.c" * 50_000
    assert held.parts(data, 0, len(data)) == [(0, len(data), None)]
    assert len(list(walked(gate(), data, 0, len(data)))) == 50_000


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (rb"ab{2}", Reach(3, b"")),
        (rb"[^\x02-\xff]+", Reach(0, b"\x00\x01")),
        (rb"(?i:a+)b", Reach(0, b"Aab")),
        (rb"(?i:a(?-i:b)+)", Reach(0, b"Aab")),
        (rb"(?:a|[bc]*)\s?", Reach(0, b"\t\n\x0b\x0c\r abc")),
    ],
)
def test_how_far_a_match_reaches(pattern: bytes, told: Reach) -> None:
    assert reach(pattern) == told


def test_a_pattern_that_is_written_otherwise_is_refused() -> None:
    with pytest.raises(ValueError, match="ASSERT"):
        reach(b"a*(?=b)")


@pytest.mark.parametrize(
    ("pattern", "left"),
    [(rb"[0-9]\.a", rb"\.a"), (rb"[\]a]b", b"b"), (b"[ab]+c", b"[ab]+c"), (b"[ab]c|d", b"[ab]c|d")],
)
def test_what_begins_a_match_is_left_out_where_the_rest_tells_its_end(
    pattern: bytes, left: bytes
) -> None:
    assert ending(pattern) == left


def test_what_is_made_is_kept_and_taken_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prefilter(PATTERNS)
    [file] = cache.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(prefilters, "_compiled", None)

    held = prefilter(PATTERNS)

    assert held
    assert held.parts(b"xx key=abc", 0, 10) == [(3, 10, (1,))]
    assert prefilter([*PATTERNS, b"x"]) is None, "which would have to be made"


@pytest.mark.parametrize("spoilt", [b"", b"\x92", b"\x92\xc4\x00\x90", None])
def test_what_is_no_more_what_was_kept_is_made_anew(cache: Path, spoilt: bytes | None) -> None:
    assert prefilter(PATTERNS)
    [file] = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:600] + b"\0\0" + whole[602:] if spoilt is None else spoilt)

    assert prefilter(PATTERNS)

    assert file.read_bytes() == whole
    assert list(cache.iterdir()) == [file]


def test_what_another_may_have_written_is_not_read(cache: Path, tmp_path: Path) -> None:
    assert prefilter(PATTERNS)
    [file] = cache.iterdir()
    file.chmod(0o666)
    assert prefilters._read(file) is None
    file.chmod(0o600)
    assert prefilters._read(file)
    link = tmp_path / "link"
    link.symlink_to(file)
    assert prefilters._read(link) is None
    assert prefilters._read(Path("/etc/passwd")) is None, "which is root's, and is not such a file"


def test_where_nothing_can_be_kept_re2_looks_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(CACHE, str(tmp_path / "file" / "below"))
    own = Automaton(PATTERNS, LITERALS, prefiltered=True)
    assert own._prefilter is None
    assert own.walk(b"xx key=abc", 0, 10).next(0) == (3, b"key=abc")


def test_without_hyperscan_re2_looks_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    own = Automaton(PATTERNS, LITERALS, prefiltered=True)
    assert own._prefilter is None
    assert list(walked(own, b"xx key=abc", 0, 10)) == [(3, b"key=abc")]
    assert not cache.exists()
