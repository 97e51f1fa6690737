"""Tool results: what the model was shown, and what the CLI keeps beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import count, dump, integer, mapping, number, sequence, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Image, ToolResult

_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)\b")
_SAVED = re.compile(
    r"(?:Full output saved to|Output is being written to): ([^\n]+?)(?:\. You will [^\n]*)?$", re.M
)
_LINE_NUMBER = re.compile(r"\n *\d+(?:→|\t)")
"""With the line end before it: what starts with a letter of its own is found in half the time."""
_ERROR = "Error: "
_MANY = 2000
"""So many texts in the CLI's copy are not searched for in the output: it is kept."""

_PATHS = ("persistedOutputPath", "outputFile", "rawOutputPath")
_RESTATED = frozenset({
    "agentId", "agentType", "codeText", "command", "commandName", "description", "filePath",
    "mode", "path", "prompt", "query", "resolvedModel", "shell_id", "status", "taskId", "task_id",
    "task_type", "title", "type", "url",
})  # fmt: skip
"""Keys of the CLI's own copy that restate the call, or name what the result is."""


def result(row: Row, block: Mapping[str, object], rich: object) -> Iterator[Event]:
    """The result in a content block, with the CLI's own copy of it; and its unknown parts."""
    output, images = shown(block.get("content"))
    kept, is_error = mapping(rich), block.get("is_error", False)
    recorded = _recorded(rich, output, images)
    yield row.event(
        ToolResult,
        call_id=text(block.get("tool_use_id")),
        output=output,
        is_error=is_error if isinstance(is_error, bool) else None,
        exit_code=_exit_code(output, kept, failed=is_error is True),
        seconds=_seconds(kept),
        images=images,
        recorded=recorded,
        side_files=_side_files(output, kept),
        whole_lines=0 if recorded else _whole_lines(mapping(kept.get("file"))),
    )
    for part in sequence(block.get("content")):
        kind = text(mapping(part).get("type"))
        if not isinstance(part, str) and kind not in _READ:
            yield row.unknown(f"tool_result/{kind}", part)


def shown(content: object) -> tuple[str, tuple[Image, ...]]:
    """The text and the pictures of a result; parts of unknown type as they stand."""
    if not isinstance(content, list):
        return text(content), ()
    parts = [part if isinstance(part, dict) else {"type": "text", "text": part} for part in content]
    images = tuple(picture_in(part) for part in parts if part.get("type") == "image")
    words = (_words(part) for part in parts if part.get("type") != "image")
    return "\n".join(words), images


_READ = frozenset({
    "text", "image", "tool_reference", "document", "web_search_result", "search_result",
})  # fmt: skip


def _words(part: Mapping[str, object]) -> str:
    match part.get("type"):
        case "text":
            return text(part.get("text"))
        case "tool_reference":
            return text(part.get("tool_name"))
        case _:
            return dump(part)


def _exit_code(output: str, kept: Mapping[str, object], *, failed: bool) -> int | None:
    task = mapping(kept.get("task"))
    for told in (kept.get("exit_code"), kept.get("exitCode"), task.get("exitCode")):
        if (code := integer(told)) is not None:
            return code
    found = _EXIT.match(output) if failed else None
    return int(found[1]) if found and len(found[1]) < 10 else None


def _seconds(kept: Mapping[str, object]) -> float | None:
    for key in ("durationMs", "totalDurationMs"):
        if (told := count(kept.get(key))) is not None:
            return told / 1000
    return number(kept.get("durationSeconds"))


def _side_files(output: str, kept: Mapping[str, object]) -> tuple[str, ...]:
    named = [told for key in _PATHS if isinstance(told := kept.get(key), str) and told]
    # A sub-agent's rows have no copy beside the text; in other texts these words are quotations.
    if output.startswith(("<persisted-output>", "Command running in background")):
        named += [path.strip() for path in _SAVED.findall(output)]
    return tuple(dict.fromkeys(named))


def _whole_lines(read: Mapping[str, object]) -> int:
    """The lines of a file that was read from its first line to its last; 0 where it was not."""
    lines, held = count(read.get("totalLines")), text(read.get("content"))
    whole = read.get("startLine") == 1 and read.get("numLines") == lines
    return lines if whole and lines == held.count("\n") + 1 else 0


def _recorded(rich: object, output: str, images: tuple[Image, ...]) -> Mapping[str, object] | str:
    if isinstance(rich, str):
        rich = rich.removeprefix(_ERROR)
    held = mapping(rich)
    if held.get("type") == "create" and not held.get("userModified"):
        return ""  # a copy of what the call asked to write
    leaves: list[str] = []
    _gather(rich, 12, leaves)
    repeated = len(leaves) < _MANY and _repeats(leaves, output, images)
    return "" if repeated else held or text(rich)


def _repeats(leaves: list[str], output: str, images: tuple[Image, ...]) -> bool:
    """Whether every text stands in an output, with or without its line numbers, or is a picture."""
    left = [leaf for leaf in leaves if leaf.strip() not in output]
    if not left:
        return True
    plain = _LINE_NUMBER.sub("\n", f"\n{output}")
    return all(
        leaf.strip() in plain or any(picture.data and picture.data in leaf for picture in images)
        for leaf in left
    )


def _gather(value: object, depth: int, found: list[str]) -> None:
    """Add the texts in a value to those that were found, until there are too many."""
    if isinstance(value, str):
        found.append(value)
    elif not depth or len(found) >= _MANY:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _RESTATED:
                _gather(item, depth - 1, found)
    elif isinstance(value, list):
        for item in value:
            _gather(item, depth - 1, found)
