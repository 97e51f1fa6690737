"""What lies where a page has its stretch is all that is replaced, whatever a run wrote."""

from __future__ import annotations

import pytest

from kbsite.pages.stretches import with_other, with_stretch

PAGE = "<h1>é</h1><nav>{}</nav><pre><nav>one</nav></pre>"


@pytest.mark.parametrize("first", ["", "one", "<b>é</b>"])
@pytest.mark.parametrize("second", ["", "two", "<i>longer é</i>"])
def test_a_stretch_put_in_anew_makes_the_page_that_a_rendering_makes(
    first: str, second: str
) -> None:
    html, cut = with_stretch(first, PAGE.format)
    whole, lies = with_stretch(second, PAGE.format)

    assert html == PAGE.format(first)
    assert with_other(html.encode(), cut, second) == (whole.encode(), lies)


def test_what_is_no_stretch_is_not_replaced() -> None:
    html, cut = with_stretch("one", PAGE.format)

    assert with_other(html.replace("one", "own", 1).encode(), cut, "two") is None
    assert with_other(b" " + html.encode(), cut, "two") is None
    assert with_other(html[:9].encode(), cut, "two") is None
