"""All verdicts can be read, narrowed and followed to their runs, with and without a script."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build
from kbsite.pages.audits import ROWS
from tests.browser.axe import broken
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.browser.test_accessibility import CORNERS
from tests.browser.waiting import address_ends
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

PLAIN = ROWS + 20
"""Verdicts that differ in their contender, their day and their summary only."""
EARLIER = {
    "verdict": "bug", "summary": "It looked like a fault.", "auditor": "A. Reader",
    "replaced": "2026-03-02", "by": "B. Reader", "why": "the cache is never cleared",
}  # fmt: skip


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home, problems=[])
    board = home / "runs" / "demo"
    own: dict[str, Any]
    for number in range(PLAIN):
        own = {"summary": f"Number {number} does it.", "date": f"2026-01-{number % 28 + 1:02}"}
        make_run(board, run_id=f"r{number:03}", model=f"m{number:03}", audit=own)
    quote = {"file": "solution.py", "lines": [1], "label": "l", "text": "def solve(x):"}
    own = {"verdict": "reward_hack", "summary": "It *keeps* answers.", "implication": "i",
           "quotes": [quote], "auditor": "B. Reader"}  # fmt: skip
    made = {**own, "date": "2026-03-02", "history": [EARLIER], "leak": "cache"}
    make_run(home / "runs" / "other", run_id="hack", audit=made)
    make_run(board, run_id="open", model="waits", metrics={"peak_fraction": 0.9})
    return build(settings).out


@pytest.fixture(name="open_page")
def _open_page(open_site: Open) -> Open:
    return lambda rest="", **options: open_site(f"audits/index.html{rest}", **options)


def judged(page: Page) -> list[str]:
    """The contender of each verdict that is shown."""
    told = page.locator("#runs tbody td[data-label=judged] a").all_inner_texts()
    return [re.sub(r"^.*· (\S+).*$", r"\1", text) for text in told]


def rows(page: Page) -> list[str]:
    told = page.locator("#runs tbody tr").all_text_contents()
    return [re.sub(r"\s+", "", row) for row in told]


def choose(page: Page, name: str, value: str) -> None:
    page.locator(f"select[name={name}]").select_option(value)


def test_without_a_script_everything_is_read_on_plain_pages(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator("#asking")).to_be_hidden()
    seen = judged(page)
    page.get_by_role("navigation", name="on this page").get_by_role("link", name="queue").click()
    expect(page.locator("#queue")).to_contain_text("waits")
    expect(page.locator("#corrections")).to_contain_text("became ☠ reward_hack")
    page.get_by_role("navigation", name="pages").get_by_role("link", name="2").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("page 2 of 2")
    seen += judged(page)

    assert len(seen) == len(set(seen)) == PLAIN + 1
    assert seen[0] == "opus-x"
    page.get_by_role("link", name="The first page").click()
    expect(page.locator("#coverage")).to_contain_text(f"{PLAIN} of {PLAIN + 1}")


def test_filters_narrow_the_verdicts_and_stand_in_the_address(open_page: Open) -> None:
    page = open_page()
    choose(page, "verdict", "reward_hack")
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 1} verdicts")
    assert judged(page) == ["opus-x"]
    address_ends(page, "?verdict=reward_hack")
    expect(page.locator("select[name=counts] option[value=no]")).to_have_text("does not count (1)")
    choose(page, "counts", "yes")
    expect(page.locator("#told")).to_have_text(f"0 of {PLAIN + 1} verdicts")
    page.get_by_role("button", name="clear").click()
    expect(page.locator("#pages")).to_be_visible()
    assert len(judged(page)) == ROWS


def test_words_of_summaries_and_auditors_are_found_with_the_keyboard_alone(
    open_page: Open,
) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("answers b. reader")
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 1} verdicts")
    page.keyboard.press("Tab")
    expect(page.locator("#runs td[data-label=verdict] a")).to_have_text("cache")
    while page.evaluate("document.activeElement.closest('td[data-label=judged]') === null"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#verdict")).to_contain_text("reward_hack")


def test_a_row_reads_the_same_with_and_without_a_script(open_page: Open) -> None:
    page = open_page()
    written = rows(page)
    links = page.locator("#runs tbody a").evaluate_all("(all) => all.map((one) => one.href)")
    page.get_by_role("button", name="date").click()
    expect(page.locator("#told")).to_have_text(f"{PLAIN + 1} of {PLAIN + 1} verdicts")

    assert rows(page) == written
    made = page.locator("#runs tbody a").evaluate_all("(all) => all.map((one) => one.href)")
    assert made == links
    expect(page.locator("#runs s")).to_have_count(1)


@pytest.mark.parametrize(("column", "first"), [
    ("score", "opus-x"), ("judged", "m000"), ("auditor", "m"), ("quotes", "opus-x"),
])  # fmt: skip
def test_columns_sort_one_way_and_the_other(open_page: Open, column: str, first: str) -> None:
    page = open_page()
    heading = page.get_by_role("columnheader", name=column)
    page.get_by_role("button", name=column).click()
    expect(heading).to_have_attribute("aria-sort", re.compile("ending$"))
    expect(page.locator("#told")).to_have_text(re.compile(r"\d of \d"))  # then rows are there
    way = str(heading.get_attribute("aria-sort"))
    one = judged(page)[0]
    page.get_by_role("button", name=column).click()
    expect(heading).not_to_have_attribute("aria-sort", way)
    other = judged(page)[0]

    address_ends(page, f"?sort=-{column}")
    assert first in (one[: len(first)], other[: len(first)])
    assert page.locator("#runs thead button").all_inner_texts() == [
        "date", "verdict", "judged", "score", "quotes", "auditor",
    ]  # fmt: skip


@pytest.mark.parametrize("screen", CORNERS)
def test_narrowed_and_sorted_the_page_breaks_no_rule(
    site: Path, context_of: functools.partial[BrowserContext], screen: dict[str, object]
) -> None:
    page = context_of(**screen, bypass_csp=True).new_page()
    page.goto(f"{(site / 'audits/index.html').as_uri()}?sort=date&verdict=reward_hack")
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 1} verdicts")

    assert broken(page) == []
