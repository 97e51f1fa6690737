"""The logs that an agent left in a trial: which CLI wrote them, and where a run holds them.

Only logs are taken. What else a CLI keeps in its home (settings, caches, credentials) is left out:
Harbor puts all of it into the trial's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kbsite.harnesses import BY_ID, atif
from kbsite.harnesses.form import Format, matches
from kbsite.importers.private import private
from kbsite.importers.recognition import recognised
from kbsite.store.files import Refused, Stored
from kbsite.transcripts import shown

ATIF = atif.HARNESS.id
STDOUT = "stdout.jsonl"
REST = "agent/"
"""Where logs are kept within transcript/ that no format reads."""


@dataclass(frozen=True, slots=True)
class _Agent:
    """An agent of Harbor's: the harness that it is, and where its files belong."""

    harness: str
    places: Mapping[str, str]
    """Beginnings of names within agent/, and what stands in their place within transcript/."""


_AGENTS = {
    "claude-code": _Agent("claude", {"sessions/": "home/.claude/", "claude-code.txt": STDOUT}),
    "codex": _Agent("codex", {"sessions/": "home/.codex/sessions/", "codex.txt": STDOUT}),
    "gemini-cli": _Agent("gemini", {"gemini-cli.trajectory.json": "chats/session.json",
                                    "gemini-cli.txt": STDOUT}),
    "kimi-cli": _Agent("kimi-cli", {"kimi/share/": "home/.kimi/", "kimi-cli.txt": STDOUT}),
    "kimi-code": _Agent("kimi-code", {".kimi-code/": "home/.kimi-code/",
                                      "kimi-code.txt": STDOUT}),
    "opencode": _Agent("opencode", {"opencode.txt": STDOUT}),
    "qwen-coder": _Agent("qwen", {"qwen-sessions/projects/": "home/.qwen/projects/",
                                  "qwen-sessions/": "home/.qwen/projects/",
                                  "qwen-code.txt": STDOUT}),
    "cursor-cli": _Agent("cursor", {"cursor-cli.txt": STDOUT}),
    "mini-swe-agent": _Agent("mini", {
        "mini-swe-agent.trajectory.json": "trajectory/mini-swe-agent.traj.json"}),
    "copilot-cli": _Agent("copilot", {"copilot-cli.jsonl": "session/copilot-cli.jsonl"}),
    "pi": _Agent("pi", {"pi/sessions/": "home/.pi/agent/sessions/"}),
}  # fmt: skip
"""The agents whose own logs are read; a place that is more exact comes first."""


class Shown(Enum):
    """What the page of a trial's run shows."""

    OWN = "the agent's own log"
    TRAJECTORY = "Harbor's trajectory"
    NOTHING = "nothing, for there is no log that can be read"


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs of a trial as a run holds them."""

    harness: str
    """Whose formats read them: that of the agent, else ATIF."""
    shown: Shown
    files: tuple[Stored, ...]
    """Named from transcript/."""
    left_out: tuple[Refused, ...]


def laid_out(name: str, files: Sequence[Stored]) -> Logs:
    """The logs among the files of agent/, named from there, of the agent of this name."""
    agent = _AGENTS.get(name)
    if agent is None or agent.harness not in BY_ID:
        agent = _Agent(ATIF, {})
    kept, left_out = _sorted(files, agent, [*BY_ID[agent.harness].FORMATS, *atif.FORMATS])
    harness, shows = agent.harness, Shown.NOTHING
    if harness != ATIF and _read(harness, kept):
        shows = Shown.OWN
    elif any(recognised(file.path, atif.FORMATS[0]) for file in _read(ATIF, kept)):
        harness, shows = ATIF, Shown.TRAJECTORY
    return Logs(harness, shows, tuple(kept), tuple(left_out))


def _read(harness: str, kept: Sequence[Stored]) -> list[Stored]:
    """The files that hold anything and are shown."""
    found = shown(harness, kept)
    return [file for file in found[1] if file.size] if found else []


def _sorted(
    files: Sequence[Stored], agent: _Agent, forms: Sequence[Format]
) -> tuple[list[Stored], list[Refused]]:
    """The files that are logs, under the names that they get, and those that are none."""
    kept: dict[str, Stored] = {}
    left_out = []
    for file in files:
        placed = replace(file, name=_place(file, agent, forms))
        reason = private(replace(placed, name=_home(placed.name)))
        if not reason and not _is_log(placed.name, agent, forms):
            reason = "no log"
        if reason or placed.name in kept:
            left_out.append(Refused(f"agent/{file.name}", reason or "another file has its place"))
        else:
            kept[placed.name] = placed
    return sorted(kept.values(), key=lambda file: file.name), left_out


def _place(file: Stored, agent: _Agent, forms: Sequence[Format]) -> str:
    for start, place in agent.places.items():
        if file.name.startswith(start):
            name = place + file.name.removeprefix(start)
            # What a CLI printed is read only if it is what the format says: it may be prose.
            folder = start.endswith("/")
            if folder or any(recognised(file.path, form) for form in _of(name, forms)):
                return name
    return file.name if _of(file.name, atif.FORMATS) else REST + file.name


def _of(name: str, forms: Sequence[Format]) -> list[Format]:
    return [form for form in forms if any(matches(name, g) for g in form.globs + form.beside)]


def _home(name: str) -> str:
    return name if name.startswith("home/") else f"home/{name}"


def _is_log(name: str, agent: _Agent, forms: Sequence[Format]) -> bool:
    """Whether a file is read by a format, is a trajectory, or is what a CLI printed."""
    own = name.removeprefix(REST)
    printed = own != name and "/" not in own
    named = any(own.startswith(start) for start in agent.places if not start.endswith("/"))
    beside = printed and (named or own.endswith((".txt", ".log")))
    return beside or bool(_of(name, forms))
