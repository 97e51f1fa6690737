"""Session logs: `chats/session-*.json`, one document, and in later versions a journal, `.jsonl`.

A journal does not list messages: it has patches (`$set`), and a message is written anew, under
the id that it had, whenever something is added to it. The last version of a message has it all.
Nothing is held back for that: each text, thought, call and result of a message is given out where
it is first written, and later versions only add what is new in them. So one pass in constant
memory will do, a killed session loses nothing, and what is appended moves nothing that is there.
Of what was given out, only digests are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.gemini.calls import answered, call, description, ended, result, started
from kbsite.harnesses.google_parts import Answer, Speech, part_events, parts, picture, tokens
from kbsite.harnesses.lines import Line, dump, mapping, records, sequence, text, timestamp
from kbsite.harnesses.rows import Place, Row, documents, rows
from kbsite.model.event import (
    Event,
    Image,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Source,
    Thought,
    TokenUse,
    ToolCall,
    Topic,
    Trace,
)

_CHILD = re.compile(r"(?:.*/)?chats/([^/]+)/([^/]+)\.jsonl?", re.DOTALL)
_TOKENS = ("input", "cached", "output", "thoughts", "total")
_PATCHED = frozenset({
    "directories", "kind", "lastUpdated", "memoryScratchpad", "messages", "projectHash",
    "sessionId", "startTime", "summary",
})  # fmt: skip
"""What a `$set` may patch."""
_TOPICS = {"info": Topic.NOTE, "warning": Topic.NOTE, "error": Topic.ERROR}
_CANCELLED = "Request cancelled"
_INJECTED = ("<session_context>", "<hook_context>", "<state_snapshot>")
"""How text in the user's place starts that the CLI put there."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file: a document, a journal, or the journal of a sub-agent."""
    stream = (line for line in lines if not line.blank)
    first = next(stream, None)
    if first is None:
        return
    found = _CHILD.fullmatch(file)
    reader = _Reader(*((found[2], found[1]) if found else ()))
    whole = chain([first], stream)
    if _is_document(first, file):
        yield from _document(documents(whole, file), file, reader)
        return
    for row in rows(whole, file):
        if isinstance(row, Malformed):
            yield replace(row, agent=reader.agent)
        else:
            yield from reader.row(row)
    yield from reader.uncounted()


def _is_document(first: Line, file: str) -> bool:
    """Whether a file that starts with this line is one object, whatever lines it has."""
    record = next(records([first], file))
    if isinstance(record, Malformed):
        return record.text.startswith("{") and not file.endswith(".jsonl")
    return isinstance(record.value.get("messages"), list)


def _document(whole: Iterable[Row | Malformed], file: str, reader: _Reader) -> Iterator[Event]:
    """The events of a document: it has no lines, so its head counts as 1, and each message on."""
    line = 0
    for row in whole:
        line += 1
        if isinstance(row, Malformed):
            yield replace(row, source=Source(file, line), agent=reader.agent)
            continue
        messages = row.value.get("messages")
        head = {key: value for key, value in row.value.items() if key != "messages"}
        written = None if isinstance(messages, list) else row.written
        value = head if isinstance(messages, list) else row.value
        yield from reader.row(replace(row, value=value, written=written, place=Place(file, line)))
        for message in sequence(messages):
            line += 1
            place = Place(file, line)
            yield from reader.row(Row(mapping(message), _written(message), place))
    yield from reader.uncounted()


def _written(message: object) -> str | None:
    """The text of a message that is no object; None of one that is, whose row can tell it."""
    return None if isinstance(message, dict) else dump(message)


class _Told(Struct):
    """What was given out of a message: digests of it."""

    words: int | None = None
    thoughts: int = 0
    tokens: int | None = None
    line: int = 0
    """Where it was told first."""


class _Reader(Struct):
    """What a file has told so far."""

    agent: str = ""
    parent: str = ""
    messages: dict[str, _Told] = field(default_factory=dict)
    standing: dict[str, int] = field(default_factory=dict)
    """The messages of the conversation as it stands, and their lines."""
    calls: dict[str, int | None] = field(default_factory=dict)
    """The calls that were given out, by id: the digest of the result, None without one."""
    pictures: set[Image | None] = field(default_factory=set)
    """The pictures that results showed."""
    described: dict[str, str] = field(default_factory=dict)
    """What calls were last described as, by tool."""
    session: str = ""
    owed: Row | None = None
    """What the model was asked and has not answered yet."""

    def uncounted(self) -> Iterator[TokenUse]:
        """A request that no row answers: it was stopped, or failed, and nothing counts it."""
        if self.owed is not None:
            yield self.owed.uncounted()

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row: at least one."""
        value = held.value
        row = replace(held, at=timestamp(value.get("timestamp")), agent=self.agent)
        if isinstance(value.get("$set"), dict):
            yield from row.told(self._patch(row, mapping(value["$set"])), "$set")
        elif "$rewindTo" in value:
            yield self._rewound(row)
        elif "type" in value:
            yield from row.told(self._message(row), f"{text(value['type'])}, again")
        elif "sessionId" in value and "projectHash" in value:
            yield self._session(row)
        else:
            yield row.unknown(",".join(value))

    def _rewound(self, row: Row) -> Notice:
        name, self.owed = text(row.value.get("$rewindTo")), None
        known = self.messages.get(name)
        where = f"line {known.line}" if known and known.line else f"the message {name}"
        first = known.line if known else 0
        while self.standing and self.standing[next(reversed(self.standing))] >= first:
            self.standing.popitem()
        told = (
            f"The session goes back to before {where}, and on from there: the model sees nothing "
            "of what stands between any more. Files may have been put back."
        )
        return row.notice(Topic.INTERRUPTION, told, restores=True)

    def _session(self, held: Row) -> Session:
        session = text(held.value.get("sessionId"))
        if held.value.get("kind") == "subagent":
            self.agent = session
        at = timestamp(held.value.get("startTime"))
        folders = sequence(held.value.get("directories"))
        return replace(held, at=at, agent=self.agent).event(
            Session,
            session_id=session,
            parent_session=self.parent,
            cwd=text(folders[0]) if folders else "",
            raw=held.raw,
        )

    def _patch(self, row: Row, patch: Mapping[str, object]) -> Iterator[Event]:
        if isinstance(summary := patch.get("summary"), str):
            yield row.notice(Topic.NOTE, f"Summary: {summary}")
        for key in patch:
            if key not in _PATCHED:
                yield row.unknown(f"$set/{key}", {key: patch[key]})
        messages = sequence(patch.get("messages"))
        held = [(mapping(message), _written(message)) for message in messages]
        new = [one for one, _ in held if text(one.get("id")) not in self.messages]
        # A session that is taken up again lists all that there was, and gives some new ids.
        if new and self._left_out({text(one.get("id")) for one, _ in held}):
            told = f"The conversation is now {len(held)} messages, {len(new)} of them new."
            yield row.notice(Topic.COMPACTION, told)
        for value, written in held:
            at = timestamp(value.get("timestamp")) or row.at
            yield from self._message(replace(row, value=value, written=written, at=at))

    def _left_out(self, listed: set[str]) -> bool:
        """Whether messages of the conversation are not among those that it is said to have now."""
        gone = [name for name in self.standing if name not in listed]
        for name in gone:
            del self.standing[name]
        return bool(gone)

    def _message(self, row: Row) -> Iterator[Event]:
        """What is new in a message, if anything is."""
        name = text(row.value.get("id"))
        new = _Told(line=row.place.line)
        known = self.messages.setdefault(name, new) if name else new
        if name and row.value.get("type") in ("gemini", "user"):
            self.standing.setdefault(name, row.place.line)
        match kind := row.value.get("type"):
            case "gemini":
                self.owed = None
                yield from self._gemini(row, known)
            case "user":
                self.owed = row
                yield from self._user(row, known)
            case "info" | "warning" | "error" if _is_new(known, row.value.get("content")):
                told = _wording(row.value.get("content"))
                stopped = kind == "info" and told.startswith(_CANCELLED)
                yield row.notice(Topic.INTERRUPTION if stopped else _TOPICS[str(kind)], told)
            case "info" | "warning" | "error":
                return
            case _:
                yield row.unknown(f"message:{text(kind)}")

    def _user(self, row: Row, known: _Told) -> Iterator[Event]:
        content = row.value.get("content")
        if not _is_new(known, content):
            return
        own = _wording(content).lstrip().startswith(_INJECTED)
        speech = Speech(Role.USER, injected=own)
        yield from part_events(
            row, self._unseen(content), speech, lambda told: self._answer(row, told)
        )
        shown = _wording(row.value.get("displayContent"))
        if shown and shown not in _wording(content):
            yield row.event(Message, role=Role.USER, text=shown)

    def _unseen(self, content: object) -> list[object]:
        """The parts of a message, without pictures beside answers of tools that results showed."""
        held = parts(content)
        if not any("functionResponse" in mapping(part) for part in held):
            return held
        return [part for part in held if picture(mapping(part)) not in self.pictures]

    def _answer(self, row: Row, told: Answer) -> Iterator[Event]:
        """The result of a call as the model got it: mostly the log has it with the call."""
        if self.calls.get(told.call_id) is None:
            self.calls[told.call_id] = hash(told.output)
            yield answered(row, told)

    def _gemini(self, row: Row, known: _Told) -> Iterator[Event]:
        new = False
        for event in self._said(row, known):
            new = True
            yield event
        model = text(row.value.get("model"))
        held = hash(dump(row.value.get("tokens")))
        if model and (new or held != known.tokens):
            # Told again after each piece: it counts once, and stands at the last one.
            known.tokens = held
            yield _use(row, model)

    def _said(self, row: Row, known: _Told) -> Iterator[Event]:
        thoughts = sequence(row.value.get("thoughts"))
        for thought in thoughts[known.thoughts :]:
            yield _thought(row, mapping(thought))
        known.thoughts = max(known.thoughts, len(thoughts))
        content = row.value.get("content")
        if _is_new(known, content):
            speech = Speech(Role.ASSISTANT, model=text(row.value.get("model")))
            said = [part for part in parts(content) if "functionCall" not in mapping(part)]
            yield from part_events(row, said, speech, lambda told: self._answer(row, told))
        yield from self._calls(row)

    def _described(self, asked: ToolCall, held: Mapping[str, object]) -> ToolCall:
        """A call with what the log tells of it, if that is not what it told of the tool last."""
        said = description(asked, held)
        if not said or self.described.get(asked.tool) == said:
            return asked
        self.described[asked.tool] = said
        return replace(asked, described=said)

    def _calls(self, row: Row) -> Iterator[Event]:
        listed = [mapping(held) for held in sequence(row.value.get("toolCalls"))]
        asked = (
            mapping(mapping(part).get("functionCall")) for part in parts(row.value.get("content"))
        )
        for held in chain(listed, filter(None, asked)):
            call_id = text(held.get("id"))
            if call_id not in self.calls or not call_id:
                yield self._described(
                    call(row, text(held.get("name")), held.get("args"), call_id), held
                )
                yield from started(row, held)
                self.calls[call_id] = None
            if not ended(held):
                continue
            digest = hash(dump([held.get("result"), held.get("resultDisplay")]))
            if self.calls[call_id] is None or not call_id:
                self.calls[call_id] = digest
                told = result(row, held)
                self.pictures.update(told.images)
                yield told
            elif self.calls[call_id] != digest:
                self.calls[call_id] = digest
                yield row.event(Trace, type="toolCalls, again", raw=dump(held))


def _is_new(known: _Told, content: object) -> bool:
    """Whether content says something that the message did not say before."""
    said = [part for part in parts(content) if "functionCall" not in mapping(part)]
    digest = hash("".join(map(_words, said)))
    new = digest != known.words
    known.words = digest
    return new


def _words(part: object) -> str:
    said = mapping(part).get("text", part)
    return text(said)


def _wording(content: object) -> str:
    return "".join(_words(part) for part in parts(content) if _words(part))


def _thought(row: Row, held: Mapping[str, object]) -> Thought:
    subject, told = text(held.get("subject")), text(held.get("description"))
    title = f"**{subject}**" if subject else ""
    at = timestamp(held.get("timestamp")) or row.at
    return row.event(Thought, at=at, text="\n\n".join(filter(None, (title, told))))


def _use(row: Row, model: str) -> TokenUse:
    held = mapping(row.value.get("tokens"))
    used = tokens(held, _TOKENS)
    return row.event(
        TokenUse,
        usage=used,
        scope=Scope.MESSAGE,
        message_id=text(row.value.get("id")),
        model=model,
        lower_bound=not used.known,
    )


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is a session log, in either layout."""
    return any(
        isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)
        for value in head
    ) or any(set(value) == {"$set"} for value in head)
