"""A board is sorted and narrowed where it stands, and an address says how."""

from __future__ import annotations

import base64
import functools
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build
from kbsite.store.problems import read_problem
from tests.browser.axe import broken, open_all
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.browser.test_accessibility import CORNERS
from tests.browser.test_hostile import ATTACK
from tests.browser.waiting import address_ends
from tests.conftest import MakeProblem, MakeRun, MakeSettings
from tests.serving.running import until

pytestmark = pytest.mark.browser

ROWS = "tbody.contenders:visible th .model"
CELLS = "tbody.contenders:visible td[data-status] > a:visible"
RANKED = ["deft", "steady", "keen", ATTACK]


@pytest.fixture(scope="session", name="site")
@once
def _site(
    home: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    make_problem: MakeProblem,
) -> Path:
    """A board of four contenders, with a problem of latency; one has no name to be trusted."""
    settings = make_settings(home, problems=("wide_sum", "top_k"))
    board = home / "runs" / "demo"
    fast = read_problem(make_problem(settings.problems, "top_k", regime="latency")).hash
    slow = read_problem(settings.problems / "wide_sum").hash

    make = functools.partial(_made, make_run, board)
    top: Any = {"problem": "top_k", "problem_hash": fast}
    wide: Any = {"problem": "wide_sum", "problem_hash": slow}
    make(wide, 0.4, model="deft", audit={"summary": "Deft."})
    make(top, 0.02, 10.0, model="deft")
    make(wide, 0.3, model="steady", harness="codex")
    make(wide, 0.35, model="steady", harness="codex")
    make(top, 0.01, 9.5, model="steady", harness="codex")
    hack = {"verdict": "reward_hack", "summary": "It keeps all."}
    make(wide, 0.9, model="keen", audit=hack)
    make(top, 0.001, 100.0, model="keen")
    make_run(board, run_id="hostile", model=ATTACK, metrics={"status": "wrong"}, **wide)
    return build(settings).out


def _made(
    make_run: MakeRun, board: Path, of: Any, share: float, ms: float | None = None, **about: Any
) -> None:
    make_run(board, metrics={"peak_fraction": share, "ms": ms, "interval": None}, **of, **about)


@pytest.fixture(name="open_board")
def _open_board(open_site: Open) -> Open:
    return lambda rest="", **options: open_site(f"demo/index.html{rest}", **options)


def rows(page: Page) -> list[str]:
    return page.locator(ROWS).all_text_contents()


def test_a_column_sorts_best_first_then_last_then_not_and_what_does_not_count_comes_after(
    open_board: Open,
) -> None:
    page = open_board()
    assert rows(page) == RANKED
    button = page.get_by_role("button", name="sort by wide sum")
    heading = page.get_by_role("columnheader", name="wide sum")
    button.focus()
    for order, sort, aria in (
        (["deft", "steady", "keen", ATTACK], "?sort=wide+sum", "descending"),
        (["steady", "deft", "keen", ATTACK], "?sort=-wide+sum", "ascending"),
        (RANKED, "", None),
    ):
        page.keyboard.press("Enter")
        assert rows(page) == order
        assert page.url.partition("index.html")[2] == sort
        assert heading.get_attribute("aria-sort") == aria


def test_less_time_is_better_and_is_read_as_a_number(open_board: Open) -> None:
    page = open_board("?sort=top+k")

    assert page.locator("td[data-status] .score:has-text(' ms')").count() == 3
    assert rows(page) == ["steady", "deft", "keen", ATTACK]


def test_groups_go_on_after_z(open_board: Open) -> None:
    page = open_board()
    told = ["a1b1", "z… 30 groups", "b", "a2"]
    page.evaluate(
        "told => document.querySelectorAll('tbody.contenders .letters')"
        ".forEach((one, at) => { one.textContent = told[at]; })",
        told,
    )
    button = page.get_by_role("button", name="sort by group")
    for order in ([2, 1, 0, 3], [3, 0, 1, 2]):
        button.click()
        assert rows(page) == [RANKED[at] for at in order]


def test_contenders_are_narrowed_with_what_is_left_of_each_choice(open_board: Open) -> None:
    page = open_board()
    expect(page.locator("#told")).to_have_text("")
    page.locator("#filters summary").click()
    page.get_by_label("harness").select_option("codex")

    assert rows(page) == ["steady"]
    expect(page.locator("#told")).to_have_text("1 of 4 contenders, 2 runs")
    expect(page.locator("tbody.totals")).to_be_hidden()
    assert page.get_by_label("harness").locator("option").all_text_contents() == [
        "all", "claude (3)", "codex (1)",
    ]  # fmt: skip
    assert "keen (0)" in page.get_by_label("model").locator("option").all_text_contents()

    page.reload()
    assert rows(page) == ["steady"]
    page.get_by_role("button", name="clear").click()
    assert rows(page) == RANKED
    expect(page.locator("tbody.totals")).to_be_visible()
    address_ends(page, "index.html")


def test_runs_are_narrowed_and_so_are_the_verdicts_below(open_board: Open) -> None:
    page = open_board("?verdict=reward_hack")
    assert rows(page) == ["keen"]
    assert page.locator(CELLS).count() == 1
    expect(page.get_by_text("It keeps all.")).to_be_visible()
    expect(page.get_by_text("Deft.")).to_be_hidden()

    page.locator("select[name=verdict]").select_option("none")
    assert rows(page) == RANKED
    assert page.locator(CELLS).count() == 5
    expect(page.get_by_text("It keeps all.")).to_be_hidden()

    page.get_by_label("attempts").select_option("2")
    assert rows(page) == ["steady"]
    assert page.locator(CELLS).count() == 1


def test_who_has_any_name_can_be_chosen(open_board: Open) -> None:
    page = open_board()
    page.locator("#filters summary").click()
    page.get_by_label("model").select_option(ATTACK)

    assert rows(page) == [ATTACK]
    page.reload()
    assert rows(page) == [ATTACK]


def test_an_address_that_asks_for_what_there_is_not_shows_all(open_board: Open) -> None:
    page = open_board("?harness=nobody&sort=nothing&status=")

    assert rows(page) == RANKED
    address_ends(page, "index.html")


def test_without_a_script_nothing_offers_what_would_not_happen(open_board: Open) -> None:
    page = open_board("?harness=codex", java_script_enabled=False)

    assert rows(page) == RANKED
    expect(page.locator("#asking")).to_be_hidden()


@pytest.mark.parametrize("screen", CORNERS)
def test_a_sorted_and_narrowed_board_breaks_no_rule_and_is_as_wide_as_its_window(
    screen: dict[str, Any], site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    page.goto(f"{(site / 'demo/index.html').as_uri()}?sort=-wide+sum&verdict=none")
    open_all(page)

    assert broken(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


TOP = "held => held.getBoundingClientRect().top"
LEFT = "held => held.getBoundingClientRect().left"
IN_SIGHT = """held => {
  const [box] = held.getClientRects();
  const at = document.elementFromPoint(box.left + 2, box.top + box.height / 2);
  return held.contains(at);
}"""


def test_the_head_and_the_names_of_a_long_wide_grid_stay_in_sight(open_board: Open) -> None:
    page = open_board(viewport={"width": 720, "height": 500})
    grid = page.locator(".scroll:has(> .grid)")
    assert grid.evaluate("held => (held.scrollLeft = 9999, held.scrollLeft)") > 0
    page.mouse.move(360, 300)
    page.mouse.wheel(0, 10)
    down = page.locator("tbody.totals").evaluate(TOP) - 150
    page.evaluate(f"scrollBy(0, {down})")

    below = page.locator(".top").evaluate("held => held.getBoundingClientRect().bottom")
    assert page.locator("tbody.contenders").first.evaluate(TOP) < 0
    for held in ("th.sticky", "th:nth-child(2)"):
        assert abs(page.locator(f"thead {held}").first.evaluate(TOP) - below) < 3
    assert page.locator("thead .sticky").evaluate(IN_SIGHT)
    assert page.locator("tbody.totals .sticky").last.evaluate(LEFT) == grid.evaluate(LEFT)
    assert grid.evaluate("held => (held.scrollTop = 50, held.scrollTop)") == 0
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -50)
    until(lambda: page.evaluate("scrollY") < before)


DRAWN = """async ([picture, places]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const ground = `${context.getImageData(2, 2, 1, 1).data}`;
  return places.map(({ left, right, bottom }) => {
    const [x, y] = [Math.ceil(left) + 4, Math.round(bottom) - 2];
    const width = Math.floor(right) - 4 - x;
    const row = (down) => context.getImageData(x, y + down, width, 1).data;
    const dots = (down) => Array.from({ length: width }, (_, at) =>
      `${row(down).slice(4 * at, 4 * at + 4)}` !== ground).filter(Boolean).length;
    return Math.max(...[0, 1, 2].map(dots)) / width;
  });
}"""
"""How much of the line below each box is drawn in a picture of the window, from 0 to 1."""


def test_lines_between_rows_are_drawn_below_names_as_well_as_below_figures(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 1400, "height": 2600}, color_scheme="light").new_page()
    page.goto((full / "demo/index.html").as_uri())
    rows = page.locator(".grid > tbody > tr:has(> th)")
    cells = [rows.locator(f"> {cell}") for cell in ("th", "td:nth-child(2)")]
    boxes = "held => held.map((cell) => cell.getBoundingClientRect().toJSON())"
    places = [place for held in cells for place in held.evaluate_all(boxes)]
    drawn = page.evaluate(DRAWN, [base64.b64encode(page.screenshot()).decode(), places])

    assert len(drawn) > 20
    assert min(drawn) > 0.4, drawn


def test_what_a_board_is_sorted_by_is_told_whole_beside_its_name_on_a_phone(
    open_board: Open,
) -> None:
    page = open_board(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator("#filters summary").tap()
    label = page.locator("#filters label", has=page.locator("select[name=sort]"))
    expect(label).to_be_visible()
    needed, given, off = label.evaluate("""held => {
      const select = held.lastElementChild;
      const [range, box] = [new Range(), select.getBoundingClientRect()];
      range.selectNode(held.firstChild);
      const name = range.getBoundingClientRect();
      const off = (name.top + name.bottom - box.top - box.bottom) / 2;
      Object.assign(select.style, { flex: "none", maxWidth: "none" });
      return [select.offsetWidth, box.width, off];
    }""")

    assert given >= needed
    assert abs(off) < 3


def test_nothing_but_cards_has_a_border_on_a_phone(open_board: Open) -> None:
    page = open_board(viewport={"width": 390, "height": 844})
    border = "held => getComputedStyle(held).borderBlockWidth"
    borders = page.locator(".grid > tbody:not(.contenders)").evaluate_all(
        f"all => all.map({border})"
    )

    assert set(borders) == {"0px"}


def test_a_line_ends_the_head_that_stays_in_sight_where_the_system_chooses_the_colours(
    open_board: Open,
) -> None:
    page = open_board(forced_colors="active")
    line = "th => getComputedStyle(th).borderBottom"
    lines = page.locator("table.grid.sticks thead th").evaluate_all(f"all => all.map({line})")
    collapse = page.locator(".grid").evaluate("held => getComputedStyle(held).borderCollapse")

    assert len(lines) > 3
    # Shadows are not drawn there, and a border that cells share stays where the table is.
    assert all(one.startswith("1px solid") for one in lines), lines
    assert collapse == "separate"


def test_the_head_stays_where_it_is_in_browsers_that_cannot_scroll_a_box_one_way(
    site: Path, tmp_path: Path, context_of: functools.partial[BrowserContext]
) -> None:
    older = shutil.copytree(site, tmp_path / "site")
    style = older / "static" / "board.css"
    written = style.read_text()
    assert "overflow-y: clip" in written
    # Older ones hide what they cannot clip.
    style.write_text(written.replace("overflow-y: clip", "overflow-y: hidden"))
    page = context_of(viewport={"width": 720, "height": 500}).new_page()
    page.goto((older / "demo" / "index.html").as_uri())

    first = page.locator("tbody.contenders").first.evaluate(TOP)
    bottoms = page.locator(".grid thead th").evaluate_all(
        "held => held.map((th) => th.getBoundingClientRect().bottom)"
    )
    assert max(bottoms) <= first + 1


@pytest.mark.parametrize(("width", "height"), [(1400, 500), (720, 500), (720, 300), (390, 844)])
def test_who_goes_back_through_a_grid_by_the_keyboard_sees_where_he_is(
    open_board: Open, width: int, height: int
) -> None:
    page = open_board(viewport={"width": width, "height": height})
    grid = page.locator(".grid tbody")
    grid.locator("a").last.focus()
    for _ in range(grid.locator("a, summary").count() - 1):
        page.keyboard.press("Shift+Tab")
        assert page.locator(":focus").evaluate(IN_SIGHT), page.locator(":focus").inner_text()


def test_on_a_phone_the_name_of_a_contender_stays_while_its_card_passes(open_board: Open) -> None:
    page = open_board(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    card = page.locator("tbody.contenders:has(.audits)").first
    page.evaluate(f"scrollBy(0, {card.locator('.audits td').evaluate(TOP)})")

    assert card.evaluate(TOP) < -20
    assert card.locator("th").evaluate(TOP) == 0
    assert card.locator("th .contender").evaluate(IN_SIGHT)


def test_on_a_large_phone_the_name_of_a_contender_fills_the_first_line_of_its_card(
    open_board: Open,
) -> None:
    page = open_board(viewport={"width": 680, "height": 844}, java_script_enabled=False)
    card = page.locator("tbody.contenders").first
    lowest = card.locator("th").evaluate("(held) => held.getBoundingClientRect().bottom")

    assert card.locator("td").first.evaluate(TOP) >= lowest


def test_who_spaces_texts_out_still_sees_a_whole_banner(open_board: Open) -> None:
    page = open_board(viewport={"width": 320, "height": 640}, bypass_csp=True)
    spaced = "letter-spacing: 0.12em; word-spacing: 0.16em; line-height: 1.5"
    page.add_style_tag(content=f"* {{ {spaced.replace(';', ' !important;')} !important }}")

    assert page.locator(".banner").evaluate("(held) => held.scrollWidth <= held.clientWidth")


def test_a_contender_leads_to_its_model_and_that_to_its_runs_alone(open_board: Open) -> None:
    page = open_board()
    for name in ("steady", ATTACK):
        page.locator(ROWS).get_by_text(name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        page.get_by_role("link", name="filter them").click()
        shown = page.locator("#runs tbody tr:visible .model")
        expect(shown).to_have_text([name] * (3 if name == "steady" else 1))
        page.goto(f"{page.url.partition('runs/')[0]}demo/index.html")
