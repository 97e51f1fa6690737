"""The steps of a run: number, place and time of each, then what was said, asked and answered."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.exports.markdown.excerpts import OUTPUT, TEXT, Bound, Left, excerpt
from kbsite.exports.markdown.fences import aside, code, fenced
from kbsite.harnesses.lines import dump
from kbsite.model.counts import figure
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Session,
    Thought,
    ToolCall,
    ToolResult,
    Unknown,
)
from kbsite.model.transcript import AgentLog, Step, Transcript


def steps(told: Transcript, left: Left) -> Iterator[str]:
    """The lines of every step; what they leave out is added to `left`."""
    for log in told.agents:
        if log.id:
            yield f"### Sub-agent {code(log.id)}{aside(log.title)}, which nothing ties to a call\n"
        yield from _log(log, "", left)
    if told.finish and told.finish.source.file not in told.files:
        title, *blocks = _remark(told.finish, left)
        yield from [f"#### {code(told.finish.source.file)} · {title}", *blocks]


def _log(log: AgentLog, prefix: str, left: Left) -> Iterator[str]:
    """The steps of an agent, and below a call those of the sub-agents that it started."""
    number = 0
    for step in log.steps:
        body = list(_body(step, left))
        if not body:
            left.rows += 1
            continue
        number += 1
        title, *blocks = body
        time = "" if step.elapsed is None else f" · {int(step.elapsed)} s"
        yield f"#### {prefix}{number} · {code(step.anchor)}{time} · {title}"
        yield from blocks
        yield ""
        for agent in step.agents:
            yield f"### Sub-agent {code(agent.id)}{aside(agent.title)}, of step {prefix}{number}\n"
            yield from _log(agent, f"{prefix}{number}.", left)
            yield f"### End of sub-agent {code(agent.id)}\n"


def _body(step: Step, left: Left) -> Iterator[str]:
    """The title of a step, then its blocks; nothing for bookkeeping."""
    event = step.event
    match event:
        case Message():
            yield f"{event.role.value}{', put in by the CLI' if event.injected else ''}"
            yield from _block(event.text, OUTPUT if event.injected else TEXT, left)
            yield from _pictures(len(event.images), left)
        case Thought():
            yield "thought" if event.text else "thought, not told"
            yield from _block(event.text, TEXT, left)
        case ToolCall():
            yield f"call of {code(event.tool)}"
            yield from _block(_asked(event), TEXT, left)
            yield from _block(event.described, TEXT, left)
            yield from _result(step.result, left)
        case ToolResult():
            yield f"result of a call that is not there{aside(event.call_id)}"
            yield from _result(event, left)
        case _:
            yield from _remark(event, left)


def _remark(event: Event, left: Left) -> Iterator[str]:
    match event:
        case Notice():
            yield f"notice: {event.topic.value}"
            yield from _block(event.text, TEXT, left)
        case Finish():
            yield f"finish{aside(event.reason)}"
            yield from _block(event.text, OUTPUT, left)
        case Session(model=model, effort=effort):
            yield "session" + aside(" ".join(filter(None, [model, effort])))
        case Unknown():
            yield f"row of an unknown type, {code(event.type)}"
            yield from _block(event.raw, OUTPUT, left)
        case Malformed():
            yield f"unreadable: {code(event.reason)}"
            yield from _block(event.text, OUTPUT, left)
        case _:
            return


def _asked(call: ToolCall) -> str:
    """What a call asks for: its arguments, each on its own lines, texts as they are."""
    if isinstance(call.arguments, str):
        return call.arguments
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else dump(value)}"
        for key, value in call.arguments.items()
    )


def _result(result: ToolResult | None, left: Left) -> Iterator[str]:
    if result is None:
        yield "No result came back."
        return
    facts = [
        "an error" if result.is_error and result.failed else "",
        "" if result.exit_code is None else f"exit code {result.exit_code}",
        "" if result.seconds is None else f"{figure(result.seconds, 3)} s",
        "" if result.output else "empty",
    ]
    yield ", ".join(["Result", *filter(None, facts)]) + ":"
    yield from _block(result.output, OUTPUT, left)
    yield from _pictures(len(result.images), left)


def _pictures(number: int, left: Left) -> Iterator[str]:
    if number:
        left.pictures += number
        yield f"({number} picture{'s' if number > 1 else ''} left out)"


def _block(text: str, bound: Bound, left: Left) -> Iterator[str]:
    if text.strip():
        yield fenced(excerpt(text, bound, left))
