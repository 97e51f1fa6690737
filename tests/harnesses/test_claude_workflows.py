"""Claude Code's workflows: scripts that ask sub-agents of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kbsite.fold.steps import Fold
from kbsite.harnesses.claude import FORMATS
from kbsite.harnesses.form import matches
from kbsite.model.event import Finish, Notice, ToolCall, ToolKind, Trace, Unknown
from kbsite.model.transcript import Step, Transcript
from tests.harnesses.claude_rows import assistant, call, only, read, result, user

LOGS = "home/.claude/projects/-w/s/"
RUN = LOGS + "subagents/workflows/wf_1/"
STARTED = {"type": "started", "key": "v2:k", "agentId": "a1", "label": "one"}
ENDED = {"type": "result", "key": "v2:k", "agentId": "a1", "result": "hello ✓", "sessionId": "s"}
NOTE = LOGS + "workflows/wf_1.json"
AGENT = {
    "type": "workflow_agent", "index": 1, "label": "one", "phaseIndex": 1, "phaseTitle": "Look",
    "agentId": "a1", "state": "done", "tokens": 1053, "toolCalls": 2, "durationMs": 192,
}  # fmt: skip
OUTCOME = {
    "runId": "wf_1", "timestamp": "2026-11-27T16:48:16.625Z", "script": "agent()",
    "result": {"a": "hello"}, "agentCount": 1, "logs": ["starting", "ended"], "durationMs": 273,
    "workflowName": "w", "status": "completed", "phases": [{"title": "Look", "detail": "once"}],
    "workflowProgress": [{"type": "workflow_phase", "index": 1, "title": "Look"}, AGENT],
}  # fmt: skip
"""As 2.1.332 writes it when a workflow has ended."""
LAUNCHED = {
    "status": "async_launched", "taskType": "local_workflow", "runId": "wf_1", "workflowName": "w",
}  # fmt: skip


def session(*journal: Any, outcome: Any = None) -> Transcript:
    """A session with a workflow, whose files come in the order of their names."""
    main = [
        user("go"), assistant(call("c1", "Workflow", script="agent()", title="A workflow")),
        user([result("c1", "Launched.")], toolUseResult=LAUNCHED),
    ]  # fmt: skip
    of_child: dict[str, Any] = {"agentId": "a1", "isSidechain": True}
    child = [
        user("look", **of_child), assistant({"type": "text", "text": "hello"}, **of_child),
    ]  # fmt: skip
    fold = Fold()
    for name, rows in ((f"{RUN}agent-a1.jsonl", child), (f"{RUN}journal.jsonl", journal),
                       (NOTE, [outcome] if outcome else []),
                       (LOGS[:-1] + ".jsonl", main)):  # fmt: skip
        for event in read(*rows, file=name):
            fold.add(event)
    return fold.transcript("", "", ())


def calls(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step.event, ToolCall)]


def test_a_workflow_stands_below_its_call_and_its_agents_below_it() -> None:
    told = session({"type": "launched"}, STARTED, ENDED)
    (asked,) = calls(told.main.steps)
    (run,) = asked.agents
    (inner,) = calls(run.steps)

    assert isinstance(asked.event, ToolCall)
    assert (asked.event.tool_kind, run.id, run.title) == (ToolKind.AGENT, "wf_1", "w")
    assert isinstance(inner.event, ToolCall)
    assert (inner.event.tool_kind, inner.event.summary) == (ToolKind.AGENT, "one")
    assert (inner.result and inner.result.output, inner.agents[0].id) == ("hello ✓", "a1")
    assert (told.unlinked, told.unknown) == ((), {})


def test_a_journal_is_not_the_main_file() -> None:
    told = session({"type": "launched"})

    assert told.main.steps[0].anchor == "L1"


def test_an_agent_that_failed_says_so() -> None:
    told = session(STARTED, {"type": "failed", "key": "v2:k", "agentId": "a1"})
    (inner,) = calls(calls(told.main.steps)[0].agents[0].steps)

    assert inner.result is not None
    assert inner.result.is_error


def test_other_rows_of_a_journal_are_kept() -> None:
    trace = only(Trace, read({"type": "launched"}, file=f"{RUN}journal.jsonl"))
    unknown = only(Unknown, read({"type": "new"}, file=f"{RUN}journal.jsonl"))

    assert (trace.type, trace.agent) == ("workflow/launched", "wf_1")
    assert (unknown.type, unknown.agent) == ("workflow/new", "wf_1")


def test_what_came_of_a_workflow_ends_it() -> None:
    told = session(STARTED, ENDED, outcome=OUTCOME)
    (run,) = calls(told.main.steps)[0].agents
    notice, end = (step.event for step in run.steps[-2:])

    assert isinstance(notice, Notice)
    assert notice.text.splitlines() == [
        "starting", "ended", "", "Look: once", "  one: done, 1053 tokens, 2 calls, 0.192 s",
    ]  # fmt: skip
    assert isinstance(end, Finish)
    assert (end.ok, end.reason, end.seconds) == (True, "completed", 0.273)
    assert end.text == '{"a": "hello"}'
    assert (told.finish, told.main.steps[0].anchor) == (None, "L1")


def test_a_workflow_that_failed_says_why() -> None:
    failed = OUTCOME | {"status": "failed", "result": None, "error": "Error: no", "logs": []}
    end = only(Finish, read(failed | {"workflowProgress": "?"}, file=NOTE))

    assert (end.ok, end.reason, end.text, end.agent) == (False, "failed", "Error: no", "wf_1")


def test_a_note_of_a_workflow_may_be_anything() -> None:
    odd = read({"logs": {"a": 1}, "phases": ["x"], "workflowProgress": [{}, 1]}, file=NOTE)

    assert only(Finish, odd).ok is None
    assert "".join(e.raw for e in odd if isinstance(e, Finish)).startswith('{"logs"')


def test_the_note_is_a_file_of_the_format() -> None:
    assert any(matches(NOTE, glob) for glob in FORMATS[0].globs)
