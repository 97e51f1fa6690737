"""A person opens the home page, the board, clicks a cell and reads a transcript."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.browser.waiting import address_ends, wait_until
from tests.browser.witness import Opened, Witness

pytestmark = pytest.mark.browser


def assert_scrolls_with_an_edge(held: Locator) -> None:
    """It is scrolled sideways, and shows at its edge that there is more."""
    assert held.evaluate("held => held.scrollWidth > held.clientWidth")
    edge = "held => getComputedStyle(held).backgroundAttachment"
    assert held.evaluate(edge) == "local, local, scroll, scroll"


def test_home_to_board_to_cell_to_transcript(opened: Opened, witness: Witness) -> None:
    page = opened.page
    page.goto(f"{opened.start}index.html")
    expect(page.get_by_role("heading", level=1)).to_have_attribute("aria-label", "kbsite")
    page.get_by_role("link", name=re.compile(r"\[ board \] Demo")).click()
    row = page.locator("tbody.contenders tr", has_text="claude · scripted").first
    row.locator("td").get_by_role("link").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Add two numbers")
    expect(page.locator("#transcript")).to_contain_text("I'll look at the workspace first.")
    expect(page.locator("#solution")).to_contain_text("return a + b")
    assert witness.errors == []
    assert witness.dialogs == []
    assert witness.foreign(opened.start) == set()


def test_every_harness_has_a_run_with_steps_to_read(opened: Opened, witness: Witness) -> None:
    page = opened.page
    page.goto(f"{opened.start}demo/index.html")
    rows = page.locator("tbody.contenders tr:not(.audits)")
    harnesses = set()
    for number in range(rows.count()):
        page.goto(f"{opened.start}demo/index.html")
        harnesses.add(rows.nth(number).locator(".harness").inner_text())
        rows.nth(number).locator("td").get_by_role("link").first.click()

        expect(page.locator(".steps > li.run").first).to_be_visible()
        expect(page.locator(".note", has_text="script").first).to_be_visible()

    assert harnesses == {
        "claude", "codex", "gemini", "kimi-cli", "kimi-code", "opencode", "qwen",
    }  # fmt: skip
    assert witness.errors == []


def test_the_style_of_the_site_applies_from_disk_and_from_a_server(
    site: Path, served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(color_scheme="dark").new_page()
    for start in (f"{site.as_uri()}/", served):
        page.goto(f"{start}demo/index.html")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")

        assert colour == "rgb(10, 13, 10)"


def test_every_box_and_slider_has_the_accent_of_the_site(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(color_scheme="dark").new_page()
    run = next(site.glob("runs/*_claude_*/snapshots.html")).parent
    for held in ("demo", "explore", "compare", run, run / "snapshots.html"):
        page.goto((site / held).as_uri() + ("" if str(held).endswith(".html") else "/index.html"))
        if held == "compare":
            # The runs of several problems are folded, each with a box.
            page.locator("main summary").first.click()
        inputs = page.locator("input:is([type=checkbox], [type=radio], [type=range])")
        seen = inputs.evaluate_all("all => all.map((one) => getComputedStyle(one).accentColor)")

        assert set(seen) == {"rgb(251, 191, 36)"}, held


def test_a_permalink_opens_at_its_event(opened: Opened) -> None:
    page = opened.page
    page.goto(f"{opened.start}runs/index.html")
    page.get_by_role("link", name=re.compile("_claude_scripted_add")).first.click()
    link = page.locator(".steps > li > a").nth(5)
    anchor = str(link.get_attribute("href"))
    page.goto(f"{page.url}{anchor}")

    expect(page.locator(f'[id="{anchor[1:]}"]')).to_be_in_viewport()


def test_raw_files_can_be_opened_and_hold_what_the_cli_wrote(opened: Opened, site: Path) -> None:
    page = opened.page
    page.goto(f"{opened.start}runs/index.html")
    page.get_by_role("link", name=re.compile("_claude_scripted_add")).first.click()
    name = "transcript/stdout.jsonl"
    address = page.locator("#raw").get_by_role("link", name=name).get_attribute("href")
    run = page.url.rstrip("/").split("/")[-2]

    assert address == f"../../runs/{run}/raw/{name}"
    assert (site / "runs" / run / "raw" / name).read_bytes().startswith(b'{"type":"system"')


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("path", ["index.html", "demo/index.html", "runs/index.html"])
def test_nothing_is_wider_than_a_phone(
    path: str, scheme: str, served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}, color_scheme=scheme).new_page()
    page.goto(f"{served}{path}")

    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_who_asks_for_more_contrast_gets_text_and_lines_of_one_colour(
    scheme: str, served: str, context_of: functools.partial[BrowserContext]
) -> None:
    colours = """() => {
        const shown = getComputedStyle(document.documentElement);
        const lines = getComputedStyle(document.body, "::after").backgroundImage;
        const names = ["text", "dim", "rule"].map((name) => `--${name}`);
        const apart = new Set(names.map((name) => shown.getPropertyValue(name))).size;
        return [apart, lines.includes("0.14")];
    }"""
    seen = []
    for contrast in ("no-preference", "more"):
        page = context_of(color_scheme=scheme, contrast=contrast).new_page()
        page.goto(served)
        seen.append(page.evaluate(colours))

    assert seen == [[3, scheme == "dark"], [1, False]]


def test_marks_stand_beside_their_figure_on_a_phone(
    served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto(f"{served}runs/index.html")
    cut = page.locator('td[data-label="time"]', has_text="✂").first
    gap = """(cell) => {
        const figure = new Range();
        figure.selectNode(cell.firstChild);
        return cell.lastElementChild.getBoundingClientRect().left
            - figure.getBoundingClientRect().right;
    }"""

    assert 0 <= cut.evaluate(gap) <= 20


def test_the_chart_of_a_grade_is_read_on_a_phone_without_scrolling_and_others_show_their_edge(
    served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    floor = next(site.glob("runs/*_floor_eager_mrope")).name
    page.goto(f"{served}runs/{floor}/index.html")
    chart = page.locator(".grade > .chart-frame")
    assert chart.evaluate("held => held.scrollWidth <= held.clientWidth")
    assert chart.locator("svg").evaluate("held => 12 * held.getScreenCTM().a") >= 9
    page.get_by_text("raw samples: ").click()
    wide = page.locator(".samples > .chart-frame")

    assert_scrolls_with_an_edge(wide)


@pytest.mark.parametrize(
    ("mark", "beside"), [(".chart-pass", 0), (".chart-dot.chart-fail", 0), (".chart-edit", 8)]
)
def test_a_finger_on_a_thin_mark_of_the_trajectory_or_beside_it_leads_to_its_step(
    mark: str, beside: int, served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    """What is drawn by a line alone was hit where the line is: not within a circle, nor a tick."""
    page = context_of(viewport={"width": 390, "height": 800}, has_touch=True).new_page()
    run = next(site.glob("runs/*_claude_scripted_kahan_softmax")).name
    page.goto(f"{served}runs/{run}/index.html")
    meant = page.locator(f"#trajectory {mark}").first
    meant.scroll_into_view_if_needed()
    box = meant.bounding_box()
    assert box
    page.touchscreen.tap(box["x"] + box["width"] / 2 + beside, box["y"] + box["height"] / 2)

    address_ends(page, f"#{meant.get_attribute('data-anchor')}")


def test_figures_of_all_runs_are_read_on_a_tablet_or_show_their_edge(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 768, "height": 1000}).new_page()
    page.goto((site / "explore/index.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    held = page.get_by_role("region", name="figures of runs")
    assert held.evaluate("held => held.scrollWidth <= held.clientWidth")
    last = "(held, words) => held.querySelectorAll('td:last-child')[0].textContent = words"
    held.evaluate(last, "$12.34 (estimate)" * 3)

    assert_scrolls_with_an_edge(held)


@pytest.mark.parametrize(
    ("path", "frame", "width"),
    [
        ("kernels/index.html", ".scroll:has(> .grid)", 768),
        ("kernels/index.html", ".scroll:has(> .bc-standings)", 390),
        ("kernels/index.html", ".bc-figure .scroll >> nth=0", 1400),
        ("audits/index.html", ".scroll:has(> .verdicts)", 1024),
    ],
)
def test_wide_tables_show_that_there_is_more_beyond_their_edge(
    path: str, frame: str, width: int, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": width, "height": 800}).new_page()
    page.goto((site / path).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")

    assert_scrolls_with_an_edge(page.locator(frame))


def test_edges_of_wide_tables_are_drawn_where_the_system_chooses_the_colours(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 768, "height": 800}, forced_colors="active").new_page()
    page.goto((site / "kernels/index.html").as_uri())
    frame = page.locator(".scroll:has(> .grid)")
    drawn = frame.evaluate("held => getComputedStyle(held).backgroundImage")
    colours = frame.locator("tbody th").first.evaluate("""held => {
      const probe = document.createElement("i");
      probe.style.color = "CanvasText";
      document.body.append(probe);
      return [held, probe].map((one) => getComputedStyle(one).color);
    }""")

    assert_scrolls_with_an_edge(frame)
    # A browser draws no ground of ours there that it was not asked to leave.
    assert drawn.count("linear-gradient(") == 4, drawn
    assert colours[0] == colours[1]


@pytest.mark.parametrize(
    ("path", "letters"),
    [
        ("kernels/index.html", ".bc text:not(.bc-on)"),
        ("runs/{run}/index.html", "#trajectory text"),
        ("explore/index.html", "#chart text"),
    ],
)
def test_letters_of_charts_have_the_colours_of_the_others_where_the_system_chooses_them(
    path: str, letters: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    run = next(site.glob("runs/*_claude_scripted_kahan_softmax")).name
    page = context_of(forced_colors="active", color_scheme="dark").new_page()
    page.goto((site / path.format(run=run)).as_uri())
    page.locator(letters).first.wait_for()
    text = page.locator("main").evaluate("held => getComputedStyle(held).color")

    fills = "all => all.map(one => getComputedStyle(one).fill)"
    assert {*page.locator(letters).evaluate_all(fills)} == {text}


def test_a_list_within_lists_is_not_wider_than_a_phone(
    served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    run = next(site.glob("runs/*_claude_scripted_kahan_softmax")).name
    page.goto(f"{served}runs/{run}/index.html")
    deep = "'<ul><li>level'.repeat(12)"
    page.evaluate(
        f"document.querySelector('.steps > .message').insertAdjacentHTML('beforeend', {deep})"
    )

    assert page.locator(".steps li li li").count() >= 10
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("width", "height"), [(390, 800), (844, 390), (1400, 800)])
@pytest.mark.parametrize(
    ("path", "anchor"), [("demo/index.html", "standings"), ("compare/index.html", "demo/add")]
)
def test_an_anchor_leads_to_right_below_what_stays_in_sight(
    path: str, anchor: str, width: int, height: int, site: Path,
    context_of: functools.partial[BrowserContext],
) -> None:  # fmt: skip
    page = context_of(viewport={"width": width, "height": height}).new_page()
    page.goto((site / path).as_uri())
    page.wait_for_load_state("load")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    page.evaluate("document.body.style.paddingBottom = '100vh'")
    page.evaluate(f"location.hash = '{anchor}'")
    bars = "Math.max(0, ...[...document.querySelectorAll('header.top, #choice')]"
    bars = f"{bars}.map((bar) => bar.getBoundingClientRect().bottom))"

    wait_until(page, lambda: page.evaluate("scrollY") > 0)
    told = page.locator(f"[id='{anchor}']").evaluate(
        f"one => one.getBoundingClientRect().top - {bars}"
    )
    assert 0 <= told <= 24


def test_the_arrow_of_a_quote_stands_beside_its_last_word(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    run = next(path for path in sorted(site.glob("runs/*/index.html"))
               if 'class="place"><a' in path.read_text("utf-8"))  # fmt: skip
    page.goto(run.as_uri())
    link = page.locator(".quote .place a").first
    alone = """(link) => {
      const text = link.firstChild;
      const tops = [text.length - 1, text.length - 3].map((at) => {
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().top;
      });
      return tops[0] !== tops[1];
    }"""
    for width in range(200, 391, 5):
        page.set_viewport_size({"width": width, "height": 800})
        assert not link.evaluate(alone), width


def test_words_of_heads_are_whole_on_a_phone(
    served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto(f"{served}problems/fp8_gemm/index.html")
    heads = page.locator(".facts th")

    assert (site / "problems" / "fp8_gemm").is_dir()
    assert heads.count() > 5
    # A column of letters is as narrow as two of them.
    assert heads.evaluate_all("(all) => Math.min(...all.map((th) => th.clientWidth))") > 60


def test_what_an_auditor_says_is_not_squeezed_into_a_column_on_a_phone(
    served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto(f"{served}problems/add/index.html")
    said = page.locator("td[data-label=verdict]:has(.verdict)").first
    width = """cell => {
      const words = new Range();
      words.selectNode(cell.lastChild);
      return words.getBoundingClientRect().width;
    }"""

    assert len(said.inner_text()) > 100
    assert said.evaluate(width) > 300


def test_a_run_page_is_not_wider_than_a_phone(
    served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    for run in sorted(path.parent.name for path in site.glob("runs/*/index.html")):
        page.goto(f"{served}runs/{run}/index.html")

        assert page.evaluate("document.documentElement.scrollWidth") <= 390, run


def test_filters_stay_whole_on_a_phone_and_kinds_of_steps_take_no_column(
    served: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    # A heavy page may hold few steps (its charts and its map count too), and then there is
    # nothing to filter.
    pages = site.glob("runs/*/index.html")
    run = max(pages, key=lambda path: path.read_text("utf-8").count(" id=L")).parent.name
    page.goto(f"{served}runs/{run}/index.html")
    page.locator("ol.steps > li").nth(5).evaluate("step => step.scrollIntoView()")

    tools, chips, links = page.evaluate(
        """() => ["#tools", "#tools .chips", "header.top"]
          .map((name) => document.querySelector(name).getBoundingClientRect())
          .map(({ top, bottom }) => ({ top, bottom }))"""
    )
    assert abs(tools["top"]) < 1
    assert links["bottom"] <= chips["top"]
    kinds = page.locator("ol.steps > li > p > b:first-child")
    widths = kinds.evaluate_all("all => all.map((one) => getComputedStyle(one).minWidth)")
    assert set(widths) == {"0px"}


def test_the_board_can_be_walked_with_the_keyboard_alone(
    served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto(f"{served}demo/index.html")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.getAttribute('href') || ''")
        seen.append(focused)
        if "/runs/2" in focused:
            page.keyboard.press("Enter")
            break

    expect(page.locator("#transcript")).to_be_attached()
    assert "#main" in seen[0]
