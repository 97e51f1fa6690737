"""A transcript of very many parts: its page tells of the first ones, and lists of all others."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build, override
from kbsite.linting import lint
from kbsite.pages import part_lists
from kbsite.store.settings import CONFIG, read_settings
from tests.browser.conftest import Open
from tests.browser.finding import find
from tests.browser.long_session import FAILED, ROUNDS, line_of
from tests.browser.once import once

pytestmark = pytest.mark.browser

LISTS = "**/parts-*.html"
LAST = f"L{line_of(ROUNDS - 1)}"


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, run_folder: Path) -> Path:
    """The site of the long session, as if that were much longer: with several lists of parts."""
    settings = read_settings(run_folder.parents[2] / CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_lists, "HERE", 1)
        patch.setattr(part_lists, "IN_LIST", 2)
        return build(override(settings, None, None, home / "site")).out


@pytest.fixture(name="run")
def _run(run_folder: Path) -> str:
    return f"runs/{run_folder.name}/index.html"


def test_nothing_in_such_a_site_is_amiss(site: Path) -> None:
    assert list(lint(site)) == []


def test_without_a_script_lists_lead_to_all_parts(open_site: Open, run: str, site: Path) -> None:
    page = open_site(run, java_script_enabled=False)
    lists = page.locator("section.parts > a")
    count = lists.count()
    assert count > 1
    pages = set(page.locator("section.part > a").evaluate_all("all => all.map(a => a.href)"))
    for number in range(count):
        # Links to all lists stand on each of them, behind that to the run.
        link = page.locator("nav.crumbs a").nth(number) if number else lists.first
        address = link.evaluate("link => link.href")
        link.click()
        page.wait_for_url(address)
        pages |= set(page.locator("section.part > a").evaluate_all("all => all.map(a => a.href)"))
        here = page.locator("nav.crumbs [aria-current=page]")
        expect(here).to_have_text(page.locator("h1").inner_text())

    assert len(pages) == len(list((site / run).parent.glob("steps-*.html")))
    page.locator("section.part > a").last.click()
    expect(page.locator(f"#{LAST}")).to_be_attached()


def test_a_permalink_leads_to_a_step_of_a_listed_part(open_site: Open, run: str) -> None:
    page = open_site(f"{run}#{LAST}")

    expect(page.locator(f"#{LAST}")).to_be_in_viewport()
    expect(page.locator("section.parts")).to_have_count(0)
    assert page.locator("html.veiled").count() == 0


def test_all_texts_are_found_and_keys_and_filters_reach_all_steps(
    open_site: Open, run: str
) -> None:
    page = open_site(run)
    find(page, f"--round {ROUNDS - 1}")
    expect(page.locator("#found")).to_have_text("1 of 1")
    page.keyboard.press("Enter")
    expect(page.locator(f"#{LAST}")).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+E")

    expect(page.locator(f"#L{line_of(FAILED[1]) + 1}.here")).to_be_in_viewport()


def test_lists_that_cannot_be_had_are_links_and_are_asked_for_again(
    site: Path, run: str, context_of: functools.partial[BrowserContext]
) -> None:
    page: Page = context_of().new_page()
    page.route(LISTS, lambda route: route.abort())
    with page.expect_request(LISTS):
        page.goto(f"{(site / run).as_uri()}#{LAST}")
    expect(page.locator("section.parts > a").last).to_have_text(re.compile(r"^steps .* parts? →$"))
    page.unroute(LISTS)

    expect(page.locator(f"#{LAST}")).to_be_in_viewport()
