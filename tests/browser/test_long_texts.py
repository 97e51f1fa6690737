"""Outputs of very many lines, or of one very long line: what is out of sight waits, and nothing is
lost by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build
from tests.browser.conftest import LIKE_SAFARI, Open
from tests.browser.long_session import LONG_ROUND, line_of
from tests.browser.once import once
from tests.browser.waiting import (
    at_end,
    at_rest,
    press_until,
    to_end,
    wait_at_rest,
    wait_until,
)
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

LINES = 10_000
TEXT = "".join(f"line {number:05} of the output{' and more' * 30}\n" for number in range(LINES))
WORDS = "".join(f"word-{number} {'and-more-' * 9}" for number in range(6_000))
COLOURS = "".join(f"\x1b[{31 + number % 6}mcoloured-{number} " for number in range(20_000))
DIFF = "".join(f"{number} of the file\n" for number in range(4_500))
DRAWN = """(held) => {
  const [, taken] = getComputedStyle(held).containIntrinsicHeight.match(/([\\d.]+)px/);
  return Math.abs(held.offsetHeight - taken) > 1;
}"""
"""Whether it has its own height, and not the one that it is taken to have."""
HEIGHT = "(held) => held.offsetHeight"
COPIED = """(held) => {
  const range = document.createRange();
  range.selectNodeContents(held);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  return getSelection().toString();
}"""
FOUND = """(words) => {
  window.find(words);
  return getSelection().getRangeAt(0).getBoundingClientRect().top;
}"""
FOLLOWED = 1200
"""Milliseconds in which who came to an end may still be taken to where it moved."""


UPWARDS = """async () => {
  const thrown = [];
  scrollBy(0, -600);
  for (let turn = 0; turn < 60; turn += 1) {
    const seen = document.elementFromPoint(100, innerHeight - 20).closest("pre > span");
    const before = seen.getBoundingClientRect().bottom;
    scrollBy(0, -300);
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    const by = seen.getBoundingClientRect().bottom - before;
    if (Math.abs(by - 300) > 4) thrown.push(by);
  }
  return thrown;
}"""
"""By how much a reader who goes up by 300 pixels was thrown off his place, where he was."""


def _called(tool: str, its_id: str, given: Mapping[str, str]) -> dict[str, object]:
    use = {"type": "tool_use", "id": its_id, "name": tool, "input": given}
    return {"type": "assistant", "message": {"content": [use]}}


def _ran(its_id: str, output: str) -> Iterator[dict[str, object]]:
    yield _called("Bash", its_id, {"command": "make"})
    result = {"type": "tool_result", "tool_use_id": its_id, "content": output}
    yield {"type": "user", "message": {"role": "user", "content": [result]}}


def _wrote(text: str) -> Iterator[dict[str, object]]:
    yield _called("Write", "wrote", {"file_path": "/w/new.txt", "content": text})


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home, problems=[])
    rows = [*_ran("c", TEXT), *_ran("w", WORDS), *_ran("k", COLOURS), *_wrote(DIFF)]
    log = "\n".join(map(json.dumps, rows)).encode()
    make_run(home / "runs" / "demo", run_id="r", transcript={"stdout.jsonl": log})
    return build(settings).out


def _opened(open_site: Open) -> Page:
    page = open_site("runs/r/text-L1-1.html", viewport={"width": 1200, "height": 800})
    expect(page.locator("pre.text > span")).to_have_count(LINES // 25)
    return page


def _wait_for_end(page: Page) -> None:
    wait_until(page, lambda: bool(page.evaluate("scrollY") > 10_000))
    wait_until(page, partial(at_end, page))


def _left_end(page: Page) -> bool:
    return to_end(page) > 400


def test_lines_that_are_out_of_sight_are_not_laid_out(open_site: Open) -> None:
    page = _opened(open_site)
    stretches = page.locator("pre.text > span")
    seen, far = stretches.first.evaluate(HEIGHT), stretches.nth(LINES // 50).evaluate(HEIGHT)

    assert seen > 1.5 * far

    page.keyboard.press("End")
    wait_until(page, lambda: bool(stretches.last.evaluate(HEIGHT) > 1.5 * far))


@pytest.mark.parametrize("width", [390, 1200])
def test_the_end_is_come_to_at_once(open_site: Open, width: int) -> None:
    for text in ("L1", "L3", "L5"):
        page = open_site(f"runs/r/text-{text}-1.html", viewport={"width": width, "height": 800})
        page.keyboard.press("End")

        _wait_for_end(page)


@pytest.mark.parametrize("width", [390, 1200])
def test_without_scripts_the_end_is_come_to_by_going_there_again(
    open_site: Open, width: int
) -> None:
    # A browser glides to where the end was: what it passes is laid out, and moves the end on.
    for text in ("L3", "L5"):
        window = {"width": width, "height": 800}
        page = open_site(f"runs/r/text-{text}-1.html", viewport=window, java_script_enabled=False)
        press_until(page, "End", partial(at_end, page))

        assert page.evaluate("scrollY") > 10_000
        assert at_end(page)


def test_who_leaves_the_end_again_is_not_brought_back(open_site: Open) -> None:
    page = _opened(open_site)
    page.keyboard.press("End")
    _wait_for_end(page)
    # Chromium drops a key that comes in the very moment in which a glide ends.
    press_until(page, "PageUp", partial(_left_end, page))
    at_rest(page, FOLLOWED)

    assert _left_end(page)


def test_who_goes_up_stays_with_what_he_sees_in_a_browser_that_does_not_see_to_it(
    open_site: Open, context_of: partial[BrowserContext]
) -> None:
    address = _opened(open_site).url
    page = context_of(viewport={"width": 600, "height": 800}).new_page()
    page.add_init_script(LIKE_SAFARI)
    page.goto(address)
    page.keyboard.press("End")
    _wait_for_end(page)
    at_rest(page, FOLLOWED)

    assert page.evaluate(UPWARDS) == []


def test_they_are_copied_and_found_by_the_browser(open_site: Open) -> None:
    page = _opened(open_site)

    assert page.locator("pre.text").evaluate(COPIED) == TEXT.removesuffix("\n")
    assert 0 < page.evaluate(FOUND, "line 07012 of") < 800


def test_they_are_all_on_paper(open_site: Open) -> None:
    page = _opened(open_site)
    page.emulate_media(media="print")

    far = page.locator("pre.text > span").nth(LINES // 50)
    assert far.evaluate("(held) => getComputedStyle(held).contentVisibility") == "visible"


def test_stretches_of_a_very_long_line_are_laid_out_as_they_come_into_sight(
    open_site: Open,
) -> None:
    page = open_site("runs/r/text-L3-1.html", viewport={"width": 1200, "height": 800})
    stretches = page.locator("pre.text > .wide")
    expect(stretches).to_have_count(stretches.count())

    assert stretches.count() > 50
    assert stretches.first.evaluate(DRAWN)
    assert not stretches.nth(25).evaluate(DRAWN)
    assert page.locator("pre.text").evaluate(COPIED) == WORDS
    assert 0 < page.evaluate(FOUND, "word-4012 and") < 800

    page.emulate_media(media="print")
    printed = "(held) => getComputedStyle(held).display"
    assert stretches.nth(25).evaluate(printed) == "inline"


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [("L2", 7_013, "line 07012 of"), ("L4", 1, "word-0"), ("L6", 1, "colour")],
)
def test_a_large_text_is_laid_out_in_stretches_in_its_place_too(
    open_site: Open, text: str, line: int, shown: str
) -> None:
    page = open_site(f"runs/r/index.html#{text}:{line}", viewport={"width": 1200, "height": 800})
    stretches = page.locator(f"#{text} pre > span")
    expect(stretches.nth(20)).to_be_attached()
    lit = "[...CSS.highlights.get('lines')][0]"
    wait_until(page, lambda: bool(page.evaluate("CSS.highlights.has('lines')")))
    wait_at_rest(page, lambda: 0 < page.evaluate(f"{lit}.getClientRects()[0].top") < 400)

    assert page.evaluate(f"{lit}.toString()").startswith(shown)
    assert not stretches.last.evaluate(DRAWN)
    if text == "L2":
        assert page.locator("#L2 pre").evaluate(COPIED) == TEXT.removesuffix("\n")


def test_what_a_large_text_holds_is_found_in_its_place(open_site: Open) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 1200, "height": 800})
    found = "[...CSS.highlights.get('found')][0]"
    for words in ("line 08012 of", "word-4012 and", "coloured-15000", "+4100 of the file"):
        page.fill("#query", words)
        expect(page.locator("#found")).to_have_text("1 of 1")
        wait_at_rest(page, lambda: 0 < page.evaluate(f"{found}.getBoundingClientRect().top") < 800)

        assert page.evaluate(f"{found}.toString()") == words
    expect(page.locator("#L7 ins")).to_have_count(1)


def test_a_long_text_leads_back_to_its_step_without_scripts_too(open_run: Open) -> None:
    anchor = f"L{line_of(LONG_ROUND) + 1}"
    page = open_run(java_script_enabled=False)
    page.goto(page.url.replace("index.html", f"text-{anchor}-1.html"))
    page.locator(".crumbs noscript a").click()

    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    expect(page.locator(f"#{anchor}")).to_contain_text("needle-00000")
