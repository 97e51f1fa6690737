"""The CLIs that drive models, as the runner needs them: one module each, listed in ADAPTERS."""

from __future__ import annotations

from bench.harnesses import claude, codex
from bench.harnesses.form import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    claude.ADAPTER,
    codex.ADAPTER,
)
