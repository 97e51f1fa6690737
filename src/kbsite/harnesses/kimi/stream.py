"""What both programs print with `--output-format stream-json`.

The two look alike, one chat message a line, and a run directory does not say which of them wrote
its stdout.jsonl: hence one format. Kimi Code adds `meta` rows, among them the version at the start
and, if all went well, a hint how to resume at the end. kimi-cli adds plain text: its errors, which
it breaks at the width of a terminal, so that an error may be several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kbsite.harnesses.form import Format
from kbsite.harnesses.kimi import content
from kbsite.harnesses.kimi.agents import Starts
from kbsite.harnesses.kimi.notes import btw, notification, retried
from kbsite.harnesses.kimi.vocabulary import called
from kbsite.harnesses.lines import Line, mapping, sequence, text
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Notice,
    Role,
    Session,
    ToolResult,
    Topic,
)

_SYSTEM = re.compile(r"\A<system>(ERROR: )?(.*?)</system>", re.DOTALL)
_CODE = re.compile(r"Command failed with exit code: (-?\d{1,9})\.\Z")
_DONE = "Command executed successfully."


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of what either program printed."""
    return _Reader(file).events(source_lines)


class _Reader(Struct):
    file: str
    starts: Starts = field(default_factory=Starts)
    topic: Topic = Topic.NOTE
    """What the lines of text just above are about."""

    def events(self, source_lines: Iterable[Line]) -> Iterator[Event]:
        for row in rows(source_lines, self.file):
            if isinstance(row, Malformed):
                yield self._said(row)
            else:
                self.topic = Topic.NOTE
                yield from self._row(row)

    def _said(self, line: Malformed) -> Event:
        if line.text.startswith("{") or "\0" in line.text:
            return line
        self.topic = _topic(line.text) or self.topic
        return Notice(topic=self.topic, text=line.text, raw=line.text, source=line.source)

    def _row(self, row: Row) -> Iterator[Event]:
        held = row.value
        match held.get("role"):
            case "assistant":
                yield from row.told(self._answer(row), "assistant")
            case "tool":
                yield from self._result(row)
            case "user":
                yield from row.told(content.asked(row, held.get("content")), "user")
            case "system":
                asked = content.asked(row, held.get("content"), Role.SYSTEM, injected=True)
                yield from row.told(asked, "system")
            case "meta":
                yield from _meta(row)
            case None:
                yield _other(row)
            case role:
                yield row.unknown(text(role))

    def _answer(self, row: Row) -> Iterator[Event]:
        yield from content.answer(row, row.value.get("content"))
        for item in sequence(row.value.get("tool_calls")):
            function = mapping(mapping(item).get("function"))
            call_id = text(mapping(item).get("id"))
            tool = text(function.get("name"))
            call = called(tool, function.get("arguments"), call_id=call_id, **row.where())
            self.starts.note(call)
            yield call

    def _result(self, row: Row) -> Iterator[Event]:
        call_id = text(row.value.get("tool_call_id"))
        held = content.gathered(row.value.get("content"))
        yield from self.starts.answered(row, call_id, held.text)
        failed, code = _outcome(held.text)
        yield ToolResult(
            call_id=call_id,
            output=held.text,
            is_error=failed,
            exit_code=code,
            images=held.images,
            side_files=content.side_files(held.text),
            **row.where(),
        )
        for block in held.others:
            yield content.leftover(row, block)


def _topic(line: str) -> Topic | None:
    """What a line of text is about; None where it does not say."""
    said = line.casefold()
    if "interrupted" in said:
        return Topic.INTERRUPTION
    return Topic.ERROR if "error" in said else None


def _outcome(output: str) -> tuple[bool | None, int | None]:
    """Whether a tool failed, and the exit code, as the output begins (kimi-cli) or ends."""
    system = _SYSTEM.match(output)
    if system is None:
        code = content.exit_code(output)
        return (None if code is None else True), code
    told = _CODE.match(system[2])
    if told:
        return True, int(told[1])
    return bool(system[1]), 0 if system[2].startswith(_DONE) else None


def _meta(row: Row) -> Iterator[Event]:
    held = row.value
    match held.get("type"):
        case "system.version":
            version = text(held.get("version"))
            yield Session(harness_version=version, raw=row.raw, **row.where())
        case "turn.step.retrying":
            error = text(held.get("error_message")) or text(held.get("error_name"))
            attempts = (held.get("next_attempt"), held.get("max_attempts"))
            yield retried(row, error, attempts, content.seconds(held.get("delay_ms")))
        case "session.resume_hint":
            yield Finish(ok=True, reason="session.resume_hint", raw=row.raw, **row.where())
            yield Session(session_id=text(held.get("session_id")), **row.where())
        case kind:
            yield row.unknown(f"meta {text(kind)}")


def _other(row: Row) -> Event:
    """A row without a role: kimi-cli prints some events just as they are."""
    held = row.value
    if "severity" in held and "title" in held:
        return notification(row, held)
    if "file_path" in held and "content" in held:
        return row.notice(Topic.NOTE, text(held.get("content")))
    if "id" in held and ({"question", "response", "error"} & set(held)):
        return btw(row, held)
    return row.unknown(text(held.get("type")))


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are rows that either program prints; `context.jsonl` has other roles too."""
    spoken = any(row.get("role") in ("assistant", "tool", "meta") for row in head)
    return spoken and all(map(_is_printed, head))


def _is_printed(row: Mapping[str, object]) -> bool:
    match row.get("role"):
        case "assistant":
            return "message" not in row and ("content" in row or "tool_calls" in row)
        case "tool":
            return "tool_call_id" in row
        case "meta":
            return "type" in row
        case None:
            return "severity" in row or "file_path" in row or ("id" in row and "type" not in row)
        case _:
            return False


FORMAT = Format(
    id="kimi-stream",
    title="stdout (stream-json)",
    globs=("stdout.jsonl", "stream/*.jsonl"),
    parse=parse,
    recognises=recognises,
    stored_as="stream",
)
