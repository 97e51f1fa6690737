"""Outputs of very many lines: what is out of sight waits, and nothing is lost by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kbsite.build import build
from tests.browser.conftest import Open
from tests.browser.waiting import wait_until
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

LINES = 20_000
TEXT = "".join(f"line {number:05} of the output{' and more' * 30}\n" for number in range(LINES))
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


@pytest.fixture(scope="module", name="site")
def _site(
    tmp_path_factory: pytest.TempPathFactory, make_run: MakeRun, make_settings: MakeSettings
) -> Path:
    home = tmp_path_factory.mktemp("long")
    settings = make_settings(home, problems=[])
    use = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": TEXT}
    rows = [
        {"type": "assistant", "message": {"content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    log = "\n".join(map(json.dumps, rows)).encode()
    make_run(home / "runs" / "demo", run_id="r", transcript={"stdout.jsonl": log})
    return build(settings).out


def _opened(open_site: Open) -> Page:
    page = open_site("runs/r/text-L1-1.html", viewport={"width": 1200, "height": 800})
    expect(page.locator("pre.text > span")).to_have_count(LINES // 25)
    return page


def test_lines_that_are_out_of_sight_are_not_laid_out(open_site: Open) -> None:
    page = _opened(open_site)
    stretches = page.locator("pre.text > span")
    seen, far = stretches.first.evaluate(HEIGHT), stretches.nth(LINES // 50).evaluate(HEIGHT)

    assert seen > 1.5 * far

    def is_laid_out() -> bool:
        # What comes into sight on the way is longer than it was taken to be: the end moves on.
        page.keyboard.press("End")
        return bool(stretches.last.evaluate(HEIGHT) > 1.5 * far)

    wait_until(page, is_laid_out)


def test_they_are_copied_and_found_by_the_browser(open_site: Open) -> None:
    page = _opened(open_site)

    assert page.locator("pre.text").evaluate(COPIED) == TEXT.removesuffix("\n")
    assert 0 < page.evaluate(FOUND, "line 15012 of") < 800


def test_they_are_all_on_paper(open_site: Open) -> None:
    page = _opened(open_site)
    page.emulate_media(media="print")

    far = page.locator("pre.text > span").nth(LINES // 50)
    assert far.evaluate("(held) => getComputedStyle(held).contentVisibility") == "visible"
