"""How long a reader of a large site waits: for its lists to open, and for their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.opening import MINUTES, browser, serving, window

WIDTHS = (1400, 390)
"""Pixels: a desk's screen, and a phone's."""

OPENED = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const loaded = [page, ...performance.getEntriesByType("resource")];
  return { load: page.loadEventEnd, elements: document.querySelectorAll("*").length,
           bytes: loaded.reduce((sum, one) => sum + one.encodedBodySize, 0) };
}"""

ANSWERED = """([act, text, answer]) => new Promise((resolve) => {
  const field = document.querySelector(act);
  const places = [...document.querySelectorAll(answer)];
  const answered = () => places.some((one) => one.textContent.trim());
  for (const one of places) one.textContent = "";
  const start = performance.now();
  const look = () => {
    if (!answered()) return requestAnimationFrame(look);
    // What is told has been painted when the frame after it begins.
    requestAnimationFrame(() => resolve(performance.now() - start));
  };
  if (text === null) field.click();
  else if (field.tagName === "SELECT") {
    field.value = text;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  } else {
    field.focus();
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  look();
})"""
"""Does what a reader does and waits for the answer, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a reader does on a page."""

    name: str
    path: str
    """From the site; likewise what follows are selectors on the page."""
    act: str = ""
    text: str | None = None
    """What is written or chosen there; None for a click."""
    answer: str = ""
    """Where the answer shows."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a page costs its reader."""

    name: str
    width: int
    elements: int
    size: int
    """Bytes that came over the wire, as this server sends them: not compressed."""
    load: float
    """Milliseconds until all is loaded and every script is done; likewise below."""
    answer: float | None
    """From what a reader does first until the answer stands on the screen."""


def deeds(site: Path) -> Iterator[Deed]:
    """What readers of a site do on those of its pages that grow with it."""
    boards = sorted(path.parent.name for path in site.glob("*/index.html"))
    own = [name for name in boards if name.startswith("board-")]
    if own:
        yield Deed("board", f"{own[0]}/index.html")
    yield Deed("runs: find", "runs/index.html", "#query", "gemini", "#told")
    yield Deed("runs: last page", f"runs/index/{_last(site / 'runs' / 'index')}.html")
    yield Deed("explore: figure", "explore/index.html", "#ask-y", "time", "#told")
    yield Deed("compare: choose", "compare/index.html", "details.contest summary", None, "#show")
    yield Deed("audits: find", "audits/index.html", "#query", "reader", "#told")
    if (site / "search").is_dir():
        yield Deed("search: a word", "runs/index.html", "#query", "kernel", "#texts-found")


def _last(folder: Path) -> int:
    return max((int(path.stem) for path in folder.glob("*.html")), default=1)


def uses(site: Path, times: int) -> list[Use]:
    """What each deed costs at each width, the median of so many; nothing without a browser."""
    with browser() as driven, serving(site) as start:
        if driven is None:
            return []
        return [_use(driven, start, deed, width, times) for deed in deeds(site) for width in WIDTHS]


def _use(driven: Browser, start: str, deed: Deed, width: int, times: int) -> Use:
    held = [_once(driven, start, deed, width) for _ in range(times)]
    answers = [one.answer for one in held if one.answer is not None]
    return Use(
        deed.name, width, held[0].elements, held[0].size, median(one.load for one in held),
        median(answers) if answers else None,
    )  # fmt: skip


def _once(driven: Browser, start: str, deed: Deed, width: int) -> Use:
    context = driven.new_context(viewport={"width": width, "height": 900})
    page = window(context)
    page.goto(f"{start}{deed.path}", wait_until="load", timeout=MINUTES)
    page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
    told = page.evaluate(OPENED)
    answer = _answer(page, deed)
    context.close()
    return Use(deed.name, width, told["elements"], told["bytes"], told["load"], answer)


def _answer(page: Page, deed: Deed) -> float | None:
    if not deed.act:
        return None
    waited: float = page.evaluate(ANSWERED, [deed.act, deed.text, deed.answer])
    return waited
