"""Tool results of the session log: what the model was shown, and what the CLI keeps beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kbsite.harnesses.google_parts import ENDED, TRAILER, Answer, exit_code, told_exit_code
from kbsite.harnesses.lines import dump, mapping, number, sequence, text
from kbsite.harnesses.qwen.vocabulary import SHELL
from kbsite.harnesses.rows import Row
from kbsite.model.event import ToolResult

_SAVED = re.compile(r"^The full output has been saved to: ([^\n]+)$", re.MULTILINE)
_CUT = "Tool output was too large"


def result(row: Row, told: Answer, seconds: float | None) -> ToolResult:
    """The result in a part of a row; `seconds` is what an earlier row says that it took."""
    kept = mapping(row.value.get("toolCallResult"))
    shown = kept.get("resultDisplay")
    milliseconds = number(kept.get("durationMs"))
    return row.event(
        ToolResult,
        call_id=told.call_id or text(kept.get("callId")),
        output=told.output,
        is_error=ENDED.get(text(kept.get("status")), told.failed),
        exit_code=_exit_code(told, mapping(shown)),
        seconds=seconds if milliseconds is None else milliseconds / 1000,
        images=told.images,
        recorded=_recorded(shown, told.output),
        side_files=_side_files(mapping(shown), told.output),
    )


def shell_exit_code(output: str) -> int | None:
    """What the CLI wrote below a command's own output, which may say the same of itself."""
    return told_exit_code(output[-TRAILER:])


def _exit_code(told: Answer, shown: Mapping[str, object]) -> int | None:
    if "exitCode" in shown:
        return exit_code(shown["exitCode"])
    return shell_exit_code(told.output) if told.tool == SHELL else None


def _recorded(shown: object, output: str) -> Mapping[str, object] | str:
    held = mapping(shown)
    if not held:
        said = text(shown)
        return "" if said.strip() in output else said
    restated = held.get("type") == "shell_result" and all(
        text(held.get(key)).strip() in output for key in ("output", "error")
    )
    notes = sequence(held.get("notices"))
    return "" if restated and not notes else held


def _side_files(shown: Mapping[str, object], output: str) -> tuple[str, ...]:
    named = [text(path) for path in sequence(shown.get("outputFiles"))]
    if output.startswith(_CUT):
        named += _SAVED.findall(output[:4000])[:1]
    return tuple(dict.fromkeys(filter(None, named)))


def told(payload: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """What there is to read under the keys of a payload; the whole of it where there are none."""
    if not keys:
        return dump(payload)
    return " ".join(filter(None, (text(payload.get(key)) for key in keys)))
