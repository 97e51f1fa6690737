"""Waiting for what a test itself is told of, as requests that it holds up."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect


def reached(page: Page, holds: Callable[[], bool], seconds: float = 2) -> bool:
    """Let the page go on until something holds; whether it did within so many seconds."""
    for _ in range(int(seconds / 0.05)):
        if holds():
            return True
        page.wait_for_timeout(50)
    return holds()


def press_until(page: Page, key: str, holds: Callable[[], bool]) -> None:
    """Press a key until something holds and goes on to, as a reader does whom the browser did not
    take far enough; it fails where five times do not.
    """
    for _ in range(5):
        page.keyboard.press(key)
        if reached(page, holds):
            # What came into the window may be laid out only now, and move what is below it.
            page.wait_for_timeout(100)
            if holds():
                return
    wait_until(page, holds)


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Let the page go on until something holds; it fails where it does not within a minute."""
    assert reached(page, holds, seconds=60)


def to_end(page: Page) -> float:
    """Pixels from the end of the window to that of the page."""
    left = "({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight"
    return float(page.evaluate(f"({left})(document.documentElement)"))


def at_end(page: Page) -> bool:
    """Whether the window shows the end of the page."""
    return to_end(page) < 2


AT_REST = """async () => {
  let moved = false;
  addEventListener("scroll", () => { moved = true; });
  for (let n = 0; n < 12; n += 1) await new Promise(requestAnimationFrame);
  return !moved;
}"""
"""Whether the window stays where it is while twelve pictures are drawn, however long they take."""


def wait_at_end(page: Page) -> None:
    """Wait until the window has come to rest at the end of the page.

    Where parts come in on its way, Chromium tells of the end, takes the window back to where it was
    on its way when they came, and leads it to the end again.
    """
    wait_at_rest(page, lambda: at_end(page))


def wait_at_rest(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until the window has come to rest where something holds."""
    wait_until(page, lambda: holds() and bool(page.evaluate(AT_REST)) and holds())


def address_ends(page: Page, end: str) -> None:
    """Wait until the address of the page ends so: it follows what a key or a click does."""
    expect(page).to_have_url(re.compile(f"{re.escape(end)}$"))


def address_holds(page: Page, part: str) -> None:
    """Wait until the page's address holds a part."""
    expect(page).to_have_url(re.compile(re.escape(part)))


LED = 750
"""Milliseconds in which a run's page may still bring its reader back to where it led him."""
ANSWERED = 300
"""Milliseconds in which a page does what it would do of something by itself."""


def at_rest(page: Page, milliseconds: int = 0) -> None:
    """Wait until a page has not been scrolled for so many frames as a glide takes to begin.

    It had so many milliseconds as well: by its own clock, and at work, however slow it is.
    """
    page.evaluate(
        """(milliseconds) => new Promise((tell) => {
          const begun = performance.now();
          let [held, frames] = [scrollY, 0];
          requestAnimationFrame(function frame() {
            frames = scrollY === held ? frames + 1 : 0;
            held = scrollY;
            const early = frames < 20 || performance.now() < begun + milliseconds;
            if (early) requestAnimationFrame(frame);
            else tell();
          });
        })""",
        milliseconds,
    )
