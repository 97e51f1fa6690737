"""The CLIs that drive models, as the runner needs them: one module each, listed in ADAPTERS."""

from __future__ import annotations

from bench.harnesses.claude import CLAUDE
from bench.harnesses.codex import CODEX
from bench.harnesses.form import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    CLAUDE,
    CODEX,
)
