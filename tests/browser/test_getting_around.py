"""Getting around in a long transcript with the keyboard alone, from disk and from a server."""

from __future__ import annotations

import functools
import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser import pointer
from tests.browser.conftest import Open
from tests.browser.finding import find
from tests.browser.long_session import (
    EDITED,
    FAILED,
    LONG_ROUND,
    PAUSED,
    ROUNDS,
    WINDOWS_ROUND,
    line_of,
)
from tests.browser.waiting import (
    ANSWERED,
    LED,
    address_holds,
    at_rest,
    wait_at_end,
    wait_at_rest,
    wait_until,
)

pytestmark = pytest.mark.browser

NEEDLE = line_of(LONG_ROUND) + 2
"""The line of the result that is too long for its place."""
MARKED = "() => [...(CSS.highlights.get('lines') ?? [])].map(String).join('')"
TOP = "held => Math.round(held.getBoundingClientRect().top)"
BELOW_TOOLS = (
    "() => [...CSS.highlights.get('lines')][0].getBoundingClientRect().top"
    " - document.getElementById('tools').getBoundingClientRect().bottom"
)


FIRST_IN_SIGHT = """() => {
  const bar = document.getElementById("tools").getBoundingClientRect().bottom + 5;
  const steps = [...document.querySelectorAll("ol.steps > li")];
  return Number(steps.find((step) => step.getBoundingClientRect().bottom > bar).id.slice(1));
}"""
"""The line of the first step that is not covered by the bars."""


def marked(page: Page, text: str) -> None:
    """Wait until the lines that stand out are these; newlines at their end do not count."""
    page.wait_for_function(f"(text) => ({MARKED})().trimEnd() === text", arg=text)


def test_lines_of_an_output_are_linked_with_the_keyboard_alone(open_run: Open) -> None:
    page = open_run(f"#L{line_of(LONG_ROUND) + 1}")
    expect(page.locator(".steps > li.here")).to_contain_text("needle-00000")
    page.keyboard.press("l")
    expect(page.locator("#lines-from")).to_be_focused()
    page.keyboard.type("2001")
    page.keyboard.press("Tab")
    page.keyboard.type("2003")
    marked(page, "\n".join(f"needle-0{n} of the long output" for n in (2000, 2001, 2002)))
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(rf"#L{NEEDLE}:2001-2003$"))
    expect(page.locator("#lines")).to_be_hidden()
    expect(page.locator(".steps > li.here")).to_be_focused()


ROOM = """() => [...document.querySelectorAll("section.part")]
  .some((part) => part.style.minHeight)"""
"""Whether any part takes up room: those that are passed on the way are there already."""


def test_who_goes_to_the_end_at_once_is_at_the_end_of_the_page(open_run: Open) -> None:
    page = open_run()
    page.keyboard.press("End")

    # Parts take up their room when the first act is heard: the end was not there yet.
    page.wait_for_function(ROOM)
    expect(page.locator("footer")).to_be_in_viewport()


def test_behind_all_steps_keys_lead_to_the_last_one_and_to_no_lines(open_run: Open) -> None:
    page = open_run()
    page.keyboard.press("End")
    wait_at_end(page)
    page.keyboard.press("j")
    expect(page.locator("#said")).to_have_text("no next step")
    page.keyboard.press("k")
    expect(page.locator(".steps > li.here")).to_be_in_viewport()
    assert page.locator(".steps > li").last.evaluate("step => step.classList.contains('here')")
    page.keyboard.press("End")
    wait_at_end(page)
    page.locator(".steps > li.here").evaluate("step => step.blur()")
    page.evaluate("document.querySelector('.steps > li.here').classList.remove('here')")
    page.keyboard.press("l")
    page.keyboard.press("m")

    # Keys go on acting, and no page met an error.
    expect(page.locator("#axis input[value=time]")).to_be_checked()
    expect(page.locator("#lines")).to_be_hidden()


def test_who_has_read_on_goes_on_from_there_and_not_from_where_he_stood(open_run: Open) -> None:
    page = open_run(f"#L{line_of(80)}")
    here = page.locator(".steps > li.here")
    expect(here).to_be_focused()
    at_rest(page, LED)
    for _ in range(3):
        page.keyboard.press("PageDown")
        at_rest(page)
    before = page.evaluate("scrollY")
    page.keyboard.press("j")
    expect(page.locator(f"#L{line_of(80)}")).not_to_have_class(re.compile("here"))
    at_rest(page)
    assert abs(page.evaluate("scrollY") - before) < page.viewport_size["height"]  # type: ignore[index]
    expect(here).to_be_in_viewport()
    page.keyboard.press("End")
    wait_at_end(page)
    page.keyboard.press("k")

    expect(page.locator(".steps > li").last).to_have_class(re.compile("here"))


def test_who_looks_at_the_verdict_goes_on_from_where_he_stood(open_run: Open) -> None:
    page = open_run(f"#L{line_of(80)}")
    here = page.locator(".steps > li.here")
    expect(here).to_be_focused()
    at_rest(page, LED)
    page.keyboard.press("Home")
    expect(page.locator("h1")).to_be_in_viewport()
    at_rest(page)
    page.keyboard.press("j")

    expect(here).to_have_id(f"L{line_of(80) + 1}")


@pytest.mark.parametrize("width", [1400, 390])
def test_a_link_to_lines_leads_to_them_also_in_a_long_text(open_run: Open, width: int) -> None:
    page = open_run(f"#L{NEEDLE}:3000-3001", viewport={"width": width, "height": 800})

    marked(page, "needle-02999 of the long output\nneedle-03000 of the long output")
    wait_at_rest(page, lambda: 0 <= page.evaluate(BELOW_TOOLS) <= 50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_link_to_lines_of_a_diff_marks_them(open_run: Open) -> None:
    page = open_run(f"#L{line_of(EDITED[0]) + 1}:2")

    marked(page, f"+version = {EDITED[0]}")


def test_a_link_beyond_the_end_of_a_text_marks_its_last_line(open_run: Open) -> None:
    page = open_run(f"#L{line_of(75) + 2}:500-900")

    marked(page, "result of round 75")


# Of a long solution the lines between are left out.
@pytest.mark.parametrize("first", [12, 112])
def test_lines_of_the_solution_are_linked_and_found_again(open_run: Open, first: int) -> None:
    page = open_run(f"#solution-L{first}-{first + 2}")
    page.wait_for_function("() => CSS.highlights.has('lines')")
    held = page.evaluate(MARKED)
    assert [n for n in range(120) if f"x + {n}\n" in f"{held}\n"] == [first, first + 1, first + 2]

    page.locator(f"#solution-L{first + 3} a").focus()
    page.keyboard.press("l")
    page.keyboard.press("Tab")
    page.keyboard.type(str(first + 4))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"#solution-L{first + 3}-{first + 4}$"))


SELECT = """([id, pre, from, to]) => {
  const text = document.getElementById(id).querySelectorAll("pre")[pre].firstChild;
  getSelection().setBaseAndExtent(text, text.data.indexOf(from), text, text.data.indexOf(to) + 3);
}"""


def test_selected_lines_are_offered_as_a_link_counted_from_the_whole_text(open_run: Open) -> None:
    page = open_run(f"#L{NEEDLE}")
    expect(page.locator(".steps > li.here")).to_contain_text("needle-00000")
    link = page.locator("#lines-link")
    page.evaluate(SELECT, [f"L{NEEDLE}", 0, "needle-00004", "needle-00006"])
    expect(link).to_have_text(f"#L{NEEDLE}:5-7")
    expect(page.locator("#lines-text option")).to_have_text(f"L{NEEDLE}")
    page.evaluate(SELECT, [f"L{NEEDLE}", 1, "needle-03990", "needle-03999"])

    expect(link).to_have_text(f"#L{NEEDLE}:3991-4000")


def test_selected_lines_of_a_whole_text_are_some_of_as_many_as_it_has(open_run: Open) -> None:
    at = line_of(WINDOWS_ROUND) + 2
    page = open_run(f"#L{at}")
    expect(page.locator(".steps > li.here")).to_contain_text("of two lines")
    page.evaluate(SELECT, [f"L{at}", 0, "result", "round"])
    expect(page.locator("#lines-text option")).to_have_text(f"L{at}, 2 lines")
    page.fill("#lines-to", "9")

    expect(page.locator("#lines-link")).to_have_text(f"#L{at}:1-2")
    marked(page, f"result of round {WINDOWS_ROUND}\nof two lines")


def test_the_map_has_axes_that_the_address_keeps(open_run: Open) -> None:
    page = open_run()
    marks = page.locator("#minimap g[data-time]").first.locator("path:not(.m-pause)")
    by_steps = [mark.get_attribute("d") for mark in marks.all()]
    expect(page.locator("#axis-ends")).to_have_text(f"{3 * ROUNDS + 6} steps")
    page.keyboard.press("m")
    expect(page.locator("#axis-ends")).to_have_text("20:01")
    address_holds(page, "axis=time")
    assert page.locator("#minimap path.m-pause").count() == 1
    assert [mark.get_attribute("d") for mark in marks.all()] != by_steps
    page.reload()
    expect(page.locator("#axis-ends")).to_have_text("20:01")
    page.keyboard.press("m")
    expect(page.locator("#axis-ends")).to_have_text(re.compile("tokens$"))
    page.keyboard.press("m")

    expect(page.locator("#minimap path.m-pause")).to_have_count(0)
    assert [mark.get_attribute("d") for mark in marks.all()] == by_steps


def test_the_keyboard_walks_over_the_marks_of_the_map(open_run: Open) -> None:
    page = open_run()
    mark = page.locator("#minimap a")
    page.keyboard.press("Tab")
    expect(mark).to_have_count(1)
    first = mark.get_attribute("href")
    page.locator("#axis input").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowLeft")
    expect(mark).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(mark).to_have_attribute("href", first or "")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    fourth = mark.get_attribute("href")
    assert fourth != first
    lane = page.locator("#minimap g[data-time]:has(a)")
    above = lane.get_attribute("data-tokens")
    page.keyboard.press("ArrowDown")
    assert lane.get_attribute("data-tokens") != above
    page.keyboard.press("ArrowUp")
    assert lane.get_attribute("data-tokens") == above
    expect(mark).to_be_focused()
    there = (mark.get_attribute("href") or "").partition("#")[2]
    page.keyboard.press("Enter")

    expect(page.locator(".steps > li.here")).to_have_id(there)


@pytest.mark.parametrize(("width", "height"), [(320, 256), (844, 390)])
def test_in_a_low_window_no_bar_takes_the_room_to_read(
    open_run: Open, width: int, height: int
) -> None:
    """As at a zoom of 400 %, or on a phone that lies on its side."""
    page = open_run(f"#L{line_of(100)}", viewport={"width": width, "height": height})
    step = page.locator(".steps > li.here")
    expect(step).to_have_id(f"L{line_of(100)}")
    wait_at_rest(page, lambda: 0 <= step.evaluate(TOP) < 20)
    page.keyboard.press("j")
    expect(step).not_to_have_id(f"L{line_of(100)}")
    wait_at_rest(page, lambda: 0 <= step.evaluate(TOP) < 20)
    covered = page.evaluate(
        "[...document.querySelectorAll('.top, .tools')]"
        ".filter(bar => bar.getBoundingClientRect().bottom > 0).length"
    )
    assert covered == 0
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_in_viewport()


def test_the_filters_of_a_phone_stand_in_one_line(open_run: Open) -> None:
    page = open_run(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    chips = page.locator(".tools .chips")
    expect(chips).to_be_visible()
    heights = chips.locator("> *").evaluate_all("all => all.map((held) => held.offsetHeight)")

    assert chips.locator("> label").count() > 0
    assert max(heights) < 1.5 * min(heights), heights


def test_the_list_of_keys_is_not_wider_than_a_small_phone(open_run: Open) -> None:
    page = open_run(viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)
    page.locator("#help-button").tap()
    keys = page.locator("#help")
    expect(keys).to_be_in_viewport()

    assert keys.evaluate("held => held.scrollWidth - held.clientWidth") == 0


@pytest.mark.parametrize("width", [320, 390, 700, 1400])
def test_a_browser_leads_to_right_below_the_bars(open_run: Open, width: int) -> None:
    """Anchors, find in page and focus by Tab: none of them asks a script where bars end."""
    page = open_run("#solution-title", viewport={"width": width, "height": 800})
    page.evaluate("document.querySelector('header.top').append('site '.repeat(40))")
    expect(page.locator("html")).to_have_class("tooled")
    bars = "Math.max(...[...document.querySelectorAll('header.top, #tools')]"
    bars = f"{bars}.map((bar) => bar.getBoundingClientRect().bottom))"
    step = page.locator(".steps > li").nth(8)

    def below() -> float:
        step.evaluate("held => held.scrollIntoView({ block: 'start', behavior: 'instant' })")
        return float(step.evaluate(f"held => held.getBoundingClientRect().top - {bars}"))

    wait_until(page, lambda: 0 <= below() <= 16)


def test_what_only_looks_like_a_terminal_is_not_read_out(open_run: Open) -> None:
    page = open_run()
    expect(page.get_by_role("heading", name="transcript", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="transcript", exact=True)).to_be_visible()
    drawn = page.locator("h2.hash").first.evaluate("h => getComputedStyle(h, '::before').content")

    assert drawn.startswith('"# "')


def test_a_pause_is_told_where_it_ends(open_run: Open) -> None:
    page = open_run(f"#L{line_of(PAUSED) - 1}")
    step = page.locator(f"#L{line_of(PAUSED) - 1}")

    expect(step).to_have_attribute("data-pause", "05:01")
    assert "05:01" in step.evaluate("(step) => getComputedStyle(step, '::before').content")
    expect(page.locator("[data-pause]")).to_have_count(1)


def test_tools_and_agents_narrow_what_is_shown(open_run: Open) -> None:
    page = open_run()
    tool = page.locator("#tool")
    assert f"Write {len(EDITED)}" in tool.inner_text()
    tool.focus()
    page.keyboard.type("Write")
    expect(page.locator(".steps > li:visible")).to_have_count(len(EDITED))
    address_holds(page, "tool=Write")
    page.reload()
    expect(page.locator(".steps > li:visible")).to_have_count(len(EDITED))
    tool.focus()
    page.keyboard.type("any")
    agent = page.locator("#agent")
    agent.focus()
    page.keyboard.press("End")

    expect(page.locator(".steps > li:visible")).to_have_count(5)
    expect(page.get_by_text("A child begins.")).to_be_visible()


def test_who_takes_a_filter_back_is_where_it_led_him(open_run: Open) -> None:
    """An error is looked for by the filter, and then read with what came before it."""
    page = open_run()
    step = page.locator(f"#L{line_of(FAILED[1]) + 1}")
    chip = page.locator('.chip[data-mark="is-error"]')
    chip.click()
    for n in FAILED:
        page.keyboard.press("e")
        address_holds(page, f"#L{line_of(n) + 1}")
    expect(step).to_be_focused()
    wait_at_rest(page, lambda: 0 <= step.evaluate(TOP) < 300)
    before = step.evaluate(TOP)
    at_rest(page, LED)  # nothing leads him there any more
    pointer.press(chip)
    expect(page.locator("main.narrowed")).to_have_count(0)

    wait_at_rest(page, lambda: abs(step.evaluate(TOP) - before) <= 8)
    expect(page.locator(f"#L{line_of(FAILED[1])}")).to_be_visible()


def test_who_narrows_what_is_shown_is_at_what_is_left_of_it_below(open_run: Open) -> None:
    """He has scrolled, and stands at no step."""
    page = open_run(f"#L{line_of(100)}")
    wait_at_rest(page, lambda: 0 <= page.locator(f"#L{line_of(100)}").evaluate(TOP) < 300)
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    wait_at_rest(page, lambda: page.locator(f"#L{line_of(100)}").evaluate(TOP) < 0)
    seen = page.evaluate(FIRST_IN_SIGHT)
    pointer.press(page.locator('.chip[data-mark="run"]'))
    expect(page.locator("main.narrowed")).to_have_count(1)

    wait_at_rest(page, lambda: seen <= page.evaluate(FIRST_IN_SIGHT) <= seen + 4)


@pytest.mark.parametrize("line", [line_of(100) - 1, NEEDLE - 1])
def test_who_unfolds_everything_stays_at_his_step(open_run: Open, line: int) -> None:
    """A thought, and a call of a long output, on a phone where the links of a site take lines."""
    page = open_run(f"#L{line}", viewport={"width": 390, "height": 800})
    page.evaluate("document.querySelector('header.top').style.minHeight = '144px'")
    page.evaluate(f"location.replace('#L{line}')")
    step = page.locator(f"#L{line}")
    wait_at_rest(page, lambda: 0 <= step.evaluate(TOP) < 300)
    before = step.evaluate(TOP)
    for told in ("shut", "open", ""):
        at_rest(page, LED)  # nothing leads him there any more
        page.keyboard.press("f")
        expect(page.locator("#fold")).to_have_value(told)

        wait_at_rest(page, lambda: abs(step.evaluate(TOP) - before) <= 8)


def test_the_place_is_the_same_after_a_reload(open_run: Open) -> None:
    page = open_run(f"#L{line_of(100)}")
    step = page.locator(f"#L{line_of(100)}")
    wait_at_rest(page, lambda: 0 <= step.evaluate(TOP) < 300)
    page.keyboard.press("PageDown")
    wait_at_rest(page, lambda: step.evaluate(TOP) < 0)
    before = step.evaluate(TOP)
    page.reload()
    expect(page.locator(f"#L{line_of(103)}")).to_be_attached()
    at_rest(page, LED)  # nothing takes it away later, either

    wait_at_rest(page, lambda: abs(step.evaluate(TOP) - before) <= 50)


def test_who_stands_at_a_step_stands_there_after_a_reload(open_run: Open) -> None:
    page = open_run()
    for _ in range(4):
        page.keyboard.press("j")
    here = page.locator(".steps > li.here")
    expect(here).to_have_id("L3")
    at_rest(page, LED)
    page.reload()

    expect(here).to_have_id("L3")


@pytest.mark.parametrize(("beside", "down"), [("main", 0), ("footer", 1_000_000)])
def test_who_left_the_steps_is_not_taken_back_to_one_by_a_reload(
    open_run: Open, beside: str, down: int
) -> None:
    page = open_run(f"#L{line_of(3)}")
    here = page.locator(".steps > li.here")
    expect(here).to_have_count(1)
    at_rest(page, LED)
    pointer.move(page, 300, 300)
    page.mouse.wheel(0, 1)
    page.evaluate(f"scrollTo(0, {down})")
    at_rest(page, LED)
    page.evaluate(f"scrollTo(0, {down})")
    before = page.locator(beside).evaluate(TOP)
    page.reload()
    expect(here).to_have_count(1)  # the address leads there, and then what was kept away from it
    at_rest(page, 2 * LED)

    wait_at_rest(page, lambda: abs(page.locator(beside).evaluate(TOP) - before) <= 50)


def test_choices_of_folding_clock_and_keys_are_remembered(open_run: Open) -> None:
    page = open_run()
    thought = page.locator(".steps > li.thought details").first
    expect(thought).not_to_have_attribute("open", "")
    page.keyboard.press("f")
    page.keyboard.press("f")
    expect(thought).to_have_attribute("open", "")
    page.keyboard.press("t")
    expect(page.locator(".steps > li > a").first).to_have_text("03:04:06")
    page.keyboard.press("?")
    page.locator("#keys").focus()
    page.keyboard.press("Space")
    page.reload()
    expect(page.locator(".steps > li > a").first).to_have_text("03:04:06")
    expect(thought).to_have_attribute("open", "")
    expect(page.locator("#keys")).not_to_be_checked()
    page.keyboard.press("j")

    assert "#" not in page.url


def test_a_browser_that_keeps_nothing_shows_all_the_same(open_run: Open) -> None:
    page = open_run()
    page.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name,"
        " { get() { throw new DOMException('refused', 'SecurityError'); } });"
    )
    page.reload()
    page.keyboard.press("j")
    expect(page.locator(".steps > li.here")).to_be_focused()
    page.keyboard.press("f")

    expect(page.locator("#fold")).to_have_value("shut")


@pytest.mark.parametrize("act", ["click", "focus", "change"])
def test_what_stands_for_a_reader_s_hands_is_heard_at_its_first_act(
    open_run: Open, act: str
) -> None:
    page = open_run()
    chip = page.get_by_role("button", name=re.compile("^errors"))
    if act == "click":
        chip.evaluate("chip => chip.click()")
        expect(chip).to_have_attribute("aria-pressed", "true")
    elif act == "focus":
        page.locator("#query").evaluate("field => field.focus()")
    else:
        page.locator("#tool").evaluate(
            "field => { field.selectedIndex = 1;"
            " field.dispatchEvent(new Event('change', { bubbles: true })); }"
        )
        expect(page.locator("main.narrowed")).to_have_count(1)
        address_holds(page, "tool=")

    expect(page.locator("#minimap a")).to_have_count(1)


def test_what_was_done_before_what_finds_was_there_is_seen_by_it_and_kept(
    context_of: functools.partial[BrowserContext], run_address: str
) -> None:
    page = context_of().new_page()
    held: list[Route] = []
    page.route("**/find.js", lambda route, _: held.append(route))
    page.goto(f"{run_address}?show=is-error", wait_until="domcontentloaded")
    wait_until(page, lambda: len(held) == 1)
    held[0].abort()
    page.wait_for_function("() => document.querySelector('main.narrowed')")
    page.locator("#axis input[value=time]").check()
    page.locator("#query").fill("secret thought 1")
    wait_until(page, lambda: len(held) == 2)
    held[1].continue_()

    expect(page.locator("#found")).to_have_text(re.compile("^1 of "))
    address_holds(page, "show=is-error")
    address_holds(page, "axis=time")
    assert len(held) == 2


def test_how_to_find_is_kept_though_it_was_chosen_before_what_finds_was_there(
    context_of: functools.partial[BrowserContext], run_address: str
) -> None:
    page = context_of().new_page()
    held: list[Route] = []
    page.route("**/find.js", lambda route, _: held.append(route))
    page.goto(run_address)
    page.locator("#case").check()
    wait_until(page, lambda: len(held) == 1)
    page.locator("#regex").check()
    held[0].continue_()

    address_holds(page, "case=1")
    address_holds(page, "regex=1")


def test_without_what_finds_a_link_to_lines_leads_to_their_step(
    context_of: functools.partial[BrowserContext], run_address: str
) -> None:
    anchor = f"L{line_of(75)}"
    page = context_of().new_page()
    page.route("**/find.js", lambda route, _: route.abort())
    page.goto(f"{run_address}#{anchor}:1-2")

    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    expect(page.locator(".steps > li.here")).to_have_id(anchor)


def test_the_page_asks_for_three_files_at_most(open_run: Open) -> None:
    page = open_run()
    page.wait_for_load_state("networkidle")

    assert len(_asked(page)) <= 2, _asked(page)  # beside the page itself


def test_finding_is_loaded_for_a_pointer_that_moves_and_not_for_one_at_rest(open_run: Open) -> None:
    page = open_run()
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    # As Chromium does when a page comes to lie below a pointer that nobody moved.
    page.evaluate("document.body.dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))")
    at_rest(page, ANSWERED)
    assert not any("find.js" in name for name in asked)

    with page.expect_request("**/find.js"):
        pointer.move(page, 60, 60)


def _asked(page: Page) -> list[str]:
    """What a page asked for, but the parts of its transcript."""
    names: list[str] = page.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name)"
        ".filter((name) => !/steps-\\d+\\.html$/.test(name))"
    )
    return names


def test_every_colour_of_the_map_that_stands_out_has_a_key(open_run: Open) -> None:
    page = open_run()
    keys = page.locator(".m-key").evaluate_all("all => all.map(key => getComputedStyle(key).color)")
    # Whatever this run holds: all kinds of marks, and one that stands for whatever is none of them.
    kinds = "quoted error solution compaction edit write run agent web search read plan other"
    *painted, other = page.evaluate(
        """(kinds) => kinds.map((kind) => {
          const path = document.querySelector("#minimap path").cloneNode();
          path.setAttribute("class", `m-${kind}`);
          document.querySelector("#minimap svg g").append(path);
          return getComputedStyle(path).fill;
        })""",
        kinds.split(),
    )

    assert {*painted} - {other} <= {*keys}


def test_where_the_system_chooses_the_colours_a_pressed_filter_and_the_step_one_stands_at_are_told(
    open_run: Open,
) -> None:
    page = open_run(forced_colors="active")
    chip = page.locator(".chip:visible").first
    ground = "held => getComputedStyle(held).backgroundColor"
    before = chip.evaluate(ground)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    assert chip.evaluate(ground) != before

    page.keyboard.press("j")
    here = page.locator(".steps > li.here")
    here.evaluate("held => held.blur()")
    assert here.evaluate("held => getComputedStyle(held).outlineStyle") == "solid"
    keys = page.locator(".m-key").evaluate_all("all => all.map(key => getComputedStyle(key).color)")
    assert len(set(keys)) > 2


def test_where_the_system_chooses_the_colours_what_is_found_has_those_of_what_is_selected(
    open_run: Open,
) -> None:
    page = open_run(forced_colors="active")
    find(page, "Round 7 begins")
    page.keyboard.press("Enter")
    page.wait_for_function("() => CSS.highlights.has('found')")
    colours = page.locator(".lit").evaluate("""held => {
      const probe = document.createElement("i");
      Object.assign(probe.style, { background: "Highlight", color: "HighlightText" });
      document.body.append(probe);
      return [[held, "::highlight(found)"], [held, "::highlight(lines)"], [probe]].map((one) => {
        const { backgroundColor, color } = getComputedStyle(...one);
        return [backgroundColor, color];
      });
    }""")

    # Firefox takes no others there.
    assert colours[0] == colours[1] == colours[2]
