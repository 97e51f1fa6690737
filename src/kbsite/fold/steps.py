"""Events of all files of a transcript, folded: calls with results, sub-agents under their calls.

Everything is joined by ids, never by order: results of parallel calls come in any order, and the
rows of parallel sub-agents are mixed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, MutableMapping
from datetime import datetime
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.fold.anchors import anchor_of
from kbsite.fold.aside import Aside
from kbsite.fold.clock import by_one_clock
from kbsite.fold.drafts import Draft, Drafts, DraftsAside, DraftsHeld
from kbsite.fold.ends import still_ended
from kbsite.fold.file_changes import FileChanges
from kbsite.fold.late import completed
from kbsite.fold.lookup import Name, by_name
from kbsite.fold.steps_aside import Told
from kbsite.fold.tokens import Counted, Ledger
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Scope,
    Session,
    Source,
    Thought,
    TokenUse,
    ToolCall,
    ToolResult,
    Unknown,
)
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.model.usage import NOTHING, Usage

T = TypeVar("T")

SYNTHETIC = "<synthetic>"
"""What Claude Code names as the model of rows that it made up itself."""

MAX_DEPTH = 16
"""Sub-agents nested deeper than this are shown beside, not below, the call that started them."""


_WORK = (ToolCall, Thought)
"""What takes time, and is no answer that a CLI makes up itself."""


class _Tree(Struct):
    """Which agents stand below which calls, while they are put in place."""

    children: dict[tuple[str, str], list[str]]
    usages: dict[str, Usage]
    tokens: MutableMapping[Name, Usage]
    """By agent, and by the number of the step in digits."""
    placed: set[str] = field(default_factory=set)


class Fold:
    """Takes in the events of a transcript, file by file, and gives out the transcript."""

    def __init__(
        self,
        keeps_folder: bool | None = None,  # noqa: FBT001
        aside: Aside[Told] | None = None,
    ) -> None:
        """`keeps_folder` is what its `Harness` says of it; `aside` is where steps are laid."""
        self._aside = aside
        self._changes = FileChanges(keeps_folder)
        self._drafts: dict[str, Drafts] = {}
        self._open: dict[Name, deque[int]] = {}
        self._early: dict[Name, int] = {}
        self._answered = self._by_name(int)
        self._starts: dict[str, AgentStart] = {}
        self._tokens = Counted(self._by_name(int))
        self._ledger = Ledger(self._by_name(TokenUse))
        self._kinds: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._malformed: list[Malformed] = []
        self._models: dict[str, None] = {}
        self._session: Session | None = None
        self._finish: Finish | None = None
        self._ends = 0
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._late = False
        self._main_file: str | None = None
        self._anchors = self._by_name(int)
        self._repeats: dict[str, tuple[str, list[Event]]] = {}
        self._of("")

    def _by_name(self, kind: type[T]) -> MutableMapping[Name, T]:
        return by_name(kind, large=self._aside is not None)

    def add(self, event: Event) -> None:
        """Take in the next event."""
        if event.source.file in self._repeats:
            self._repeats[event.source.file][1].append(event)
            return
        if isinstance(event, AgentStart) and event.repeats:
            self._repeats[event.source.file] = event.child, []
            return
        self._kinds[event.kind] += 1
        self._note_time(event)
        self._finish = still_ended(self._finish, event)
        self._ends += self._finish is event
        match event:
            case TokenUse():
                self._count(event)
            case ToolCall():
                self._call(event)
            case ToolResult():
                self._answer(event)
            case AgentStart():
                self._start(event)
            case _:
                self._note(event)
                self._settle(*self._append(event))

    def _note(self, event: Event) -> None:
        match event:
            case Session():
                self._ledger.enter(event)
                self._name_model(event.model)
                if event.agent == "" and self._session is None:
                    self._session = event
                    self._changes.home = event.cwd
            case Message():
                self._name_model(event.model)
            case Unknown():
                self._unknown[event.type] += 1
            case Malformed():
                self._malformed.append(event)
            case Notice(restores=True):
                self._changes.forget(event.source.file)
            case _:
                pass

    def _name_model(self, model: str) -> None:
        if model and model != SYNTHETIC:
            self._models.setdefault(model)

    def _note_time(self, event: Event) -> None:
        at = event.at
        if at is None:
            self._late = self._late or (self._first is None and isinstance(event, _WORK))
        else:
            self._first = at if self._first is None else min(self._first, at)
            self._last = at if self._last is None else max(self._last, at)

    def _start(self, start: AgentStart) -> None:
        """Take in what ties a sub-agent to a call: the first row that names a call holds."""
        held = self._starts.get(start.child)
        if held is None:
            self._starts[start.child] = start
        elif start.call_id and not held.call_id:
            self._starts[start.child] = replace(start, title=start.title or held.title)

    def _of(self, agent: str) -> Drafts:
        held = self._drafts.get(agent)
        if held is None:
            held = DraftsHeld() if self._aside is None else DraftsAside(self._aside)
            self._drafts[agent] = held
        return held

    def _append(self, event: Event) -> tuple[int, Draft]:
        draft = Draft(event, self._anchor(event.source, event.agent))
        drafts = self._of(event.agent)
        drafts.append(draft)
        return len(drafts) - 1, draft

    def _settle(self, number: int, draft: Draft) -> None:
        """Nothing is known that could still change a step."""
        if self._aside is not None:
            self._of(draft.event.agent).settle(number, draft)

    def _call(self, call: ToolCall) -> None:
        number, draft = self._append(call)
        self._changes.begin(draft, call)
        if not call.call_id:
            return
        key = call.agent, call.call_id
        before = self._early.pop(key, None)
        early = None if before is None else self._of(call.agent)[before]
        if before is None or early is None or not isinstance(early.event, ToolResult):
            self._open.setdefault(key, deque()).append(number)
            return
        early.gone = True
        self._tokens.hand_on(call.agent, before, number)
        self._join(number, draft, call, early.event, early.anchor)

    def _answer(self, result: ToolResult) -> None:
        key = result.agent, result.call_id
        calls = self._open.get(key)
        if calls and not result.late:
            number = calls.popleft()
            if not calls:
                del self._open[key]
            draft = self._of(result.agent)[number]
            if isinstance(draft.event, ToolCall):
                anchor = self._anchor(result.source, result.agent)
                self._join(number, draft, draft.event, result, anchor)
                self._answered[key] = number
            return
        if result.late and self._completed(self._answered.get(key), result):
            self._kinds[result.kind] -= 1
            return
        alone, _ = self._append(result)
        if result.call_id and key not in self._answered:
            self._early.setdefault(key, alone)

    def _completed(self, answered: int | None, late: ToolResult) -> bool:
        """Take in what a CLI tells later of a result; whether no more is left of it to show."""
        if answered is None:
            return not late.says_something
        draft = self._of(late.agent)[answered]
        if draft.result is None:
            return False
        draft.result = completed(draft.result, late)
        self._settle(answered, draft)
        return True

    def _join(
        self, number: int, draft: Draft, call: ToolCall, result: ToolResult, anchor: str
    ) -> None:
        draft.result, draft.result_anchor = result, anchor
        self._changes.end(draft, call, result)
        self._settle(number, draft)

    def _count(self, use: TokenUse) -> None:
        self._ledger.add(use)
        self._name_model(use.model)
        drafts = self._drafts.get(use.agent)
        if use.scope is Scope.MESSAGE and drafts:
            self._tokens.put(use, len(drafts) - 1)

    def _anchor(self, source: Source, agent: str) -> str:
        if self._main_file is None and agent == "":
            self._main_file = source.file
        anchor = anchor_of(source, self._main_file)
        name = "", anchor
        again = self._anchors[name] = self._anchors.get(name, 0) + 1
        return anchor if again == 1 else f"{anchor}x{again}"

    def _take_in_repeats(self) -> None:
        """Take in the files that tell of a sub-agent what no other file told."""
        held, self._repeats = self._repeats, {}
        for file, (agent, events) in held.items():
            if all(draft.event.source.file == file for draft in self._drafts.get(agent, ())):
                for event in events:
                    self.add(event)

    def transcript(self, form: str, title: str, files: tuple[str, ...]) -> Transcript:
        """The transcript of all that was taken in; `form` and `title` name its format.

        One whose steps are laid aside can be asked for once.
        """
        self._take_in_repeats()
        children: dict[tuple[str, str], list[str]] = {}
        for child, start in self._starts.items():
            if child in self._drafts and child != "" and start.call_id:
                children.setdefault((start.agent, start.call_id), []).append(child)
        ledger = self._ledger
        tokens = self._tokens.by_step(ledger, self._by_name(Usage))
        tree = _Tree(children, ledger.usages(), tokens)
        main = self._log("", tree, 0)
        logs = (self._log(agent, tree, 0) for agent in self._top(tree))
        whole = Transcript(
            format=form,
            title=title,
            files=files,
            main=main,
            unlinked=tuple(log for log in logs if log.steps),
            session=self._session,
            finish=self._finish,
            ends=self._ends,
            models=tuple(self._models),
            usage=ledger.total,
            usage_told=ledger.told.known,
            lower_bound=ledger.lower_bound or self._leaves_out(ledger),
            cost_usd=ledger.cost_usd,
            first=self._first,
            last=self._last,
            late=self._late and self._first is not None,
            kinds=dict(self._kinds),
            unknown=dict(self._unknown),
            malformed=tuple(self._malformed),
            aside=self._aside is not None,
        )
        return by_one_clock(whole)

    def _leaves_out(self, ledger: Ledger) -> bool:
        """Whether the tokens leave out what the transcript says that there was."""
        if ledger.told.known:
            # A CLI tells its total at an end: not of what it went on with, and came to no end.
            return self._ends > 0 and self._finish is None
        unseen = any(child not in self._drafts for child in self._starts)
        return unseen and ledger.counted.known

    def _top(self, tree: _Tree) -> Iterator[str]:
        """The sub-agents that are not below another: those that nothing started come first."""
        below = {child for children in tree.children.values() for child in children}
        for agent in sorted(self._drafts, key=lambda agent: agent in below):
            if agent not in tree.placed:
                yield agent

    def _log(self, agent: str, tree: _Tree, depth: int) -> AgentLog:
        tree.placed.add(agent)
        steps = self._drafts[agent].steps(self._steps(agent, tree, depth))
        start = self._starts.get(agent)
        usage = tree.usages.get(agent, Usage())
        return AgentLog(id=agent, title=start.title if start else "", steps=steps, usage=usage)

    def _steps(self, agent: str, tree: _Tree, depth: int) -> Iterator[tuple[int, Step]]:
        for number, draft in enumerate(self._drafts[agent]):
            if draft.gone:
                continue
            below: list[AgentLog] = []
            if isinstance(draft.event, ToolCall) and depth < MAX_DEPTH:
                below.extend(
                    self._log(child, tree, depth + 1)
                    for child in tree.children.get((agent, draft.event.call_id), ())
                    if child not in tree.placed
                )
            usage = tree.tokens.get((agent, str(number)), NOTHING)
            begun = None if self._late else self._first
            yield number, draft.step(begun, tuple(below), usage)
