"""The words of a run's pages, as they are searched for.

static/words.js takes a question apart in the same way. A word of code is there whole and in parts:
of `cp.async.wait_all` the words `cp`, `async`, `wait_all`, `wait` and `all`, and, so that what is
asked for whole is found whole, the pairs `cp.async` and `async.wait_all`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice, pairwise

LONGEST = 64
"""Characters of a word that count: one that is longer is found by these."""

MOST = 500_000
"""Different words of a run that can be found: those that come first."""

_IDEOGRAPHS = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)  # fmt: skip
"""Characters of scripts that have no spaces: each is a word."""

_WORD = re.compile(rf"[^\W{_IDEOGRAPHS}]+")
_CHAIN_OF = rf"[{_IDEOGRAPHS}]+|{_WORD.pattern}(?:[-.:/@'>]{{1,3}}{_WORD.pattern})*"
_CHAIN = re.compile(_CHAIN_OF)
"""Words that hang together: `a.b`, `a::b`, `a->b`, `a/b`, `a-b`."""

_ESCAPED = re.compile(rf"\\[nrt]({_CHAIN_OF})")
"""A text within a text of JSON: its first word follows a sign for a new line."""

COLOURS = re.compile(r"</?span\b[^>]*>")
"""Colours of letters, which may stand within a word; at other tags a word ends."""

TOOLS = re.compile(
    '<div class="tools" id="tools".*?</table></div>|<p class="axis dim">.*?</figcaption>', re.DOTALL
)
"""What a transcript is gone through with, the table of keys in it, and the legend of its map: they
stand on the page of every run, and say nothing of any."""

_NO_TEXT = re.compile(r"<(?:nav\b.*?</nav|svg\b.*?</svg|[^>]*)>", re.DOTALL)
"""Tags; what leads around, and drawings, go with theirs."""


def words_of(pages: Iterable[str]) -> dict[str, int]:
    """How often each word stands on the pages of a run."""
    chains: Counter[str] = Counter()
    for page in pages:
        text = _text(page)
        chains.update(_CHAIN.findall(text))
        if "\\" in text:
            chains.update(_ESCAPED.findall(text))
        if len(chains) > MOST:
            chains = Counter(dict(islice(chains.items(), MOST)))
    found: dict[str, int] = {}
    for chain, count in chains.items():
        if len(chain) <= LONGEST and chain.isascii() and chain.isalnum():
            found[chain] = found.get(chain, 0) + count  # most are such
            continue
        for word in _taken_apart(chain):
            found[word] = found.get(word, 0) + count
        if len(found) > MOST:
            return dict(islice(found.items(), MOST))
    return found


def _text(page: str) -> str:
    """What a page shows, in lower case."""
    main = page[page.find("<main") : page.rfind("</main>")]
    text = unescape(_NO_TEXT.sub(" ", COLOURS.sub("", TOOLS.sub(" ", main))))
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).lower().replace("ς", "σ")
    return text.lower()


def _taken_apart(chain: str) -> Iterator[str]:
    """The words of a chain, the parts of its words, and each two that follow each other."""
    if not _WORD.match(chain):
        yield from chain
        yield from map("".join, pairwise(chain))
        return
    before, end = "", 0
    for found in _WORD.finditer(chain):
        word = found[0][:LONGEST]
        yield word
        if "_" in word:
            yield from filter(None, word.split("_"))
        if before:
            yield f"{before}{chain[end : found.start()]}{word}"
        before, end = word, found.end()
