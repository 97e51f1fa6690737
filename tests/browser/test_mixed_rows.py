"""Parallel sub-agents whose rows are mixed in one file: parts of the page that share lines."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from kbsite.build import build
from tests.browser.conftest import opening
from tests.browser.waiting import LED, at_rest
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

TURNS = 200
"""What each sub-agent says: the first in line 3 + 2 n, the second in the line after it."""
TALL = "\n\n" + "- a point\n" * 12
"""So much that a part is taller than what is kept of the page beside a reader."""


def _said(held: Mapping[str, object], number: int, parent: str | None = None) -> str:
    message = {"id": f"m{number}", "role": "assistant", "model": "opus-x", "content": [held]}
    row = {"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": "s"}
    return json.dumps(row)


def _mixed() -> bytes:
    tasks = [
        {"type": "tool_use", "id": name, "name": "Task", "input": {"description": name}}
        for name in ("first", "second")
    ]
    rows = [_said(task, number) for number, task in enumerate(tasks)]
    rows += [
        _said(
            {"type": "text", "text": f"Turn {turn} of {name}.{TALL}"}, 2 * turn + number + 2, name
        )
        for turn in range(TURNS)
        for number, name in enumerate(("first", "second"))
    ]
    return "\n".join(rows).encode() + b"\n"


@pytest.mark.parametrize("way", ["file", "http"])
def test_a_permalink_leads_to_its_step_where_parts_share_lines(
    way: str, tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings,
    context_of: functools.partial[BrowserContext], witness: Witness,
) -> None:  # fmt: skip
    settings = make_settings(tmp_path, problems=[])
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": _mixed()})
    site = build(settings).out
    page_of = f"runs/{run.name}/index.html"
    assert all((site / "runs" / run.name / f"steps-000{n}.html").exists() for n in range(2, 9))

    with opening(way, site, context_of, witness) as opened:
        for turn, number in ((5, 0), (100, 0), (199, 0), (1, 1), (150, 1), (198, 1)):
            line = 3 + 2 * turn + number
            page = opened(f"{page_of}#L{line}")
            step = page.locator(f"#L{line}")
            expect(step).to_contain_text(f"Turn {turn} of {('first', 'second')[number]}.")
            expect(step).to_be_in_viewport()
            expect(step).to_be_focused()
            at_rest(page, LED)
            expect(step).to_be_in_viewport()
