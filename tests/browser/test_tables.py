"""Tables that a model or an auditor writes: figures stay whole, and what is wide scrolls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kbsite.build import build
from tests.browser.axe import broken
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.browser.test_reading import assert_scrolls_with_an_edge
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

FIGURES = """| Shape (M, N, K) | Baseline (ms) | Optimized (ms) | Speedup | TFLOP/s | % of peak |
|---|--:|--:|--:|--:|--:|
| 4096 x 4096 x 4096 | 0.1843 | 0.1021 | 1.80x | 1345.2 | 68.1% |
| 8192 x 8192 x 1024 | 0.1902 | 0.1177 | 1.62x | 1167.9 | 59.0% |
"""
PROSE = f"| one | two |\n|---|---|\n| {'some words ' * 9}| {'other words ' * 9}|\n"
ENDLESS = f"| one | two |\n|---|---|\n| {'x' * 2000} | 2 |\n"
TEN = f"""| Shape | Baseline (ms) | Optimized (ms) | {" | ".join("abcdefg")} |
|{"--:|" * 10}
| 4096 x 4096 x 4096 | 0.1843 | 0.1021 | 1.80x | 1345.2 | 68.1% | 168 | 37.5% | 81.22% | memory |
"""
WIDE = "\n".join(
    f"| {' | '.join(cells)} |"
    for cells in (
        [f"head{n}" for n in range(300)],
        ["--:"] * 300,
        [f"0.{n:04}" for n in range(300)],
    )
)
RULED = "above\n\n---\n\nbelow"
A4 = 718
"""What of it Chromium prints on, in pixels."""
IN_TWO = r"""(table) => [...table.querySelectorAll("th, td")].flatMap((held) => {
  const text = held.firstChild;
  return [...text.data.matchAll(/\S+/g)].filter((match) => {
    const range = new Range();
    range.setStart(text, match.index);
    range.setEnd(text, match.index + match[0].length);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map((match) => match[0]);
})"""
"""Its words that stand on two lines."""


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home, problems=[])
    said = [{"type": "text", "text": text} for text in (FIGURES, PROSE, ENDLESS, WIDE, TEN, RULED)]
    row = {"type": "assistant", "message": {"content": said}}
    make_run(home / "runs" / "demo", run_id="r", audit={"summary": FIGURES},
             transcript={"stdout.jsonl": json.dumps(row).encode()})  # fmt: skip
    return build(settings).out


@pytest.mark.parametrize("place", [".steps", ".audit"])
def test_no_figure_of_a_table_is_broken_in_two_on_a_phone(open_site: Open, place: str) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 390, "height": 800})
    table = page.locator(f"{place} table:not([class])").first

    assert table.evaluate(IN_TWO) == []
    assert_scrolls_with_an_edge(table)
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(held) => held.scrollLeft > 0", arg=table.element_handle())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_words_are_broken_where_lines_are_and_only_what_fills_a_phone_within(
    open_site: Open,
) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 390, "height": 800})
    _, prose, endless, *_ = page.locator(".steps table").all()

    assert prose.evaluate("(held) => held.scrollWidth <= held.clientWidth")
    assert prose.evaluate(IN_TWO) == []
    assert endless.evaluate(IN_TWO) == ["x" * 2000]
    assert endless.evaluate("(held) => held.scrollWidth") < 2 * 390


def test_tables_are_whole_on_paper(open_site: Open) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    for table in page.locator(".steps table").all():
        assert table.evaluate("(held) => held.scrollWidth <= held.clientWidth")


def test_a_table_of_more_columns_than_paper_has_room_for_is_told_row_by_row(
    open_site: Open,
) -> None:
    page = open_site("runs/r/index.html", viewport={"width": A4, "height": 1000})
    page.emulate_media(media="print")
    table = page.locator(".steps table").nth(3)
    ends = table.locator("th, td").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().right)"
    )

    assert len(ends) == 600
    assert max(ends) <= A4
    assert page.evaluate("document.documentElement.scrollWidth") <= A4
    assert table.evaluate(IN_TWO) == []


def test_no_figure_of_ten_columns_is_broken_in_two_on_paper(open_site: Open) -> None:
    page = open_site("runs/r/index.html", viewport={"width": A4, "height": 1000})
    page.emulate_media(media="print")

    assert page.locator(".steps table").last.locator("tbody").evaluate(IN_TWO) == []


def test_a_rule_between_paragraphs_is_as_wide_as_they_are(open_site: Open) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 1200, "height": 800})

    assert page.locator(".steps hr").evaluate("(held) => held.offsetWidth") > 600


def test_wide_tables_break_no_rule(open_site: Open) -> None:
    page = open_site("runs/r/index.html", viewport={"width": 390, "height": 800}, bypass_csp=True)

    assert broken(page) == []
