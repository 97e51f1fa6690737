"""Workflows: scripts that the model starts, and that ask sub-agents of their own.

What a script asked for stands in a journal, `<session>/subagents/workflows/<run>/journal.jsonl`,
beside the files of its sub-agents. The run is shown as a sub-agent whose calls are for those. When
it has ended, `<session>/workflows/<run>.json` says what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import count, mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import AgentStart, Event, Finish, Notice, ToolKind, ToolResult, Topic

JOURNAL = re.compile(r"(?:.*/)?workflows/([^/]+)/journal\.jsonl", re.DOTALL)
"""The path of a journal, with the run's id."""
OUTCOME = re.compile(r"(?:.*/)?workflows/(wf_[^/]+)\.json", re.DOTALL)
"""The path of what came of a workflow, with the run's id."""
TYPE = "local_workflow"
"""What the result of a call says of a workflow that was started."""
FILES = r"workflows/(?:[^/]+/(?:journal|agent-[^/]+)\.jsonl|wf_[^/]+\.json)"
"""How the paths of a workflow's files end, which tell whose they are."""
_TOOL = "agent"
"""How a script asks for a sub-agent."""
_KINDS = {_TOOL: ToolKind.AGENT}


def is_of_workflow(value: Mapping[str, object]) -> bool:
    """Whether this is a row of a journal, or what came of a workflow."""
    if value.get("type") in ("started", "result", "failed"):
        return isinstance(value.get("key"), str) and isinstance(value.get("agentId"), str)
    return isinstance(value.get("runId"), str) and isinstance(value.get("workflowProgress"), list)


def journal(row: Row) -> Iterator[Event]:
    """What a row of a journal tells."""
    child = row.text("agentId")
    match kind := row.text("type"):
        case "started" if child:
            label = row.text("label")
            yield row.call(_KINDS, _TOOL, {"title": label} if label else {}, child)
            yield row.event(AgentStart, child=child, call_id=child, title=label)
        case "result" | "failed":
            failed = True if kind == "failed" else None
            yield row.event(ToolResult, call_id=child, output=row.text("result"), is_error=failed)
        case "launched":
            yield row.trace(f"workflow/{kind}")
        case _:
            yield row.unknown(f"workflow/{kind}")


def outcome(row: Row) -> Iterator[Event]:
    """What came of a workflow: what its script logged, its agents by phase, how it ended."""
    logged = [text(line) for line in sequence(row.value.get("logs"))]
    agents = list(_agents(row))
    if logged or agents:
        told = "\n".join([*logged, *([""] if logged else []), *agents])
        yield row.event(Notice, topic=Topic.NOTE, text=told)
    status, millis = row.text("status"), count(row.value.get("durationMs"))
    yield row.event(
        Finish,
        ok=status == "completed" if status else None,
        reason=status,
        text=row.text("error") or row.text("result"),
        seconds=None if millis is None else millis / 1000,
        raw=row.raw,
    )


def _agents(row: Row) -> Iterator[str]:
    """Phase by phase, what became of each agent."""
    held: dict[str, list[str]] = {}
    for agent in map(mapping, sequence(row.value.get("workflowProgress"))):
        if agent.get("type") == "workflow_agent":
            held.setdefault(text(agent.get("phaseTitle")), []).append(_agent(agent))
    for phase in map(mapping, sequence(row.value.get("phases"))):
        title = text(phase.get("title"))
        yield ": ".join(filter(None, [title, text(phase.get("detail"))]))
        yield from held.pop(title, ())
    for agents in held.values():
        yield from agents


def _agent(agent: Mapping[str, object]) -> str:
    tokens, calls = count(agent.get("tokens")), count(agent.get("toolCalls"))
    millis = count(agent.get("durationMs"))
    told = (
        text(agent.get("state")),
        f"{tokens} tokens" if tokens else "",
        f"{calls} calls" if calls else "",
        f"{millis / 1000} s" if millis else "",
    )
    return f"  {text(agent.get('label'))}: {', '.join(filter(None, told))}"
