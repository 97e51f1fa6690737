"""Passages that an audit quotes are marked where a page shows them, whatever it made of them."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.model.transcript import DiffLine
from kbsite.text import inner, inner_diff, json, markdown
from kbsite.text.passages import Passage, mark, mark_long
from kbsite.text.terminal import breakable, inner_terminal

TOLD = """I looked at the **ring buffer**, and it does *not* hold `out[slot]`.

| shape | cached |
|---|---|
| 1024 | the *whole* output |

1. See [the page](http://x.org/a) of it.
2. Then `a < b`.

```python
def forward(x):
    return CACHE[x]
```
"""
DIFF = [DiffLine("@", "@@ -1,4 +1,4 @@"), DiffLine(" ", "def solve(x):"),
        DiffLine("-", "    y = old(x)"), DiffLine("-", "    return y"),
        DiffLine("+", "    y = new(x)"), DiffLine("+", "    return y + 1"),
        DiffLine(" ", "# end")]  # fmt: skip
STEP = (
    "<li class=x id=L1><a href=#L1>01:18</a><details><summary><b>thinks</b> 9 lines</summary>"
    "{}</details><small>1 in</small>\n"
)
NESTED = {"a": "one\ntwo"}
IN_COLOUR = "PASS: \x1b[32mcached\x1b[0m & done"
CHANGED = f"<figure><pre>{inner_diff(DIFF)}</pre></figure>"
PIECE = re.compile(r"<mark class=quoted(?: id=[^>]*)?>(.*?)</mark>", re.DOTALL)


def passage(text: str, number: int = 1) -> Passage:
    return Passage(f"L1.q{number}", text, f"index.html#quote-{number}", f"quote {number}")


def marked(html: str) -> str:
    """What is marked, without tags and white space."""
    pieces = "".join(PIECE.findall(html))
    return "".join(unescape(re.sub("<[^>]*>", "", pieces)).split())


@pytest.mark.parametrize(("shown", "quoted", "letters"), [
    (markdown(TOLD), "the **ring buffer**, and it does *not* hold `out[slot]`",
     "theringbuffer,anditdoesnotholdout[slot]"),
    (markdown(TOLD), "| 1024 | the *whole* output |", "1024thewholeoutput"),
    (markdown(TOLD), "1. See [the page](http://x.org/a) of it.", "Seethepageofit."),
    (markdown(TOLD), "`a < b`", "a<b"),
    (markdown(TOLD), "def forward(x):\n    return CACHE[x]", "defforward(x):returnCACHE[x]"),
    (f"<pre>{inner_terminal(IN_COLOUR)}</pre>", "PASS: cached & done",
     "PASS:cached&done"),
    (f"<pre>{inner(json(NESTED))}</pre>", "one\ntwo", r"one\ntwo"),
    (CHANGED, "y = old(x)\n    return y",
     "y=old(x)returny"),
    (CHANGED, "def solve(x):\n    y = new(x)",
     "defsolve(x):y=new(x)"),
    (CHANGED, "+    y = new(x)", "+y=new(x)"),
])  # fmt: skip
def test_a_passage_is_marked_in_what_a_page_makes_of_it(
    shown: str, quoted: str, letters: str
) -> None:
    html, found = mark(STEP.format(shown), [passage(quoted)])

    assert found == {"L1.q1"}
    assert marked(html) == letters
    assert html.count("id=L1.q1") == 1
    assert "<details open>" in html
    assert html.count('<a class=cite href="index.html#quote-1" aria-label="quote 1"></a>') == 1
    assert re.sub("</?mark[^>]*>|<a class=cite [^>]*></a>| open(?=>)", "", html) == STEP.format(
        shown
    )


@pytest.mark.parametrize("quoted", ["9 lines", "01:18", "1 in", "ing buf", "nowhere", "", "**"])
def test_words_of_the_page_itself_and_pieces_of_words_are_no_passage(quoted: str) -> None:
    html = STEP.format(markdown(TOLD))

    assert mark(html, [passage(quoted)]) == (html, set())


def test_passages_that_overlap_have_a_place_and_a_way_back_each() -> None:
    quotes = ["one two three", "two three four", "two", "one two three"]
    html, found = mark("<p>one two three four", [passage(text, n) for n, text in enumerate(quotes)])

    assert found == {f"L1.q{n}" for n in range(4)}
    assert all(html.count(f"id=L1.q{n}>") == 1 for n in range(4))
    assert all(html.count(f"#quote-{n}") == 1 for n in range(4))
    assert html.count("<mark") == html.count("</mark>")


def test_a_link_back_stands_in_no_other_link_and_a_label_is_no_html() -> None:
    shown = str(markdown("see [the page](http://x.org) now"))
    html, _ = mark(shown, [Passage("L1.q1", "the page", "#q", '"><img src=x>')])

    assert "</mark></a><a class=cite" in html
    assert "<img" not in html


@pytest.mark.parametrize("rows", [3, 5000])
def test_the_middle_of_a_long_text_is_marked_on_its_page(rows: int) -> None:
    around = "".join(f"row {n} of <it>\n" for n in range(rows))
    text = f"{around}MIDDLE: a < b\nand & done\n{around}"
    html, found = mark_long(
        str(breakable(text)), [passage("MIDDLE: a < b\nand & done"), passage("lost", 2)]
    )

    assert found == {"L1.q1"}
    assert marked(html) == "MIDDLE:a<band&done"
    plain = re.sub("<[^>]*>", "", html)
    assert unescape(plain) == unescape(re.sub("<[^>]*>", "", str(breakable(text))))


def test_what_changed_is_marked_behind_the_signs_of_its_lines() -> None:
    text = "".join(f"{line.sign}{line.text}\n" for line in DIFF[1:])
    html, found = mark_long(
        str(breakable(text)), [passage("y = new(x)\n    return y + 1")], changes=True
    )

    assert found
    assert len(re.findall(r"\+ *<mark", html)) == 2


@given(st.text("ab* `|<&\n+-_#", max_size=60), st.text("ab* `\n+-", max_size=8))
def test_marking_takes_nothing_away_and_adds_no_word(text: str, quoted: str) -> None:
    for shown in (str(markdown(text)), f"<pre>{inner(text)}</pre>"):
        html, _ = mark(shown, [passage(quoted), passage(text, 2)])

        assert re.sub("</?mark[^>]*>|<a class=cite [^>]*></a>", "", html) == shown
