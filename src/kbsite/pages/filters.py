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
    """The tools and agents of a transcript, in the order in which they appear, and its parts."""

    tools: tuple[Named, ...]
    agents: tuple[Named, ...]
    parts: tuple[InPart, ...]


def filters(parts: Sequence[Part]) -> Filters:
    """What the parts of a transcript can be narrowed by; a tool's key is its place from 1."""
    keys: dict[str, str] = {}
    named: dict[str, tuple[str, str]] = {MAIN: (MAIN, "")}
    tools: Counter[str] = Counter()
    agents: Counter[str] = Counter()
    inside: list[str] = []
    held: list[InPart] = []
    for part in parts:
        before = " ".join(inside)
        own_tools: Counter[str] = Counter()
        own_agents: Counter[str] = Counter()
        for item in part.items:
            own_agents[_agent(item, inside, named)] += 1
            if tool := _tool(item):
                own_tools[keys.setdefault(tool, str(len(keys) + 1))] += 1
        tools += own_tools
        agents += own_agents
        held.append(InPart(_counts(own_tools), _counts(own_agents), before))
    return Filters(
        tuple(Named(key, tool, tools[key]) for tool, key in keys.items()),
        tuple(Named(key, title, agents[key]) for key, title in told_apart(named)),
        tuple(held),
    )


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


def _counts(counts: Mapping[str, int]) -> str:
    return " ".join(f"{key}:{number}" for key, number in counts.items())
