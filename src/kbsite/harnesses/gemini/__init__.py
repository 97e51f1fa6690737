"""Gemini CLI: its session logs, and what `--output-format stream-json` prints.

The log is the richer one: thoughts, what the model was shown of a result, tokens of each message,
sub-agents. Only the stream tells how a session ended, and names a call that was still running.
"""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.gemini import chat, stream
from kbsite.model.harness import Harness

HARNESS = Harness("gemini", "Gemini CLI", maker="Google", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="gemini-chat",
        title="session log",
        globs=(
            "home/.gemini/tmp/*/chats/*.json",
            "home/.gemini/tmp/*/chats/*.jsonl",
            "home/.gemini/tmp/*/chats/*/*.jsonl",
            "chats/*",
        ),
        parse=chat.parse,
        recognises=chat.recognises,
        stored_as="chats",
    ),
    Format(
        id="gemini-stream",
        title="stream-json",
        globs=("stdout.jsonl", "stream/*"),
        parse=stream.parse,
        recognises=stream.recognises,
        stored_as="stream",
    ),
]
