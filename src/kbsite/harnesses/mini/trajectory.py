"""mini-swe-agent's trajectory: what it is and how it ended, then all messages of the session.

There are no lines to count in a document, so an event's line is an ordinal: of the head, and then
of each message. A command is a call of the only tool, `bash`, or stands in the answer's text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import field

from kbsite.harnesses.lines import Line, dump, integer, mapping, number, sequence, text, timestamp
from kbsite.harnesses.mini.answers import KINDS, answer, commands, contents, spent, words
from kbsite.harnesses.rows import Ordinals, Row
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Notice,
    Role,
    Scope,
    Session,
    TokenUse,
    ToolCall,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage

_VERSION = "mini-swe-agent-"
_CODE = re.compile(r"^<returncode>(-?\d{1,9})</returncode>")
_SUBMITTED = "Submitted"
_NO_END = -1
"""What stands as exit code where a command came to no end, or was never started."""
_NEVER_RUN = "action was not executed"
"""What stands there where it was never started, and also where it was the one that submits."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader(file)
    for row in reader.read(lines):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from reader.document(row.value)


class _Reader(Ordinals):
    """How far a file is read."""

    model: str = ""
    asked: deque[str] = field(default_factory=deque)
    """Calls that have no id of their own, whose results come in their order."""
    alone: bool = False
    """Whether the answer before asked for one command only."""
    last: float | None = None
    """When the message before was written."""

    def document(self, value: Mapping[str, object]) -> Iterator[Event]:
        """A trajectory."""
        info = mapping(value.get("info"))
        yield from self._head(value, info)
        messages = value.get("messages")
        held = messages if isinstance(messages, list) else []
        for nth, item in enumerate(held, start=1):
            message = mapping(item)
            at = _written(message)
            row = Row(message, None, self.place(), timestamp(at))
            if not message:
                yield row.unknown("message", item)
            elif nth == len(held) and self._is_old_end(message, info):
                yield _finish(row, info, contents(message.get("content"))[0])
            else:
                yield from row.told(self._message(row), text(message.get("role")))
            self.last = number(at) if number(at) is not None else self.last
        if messages and not isinstance(messages, list):
            yield Row({}, None, self.place()).unknown("messages", messages)

    def _head(self, value: Mapping[str, object], info: Mapping[str, object]) -> Iterator[Event]:
        head = {key: held for key, held in value.items() if key != "messages"}
        config = mapping(info.get("config"))
        named = mapping(config.get("model"))
        # Before it stands by what LiteLLM reaches it.
        whole = text(named.get("model_name"))
        self.model = whole.partition("/")[2] or whole
        row = Row(head, None, self.place())
        yield row.event(
            Session,
            session_id=text(value.get("instance_id")),
            model=self.model,
            effort=text(mapping(named.get("model_kwargs")).get("reasoning_effort")),
            harness_version=text(info.get("mini_version")),
            cwd=text(mapping(config.get("environment")).get("cwd")),
            raw=row.raw,
        )
        if cost := number(mapping(info.get("model_stats")).get("instance_cost")):
            yield row.event(TokenUse, usage=Usage(), scope=Scope.RUN, cost_usd=cost)

    def _is_old_end(self, message: Mapping[str, object], info: Mapping[str, object]) -> bool:
        """Whether a last message is how a session of version 1 told its end."""
        told = contents(message.get("content"))[0]
        ended = bool(info.get("exit_status")) and told == text(info.get("submission"))
        return message.get("role") == "user" and not message.get("extra") and ended

    def _message(self, row: Row) -> Iterator[Event]:
        said, extra = row.value, mapping(row.value.get("extra"))
        role = text(said.get("role"))
        if role == "exit":
            yield from _end(row, extra)
        elif role == "assistant" or isinstance(said.get("output"), list):
            yield from self._answer(row, said, mapping(extra.get("response")) or said)
        elif role == "tool" or said.get("type") == "function_call_output":
            call_id = text(said.get("tool_call_id")) or text(said.get("call_id"))
            yield self._result(row, call_id, said.get("content", said.get("output")))
        elif role == "user":
            yield from self._user(row, extra)
        elif role in ("system", "developer"):
            yield from words(row, said.get("content"), Role.SYSTEM, injected=True)
        else:
            yield row.unknown(f"message:{role}")

    def _answer(
        self, row: Row, said: Mapping[str, object], response: Mapping[str, object]
    ) -> Iterator[Event]:
        """An answer with its calls, and what it took."""
        calls = 0
        for event in answer(row, said, self.model):
            calls += isinstance(event, ToolCall)
            yield event
        if not calls and not isinstance(said.get("output"), list):
            found = commands(row, said)
            calls = len(found)
            for command in found:
                yield self._call(row, command)
        self.alone = calls == 1
        yield from spent(row, response, self.model)

    def _call(self, row: Row, command: str) -> ToolCall:
        """The call of a command that stands in a text."""
        call_id = f"{row.place.line}.{len(self.asked)}"
        self.asked.append(call_id)
        return row.call(KINDS, "bash", {"command": command}, call_id)

    def _user(self, row: Row, extra: Mapping[str, object]) -> Iterator[Event]:
        """What a person or the program says; or, without calls, what commands came back with."""
        content, kind = row.value.get("content"), text(extra.get("interrupt_type"))
        if kind == "FormatError":
            yield from self._refused(row, extra)
        elif kind:
            yield row.event(Notice, topic=Topic.INTERRUPTION, text=contents(content)[0])
        elif self.asked:
            yield self._result(row, self.asked.popleft(), content)
        else:
            yield from words(row, content, Role.USER)
            for action in sequence(extra.get("actions")):
                yield self._call(row, text(mapping(action).get("command")))

    def _refused(self, row: Row, extra: Mapping[str, object]) -> Iterator[Event]:
        """An answer that nobody could follow, which stands here alone, and what it was told."""
        response = mapping(extra.get("response"))
        choice = mapping(next(iter(sequence(response.get("choices"))), None))
        said = mapping(choice.get("message")) or response
        if said:
            yield from answer(row, said, self.model)
            yield from spent(row, response, self.model)
        elif told := text(extra.get("model_response")):
            yield from words(row, told, Role.ASSISTANT, model=self.model)
        yield from words(row, row.value.get("content"), Role.USER, injected=True)

    def _result(self, row: Row, call_id: str, content: object) -> ToolResult:
        """What a command came back with, as the model saw it, and as it was where that is cut."""
        extra = mapping(row.value.get("extra"))
        output, images, odd = contents(content)
        failed = text(extra.get("exception_info"))
        written = number(extra.get("timestamp"))
        took = (written or 0) - (self.last or 0)
        timed = self.alone and written is not None and self.last is not None and took >= 0
        return row.event(
            ToolResult,
            call_id=call_id,
            output=output,
            is_error=True if failed and failed != _NEVER_RUN else None,
            exit_code=_exit_code(extra, output),
            seconds=took if timed else None,
            images=images,
            recorded=_recorded(extra, output, odd) or "",
        )


def _recorded(extra: Mapping[str, object], output: str, odd: list[object]) -> dict[str, object]:
    """What a message holds of a command beyond what the model saw."""
    held: dict[str, object] = {"content": odd} if odd else {}
    for key in ("raw_output", "exception_info", "exception"):
        told = text(extra.get(key))
        if told and told.strip() not in output:
            held[key] = told
    return held


def _written(message: Mapping[str, object]) -> object:
    """When a message was written; when the answer was made that stands in one without a time."""
    extra = mapping(message.get("extra"))
    response = mapping(extra.get("response"))
    return extra.get("timestamp", response.get("created", response.get("created_at")))


def _exit_code(extra: Mapping[str, object], output: str) -> int | None:
    code = extra.get("returncode")
    if code is None and (found := _CODE.match(output)):
        code = int(found[1])
    return None if code == _NO_END else integer(code)


def _end(row: Row, extra: Mapping[str, object]) -> Iterator[Event]:
    """How the session ended; where it broke, by what."""
    if broken := text(extra.get("traceback")):
        yield row.event(Notice, topic=Topic.ERROR, text=broken, raw=dump(row.value))
    told = text(extra.get("submission")) or contents(row.value.get("content"))[0]
    yield _finish(row, extra, told)


def _finish(row: Row, held: Mapping[str, object], told: str) -> Finish:
    status = text(held.get("exit_status"))
    return row.event(Finish, ok=status == _SUBMITTED, reason=status, text=told, raw=dump(row.value))


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a trajectory of any version."""
    if not head or not isinstance(head[0].get("messages"), list):
        return False
    told = text(head[0].get("trajectory_format")).startswith(_VERSION)
    return told or "mini_version" in mapping(head[0].get("info"))
