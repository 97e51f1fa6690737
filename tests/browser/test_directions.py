"""Names from right to left leave the order of what stands beside them, from disk and a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kbsite.build import build
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

NAME = "\u05e9\u05dc\u05d5\u05dd"
"""A word in Hebrew: numbers behind it would go to its left, and so would signs between."""
PROSE = f"{NAME} kernel {NAME[::-1]}.\n\n- {NAME} kernel {NAME[::-1]}.\n\nA {NAME} kernel.\n\n"
PROSE += f"# {NAME} kernel {NAME[::-1]}\n\n|{NAME} kernel {NAME[::-1]}|\n|-|\n\n> {NAME} kernel"
LAST = "\u05e2\u05d5\u05d3."
ASKED = f"{NAME} kernel {LAST}\nA {NAME} line.\n"
PLACES = """(held, words) => {
  const text = held.firstChild;
  return words.map((word) => {
    const range = document.createRange();
    range.setStart(text, text.data.indexOf(word));
    range.setEnd(text, text.data.indexOf(word) + word.length);
    return range.getBoundingClientRect().left;
  });
}"""
LEFTS = """(all) => all.flatMap((held) => [...held.childNodes]).filter((node) => node.data?.trim()
    || node.firstChild?.data?.trim()).map((node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return range.getBoundingClientRect().left;
})"""


def rows() -> bytes:
    use = [
        {"type": "tool_use", "id": "t", "name": "Task", "input": {"description": NAME}},
        {"type": "tool_use", "id": "u", "name": NAME, "input": {"command": "12 + 5"}},
    ]
    said = [{"type": "text", "text": "hi"}]
    prose = [{"type": "text", "text": PROSE}, {"type": "thinking", "thinking": PROSE}]
    held = [
        {"type": "user", "message": {"content": ASKED}},
        {"type": "user", "message": {"content": "".join(f"{n}\n{ASKED}" for n in range(999))}},
        {"type": "assistant", "message": {"content": prose}},
        {"type": "assistant", "message": {"content": use}},
        {"type": "assistant", "message": {"content": said}, "parent_tool_use_id": "t"},
    ]
    return "\n".join(map(json.dumps, held)).encode()


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home, problems=[])
    make_run(home / "runs" / "demo", run_id="r", model=f"{NAME} 5", effort="7", variant="3",
             transcript={"stdout.jsonl": rows()}, audit={"summary": PROSE})  # fmt: skip
    return build(settings).out


def test_numbers_and_signs_stay_behind_a_name_from_right_to_left(open_site: Open) -> None:
    page = open_site("runs/r/index.html")
    places = ["h1 .contender", ".steps > .opens", f".steps > li > p:has(i:text('{NAME}'))"]
    for place in places:
        lefts = page.locator(place).first.evaluate_all(LEFTS)
        assert len(lefts) > 2, place
        assert lefts == sorted(lefts), place


@pytest.mark.parametrize("place", [".message", ".thought details", ".audit .summary"])
def test_prose_from_right_to_left_is_read_so_with_other_words_in_their_places(
    open_site: Open, place: str
) -> None:
    page = open_site("runs/r/index.html")
    page.evaluate("document.querySelectorAll('details').forEach((held) => { held.open = true })")
    words = [NAME, "kernel", NAME[::-1]]
    for element in ("> p", "li", "h4", "th"):
        held = page.locator(f"{place} {element}").filter(has_text=f"{NAME} kernel").first
        lefts = held.evaluate(PLACES, words)
        assert lefts == sorted(lefts, reverse=True), element
    held = page.locator(f"{place} > p:not([class])").filter(has_text="A ")
    lefts = held.evaluate(PLACES, ["A", NAME, "kernel"])
    assert lefts == sorted(lefts)
    # The bar of a quote stands where its words begin.
    bars = page.locator(f"{place} blockquote").evaluate(
        "(held) => ['Left', 'Right'].map((side) => getComputedStyle(held)[`border${side}Width`])"
    )
    assert bars == ["0px", "3px"]


def test_what_people_wrote_is_read_from_right_to_left_line_by_line(open_site: Open) -> None:
    page = open_site("runs/r/index.html")
    places = page.locator("pre[dir]").first.evaluate(PLACES, [NAME, "kernel", LAST])
    assert places == sorted(places, reverse=True)
    places = page.locator("pre[dir]").first.evaluate(PLACES, ["A", f"{NAME} line", "line."])
    assert places == sorted(places)
    page.get_by_role("link", name="open all").first.click()
    chunk = page.locator("pre[dir] > span").first
    places = chunk.evaluate(PLACES, [NAME, "kernel", LAST])
    assert places == sorted(places, reverse=True)
