"""What tools gave back, and what the CLI's own total of a session says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import count, mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Finish, Image, Scope, TokenUse, ToolResult
from kbsite.model.usage import Usage

_EXIT = re.compile(r"<(?:command with [^<>\n]* )?exited with exit code (-?\d{1,9})>\s*$")
_OK = {"error": False, "routine": True}
_SHOWN = frozenset({"content", "contents"})


def result(row: Row, data: Mapping[str, object]) -> ToolResult:
    """What came back from a tool: its result, or the error in its place."""
    told, error = data.get("result"), data.get("error")
    held, failed = mapping(told), data.get("success")
    output = text(held.get("content")) if held else text(told)
    if error is not None:
        said = text(mapping(error).get("message")) if mapping(error) else text(error)
        output = "\n".join(filter(None, [output, said]))
    code = _EXIT.search(output)
    return row.event(
        ToolResult,
        call_id=text(data.get("toolCallId")),
        output=output,
        is_error=not failed if isinstance(failed, bool) else None,
        exit_code=int(code[1]) if code else None,
        images=_images(held),
        recorded=_recorded(held, mapping(error), output),
    )


def _recorded(
    held: Mapping[str, object], error: Mapping[str, object], output: str
) -> Mapping[str, object] | str:
    """What a result holds beyond its output: a diff, the whole of what was cut, odd blocks."""
    more = {k: v for k, v in held.items() if v and k not in _SHOWN and v != output}
    if odd := _odd(held, output):
        more["contents"] = odd
    wrong = {key: value for key, value in error.items() if key != "message"}
    return {**more, "error": wrong} if wrong else more or ""


def _odd(held: Mapping[str, object], output: str) -> list[object]:
    """The blocks of a result that are neither its output nor pictures."""
    told = {"type": "text", "text": output}
    blocks = [block for block in sequence(held.get("contents")) if block != told]
    return [block for block in blocks if mapping(block).get("type") != "image"]


def _images(held: Mapping[str, object]) -> tuple[Image, ...]:
    blocks = [mapping(block) for block in sequence(held.get("contents"))]
    return tuple(image(block) for block in blocks if block.get("type") == "image")


def image(block: Mapping[str, object]) -> Image:
    """A picture in a result, or one that a person attached."""
    return Image(text(block.get("mimeType")), text(block.get("data")))


def usage(told: Mapping[str, object]) -> Usage:
    """Tokens as Copilot counts them: its input holds what was cached, read and written."""
    whole = count(told.get("inputTokens"))
    read, written = count(told.get("cacheReadTokens")), count(told.get("cacheWriteTokens"))
    output, reasoning = count(told.get("outputTokens")), count(told.get("reasoningTokens"))
    within = reasoning is not None and output is not None and reasoning <= output
    cached = (read or 0) + (written or 0)
    return Usage(
        input=None if whole is None else max(whole - cached, 0),
        cache_read=read,
        cache_write=written,
        output=output,
        reasoning=reasoning if within else None,
    )


def shutdown(row: Row, data: Mapping[str, object], session: str) -> Iterator[Event]:
    """The end of a session, and what each model used since the CLI was started.

    A session that is taken up again is another start, with counts of its own.
    """
    reason = text(data.get("shutdownType"))
    error = text(data.get("errorReason"))
    yield row.event(Finish, ok=_OK.get(reason), reason=reason, text=error, raw=row.raw)
    for model, told in mapping(data.get("modelMetrics")).items():
        used = usage(mapping(mapping(told).get("usage")))
        if used.known:
            count_id = "/".join([session, text(data.get("sessionStartTime")), model])
            yield row.event(TokenUse, usage=used, scope=Scope.RUN, message_id=count_id, model=model)
