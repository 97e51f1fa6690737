"""Cards: pictures of figures that load nothing and hold no more than fits."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import pytest

from kbsite.feeds import cards
from kbsite.feeds.cards import HEIGHT, WIDTH, Card, png, svg
from kbsite.text import columns

SVG = "{http://www.w3.org/2000/svg}"


def shown(card: Card) -> list[str]:
    return [found.text or "" for found in ElementTree.fromstring(svg(card)).iter(f"{SVG}text")]


def test_a_card_says_its_lines_below_a_banner() -> None:
    texts = shown(Card("Demo", ["best .534", "3 runs"], "A site"))

    assert texts[-3:] == ["best .534", "3 runs", "$ A site"]
    assert len(texts) > 6  # the banner takes several lines


def test_hostile_and_endless_texts_stay_text_and_within_the_card() -> None:
    hostile = "</text><script>alert(1)</script>&\x00\u202e"
    card = Card(hostile * 9, [hostile, "x" * 5000, *["more"] * 50], "y" * 900)
    root = ElementTree.fromstring(svg(card))

    assert {child.tag for child in root.iter()} == {f"{SVG}svg", f"{SVG}rect", f"{SVG}text"}
    assert all(len(text) < 200 for text in shown(card))
    assert all(0 < float(text.get("y", "0")) < HEIGHT for text in root.iter(f"{SVG}text"))
    assert "href" not in svg(card)


@pytest.mark.parametrize(("letters", "size"), [(44, 40), (45, 39), (51, 35), (64, 28), (65, 28)])
def test_a_long_line_is_written_smaller_before_it_is_cut(letters: int, size: int) -> None:
    root = ElementTree.fromstring(svg(Card("Demo", ["x" * letters], "A site")))
    line = [*root.iter(f"{SVG}text")][-2]

    assert line.get("font-size") == str(size)
    assert (line.text or "").endswith("x") == (letters <= 64)


@pytest.mark.parametrize("title", ["66_matmul_dropout_mean_softmax", "Demo", "kernelbench-hard"])
def test_a_title_whose_banner_would_be_too_small_is_written(title: str) -> None:
    card = Card(title, ["passed"], "A site")
    sizes = [
        int(text.get("font-size", "0"))
        for text in ElementTree.fromstring(svg(card)).iter(f"{SVG}text")
    ]

    assert (shown(card)[0] == title) == (len(title) > 16)
    assert min(sizes) >= 14


@pytest.mark.parametrize("title", ["", " ", "\u200b", "A", "x y " * 90, "h" * 400, "排行榜" * 60])
def test_a_title_of_any_length_can_be_read(title: str) -> None:
    root = ElementTree.fromstring(svg(Card(title, ["排行榜" * 60], "A site")))
    texts = [*root.iter(f"{SVG}text")]

    assert (texts[-2].text or "").endswith("…")
    for text in texts:
        size, room = int(text.get("font-size", "0")), WIDTH - 2 * int(text.get("x", "0"))
        assert size >= 28
        assert columns(text.text or "") * size * 0.6 <= room


def test_the_png_has_other_letters_where_the_machine_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    def drawn(*, skip_system_fonts: bool, **_: object) -> bytes:
        asked.append(skip_system_fonts)
        return b""

    monkeypatch.setattr("resvg_py.svg_to_bytes", drawn)
    monkeypatch.setattr(cards, "_font", lambda: "a font")
    for title in ("Demo", "Grün · ★ →", "排行榜", "לוח"):
        png(svg(Card(title, [], "A site")))

    assert asked == [True, True, False, False]


def test_the_png_has_the_size_the_size_that_open_graph_asks_for_and_comes_out_the_same() -> None:
    drawn = svg(Card("Demo", ["best .534"], "A site"))
    data = png(drawn)

    assert cards.available()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (WIDTH, HEIGHT)
    assert data == png(drawn)
