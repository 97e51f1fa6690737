"""cursor-agent: what it prints (`--output-format stream-json`) and its transcripts on disk."""

from __future__ import annotations

from kbsite.harnesses.cursor import stream, transcript
from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("cursor", "Cursor CLI", maker="Anysphere")

FORMATS: list[Format] = [
    Format(
        id="cursor-stream",
        title="stdout (stream-json)",
        globs=("stdout.jsonl", "stream/*"),
        parse=stream.parse,
        recognises=stream.recognises,
        stored_as="stream",
    ),
    Format(
        id="cursor-transcript",
        title="transcript without results",
        globs=(
            "home/.cursor/projects/*/agent-transcripts/**/*.jsonl",
            "log/*",
            "log/**/subagents/*.jsonl",
        ),
        parse=transcript.parse,
        recognises=transcript.recognises,
        stored_as="log",
        sub_agents=r"subagents/[^/]+\.jsonl",
    ),
]
"""Unlike elsewhere, stdout is the richer one: the transcripts on disk hold no tool results, no
thinking, no times and no tokens."""
