"""What a coding-agent CLI wrote, as typed events.

A parser turns the lines of a file into these, one at a time, in the order of the file, and drops
nothing: a row that a reader has no use for is a `Trace`, a row of a type that the parser has never
seen is `Unknown`, a line that is no JSON is `Malformed`. Pairing, nesting and summing is the
fold's work (`kbsite.fold`), so no event holds another.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import ClassVar, get_args

from msgspec import Struct

from kbsite.model.usage import Usage


class Source(Struct, frozen=True):
    """Where an event stands in what the CLI wrote."""

    file: str
    """Path within the run's transcript/ folder, with forward slashes."""
    line: int
    """Line of that file, from 1; the ordinal of the event where the format has no lines."""
    part: int = 0
    """Which event of that line, from 0."""


class Role(Enum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class ToolKind(Enum):
    """What a tool does, whatever a CLI calls it."""

    RUN = "run"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    SEARCH = "search"
    WEB = "web"
    AGENT = "agent"
    PLAN = "plan"
    OTHER = "other"


class Topic(Enum):
    """What a notice is about."""

    COMPACTION = "compaction"
    RETRY = "retry"
    ERROR = "error"
    INTERRUPTION = "interruption"
    NOTE = "note"


class Scope(Enum):
    """What a token count covers, hence how counts add up."""

    MESSAGE = "message"
    """One model message: in an agent, the last count with a message id holds; sum them."""
    AGENT = "agent"
    """All of this agent so far, cumulative: the last one holds."""
    RUN = "run"
    """All of one session of the CLI, sub-agents included, as the CLI itself sums it up: with the
    session's id as message id, the last one of a session holds; sum the sessions."""


class Image(Struct, frozen=True):
    """A picture that was sent or received."""

    media_type: str
    data: str
    """Base64, as the CLI wrote it; empty when only `url` is known."""
    url: str = ""


UNTOLD = "@@"
"""A patch of which nothing is told but that there was one."""


class Edit(Struct, frozen=True):
    """One change of one file that a tool call asks for, as the call tells it."""

    path: str
    old: str | None
    """Text to be replaced; None when `new` is the whole file, or `patch` is set."""
    new: str
    """Text to put there; empty when `patch` is set or the file is deleted."""
    every: bool = False
    """Whether every occurrence of `old` is replaced."""
    patch: str = ""
    """The change as unified-diff or apply_patch hunks, where that is all the call tells."""
    action: str = "update"
    """add, update, delete or move."""
    closed: bool = False
    """Whether what follows `old` goes with it, if that is the end of its line."""


class Event(Struct, frozen=True, kw_only=True, tag=True, tag_field="is"):
    """What all events have; packed, each is told by the name of its class."""

    kind: ClassVar[str]
    source: Source
    at: datetime | None = None
    """When, with its time zone; None where the CLI does not say."""
    agent: str = ""
    """The sub-agent that it belongs to, by the CLI's id; empty for the main agent."""


class Session(Event, frozen=True, kw_only=True):
    """What a CLI says of itself at the start of a session or turn; absent facts are empty."""

    kind: ClassVar[str] = "session"
    session_id: str = ""
    parent_session: str = ""
    """The session that started this one as a sub-agent."""
    model: str = ""
    effort: str = ""
    harness_version: str = ""
    cwd: str = ""
    tools: tuple[str, ...] = ()
    definitions: str = ""
    """What the model was told of its tools; empty where that is not told apart from `raw`."""
    raw: str = ""
    """The whole row, as JSON."""


class Message(Event, frozen=True, kw_only=True):
    """Text between the user, the model and the CLI."""

    kind: ClassVar[str] = "message"
    role: Role
    text: str
    images: tuple[Image, ...] = ()
    injected: bool = False
    """Whether the CLI put it there (environment notes, reminders): no person, not the model."""
    model: str = ""
    """The model that wrote it, where the row says so."""


class Thought(Event, frozen=True, kw_only=True):
    """The model's thinking. Empty text: encrypted, or left out by the CLI."""

    kind: ClassVar[str] = "thought"
    text: str
    encrypted: bool = False


class ToolCall(Event, frozen=True, kw_only=True):
    """The model asks for a tool."""

    kind: ClassVar[str] = "call"
    call_id: str
    tool: str
    """The CLI's own name for it."""
    tool_kind: ToolKind
    arguments: Mapping[str, object] | str
    """The arguments as an object; as text where they are text, or JSON that does not parse."""
    summary: str = ""
    """One line: the command, the path, the query."""
    described: str = ""
    """What the CLI tells of it beyond its arguments, and beyond what it told of the tool before."""
    edits: tuple[Edit, ...] = ()


class ToolResult(Event, frozen=True, kw_only=True):
    """What came back from a tool."""

    kind: ClassVar[str] = "result"
    call_id: str
    output: str
    """What the model was shown, whole."""
    is_error: bool | None = None
    exit_code: int | None = None
    seconds: float | None = None
    images: tuple[Image, ...] = ()
    recorded: Mapping[str, object] | str = ""
    """The CLI's own, richer copy of the result, where it keeps one that says more than `output`."""
    side_files: tuple[str, ...] = ()
    """Files that the CLI says hold the full output, by the path that it names."""
    late: bool = False
    """Whether it only says more of what the result of the same call told before."""
    whole_lines: int = 0
    """Lines that it begins with, each behind its number, that are all of the file that its call
    read; 0 where its CLI does not say so."""
    end_of: str = ""
    """The call whose command it says the end of, which another call started; empty if none."""

    @property
    def says_something(self) -> bool:
        """Whether there is anything to read in it."""
        return bool(self.output or self.recorded or self.images)

    @property
    def failed(self) -> bool:
        """Whether its own call went wrong, and not a command that another one started."""
        return not self.end_of and (bool(self.is_error) or bool(self.exit_code))


class TokenUse(Event, frozen=True, kw_only=True):
    """A token count."""

    kind: ClassVar[str] = "usage"
    usage: Usage
    scope: Scope
    message_id: str = ""
    """The message or session that it counts; rows with the same id replace each other."""
    model: str = ""
    cost_usd: float | None = None
    """What the CLI says that it cost, in US dollars."""
    lower_bound: bool = False
    """Whether the row was written before the message was complete, so that it counts too little."""
    continues: str = ""
    """The session whose count it goes on from: what that one had used until then is in it."""


class AgentStart(Event, frozen=True, kw_only=True):
    """A sub-agent, tied to the call that started it. `agent` is the one that started it."""

    kind: ClassVar[str] = "agent"
    child: str
    """The sub-agent's id, as its own events carry it in `agent`."""
    call_id: str = ""
    title: str = ""
    repeats: bool = False
    """Whether the rest of its file tells of this sub-agent only what another file may tell too."""


class Notice(Event, frozen=True, kw_only=True):
    """Something that the CLI tells: a compaction, a retry, an error."""

    kind: ClassVar[str] = "notice"
    topic: Topic
    text: str
    raw: str = ""
    wait: float | None = None
    """Seconds from here on until the CLI tries again, as it tells; None where it does not."""
    of_model: bool = False
    """Whether a model was at work until here, such as one that another one takes over from."""
    restores: bool = False
    """Whether the CLI put files back to what they had been, or may have."""
    undone: bool = False
    """Whether what it tells of came to nothing: a compaction that was cancelled, or failed."""


_STOPPED = frozenset({"aborted", "cancelled", "canceled", "interrupted", "MessageAbortedError"})
"""The CLIs' own words for it."""


class Finish(Event, frozen=True, kw_only=True):
    """The CLI's own completion event."""

    kind: ClassVar[str] = "finish"
    ok: bool | None
    """Whether the CLI says that all went well; None where it does not say."""
    reason: str
    """The CLI's own word: end_turn, api_error, aborted."""
    text: str = ""
    """The final answer or the error, where the row repeats it."""
    refused: bool = False
    """Whether the CLI says that its provider refused the last request, which cost nothing then."""
    seconds: float | None = None
    turns: int | None = None
    raw: str = ""

    @property
    def stopped(self) -> bool:
        """Whether the CLI says that somebody stopped it, which is no failure of its own."""
        return self.ok is False and self.reason in _STOPPED


class Trace(Event, frozen=True, kw_only=True):
    """A row of a known type with nothing to read in it: bookkeeping, progress, a repetition."""

    kind: ClassVar[str] = "trace"
    type: str
    raw: str


class Unknown(Event, frozen=True, kw_only=True):
    """A row of a type that the parser does not know."""

    kind: ClassVar[str] = "unknown"
    type: str
    raw: str


class Malformed(Event, frozen=True, kw_only=True):
    """A line that is not what the format says: cut, no JSON, no object."""

    kind: ClassVar[str] = "malformed"
    text: str
    reason: str


AnyEvent = (
    Session | Message | Thought | ToolCall | ToolResult | TokenUse | AgentStart | Notice | Finish
    | Trace | Unknown | Malformed
)  # fmt: skip
"""An event of any kind, told by its class."""

EVENTS: tuple[type[Event], ...] = get_args(AnyEvent)
"""Every kind of event there is."""
