"""The items of a transcript as HTML, from the sub-agents' heads down to bookkeeping rows.

They are written here and not in a template because a transcript has tens of thousands of them, and
as short as HTML allows because their tags would outweigh what they hold: an item's classes are its
marks, what its first tags mean is told by the style sheet, and an attribute that is one word of our
own has no quotes. Every text goes through `kbsite.text`, which makes it safe for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kbsite import text as texts
from kbsite.model.counts import number_of
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    ToolCall,
    ToolResult,
    Topic,
    Unknown,
)
from kbsite.model.transcript import Step
from kbsite.model.usage import Usage
from kbsite.pages import pieces
from kbsite.pages.call_arguments import arguments
from kbsite.pages.facts import count, duration, elapsed
from kbsite.pages.steps import Item, long_command, more_recorded, slow_seconds

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

DEEPEST = 6
"""How far sub-agents are set in; what is deeper stands below them."""

_AS_WRITTEN = "as the CLI wrote it"

_TONES = {
    Topic.ERROR: "tone-bad",
    Topic.RETRY: "tone-warn",
    Topic.INTERRUPTION: "tone-warn",
    Topic.COMPACTION: "tone-info",
}


def item(held: Item, reading: Reading) -> str:
    """One item of the list. A sub-agent's items follow its head, one level deeper."""
    quoted = " quoted" if held.anchor in reading.cited.quoted else ""
    depth = f" depth-{min(held.depth, DEEPEST)}" if held.depth else ""
    opens = " opens" if held.opens is not None else ""
    classes = f"{' '.join(held.marks)}{depth}{quoted}{opens}"
    anchor = texts.plain(held.anchor)
    named = (
        f'<li class="{classes}" id={anchor}'
        if " " in classes
        else f"<li class={classes} id={anchor}"
    )
    if held.opens is not None:
        return f"{named}>{_opening(held)}\n"
    back = "back" if held.pause < 0 else "pause"
    pause = f' data-{back}="{elapsed(abs(held.pause))}"' if held.pause else ""
    if held.step is None:
        return f"{named}{pause}>{_rows(held)}\n"
    step = held.step
    when = anchor if step.elapsed is None else elapsed(step.elapsed)
    told = (
        f"{named}{pause}><a href=#{anchor}>{when}</a>"
        f"{''.join(_BODIES[type(step.event)](step, reading))}{_unanswered(held)}"
        f"{_usage(step.usage)}"
    )
    # What a model says ends its last line itself: a blank one more is weight, in every step.
    return told if told.endswith("\n") else f"{told}\n"


def finish(event: Finish) -> str:
    """The CLI's completion event, where it stands in a file that is not shown as a transcript."""
    told = f"<pre>\n{texts.inner(event.text)}</pre>" if event.text else ""
    return f"{_finish_head(event)}{told}"


def _opening(held: Item) -> str:
    agent = held.opens
    assert agent is not None
    title = texts.inner(agent.title) or "sub-agent"
    steps = number_of(len(agent.steps), "step")
    told = f"<span class=dim>{texts.inner(agent.id)} · {steps}</span>"
    return f"<b>agent</b> {title} {told} {_usage(agent.usage)}".rstrip()


def _rows(held: Item) -> str:
    rows = held.rows
    places = "".join(f"<i id={texts.plain(row.anchor)}></i>" for row in rows[1:])
    first, last = rows[0].event.source.line, rows[-1].event.source.line
    told = f"rows of bookkeeping, lines {first} to {last}"
    if len(rows) == 1:
        told = f"row of bookkeeping, line {first}"
    types = ", ".join(dict.fromkeys(str(getattr(row.event, "type", "")) for row in rows))
    return f"{places}<b>trace</b> {len(rows)} {told}: {texts.inner(types)}"


def _usage(usage: Usage) -> str:
    if not usage.known:
        return ""
    told = [f"{count(usage.sent)} in"] if usage.sent is not None else []
    if usage.output is not None:
        told.append(f"{count(usage.output)} out")
    return f"<small>{', '.join(told)}</small>"


def _unanswered(held: Item) -> str:
    """What is told of a call without a result; nothing of anything else."""
    step = held.step
    if step is None or not isinstance(step.event, ToolCall) or step.result is not None:
        return ""
    if held.went_on:
        return "<p class=dim>no result in this transcript; the agent went on"
    return "<p class=dim>no result: the session ended or was interrupted first"


def _call(step: Step, reading: Reading) -> Iterator[str]:
    call = step.event
    assert isinstance(call, ToolCall)
    summary = f" <code>{texts.inner(call.summary)}</code>" if call.summary else ""
    yield f"<p><b>{call.tool_kind.value}</b> <i>{texts.inner(call.tool)}</i>{summary}\n"
    for change in step.diffs:
        named = len(step.diffs) == 1 and change.path == call.summary
        yield pieces.diff(change, step.anchor, reading, named=named)
    command = long_command(step)
    if command:
        yield pieces.long(command, step.anchor, reading)
    yield arguments(step, reading)
    if call.described:
        yield pieces.described(call.described, step.anchor, reading)
    if step.result is None:
        return
    held, took = step.result, slow_seconds(step)
    if held.seconds is None and took is not None:
        held = replace(held, seconds=took)
    yield pieces.result(
        held, step.anchor, reading, more_recorded(step), step.result_anchor, step.diffs
    )


def _result(step: Step, reading: Reading) -> Iterator[str]:
    result = step.event
    assert isinstance(result, ToolResult)
    named = texts.inner(result.call_id)
    yield f"<p><b>result</b> <span class=dim>without a call in this transcript: {named}</span>\n"
    yield pieces.result(result, step.anchor, reading, result.recorded)


def _message(step: Step, reading: Reading) -> Iterator[str]:
    message = step.event
    assert isinstance(message, Message)
    role = message.role.value
    if message.injected:
        told = f"put in by the CLI, {pieces.lines(message.text)}"
        body = pieces.written(message.text, step.anchor, reading)
        yield f"<details><summary><b>{role}</b> {told}</summary>{body}</details>"
    elif message.role is Role.ASSISTANT:
        yield f"<b>says</b>{pieces.prose(message.text, step.anchor, reading)}"
    else:
        body = pieces.written(message.text, step.anchor, reading) if message.text else ""
        yield f"<b>{role}</b>{body}"
    yield pieces.images(message.images, step.anchor, reading)


def _thought(step: Step, reading: Reading) -> Iterator[str]:
    thought = step.event
    assert isinstance(thought, Thought)
    if thought.text:
        body = pieces.prose(thought.text, step.anchor, reading)
        told, begins = pieces.lines(thought.text), texts.plain(_begins(thought.text))
        yield f'<details><summary data-begins="{begins}"><b>thinks</b> {told}</summary>'
        yield f"{body}</details>"
    else:
        why = "the text is encrypted" if thought.encrypted else "the CLI left the text out"
        yield f"<p class=dim><b>thinks</b> {why}"


def _begins(text: str) -> str:
    """The first words of a text in Markdown, for who has it folded; a page draws them.

    They are no text of the page: what is looked for would be found twice.
    """
    line, _, _ = text.lstrip().partition("\n")
    told = line.strip(" #>*").replace("**", "").replace("`", "")
    return told if len(told) <= _FIRST_WORDS else f"{told[:_FIRST_WORDS]}…"


_FIRST_WORDS = 100
"""Characters of them."""


def _notice(step: Step, reading: Reading) -> Iterator[str]:
    notice = step.event
    assert isinstance(notice, Notice)
    tone = _TONES.get(notice.topic, "dim")
    body = pieces.long(notice.text, step.anchor, reading, coloured=True)
    raw = pieces.folded(notice.raw, _AS_WRITTEN, step.anchor, reading)
    yield f"<div class={tone}><b>{notice.topic.value}</b>{body}{raw}</div>"


def _session(step: Step, reading: Reading) -> Iterator[str]:
    session = step.event
    assert isinstance(session, Session)
    told = {
        "model": session.model,
        "effort": session.effort,
        "version": session.harness_version,
        "cwd": session.cwd,
        "id": session.session_id,
        "started by": session.parent_session,
    }
    yield f"<p><b>session</b>{_facts(told)}\n"
    if session.tools:
        yield f"<p class=dim>tools: {texts.inner(', '.join(session.tools))}\n"
    yield pieces.folded(
        session.definitions, "what the model was told of its tools", step.anchor, reading
    )
    yield pieces.folded(session.raw, _AS_WRITTEN, step.anchor, reading)


def _finish(step: Step, reading: Reading) -> Iterator[str]:
    event = step.event
    assert isinstance(event, Finish)
    yield _finish_head(event)
    if event.text:
        yield pieces.written(event.text, step.anchor, reading)
    yield pieces.folded(event.raw, _AS_WRITTEN, step.anchor, reading)


def _finish_head(event: Finish) -> str:
    tones: Mapping[bool | None, str] = {True: "tone-good", False: "tone-bad", None: "dim"}
    told = {
        "after": "" if event.seconds is None else duration(event.seconds),
        "turns": "" if event.turns is None else str(event.turns),
    }
    reason = f"<span class={tones[event.ok]}>{texts.inner(event.reason)}</span>"
    return f"<p><b>end</b> {reason}{_facts(told)}</p>\n"


def _facts(told: Mapping[str, str]) -> str:
    return "".join(
        f" <span class=fact><span class=dim>{name}</span> {texts.inner(value)}</span>"
        for name, value in told.items()
        if value
    )


def _malformed(step: Step, reading: Reading) -> Iterator[str]:
    event = step.event
    assert isinstance(event, Malformed)
    place = f"{texts.inner(event.source.file)} line {event.source.line}"
    yield f"<p class=tone-warn><b>malformed</b> {place}: {texts.inner(event.reason)}\n"
    yield pieces.long(event.text, step.anchor, reading)


def _unknown(step: Step, reading: Reading) -> Iterator[str]:
    event = step.event
    assert isinstance(event, Unknown)
    of = f"of type {texts.inner(event.type)}" if event.type else "without a type"
    told = f"a row {of}, shown as it is"
    yield f"<p class=tone-warn><b>unknown</b> {told}\n"
    yield pieces.long(event.raw, step.anchor, reading)


_BODIES: Mapping[type[Event], Callable[[Step, Reading], Iterator[str]]] = {
    Session: _session,
    Message: _message,
    Thought: _thought,
    ToolCall: _call,
    ToolResult: _result,
    Notice: _notice,
    Finish: _finish,
    Unknown: _unknown,
    Malformed: _malformed,
}
"""How each kind of event that is an item of its own is shown."""
