"""Texts that look alike are told apart."""

from __future__ import annotations

import pytest

from kbsite.proofs.unseen import unseen


@pytest.mark.parametrize(
    ("quoted", "found", "told"),
    [
        ("# é", "x = 1  # e\u0301", "é is U+00E9 in the quote, U+0065 U+0301 in the file"),
        ("5 \u212b", "5 \u00c5", "\u00c5 is U+212B in the quote, U+00C5 in the file"),
        ("a b", "a\u00a0b", "a blank is U+0020 in the quote, U+00A0 in the file"),
        ("a:\n    b", "a:\n\tb", "a blank is U+0020 U+0020 U+0020 U+0020 in the quote, U+0009"),
        ("a:\n  é", "  a:\n    e\u0301", "é is U+00E9 in the quote"),
        ("ab", "a\u200bb", "a is U+0061 in the quote, U+0061 U+200B in the file"),
        ("a  b", "a b", ""),
        ("a:\n  b", "a:\n b", ""),
        ("a", "b", ""),
        ("a\n\nb", "a\nb", ""),
        ("", "", ""),
    ],
)
def test_characters_that_look_alike_are_named(quoted: str, found: str, told: str) -> None:
    assert unseen(quoted, found).startswith(told)
    assert bool(told) is bool(unseen(quoted, found))
