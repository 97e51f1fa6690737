"""What a scripted model does: turns of thinking, text, calls and faults, read from YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench.records import read_yaml
from kbsite.errors import InputError

SHIPPED: Final = Path(__file__).parent / "scripts"
"""The scripts that come with bench."""

NAME: Final = re.compile(r"[a-z][a-z0-9]*")
"""What a script may be called: its file, without .yaml. It becomes a part of call ids."""

_HOLE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A command for the CLI's shell."""

    command: str
    title: str = ""
    timeout_seconds: int | None = None
    """Asked for where the tool has such an argument."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """A file written anew; its path is relative to the workspace."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A text of a file replaced, whole lines."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Read:
    """A file read."""

    path: str


class State(Enum):
    """How far an item of a list of things to do is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A thing to do."""

    text: str
    state: State = State.PENDING


@dataclass(frozen=True, kw_only=True)
class Todo:
    """The list of things to do, as it stands now."""

    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Work for a sub-agent. A marker [[script:NAME]] in the prompt says what the child plays."""

    prompt: str
    title: str = "child"


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Wait for a sub-agent, where asking one does not wait."""

    seconds: int = 20


@dataclass(frozen=True, kw_only=True)
class Finish:
    """A child's report: through the CLI's tool for it, else as text."""

    report: str


@dataclass(frozen=True, kw_only=True)
class Named:
    """A tool by its name, offered or not."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


Intent = Shell | Write | Edit | Read | Todo | Task | Wait | Finish | Named


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, by what it is for: exactly one of these keys, and `optional`."""

    shell: Shell | None = None
    write: Write | None = None
    edit: Edit | None = None
    read: Read | None = None
    todo: Todo | None = None
    task: Task | None = None
    wait: Wait | None = None
    finish: Finish | None = None
    named: Named | None = None
    optional: bool = False
    """Left out where the CLI offers nothing for it; `wait` always is."""

    @property
    def intents(self) -> tuple[Intent, ...]:
        """The keys that are given: one, in a script that was read."""
        held = (
            self.shell, self.write, self.edit, self.read, self.todo,
            self.task, self.wait, self.finish, self.named,
        )  # fmt: skip
        return tuple(one for one in held if one is not None)

    @property
    def intent(self) -> Intent:
        """What the call is for."""
        return self.intents[0]

    @property
    def may_be_left_out(self) -> bool:
        """Whether a CLI without a tool for it goes on without it."""
        return self.optional or self.wait is not None


class Moment(Enum):
    """When a connection is reset."""

    BEFORE = "before"
    """Instead of an answer."""
    HEADERS = "headers"
    """After status and headers."""
    MIDDLE = "middle"
    """In the middle of the stream."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong with an answer: exactly one kind, and how often."""

    status: int | None = None
    """An HTTP status of 400 or more instead of an answer."""
    retry_after: int | None = None
    """With `status`: seconds, as a header."""
    message: str | None = None
    """With `status`: what the error says; words of ours without it."""
    reset: Moment | None = None
    """The connection is reset (RST)."""
    early_end: bool = False
    """The stream ends in its middle, as if all were well."""
    error_event: str | None = None
    """An error of this type within the stream, after its first half."""
    stall_seconds: float | None = None
    """A pause in the middle of the stream."""
    times: int | None = None
    """For so many tries; None: for ever."""

    @property
    def kind(self) -> str:
        """One word for logs: "status 429", "reset before", "early end", "error event", "stall"."""
        if self.status is not None:
            return f"status {self.status}"
        if self.reset is not None:
            return f"reset {self.reset.value}"
        if self.early_end:
            return "early end"
        return "stall" if self.error_event is None else "error event"

    def strikes(self, attempt: int, *, streams: bool) -> bool:
        """Whether it goes wrong at the try of this number, from 1.

        What goes wrong with a stream spares answers in one piece, to which some clients resort.
        """
        instead = self.status is not None or self.reset is Moment.BEFORE
        return (instead or streams) and (self.times is None or attempt <= self.times)


class Stop(Enum):
    """Why an answer ends, other than by itself."""

    MAX_TOKENS = "max_tokens"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model."""

    thinking: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    wait_seconds: float = 0
    """Silence before the answer."""
    stop: Stop | None = None
    fault: Fault | None = None


@dataclass(frozen=True, kw_only=True)
class Script:
    """What a model plays, turn by turn."""

    name: str
    about: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True)
class _File:
    """A script's file."""

    about: str
    turns: tuple[Turn, ...]
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    """By problem, what stands for {{name}} in the turns; the first serves without a name."""


def load_script(path: Path, problem: str | None = None) -> Script:
    """The script in a file; InputError names the file and the key that is wrong.

    `problem` is one of the file's `problems`; None takes the first. The script is called after its
    file, and "main@PROBLEM" where a problem is named.
    """
    if not NAME.fullmatch(path.stem):
        message = "expected a name of small letters and digits, such as main.yaml: rename the file"
        raise InputError(message, path=path)
    held = read_yaml(path, _File)
    fill = _fill(path, held, problem)
    turns = tuple(
        _filled(turn, fill, path, f"turns[{number}]") for number, turn in enumerate(held.turns)
    )
    for key, message in _unsound(turns):
        raise InputError(message, path=path, key=key)
    name = path.stem if problem is None else f"{path.stem}@{problem}"
    return Script(name=name, about=held.about, turns=turns)


def load_scripts(place: Path = SHIPPED) -> tuple[Script, ...]:
    """The scripts of a folder, or of one file, each for every problem that it names."""
    paths = sorted(place.glob("*.yaml")) if place.is_dir() else [place]
    if not paths:
        raise InputError("no script here: expected files such as main.yaml", path=place)
    found = []
    for path in paths:
        found.append(load_script(path))
        problems = read_yaml(path, _File).problems
        found += [load_script(path, problem) for problem in problems]
    return tuple(found)


def _fill(path: Path, held: _File, problem: str | None) -> Mapping[str, str]:
    if problem is None:
        return next(iter(held.problems.values()), {})
    if problem not in held.problems:
        known = ", ".join(held.problems) or "none at all"
        message = f"nothing for the problem {problem!r}; it knows {known}: add an entry"
        raise InputError(message, path=path, key="problems")
    return held.problems[problem]


def _filled(value: Any, fill: Mapping[str, str], path: Path, key: str) -> Any:
    """A record with every {{name}} in its texts replaced."""

    def word(match: re.Match[str]) -> str:
        if match[1] not in fill:
            message = f"nothing stands for {match[0]}; add {match[1]} to each entry of problems"
            raise InputError(message, path=path, key=key)
        return fill[match[1]]

    if isinstance(value, str):
        return _HOLE.sub(word, value)
    if isinstance(value, tuple):
        return tuple(_filled(one, fill, path, f"{key}[{at}]") for at, one in enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        changed = {name: _filled(one, fill, path, f"{key}.{name}") for name, one in held.items()}
        return replace(value, **changed)
    return value


def _unsound(turns: tuple[Turn, ...]) -> Iterator[tuple[str, str]]:
    """Keys, and what is wrong with them."""
    if not turns:
        yield "turns", "expected at least one turn"
    for number, turn in enumerate(turns):
        key = f"turns[{number}]"
        for at, call in enumerate(turn.calls):
            if len(call.intents) != 1:
                message = f"expected exactly one kind of call, got {len(call.intents)}"
                yield f"{key}.calls[{at}]", message
        if turn.fault is not None:
            yield from _unsound_fault(turn.fault, f"{key}.fault")
        if not turn.calls and number < len(turns) - 1:
            message = "a session ends with a turn without calls: give it one, or move it to the end"
            yield f"{key}.calls", message
        if turn.wait_seconds < 0:
            yield f"{key}.wait_seconds", "expected 0 or more seconds"


def _unsound_fault(fault: Fault, key: str) -> Iterator[tuple[str, str]]:
    kinds = (fault.status, fault.reset, fault.early_end or None, fault.error_event)
    given = sum(one is not None for one in (*kinds, fault.stall_seconds))
    if given != 1:
        names = "status, reset, early_end, error_event, stall_seconds"
        yield key, f"expected exactly one of {names}, got {given}"
    if fault.status is not None and not 400 <= fault.status <= 599:
        yield f"{key}.status", f"expected a status from 400 to 599, got {fault.status}"
    if fault.times is not None and fault.times < 1:
        yield f"{key}.times", "expected 1 or more tries; leave it out for ever"
