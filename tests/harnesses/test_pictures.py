"""Pictures of every CLI, brought to one shape."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from kbsite.harnesses.pictures import picture_at, picture_in
from kbsite.model.event import Image

PNG = Image("image/png", "iVBORw0K")


@pytest.mark.parametrize(
    ("url", "image"),
    [
        ("data:image/png;base64,iVBORw0K", PNG),
        ("data:image/png;name=a.png;base64,iVBORw0K", PNG),
        ("data:;base64,iVBORw0K", Image("", "iVBORw0K")),
        ("data:image/png;base64,", Image("image/png", "")),
        ("data:image/svg+xml,%3Csvg%3E", Image("", "", "data:image/svg+xml,%3Csvg%3E")),
        ("https://example.org/a.png", Image("", "", "https://example.org/a.png")),
        ("/w/a;base64,.png", Image("", "", "/w/a;base64,.png")),
        ("", Image("", "")),
    ],
)
def test_an_address_is_the_data_that_it_holds_or_stays_one(url: str, image: Image) -> None:
    assert picture_at(url) == image


@pytest.mark.parametrize(
    "block",
    [
        {"source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}},
        {"source": {"mediaType": "image/png", "data": "iVBORw0K"}},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0K"},
    ],
)
def test_a_block_tells_of_its_picture_itself_or_in_its_source(block: Mapping[str, object]) -> None:
    assert picture_in(block) == PNG


def test_a_block_may_name_where_its_picture_lies() -> None:
    block = {"source": {"type": "url", "url": "https://example.org/a.png"}}

    assert picture_in(block) == Image("", "", "https://example.org/a.png")
    assert picture_in({"type": "image", "source": "a.png"}) == Image("", "")


def test_an_address_that_never_comes_to_its_data_is_read_once() -> None:
    begun = time.process_time()
    url = "data:image/png" + ";a" * 1_000_000

    assert picture_at(url) == Image("", "", url)
    assert time.process_time() - begun < 1
