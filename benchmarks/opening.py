"""What a page costs the browser that opens it first."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a page costs when it is opened."""

    elements: int
    size: int
    """Bytes of the page itself."""
    load: float
    """Milliseconds until everything is loaded, of the fastest of all openings."""


def openings(pages: Mapping[str, Path], times: int) -> dict[str, Opening]:
    """What each page costs, by its name; nothing where there is no browser."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        return {}
    with _browser(path) as browser:
        return {name: _opening(browser, page, times) for name, page in pages.items()}


@contextmanager
def _browser(path: str) -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def _opening(browser: Browser, path: Path, times: int) -> Opening:
    loads: list[float] = []
    elements = 0
    for _ in range(times):
        page = browser.new_page()
        page.goto(path.as_uri(), wait_until="load", timeout=120_000)
        timing = "performance.getEntriesByType('navigation')[0].loadEventStart"
        loads.append(float(page.evaluate(timing)))
        elements = int(page.evaluate("document.querySelectorAll('*').length"))
        page.close()
    return Opening(elements, path.stat().st_size, min(loads))
