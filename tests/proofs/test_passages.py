"""The texts within a row of JSON, whatever it holds."""

from __future__ import annotations

import json

import pytest

from kbsite.proofs.passages import texts_of


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
