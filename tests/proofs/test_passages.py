"""The texts within a row of JSON, whatever it holds."""

from __future__ import annotations

import json

import pytest

from kbsite.proofs.passages import Passage, texts_of


def test_each_text_is_one_line_and_no_two_touch() -> None:
    row = json.dumps({"a": "one\ntwo", "b": ['say "x"', ""]}).encode()

    assert texts_of(row).split("\0") == ["a", "one two", "b", 'say "x"']


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        (b'"whole" "half', "whole"),
        (b'"whole" "half\\', "whole"),
        (b'"whole" \\"half\\"', "whole"),
        # Looking for the end of each of them anew takes an hour here.
        (b'"whole" ' + b'\\"' * 500_000, "whole"),
    ],
)
def test_a_text_that_nothing_closes_is_none(row: bytes, texts: str) -> None:
    assert texts_of(row) == texts


@pytest.mark.parametrize(
    ("quote", "texts", "stands"),
    [("half", "it is half done", True), ("half", "half_done", False), ("half", "by_half", False),
     ("half", "halfway, then (half)", True), ("half", "half7", False),
     (" ", "it is half done", False), ("\x1b[31m\x1b[0m", "it is half done", False)],
)  # fmt: skip
def test_a_passage_ends_where_words_do_and_nothing_stands_nowhere(
    quote: str, texts: str, stands: bool
) -> None:
    assert Passage(quote).stands_within(texts) is stands
