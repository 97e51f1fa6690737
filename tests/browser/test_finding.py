"""Finding in all of a transcript with the keyboard alone, from disk and from a server."""

from __future__ import annotations

import functools
import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import Open
from tests.browser.finding import find
from tests.browser.long_session import (
    ACCENTED_ROUND,
    EDITED,
    FAILED,
    LONG_ROUND,
    ROUNDS,
    WINDOWS_ROUND,
    line_of,
)
from tests.browser.waiting import LED, address_ends, at_rest

pytestmark = pytest.mark.browser

HIT = "[...(CSS.highlights.get('found') ?? [])][0]?.getBoundingClientRect().top"
"""How far below the top of the window what was found stands."""
NEEDLE = line_of(LONG_ROUND) + 2
"""The line of the result that is too long for its place."""


def test_find_counts_each_text_once_wherever_it_stands(open_run: Open) -> None:
    page = open_run("?regex=1&case=1")
    found = page.locator("#found")
    find(page, r"secret thought \d+|Round \d+ begins|--round \d+|result of round \d+")
    expect(found).to_have_text(f"1 of {4 * ROUNDS - len(EDITED) - 2}")
    find(page, r"needle-\d+ of the long output")
    expect(found).to_have_text("1 of 4000")
    find(page, "A child begins")
    expect(found).to_have_text("1 of 1")

    expect(page.locator(".steps > li.here")).to_contain_text("A child begins.")


def test_a_regular_expression_is_held_against_each_line_of_each_block(open_run: Open) -> None:
    page = open_run("?regex=1&case=1")
    found = page.locator("#found")
    find(page, r"^result of round \d+$")
    expect(found).to_have_text(f"1 of {ROUNDS - 1}")
    find(page, r"^needle-0\d*7 of the long output$")
    expect(found).to_have_text("1 of 400")
    page.keyboard.press("Enter")
    expect(found).to_have_text("2 of 400")
    expect(page.locator(f"#L{NEEDLE - 1}")).to_contain_text("needle-03999")
    assert page.evaluate("String([...CSS.highlights.get('found')][0])") == (
        "needle-00017 of the long output"
    )
    find(page, r"begins\.$")

    expect(found).to_have_text(f"1 of {ROUNDS + 1}")
    find(page, rf"round {WINDOWS_ROUND}\nof two lines")

    expect(found).to_have_text("1 of 1")
    assert "of two" in page.evaluate("String([...CSS.highlights.get('found')][0])")


def test_words_that_stand_in_two_lines_are_found_as_they_are_read(open_run: Open) -> None:
    """A field has one line: what is copied into it has blanks where lines ended."""
    page = open_run()
    found = page.locator("#found")
    find(page, f"of round {WINDOWS_ROUND}  of two lines")
    expect(found).to_have_text("1 of 1")
    assert page.evaluate("String([...CSS.highlights.get('found')][0])") == (
        f"of round {WINDOWS_ROUND}\nof two lines"
    )


@pytest.mark.parametrize("written", ["caf\u00e9", "CAFE\u0301"])
def test_a_letter_with_an_accent_is_found_as_one_and_as_two(open_run: Open, written: str) -> None:
    page = open_run()
    find(page, written)
    expect(page.locator("#found")).to_have_text("1 of 2")
    expect(page.locator(".steps > li.here")).to_contain_text(f"result of round {ACCENTED_ROUND}")
    find(page, f"{written} au")
    expect(page.locator("#found")).to_have_text("1 of 1")
    assert page.evaluate("String([...CSS.highlights.get('found')][0])") == "cafe\u0301 au"
    page.get_by_label("regex").check()
    find(page, "caf\u00e9")
    expect(page.locator("#found")).to_have_text("1 of 1")


def test_a_hit_within_a_long_text_is_shown_in_its_place(open_run: Open) -> None:
    page = open_run()
    find(page, "needle-02345")
    expect(page.locator("#found")).to_have_text("1 of 1")

    page.wait_for_function("() => [...(CSS.highlights.get('found') ?? [])].join('') !== ''")
    assert page.evaluate("String([...CSS.highlights.get('found')][0])") == "needle-02345"
    at_rest(page, LED)
    top = page.evaluate("[...CSS.highlights.get('found')][0].getBoundingClientRect().top")
    assert 0 < top < page.viewport_size["height"]  # type: ignore[index]


def test_a_hit_within_a_long_text_is_there_again_after_a_reload(open_run: Open) -> None:
    """So it is where an address names its step, as that of a search in all runs does."""
    page = open_run()
    find(page, "needle-02345")
    page.wait_for_function(f"() => {HIT} > 0 && {HIT} < innerHeight")
    at_rest(page, LED)
    before = page.evaluate(HIT)
    page.reload()
    expect(page.locator("#found")).to_have_text("1 of 1")
    page.wait_for_function(f"() => Math.abs({HIT} - {before}) < 40")
    at_rest(page, LED)
    assert abs(page.evaluate(HIT) - before) < 40
    find(page, "needle-023")
    expect(page.locator("#found")).to_have_text("1 of 100")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("3 of 100")
    page.reload()
    expect(page.locator("#found")).to_have_text("3 of 100")
    page.keyboard.press("n")

    expect(page.locator("#found")).to_have_text("4 of 100")


def test_what_was_unfolded_to_show_a_hit_is_so_after_a_reload(open_run: Open) -> None:
    page = open_run()
    find(page, "secret thought 100")
    expect(page.locator("#found")).to_have_text("1 of 1")
    thought = page.locator(".steps > li.here details")
    expect(thought).to_have_attribute("open", "")
    find(page, "")
    page.keyboard.press("Delete")
    expect(page.locator("#found")).to_have_text("")
    at_rest(page)
    page.reload()
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 100")

    expect(thought).to_have_attribute("open", "")


def test_next_and_previous_hit_are_keys(open_run: Open) -> None:
    page = open_run()
    find(page, "secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator("#found")).to_have_text(f"2 of {ROUNDS}")
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 1")
    page.keyboard.press("p")

    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")


def test_the_count_tells_where_the_reader_is(open_run: Open) -> None:
    """Who goes to another step stands at no hit, and goes on from there."""
    page = open_run()
    found, here = page.locator("#found"), page.locator(".steps > li.here")
    find(page, "secret thought")
    expect(found).to_have_text(f"1 of {ROUNDS}")
    page.keyboard.press("Escape")
    for _ in range(10):
        page.keyboard.press("n")
    expect(found).to_have_text(f"11 of {ROUNDS}")
    expect(here).to_contain_text("secret thought 10")
    page.keyboard.press("j")
    expect(found).to_have_text(f"– of {ROUNDS}")
    page.keyboard.press("k")
    expect(found).to_have_text(f"11 of {ROUNDS}")
    page.evaluate(f"location.hash = 'L{line_of(100)}'")
    expect(here).to_have_id(f"L{line_of(100)}")
    expect(found).to_have_text(f"– of {ROUNDS}")
    page.keyboard.press("n")
    expect(here).to_contain_text("secret thought 101")
    expect(found).to_have_text(f"102 of {ROUNDS}")
    page.keyboard.press("k")
    expect(found).to_have_text(f"– of {ROUNDS}")
    page.keyboard.press("p")

    expect(found).to_have_text(f"101 of {ROUNDS}")
    expect(here).to_contain_text("secret thought 100")


def test_who_leaves_the_field_leaves_what_is_looked_for_in_it(open_run: Open) -> None:
    page = open_run()
    find(page, "secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")
    # Firefox would empty the field otherwise.
    prevented = page.locator("#query").evaluate(
        "field => !field.dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }))"
    )

    assert prevented
    expect(page.locator("#query")).not_to_be_focused()
    expect(page.locator("#query")).to_have_value("secret thought")


def test_an_address_with_a_step_and_a_search_stays_there_and_goes_on_from_it(
    open_run: Open,
) -> None:
    hit, between = line_of(100), line_of(103)
    page = open_run(f"?q=Round&case=1#L{hit}")
    found, here = page.locator("#found"), page.locator(".steps > li.here")
    expect(found).to_have_text(f"101 of {ROUNDS}")
    at_rest(page, LED)
    address_ends(page, f"#L{hit}")
    expect(here).to_be_in_viewport()
    assert page.evaluate("String([...CSS.highlights.get('found')][0])") == "Round"
    page.keyboard.press("n")
    expect(found).to_have_text(f"102 of {ROUNDS}")
    page.reload()
    expect(found).to_have_text(f"102 of {ROUNDS}")
    expect(here).to_have_id(f"L{line_of(101)}")

    page = open_run(f"?q=Round&case=1#L{between + 1}")
    found = page.locator("#found")
    expect(found).to_have_text(f"– of {ROUNDS}")
    page.keyboard.press("p")
    expect(found).to_have_text(f"104 of {ROUNDS}")
    expect(page.locator(".steps > li.here")).to_have_id(f"L{between}")


def test_what_one_goes_to_is_seen_though_the_filters_leave_it_out(open_run: Open) -> None:
    text = f"L{line_of(100)}"
    page = open_run(f"?show=is-error#{text}")
    visible = page.locator(".steps > li:visible")
    expect(visible).to_have_count(len(FAILED) + 1)
    at_rest(page, LED)
    expect(page.locator(f"#{text}")).to_be_in_viewport()
    find(page, "secret thought 5")
    expect(page.locator("#found")).to_have_text("1 of 11")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("2 of 11")

    expect(page.locator(f"#{text}")).to_be_hidden()
    expect(visible).to_have_count(len(FAILED) + 1)
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 50")
    at_rest(page, LED)
    expect(page.locator(".steps > li.here")).to_be_in_viewport()


def test_a_part_that_cannot_be_read_is_told_and_asked_for_again(
    run_address: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.route("**/steps-0003.html", lambda route: route.abort())
    page.goto(run_address)
    find(page, "secret thought")
    found = page.locator("#found")
    expect(found).to_have_text(re.compile(r"^1 of \d+ \(1 of \d+ parts could not be read\)$"))
    page.unroute("**/steps-0003.html")
    find(page, "secret thought ")

    expect(found).to_have_text(f"1 of {ROUNDS}")


def test_signs_may_be_escaped_that_need_not_be(open_run: Open) -> None:
    page = open_run("?regex=1&case=1")
    find(page, r"check\.py \-\-round 7\d|\"no such\"")

    expect(page.locator("#found")).to_have_text(re.compile("^1 of 9|10$"))


def test_a_regular_expression_that_never_ends_holds_up_nobody_behind_a_server(
    open_run: Open,
) -> None:
    page = open_run("?regex=1&case=1")
    if page.url.startswith("file:"):
        pytest.skip("from disk a browser lets nothing be done beside a page")
    found = page.locator("#found")
    find(page, r"(.|\s)*§")
    expect(found).to_have_attribute("aria-busy", "true")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".steps > li.here")).to_have_count(1)
    assert not (found.text_content() or "").startswith("nothing found")
    expect(found).to_have_text(re.compile(r"nothing found \(\d+ of \d+ parts took too long\)"))
    find(page, r"^result of round 14\d$")

    expect(found).to_have_text("1 of 10")


def test_where_nothing_can_be_done_beside_the_page_it_finds_all_the_same(
    run_address: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.add_init_script(
        "window.Worker = function () { setTimeout(() => this.onerror());"
        " this.postMessage = () => {}; this.terminate = () => {}; };"
    )
    page.goto(f"{run_address}?regex=1")
    find(page, r"^result of round 14\d$")

    expect(page.locator("#found")).to_have_text("1 of 10")


def test_who_types_what_is_nowhere_stays_where_he_reads(open_run: Open) -> None:
    """A browser scrolls to the field at each key: it sticks within what is kept free for bars."""
    page = open_run(viewport={"width": 390, "height": 800})
    find(page, "Round 9 begins")
    expect(page.locator("#found")).to_have_text("1 of 1")
    at_rest(page)
    before = page.evaluate("scrollY")
    for sign in "zqzq":
        page.keyboard.type(sign)
        expect(page.locator("#found")).to_have_text("nothing found")
    at_rest(page)

    assert page.evaluate("scrollY") == before > 0
