"""The log of a sub-agent alone, as somebody has who was sent no more, or whose session was lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kbsite.importers.transcript import OF_ANOTHER, import_transcripts
from kbsite.store.runs import read_run
from kbsite.trajectories import trajectory
from kbsite.transcripts import transcript
from tests.harnesses import claude_rows


def test_a_sub_agents_log_alone_has_all_that_a_session_has(tmp_path: Path) -> None:
    """Claude Code's: its rows name the agent, and a result tells of one that it started itself."""
    own: dict[str, Any] = {"isSidechain": True, "agentId": "x"}
    at = "2026-11-21T05:14:0"
    rows = [
        claude_rows.user("Count.", **own),
        claude_rows.assistant(claude_rows.call("t1", "Bash", command="ls"), **own),
        claude_rows.user([claude_rows.result("t1", "a b")], **own),
        claude_rows.assistant(claude_rows.call("t2", "Agent", prompt="More."), **own),
        claude_rows.user("More.", isSidechain=True, agentId="y"),
        claude_rows.user([claude_rows.result("t2", "2")], **own, toolUseResult={"agentId": "y"}),
    ]
    timed = [{**row, "timestamp": f"{at}{n}.5Z"} for n, row in enumerate(rows)]
    log = tmp_path / "agent-x.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in timed))
    run = read_run(import_transcripts([log], tmp_path / "mine"))
    shown = transcript("claude", run.transcripts)

    assert shown is not None
    assert shown.unlinked == ()
    signs = trajectory(shown, run.run).signs
    assert (signs.span, sum(signs.calls.values())) == (5, 2)
    assert [step.anchor for step in shown.main.steps if step.agents] == ["L4"]
    assert (run.run.harness_version, OF_ANOTHER in run.run.notes) == ("2.1.329", True)
