"""Claude Code: its session log, and what `-p --output-format stream-json` prints.

The log is the richer one: it has times, final token counts of every message, the sub-agents' own
words, and their files. The stream has the CLI's own verdict and total at the end.
"""

from __future__ import annotations

from kbsite.harnesses.claude import forks, session, stream, workflows
from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("claude", "Claude Code", maker="Anthropic", keeps_folder=True)

_SESSIONS = ("home/.claude/projects/", "home/.config/claude/projects/", "session/")

FORMATS: list[Format] = [
    Format(
        id="claude-session",
        title="session log",
        globs=(
            *(f"{folder}**/*.jsonl" for folder in _SESSIONS),
            *(f"{folder}**/agent-*.meta.json" for folder in _SESSIONS),
            *(f"{folder}**/workflows/wf_*.json" for folder in _SESSIONS),
            "session/*",
        ),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
        sub_agents=workflows.FILES,
        together=forks.together,
    ),
    Format(
        id="claude-stream",
        title="stream-json",
        globs=("stdout.jsonl", "stream/*"),
        parse=stream.parse,
        recognises=stream.recognises,
        stored_as="stream",
    ),
]
