"""A run's page before run.js is there: what asks for it, and what is done until it comes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser import pointer
from tests.browser.conftest import BEFORE, VEILED_FIRST
from tests.browser.long_session import ROUNDS, line_of
from tests.browser.waiting import ANSWERED, address_ends, at_rest, wait_until

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Held:
    """A run's page whose run.js is on its way until it is let go."""

    page: Page
    waiting: list[Route] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Names of all files that it asked for."""

    def scripts(self) -> set[str]:
        return {name for name in self.asked if name.endswith(".js")}

    def route(self) -> Route:
        """The one request for run.js."""
        wait_until(self.page, lambda: len(self.waiting) == 1)
        return self.waiting.pop()


@pytest.fixture(name="held")
def _held(run_address: str, context_of: functools.partial[BrowserContext]) -> Held:
    held = Held(context_of(viewport={"width": 1000, "height": 700}).new_page())
    if run_address.startswith("file:"):
        held.page.goto(BEFORE.as_uri())
    held.page.on("request", lambda request: held.asked.append(request.url.rsplit("/", 1)[-1]))
    held.page.route("**/run.js", lambda route, _: held.waiting.append(route))
    held.page.goto(run_address)
    return held


def test_a_page_that_is_read_asks_for_no_file(held: Held) -> None:
    at_rest(held.page, ANSWERED)

    assert held.asked == ["index.html"]
    expect(held.page.locator("#tools")).to_be_visible()


@pytest.mark.parametrize(
    "act",
    [
        lambda page: pointer.move(page, 200, 200),
        lambda page: page.keyboard.press("Shift"),
        lambda page: page.mouse.click(300, 300),
        lambda page: page.locator("#query").focus(),
        lambda page: page.locator("#query").fill("needle"),
    ],
    ids=["pointer", "key", "click", "focus", "fill"],
)
def test_an_act_asks_for_both_scripts_at_once(held: Held, act: Callable[[Page], None]) -> None:
    with held.page.expect_request("**/run.js"), held.page.expect_request("**/find.js"):
        act(held.page)

    assert held.scripts() == {"run.js", "find.js"}


def test_a_reader_who_scrolls_needs_no_find(held: Held) -> None:
    with held.page.expect_request("**/run.js"):
        held.page.evaluate("scrollBy(0, 200)")

    assert held.scripts() == {"run.js"}


def test_who_flings_the_page_before_is_at_steps_and_not_below_them(held: Held) -> None:
    page = held.page
    page.evaluate("scrollTo(0, 20000)")
    seen = "document.elementFromPoint(500, 350).closest('section.part')?.id"
    part = page.evaluate(seen)

    assert part is not None
    held.route().continue_()
    expect(page.locator(f"#{part} > ol > li").first).to_be_attached()
    # The parts above it come, too, and have not the room that was reserved: it stays where it is.
    wait_until(page, lambda: page.evaluate(seen) == part)
    assert page.evaluate("scrollY") > 15000


def test_without_the_script_the_parts_are_links_that_stand_close_together(held: Held) -> None:
    height = "() => document.querySelector('section.part').offsetHeight"
    assert held.page.evaluate(height) > 1000
    held.page.keyboard.press("Shift")
    held.route().abort()

    wait_until(held.page, lambda: held.page.evaluate(height) < 100)


def test_what_was_done_before_is_done_then(held: Held) -> None:
    page = held.page
    chip = page.locator('.chip[data-mark="is-error"]')
    page.keyboard.press("j")
    page.keyboard.press("j")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    held.route().continue_()

    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#help")).to_be_hidden()
    expect(page.locator(".steps > li.here")).to_have_count(1)


def test_a_key_acts_once(held: Held) -> None:
    held.page.keyboard.press("?")
    held.route().continue_()
    expect(held.page.locator("#help")).to_be_visible()

    held.page.keyboard.press("?")
    expect(held.page.locator("#help")).to_be_hidden()


def test_what_is_typed_after_the_slash_is_looked_for(held: Held) -> None:
    held.page.keyboard.press("/")
    held.page.keyboard.type("needle-02345")
    expect(held.page.locator("#query")).to_have_value("needle-02345")
    held.route().continue_()

    expect(held.page.locator("#found")).to_have_text("1 of 1")


def test_a_link_to_a_step_of_another_part_brings_it_here(held: Held) -> None:
    anchor = followed(held.page)
    held.route().continue_()

    expect(held.page.locator(f"#{anchor}")).to_be_in_viewport()
    address_ends(held.page, f"index.html#{anchor}")


def test_where_the_script_cannot_be_had_links_lead_to_pages(held: Held) -> None:
    anchor = followed(held.page)
    held.route().abort()

    held.page.wait_for_url(f"**/steps-*.html#{anchor}")
    expect(held.page.locator(f"#{anchor}")).to_be_visible()


def test_where_the_script_cannot_be_used_links_lead_to_pages_after_a_while(held: Held) -> None:
    held.page.evaluate("window.impatient = true")
    anchor = followed(held.page)
    held.route().fulfill(body="const more = than a browser understands;")

    held.page.wait_for_url(f"**/steps-*.html#{anchor}")


def followed(page: Page) -> str:
    """Click on a link to the last round, such as verdicts, alarms and the map have; its anchor."""
    anchor = f"L{line_of(ROUNDS - 1)}"
    page.evaluate(
        """(anchor) => {
          const part = [...document.querySelectorAll("section.part")].at(-1).dataset.page;
          const link = document.createElement("a");
          Object.assign(link, { id: "lead", href: `${part}#${anchor}`, textContent: "last" });
          document.getElementById("transcript").prepend(link);
        }""",
        anchor,
    )
    page.locator("#lead").click()
    return anchor


def test_what_is_unfolded_before_it_is_there_is_so_after_a_reload(held: Held) -> None:
    page = held.page
    fold = page.locator(".steps > li.thought details").first
    fold.locator("> summary").click()
    expect(fold).to_have_attribute("open", "")
    held.route().continue_()
    expect(page.locator("#minimap a")).to_have_count(1)
    page.reload(wait_until="commit")
    held.route().continue_()

    expect(fold).to_have_attribute("open", "")


def test_the_next_act_asks_again(held: Held) -> None:
    page = held.page
    page.keyboard.press("?")
    script = page.locator("script[src$='run.js']")
    # No timer of the page ends: nothing is asked because its time has come.
    page.evaluate("window.after = setTimeout; window.setTimeout = () => 0")
    held.route().abort()
    expect(script).to_have_count(0)
    page.keyboard.press("?")
    expect(script).to_have_count(1)
    page.evaluate("window.setTimeout = window.after")
    held.route().continue_()

    expect(page.locator("#help")).to_be_visible()


def test_who_came_by_a_permalink_has_it_asked_for_again(held: Held) -> None:
    address, anchor = held.page.url, f"L{line_of(75)}"
    held.page.goto("about:blank")
    held.page.goto(f"{address}#{anchor}", wait_until="commit")
    held.route().abort()
    held.route().continue_()

    expect(held.page.locator(f"#{anchor}")).to_be_in_viewport()


def test_paper_has_all_without_it(held: Held) -> None:
    assert held.page.locator("details > noscript").count() > 0
    held.page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert held.page.locator("details > noscript").count() == 0
    assert held.scripts() == set()


@pytest.mark.parametrize("name", ["fold", "clock", "keys"])
def test_what_a_reader_chose_before_asks_for_it(held: Held, name: str) -> None:
    held.page.add_init_script(f"localStorage.setItem('kbsite.{name}', 'open')")
    with held.page.expect_request("**/run.js"):
        held.page.reload(wait_until="commit")

    assert "find.js" not in held.scripts()


def test_keys_that_are_not_to_act_do_not(held: Held) -> None:
    held.page.add_init_script("localStorage.setItem('kbsite.keys', 'false')")
    held.page.reload(wait_until="commit")
    held.page.keyboard.press("/")
    held.page.keyboard.press("?")
    held.route().continue_()

    expect(held.page.locator("#keys")).not_to_be_checked()
    at_rest(held.page, ANSWERED)
    expect(held.page.locator("#help")).to_be_hidden()
    expect(held.page.locator("#query")).not_to_be_focused()


@pytest.mark.parametrize("lines", ["", ":1", ":1-2"])
def test_what_stands_above_the_part_of_an_address_is_not_drawn(held: Held, lines: str) -> None:
    address, anchor = held.page.url, f"L{line_of(75)}"
    held.page.add_init_script(VEILED_FIRST)
    held.page.goto("about:blank")
    held.page.goto(f"{address}#{anchor}{lines}", wait_until="commit")
    held.route().continue_()

    expect(held.page.locator(f"#{anchor}")).to_be_in_viewport()
    assert held.page.evaluate("veiledFirst")
    assert held.page.locator("html.veiled").count() == 0


def test_a_part_that_takes_long_hides_nothing_for_long(held: Held) -> None:
    address = held.page.url
    held.page.goto("about:blank")
    held.page.goto(f"{address}#L{line_of(75)}", wait_until="commit")

    expect(held.page.get_by_text("Round 0 begins.")).to_be_visible()
    assert len(held.waiting) == 1


@pytest.mark.parametrize("anchor", ["L1", f"L{line_of(5)}", "L999999", "%E0%A4%A", "transcript"])
def test_an_address_of_what_the_page_has_hides_nothing(held: Held, anchor: str) -> None:
    address = held.page.url
    held.page.goto("about:blank")
    held.page.goto(f"{address}#{anchor}", wait_until="domcontentloaded")

    assert held.page.locator("html.veiled").count() == 0
    wait_until(held.page, lambda: len(held.waiting) == 1)
