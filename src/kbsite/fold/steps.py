"""Events of all files of a transcript, folded: calls with results, sub-agents under their calls.

Everything is joined by ids, never by order: results of parallel calls come in any order, and the
rows of parallel sub-agents are mixed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from kbsite.fold.edits import Files
from kbsite.fold.tokens import Ledger
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Scope,
    Session,
    Source,
    TokenUse,
    ToolCall,
    ToolResult,
    Unknown,
)
from kbsite.model.transcript import AgentLog, FileDiff, Step, Transcript
from kbsite.model.usage import Usage

SYNTHETIC = "<synthetic>"
"""What Claude Code names as the model of rows that it made up itself."""

MAX_DEPTH = 16
"""Sub-agents nested deeper than this are shown beside, not below, the call that started them."""


@dataclass(slots=True)
class _Draft:
    """A step while its result, diffs and sub-agents may still come."""

    event: Event
    anchor: str
    result: ToolResult | None = None
    result_anchor: str = ""
    diffs: list[FileDiff] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)


class Fold:
    """Takes in the events of a transcript, file by file, and gives out the transcript."""

    def __init__(self) -> None:
        self._drafts: dict[str, list[_Draft]] = {"": []}
        self._open: dict[tuple[str, str], _Draft] = {}
        self._starts: dict[str, AgentStart] = {}
        self._counted: dict[tuple[str, str], _Draft] = {}
        self._files = Files()
        self._ledger = Ledger()
        self._kinds: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._malformed: list[Malformed] = []
        self._models: dict[str, None] = {}
        self._session: Session | None = None
        self._finish: Finish | None = None
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._main_file: str | None = None

    def add(self, event: Event) -> None:
        """Take in the next event."""
        self._kinds[event.kind] += 1
        self._note_time(event.at)
        match event:
            case TokenUse():
                self._count(event)
            case ToolResult():
                self._answer(event)
            case AgentStart():
                self._starts.setdefault(event.child, event)
            case _:
                self._note(event)
                self._append(event)

    def _note(self, event: Event) -> None:
        match event:
            case Session():
                self._name_model(event.model)
                if event.agent == "" and self._session is None:
                    self._session = event
            case Message():
                self._name_model(event.model)
            case Finish() if event.agent == "":
                self._finish = event
            case Unknown():
                self._unknown[event.type] += 1
            case Malformed():
                self._malformed.append(event)
            case _:
                pass

    def _name_model(self, model: str) -> None:
        if model and model != SYNTHETIC:
            self._models.setdefault(model)

    def _note_time(self, at: datetime | None) -> None:
        if at is None:
            return
        self._first = at if self._first is None else min(self._first, at)
        self._last = at if self._last is None else max(self._last, at)

    def _append(self, event: Event) -> _Draft:
        draft = _Draft(event, self._anchor(event.source, event.agent))
        self._drafts.setdefault(event.agent, []).append(draft)
        if isinstance(event, ToolCall):
            self._open.setdefault((event.agent, event.call_id), draft)
            draft.diffs = [self._files.diff(edit) for edit in event.edits]
        return draft

    def _answer(self, result: ToolResult) -> None:
        draft = self._open.get((result.agent, result.call_id))
        if draft is None or draft.result is not None:
            self._append(result)
            return
        draft.result = result
        draft.result_anchor = self._anchor(result.source, result.agent)
        if isinstance(draft.event, ToolCall) and not result.is_error:
            self._apply(draft, draft.event)

    def _apply(self, draft: _Draft, call: ToolCall) -> None:
        # The files may have changed between the call and its result: the diff is taken anew.
        draft.diffs = []
        for edit in call.edits:
            draft.diffs.append(self._files.diff(edit))
            self._files.apply(edit)

    def _count(self, use: TokenUse) -> None:
        self._ledger.add(use)
        self._name_model(use.model)
        drafts = self._drafts.get(use.agent)
        if use.scope is not Scope.MESSAGE or not drafts:
            return
        # A message is written as several rows that repeat its count: it stands at the last one.
        if use.message_id:
            earlier = self._counted.get((use.agent, use.message_id))
            if earlier is not None:
                earlier.usage = Usage()
            self._counted[use.agent, use.message_id] = drafts[-1]
        drafts[-1].usage = use.usage

    def _anchor(self, source: Source, agent: str) -> str:
        if self._main_file is None and agent == "":
            self._main_file = source.file
        line = f"L{source.line}" + (f"-{source.part}" if source.part else "")
        if source.file == self._main_file:
            return line
        name = hashlib.sha256(source.file.encode("utf-8", "surrogateescape")).hexdigest()[:6]
        return f"f{name}-{line}"

    def transcript(self, form: str, title: str, files: tuple[str, ...]) -> Transcript:
        """The transcript of all that was taken in; `form` and `title` name its format."""
        children: dict[tuple[str, str], list[str]] = {}
        for child, start in self._starts.items():
            if child in self._drafts and child != "":
                children.setdefault((start.agent, start.call_id), []).append(child)
        placed: set[str] = {""}
        main = self._log("", children, placed, 0)
        unlinked = [
            self._log(agent, children, placed, 0) for agent in self._drafts if agent not in placed
        ]
        ledger = self._ledger
        return Transcript(
            format=form,
            title=title,
            files=files,
            main=main,
            unlinked=tuple(log for log in unlinked if log.steps),
            session=self._session,
            finish=self._finish,
            models=tuple(self._models),
            usage=ledger.total,
            usage_told=ledger.told.known,
            lower_bound=ledger.lower_bound,
            cost_usd=ledger.cost_usd,
            first=self._first,
            last=self._last,
            kinds=dict(self._kinds),
            unknown=dict(self._unknown),
            malformed=tuple(self._malformed),
        )

    def _log(
        self, agent: str, children: dict[tuple[str, str], list[str]], placed: set[str], depth: int
    ) -> AgentLog:
        placed.add(agent)
        steps = []
        for draft in self._drafts[agent]:
            below: list[AgentLog] = []
            if isinstance(draft.event, ToolCall) and depth < MAX_DEPTH:
                below.extend(
                    self._log(child, children, placed, depth + 1)
                    for child in children.get((agent, draft.event.call_id), ())
                    if child not in placed
                )
            steps.append(self._step(draft, tuple(below)))
        start = self._starts.get(agent)
        title = start.title if start else ""
        return AgentLog(id=agent, title=title, steps=tuple(steps), usage=self._ledger.usage(agent))

    def _step(self, draft: _Draft, agents: tuple[AgentLog, ...]) -> Step:
        at = draft.event.at
        elapsed = (at - self._first).total_seconds() if at and self._first else None
        return Step(
            event=draft.event,
            anchor=draft.anchor,
            elapsed=elapsed,
            result=draft.result,
            result_anchor=draft.result_anchor,
            diffs=tuple(draft.diffs),
            agents=agents,
            usage=draft.usage,
        )
