"""A long transcript in parts: places, find, filters and keys, from disk and from a server."""

from __future__ import annotations

import functools
import re
from urllib.request import urlopen

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser import pointer
from tests.browser.conftest import VEILED_FIRST, Open
from tests.browser.long_session import (
    AGENT_ROUND,
    EDITED,
    FAILED,
    HIDDEN,
    LONG_ROUND,
    QUOTED,
    ROUNDS,
    line_of,
)
from tests.browser.waiting import ANSWERED, LED, address_ends, address_holds, at_rest, wait_until

pytestmark = pytest.mark.browser


def top_of(page: Page, anchor: str) -> float:
    """How far below the tools' lower edge a step starts, in pixels."""
    return float(
        page.evaluate(
            "(id) => document.getElementById(id).getBoundingClientRect().top"
            " - document.getElementById('tools').getBoundingClientRect().bottom",
            anchor,
        )
    )


def test_the_first_load_is_light_and_holds_the_first_steps(open_run: Open) -> None:
    page = open_run()

    expect(page.get_by_text("Round 0 begins.")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < 3000


def test_parts_come_as_the_reader_scrolls_and_far_ones_go(open_run: Open) -> None:
    page = open_run()
    last = page.get_by_text(f"Round {ROUNDS - 1} begins.")
    for _ in range(1000):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(30)
        if last.count():
            break
    expect(last).to_be_visible()

    assert page.locator("section.part > a").count() > 0
    assert page.evaluate("document.querySelectorAll('*').length") < 20000


@pytest.mark.parametrize("number", [5, 75, ROUNDS - 1])
def test_a_permalink_leads_to_its_step_whatever_part_it_is_in(open_run: Open, number: int) -> None:
    anchor = f"L{line_of(number)}"
    page = open_run(f"#{anchor}")
    step = page.locator(f"#{anchor}")

    expect(step).to_contain_text(f"Round {number} begins.")
    at_rest(page, LED)
    expect(step).to_be_in_viewport()
    if number < ROUNDS - 5:
        assert abs(top_of(page, anchor)) <= 50


@pytest.mark.parametrize("lines", ["", ":1", ":1-2"])
def test_a_permalink_asks_for_its_part_before_the_page_is_read(
    run_address: str, context_of: functools.partial[BrowserContext], lines: str
) -> None:
    anchor = f"L{line_of(75)}"
    page = context_of().new_page()
    held: list[Route] = []
    page.add_init_script(VEILED_FIRST)
    page.route("**/held.js", lambda route, _: held.append(route))

    with urlopen(run_address) as held_page:
        text = held_page.read().decode("utf-8")
    script = '<script src="held.js"></script></head>'
    page.route(
        run_address,
        lambda route: route.fulfill(body=text.replace("</head>", script), content_type="text/html"),
    )

    # No more of the page is read before the script that it waits for has run.
    with page.expect_request("**/steps-*"):
        page.goto(f"{run_address}#{anchor}{lines}", wait_until="commit")
    assert page.evaluate("veiledFirst")
    wait_until(page, lambda: bool(held))
    held[0].fulfill(body="")

    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    assert page.locator("html.veiled").count() == 0


@pytest.mark.parametrize("answer", ["none", "late"])
def test_a_page_whose_part_does_not_come_shows_what_it_has(
    run_address: str, context_of: functools.partial[BrowserContext], answer: str
) -> None:
    page = context_of().new_page()
    asked: list[Route] = []
    page.route(
        "**/steps-*",
        lambda route: asked.append(route) if answer == "late" else route.abort(),
    )
    page.goto(f"{run_address}#L{line_of(75)}", wait_until="commit")

    # Seen when the script has run and hides nothing: before it runs, what stands there is seen too.
    expect(page.locator("#tools")).to_be_visible()
    expect(page.get_by_text("Round 0 begins.")).to_be_visible()
    assert page.locator("html.veiled").count() == 0
    assert answer == "none" or asked
    for route in asked:
        route.abort()


def test_an_address_that_is_none_leaves_the_page_as_it_is(open_run: Open) -> None:
    page = open_run("#%E0%A4%A")

    expect(page.locator("#tools")).to_be_visible()
    expect(page.get_by_text("Round 0 begins.")).to_be_visible()


def test_a_permalink_to_a_result_leads_to_the_call_that_holds_it(open_run: Open) -> None:
    page = open_run(f"#L{line_of(75) + 2}")

    expect(page.locator(f"#L{line_of(75) + 2}")).to_contain_text("result of round 75")
    expect(page.locator(f"#L{line_of(75) + 1}")).to_have_class(re.compile(r"\bhere\b"))


def test_find_counts_everything_also_what_is_folded_or_not_loaded(open_run: Open) -> None:
    page = open_run()
    page.keyboard.press("/")
    page.keyboard.type("secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")
    page.keyboard.press("Shift+Enter")

    expect(page.locator("#found")).to_have_text(f"{ROUNDS} of {ROUNDS}")
    expect(page.get_by_text(f"secret thought {ROUNDS - 1}")).to_be_visible()


HEARD = """() => {
    const found = document.getElementById("found");
    window.heard = [];
    new MutationObserver(() => {
        if (found.ariaBusy !== "true" && found.textContent) window.heard.push(found.textContent);
    }).observe(found, { childList: true });
}"""


def test_who_hears_the_page_is_told_a_count_when_all_is_counted_and_not_before(
    open_run: Open,
) -> None:
    page = open_run()
    page.evaluate(HEARD)
    page.fill("#query", "secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")

    assert page.evaluate("heard") == [f"1 of {ROUNDS}"]


CHANGED = """() => {
    const query = document.getElementById("query");
    query.value += "!";
    query.dispatchEvent(new Event("input"));
    return document.getElementById("found").textContent;
}"""


def test_a_count_is_never_told_of_words_that_have_changed_since(open_run: Open) -> None:
    page = open_run()
    page.fill("#query", "secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")

    assert page.evaluate(CHANGED) == ""
    expect(page.locator("#found")).to_have_text("nothing found")


# Pages that are asked for from when a word is there until its first hit is told. The script that
# finds is none: on a busy machine it is only asked for then.
BEFORE_THE_FIRST = """(word) => new Promise((tell) => {
    const found = document.getElementById("found");
    const query = document.getElementById("query");
    let asked = 0;
    const { fetch } = window;
    window.fetch = (...all) => { asked += 1; return fetch(...all); };
    const append = document.head.append.bind(document.head);
    document.head.append = (script) => {
        asked += script.src.endsWith("/find.js") ? 0 : 1;
        append(script);
    };
    new MutationObserver(() => /^1 of/.test(found.textContent) && tell(asked))
        .observe(found, { childList: true });
    query.value = word;
    query.dispatchEvent(new Event("input"));
})"""


def test_a_hit_in_what_is_here_is_told_before_the_rest_is_asked_for(open_run: Open) -> None:
    page = open_run()
    pointer.move(page, 1, 1)
    page.wait_for_load_state("networkidle")

    assert page.evaluate(BEFORE_THE_FIRST, "secret thought") == 0
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")


def test_whoever_types_is_not_taken_away_by_a_hit(open_run: Open) -> None:
    page = open_run()
    page.keyboard.press("/")
    page.evaluate("() => { document.activeElement.onblur = () => { window.left = true; }; }")
    page.keyboard.type("secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text(f"2 of {ROUNDS}")
    expect(page.locator(".steps > li.here")).to_have_count(1)

    assert page.evaluate("[document.activeElement.id, window.left ?? false]") == ["query", False]


def test_find_reaches_into_texts_that_have_a_page_of_their_own(open_run: Open) -> None:
    page = open_run()
    page.fill("#query", "needle-02345")
    expect(page.locator("#found")).to_contain_text("1 of 1")

    expect(page.locator(f"#L{line_of(LONG_ROUND) + 1}")).to_be_in_viewport()


def test_find_takes_regular_expressions_and_case(open_run: Open) -> None:
    page = open_run()
    page.check("#regex")
    page.fill("#query", r"ROUND 1[0-2] begins")
    expect(page.locator("#found")).to_have_text("1 of 3")
    page.check("#case")
    expect(page.locator("#found")).to_have_text("nothing found")
    page.fill("#query", "(")
    expect(page.locator("#found")).to_have_text("not a regular expression")


def test_the_address_brings_back_what_was_looked_for_and_shown(open_run: Open) -> None:
    page = open_run("?q=secret+thought+149&show=thought")

    expect(page.locator("#found")).to_have_text("1 of 1")
    expect(page.locator('.chip[data-mark="thought"]')).to_have_attribute("aria-pressed", "true")
    address_holds(page, "q=secret+thought+149")
    address_holds(page, "show=thought")


def test_filters_leave_only_what_they_say_and_count_it(open_run: Open) -> None:
    page = open_run()
    chip = page.locator('.chip[data-mark="is-error"]')
    expect(chip).to_have_text(f"errors {len(FAILED)}")
    chip.click()
    expect(page.locator(".steps > li:visible")).to_have_count(len(FAILED))
    chip.click()
    expect(page.get_by_text("Round 0 begins.")).to_be_visible()


def test_keys_walk_over_steps_errors_and_edits(open_run: Open) -> None:
    page = open_run()
    here = page.locator(".steps > li.here")
    page.keyboard.press("e")
    expect(here).to_have_id(f"L{line_of(FAILED[0]) + 1}")
    page.keyboard.press("e")
    expect(here).to_have_id(f"L{line_of(FAILED[1]) + 1}")
    page.keyboard.press("S")
    expect(here).to_have_id(f"L{line_of(EDITED[1]) + 1}")
    page.keyboard.press("k")
    expect(here).to_have_id(f"L{line_of(EDITED[1])}")
    page.keyboard.press("j")
    expect(here).to_have_id(f"L{line_of(EDITED[1]) + 1}")
    expect(here).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


@pytest.mark.parametrize("width", [1400, 390])
def test_a_key_that_leads_nowhere_says_so_until_the_next_one(open_run: Open, width: int) -> None:
    page = open_run(viewport={"width": width, "height": 800})
    said, here = page.locator("#said"), page.locator(".steps > li.here")
    for key, told in [("E", "error"), ("S", "edit of solution.py")]:
        page.keyboard.press(key)
        expect(said).to_have_text(f"no previous {told}")
    expect(said).to_be_in_viewport()
    expect(said).to_have_attribute("aria-live", "polite")
    for failed in FAILED:
        page.keyboard.press("e")
        expect(here).to_have_id(f"L{line_of(failed) + 1}")
        expect(said).to_have_text("")
    page.keyboard.press("e")
    expect(said).to_have_text("no next error")
    expect(said).to_be_in_viewport()
    page.get_by_role("button", name=re.compile("^errors")).click()
    expect(said).to_have_text("")
    page.keyboard.press("s")

    expect(said).to_have_text("no next edit of solution.py among those shown")


def test_the_first_step_is_brought_into_sight_by_its_key(open_run: Open) -> None:
    page = open_run(viewport={"width": 1400, "height": 700})
    first = page.locator(".steps > li").first
    assert first.evaluate("(held) => held.getBoundingClientRect().top") > 700
    page.keyboard.press("j")

    expect(page.locator(".steps > li.here")).to_be_in_viewport()
    assert abs(top_of(page, str(first.get_attribute("id"))) - 4) <= 4


@pytest.mark.parametrize("width", [1400, 390])
def test_the_keys_are_shown_wherever_the_reader_is_and_leave_the_place_as_it_was(
    open_run: Open, width: int
) -> None:
    anchor = f"L{line_of(75)}"
    page = open_run(f"#{anchor}", viewport={"width": width, "height": 900})
    step = page.locator(f"#{anchor}")
    expect(step).to_be_focused()
    at_rest(page, LED)
    before = step.bounding_box()
    page.keyboard.press("?")
    expect(page.get_by_role("row", name="next, previous step")).to_be_in_viewport()
    page.keyboard.press("Escape")

    expect(page.locator("#help")).to_be_hidden()
    expect(step).to_be_in_viewport()
    assert step.bounding_box() == before
    page.locator("#help-button").click()
    page.locator("#fold").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    expect(page.locator("#help-button")).to_be_focused()


def test_evidence_is_read_among_the_other_steps_and_gone_back_from(open_run: Open) -> None:
    page = open_run()
    start = page.url
    link = page.locator(".quote .place a").first
    link.click()
    expect(page.locator(".steps > li.here")).to_contain_text(f"Round {QUOTED} begins.")
    assert page.url == f"{start}#L{line_of(QUOTED)}.q1"
    expect(page.locator("#tools")).to_be_in_viewport()
    page.go_back()

    expect(page).to_have_url(start)
    expect(link).to_be_in_viewport()
    with page.context.expect_page() as other:
        link.click(modifiers=["Control"])
    assert other.value.url != start
    assert page.url == start


def test_a_quote_of_the_audit_leads_to_its_lines_and_back_to_the_map(open_run: Open) -> None:
    page = open_run()
    page.locator(".quote .place a").nth(0).click()
    step = page.locator(f"#L{line_of(QUOTED)}")
    expect(step).to_be_in_viewport()
    expect(step).to_have_class("message quoted here")
    expect(step.locator("mark.led")).to_have_text("Round")


@pytest.mark.parametrize("script", [True, False])
def test_a_quote_leads_to_its_words_in_what_is_folded_and_they_lead_back(
    open_run: Open, *, script: bool
) -> None:
    page = open_run(java_script_enabled=script, viewport={"width": 390, "height": 800})
    page.locator("#quote-3 .place a").click()
    words = page.locator("mark.quoted", has_text=f"thought {HIDDEN}")
    expect(words).to_be_in_viewport()
    address_ends(page, f"#L{line_of(HIDDEN) - 1}.q3")
    page.get_by_role("link", name="quoted by the audit: the thought").press("Enter")

    expect(page.locator("#quote-3")).to_be_in_viewport()
    address_ends(page, "#quote-3")
    page.go_back()
    expect(words).to_be_in_viewport()


@pytest.mark.parametrize(("number", "led"), [(3, 1), (9, 0)])
def test_the_address_of_a_quote_leads_there_and_one_that_is_gone_to_its_step(
    open_run: Open, number: int, led: int
) -> None:
    anchor = f"L{line_of(HIDDEN) - 1}"
    page = open_run(f"?show=message#{anchor}.q{number}")

    expect(page.locator(f"#{anchor}")).to_have_class(re.compile(r"\bhere\b"))
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    expect(page.locator("mark.led")).to_have_count(led)
    expect(page.locator("#said")).to_have_text("")


def test_a_quote_of_the_solution_leads_to_its_marked_line(open_run: Open) -> None:
    page = open_run()
    page.locator(".quote .place a").nth(1).click()

    expect(page.locator("#solution-L1")).to_have_class("quoted")
    expect(page.locator("#solution-L1")).to_be_in_viewport()


def test_a_mark_of_the_map_leads_to_its_step(open_run: Open) -> None:
    page = open_run()
    pointer.move(page, 1, 1)
    expect(page.locator("#minimap a")).to_have_count(1)
    picture = page.locator("#minimap svg").first
    at = picture.evaluate(MIDDLE)
    picture.hover(position=at)
    expect(page.locator("#minimap a")).to_have_attribute("aria-label", re.compile("^quoted, "))
    assert page.evaluate("document.querySelector('#minimap a:hover').matches('a[href*=\"#L\"]')")
    picture.click(position=at)

    expect(page.locator(".steps > li.here")).to_contain_text(f"Round {QUOTED} begins.")


# Where the first mark of what the audit quotes stands, in the picture.
MIDDLE = """(picture) => {
    const drawn = picture.querySelector("path.m-quoted").getAttribute("d");
    const [, x, y] = drawn.match(/M(\\d+) (\\d+)/);
    const { width, height } = picture.viewBox.baseVal;
    const box = picture.getBoundingClientRect();
    return { x: (Number(x) + 0.5) * box.width / width, y: (Number(y) + 4) * box.height / height };
}"""


def test_a_finger_on_the_map_leads_to_its_step(open_run: Open) -> None:
    page = open_run(has_touch=True, viewport={"width": 390, "height": 800})
    picture = page.locator("#minimap svg").first
    picture.tap(position=picture.evaluate(MIDDLE))

    expect(page.locator(".steps > li.here")).to_contain_text(f"Round {QUOTED} begins.")


@pytest.mark.parametrize(("beside", "led"), [(6, True), (30, False)])
def test_a_finger_beside_a_thin_mark_of_the_map_means_it(
    open_run: Open, beside: int, *, led: bool
) -> None:
    """By time a step may be a hundredth of the picture, and all beside it is bare."""
    page = open_run("?axis=time", has_touch=True, viewport={"width": 390, "height": 800})
    expect(page.locator("#minimap a")).to_have_count(1)
    page.locator("#minimap svg").first.scroll_into_view_if_needed()
    lane = page.locator("#minimap g[data-time]").last.locator("path:not(.m-pause)").first
    box = lane.bounding_box()
    assert box
    page.touchscreen.tap(box["x"] - beside, box["y"] + box["height"] / 2)

    if led:
        expect(page.locator(".steps > li.here")).to_contain_text("sub-agent a1")
    else:
        at_rest(page, ANSWERED)
        expect(page.locator(".steps > li.here")).to_have_count(0)


def test_a_finger_on_the_last_row_of_the_map_means_it_and_no_axis_below(open_run: Open) -> None:
    """Browsers take a finger to mean what it comes close to, of what they know can be tapped."""
    page = open_run(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page.evaluate("document.getElementById('minimap').scrollIntoView()")
    picture = page.locator("#minimap svg").first.bounding_box()
    label = page.locator("#axis label", has_text="time").bounding_box()
    assert picture
    assert label
    page.touchscreen.tap(label["x"] + label["width"] / 2, picture["y"] + picture["height"] - 4)

    expect(page.locator("#minimap a")).to_have_count(1)
    expect(page.locator("#axis input:checked")).to_have_value("steps")


def test_without_a_script_marks_are_links_and_what_is_folded_away_is_there(open_run: Open) -> None:
    page = open_run(java_script_enabled=False)
    page.get_by_text("vital signs").click()
    expect(page.locator(".vitals th").first).to_be_visible()
    link = page.locator("#minimap a:has(rect.m-quoted)").first
    anchor = (link.get_attribute("href") or "").partition("#")[2]
    link.click()

    address_ends(page, f"#{anchor}")
    expect(page.locator(f"li:has([id='{anchor}'])")).to_contain_text(f"Round {QUOTED} begins.")


@pytest.mark.parametrize("act", ["a pointer", "a key", "print"])
def test_with_a_script_what_is_folded_away_is_taken_apart_when_somebody_is_there(
    open_run: Open, act: str
) -> None:
    page = open_run()
    if act == "a pointer":
        pointer.move(page, 1, 1)
    elif act == "a key":
        page.keyboard.press("Shift")
    else:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("details > noscript")).to_have_count(0)
    page.get_by_text("vital signs").click()

    expect(page.locator(".vitals th").first).to_be_visible()


def test_without_a_script_the_parts_are_pages_that_lead_on(open_run: Open) -> None:
    page = open_run(java_script_enabled=False)
    seen = ""
    page.locator("section.part > a").first.click()
    for _ in range(40):
        seen += page.locator("ol.steps").inner_text()
        after = page.locator('a[rel="next"]')
        if not after.count():
            break
        after.first.click()

    assert f"Round {ROUNDS - 1} begins." in seen
    assert f"Round {AGENT_ROUND} begins." in seen
    expect(page.locator("#tools")).to_have_count(0)


def test_a_long_output_can_be_opened_in_full(open_run: Open) -> None:
    page = open_run(f"#L{line_of(LONG_ROUND) + 1}")
    page.locator(f"#L{line_of(LONG_ROUND) + 1} details[id] > summary").click()
    page.locator(f"#L{line_of(LONG_ROUND) + 1} .left-out a").click()

    expect(page.locator("pre.text")).to_contain_text("needle-02345")


def test_a_phone_shows_every_tool_and_scrolls_in_one_direction_only(open_run: Open) -> None:
    page = open_run(viewport={"width": 390, "height": 800})

    expect(page.locator("#query")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
