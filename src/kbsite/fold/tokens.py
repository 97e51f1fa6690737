"""Token counts of a transcript, each counted once."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from kbsite.model.event import Scope, Session, TokenUse
from kbsite.model.usage import Usage, total


class Ledger(Struct):
    """Collects token counts as they come, and sums them by the scope that each one states."""

    messages: dict[tuple[str, str], TokenUse] = field(default_factory=dict)
    """By agent and message id; a row without an id is a message of its own."""
    agents: dict[tuple[str, str], TokenUse] = field(default_factory=dict)
    """The last cumulative count of each agent in each session."""
    sessions: dict[str, TokenUse] = field(default_factory=dict)
    """The CLI's own final count of each session."""
    _names: dict[str, str] = field(default_factory=dict)
    """The session that each file is in."""
    _under_way: set[str] = field(default_factory=set)
    """The files whose messages no final count has followed."""
    _cut_off: bool = False
    """Whether another session began in such a file."""

    def add(self, use: TokenUse) -> None:
        """Take in one count; it replaces an earlier one of the same message, agent or session."""
        file = use.source.file
        match use.scope:
            case Scope.MESSAGE:
                message_id = use.message_id or f"\0{use.source}"
                self.messages[use.agent, message_id] = use
                if not use.agent:
                    self._under_way.add(file)
            case Scope.AGENT:
                self.agents[use.agent, use.message_id or f"\0{file}"] = use
            case Scope.RUN:
                self.sessions[use.message_id or f"\0{file}"] = use
                self._under_way.discard(file)

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
            found.setdefault(use.agent, []).append(use.usage)
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
        return total(use.usage for use in self.sessions.values())

    @property
    def total(self) -> Usage:
        """What all agents used: the CLI's final count where there is one, else what was counted."""
        return self.told if self.told.known else self.counted

    @property
    def cost_usd(self) -> float | None:
        """What the CLI says that it cost: its final figures, else the sum of its agents' own."""
        final = [use.cost_usd for use in self.sessions.values() if use.cost_usd is not None]
        each = [use.cost_usd for use in self._adding_up(_tells_cost)]
        costs = final or [cost for cost in each if cost is not None]
        return sum(costs) if costs else None

    @property
    def lower_bound(self) -> bool:
        """Whether the total counts too little.

        Some messages were only counted at their start; or the CLI's final counts leave out sessions
        that came to no end; or it is not known how much of its tokens a session had from another.
        """
        if self.told.known:
            left_out = self._cut_off or bool(self._under_way)
            return left_out or _exceeds(self.counted, self.told)
        if len(self._whole()) < len(self.agents):
            return True
        return any(use.lower_bound for use in [*self.messages.values(), *self.agents.values()])

    def _adding_up(self, tells: Callable[[TokenUse], bool]) -> list[TokenUse]:
        """The counts that add up: cumulative ones, and messages in files that have none."""
        held = {(use.agent, use.source.file) for use in self.agents.values() if tells(use)}
        apart = (use for use in self.messages.values() if (use.agent, use.source.file) not in held)
        return [use for use in [*self._whole(), *apart] if tells(use)]

    def _whole(self) -> list[TokenUse]:
        """The cumulative counts that add up: of a session and those that went on from it, one.

        Each of these holds what the first had used until then, and no row tells how much that was:
        the largest stands for all.
        """
        found: dict[tuple[str, str], TokenUse] = {}
        for use in self.agents.values():
            first = use.agent, self._origin(use)
            held = found.get(first)
            if held is None or _size(use.usage) > _size(held.usage):
                found[first] = use
        return list(found.values())

    def _origin(self, use: TokenUse) -> str:
        """The session that a count began with, as far back as the transcript goes."""
        passed = {use.message_id or f"\0{use.source.file}": use}
        while (before := self.agents.get((use.agent, use.continues))) is not None:
            if use.continues in passed:
                break
            passed[use.continues] = use = before
        return next(reversed(passed))


def _tells_cost(use: TokenUse) -> bool:
    return use.cost_usd is not None


def _size(usage: Usage) -> int:
    return (usage.sent or 0) + (usage.output or 0)


def _exceeds(one: Usage, other: Usage) -> bool:
    pairs = ((one.sent, other.sent), (one.output, other.output))
    return any((held or 0) > (told or 0) for held, told in pairs)
