"""How a session ended: the reason in a sentence, and the event that told it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.status import EndReason
from kbsite.store.problems import read_problem
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun, MakeSettings


def facts_line(out: Path, run_id: str) -> str:
    text = (out / "runs" / run_id / "index.html").read_text("utf-8")
    document = html5lib.parse(text, namespaceHTMLElements=False)
    [line] = [node for node in document.iter("p") if node.get("class") == "facts-line"]
    return " ".join("".join(line.itertext()).split())


@pytest.fixture(name="made")
def _made(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Any:
    make_settings(tmp_path)
    found = read_problem(tmp_path / "problems" / "softmax").hash

    def make(**about: Any) -> str:
        make_run(tmp_path / "runs" / "demo", run_id="one", problem_hash=found, **about)
        return facts_line(build(read_settings(tmp_path / "kbsite.yaml")).out, "one")

    return make


@pytest.mark.parametrize("reason", EndReason, ids=lambda reason: reason.value)
def test_each_reason_has_its_sentence(made: Any, reason: EndReason) -> None:
    line = made(end_reason=reason.value)

    assert line.endswith(reason.sentence)
    assert ("cut by the budget" in line) == (reason is EndReason.BUDGET)


def test_the_event_that_told_it_stands_beside_it(made: Any) -> None:
    told = "answer 14 of the provider was 401: <no> such key"
    line = made(end_reason="provider_error", end_detail=told)

    assert line.endswith(f"{EndReason.PROVIDER.sentence} {told}")


def test_what_it_names_between_backticks_is_shown_as_code(made: Any, tmp_path: Path) -> None:
    line = made(end_reason="finished", end_detail="The `<b>result</b>` event says no error.")

    assert line.endswith("The <b>result</b> event says no error.")
    page = (tmp_path / "site/runs/one/index.html").read_text("utf-8")
    assert "The <code>&lt;b>result&lt;/b></code> event" in page


def test_what_there_is_one_of_is_told_as_one(made: Any) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    row = {"type": "assistant", "uuid": "u1", "timestamp": "2026-01-02T03:04:05Z",
           "message": {"id": "m1", "role": "assistant", "content": [call]}}  # fmt: skip
    log = "home/.claude/projects/-w/s.jsonl"

    assert "1 event 1 call " in made(transcript={log: json.dumps(row).encode()})
