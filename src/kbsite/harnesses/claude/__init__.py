"""Claude Code: placeholder."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("claude", "Claude Code", maker="Anthropic")
FORMATS: list[Format] = []
