"""Links to lines of files that stand on pages of their own, and of what a run's page leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.test_getting_around import MARKED

pytestmark = pytest.mark.browser

LEFT_OUT = 60
"""A line of the solution that the run's page leaves out."""
SELECT = """([from, to]) => {
  const [first, last] = [from, to].map((id) => document.querySelector(`#${id} code`));
  getSelection().setBaseAndExtent(first, 0, last, 1);
}"""


def lit(page: Page) -> list[int]:
    """The lines of the solution that stand out, once some do."""
    page.wait_for_function("() => CSS.highlights.has('lines')")
    held = f"{page.evaluate(MARKED)}\n"
    return [number for number in range(2, 120) if f"x + {number}\n" in held]


def beside(page: Page, rest: str) -> str:
    """The address of another page of the run."""
    return f"{page.url.partition('index.html')[0]}{rest}"


@pytest.mark.parametrize("last", [None, LEFT_OUT + 2])
def test_a_link_to_lines_that_a_page_leaves_out_leads_to_where_they_stand(
    open_run: Open, last: int | None
) -> None:
    anchor = f"solution-L{LEFT_OUT}" + (f"-{last}" if last else "")
    page = open_run()
    before = page.evaluate("history.length")
    page.goto(f"{page.url}#{anchor}")

    expect(page).to_have_url(re.compile(rf"/solution\.html#{anchor}$"))
    expect(page.locator(f"#solution-L{LEFT_OUT}")).to_be_in_viewport()
    assert not last or lit(page) == [*range(LEFT_OUT, last + 1)]
    # Whoever goes back comes to where he was before he followed it, and is not led here again.
    assert page.evaluate("history.length") <= before + 1


def test_lines_of_a_file_on_its_own_page_are_linked_with_the_keyboard_alone(open_run: Open) -> None:
    page = open_run()
    page.goto(beside(page, "solution.html"))
    expect(page.locator(".lines-told")).to_be_visible()
    number = page.locator(f"#solution-L{LEFT_OUT} a")
    number.focus()
    page.keyboard.press("l")
    expect(page.locator("#lines-from")).to_be_focused()
    expect(page.locator("#lines-from")).to_have_value(str(LEFT_OUT))
    page.keyboard.press("Tab")
    page.keyboard.type(str(LEFT_OUT + 1))
    assert lit(page) == [LEFT_OUT, LEFT_OUT + 1]
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(rf"#solution-L{LEFT_OUT}-{LEFT_OUT + 1}$"))
    expect(page.locator("#lines")).to_be_hidden()
    expect(number).to_be_focused()
    page.reload()
    assert lit(page) == [LEFT_OUT, LEFT_OUT + 1]
    expect(page.locator(f"#solution-L{LEFT_OUT}")).to_be_in_viewport()


def test_without_the_focus_on_a_line_keys_are_the_readers_own(open_run: Open) -> None:
    page = open_run()
    page.goto(beside(page, "solution.html"))
    expect(page.locator(".lines-told")).to_be_visible()
    page.keyboard.press("l")
    page.locator(f"#solution-L{LEFT_OUT} a").focus()
    page.keyboard.press("Control+l")

    expect(page.locator("#lines")).to_be_hidden()


@pytest.mark.parametrize("width", [1400, 390])
def test_selected_lines_of_a_file_on_its_own_page_can_be_linked(open_run: Open, width: int) -> None:
    page = open_run(viewport={"width": width, "height": 800})
    page.goto(beside(page, "solution.html"))
    expect(page.locator(".lines-told")).to_be_visible()
    page.evaluate(SELECT, [f"solution-L{LEFT_OUT}", f"solution-L{LEFT_OUT + 3}"])
    link = page.locator("#lines-link")
    expect(link).to_have_attribute("href", f"#solution-L{LEFT_OUT}-{LEFT_OUT + 3}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    link.click()

    expect(page.locator("#lines")).to_be_hidden()
    assert lit(page) == [*range(LEFT_OUT, LEFT_OUT + 4)]


def test_a_link_to_one_line_takes_the_colour_from_others(open_run: Open) -> None:
    page = open_run()
    page.goto(beside(page, f"solution.html#solution-L{LEFT_OUT}-{LEFT_OUT + 2}"))
    assert lit(page) == [*range(LEFT_OUT, LEFT_OUT + 3)]
    page.locator(f"#solution-L{LEFT_OUT + 1} a").click()
    page.wait_for_function("() => !CSS.highlights.has('lines')")


def test_a_range_beyond_the_end_of_a_file_marks_what_is_there(open_run: Open) -> None:
    page = open_run()
    page.goto(beside(page, "solution.html#solution-L119-500"))

    assert lit(page) == [119]


def test_lines_of_a_reference_are_linked_on_the_page_of_its_problem(open_site: Open) -> None:
    page = open_site("problems/bf16_gemm/index.html#reference-L3-4")
    page.wait_for_function("() => CSS.highlights.has('lines')")

    expect(page.locator("#reference-L3")).to_be_in_viewport()
    page.locator("#reference-L5 a").focus()
    page.keyboard.press("l")
    expect(page.locator("#lines-text")).to_contain_text("reference, ")


def test_a_run_without_a_transcript_has_links_to_lines_too(open_site: Open, site: Path) -> None:
    run = next(site.glob("runs/*_floor_compiled_kda_chunk/solution.html")).parent
    page = open_site(f"{run.relative_to(site)}/index.html#solution-L60-62")
    page.wait_for_function("() => CSS.highlights.has('lines')")
    expect(page.locator("#solution-L60")).to_be_in_viewport()
    expect(page.locator(".lines-told")).to_be_visible()
    page.goto(page.url.replace("L60-62", "L47-48"))

    expect(page).to_have_url(re.compile(r"/solution\.html#solution-L47-48$"))
    page.wait_for_function("() => CSS.highlights.has('lines')")
