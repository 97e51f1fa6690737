"""What a tool call gave back: its text, and the exit code and time that stand within it.

Versions differ: JSON with `metadata` up to 0.39, "Exit code: 0" lines after it, "Process exited
with code 0" from 0.118 on, and a list of blocks in code mode and for pictures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from kbsite.harnesses.codex.content import Block, blocks, images, joined
from kbsite.harnesses.lines import integer, mapping, number, parsed, text
from kbsite.model.event import Image

_HEAD = re.compile(r"(?:Chunk ID|Wall time|Exit code|Script |Process |Total output lines)")
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,9})$", re.MULTILINE)
_WALL = re.compile(r"^Wall time:? ([0-9.]{1,20}) seconds$", re.MULTILINE)
_ABORTED = re.compile(r"^aborted by user(?: after ([0-9.]{1,20})s)?$", re.MULTILINE)
_LONGEST_HEAD = 400
_FAILURES = (
    "unsupported call", "apply_patch verification failed", "failed to parse", "execution error",
    "exec_command failed", "write_stdin failed", "Script failed", "Script error", "patch rejected",
    "aborted by user",
)  # fmt: skip


class Output(Struct, frozen=True):
    """A tool's answer as the model saw it, and what it says of itself."""

    text: str
    images: tuple[Image, ...] = ()
    exit_code: int | None = None
    seconds: float | None = None
    is_error: bool | None = None
    unknown: tuple[Block, ...] = ()


def output(value: object) -> Output:
    """The answer that stands in the `output` of a row, whatever its shape."""
    if isinstance(value, str):
        return _wrapped(value) or _told(value)
    if isinstance(value, dict):
        return _payload(value)
    held = blocks(value)
    told = _told(joined(block.text for block in held if block.known))
    unknown = tuple(block for block in held if not block.known)
    return Output(told.text, images(held), told.exit_code, told.seconds, told.is_error, unknown)


def _wrapped(value: str) -> Output | None:
    if not value.startswith("{"):
        return None
    try:
        wrapped = parsed(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(wrapped, dict) or set(wrapped) != {"output", "metadata"}:
        return None
    if not isinstance(wrapped["output"], str):
        return None
    return _with_metadata(wrapped)


def _payload(value: Mapping[str, object]) -> Output:
    if isinstance(value.get("output"), str):
        return _with_metadata(value)
    if "content" not in value:
        return Output(text(value))
    told = output(value["content"])
    success = value.get("success")
    failed = not success if isinstance(success, bool) else told.is_error
    return Output(told.text, told.images, told.exit_code, told.seconds, failed, told.unknown)


def _with_metadata(value: Mapping[str, object]) -> Output:
    metadata = mapping(value.get("metadata"))
    exit_code = integer(metadata.get("exit_code"))
    return Output(
        text(value.get("output")),
        exit_code=exit_code,
        seconds=number(metadata.get("duration_seconds")),
        is_error=failed(exit_code),
    )


def _told(body: str) -> Output:
    head = body.partition("\nOutput:\n")[0] if _HEAD.match(body) else body[:_LONGEST_HEAD]
    if len(head) > _LONGEST_HEAD or not (_HEAD.match(body) or body.startswith(_FAILURES)):
        return Output(body)
    code, wall, aborted = _EXIT.search(head), _WALL.search(head), _ABORTED.search(head)
    exit_code = int(code[1]) if code else None
    is_error = failed(exit_code)
    if is_error is None and (aborted or body.startswith(_FAILURES)):
        is_error = True
    seconds = _number(wall[1] if wall else aborted[1] if aborted else None)
    return Output(body, exit_code=exit_code, seconds=seconds, is_error=is_error)


def failed(exit_code: int | None) -> bool | None:
    """Whether a command failed; None while its exit code is not known."""
    return None if exit_code is None else exit_code != 0


def _number(digits: str | None) -> float | None:
    try:
        return float(digits) if digits else None
    except ValueError:
        return None
