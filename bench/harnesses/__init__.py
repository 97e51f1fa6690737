"""The CLIs that drive models, as the runner needs them: one module each, listed in ADAPTERS."""

from __future__ import annotations

from bench.harnesses import claude, codex, gemini, kimi_cli, kimi_code, opencode, qwen
from bench.harnesses.form import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    claude.ADAPTER,
    codex.ADAPTER,
    kimi_cli.ADAPTER,
    kimi_code.ADAPTER,
    opencode.ADAPTER,
    gemini.ADAPTER,
    qwen.ADAPTER,
)
