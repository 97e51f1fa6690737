"""Qwen Code: its session logs, and what `--output-format stream-json` prints.

The log is the richer one: times, exit codes, diffs, sub-agents' thoughts, and a count of every
request to a model, those of the CLI's own background work included.
"""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.qwen import session, stream
from kbsite.model.harness import Harness

HARNESS = Harness("qwen", "Qwen Code", maker="Alibaba", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="qwen-session",
        title="session log",
        globs=(
            "home/.qwen/projects/*/chats/*.jsonl",
            "home/.qwen/projects/*/subagents/*/*.jsonl",
            "home/.qwen/projects/*/subagents/*/*.meta.json",
            "home/.qwen/tmp/*/chats/*.jsonl",
            "session/*",
        ),
        parse=session.parse,
        recognises=session.recognises,
        stored_as="session",
    ),
    Format(
        id="qwen-stream",
        title="stream-json",
        globs=("stdout.jsonl", "stream/*"),
        parse=stream.parse,
        recognises=stream.recognises,
        stored_as="stream",
    ),
]
