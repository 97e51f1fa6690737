"""Markdown that needs no parser reads as if it had been parsed, whatever stands beside it."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_core import inline

from kbsite.text import markdown, unmarked, visible
from kbsite.text.blocks import blocks
from kbsite.text.prose import _markdown
from tests.text.test_text import TEXTS

BLOCKS = st.sampled_from(
    [
        "A line of words.", "Words: (more), 50% + 1", "two words\nand a line", "Let's go!", "```",
        "```py", "```\ncode\n\n    more <b>\n```", "~~~\nx", "- item", "- item\n\n  more",
        "1. one", "> quoted", "    indented", "a\n---", "a\n===", "# head", "| a |\n|---|\n| b |",
        "a **b** `c`", "- ```\n  x", "***", "&lt; <b>", "[a]: http://x", " a", "a ", "a  \nb",
        "\t", "", " ", "````", " ```", "```\n````", "text ```", "a\n```\nb\n\nc\n```", "-", "+ x",
        "a **b** c", "**b** a", "**b:** a", "a**b**c", "**b**`c`", "`a`", "a `b c`, `d`", "`a``b`",
        "**a****b**", "a **b **c**", "**b.**c", "a_b", "_a_ b", "a_ b", '"a" b', "(a) - b",
        "a \u2014 b", "- **a**: b", "- a\n- `b`: c", "a:\n- b\n- c", "- a\nb", "- a\n  b", "* a",
        "- a\n* b", "- \n- a", "- - a", "a*b*c", "a ** b", "`a", "a\u3000", "`a b `", "`*a*` **b**",
        "**a** **b**", "a\\", "a|b\n-|-", "\u00a0", "w\u00f6rter", "a\r\nb",
        "```a`b\nx\n```", "```\tc\n```",
        "1. one\n2. two", "3. a\n7. **b** c", "1) a", "07. a", "1. a\n- b", "- a\n1. b", "0. a",
        "a:\n1. b\n2. c", "a\n2. b", "1234567890. a", "1. ", "1.  a", "1. a\n   b", "  - a",
        "# a **b**", "## a\nb", "a\n### b\nc", "####### a", "#a", "# a #", "# ", "#", "#  a",
        " # a", "###### `a`", "## - a", "## 1. a", "# a\\", "- a\n# b", "# a\n- b\n- c",
        "# a\n    b", "| a | b |\n|---|:-:|\n| 1 | `2` |", "| a |\n| - |",
        "|a|b|\n|:--|--:|\n|**c**|d|",
        "| a | b |\n|---|---|\n| 1 |", "| a |\n|---|\n| 1 | 2 |", "| |\n|-|\n| |", "||\n|-|",
        "| a |\n|---|\n| `b|c` |", "| a |\n|---|\n| b \\| c |", "| a |\n|---|\n- b", "|-|\n|-|",
        "| a |\n|---|\nb", "| a |\n| : |", "| a |\n|---|\n# b", "a\n| b |\n|---|", "| a |\n|---||",
        "|", "||", "| a |\n|---|\n|", "| a |\n|---|\n| b | ", "| a |\n|---| ", "- | a |\n  |---|",
        '**`a<"&">`**: b', "a**`b`**", "**`a``b`**", "**(a)**b", "**a (b)** c", "\ud55c**\ud55c**",
        "**\ud55c:** a", "[a]", "[a](b.c)", "[a](http://b)", "[a](#b)", "[a]()", "[a](b 'c')",
        "![a]", "a ~b", "a ~~b~~", "\u2705 **a**: \u2713", "\u3000a", "a -> b", "a\n> b",
        "**a `b**` c**",
    ]
)  # fmt: skip
GAPS = st.sampled_from(["\n", "\n\n", "\n \n"])


@cache
def every_word_parsed() -> MarkdownIt:
    """The parser, which parses all that stands within blocks, however simple."""
    parser = _markdown.__wrapped__()
    parser.core.ruler.at("inline", inline)
    return parser


def parsed_at_once(text: str) -> str:
    """Markdown as the parser renders all of a text at once."""
    return visible(str(every_word_parsed().render(visible(text))))


@given(st.lists(st.tuples(BLOCKS, GAPS), max_size=9))
@settings(max_examples=400)
def test_what_needs_no_parser_reads_as_if_it_had_been_parsed(parts: list[tuple[str, str]]) -> None:
    text = "".join(block + gap for block, gap in parts)

    shown = markdown(text)

    # A table that would lose words is shown as it was written.
    as_written = "|" in text and '<pre class="text">' in shown
    assert as_written or shown == parsed_at_once(text)


WITHIN = st.lists(
    st.sampled_from(
        [
            "a", "word", "0.5", "- ", " ", "**", "*", "`", "``", "_", "~~", "&", "&amp;", "<", ">",
            "[", "](http://x)", "!", "\\", "\n", "  \n", "|", ":", ".", ",", "(", '"', "'", "$",
            "#", "http://x.org", "a@b.org", "\u00a0", "\u2014", "w\u00f6rter", "**b**", "`c d`",
            "**b:**", "1.", "](a.b)", "](h", "]()", "**`b`**", "\u2705", "~", '`"<&`', "\ud55c",
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(WITHIN, st.sampled_from(["# {}", "1. {}", "> {}", "* {}\n* b", "| {} | b |\n|---|---|"]))
@settings(max_examples=400)
def test_what_is_simple_within_a_block_reads_as_if_it_had_been_parsed(
    text: str, block: str
) -> None:
    shown = markdown(block.format(text))

    assert shown == parsed_at_once(block.format(text)) or '<pre class="text">' in shown


def test_a_title_has_its_words_without_the_marks_of_what_needs_no_parser() -> None:
    assert unmarked("# **So** it is `a b`") == "So it is a b"


@given(TEXTS)
def test_any_text_reads_as_the_parser_makes_it_at_once_or_as_it_is(text: str) -> None:
    shown = markdown(text)

    assert shown == parsed_at_once(text) or '<pre class="text">' in shown


@given(st.lists(st.tuples(BLOCKS, GAPS), max_size=9))
def test_the_blocks_hold_every_line_but_blank_ones_between_them(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(block + gap for block, gap in parts)
    held = "\n".join(line for _, lines in blocks(text) for line in lines)

    assert [line for line in held.split("\n") if line.strip(" \t")] == [
        line for line in text.split("\n") if line.strip(" \t")
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", []),
        ("One line.", ["p"]),
        ("One\nparagraph.\n\nAnother.", ["p", "p"]),
        ("Look:\n\n```py\nx\n\ny\n```\nDone.", ["p", "```", "p"]),
        ("- a\n\n- b\n\nSo.\n\n> c", ["-", "p", ""]),
        ("1. a\n2. b\n\n> c\n\n2. d", ["1.", ""]),
        ("# a\nb:\n1. c\n\n2. d\n## e", ["#", "p", ""]),
        ("| a |\n|---|\n| b |\n\n| c |\n|---|\n| d | e |", ["|", ""]),
        ("- a\n\n  b", [""]),
        ("**So** it \u2014 `is`:\n- **a**: b\n- c\n\nSo.", ["p", "-", "p"]),
        ("- a\n- b\n\n* c", [""]),
        ("> a\n\n- b", [""]),
        ("So.\n\n```\nnever closed\n\nSo.", ["p", ""]),
    ],
)
def test_simple_blocks_are_told_from_all_else(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in blocks(text)] == kinds
