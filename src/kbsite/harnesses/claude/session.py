"""The session log: `projects/<folder>/<session>.jsonl` and the files of its sub-agents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.claude.agents import Agents
from kbsite.harnesses.claude.background import Background
from kbsite.harnesses.claude.branches import Branches
from kbsite.harnesses.claude.content import assistant, gave_up, user, was_stopped
from kbsite.harnesses.claude.copies import Family, Member
from kbsite.harnesses.claude.hooks import Hooks
from kbsite.harnesses.claude.queued import Queue
from kbsite.harnesses.claude.requests import Requests, offered
from kbsite.harnesses.claude.system import attachment, system
from kbsite.harnesses.claude.titles import Titles
from kbsite.harnesses.claude.tokens import Totals
from kbsite.harnesses.claude.vocabulary import (
    BOOKKEEPING,
    LINKS,
    PROGRESS,
    ROW_NOTICES,
    SYNTHETIC,
    TITLES,
)
from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.claude.workflows import (
    JOURNAL,
    OUTCOME,
    TYPE,
    is_of_workflow,
    journal,
    outcome,
)
from kbsite.harnesses.lines import Line, count, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row, documents, rows
from kbsite.model.event import Event, Malformed, Session, ToolResult, Topic

_AGENT_FILE = re.compile(r"(?:.*/)?agent-([^/]+?)(?:\.meta\.json|\.jsonl)", re.DOTALL)
_META = ".meta.json"
_AGENT_NAMED = re.compile(r"^agentId: (\w+)", re.MULTILINE)
_FOREIGN = ("systemPayload", "toolCallResult", "parentSessionId")
_OF_SESSION = ("sessionId", "version", "cwd")
_SPEAKERS = frozenset({"user", "assistant"})
_LINKED = frozenset({"user", "assistant", "system", "attachment", "progress"})


class _Facts(NamedTuple):
    """What the rows of an agent say of its session, up to one of them."""

    session_id: str = ""
    model: str = ""
    effort: str = ""
    harness_version: str = ""
    cwd: str = ""
    tools: tuple[str, ...] = ()
    definitions: str = ""


_NOTHING = _Facts()


class _State(Struct):
    """What rows say of later ones."""

    file_agent: str
    agents: Agents = field(default_factory=Agents)
    totals: Totals = field(default_factory=Totals)
    facts: dict[str, _Facts] = field(default_factory=dict)
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By agent: the facts that a Session was last given out for."""
    prompts: dict[str, str] = field(default_factory=dict)
    """By agent: the system prompt that was last given out."""
    background: Background = field(default_factory=Background)
    hooks: Hooks = field(default_factory=Hooks)
    branches: Branches = field(default_factory=Branches)
    queue: Queue = field(default_factory=Queue)
    requests: Requests = field(default_factory=Requests)
    titles: Titles = field(default_factory=Titles)
    member: Member = field(default_factory=Member)
    elsewhere: frozenset[str] = frozenset()
    """The sub-agents that have files of their own."""
    repeated: set[str] = field(default_factory=set)
    """Rows of others that were repeated, by uuid."""

    def agent(self, held: Row) -> str:
        """The sub-agent that a row belongs to; empty for the main agent."""
        value = held.value
        if own := text(value.get("agentId")):
            return own
        beside = bool(value.get("isSidechain", self.file_agent != ""))
        if not beside or text(value.get("type")) not in _LINKED:
            return self.file_agent if beside else ""
        return self.file_agent or self.agents.sidechain(held)


_Read = Callable[[Row, _State], Iterator[Event]]


def is_main(file: str) -> bool:
    """Whether a file is a session's, and not a sub-agent's or a workflow's."""
    return not any(form.fullmatch(file) for form in (JOURNAL, OUTCOME, _AGENT_FILE))


def with_files(files: Iterable[str]) -> frozenset[str]:
    """The sub-agents of whose rows some of the files are."""
    found = (_AGENT_FILE.fullmatch(file) for file in files if not file.endswith(_META))
    return frozenset(name[1] for name in found if name)


def parse(
    source_lines: Iterable[Line],
    file: str,
    family: Family | None = None,
    elsewhere: frozenset[str] = frozenset(),
) -> Iterator[Event]:
    """The events of a session's file, of a sub-agent's file, or of the note beside the latter.

    `family` is what the transcript's sessions hold together, where there are more than one, and
    `elsewhere` are the sub-agents that other files are of: what the session repeats of them is
    not told twice.
    """
    if ran := JOURNAL.fullmatch(file):
        return _of_workflow(rows(source_lines, file), ran[1], journal)
    if ran := OUTCOME.fullmatch(file):
        return _of_workflow(documents(source_lines, file), ran[1], outcome)
    found = _AGENT_FILE.fullmatch(file)
    member = Member(None if found else family)
    state = _State(found[1] if found else "", member=member, elsewhere=elsewhere)
    read = _meta if file.endswith(_META) else _row
    return _events(source_lines, file, state, read)


def _of_workflow(
    told: Iterable[Row | Malformed], run: str, read: Callable[[Row], Iterator[Event]]
) -> Iterator[Event]:
    """What a file tells of a workflow, whose events are those of an agent called after its run."""
    for row in told:
        if isinstance(row, Malformed):
            yield replace(row, agent=run)
        else:
            yield from read(row.of(run, timestamp(row.value.get("timestamp"))))


def _events(source_lines: Iterable[Line], file: str, state: _State, read: _Read) -> Iterator[Event]:
    held: Row | None = None
    row: Row | Malformed | None = None
    for row in rows(source_lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            held = row.of(state.agent(row), timestamp(row.value.get("timestamp")))
            yield from read(held, state)
    if held and held.agent not in state.told and held.agent in state.facts:
        yield _session(held, state)
    yield from chain(state.queue.rest(), state.requests.rest(row))


def _row(held: Row, state: _State) -> Iterator[Event]:
    back = state.branches.turned_back(held)
    if session := state.member.copied(held):
        yield from state.member.copy(held, session)
        return
    if back:
        yield back
    if held.agent in state.agents.sidechains:
        yield from state.agents.start_by_prompt(held, held.agent)
    yield from _facts(held, state)
    yield from held.told(_told(held, state), held.text("type"))


def _told(held: Row, state: _State) -> Iterator[Event]:
    match kind := held.text("type"):
        case "assistant":
            state.requests.answered(held)
            yield from state.agents.noting(assistant(held))
            yield from gave_up(held)
        case "user":
            yield from chain(state.queue.passing(_user(held, state)), state.requests.asked(held))
        case "system":
            yield from state.hooks.told(held, system(held))
        case "attachment":
            shown = state.queue.passing(_attachment(held, state))
            yield from state.hooks.told(held, shown)
        case "progress":
            yield from state.hooks.told(held, _progress(held, state))
        case "queue-operation":
            state.queue.operation(held)
            yield held.trace(kind)
        case "api-request-shape":
            yield state.requests.prompt(held, state.prompts.get(held.agent, ""))
        case "cost-state":
            own, short = state.member.own(held), state.requests.short
            yield from state.totals.of_row(own, held.text("sessionId"), short=short)
            yield held.trace(kind)
        case _ if kind in TITLES:
            yield state.titles.told(held, *TITLES[kind])
        case _:
            yield _beside(held, kind)


def _beside(held: Row, kind: str) -> Event:
    """What a row tells that is no part of what goes to and comes from the model."""
    if kind in ROW_NOTICES:
        topic, words, key = ROW_NOTICES[kind]
        return held.notice(topic, words.format(held.text(key)))
    if kind in LINKS:
        told = (held.text(key) for key in LINKS[kind])
        return held.notice(Topic.NOTE, " ".join(filter(None, told)))
    return held.trace(kind) if kind in BOOKKEEPING else held.unknown(kind)


def _user(held: Row, state: _State) -> Iterator[Event]:
    rich = held.value.get("toolUseResult")
    for event in state.background.told(user(held, rich), rich):
        if isinstance(event, ToolResult):
            yield from _answered(held, event, mapping(rich), state)
        else:
            yield event
            if not held.agent:
                yield from was_stopped(held, event)


def _answered(
    held: Row, result: ToolResult, rich: Mapping[str, object], state: _State
) -> Iterator[Event]:
    """A result; before it, the start of the sub-agent whose work it is."""
    child = text(rich.get("agentId"))
    if rich.get("taskType") == TYPE:
        child = text(rich.get("runId"))
    if not child and result.call_id in state.agents.asked:
        named = _AGENT_NAMED.findall(result.output)
        child = named[-1] if named else ""
    title = text(rich.get("description")) or text(rich.get("workflowName"))
    start = next(state.agents.start(held, child, result.call_id, title), None)
    if start is None:
        yield result
    else:
        yield replace(start, source=result.source)
        yield replace(result, source=start.source)


def _attachment(held: Row, state: _State) -> Iterator[Event]:
    told = mapping(held.value.get("attachment"))
    if told.get("type") == "prompt_snapshot":
        prompt = wording(told.get("systemPrompt"))
        if state.prompts.get(held.agent) == prompt:
            yield held.trace("attachment/prompt_snapshot")
            return
        state.prompts[held.agent] = prompt
    yield from attachment(held)


def _progress(held: Row, state: _State) -> Iterator[Event]:
    data = mapping(held.value.get("data"))
    kind = text(data.get("type"))
    if kind == "agent_progress":
        child = text(data.get("agentId"))
        yield from state.agents.start(held, child, held.text("parentToolUseID"))
        if child and child not in state.elsewhere:
            yield from _repeated(held, child, data, state)
            return
    if kind in PROGRESS:
        yield held.trace(f"progress/{kind}")
    else:
        yield held.unknown(f"progress/{kind}")


def _repeated(held: Row, child: str, data: Mapping[str, object], state: _State) -> Iterator[Event]:
    """What rows of a sub-agent tell that a row of its parent's repeats: it has no file here.

    One is what the row is about. Some versions repeat those before it too, each time anew, and
    among them what the sub-agent said, which no row is about.
    """
    message = mapping(data.get("message"))
    own = text(message.get("uuid"))
    told = map(mapping, sequence(data.get("normalizedMessages")))
    before = takewhile(lambda row: row.get("uuid") != own, told)
    unseen = [row for row in before if _is_new(row, state)]
    if not own or _is_new(message, state):
        unseen.append(message)
    steps = chain.from_iterable(_of_agent(held, child, row, state) for row in unseen)
    yield from held.told(steps, "progress/agent_progress")


def _is_new(row: Mapping[str, object], state: _State) -> bool:
    """Whether a row of a sub-agent was not repeated before; it counts as repeated then."""
    uuid = text(row.get("uuid"))
    new = bool(uuid) and uuid not in state.repeated
    state.repeated.add(uuid)
    return new


def _of_agent(held: Row, child: str, told: Mapping[str, object], state: _State) -> Iterator[Event]:
    """What a row of a sub-agent tells, which stands within one of its parent's."""
    if told.get("type") not in _SPEAKERS:
        return
    known = {key: held.value[key] for key in _OF_SESSION if key in held.value}
    row = Row({**known, **told}, None, held.place)
    row = row.of(child, timestamp(told.get("timestamp")) or held.at)
    yield from _facts(row, state)
    yield from _told(row, state)


def _facts(held: Row, state: _State) -> Iterator[Session]:
    before = state.facts.get(held.agent, _NOTHING)
    now = _learned(before, held)
    if now == before:
        return
    state.facts[held.agent] = now
    key = _key(now)
    if now.model and state.told.get(held.agent) != key:
        yield _session(held, state)


def _key(facts: _Facts) -> tuple[str, ...]:
    """Those facts for whose change a Session is given out anew."""
    return (facts.session_id, facts.model, facts.effort, facts.harness_version, facts.definitions)


def _learned(known: _Facts, held: Row) -> _Facts:
    model, effort = "", ""
    match held.text("type"):
        case "assistant":
            model = text(mapping(held.value.get("message")).get("model"))
            effort = held.text("effort")
        case "api-request" if not known.model:
            params = mapping(held.value.get("params"))
            model = text(params.get("model"))
            effort = text(mapping(params.get("output_config")).get("effort"))
        case "api-request-shape":
            names, told = offered(held)
            return known._replace(tools=names, definitions=told)
        case _:
            pass
    session_id = held.text("sessionId") or known.session_id
    model = known.model if model in ("", SYNTHETIC) else model
    version = held.text("version") or known.harness_version
    now = (session_id, model, effort or known.effort, version, known.cwd or held.text("cwd"))
    # Most rows say what those before them said.
    return known if now == known[:5] else _Facts(*now, *known[5:])


def _session(held: Row, state: _State) -> Session:
    facts, before = state.facts[held.agent], state.told.get(held.agent, ())
    state.told[held.agent] = _key(facts)
    return held.event(
        Session,
        session_id=facts.session_id,
        parent_session=facts.session_id if held.agent else "",
        model=facts.model,
        effort=facts.effort,
        harness_version=facts.harness_version,
        cwd=facts.cwd,
        tools=facts.tools,
        definitions="" if facts.definitions in before else facts.definitions,
    )


def _meta(held: Row, state: _State) -> Iterator[Event]:
    title = held.text("description") or held.text("agentType")
    parent, depth = held.text("parentAgentId"), count(held.value.get("spawnDepth")) or 1
    if parent or depth == 1:
        call_id = held.text("toolUseId")
        yield from state.agents.start(held, state.file_agent, call_id, title, parent)
    yield held.trace("agent-meta")


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is a session log, or what stands beside one."""
    if any(map(_is_foreign, head)):
        return False
    return any(_is_of_log(value) or is_of_workflow(value) or _is_note(value) for value in head)


def _is_note(value: Mapping[str, object]) -> bool:
    """Whether this is the note beside a sub-agent's file."""
    return isinstance(value.get("agentType"), str) and not {"type", "sessionId"} & set(value)


def _is_foreign(value: Mapping[str, object]) -> bool:
    """Whether a row is Qwen Code's, whose log has the same keys around another content."""
    return "parts" in mapping(value.get("message")) or any(key in value for key in _FOREIGN)


def _is_of_log(value: Mapping[str, object]) -> bool:
    kind = value.get("type")
    if kind == "summary":
        return "leafUuid" in value
    if kind == "file-history-snapshot":
        return "snapshot" in value
    if not isinstance(value.get("sessionId"), str) or not isinstance(kind, str):
        return False
    return (kind in _LINKED and "parentUuid" in value) or kind in BOOKKEEPING or kind in TITLES
