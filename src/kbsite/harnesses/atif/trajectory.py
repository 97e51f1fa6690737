"""A trajectory document: its head, its steps, its totals, and those of sub-agents within it.

There are no lines to count in a document, so an event's line is an ordinal: of the head, of each
step, of the totals, and then the same of each sub-agent's trajectory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kbsite.harnesses.atif.metrics import Messages, cost, usage, written_apart
from kbsite.harnesses.atif.steps import child_id, events, stands_for_a_call
from kbsite.harnesses.lines import Line, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Ordinals, Row
from kbsite.harnesses.tools import definitions
from kbsite.model.event import Event, Malformed, Notice, Scope, Session, TokenUse, Topic
from kbsite.model.usage import Usage

Held = Mapping[str, object]

SIDECHAIN = "sidechain"
"""Stands for the sub-agents of Claude Code whose steps an early converter did not tell apart."""
_APART = frozenset({"steps", "subagent_trajectories"})


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader(file)
    for row in reader.read(lines):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from reader.document(row.value)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a trajectory of any version."""
    return bool(head) and text(head[0].get("schema_version")).startswith("ATIF-v")


class _Reader(Ordinals):
    """How far a file is read."""

    unnamed: int = 0
    """Sub-agents whose trajectory has no id."""

    def row(self, value: Held, agent: str) -> Row:
        """What comes next in the file."""
        return Row(value, None, self.place(), timestamp(value.get("timestamp")), agent)

    def document(self, value: Held) -> Iterator[Event]:
        """A trajectory, and then those of its sub-agents."""
        waiting = deque([(value, "")])
        while waiting:
            held, agent = waiting.popleft()
            yield from _Trajectory(self, held, agent).events()
            for item in sequence(held.get("subagent_trajectories")):
                child = mapping(item)
                if child:
                    waiting.append((child, self._child(child)))
                else:
                    yield self.row({}, agent).unknown("subagent_trajectory", item)

    def _child(self, trajectory: Held) -> str:
        self.unnamed += 1
        return child_id(trajectory) or f"sub-agent {self.unnamed}"


@dataclass(slots=True)
class _Trajectory:
    """One trajectory while it is read."""

    reader: _Reader
    value: Held
    agent: str
    messages: Messages = field(default_factory=Messages)
    written_apart: bool = field(init=False)

    def __post_init__(self) -> None:
        self.written_apart = written_apart(
            mapping(mapping(step).get("metrics")) for step in sequence(self.value.get("steps"))
        )

    def events(self) -> Iterator[Event]:
        """The events of its head, steps and totals."""
        yield from self._head()
        steps = self.value.get("steps")
        for item in steps if isinstance(steps, list) else []:
            step = mapping(item)
            row = self.reader.row(step, self._owner(step))
            if step:
                yield from row.told(events(row), "step")
                yield from self._count(row)
            else:
                yield row.unknown("step", item)
        if steps and not isinstance(steps, list):
            yield self.reader.row({}, self.agent).unknown("steps", steps)
        final = mapping(self.value.get("final_metrics"))
        if final:
            row = self.reader.row(final, self.agent)
            yield from row.told(self._total(row), "final_metrics")

    def _head(self) -> Iterator[Event]:
        head = {key: value for key, value in self.value.items() if key not in _APART}
        row = self.reader.row(head, self.agent)
        agent = mapping(head.get("agent"))
        defined = [mapping(item) for item in sequence(agent.get("tool_definitions"))]
        tools = [mapping(item.get("function")) or item for item in defined]
        version = (text(agent.get("name")), text(agent.get("version")))
        efforts = (
            mapping(step).get("reasoning_effort") for step in sequence(self.value.get("steps"))
        )
        yield row.event(
            Session,
            session_id=text(head.get("session_id")),
            model=text(agent.get("model_name")),
            effort=text(next(filter(None, efforts), None)),
            harness_version=" ".join(filter(None, version)),
            tools=tuple(text(tool["name"]) for tool in tools if tool.get("name")),
            definitions=definitions(tools),
            raw=row.raw,
        )
        if head.get("notes"):
            yield row.event(Notice, topic=Topic.NOTE, text=text(head["notes"]))
        if head.get("continued_trajectory_ref"):
            told = f"Continued in {text(head['continued_trajectory_ref'])}"
            yield row.event(Notice, topic=Topic.NOTE, text=told)

    def _owner(self, step: Held) -> str:
        """The agent that a step belongs to."""
        if mapping(step.get("extra")).get("is_sidechain") is not True:
            return self.agent
        told = mapping(mapping(self.value.get("agent")).get("extra")).get("agent_ids")
        ids = sequence(told)
        return (text(ids[0]) if len(ids) == 1 else "") or SIDECHAIN

    def _count(self, row: Row) -> Iterator[Event]:
        """The tokens of a step, unless it only repeats one of an earlier trajectory."""
        told = mapping(row.value.get("metrics"))
        counted = usage(told, written_apart=self.written_apart)
        if row.value.get("is_copied_context") is True:
            return
        if not counted.known and cost(told) is None:
            return
        model = text(row.value.get("model_name"))
        repeats = stands_for_a_call(row.value)
        step = f"{row.place.file} step {row.place.line}"
        yield row.event(
            TokenUse,
            usage=counted,
            scope=Scope.MESSAGE,
            message_id=self.messages.message_id(step, model, told, may_repeat=repeats),
            model=model,
            cost_usd=cost(told),
        )

    def _total(self, row: Row) -> Iterator[Event]:
        """The totals as the trajectory tells them; a sub-agent's are within its parent's."""
        told = usage(row.value, "total_", written_apart=self.written_apart)
        spent = cost(row.value, "total_")
        if self.messages.inflated(told):
            yield row.notice(
                Topic.NOTE,
                "The totals of this trajectory count a message once for each of its steps; "
                "kbsite counts it once.",
            )
            told = Usage()
        if told.known or spent is not None:
            yield row.event(
                TokenUse,
                usage=told,
                scope=Scope.AGENT if self.agent else Scope.RUN,
                message_id=text(self.value.get("session_id")),
                cost_usd=spent,
            )
