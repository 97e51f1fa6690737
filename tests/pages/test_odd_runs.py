"""What a run's page says of odd runs: empty files, rows without a type, steps out of order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest

from kbsite.build import build
from tests.conftest import MakeRun, MakeSettings

RunOf = Callable[..., Path]
"""Builds a run of rows of a transcript, and returns the folder of its page."""


def row(second: int, kind: str, content: object, **more: object) -> dict[str, object]:
    at = f"2026-01-02T03:{second // 60:02}:{second % 60:02}Z"
    message = {"role": kind, "content": content}
    return {"type": kind, "timestamp": at, "sessionId": "s", "message": message, **more}


def told(page: Path) -> str:
    """All that a page says, on one line."""
    tree = html5lib.parse(page.read_text("utf-8"), namespaceHTMLElements=False)
    return " ".join("".join(tree.itertext()).split())


@pytest.fixture(name="run_of")
def _run_of(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> RunOf:
    def make(*rows: object, solution: bytes = b"x = 1\n") -> Path:
        settings = make_settings(tmp_path, problems=[])
        log = "\n".join(map(json.dumps, rows)).encode()
        run = make_run(
            tmp_path / "runs" / "demo", transcript={"stdout.jsonl": log},
            files={"solution.py": solution},
        )  # fmt: skip
        return build(settings).out / "runs" / run.name

    return make


def test_an_empty_solution_is_called_empty(run_of: RunOf) -> None:
    assert "solution.py The file is empty." in told(run_of(solution=b"") / "index.html")


def test_a_grade_and_an_audit_that_cannot_be_used_are_not_called_missing(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[])
    run = make_run(tmp_path / "runs" / "demo", audit={}, sandbox="bubblewrap (L3)")
    (run / "metrics.json").write_text('{"format": 1,\n"status": "superb"}')
    (run / "audit.yaml").write_text("verdict: guilty\n")
    folder = build(settings).out / "runs" / run.name
    page, markdown = told(folder / "index.html"), (folder / "run.md").read_text()
    wrong = "metrics.json line 2 cannot be used: status: Invalid enum value 'superb'"

    assert f"No grade of the solution is known. {wrong}" in page
    assert wrong in markdown
    assert "There is an audit.yaml, and it cannot be used." in page
    assert "audit.yaml line 1: verdict: Invalid enum value 'guilty'" in page
    for text in (page, markdown):
        assert "Nobody has graded" not in text
        assert "Nobody has audited" not in text
    assert "sandbox bubblewrap (L3)" in page


def test_vital_signs_tell_errors_and_how_much_of_the_solution_was_written_twice(
    run_of: RunOf,
) -> None:
    def made(call_id: str, tool: str, **given: str) -> list[dict[str, object]]:
        return [{"type": "tool_use", "id": call_id, "name": tool, "input": given}]

    def answered(call_id: str, *, wrong: bool) -> list[dict[str, object]]:
        return [{
            "type": "tool_result", "tool_use_id": call_id, "content": "x", "is_error": wrong,
        }]  # fmt: skip

    page = told(
        run_of(
            row(0, "assistant", made("c1", "Write", file_path="solution.py", content="a\nb\n")),
            row(1, "user", answered("c1", wrong=False)),
            row(2, "assistant", made("c2", "Edit", file_path="solution.py", old_string="b",
                                     new_string="B")),
            row(3, "user", answered("c2", wrong=False)),
            row(4, "assistant", made("c3", "Bash", command="false")),
            row(5, "user", answered("c3", wrong=True)),
            {"type": "system", "subtype": "api_retry", "attempt": 1, "sessionId": "s"},
        )
        / "index.html"
    )  # fmt: skip

    assert "errors1 of 3 calls failed; the CLI asked its model again 1 time" in page
    assert "edits of solution.py2: 3 lines written, 1 taken out again" in page


def test_rows_without_a_type_are_called_so(run_of: RunOf) -> None:
    page = told(run_of({"x": 1}) / "index.html")

    assert "1 row of a type that kbsite does not know, shown as it is: none (1)" in page
    assert "unknown a row without a type, shown as it is" in page
    assert re.search(r"not recorded[a-z ,]*models in the transcript, ", page)


def test_what_was_not_recorded_of_a_run_stands_in_one_row(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "runs" / "demo", provider=None, git_commit=None, exit_code=0)
    page = told(build(make_settings(tmp_path, problems=[])).out / "runs" / run.name / "index.html")

    assert page.count("not recorded") == 1
    assert re.search(r"not recorded[^.]*provider, [^.]*git commit", page)
    assert "signal" not in page, "it ended by itself"


def test_tokens_that_a_transcript_does_not_tell_are_those_on_record(run_of: RunOf) -> None:
    page = told(run_of({"x": 1}) / "index.html")

    assert "100 in 20 out tokens" in page
    assert "tokens not told" not in page


def test_lines_of_logs_are_counted_as_a_sentence_says_it(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    held = {"check.log": b"PASS\n", "benchmark.log": b"x\n" * 2000}
    run = make_run(tmp_path / "runs" / "demo", files=held)
    page = told(build(make_settings(tmp_path, problems=[])).out / "runs" / run.name / "index.html")

    assert "check.log, 1 linePASS" in page
    assert "benchmark.log, 2,000 lines" in page


def test_one_line_that_would_fill_screens_is_folded(run_of: RunOf) -> None:
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "cat"}}
    result = {"type": "tool_result"}
    rows = []
    for call, length in (("short", 4_000), ("long", 4_001)):
        rows.append(row(1, "assistant", [{**use, "id": call}]))
        rows.append(row(2, "user", [{**result, "tool_use_id": call, "content": "x" * length}]))
    page = (run_of(*rows) / "index.html").read_text()

    assert re.findall(r"<details id=L\d( open)?><summary>1 line<", page) == [" open", ""]


def test_a_part_tells_its_first_and_last_moment_though_agents_worked_at_once(run_of: RunOf) -> None:
    uses = [
        {"type": "tool_use", "id": f"t{n}", "name": "Task", "input": {"prompt": "x"}}
        for n in range(3)
    ]
    rows = [row(0, "assistant", uses)]
    for agent in range(3):
        for second in range(1, 30):
            said = [{"type": "text", "text": f"{agent} says"}]
            rows.append(row(10 * second, "assistant", said, parent_tool_use_id=f"t{agent}"))
    spans = re.findall(r"· ([\d:]+) to ([\d:]+)", told(run_of(*rows) / "index.html"))

    # The first was said to begin at 03:10, the moment of the step that stands first in it.
    assert spans == [("00:00", "04:50"), ("01:10", "04:50")]
