"""Messages of pi's session log: a role, blocks, and what the message used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import count, dump, integer, mapping, number, sequence, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import (
    Event,
    Message,
    Role,
    Scope,
    Thought,
    TokenUse,
    ToolKind,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage

KINDS = {
    "ast_edit": ToolKind.EDIT,
    "ast_grep": ToolKind.SEARCH,
    "bash": ToolKind.RUN,
    "browser": ToolKind.WEB,
    "edit": ToolKind.EDIT,
    "fetch": ToolKind.WEB,
    "find": ToolKind.SEARCH,
    "grep": ToolKind.SEARCH,
    "ls": ToolKind.READ,
    "python": ToolKind.RUN,
    "read": ToolKind.READ,
    "search": ToolKind.SEARCH,
    "search_tool_bm25": ToolKind.SEARCH,
    "subagent": ToolKind.AGENT,
    "task": ToolKind.AGENT,
    "todo_write": ToolKind.PLAN,
    "web_search": ToolKind.WEB,
    "write": ToolKind.WRITE,
}
"""pi itself has seven tools; the others are those of extensions and of programs made from it."""
BY_HAND = "bashExecution"
"""The role, and here the tool, of a command that a person ran between prompts."""
STOPPED_SHORT = {"aborted": Topic.INTERRUPTION, "error": Topic.ERROR}
"""The reasons why a message of the model is not whole."""
_TOLD = frozenset({"timeoutSeconds", "fullOutputPath"})
"""Details of a result that the call or another field of the result tells as well."""
_EXIT = re.compile(r"(?:^|\n)Command exited with code (\d+)\s*$")
_SUMMARIES = {"branchSummary": Topic.NOTE, "compactionSummary": Topic.COMPACTION}
_INJECTED = frozenset({"custom", "developer", "hookMessage", "system"})


def message(row: Row) -> Iterator[Event]:
    """What a message row says."""
    said = mapping(row.value.get("message"))
    match said.get("role"):
        case "user":
            own = said.get("attribution", "user") != "user" or said.get("synthetic") is True
            yield from blocks(row, said.get("content"), Role.USER, injected=own)
        case "assistant":
            yield from _answer(row, said)
        case "toolResult":
            yield _result(row, said)
        case role if role == BY_HAND:
            yield from _by_hand(row, said)
        case str(role) if role in _SUMMARIES:
            yield row.notice(_SUMMARIES[role], text(said.get("summary")))
        case "system" if said.get("sections"):
            yield row.injected(_prompt(said))
        case str(role) if role in _INJECTED:
            yield from blocks(row, said.get("content"), Role.SYSTEM, injected=True)
        case role:
            yield row.unknown(f"message:{text(role)}")


def _prompt(said: Mapping[str, object]) -> str:
    """A prompt in sections, or those of them that changed; a section that was dropped is null."""
    sections = mapping(said.get("sections")).items()
    told = (text(held) if held is not None else f"(no more: {name})" for name, held in sections)
    return "\n\n".join(filter(None, (text(said.get("content")), *told)))


def blocks(
    row: Row, content: object, role: Role, *, injected: bool = False, model: str = ""
) -> Iterator[Event]:
    """The blocks of a message, each as an event."""
    for item in content if isinstance(content, list) else [content]:
        if item is None:
            continue
        block = {"type": "text", "text": item} if isinstance(item, str) else mapping(item)
        match block.get("type"):
            case "text":
                told = text(block.get("text"))
                yield row.event(Message, role=role, text=told, injected=injected, model=model)
            case "image":
                shown = (picture_in(block),)
                yield row.event(Message, role=role, text="", images=shown, injected=injected)
            case "thinking":
                yield _thought(row, block)
            case "toolCall":
                call_id, tool = text(block.get("id")), text(block.get("name"))
                yield row.call(KINDS, tool, block.get("arguments"), call_id)
            case kind:
                yield row.unknown(f"block:{text(kind) or type(item).__name__}", item)


def _answer(row: Row, said: Mapping[str, object]) -> Iterator[Event]:
    model, reason = text(said.get("model")), text(said.get("stopReason"))
    yield from blocks(row, said.get("content"), Role.ASSISTANT, model=model)
    told_id = text(said.get("responseId")) or text(row.value.get("id"))
    yield from counted(row, said, message_id=told_id)
    if reason in STOPPED_SHORT or said.get("errorMessage"):
        told = text(said.get("errorMessage")) or reason
        yield row.notice(STOPPED_SHORT.get(reason, Topic.ERROR), told)


def counted(row: Row, held: Mapping[str, object], *, message_id: str) -> Iterator[TokenUse]:
    """What a message, or a row that says what else was asked of a model, took."""
    usage = _usage(mapping(held.get("usage")))
    if not usage.known:
        return
    cost = mapping(mapping(held.get("usage")).get("cost")).get("total")
    # A request that was refused took nothing, and no more than that is told of it.
    began = bool(held.get("content")) or bool(usage.sent) or bool(usage.output)
    yield row.event(
        TokenUse,
        usage=usage,
        scope=Scope.MESSAGE,
        message_id=message_id,
        model=text(held.get("model")),
        # 0 stands wherever pi has no price for the model.
        cost_usd=number(cost) or None,
        lower_bound=text(held.get("stopReason")) in STOPPED_SHORT and began,
    )


def _usage(told: Mapping[str, object]) -> Usage:
    output = count(told.get("output"))
    reasoning = count(told.get("reasoning", told.get("reasoningTokens")))
    within = reasoning is not None and output is not None and reasoning <= output
    return Usage(
        input=count(told.get("input")),
        cache_read=count(told.get("cacheRead")),
        cache_write=count(told.get("cacheWrite")),
        output=output,
        reasoning=reasoning if within else None,
    )


def _thought(row: Row, block: Mapping[str, object]) -> Thought:
    told = text(block.get("thinking"))
    sealed = not told and bool(block.get("thinkingSignature") or block.get("redacted"))
    return row.event(Thought, text=told, encrypted=sealed)


def words(content: object) -> str:
    """The texts of a result."""
    if not isinstance(content, list):
        return text(content)
    parts = [mapping(part) for part in content]
    return "\n".join(text(part["text"]) for part in parts if "text" in part)


def _result(row: Row, said: Mapping[str, object]) -> ToolResult:
    content = said.get("content")
    parts = [mapping(part) for part in sequence(content)]
    output = words(content)
    details = said.get("details")
    failed = said.get("isError")
    code = _EXIT.search(output) if KINDS.get(text(said.get("toolName"))) is ToolKind.RUN else None
    return row.event(
        ToolResult,
        call_id=text(said.get("toolCallId")),
        output=output,
        is_error=failed if isinstance(failed, bool) else None,
        exit_code=int(code[1]) if code and len(code[1]) < 10 else None,
        seconds=None if (took := count(said.get("durationMs"))) is None else took / 1000,
        images=tuple(picture_in(part) for part in parts if part.get("type") == "image"),
        recorded=_recorded(details, output, sequence(content)),
        side_files=_side_files(mapping(details)),
    )


def _recorded(details: object, output: str, content: list[object]) -> Mapping[str, object] | str:
    """What the details tell beyond the output: a diff, the state of sub-agents; odd blocks."""
    held = mapping(details)
    more = {k: v for k, v in held.items() if v and k not in _TOLD and v != output}
    if details and not held:
        more["details"] = details
    odd = [part for part in content if not _is_shown(mapping(part))]
    return {**more, "content": odd} if odd else more or ""


def _is_shown(part: Mapping[str, object]) -> bool:
    return part.get("type") == "image" or "text" in part


def _side_files(held: Mapping[str, object]) -> tuple[str, ...]:
    named = text(held.get("fullOutputPath"))
    return (named,) if named else ()


def _by_hand(row: Row, said: Mapping[str, object]) -> Iterator[Event]:
    """A command that a person ran: the model did not ask for it, but may see what it printed."""
    call_id = text(row.value.get("id")) or dump(row.place.line)
    given = {"command": text(said.get("command"))}
    yield row.call({BY_HAND: ToolKind.RUN}, BY_HAND, given, call_id)
    held, cancelled = integer(said.get("exitCode")), said.get("cancelled") is True
    yield row.event(
        ToolResult,
        call_id=call_id,
        output=text(said.get("output")),
        is_error=True if cancelled else bool(held) if held is not None else None,
        exit_code=held,
        side_files=_side_files(said),
    )
