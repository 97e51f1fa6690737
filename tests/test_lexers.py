"""Lexers that ask only the rules that can match tell what Pygments' own tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name

from kbsite.lexers import begins, lexer

ROOT = Path(__file__).parents[1]
LANGUAGES = ("python", "cuda", "c", "cpp", "bash", "json", "text")
"""Those of solutions."""
PIECES = st.sampled_from(
    [
        "def f(x):\n    return x\n", "class A(B): pass", "import a.b as c\n", "from . import d\n",
        'f"a{b!r:>{c}}"', "\'\'\'x\'\'\'", '"""', "r'\\'", 'b"\\x00"', "0x1F_a", "1e-5j",
        "@deco\n", "# note\n", "#!/bin/sh\n", "\\\n", "\n", " ", "\t", "match x:\n", "\0", "\u212a",
        "\u00e9", "\u017f", "\u540d", "__global__ void k(float *a) {}", "#include <a.h>\n",
        "/* c */", "// d\n", "L'a'", "0b1u", 'if [ -n "$a" ]; then echo `b`; fi', "%", ":=", "->",
        "<<EOF\nx\nEOF\n", "$((1+2))", "${a[@]}", "&>", '{"a": [1.5, null]}', "template<class T>",
        "goto x;", 'R"(a)"', "...",
    ]
)  # fmt: skip
SIGNS = st.text(st.characters(max_codepoint=0x17F), max_size=3)


@pytest.mark.parametrize("language", LANGUAGES)
@given(st.lists(PIECES | SIGNS, max_size=12).map("".join))
def test_any_text_has_the_tokens_that_pygments_tells(language: str, text: str) -> None:
    own = get_lexer_by_name(language, stripnl=False, ensurenl=False)

    assert list(lexer(language).get_tokens(text)) == list(own.get_tokens(text))


def test_sources_have_the_tokens_that_pygments_tells() -> None:
    own = get_lexer_by_name("python", stripnl=False, ensurenl=False)
    for path in sorted(ROOT.glob("problems/*/reference.py"))[:4]:
        text = path.read_text(encoding="utf-8")

        assert list(lexer("python").get_tokens(text)) == list(own.get_tokens(text))


@pytest.mark.parametrize(
    ("pattern", "flags", "signs"),
    [
        ("ab|[c-e]", 0, "acde"), (r"\bx?y", 0, "xy"), (r"(?<!a)(?i:k)", 0, "kK"),
        (r"[^\x00-y]", 0, "z{|}~\x7f"), (r"(?=q)z+", 0, "z"), ("\u212a", re.IGNORECASE, None),
        ("a*", 0, None), (".", 0, None), (r"\d{2}", 0, "0123456789"), ("(a)?(?(1)b|c)", 0, None),
    ],
)  # fmt: skip
def test_it_is_known_what_a_pattern_begins_with(
    pattern: str, flags: int, signs: str | None
) -> None:
    every = set(map(chr, range(128)))

    assert {chr(one) for one in begins(re.compile(pattern, flags))} == set(signs or every)


def test_most_rules_are_not_tried() -> None:
    tried: list[str] = []
    state = lexer("python")._tokens["root"]  # type: ignore[attr-defined]
    rules = iter(state)
    look, _, _ = next(rules)
    look("name", 0)

    tried += (rule[0].__self__.pattern for rule in rules)

    assert 0 < len(tried) < len(state._rules) / 2
