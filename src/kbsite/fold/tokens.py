"""Token counts of a transcript, each counted once."""

from __future__ import annotations

from msgspec import Struct, field

from kbsite.model.event import Scope, TokenUse
from kbsite.model.usage import Usage, total


class Ledger(Struct):
    """Collects token counts as they come, and sums them by the scope that each one states."""

    messages: dict[tuple[str, str], TokenUse] = field(default_factory=dict)
    """By agent and message id; a row without an id is a message of its own."""
    agents: dict[str, TokenUse] = field(default_factory=dict)
    """The last cumulative count of each agent."""
    sessions: dict[str, TokenUse] = field(default_factory=dict)
    """The CLI's own final count of each session."""

    def add(self, use: TokenUse) -> None:
        """Take in one count; it replaces an earlier one of the same message, agent or session."""
        match use.scope:
            case Scope.MESSAGE:
                message_id = use.message_id or f"\0{use.source}"
                self.messages[use.agent, message_id] = use
            case Scope.AGENT:
                self.agents[use.agent] = use
            case Scope.RUN:
                self.sessions[use.message_id] = use

    def usages(self) -> dict[str, Usage]:
        """What each agent used: its cumulative count if it has one, else its messages' sum."""
        messages: dict[str, list[Usage]] = {}
        for (owner, _), use in self.messages.items():
            messages.setdefault(owner, []).append(use.usage)
        summed = {owner: total(held) for owner, held in messages.items()}
        return summed | {owner: use.usage for owner, use in self.agents.items()}

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
        whole = {o: use.cost_usd for o, use in self.agents.items() if use.cost_usd is not None}
        each = [
            use.cost_usd
            for (owner, _), use in self.messages.items()
            if use.cost_usd is not None and owner not in whole
        ]
        costs = final or [*whole.values(), *each]
        return sum(costs) if costs else None

    @property
    def lower_bound(self) -> bool:
        """Whether the total counts too little.

        Some messages were only counted at their start; or the CLI's final counts leave out sessions
        that came to no end, so that the messages say more.
        """
        if self.told.known:
            return _exceeds(self.counted, self.told)
        return any(use.lower_bound for use in [*self.messages.values(), *self.agents.values()])


def _exceeds(one: Usage, other: Usage) -> bool:
    pairs = ((one.sent, other.sent), (one.output, other.output))
    return any((held or 0) > (told or 0) for held, told in pairs)
