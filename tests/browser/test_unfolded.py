"""What was unfolded is so after a reload and back from another page, from disk and a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import pointer
from tests.browser.conftest import Open
from tests.browser.long_session import LONG_ROUND, line_of
from tests.browser.waiting import at_rest

pytestmark = pytest.mark.browser

TOP = "(held) => Math.round(held.getBoundingClientRect().top)"


@pytest.fixture(scope="session", name="site")
def _site(full: Path) -> Path:
    return full


def leave_and_return(page: Page) -> None:
    """To another page and back: Chromium as it is driven here keeps no page that was left."""
    page.evaluate("window.before = true")
    # A click of Playwright's would scroll the page.
    page.evaluate("document.querySelector('a.home').click()")
    expect(page.locator(".principles, .cards").first).to_be_visible()
    page.go_back()

    assert page.evaluate("window.before") is None


@pytest.mark.parametrize("way", ["back", "reload"])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("demo", ".grid .audits details"),
        ("methodology", "main details"),
        ("explore", "main details"),
        ("runs/again", ".pair details"),
        ("runs/kinds", ".steps details"),
    ],
)
def test_what_was_unfolded_is_so_and_stands_where_it_stood(
    open_site: Open, name: str, place: str, way: str
) -> None:
    page = open_site(f"{name}/index.html", viewport={"width": 1200, "height": 600})
    pointer.arrive(page)
    number = page.locator(place).evaluate_all("(all) => all.findIndex((held) => !held.open)")
    fold = page.locator(place).nth(number)
    fold.locator("> summary").click()
    fold.scroll_into_view_if_needed()
    page.mouse.wheel(0, 40)
    at_rest(page)
    top = fold.evaluate(TOP)
    count = page.locator(f"{place}[open]").count()
    if way == "back":
        leave_and_return(page)
    else:
        page.reload()

    expect(fold).to_have_js_property("open", value=True)
    expect(page.locator(f"{place}[open]")).to_have_count(count)
    page.wait_for_function(
        "([held, top]) => Math.abs(held.getBoundingClientRect().top - top) < 5",
        arg=[fold.element_handle(), top],
    )


def test_what_was_folded_stays_so_and_another_visit_starts_anew(open_site: Open) -> None:
    page = open_site("runs/kinds/index.html")
    pointer.arrive(page)
    summaries = page.locator(".steps details[open] > summary")
    count = summaries.count()
    summaries.last.click()
    expect(summaries).to_have_count(count - 1)
    page.reload()

    expect(summaries).to_have_count(count - 1)
    page.goto(f"{page.url}?")
    expect(summaries).to_have_count(count)


def test_what_scripts_bring_later_is_unfolded_when_it_is_there(open_site: Open) -> None:
    step = f"L{line_of(LONG_ROUND) + 1}"
    page = open_site(f"runs/long/index.html#{step}")
    folds = page.locator(f"#{step} details")
    expect(folds.first).to_be_visible()
    pointer.arrive(page)
    was = folds.first.evaluate("(held) => held.open")
    folds.first.locator("> summary").click()
    expect(folds.first).to_have_js_property("open", value=not was)
    page.reload()

    expect(folds.first).to_have_js_property("open", value=not was)
