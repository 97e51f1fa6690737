"""The log of a sub-agent alone, as somebody has who was sent no more, or whose session was lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.check.logs import transcript_findings
from kbsite.errors import InputError
from kbsite.importers.transcript import OF_ANOTHER, import_transcripts
from kbsite.model.event import Message
from kbsite.store.runs import read_run
from kbsite.trajectories import trajectory
from kbsite.transcripts import tokens, transcript
from tests.harnesses import claude_rows
from tests.harnesses.kimi_rows import asked, below, came, spent, wired, written


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


def _claude(folder: Path) -> list[Path]:
    """All files of a session of Claude Code's with a sub-agent and a workflow."""
    beside: dict[str, Any] = {"isSidechain": True}
    said = claude_rows.assistant({"type": "text", "text": "hello"})
    launched = {"taskType": "local_workflow", "runId": "wf_1", "workflowName": "w"}
    files: dict[str, list[Any]] = {
        "s.jsonl": [
            claude_rows.user("Go."),
            claude_rows.assistant(claude_rows.call("t1", "Agent", prompt="More.")),
            claude_rows.assistant(claude_rows.call("t2", "Workflow", script="agent()")),
            claude_rows.user([claude_rows.result("t2", "Launched.")], toolUseResult=launched),
        ],
        "s/subagents/agent-x.jsonl": [said | beside | {"agentId": "x"}],
        "s/subagents/agent-x.meta.json": [
            {"agentType": "general-purpose", "description": "more", "toolUseId": "t1"}
        ],
        "s/subagents/workflows/wf_1/journal.jsonl": [
            {"type": "launched"}, {"type": "started", "key": "k", "agentId": "y", "label": "one"}
        ],
        "s/subagents/workflows/wf_1/agent-y.jsonl": [said | beside | {"agentId": "y"}],
        "s/workflows/wf_1.json": [
            {"runId": "wf_1", "status": "completed", "workflowProgress": [], "logs": ["ended"]}
        ],
    }  # fmt: skip
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [folder / name for name in files]


def test_what_claude_code_keeps_beside_sub_agents_logs_is_imported_with_them(
    tmp_path: Path,
) -> None:
    """The note that says which call started it, and the journal and outcome of a workflow."""
    run = read_run(import_transcripts(_claude(tmp_path / "-w"), tmp_path / "mine"))
    shown = transcript("claude", run.transcripts)

    assert shown is not None
    assert shown.unlinked == ()
    first, second = (step.agents[0] for step in shown.main.steps if step.agents)
    assert (first.id, first.title) == ("x", "more")
    assert second.id == "wf_1"
    assert [agent.id for step in second.steps for agent in step.agents] == ["y"]


def _kimi(folder: Path, later: float = 0) -> list[Path]:
    """The files of a session of kimi-cli's with a sub-agent, whose own log says no more of it.

    `later`, in seconds: no two sessions have rows of one moment, unless one copied the other.
    """
    given = json.dumps({"description": "look", "prompt": "p"})
    own = [wired("TurnBegin", user_input="p"), asked("c2", '{"command": "ls"}'), came("c2", "x")]
    own += [wired("StepBegin", n=2), spent(7, 2)]
    main = [wired("TurnBegin", user_input="Do."), asked("c1", given, tool="Agent")]
    main += [below("a1", "c1", row["message"]["type"], **row["message"]["payload"]) for row in own]
    main += [came("c1", "agent_id: a1\n\nx"), spent(5, 1)]
    files = {folder / "s1" / "wire.jsonl": main, folder / "s1/subagents/a1/wire.jsonl": own}
    for path, held in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = ({**row, "timestamp": row["timestamp"] + later} for row in held)
        path.write_text(written(*rows))
    return list(files)


def test_what_a_model_held_is_imported_with_its_logs_and_is_no_session_alone(
    tmp_path: Path,
) -> None:
    """kimi-cli's: the system prompts of the session and of its sub-agent stand there."""
    logs = _kimi(tmp_path / "h")
    held = [log.with_name("context.jsonl") for log in logs]
    for nth, path in enumerate(held):
        path.write_text(written({"role": "_system_prompt", "content": f"Be {nth}."}))
    run = read_run(import_transcripts([*logs, *held], tmp_path / "mine"))
    shown = transcript("kimi", run.transcripts)

    assert shown is not None
    (child,) = [log for step in shown.main.every_step for log in step.agents]
    firsts = [log.steps[0].event for log in (shown.main, child)]
    assert [one.text for one in firsts if isinstance(one, Message)] == ["Be 0.", "Be 1."]
    assert (run.run.usage.sent, run.run.usage.output) == (12, 3)
    assert shown.unlinked == ()
    assert [one.severity.value for one in transcript_findings(run)] == []
    with pytest.raises(InputError, match="no transcript to show"):
        import_transcripts(held[:1], tmp_path / "mine")


def test_a_sub_agents_log_that_only_its_folder_tells_of_is_none_of_the_session(
    tmp_path: Path,
) -> None:
    """kimi-cli's: it repeats what the session's log has, and stood there as the session's own."""
    run = read_run(import_transcripts(_kimi(tmp_path / "h"), tmp_path / "mine"))
    shown = transcript("kimi", run.transcripts)

    assert shown is not None
    assert [file.name for file in run.transcripts] == [
        "session/subagents/a1/wire.jsonl",
        "session/wire.jsonl",
    ]
    assert sum(trajectory(shown, run.run).signs.calls.values()) == 2
    assert (run.run.usage.sent, run.run.usage.output) == (12, 3)
    assert shown.unlinked == ()
    # Whoever counts without holding the transcript comes to the same: the check, and the runner.
    assert tokens("kimi", run.transcripts, 1000) == run.run.usage
    assert list(transcript_findings(run)) == []


def test_such_logs_of_several_sessions_stay_apart(tmp_path: Path) -> None:
    files = [*_kimi(tmp_path / "h"), *_kimi(tmp_path / "i" / "s2", later=60)]
    run = read_run(import_transcripts(files, tmp_path / "mine"))

    assert len(run.transcripts) == 4
    assert run.run.usage.sent == 24
    assert list(transcript_findings(run)) == []


def test_such_a_log_alone_is_a_session(tmp_path: Path) -> None:
    _, own = _kimi(tmp_path / "h")
    run = read_run(import_transcripts([own], tmp_path / "mine"))

    assert [file.name for file in run.transcripts] == ["session/wire.jsonl"]
    assert run.run.usage.sent == 7


def test_a_transcript_of_a_sub_agent_of_cursors_is_one(tmp_path: Path) -> None:
    files = [tmp_path / "s" / "s.jsonl", tmp_path / "s" / "subagents" / "a.jsonl"]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        said = {"role": "assistant", "message": {"content": [{"type": "text", "text": path.stem}]}}
        path.write_text(json.dumps(said) + "\n")
    shown = transcript("cursor", read_run(import_transcripts(files, tmp_path / "mine")).transcripts)

    assert shown is not None
    assert [len(log.steps) for log in (shown.main, *shown.unlinked)] == [1, 1]
