"""What a reader copies from a run's page is what the run holds, from disk and from a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from kbsite.build import build
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

SOLUTION = (
    "import torch\n\n\ndef solve(x):\n    a = '''\n\n\tשלום  e\u0301 👩‍👩‍👧'''\n\n    return x\n"
)
OUTPUT = "\n  first\n\n\n\tsecond  <b>&amp;  \nשלום 123 e\u0301 👩‍👩‍👧\n\nlast"

COPIED = """(place) => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector(place));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  return getSelection().toString();
}"""


def rows() -> bytes:
    use = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": OUTPUT}
    held = [
        {"type": "assistant", "message": {"content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    return "\n".join(map(json.dumps, held)).encode()


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home)
    make_run(home / "runs" / "demo", run_id="r", transcript={"stdout.jsonl": rows()},
             files={"solution.py": SOLUTION.encode()})  # fmt: skip
    return build(settings).out


def test_files_and_outputs_are_copied_as_they_are_with_their_empty_lines(open_site: Open) -> None:
    page = open_site("runs/r/index.html")
    heights = page.locator("#solution tr").evaluate_all("all => all.map(r => r.offsetHeight)")

    assert page.evaluate(COPIED, "#solution table.source").strip("\n") == SOLUTION.strip("\n")
    assert page.evaluate(COPIED, ".steps pre") == OUTPUT
    assert len(set(heights)) == 1
    # The statement's reference is shown in the same way.
    page = open_site("problems/softmax/index.html")
    held = page.evaluate(COPIED, "table.source")
    assert held.strip("\n") == "def reference(x):\n    return x.softmax(-1)"


@pytest.mark.parametrize("path", ["runs/r/index.html", "problems/softmax/index.html"])
def test_nothing_stands_before_the_first_line_of_a_file(open_site: Open, path: str) -> None:
    first = open_site(path).locator("table.source").evaluate("held => held.firstChild.nodeName")

    # Firefox copies a blank line there as a blank.
    assert first == "TBODY"


REFUSED = "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }"
MISSING = "() => Object.defineProperty(navigator, 'clipboard', { value: undefined })"
"""Without https, and not on a machine's own address, a browser has none."""
CLIPBOARD = "navigator.clipboard.readText()"
PLACES = [
    ("runs/r/index.html", "ol.steps > li > a"), ("runs/r/index.html", "#solution td.number a"),
    ("problems/softmax/index.html", "td.number a"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "link"), PLACES)
def test_whoever_clicks_a_permalink_has_its_address_and_is_told_so(
    open_site: Open, path: str, link: str
) -> None:
    page = open_site(path, permissions=["clipboard-read", "clipboard-write"])
    permalink = page.locator(link).last
    permalink.click()

    expect(page.locator("#said")).to_have_text("link copied")
    assert page.evaluate(CLIPBOARD) == permalink.evaluate("(held) => held.href") == page.url
    expect(page.locator("#said")).to_have_text("")


@pytest.mark.parametrize("fault", [REFUSED, MISSING], ids=["refused", "missing"])
@pytest.mark.parametrize(("path", "link"), PLACES)
def test_where_nothing_can_be_copied_a_reader_is_told_where_the_address_stands(
    open_site: Open, path: str, link: str, fault: str
) -> None:
    page = open_site(path)
    page.evaluate(fault)
    permalink = page.locator(link).last
    permalink.click()

    expect(page.locator("#said")).to_have_text(
        "not copied: the link is the address of this page now"
    )
    assert permalink.evaluate("(held) => held.href") == page.url
