"""Tokens: what a compiler sees, whatever is in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.alarms.native.tokens import Kind, hidden, parts, qualified, spliced, tokens, value

PIECES = st.sampled_from(
    ['"', "'", "/*", "*/", "//", "\n", "\\\n", "\\", 'R"x(', ')x"', "#", "##", "::", "a", "at::b",
     "1'000", "0x1p-3", "<<<", ">>>", "(", "{", "}", ")", "\0", "é", "\u202e", " ", "u8", "L", "."]
)  # fmt: skip


def words(text: str) -> list[str]:
    return [word for _, word, _ in tokens(spliced(text).joined)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k<<<g, b>>>(x);", ["k", "<<<", "g", ",", "b", ">", ">", ">", "(", "x", ")", ";"]),
        ("a##b # c", ["a", "##", "b", "# c"]),
        ("x->y.z", ["x", "->", "y", ".", "z"]),
        ("1'000'000ull + 0x1.8p-3f", ["1'000'000ull", "+", "0x1.8p-3f"]),
        ("return ::at::mm(x)", ["return", "::at::mm", "(", "x", ")"]),
        ('R"x(a " )y" b)x" c', ['R"x(a " )y" b)x"', "c"]),
        ("u8\"a\\\"b\" L'\\'' s", ['u8"a\\"b"', "L'\\''", "s"]),
        ("a // b\nc /* d\ne */ f", ["a", "// b", "c", "/* d\ne */", "f"]),
        ("ma\\\ntmul", ["matmul"]),
        ("#define A(x) \\\n  x // y\nb", ["#define A(x)   x ", "// y", "b"]),
        ('"not // a comment"', ['"not // a comment"']),
        ('"open\nnext', ['"open', "next"]),
        ("/* open", ["/* open"]),
        ("größe_1", ["größe_1"]),
    ],
)
def test_a_text_falls_into_these_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_tokens_know_what_they_are() -> None:
    text = "f 1 + 's' \"t\" // c\n# d"
    assert [Kind(kind) for kind, _, _ in tokens(text)] == [
        Kind.NAME, Kind.NUMBER, Kind.SIGN, Kind.CHARACTER, Kind.STRING, Kind.COMMENT,
        Kind.DIRECTIVE,
    ]  # fmt: skip


def test_lines_are_those_that_were_written() -> None:
    text = spliced("one \\\n\\\ntwo\r\nthree\n\nfour")
    lines = {word: text.line(at) for _, word, at in tokens(text.joined)}

    assert lines == {"one": 1, "two": 3, "three": 4, "four": 6}


@given(st.lists(PIECES, max_size=60).map("".join))
def test_nothing_is_lost_whatever_is_in_a_text(text: str) -> None:
    joined = spliced(text).joined
    found = tokens(joined)

    at = 0
    for _, word, offset in found:
        assert not joined[at:offset].strip()
        assert joined.startswith(word, offset)
        at = offset + len(word)
    assert not joined[at:].strip()


def test_qualified_names_are_read_across_gaps() -> None:
    assert qualified("::at /* x */ :: // y\n mm") == "at::mm"
    assert words("at /* x */ :: mm(")[0] == "at /* x */ :: mm"


def test_the_body_of_a_macro_keeps_names_apart() -> None:
    assert parts("at::a ## b /* no */ # c") == [
        (Kind.NAME, "at"), (Kind.SIGN, "::"), (Kind.NAME, "a"), (Kind.SIGN, "##"),
        (Kind.NAME, "b"), (Kind.SIGN, "#"), (Kind.NAME, "c"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("literal", "stands_for", "written_as_numbers"),
    [
        ('"plain"', "plain", 0),
        ('"\\x6d\\x6d"', "mm", 2),
        ('"\\155m\\n"', "mm\n", 1),
        ('u8"\\u0061\\"b"', 'a"b', 1),
        ("'\\0'", "\0", 0),
        ('LR"k(a\\x6d)k"', "a\\x6d", 1),
        ('"open', "open", 0),
        ('"\\xffffffff"', "\ufffd", 0),
    ],
)
def test_literals_stand_for_texts(literal: str, stands_for: str, written_as_numbers: int) -> None:
    assert value(literal) == stands_for
    if not literal.startswith("LR"):
        assert hidden(literal) == written_as_numbers
