"""Codex CLI: the rollout file of each thread, and what `codex exec --json` prints."""

from __future__ import annotations

from kbsite.harnesses.codex import recognition
from kbsite.harnesses.codex.printed import parse as parse_printed
from kbsite.harnesses.codex.rollout import parse as parse_rollout
from kbsite.harnesses.codex.rollout import together
from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("codex", "Codex", maker="OpenAI", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="codex-rollout",
        title="rollout log",
        globs=(
            "rollout/*",
            "home/.codex/sessions/**/rollout-*.jsonl",
            "home/.codex/archived_sessions/**/rollout-*.jsonl",
        ),
        parse=parse_rollout,
        recognises=recognition.is_rollout,
        stored_as="rollout",
        together=together,
    ),
    Format(
        id="codex-exec",
        title="exec --json",
        globs=("exec/*", "stdout.jsonl"),
        parse=parse_printed,
        recognises=recognition.is_printed,
        stored_as="exec",
    ),
]
