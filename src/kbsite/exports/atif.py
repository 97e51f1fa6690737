"""A run as a trajectory in ATIF v1.7, Harbor's interchange format, sub-agents embedded.

Left out, and counted in `notes`: bookkeeping, rows that kbsite does not know or cannot read, the
CLI's richer copies of results, and pictures without an address. The raw transcript has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct, field

from kbsite.exports.plain import filled, iso, plain
from kbsite.exports.steps import Turn, groups
from kbsite.model.board import Attempt
from kbsite.model.config import canary_line
from kbsite.model.event import (
    Event,
    Finish,
    Image,
    Message,
    Notice,
    Role,
    Session,
    ToolCall,
    ToolResult,
)
from kbsite.model.run import Run
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.model.usage import Usage, made_up, of_run

VERSION = "ATIF-v1.7"
PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The types of pictures that the format knows."""
LEFT_OUT = ("session", "finish", "trace", "unknown", "malformed")
"""Events that have no step of their own."""
NOTHING = "The transcript tells no step of this agent."

Json = dict[str, object]


def trajectory(told: Transcript, attempt: Attempt, canary: str = "") -> Iterator[str]:
    """The whole document on one line, in pieces: a transcript is never one text.

    `canary` is the GUID of the site's canary.
    No blank stands outside of its texts, as in what other programs write for programs.
    """
    run, session = attempt.run, told.session
    usage = of_run(told.usage, run.usage)
    cost = told.cost_usd if run.cost_usd is None else run.cost_usd
    writer = _Writer(_agent(run, session), made_up(told.usage, run.usage))
    head: Json = {
        "session_id": (session.session_id if session else "") or run.id,
        "trajectory_id": run.id,
        "agent": writer.agent,
    }

    def tail(steps: int) -> Json:
        return {
            "notes": _notes(told, writer.pictures),
            "final_metrics": {**_metrics(usage, cost, "total_"), "total_steps": steps},
            "extra": filled({**_facts(told, attempt), "canary": canary_line(canary)}),
        }

    yield from writer.document(told.main, head, tail, told.unlinked)
    yield "\n"


def _agent(run: Run, session: Session | None) -> Json:
    """The CLI that ran, and its model."""
    version = session.harness_version if session else ""
    return filled({
        "name": run.harness,
        "version": run.harness_version or version or "unknown",
        "model_name": run.model,
        "tool_definitions": _tools(session.tools if session else ()),
        "extra": filled({"reasoning_effort": run.effort}),
    })  # fmt: skip


def _members(facts: Json, *, first: bool = False) -> Iterator[str]:
    """What is known of some facts, as members of an object; whether they are its `first`."""
    for number, (key, value) in enumerate(filled(facts).items()):
        yield f'{"" if first and not number else ","}"{key}":{_json(value)}'


def _list(key: str, values: Iterable[Iterable[str]]) -> Iterator[str]:
    """A list as a member of an object that has others before it; nothing if it is empty."""
    number = -1
    for number, value in enumerate(values):
        yield "," if number else f',"{key}":['
        yield from value
    yield "]" if number >= 0 else ""


def _json(value: object) -> str:
    try:
        data = msgspec.json.encode(value)
        # Most steps hold no such word at all, which is told at once.
        if b"null" in data and any(
            data[at.start() - 1] in b":[," for at in _NOTHING.finditer(data)
        ):
            # It may stand for a number without end, which this refuses.
            json.dumps(value, allow_nan=False)
    except (ValueError, OverflowError):
        # Rare: such numbers, halves of characters, integers of many digits.
        held = plain(value, 1 - DEEPEST)
        return json.dumps(held, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return data.decode()


_NOTHING = re.compile(rb"null[,\]}]")
"""A null, or the end of a text: many commands name /dev/null. What stands before one is asked for
afterwards: a pattern that begins with a word is looked for six times as fast."""

DEEPEST = 128
"""Levels that the document itself may have, sub-agents within sub-agents included."""


def _tools(names: Sequence[str]) -> list[Json]:
    return [{"type": "function", "function": {"name": name}} for name in names]


def _facts(told: Transcript, attempt: Attempt) -> Json:
    """What is recorded of the run and its grade, for which the format has no place."""
    run = attempt.run
    return filled({
        "board": run.board,
        "problem": run.problem,
        "started": iso(run.started),
        "ended": iso(run.ended),
        "end_reason": run.end_reason.value,
        "status": attempt.metrics.status.value,
        "peak_fraction": attempt.metrics.peak_fraction,
        "verdict": attempt.audit.verdict.value if attempt.audit else None,
        "format": told.format,
        "files": list(told.files),
        "finish": _finish(told.finish),
    })  # fmt: skip


def _finish(finish: Finish | None) -> Json:
    if finish is None:
        return {}
    return filled({"ok": finish.ok, "reason": finish.reason, "text": finish.text})


def _notes(told: Transcript, pictures: int) -> str:
    """Where the trajectory comes from, and what it leaves out."""
    left = [f"{told.kinds[kind]} {kind}" for kind in LEFT_OUT if told.kinds.get(kind)]
    notes = [f"Written by kbsite from a transcript of the format {told.format}."]
    if left:
        notes.append(f"Rows without a step: {', '.join(left)}; the raw transcript has them.")
    if pictures:
        notes.append(f"Pictures named by type and size only: {pictures}.")
    if told.lower_bound:
        notes.append("Token counts and cost are lower bounds: the transcript does not tell of all.")
    return " ".join(notes)


def _metrics(usage: Usage, cost: float | None = None, prefix: str = "") -> Json:
    """A token count; what a cache served or took in is part of the prompt."""
    return filled({
        f"{prefix}prompt_tokens": usage.sent,
        f"{prefix}completion_tokens": usage.output,
        f"{prefix}cached_tokens": usage.cache_read,
        f"{prefix}cost_usd": cost,
        "extra": filled({
            f"{prefix}cache_creation_input_tokens": usage.cache_write,
            f"{prefix}ephemeral_1h_input_tokens": usage.cache_write_1h,
            f"{prefix}reasoning_tokens": usage.reasoning,
        }),
    })  # fmt: skip


class _Names(Struct):
    """Ids of calls or trajectories, no two the same."""

    seen: dict[str, int] = field(default_factory=dict)
    """The ids that are taken, each with the last number that was put behind it."""

    def of(self, name: str) -> str:
        """The next id: the CLI's own, with a number where it is taken."""
        own = str(plain(name))
        found, again = own, self.seen.get(own, 1)
        while found in self.seen:
            again += 1
            found = f"{own}~{again}"
        self.seen[own] = again
        self.seen.setdefault(found, 1)
        return found


class _Below(Struct):
    """What is known of an agent's steps once they are written: how many, and who is below them."""

    ids: _Names
    steps: int = 0
    found: list[tuple[str, AgentLog]] = field(default_factory=list)

    def id_of(self, log: AgentLog) -> str:
        """Take one; the id of its trajectory."""
        trajectory_id = self.ids.of(log.id)
        self.found.append((trajectory_id, log))
        return trajectory_id


class _Writer(Struct):
    """What the trajectories of one document share."""

    agent: Json
    made_up: frozenset[str]
    """Kinds of tokens of which its CLI writes 0 and knows nothing."""
    pictures: int = 0
    """Pictures that the format has no place for."""
    ids: _Names = field(default_factory=_Names)
    """Ids of sub-agents' trajectories."""

    def document(
        self, log: AgentLog, head: Json, tail: Callable[[int], Json], more: Sequence[AgentLog] = ()
    ) -> Iterator[str]:
        """The trajectory of an agent, those of the sub-agents below it and of `more` in it.

        `tail` tells what ends it, given its number of steps.
        """
        below = _Below(self.ids)
        yield "{"
        yield from _members({"schema_version": VERSION, **head}, first=True)
        yield from _list("steps", ([_json(step)] for step in self._steps(log, below)))
        for other in more:
            below.id_of(other)
        yield from _list("subagent_trajectories", map(self._below, below.found))
        yield from _members(tail(below.steps))
        yield "}"

    def _below(self, found: tuple[str, AgentLog]) -> Iterator[str]:
        """The trajectory of a sub-agent."""
        trajectory_id, log = found
        agent = {key: self.agent[key] for key in ("name", "version")}
        usage = _metrics(log.usage.lacking(self.made_up), prefix="total_")
        return self.document(
            log,
            {"trajectory_id": trajectory_id, "agent": agent},
            lambda steps: {"notes": log.title, "final_metrics": {**usage, "total_steps": steps}},
        )

    def _steps(self, log: AgentLog, below: _Below) -> Iterator[Json]:
        """The steps of an agent; `below` takes the sub-agents that they start."""
        calls = _Names()
        for group in groups(log.steps):
            if isinstance(group, Turn):
                facts = self._turn(group, calls, below)
            else:
                facts = self._other(group.event)
            below.steps += 1
            yield filled({"step_id": below.steps, **facts}) | {"message": facts["message"]}
        if not below.steps:
            below.steps = 1
            yield {"step_id": 1, "source": "system", "message": NOTHING}

    def _turn(self, turn: Turn, calls: _Names, below: _Below) -> Json:
        """A step of the model."""
        asked, results = self._calls(turn, calls, below)
        messages = turn.messages
        thoughts = [thought.text for thought in turn.thoughts if thought.text]
        images = [image for message in messages for image in message.images]
        texts = [message.text for message in messages if message.text]
        return {
            "timestamp": next((iso(s.event.at) for s in turn.items if s.event.at), None),
            "source": "agent",
            "model_name": next((m.model for m in messages if m.model), None),
            "message": self._content("\n\n".join(texts), images),
            "reasoning_content": "\n\n".join(thoughts),
            "tool_calls": asked,
            "observation": filled({"results": results}),
            "metrics": _metrics(turn.usage.lacking(self.made_up)),
        }

    def _calls(self, turn: Turn, calls: _Names, below: _Below) -> tuple[list[Json], list[Json]]:
        """What a step of the model asks for, and what came back."""
        asked: list[Json] = []
        results: list[Json] = []
        for step in turn.calls:
            assert isinstance(step.event, ToolCall)
            call_id = calls.of(step.event.call_id or f"unnamed-{step.anchor}")
            asked.append(_call(step.event, call_id))
            results += self._result(step, call_id, below)
        return asked, results

    def _result(self, step: Step, call_id: str, below: _Below) -> Iterator[Json]:
        """What came back from a call, and which sub-agents it started."""
        refs = [{"trajectory_id": below.id_of(log)} for log in step.agents]
        told = self._told(step.result) if step.result else {}
        if told or refs:
            yield {"source_call_id": call_id, **told, **filled({"subagent_trajectory_ref": refs})}

    def _told(self, result: ToolResult) -> Json:
        extra = filled({
            "is_error": result.is_error,
            "exit_code": result.exit_code,
            "seconds": result.seconds,
            "side_files": list(result.side_files),
        })  # fmt: skip
        content = self._content(result.output, result.images)
        return {"content": content, **filled({"extra": extra})}

    def _other(self, event: Event) -> Json:
        """A step that is not the model's."""
        facts: Json = {"timestamp": iso(event.at), "source": "system", "message": ""}
        match event:
            case Message():
                facts["source"] = "user" if event.role is Role.USER else "system"
                facts["message"] = self._content(event.text, event.images)
                facts["extra"] = filled({"injected": event.injected or None})
            case Notice():
                facts["message"] = event.text
                facts["extra"] = {"notice": event.topic.value}
            case ToolResult():
                facts["observation"] = {"results": [self._told(event)]}
                facts["extra"] = filled({"result_of": event.call_id})
            case _:
                pass
        return facts

    def _content(self, text: str, images: Sequence[Image]) -> str | list[Json]:
        """Text alone, or text and pictures as parts."""
        if not images:
            return text
        parts: list[Json] = [{"type": "text", "text": text}] if text else []
        for image in images:
            if linked(image):
                source = {"media_type": image.media_type, "path": image.url}
                parts.append({"type": "image", "source": source})
            else:
                self.pictures += 1
                named = f"[picture: {image.media_type}, {len(image.data)} characters of base64]"
                parts.append({"type": "text", "text": named})
        return parts


def linked(image: Image) -> bool:
    """Whether the format can point at a picture: it is on the web, and of a type that it knows."""
    web = image.url.startswith(("https://", "http://")) and image.url.isprintable()
    return web and image.media_type in PICTURES


def _call(call: ToolCall, call_id: str) -> Json:
    """A call; arguments that are no object are given as `input`."""
    given = call.arguments
    asked: Json = {
        "tool_call_id": call_id,
        "function_name": call.tool,
        "arguments": {"input": given} if isinstance(given, str) else plain(dict(given)),
    }
    extra = {"arguments": "text"} if isinstance(given, str) else {}
    if call.described:
        extra["description"] = call.described
    if extra:
        asked["extra"] = extra
    return asked
