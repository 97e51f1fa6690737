"""What tools gave back, and what the CLI's own total of a session says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from kbsite.harnesses.lines import count, integer, mapping, number, sequence, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Finish, Image, Scope, TokenUse, ToolResult
from kbsite.model.usage import Usage

_EXIT = re.compile(
    r"<(?:(?:command with [^<>\n]* )?exited|shellId: [^<>\n]* completed)"
    r" with exit code (-?\d{1,9})>\s*$"
)
_SAVED = re.compile(r"^Output too large to read at once \([^()\n]*\)\. Saved to: (\S[^\n]*)$", re.M)
_OK = {"error": False, "routine": True}
_PICTURES = "binaryResultsForLlm"
"""Where results of today hold what is no text: an image, or the id of one that was told before."""
_SHOWN = frozenset({"content", "contents", _PICTURES})


class Known(Struct):
    """What rows before a result told that belongs to it."""

    assets: Mapping[str, Image]
    """Pictures by their ids."""
    printed: str = ""
    """What its command is known to have printed."""
    began: datetime | None = None
    """When the tool was started."""


def result(row: Row, data: Mapping[str, object], known: Known) -> ToolResult:
    """What came back from a tool: its result, or the error in its place."""
    told, error = data.get("result"), data.get("error")
    held, failed = mapping(told), data.get("success")
    output = text(held.get("content")) if held else text(told)
    if error is not None:
        said = text(mapping(error).get("message")) if mapping(error) else text(error)
        output = "\n".join(filter(None, [output, said]))
    return row.event(
        ToolResult,
        call_id=text(data.get("toolCallId")),
        output=output,
        is_error=not failed if isinstance(failed, bool) else None,
        exit_code=_exit_code(data, output),
        seconds=(row.at - known.began).total_seconds() if row.at and known.began else None,
        images=_images(held, known.assets),
        recorded=_recorded(held, mapping(error), output, known.printed),
        side_files=tuple(_SAVED.findall(output)),
    )


def _exit_code(data: Mapping[str, object], output: str) -> int | None:
    told = integer(mapping(data.get("shellExecution")).get("exitCode"))
    if told is not None:
        return told
    code = _EXIT.search(output)
    return int(code[1]) if code else None


def _recorded(
    held: Mapping[str, object], error: Mapping[str, object], output: str, printed: str
) -> Mapping[str, object] | str:
    """What a result holds beyond its output: a diff, the whole of what was cut, odd blocks."""
    more = {k: v for k, v in held.items() if v and k not in _SHOWN and v != output}
    more |= _odd(held, output)
    if printed.strip() not in output:
        more["printed"] = printed
    wrong = {key: value for key, value in error.items() if key != "message"}
    return {**more, "error": wrong} if wrong else more or ""


def _odd(held: Mapping[str, object], output: str) -> dict[str, list[object]]:
    """The blocks of a result that are neither its output nor pictures, by where they stand."""
    told = {"type": "text", "text": output}
    found = {
        key: [block for block in sequence(held.get(key)) if block != told and not _is_image(block)]
        for key in ("contents", _PICTURES)
    }
    return {key: blocks for key, blocks in found.items() if blocks}


def _is_image(block: object) -> bool:
    return mapping(block).get("type") == "image"


def _images(held: Mapping[str, object], assets: Mapping[str, Image]) -> tuple[Image, ...]:
    blocks = [
        mapping(block) for key in ("contents", _PICTURES) for block in sequence(held.get(key))
    ]
    found = (
        assets.get(text(block.get("assetId"))) or picture_in(block)
        for block in blocks
        if block.get("type") == "image"
    )
    return tuple(dict.fromkeys(found))


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


def printed_end(row: Row) -> Finish:
    """The last row of stdout, which has no data as others do: how the program ended."""
    code = count(row.value.get("exitCode"))
    took = number(mapping(row.value.get("usage")).get("sessionDurationMs"))
    return row.event(
        Finish,
        ok=None if code is None else code == 0,
        reason="result" if code is None else f"exit code {code}",
        seconds=None if took is None else took / 1000,
        raw=row.raw,
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
