"""Sessions of real CLIs as runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.importers.transcript import import_transcripts
from kbsite.store.runs import read_run
from tests.importers.published_board import BESIDE

CAPTURES = BESIDE / "captures"
beside = pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures beside the checkout")

LONE = {
    "claude-code-2.1.329": ("claude", "home/**/*.jsonl", 13000),
    "codex-0.169.0": ("codex", "home/**/rollout-*.jsonl", 14000),
    "kimi-cli-1.50.0": ("kimi", "home/**/wire.jsonl", 15000),
    "kimi-code-2.1.0": ("kimi", "home/**/agents/*/wire.jsonl", 15000),
    "opencode-1.18.33": ("opencode", "stdout.jsonl", 13000),
}
"""The CLI, the files of a whole session, and the input tokens that its script makes."""


@beside
@pytest.mark.parametrize("name", LONE)
def test_real_sessions_are_recognised_whole(tmp_path: Path, name: str) -> None:
    harness, glob, tokens = LONE[name]
    files = sorted((CAPTURES / name / "main").glob(glob))
    run = read_run(import_transcripts(files, tmp_path / "mine"))
    assert (run.run.harness, run.run.usage.input) == (harness, tokens)
    assert run.run.id.startswith("20261121_0514")
    assert len(run.transcripts) == len(files)
    assert run.findings == ()


@beside
@pytest.mark.parametrize("name", LONE)
def test_what_real_clis_print_is_recognised(tmp_path: Path, name: str) -> None:
    printed = CAPTURES / name / "main" / "stdout.jsonl"
    run = read_run(import_transcripts([printed], tmp_path / "mine"))
    assert run.run.harness == LONE[name][0]
    assert [file.path.read_bytes() for file in run.transcripts] == [printed.read_bytes()]
