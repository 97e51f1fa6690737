"""What other browsers lack or do that Chromium does not: the pages see to it themselves there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.assets import folder
from tests.browser.conftest import LIKE_SAFARI
from tests.browser.finding import find
from tests.browser.long_session import ROUNDS, line_of
from tests.browser.test_getting_around import BELOW_TOOLS, NEEDLE
from tests.browser.waiting import LED, address_ends, at_rest, wait_at_end, wait_at_rest

pytestmark = pytest.mark.browser

UPWARDS = """async () => {
  const edge = document.getElementById("tools").getBoundingClientRect().bottom;
  const bottom = (step) => step.getBoundingClientRect().bottom;
  const parts = () => [...document.querySelectorAll("section.part:has(> ol)")].map(({ id }) => id);
  const [there, more, thrown] = [new Set(parts()), new Set(), []];
  for (let turn = 0; turn < 40 || (!more.size && scrollY > 450); turn += 1) {
    const step = [...document.querySelectorAll("ol.steps > li")].find((one) => bottom(one) > edge);
    const before = bottom(step);
    scrollBy(0, -450);
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    const by = step.isConnected ? bottom(step) - before : NaN;
    if (!(Math.abs(by - 450) < 8)) thrown.push([step.id, by]);
    for (const id of parts()) if (!there.has(id)) more.add(id);
  }
  return { thrown, more: more.size };
}"""
"""Where a reader who goes up was thrown off his place, and how many parts came in meanwhile."""


LIKE_FIREFOX = """
  window.addEventListener("keydown", (event) => {
    const held = document.activeElement;
    const followed = event.key === "Enter" && !event.defaultPrevented && held !== event.target;
    if (followed && held.matches("a[href]")) held.click();
  });
"""
"""A script for a new page: Enter follows the link that has the keyboard once its key is heard."""


OpenAt = Callable[[int], Page]
"""Opens a page like those of Safari at the step that a round of the session begins with."""


@pytest.fixture(name="safari_at")
def _safari_at(run_address: str, context_of: functools.partial[BrowserContext]) -> OpenAt:

    def opened(number: int) -> Page:
        page, anchor = context_of().new_page(), f"L{line_of(number)}"
        page.add_init_script(LIKE_SAFARI)
        page.goto(f"{run_address}#{anchor}")
        expect(page.locator(f"#{anchor}")).to_be_in_viewport()
        at_rest(page, LED)
        return page

    return opened


def test_who_goes_up_stays_with_what_he_sees_while_parts_come_in_above(safari_at: OpenAt) -> None:
    gone = safari_at(ROUNDS - 10).evaluate(UPWARDS)

    assert gone["more"] > 0
    assert gone["thrown"] == []


def test_who_goes_to_the_end_comes_to_it_though_parts_come_in_late(safari_at: OpenAt) -> None:
    page = safari_at(20)
    page.keyboard.press("End")

    wait_at_end(page)


def test_who_goes_to_the_start_comes_to_it_though_parts_come_in_late(safari_at: OpenAt) -> None:
    page = safari_at(ROUNDS - 10)
    page.keyboard.press("Home")

    wait_at_rest(page, lambda: bool(page.evaluate("scrollY === 0")))


@pytest.mark.parametrize("width", [1400, 390])
def test_a_link_to_lines_of_a_long_text_leads_to_them(
    run_address: str, context_of: functools.partial[BrowserContext], width: int
) -> None:
    page = context_of(viewport={"width": width, "height": 800}).new_page()
    page.add_init_script(LIKE_SAFARI)
    page.goto(f"{run_address}#L{NEEDLE}:3000-3001")
    page.wait_for_function("() => CSS.highlights.has('lines')")

    wait_at_rest(page, lambda: 0 <= page.evaluate(BELOW_TOOLS) <= 50)


def test_who_finds_something_in_a_long_text_is_led_to_it(safari_at: OpenAt) -> None:
    page = safari_at(20)
    find(page, "needle-02345")
    page.keyboard.press("Enter")
    page.wait_for_function("() => CSS.highlights.has('found')")

    in_sight = BELOW_TOOLS.replace("'lines'", "'found'")
    wait_at_rest(page, lambda: 0 <= page.evaluate(in_sight) <= page.evaluate("innerHeight / 2"))


def test_enter_leads_to_the_lines_asked_for_and_not_to_where_the_keyboard_was(
    run_address: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.add_init_script(LIKE_FIREFOX)
    page.goto(f"{run_address}#solution-L12-14")
    page.wait_for_function("() => CSS.highlights.has('lines')")
    page.locator("#solution-L15 a").focus()
    page.keyboard.press("l")
    page.keyboard.press("Tab")
    page.keyboard.type("16")
    page.keyboard.press("Enter")

    expect(page.locator("#lines")).to_be_hidden()
    address_ends(page, "#solution-L15-16")


def test_text_decoration_says_which_line_it_is_and_no_more() -> None:
    """Safari takes none where a style or a colour stands beside it: those have names, too."""
    styles = {path.name: path.read_text() for path in folder("static").glob("*.css")}
    said = re.compile(r"text-decoration:([^;}]+)")

    assert any(said.search(style) for style in styles.values())
    assert [
        (name, held) for name, style in styles.items()
        for held in said.findall(style) if len(held.split()) > 1
    ] == []  # fmt: skip


UNITS = r"""held => {
  const texts = document.createTreeWalker(held, NodeFilter.SHOW_TEXT);
  const told = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const { whiteSpace } = getComputedStyle(text.parentElement);
    if (/\wOP\/s/.test(text.data)) told.push([text.data, whiteSpace]);
  }
  return told;
}"""
"""Each text that tells a unit of operations a second, and where it may be broken."""


@pytest.mark.parametrize("path", ["hardware/index.html", "hardware/gpu-a/index.html"])
def test_a_unit_is_not_broken_at_its_slash(
    full: Path, context_of: functools.partial[BrowserContext], path: str
) -> None:
    """As Firefox does."""
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto((full / path).as_uri())
    told = [one for held in page.locator("main > p").all() for one in held.evaluate(UNITS)]

    assert told
    assert {where for _, where in told} == {"nowrap"}, told
