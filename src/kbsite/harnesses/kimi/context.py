"""What kimi-cli holds of a session for its model: `context.jsonl`, beside the session log.

The system prompt stands there alone. All other rows repeat what the log tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kbsite.harnesses.lines import Line, text
from kbsite.harnesses.rows import rows
from kbsite.model.event import Event, Malformed, Message, Role

GLOBS = (
    "home/.kimi/sessions/*/*/context.jsonl",
    "home/.kimi/sessions/*/*/subagents/*/context.jsonl",
    "session/**/context.jsonl",
)

_PATH = re.compile(
    r"(?:home/\.kimi/sessions/[^/]+/[^/]+|session(?:/.*?)??)(?:/subagents/([^/]+))?/context\.jsonl"
)
_REPEATED = frozenset({"_checkpoint", "_usage", "assistant", "system", "tool", "user"})
"""Roles of the rows that the log tells of, and of marks between them."""
_OWN = frozenset({"_system_prompt", "_checkpoint"})
"""Those that no other file has."""


def is_context(file: str) -> bool:
    """Whether a file is one of these, and no session log."""
    return _PATH.fullmatch(file) is not None


def parse(source_lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The system prompt, as the first that the model of the session or sub-agent was told."""
    found = _PATH.fullmatch(file)
    agent, told = (found[1] or "" if found else ""), ""
    for row in rows(source_lines, file):
        if isinstance(row, Malformed):
            yield replace(row, agent=agent)
            continue
        held, role = row.of(agent, None), row.text("role")
        if role == "_system_prompt":
            prompt = text(row.value.get("content"))
            if prompt not in ("", told):
                told = prompt
                yield held.event(Message, role=Role.SYSTEM, text=prompt, injected=True)
            else:
                yield held.trace("context/_system_prompt")
        elif role in _REPEATED:
            yield held.trace(f"context/{role}")
        else:
            yield held.unknown(f"context/{role}")


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file begins as such a one: marks stand between what was said."""
    roles = {text(row.get("role")) for row in head}
    return bool(roles & _OWN) and roles <= _OWN | _REPEATED
