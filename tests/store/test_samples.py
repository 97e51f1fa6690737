from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.model.samples import Samples
from kbsite.store import samples as module
from kbsite.store.files import Stored
from kbsite.store.samples import (
    DRAWN,
    MOST_EXPLAINED,
    MOST_FINDINGS,
    ReadSamples,
    read_samples,
    spread,
)


def read(home: Path, *lines: bytes | str | dict[str, object]) -> ReadSamples:
    data = b"\n".join(
        line if isinstance(line, bytes) else
        line.encode() if isinstance(line, str) else json.dumps(line).encode()
        for line in lines
    )  # fmt: skip
    path = home / "samples.jsonl"
    path.write_bytes(data)
    return read_samples(Stored(path.name, str(path), len(data)))


def line(number: int = 1, shape: str = "n=8", *ms: float) -> dict[str, object]:
    return {"round": number, "shape": shape, "ms": list(ms or (1.0, 2.0))}


def test_each_line_is_a_round_of_a_shape(tmp_path: Path) -> None:
    found = read(tmp_path, line(2, "b", 3, 1, 2), line(1, "a", 5), line(1, "b", 4), b"")

    told = [(s.shape, s.round, s.count, s.least, s.median, s.p90, s.most) for s in found.spreads]
    assert told == [
        ("b", 1, 1, 4, 4, 4, 4), ("b", 2, 3, 1, 2, 3, 3), ("a", 1, 1, 5, 5, 5, 5)
    ]  # fmt: skip
    assert found.findings == ()


def test_unknown_keys_are_left_alone(tmp_path: Path) -> None:
    assert len(read(tmp_path, {**line(), "clock": "events"}).spreads) == 1


@pytest.mark.parametrize(
    ("wrong", "key", "message"),
    [
        ("nothing", None, "not valid JSON"),
        ("[1]", None, "expected keys and values, got a list"),
        ({"round": 1, "shape": "a"}, "ms", "missing; expected a list"),
        ({"round": "1", "shape": "a", "ms": [1]}, "round", "expected a whole number, got text"),
        ({"round": 1, "shape": "a", "ms": ["1"]}, "ms[0]", "expected a number, got text"),
        ({"round": 1, "shape": "a", "ms": [True]}, "ms[0]", "expected a number"),
        ({"round": 1, "shape": "a", "ms": []}, "ms", "expected at least one time"),
        (line(1, "a", 1.0, 0.0), "ms", "expected times of more than 0"),
        (line(1, "a", -1.0), "ms", "expected times of more than 0"),
        ({**line(), "event_ms": [-1.0]}, "ms", "expected times of more than 0"),
        ('{"round": 1, "shape": "a", "ms": [NaN]}', None, "NaN is not JSON"),
        ('{"round": 1, "shape": "a", "ms": [1e999]}', None, "too large"),
        (b'{"round": 1, "shape": "\xff", "ms": [1]}', None, "expected UTF-8 text"),
        ({**line(), "slope_ms": ["1"]}, "slope_ms[0]", "expected a number, got text"),
        ({**line(), "wall_ms": 1.0}, "wall_ms", "expected a list"),
        ("[" * 100_000, None, ""),
    ],
)
def test_a_wrong_line_is_named_and_the_others_are_read(
    wrong: bytes | str | dict[str, object], key: str | None, message: str, tmp_path: Path
) -> None:
    found = read(tmp_path, line(1), wrong, line(2))

    assert [s.round for s in found.spreads] == [1, 2]
    assert [(f.line, f.key) for f in found.findings] == [(2, key)]
    assert message in found.findings[0].message


def test_the_time_of_a_round_is_the_slowest_clock(tmp_path: Path) -> None:
    clocks: dict[str, object] = {
        "event_ms": [3.0, 1.0, 2.0],
        "wall_ms": [4.5, 4.0, 9.0],
        "overhead_ms": [1.0, 2.0],
    }
    noisy: dict[str, object] = {
        **line(4),
        "ms": [9.0, -2.0, 3.0],
        **clocks,
        "slope_ms": [9.0, -2.0, 3.5],
    }
    one, two, old, quiet = read(
        tmp_path,
        {**line(1), **clocks, "slope_ms": [2.5], "event_slope_ms": [9.0]},
        {**line(2), **clocks, "slope_ms": [4]}, line(3), noisy,
    ).spreads  # fmt: skip

    assert one.clocks == {"event": 2.0, "wall": 3.0, "slope": 2.5, "event_slope": 9.0}
    assert (quiet.time, quiet.least) == (3.5, -2.0), "a difference may be below 0"
    assert (one.time, two.time) == (3.0, 4.0)
    assert (old.clocks, old.time) == ({}, 1.5)


@given(
    times=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=9).map(tuple),
    others=st.lists(st.floats(1e-3, 1e3), max_size=9).map(tuple),
)
def test_no_clock_is_slower_than_the_time(
    times: tuple[float, ...], others: tuple[float, ...]
) -> None:
    samples = Samples(round=1, shape="n", ms=times, event_ms=others, wall_ms=times)

    assert all(samples.time_ms >= clock for clock in samples.clocks.values())
    assert samples.time_ms in samples.clocks.values()


def test_many_wrong_lines_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, *["x"] * (MOST_FINDINGS + 5), line())

    assert len(found.findings) == MOST_FINDINGS + 1
    assert found.findings[-1].message == "5 more lines cannot be read"
    assert len(found.spreads) == 1


def test_a_line_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT_BYTES", 100)
    found = read(tmp_path, line(1), "x" * 350, line(2))

    assert [s.round for s in found.spreads] == [1, 2]
    assert [(f.line, f.message) for f in found.findings] == [
        (2, "expected a line of at most 100 bytes")
    ]  # fmt: skip


def test_what_is_too_much_is_not_read_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SPREADS", 3)
    found = read(tmp_path, *(line(n) for n in range(9)))

    assert len(found.spreads) == 3
    assert [(f.line, f.severity.value) for f in found.findings] == [(4, "warning")]

    monkeypatch.setattr(module, "MOST_BYTES", 60)
    assert len(read(tmp_path, *(line(n) for n in range(3))).spreads) == 1


def test_of_endless_lines_so_many_are_read_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 2)
    found = read(tmp_path, "", "x", line(1), line(2))

    assert not found.spreads
    assert [one.line for one in found.findings] == [2, 3]


def test_little_is_read_slowly_of_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly: list[int] = []

    def json_data(_: Path, text: str) -> object:
        slowly.append(len(text))
        return text

    monkeypatch.setattr(module, "json_data", json_data)
    long = json.dumps({"round": 1, "shape": "n", "ms": [*[1.0] * MOST_EXPLAINED, "x"]})
    found = read(tmp_path, long, *["x"] * (MOST_FINDINGS + 5))

    assert slowly == [2] * (MOST_FINDINGS - 1)
    assert found.findings[0].line == 1
    assert f"$.ms[{MOST_EXPLAINED}]" in found.findings[0].message


def test_a_round_that_stands_there_twice_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, line(1, "a"), line(1, "a"))

    assert [f.message for f in found.findings] == ["round 1 of shape 'a' is there twice"]


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=300))
def test_the_samples_that_are_drawn_are_some_in_order_with_both_ends(ms: list[float]) -> None:
    found = spread(Samples(round=1, shape="a", ms=tuple(ms)))

    assert len(found.drawn) == min(len(ms), DRAWN)
    assert list(found.drawn) == sorted(found.drawn)
    assert set(found.drawn) <= set(ms)
    assert (found.drawn[0], found.drawn[-1]) == (min(ms), max(ms)) or len(ms) == 1
    assert found.least <= found.median <= found.most
    assert sum(one <= found.p90 for one in ms) >= 0.9 * len(ms)
    assert sum(one < found.p90 for one in ms) < 0.9 * len(ms)
