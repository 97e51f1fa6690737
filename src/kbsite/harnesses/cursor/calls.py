"""Tool calls on stdout: a row when one starts, and another with its result when it ends.

What an edit did is told only by its result, so such a call is shown where it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.cursor.vocabulary import KINDS, SUFFIX
from kbsite.harnesses.lines import dump, integer, mapping, number, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import Edit, Event, ToolCall, ToolKind, ToolResult

_ENVELOPE = frozenset({"toolCallId", "startedAtMs", "completedAtMs", "description"})
"""What stands beside a call and is told elsewhere, too."""
_FUNCTION = "function"
"""Where a call stands whose tool has no key of its own."""
_OUTPUTS = (
    "interleavedOutput", "content", "output", "results", "message", "errorMessage", "error",
    "reason", "text", "markdown", "diffString",
)  # fmt: skip
"""Where a result of one tool or another has its text, the best first."""
_TOLD = frozenset({"exitCode", "executionTime", "localExecutionTimeMs", "stdout", "stderr"})


class _Told(Struct, frozen=True):
    """What a row says of a call."""

    tool: str
    arguments: object
    result: Mapping[str, object]
    more: Mapping[str, object]
    """What stands beside the arguments and the result, such as what hooks added."""


class Calls(Struct):
    """The calls that have started and not ended."""

    shown: set[str] = field(default_factory=set)
    held: dict[str, Row] = field(default_factory=dict)
    """Edits, by call id."""

    def started(self, row: Row) -> Iterator[Event]:
        """The call; or a trace, for an edit that has yet to end."""
        call_id, told = text(row.value.get("call_id")), _told(row)
        if KINDS.get(told.tool) is ToolKind.EDIT and call_id:
            self.held[call_id] = row
            yield row.trace("tool_call/started")
        else:
            self.shown.add(call_id)
            yield _call(row, told, call_id)

    def completed(self, row: Row) -> Iterator[Event]:
        """The result, and the call if it was not shown before."""
        call_id, told = text(row.value.get("call_id")), _told(row)
        start = self.held.pop(call_id, None)
        if call_id in self.shown:
            self.shown.discard(call_id)
        else:
            began = start.at if start else timestamp(_milliseconds(row, "startedAtMs"))
            yield replace(_call(row, told, call_id), at=began or row.at)
        yield _result(row, told, call_id)

    def close(self) -> Iterator[Event]:
        """The edits that never ended."""
        for call_id, row in self.held.items():
            yield _call(row, _told(row), call_id)
        self.held.clear()


def _told(row: Row) -> _Told:
    given = mapping(row.value.get("tool_call"))
    key = next((key for key in given if key.endswith(SUFFIX)), _FUNCTION)
    body = mapping(given.get(key))
    more = {k: v for k, v in given.items() if k not in _ENVELOPE and k != key and v}
    if key == _FUNCTION:
        result = body.get("result", more.pop("result", None))
        return _Told(text(body.get("name")), body.get("arguments"), _outcome(result), more)
    return _Told(key.removesuffix(SUFFIX), body.get("args"), _outcome(body.get("result")), more)


def _outcome(result: object) -> Mapping[str, object]:
    """A result by its outcome, such as success; one that is bare text by none."""
    if isinstance(result, dict):
        return result
    return {"": {"output": result}} if result else {}


def _call(row: Row, told: _Told, call_id: str) -> ToolCall:
    arguments = mapping(told.arguments)
    tool = told.tool
    if tool == "mcp":
        tool = text(arguments.get("toolName", arguments.get("name"))) or tool
    call = row.call(KINDS, tool, told.arguments, call_id)
    if call.tool_kind is ToolKind.EDIT:
        return replace(call, edits=_edits(told, arguments) or call.edits)
    return call


def _edits(told: _Told, arguments: Mapping[str, object]) -> tuple[Edit, ...]:
    """What an edit did, as its result tells it."""
    success = mapping(told.result.get("success"))
    path = text(success.get("path")) or text(arguments.get("path"))
    if told.tool == "delete" and success:
        return (Edit(path, None, "", action="delete"),)
    diff, after = text(success.get("diffString")), success.get("afterFullFileContent")
    if isinstance(after, str) and (not diff or diff.startswith("--- /dev/null")):
        return (Edit(path, None, after, action="add" if diff else "update"),)
    return (Edit(path, None, "", patch=diff),) if diff else ()


def _result(row: Row, told: _Told, call_id: str) -> ToolResult:
    outcome, body = _body(told.result)
    output, key = _output(body)
    return row.event(
        ToolResult,
        call_id=call_id,
        output=output,
        is_error=outcome != "success" if outcome else None,
        exit_code=integer(body.get("exitCode")),
        seconds=_seconds(row, body),
        recorded=_recorded(told, body, outcome, key),
    )


def _body(result: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """How a call ended, and what it says of that."""
    for outcome, body in result.items():
        if isinstance(body, dict):
            return outcome, body
    for outcome, body in result.items():
        if isinstance(body, str):
            return outcome, {"text": body}
    return "", result


def _output(body: Mapping[str, object]) -> tuple[str, str]:
    """A result's text, and the key that it stands under; all of it as JSON if it has none."""
    if "stdout" in body and not body.get("interleavedOutput"):
        return text(body["stdout"]) + text(body.get("stderr")), "stdout"
    key = next((key for key in _OUTPUTS if body.get(key)), "")
    if key:
        return text(body[key]), key
    return (dump(body) if body else ""), ""


def _recorded(
    told: _Told, body: Mapping[str, object], outcome: str, key: str
) -> Mapping[str, object] | str:
    """What the result tells beyond its output and the call's arguments."""
    arguments = mapping(told.arguments)
    beyond = _held(body, {key, *_TOLD}) if key else {}
    rest = {n: v for n, v in beyond.items() if not _same(v, arguments.get(n))}
    if outcome not in ("", "success", "failure", "error"):
        rest["outcome"] = outcome
    others = _held(told.result, {outcome}) if outcome else {}
    return {**rest, **others, **told.more} or ""


def _held(body: Mapping[str, object], told: set[str]) -> dict[str, object]:
    """What a body holds under other keys than those that are told elsewhere."""
    return {name: value for name, value in body.items() if value and name not in told}


def _same(one: object, other: object) -> bool:
    """Whether two values are written alike; they may be nested too deeply to compare."""
    return dump(one) == dump(other)


def _milliseconds(row: Row, key: str) -> int | None:
    """A moment that is written as text."""
    told = text(mapping(row.value.get("tool_call")).get(key))
    return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else None


def _seconds(row: Row, body: Mapping[str, object]) -> float | None:
    start, end = _milliseconds(row, "startedAtMs"), _milliseconds(row, "completedAtMs")
    if start is not None and end is not None and end >= start:
        return (end - start) / 1000
    took = number(body.get("executionTime"))
    return None if took is None or took < 0 else took / 1000
