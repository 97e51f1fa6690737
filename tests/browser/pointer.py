"""A reader's pointer."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def move(page: Page, x: float, y: float) -> None:
    """Move the pointer to a place of the window.

    The first place that Chromium hears of it is none that it moved to: it tells the page so.
    """
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)


def arrive(page: Page) -> None:
    """Move the pointer, and wait for the script of a run's page, which comes then.

    When it has unpacked what is folded away it has made room for all steps, too.
    """
    move(page, 300, 300)
    expect(page.locator("details > noscript")).to_have_count(0)


def press(held: Locator) -> None:
    """Press what is in sight where it stands: Playwright's own click scrolls what is sticky."""
    box = held.bounding_box()
    assert box is not None
    held.page.mouse.click(box["x"] + 3, box["y"] + 3)
