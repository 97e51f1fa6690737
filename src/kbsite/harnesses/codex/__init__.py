"""Codex: placeholder."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("codex", "Codex", maker="OpenAI")
FORMATS: list[Format] = []
