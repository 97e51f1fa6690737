"""Markdown of which a word would be lost as HTML is shown as it was written."""

from __future__ import annotations

import html

import pytest

from kbsite.text import markdown


@pytest.mark.parametrize(
    "text",
    [
        "|a|b|\n|-|-|\n|x|y|lost|",
        "see [](https://example.com/lost) there",
        "![a [b](https://example.com/lost) c](https://example.com/d.png)",
        '[ ](https://example.com/ "lost")',
    ],
)
def test_markdown_of_which_a_word_would_be_lost_is_shown_as_it_is(text: str) -> None:
    assert html.unescape(str(markdown(text))).endswith(f'<pre class="text">\n{text}</pre>')


@pytest.mark.parametrize(
    "text",
    [
        "|a|b|\n|-|:-:|\n|x|**y**|",
        '3. see [it](https://example.com/a%20b?c=d&e "title") &copy; `&amp;`\n4. <https://x.org>',
    ],
)
def test_markdown_that_shows_all_words_is_rendered(text: str) -> None:
    assert '<pre class="text">' not in markdown(text)
