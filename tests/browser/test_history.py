"""Back and forth on a run's page: places, searches and filters, from disk and from a server."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import pointer
from tests.browser.conftest import Open
from tests.browser.finding import find
from tests.browser.long_session import EDITED, FAILED, ROUNDS, line_of
from tests.browser.waiting import ANSWERED, LED, address_ends, at_rest, wait_at_rest, wait_until

pytestmark = pytest.mark.browser

PLACE = f"L{line_of(100)}"


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def at(page: Page, anchor: str) -> None:
    """Wait until the reader stands at a step, and sees it."""
    expect(page.locator(".steps > li.here")).to_have_id(anchor)
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


def test_back_from_a_search_leads_to_the_permalink_and_forth_to_the_hit(open_run: Open) -> None:
    page = open_run(f"#{PLACE}")
    at(page, PLACE)
    before = entries(page)
    find(page, "secret thought 5")
    found = page.locator("#found")
    expect(found).to_have_text("1 of 11")
    page.keyboard.press("Enter")
    expect(found).to_have_text("2 of 11")
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 50")
    hit = page.url
    assert entries(page) == before + 1
    page.go_back()

    at(page, PLACE)
    address_ends(page, f"html#{PLACE}")
    expect(page.locator("#query")).to_have_value("")
    expect(found).to_have_text("")
    page.go_forward()
    expect(found).to_have_text("2 of 11")
    assert page.url == hit
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 50")
    page.reload()
    expect(found).to_have_text("2 of 11")
    page.go_back()
    at(page, PLACE)


def test_keys_go_along_in_one_entry_behind_a_place_that_was_gone_to(open_run: Open) -> None:
    page = open_run()
    plain = entries(page)
    for key in "jjej":
        page.keyboard.press(key)
    expect(page.locator(".steps > li.here")).to_have_count(1)
    assert entries(page) == plain
    page.evaluate(f"location.hash = '{PLACE}'")
    at(page, PLACE)
    for key in "jjs":
        page.keyboard.press(key)
    page.keyboard.press("k")
    expect(page.locator(".steps > li.here")).not_to_have_id(PLACE)
    assert entries(page) == plain + 2
    page.go_back()

    at(page, PLACE)
    page.go_back()
    expect(page.locator(".steps > li.here")).to_have_class(re.compile("says|message|thought|run"))
    assert page.url.rpartition("#")[2] not in ("", PLACE)


@pytest.mark.parametrize("open_run", ["http"], indirect=True)
def test_a_key_that_waits_for_steps_leads_nowhere_once_the_reader_went_elsewhere(
    open_run: Open,
) -> None:
    page = open_run()
    held: list[Route] = []
    later = False
    page.route("**/steps-*.html", lambda route: route.continue_() if later else held.append(route))
    page.reload()  # parts that come by themselves have not come either
    page.keyboard.press("j")
    expect(page.locator(".steps > li.here")).to_have_count(1)
    page.keyboard.press("e")
    page.wait_for_function("() => !document.querySelector('.steps > li.is-error.here')")
    page.evaluate(f"location.hash = '{PLACE}'")
    wait_until(page, lambda: len({route.request.url for route in held}) > 1)
    later = True
    while held:  # what the key waits for comes last
        held.pop().continue_()

    at(page, PLACE)
    at_rest(page, ANSWERED)
    at(page, PLACE)
    address_ends(page, f"#{PLACE}")


def test_back_takes_filters_and_the_axis_back_that_were_chosen_at_a_permalink(
    open_run: Open,
) -> None:
    page = open_run(f"#{PLACE}")
    at(page, PLACE)
    chip = page.get_by_role("button", name=re.compile("^errors"))
    chip.click()
    page.keyboard.press("m")
    expect(page.locator("#axis input[value=time]")).to_be_checked()
    visible = page.locator(".steps > li:visible")
    expect(visible).to_have_count(len(FAILED) + 1)
    page.go_back()

    expect(chip).to_have_attribute("aria-pressed", "false")
    expect(page.locator("main.narrowed")).to_have_count(0)
    expect(page.locator("#axis-ends")).to_have_text(f"{3 * ROUNDS + 6} steps")
    at(page, PLACE)
    page.go_forward()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#axis-ends")).to_have_text("20:01")
    expect(visible).to_have_count(len(FAILED) + 1)


def test_an_address_that_is_opened_stays_as_it_was_written(open_run: Open) -> None:
    rest = f"?tool=Write&q=%2Bversion%20=&show=is-edit#L{line_of(EDITED[1]) + 1}"
    page = open_run(rest)
    expect(page.locator("#found")).to_have_text(f"2 of {len(EDITED)}")

    address_ends(page, rest)
    page.keyboard.press("p")
    expect(page.locator("#found")).to_have_text(f"1 of {len(EDITED)}")
    page.go_back()
    at(page, f"L{line_of(EDITED[1]) + 1}")
    address_ends(page, rest)


def test_a_browser_that_takes_no_more_addresses_goes_on_all_the_same(open_run: Open) -> None:
    page = open_run()
    page.evaluate(
        "() => { for (const name of ['pushState', 'replaceState']) history[name] = () => {"
        " throw new DOMException('too often', 'SecurityError'); }; }"
    )
    for _ in range(4):
        page.keyboard.press("j")

    expect(page.locator(".steps > li.here")).to_have_id("L3")
    find(page, "secret thought 5")
    expect(page.locator("#found")).to_have_text("1 of 11")


FIRST = """() => [...document.querySelectorAll("ol.steps > li")]
  .find((step) => step.getBoundingClientRect().bottom > 200)?.id"""


def test_after_a_reload_back_leads_to_where_one_was(open_run: Open) -> None:
    page = open_run()
    pointer.arrive(page)  # before, its end is a screen or two away
    for _ in range(6):
        page.mouse.wheel(0, 2500)
        at_rest(page)
    page.reload()
    at_rest(page, 2 * LED)
    wait_at_rest(page, lambda: bool(page.evaluate(FIRST)))
    # Where one was is where one is led away from: a machine at work may bring in parts until then.
    first = page.locator(".quote .place a").last.evaluate(
        f"link => {{ const first = ({FIRST})(); link.click(); return first; }}"
    )
    assert first
    page.wait_for_function(f"(first) => ({FIRST})() !== first", arg=first)
    page.go_back()

    page.wait_for_function(f"(first) => ({FIRST})() === first", arg=first)


def test_an_address_of_a_line_that_no_step_has_leads_to_the_last_before_it_and_says_so(
    open_run: Open,
) -> None:
    page = open_run("#L99999")
    at(page, f"L{line_of(ROUNDS - 1) + 1}")

    expect(page.locator("#said")).to_have_text(
        "that line is in no step: this is the last one before it"
    )
    page.keyboard.press("k")
    expect(page.locator("#said")).to_have_text("")


def test_an_address_of_a_step_that_is_not_there_says_so(open_run: Open) -> None:
    page = open_run("#gone-L3")

    expect(page.locator("#said")).to_have_text("that step is not in this transcript")
    expect(page.locator(".steps > li.here")).to_have_count(0)
    expect(page.locator("html.veiled")).to_have_count(0)
