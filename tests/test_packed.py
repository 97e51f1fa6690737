"""What is packed comes back to the last character, and takes little room."""

from __future__ import annotations

import string
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.single_file.packed import BLOCK, pack
from tests.unpacking import unpacked

SAFE = set(string.printable) - set("<\"'\\/" + string.whitespace)
SAID = "the kernel reads a tile of shared memory and the kernel writes it back\n"


# Little else than what the packing itself is made of, so that it meets itself at every turn.
TEXTS = st.text(
    st.sampled_from([*map(chr, range(32)), *"!~<>ab _\ufeff\u2028é😀"]), max_size=60
) | st.lists(st.sampled_from(["word", " word", "<p>", "\x01!", "\x08", "~"]), max_size=40).map(
    "".join
)


@given(st.dictionaries(st.text(max_size=5), TEXTS, max_size=6))
def test_any_pages_come_back_as_they_were(pages: dict[str, str]) -> None:
    assert unpacked(pack(pages)) == pages


def test_more_words_than_codes_come_back_too() -> None:
    words = [f"word_{number}" for number in range(5000)]
    pages = {"one": " ".join(words * 3), "two": "".join(map(chr, range(32))) * 3}

    assert unpacked(pack(pages)) == pages


@given(st.binary(max_size=40))
def test_texts_of_any_length_end_where_they_end(data: bytes) -> None:
    pages = {"page": data.hex()}

    assert unpacked(pack(pages)) == pages


def test_nothing_becomes_no_block() -> None:
    assert pack({}).blocks == ()


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--<script>", "\x00'\""])
def test_no_block_can_be_taken_for_a_tag_whatever_it_holds(text: str) -> None:
    packed = pack({"page": text * 50})

    assert set(packed.words) <= SAFE
    assert {char for block in packed.blocks for char in block.data} <= SAFE


def test_the_same_pages_give_the_same_bytes() -> None:
    pages = {f"{number}": SAID * number for number in range(1, 9)}

    assert pack(pages) == pack(dict(pages))


def test_a_block_is_closed_when_it_is_large_and_holds_pages_whole() -> None:
    pages = {f"page {number}": f"{number} " * (BLOCK // 4) for number in range(7)}
    packed = pack(pages)

    assert 2 <= len(packed.blocks) < 7
    assert [name for block in packed.blocks for name in block.names] == list(pages)
    assert unpacked(packed) == pages


def test_words_that_come_back_over_megabytes_are_cheaper_than_deflate_alone() -> None:
    names = [f"name_of_{number * 7919 % 1000}" for number in range(1000)]
    text = " ".join(f"{names[n * n * 31 % 1000]} {n * 2654435761 % 97}" for n in range(60_000))
    alone = len(zlib.compress(text.encode(), 9)) * 4 / 3
    packed = pack({"page": text})

    assert unpacked(packed) == {"page": text}
    assert sum(len(block.data) for block in packed.blocks) + len(packed.words) < 0.9 * alone
