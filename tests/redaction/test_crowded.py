"""Text that is made to fit the rules everywhere: bounded work, and nothing of it is shown."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.hiding import Hiding
from kbsite.hiding.crowds import over
from kbsite.model.config import Redact
from kbsite.model.redaction import Form, Hidden, Span
from kbsite.redaction import crowded, scan
from kbsite.redaction.known import Known, Value
from kbsite.redaction.people import People
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import CROWDED, SEEN, must_not_happen, title
from kbsite.store.files import Stored
from tests.redaction.secrets import KINDS, escaped, planted

SIZE = 400_000
DRAW = random.Random(8)
LETTERS = string.ascii_letters + string.digits


def drawn(size: int) -> str:
    return "".join(DRAW.choices(LETTERS, k=size))


HOSTILE: dict[str, Callable[[], str]] = {
    "named": lambda: f'api_key="{drawn(20)}" ',
    "rejected": lambda: "secret=aaaaaaaa ",
    "tokens": lambda: f" sk-{drawn(24)}",
    "addresses": lambda: f"{drawn(6)}@{drawn(5)}.com 93.184.216.34 ",
    "escapes": lambda: "a\\/b",
    "percent": lambda: "%61%62",
    "cookies": lambda: f"cookie: a={drawn(12)}; ",
    "keys": lambda: "-----BEGIN PRIVATE KEY-----",
    "base64": lambda: "ZXlKaGJHY2 ",
    "homes": lambda: f"/home/{drawn(7)}/",
}


def hostile(kind: str, size: int = SIZE) -> str:
    """A text of some size that is full of one thing."""
    parts, held = [], 0
    while held < size:
        parts.append(HOSTILE[kind]())
        held += len(parts[-1])
    return "".join(parts)


@pytest.mark.parametrize("kind", HOSTILE)
def test_text_is_looked_at_closely_only_so_often(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    around = scan._Pass._around

    def counted(one: scan._Pass, at: int, text: bytes) -> object:
        looked.append(at)
        return around(one, at, text)

    monkeypatch.setattr(scan._Pass, "_around", counted)
    data = hostile(kind).encode()
    found = Looker().look(data)

    assert found.crowded
    assert found.crowded[-1][1] >= len(data) - 256
    # What a last view holds is looked at before the next place asks whether anything is left.
    assert len(looked) < crowded.FREE + len(data) / crowded.EACH + 6000
    assert len(found.told) < crowded.FREE + len(data) / crowded.CHEAP + 6000


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_within_crowded_text_is_hidden(kind: str, tmp_path: Path) -> None:
    one = planted(7, kind)
    before, behind = hostile("rejected", 150_000), hostile("percent", 30_000)
    text = f"{before}{one.text} {behind}"
    draw = random.Random(3)
    rows = [
        {"type": "said", "text": text, "after": one.text},
        {"type": "said", "text": f"{before}\n{escaped(one.text, draw)}\n{behind}"},
        {"type": "said", "text": "nothing"},
    ]
    shown = as_shown(tmp_path, "\n".join(map(json.dumps, rows)))

    assert one.secret not in shown
    first, _, third = map(json.loads, shown.split("\n"))
    assert (first["type"], third) == ("said", rows[2])
    assert first["text"].startswith("(redacted)xxx")


def as_shown(folder: Path, text: str, name: str = "transcript.jsonl") -> str:
    """A file of a run as the site shows it."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    spans = hidden(folder).files.get(name, ())
    shown = Stored(name, str(path), path.stat().st_size, spans).read().decode()
    assert [len(line) for line in shown.split("\n")] == [len(line) for line in text.split("\n")]
    return shown


def hidden(folder: Path) -> Hidden:
    return Hiding(Redact()).of(folder)


def test_many_strings_of_one_line_become_one_and_the_lines_around_stay(tmp_path: Path) -> None:
    row = json.dumps([f"api_key={drawn(20)}" for _ in range(12_000)])
    between = json.dumps("x" * crowded.LEAST)
    shown = as_shown(tmp_path, f'{{"a": 1}}\n{row}\n{between}\n{{"b": 2}}').split("\n")

    assert (shown[0], shown[3]) == ('{"a": 1}', '{"b": 2}')
    assert json.loads(shown[1]) == "(redacted)" + "x" * (len(row) - 12)


def test_a_document_of_many_crowded_lines_stays_json(tmp_path: Path) -> None:
    text = json.dumps({"rows": [f"api_key={drawn(20)}" for _ in range(12_000)]}, indent=1)
    shown = as_shown(tmp_path, text, "session.json")

    assert json.loads(shown) == "(redacte"


def test_crowded_lines_of_a_text_are_hidden_and_no_others(tmp_path: Path) -> None:
    shown = as_shown(tmp_path, f"first\n{hostile('rejected')}\nlast\n", "kernel.log")
    first, whole, last, _ = shown.split("\n")

    assert (first, last) == ("first", "last")
    assert whole.strip("x") == "(redacted)"


def test_what_crowds_between_strings_hides_the_line(tmp_path: Path) -> None:
    shown = as_shown(tmp_path, '{"a": ' + hostile("rejected", 200_000) + "}\n{}")

    assert json.loads(shown.split("\n")[0]).startswith("(redacted)x")
    assert shown.endswith("\n{}")


def test_values_and_names_that_are_known_are_looked_for_only_so_often() -> None:
    known = Known([Value(b"12345678-and-more", SEEN)])
    looker = Looker(again=(known.looked, People([b"maria"]).looked))
    for text in (b"12345678 ", b"12345678-and-more ", b" maria "):
        data = text * 20_000
        found = looker.look_again(data, 0, len(data))

        assert found.crowded
        assert found.spans[-1].end == len(data)
        assert len(found.told) <= crowded.FREE + len(data) / crowded.CHEAP


def test_a_strict_build_fails_on_what_is_hidden_unseen() -> None:
    assert must_not_happen(CROWDED)
    assert "whole" in title(CROWDED)


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=12)


def spans_of(pairs: list[tuple[int, int]], rule: str) -> list[Span]:
    """Spans in order that do not overlap."""
    held: list[Span] = []
    for start, size in sorted(pairs):
        first = max(start, held[-1].end if held else 0)
        held.append(Span(first, first + size, rule, Form.PLAIN))
    return held


@given(SPANS, SPANS)
def test_what_is_hidden_whole_replaces_what_it_overlaps(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    spans, whole = spans_of(some, "email"), spans_of(others, CROWDED)
    both = over(spans, whole)
    places = [place for span in both for place in range(span.start, span.end)]

    assert [span for span in both if span.rule == CROWDED] == whole
    assert places == sorted(set(places))
    assert set(places) == {p for one in (*spans, *whole) for p in range(one.start, one.end)}
