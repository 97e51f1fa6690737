"""Where a file of a site is not what it has to be, in words: the key or line, and both values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest

from kbsite.check.audits import around
from kbsite.feeds import bundles
from kbsite.feeds.table import csv_rows
from kbsite.model.finding import Finding, Severity
from kbsite.verifying import tables

MOST = 20
"""Differences of a file that are named."""

_NAMES = ("id", "problem", "run", "contender", "kind", "reason", "key")
"""Keys that tell items of a list apart, the best first."""

_ID = re.compile(r'<\w[^<>]*?\bid="?([^"\s>]+)')
_LINES = (".html", ".xml", ".svg", ".md", ".js", ".css", ".txt")


def differences(path: str, wanted: bytes, got: bytes) -> Iterator[Finding]:
    """What is wrong with a file that holds `got`, where `wanted` follows from the raw data."""
    if wanted == got or _hold_the_same(path, wanted, got):
        return
    if path.endswith(".json"):
        found = _in_json(wanted, got)
    elif path.endswith(".csv"):
        found = _in_table(wanted, got)
    elif path.endswith(_LINES):
        found = _in_lines(wanted, got)
    else:
        found = iter([(None, "its bytes are not those that follow from the raw data", None)])
    named = list(islice(found, MOST + 1))
    for key, message, line in named[:MOST] or [(None, "not written as kbsite writes it", None)]:
        yield Finding(Severity.ERROR, path, message, line, key)
    if len(named) > MOST:
        yield Finding(Severity.ERROR, path, f"more than {MOST} differences; the rest is not named")


def _hold_the_same(path: str, wanted: bytes, got: bytes) -> bool:
    """Whether files that another version of a library may have written hold the same."""
    if path.endswith(".zst"):
        return bundles.same(wanted, got)
    return path.endswith(".parquet") and tables.same(wanted, got)


Difference = tuple[str | None, str, int | None]
"""The key that is meant, what is wrong, and the line."""


def _in_json(wanted: bytes, got: bytes) -> Iterator[Difference]:
    try:
        held = json.loads(got)
    except (ValueError, RecursionError):
        yield None, "is no JSON", None
        return
    yield from _values("", json.loads(wanted), held)


def _values(key: str, wanted: object, got: object) -> Iterator[Difference]:
    if isinstance(wanted, dict) and isinstance(got, dict):
        yield from _keys(key, wanted, got)
    elif isinstance(wanted, list) and isinstance(got, list):
        name = _name(wanted) or _name(got)
        if name and all(isinstance(one, dict) and name in one for one in [*wanted, *got]):
            yield from _named(key, name, wanted, got)
        else:
            yield from _items(key, wanted, got)
    elif wanted != got or type(wanted) is not type(got):
        yield key, f"{_said(wanted)} follows from the raw data, not {_said(got)}", None


def _keys(
    key: str, wanted: Mapping[str, object], got: Mapping[str, object]
) -> Iterator[Difference]:
    for name in [*wanted, *(name for name in got if name not in wanted)]:
        inner = f"{key}.{name}" if key else str(name)
        if name not in got:
            yield inner, f"missing; {_said(wanted[name])} follows from the raw data", None
        elif name not in wanted:
            yield inner, f"nothing of the raw data says so; got {_said(got[name])}", None
        else:
            yield from _values(inner, wanted[name], got[name])


def _name(items: Sequence[object]) -> str:
    """The key that tells all items of a list apart; empty if there is none."""
    for name in _NAMES:
        values = [repr(one[name]) for one in items if isinstance(one, dict) and name in one]
        if items and len(set(values)) == len(items):
            return name
    return ""


def _named(
    key: str, name: str, wanted: Sequence[Mapping[str, object]], got: Sequence[Mapping[str, object]]
) -> Iterator[Difference]:
    have = {repr(one[name]): one for one in got}
    for one in wanted:
        inner = f"{key}[{one[name]}]"
        other = have.pop(repr(one[name]), None)
        if other is None:
            yield inner, "missing; it follows from the raw data", None
        else:
            yield from _values(inner, one, other)
    for extra in have.values():
        yield f"{key}[{extra[name]}]", "nothing of the raw data says so", None
    order = [one[name] for one in wanted], [one[name] for one in got]
    if sorted(map(repr, order[0])) == sorted(map(repr, order[1])) and order[0] != order[1]:
        yield key, f"the order that follows is {_said(order[0])}, not {_said(order[1])}", None


def _items(key: str, wanted: Sequence[object], got: Sequence[object]) -> Iterator[Difference]:
    for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
        yield from _values(f"{key}[{number}]", one, other)
    if len(wanted) != len(got):
        yield key, f"{len(wanted)} items follow from the raw data, not {len(got)}", None


def _said(value: object) -> str:
    return _begun(json.dumps(value, ensure_ascii=False))


def _begun(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}…"


def _in_table(wanted: bytes, got: bytes) -> Iterator[Difference]:
    first, second = (csv_rows(data.decode("utf-8", "replace")) for data in (wanted, got))
    for number, (row, other) in enumerate(zip_longest(first, second), start=1):
        if row is None or other is None:
            held = row or other or [""]
            what = "missing" if other is None else "nothing of the raw data says so"
            yield held[0], f"the row is {what}" if other is None else what, number
            continue
        for name, one, two in zip_longest(first[0], row, other, fillvalue=""):
            if one != two:
                told = f"{_begun(repr(one))} follows from the raw data, not {_begun(repr(two))}"
                yield f"{row[0]}.{name}", told, number


def _in_lines(wanted: bytes, got: bytes) -> Iterator[Difference]:
    first, second = (data.decode("utf-8", "replace").split("\n") for data in (wanted, got))
    place = None
    for number, (one, other) in enumerate(zip_longest(first, second), start=1):
        if one == other:
            place = _place(other, place)
            continue
        if one is None or other is None:
            told = f"{len(first)} lines follow from the raw data, not {len(second)}"
            yield place, told, number
            return
        quoted, found = around(one, other)
        ids = _ID.findall(other[: _until(one, other)])
        here = f"#{ids[-1]}" if ids else place
        yield here, f"“{quoted}” follows from the raw data, not “{found}”", number
        place = _place(other, place)
        if len(first) != len(second):
            told = f"{len(first)} lines follow from the raw data, not {len(second)}"
            yield None, told, number
            return


def _place(line: str | None, before: str | None) -> str | None:
    ids = _ID.findall(line) if line and "id=" in line else []
    return f"#{ids[-1]}" if ids else before


def _until(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
