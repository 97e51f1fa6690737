"""What a reader can narrow a transcript by beside its marks: the CLI's own tools, and agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kbsite.model.event import ToolCall
from kbsite.pages.parts import Part
from kbsite.pages.steps import Item

MAIN = "main"
"""How the main agent is called among the agents; another one by the anchor of its head."""

MOST = 200
"""Tools, and agents, that a reader can choose from: those with the most items."""

_LABELS = {
    "is-error": "errors",
    "is-edit": "edits",
    "is-solution": "edits of solution.py",
    "is-slow": "slow",
    "is-sub": "sub-agents",
    "message": "messages",
    "thought": "thinking",
    "run": "run",
    "read": "read",
    "write": "write",
    "edit": "edit",
    "search": "search",
    "web": "web",
    "plan": "plan",
    "agent": "agent",
    "other": "other tools",
    "session": "session",
    "finish": "end",
    "result": "lone results",
    "notice": "notices",
    "trace": "bookkeeping",
    "unknown": "unknown",
    "malformed": "malformed",
}
"""How a reader is asked for what a mark stands for, in the order in which they are offered."""


def chips(counts: Mapping[str, int]) -> Sequence[tuple[str, str, int]]:
    """The marks that a transcript can be narrowed to, those that it has: mark, label, items."""
    return [(mark, label, counts[mark]) for mark, label in _LABELS.items() if mark in counts]


class Named(Struct, frozen=True):
    """A tool or an agent, with the number of items that narrowing to it leaves."""

    key: str
    title: str
    items: int


class InPart(Struct, frozen=True):
    """What a part holds, for a script that has not loaded it; counts as "key:12 key:3"."""

    tools: str
    agents: str
    inside: str
    """The agents that it starts within, outermost first, without the main one."""


class Filters(Struct, frozen=True):
    """The tools and agents of a transcript, in the order in which they appear, and its parts.

    A run page opens at once, however many there are: those with the most items are told.
    """

    tools: tuple[Named, ...]
    agents: tuple[Named, ...]
    parts: tuple[InPart, ...]
    more_tools: int = 0
    """Tools beyond MOST."""
    more_agents: int = 0


def filters(parts: Sequence[Part]) -> Filters:
    """What the parts of a transcript can be narrowed by; a tool's key is its place from 1."""
    named: dict[str, tuple[str, str]] = {MAIN: (MAIN, "")}
    tools: Counter[str] = Counter()
    agents: Counter[str] = Counter()
    inside: list[str] = []
    held: list[tuple[Counter[str], Counter[str], str]] = []
    for part in parts:
        before = " ".join(inside)
        own_tools: Counter[str] = Counter()
        own_agents: Counter[str] = Counter()
        for item in part.items:
            own_agents[_agent(item, inside, named)] += 1
            if tool := _tool(item):
                own_tools[tool] += 1
        tools += own_tools
        agents += own_agents
        held.append((own_tools, own_agents, before))
    keys = {tool: str(place) for place, tool in enumerate(_most(tools), 1)}
    own = {key: key for key in _most(agents)}
    return Filters(
        tuple(Named(key, tool, tools[tool]) for tool, key in keys.items()),
        tuple(Named(key, title, agents[key]) for key, title in told_apart(named) if key in own),
        tuple(InPart(_counts(one, keys), _counts(two, own), before) for one, two, before in held),
        len(tools) - len(keys),
        len(agents) - len(own),
    )


def _most(counts: Counter[str]) -> list[str]:
    """What has the most items, in the order in which it appears; the main agent in any case."""
    if len(counts) <= MOST:
        return list(counts)
    most = {key for key, _ in counts.most_common(MOST)}
    return [key for key in counts if key in most or key == MAIN]


def told_apart(named: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each key with its title, and with the id of its agent where several have that title."""
    shared = Counter(title for title, _ in named.values())
    for key, (title, agent) in named.items():
        yield key, f"{title} {agent}" if agent and shared[title] > 1 else title


def _agent(item: Item, inside: list[str], named: dict[str, tuple[str, str]]) -> str:
    """The agent of an item; keeps `inside` and `named`, titles and ids, up to date."""
    if item.opens is not None:
        del inside[max(0, item.depth - 1) :]
        inside.append(item.anchor)
        named.setdefault(item.anchor, (item.opens.title or "sub-agent", item.opens.id))
    del inside[item.depth :]
    return inside[-1] if inside else MAIN


def _tool(item: Item) -> str:
    event = item.step.event if item.step else None
    return event.tool if isinstance(event, ToolCall) else ""


def _counts(counts: Mapping[str, int], keys: Mapping[str, str]) -> str:
    # In the same order for each part: pages are compressed, and weigh less so.
    return " ".join(f"{key}:{counts[one]}" for one, key in keys.items() if one in counts)
