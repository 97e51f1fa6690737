"""The real transcripts beside the checkout: what is hidden of them was looked at by a person."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbsite.hiding.files import Seen
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import ARCHIVE, must_not_happen
from kbsite.store.files import contents
from tests.harnesses.reading import BESIDE, beside

MEGABYTE = 1_000_000

REVIEWED = {"21a595a6", "5d0fd16b"}
"""Digests of what is hidden as a key: two JSON Web Tokens."""

NOBODY = {"Bill", "Leet", "bill"}
"""Homes in documentation, which are nobody's: hidden in vain."""


def runs() -> Iterator[Path]:
    """The folders beside the checkout that hold what would be a run."""
    for kind in sorted([*BESIDE.glob("corpus/*"), *BESIDE.glob("captures/*")]):
        if kind.is_dir():
            yield from [path for path in sorted(kind.iterdir()) if path.is_dir()] or [kind]


@pytest.fixture(name="found", scope="module")
def _found() -> tuple[Counter[tuple[str, bytes]], int]:
    """How often each value is hidden by each rule, and the bytes that were looked at."""
    hits: Counter[tuple[str, bytes]] = Counter()
    size = 0
    for folder in runs():
        seen = Seen(Looker())
        for file in contents(folder)[0]:
            seen.see(file)
            size += file.size
        seen.again()
        for name, spans in seen.spans.items():
            hits.update((span.rule, seen.value(name, span)) for span in spans)
    return hits, size


@beside
def test_fewer_than_one_place_in_a_megabyte_is_hidden_in_vain(
    found: tuple[Counter[tuple[str, bytes]], int],
) -> None:
    hits, size = found
    vain = {
        (rule, value): count
        for (rule, value), count in hits.items()
        if rule != ARCHIVE and not _is_right(rule, value)
    }

    assert size > 80 * MEGABYTE
    assert sum(hits.values()) > 10_000
    assert sum(vain.values()) < size / MEGABYTE, vain


@beside
def test_no_key_is_hidden_in_vain_and_none_that_nobody_looked_at(
    found: tuple[Counter[tuple[str, bytes]], int],
) -> None:
    keys = {one for one in found[0] if must_not_happen(one[0]) and one[0] != ARCHIVE}

    assert {_digest(value) for _, value in keys} == REVIEWED


def _is_right(rule: str, value: bytes) -> bool:
    if rule == "home":
        return value.decode() not in NOBODY
    # Each address of the corpus was looked at: all are some person's or some team's, or are signed.
    return rule in ("email", "signed-address") or _digest(value) in REVIEWED


def _digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[:8]
