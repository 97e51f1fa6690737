"""Token counts of a transcript, each counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from itertools import chain

from msgspec import Struct, field

from kbsite.fold.lookup import Name
from kbsite.model.event import AgentStart, Event, Scope, Session, TokenUse
from kbsite.model.usage import Usage, total, with_hours_of

_AT_ONCE = 1_000
"""Counts of an agent that are added up at once: memory should not hold all of a long transcript."""


class Ledger(Struct):
    """Collects token counts as they come, and sums them by the scope that each one states."""

    messages: MutableMapping[tuple[str, str], TokenUse] = field(default_factory=dict)
    """By agent and message id; a row without an id is a message of its own."""
    agents: dict[tuple[str, str], dict[str, TokenUse]] = field(default_factory=dict)
    """The cumulative count of each agent in each session, the last one in each file."""
    sessions: dict[str, dict[str, TokenUse]] = field(default_factory=dict)
    """The CLI's own final count of each session, the last one in each file."""
    _names: dict[str, str] = field(default_factory=dict)
    """The session that each file is in."""
    _under_way: set[str] = field(default_factory=set)
    """The files whose messages no final count has followed."""
    _cut_off: bool = False
    """Whether another session began in such a file."""
    _repeats: set[str] = field(default_factory=set)
    """The files that repeat what others may tell of a sub-agent."""

    def add(self, use: TokenUse) -> None:
        """Take in one count; it replaces an earlier one of the same message, agent or session."""
        file = use.source.file
        match use.scope:
            case Scope.MESSAGE:
                self.messages[use.agent, message_of(use)] = use
                if not use.agent:
                    self._under_way.add(file)
            case Scope.AGENT:
                key = use.agent, use.message_id or f"\0{file}"
                self.agents.setdefault(key, {})[file] = use
            case Scope.RUN:
                self.sessions.setdefault(use.message_id or f"\0{file}", {})[file] = use
                self._under_way.discard(file)

    def take(self, event: Event) -> None:
        """Take in what an event tells of tokens, and of which session the rows after it are.

        Who takes events in so need not look after files that repeat what others tell.
        """
        match event:
            case AgentStart():
                if event.repeats:
                    self._repeats.add(event.source.file)
            case Session():
                self.enter(event)
            case TokenUse():
                self.add(event)
            case _:
                return

    def enter(self, session: Session) -> None:
        """Take in which session the rows that follow are of."""
        if session.agent or not session.session_id:
            return
        file = session.source.file
        before = self._names.setdefault(file, session.session_id)
        if before != session.session_id:
            self._names[file] = session.session_id
            self._cut_off = self._cut_off or file in self._under_way

    def usages(self) -> dict[str, Usage]:
        """What each agent used: its cumulative counts, and its messages where there are none."""
        found: dict[str, list[Usage]] = {}
        for use in self._adding_up(lambda _: True):
            held = found.setdefault(use.agent, [])
            held.append(use.usage)
            if len(held) == _AT_ONCE:
                held[:] = [total(held)]
        return {owner: total(held) for owner, held in found.items()}

    def usage(self, agent: str) -> Usage:
        """What one agent used; all None where nothing tells."""
        return self.usages().get(agent, Usage())

    @property
    def counted(self) -> Usage:
        """What all agents used, added up from their own counts."""
        return total(self.usages().values())

    @property
    def told(self) -> Usage:
        """What the CLI says in its final counts; all None where it wrote none."""
        return total(use.usage for use in self._final())

    @property
    def total(self) -> Usage:
        """What all agents used: the CLI's final count where there is one, else what was counted."""
        return with_hours_of(self.told, self.counted) if self.told.known else self.counted

    @property
    def cost_usd(self) -> float | None:
        """What the CLI says that it cost: its final figures, else the sum of its agents' own."""
        final = [use.cost_usd for use in self._final() if use.cost_usd is not None]
        each = [use.cost_usd for use in self._adding_up(_tells_cost)]
        costs = final or [cost for cost in each if cost is not None]
        return sum(costs) if costs else None

    @property
    def lower_bound(self) -> bool:
        """Whether the total counts too little.

        Some messages were only counted at their start; or the CLI's final counts leave out sessions
        that came to no end, or an answer that was broken off; or it is not known how much of its
        tokens a session had from another.
        """
        if self.told.known:
            left_out = self._cut_off or bool(self._under_way)
            broken = any(use.lower_bound for use in self._final())
            return left_out or broken or _exceeds(self.counted, self.told)
        if len(self._whole()) < len(self.agents):
            return True
        each = chain(self.messages.values(), self._cumulative())
        return any(use.lower_bound for use in each)

    def _final(self) -> Iterator[TokenUse]:
        """The CLI's own final count of each session."""
        return map(_largest, self.sessions.values())

    def _cumulative(self) -> Iterator[TokenUse]:
        """The cumulative count of each agent in each session."""
        return map(_largest, self.agents.values())

    def _adding_up(self, tells: Callable[[TokenUse], bool]) -> Iterator[TokenUse]:
        """The counts that add up: cumulative ones, and messages in files that have none."""
        each = (use for files in self.agents.values() for use in files.values())
        held = {(use.agent, use.source.file) for use in each if tells(use)}
        apart = (use for use in self.messages.values() if (use.agent, use.source.file) not in held)
        return filter(tells, chain(self._whole(), self._once(apart)))

    def _once(self, uses: Iterator[TokenUse]) -> Iterator[TokenUse]:
        """Counts without those of files that repeat what others tell of the same agent."""
        if not self._repeats:
            return uses
        each = self.messages.values()
        told = {use.agent for use in each if use.source.file not in self._repeats}
        return (u for u in uses if u.source.file not in self._repeats or u.agent not in told)

    def _whole(self) -> list[TokenUse]:
        """The cumulative counts that add up: of a session and those that went on from it, one.

        Each of these holds what the first had used until then, and no row tells how much that was:
        the largest stands for all.
        """
        found: dict[tuple[str, str], TokenUse] = {}
        for use in self._cumulative():
            first = use.agent, self._origin(use)
            held = found.get(first)
            if held is None or use.usage.tokens > held.usage.tokens:
                found[first] = use
        return list(found.values())

    def _origin(self, use: TokenUse) -> str:
        """The session that a count began with, as far back as the transcript goes."""
        passed = {use.message_id or f"\0{use.source.file}": use}
        while (before := self.agents.get((use.agent, use.continues))) is not None:
            if use.continues in passed:
                break
            passed[use.continues] = use = _largest(before)
        return next(reversed(passed))


class Counted:
    """At which step of an agent the tokens of each message stand: the last one that tells of it.

    A message is written as several rows that repeat its count.
    """

    def __init__(self, steps: MutableMapping[Name, int]) -> None:
        """An empty mapping, for the steps of messages by agent and message id."""
        self._steps = steps
        self._handed_on: dict[tuple[str, int], int] = {}

    def put(self, use: TokenUse, step: int) -> None:
        """Count what a message took at a step, and no more at an earlier one."""
        self._steps[use.agent, message_of(use)] = step

    def hand_on(self, agent: str, step: int, other: int) -> None:
        """Count at another step what stands at one that is not shown."""
        self._handed_on[agent, step] = other

    def by_step(
        self, ledger: Ledger, found: MutableMapping[Name, Usage]
    ) -> MutableMapping[Name, Usage]:
        """The tokens of each step that some stand at, put into an empty mapping.

        By its agent and its number in digits.
        """
        for (agent, message), step in self._steps.items():
            at = agent, str(self._handed_on.get((agent, step), step))
            usage, more = found.get(at), ledger.messages[agent, message].usage
            found[at] = more if usage is None else total([usage, more])
        return found


def message_of(use: TokenUse) -> str:
    """What a count of a message is known by: its id, else the row that it stands in."""
    return use.message_id or f"\0{use.source}"


def _tells_cost(use: TokenUse) -> bool:
    return use.cost_usd is not None


def _largest(files: Mapping[str, TokenUse]) -> TokenUse:
    """Of counts of one session, by file: that of the file in which it went on last.

    A session that was taken up again goes on in another file, whose count holds the earlier one.
    """
    return max(files.values(), key=lambda use: use.usage.tokens)


def _exceeds(one: Usage, other: Usage) -> bool:
    pairs = ((one.sent, other.sent), (one.output, other.output))
    return any((held or 0) > (told or 0) for held, told in pairs)
