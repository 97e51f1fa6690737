"""Whatever stands in its files, an adapter says how a session ended in one short, plain line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.harnesses import gemini, kimi_cli, kimi_code, opencode, qwen
from bench.harnesses.asking import LONGEST_DETAIL
from bench.harnesses.form import Adapter, Said

LOGS: Mapping[Adapter, str] = {
    gemini.ADAPTER: "stdout.jsonl",
    qwen.ADAPTER: "stdout.jsonl",
    opencode.ADAPTER: "stdout.jsonl",
    kimi_cli.ADAPTER: "home/.kimi/sessions/a/b/wire.jsonl",
    kimi_code.ADAPTER: "home/.kimi-code/sessions/a/b/agents/main/wire.jsonl",
}
"""The file of each that says most of its end."""

WORD = st.sampled_from([
    "type", "result", "status", "success", "error", "message", "is_error", "subtype", "retry",
    "step_finish", "step_start", "part", "reason", "stop", "name", "data", "payload", "TurnBegin",
    "TurnEnd", "StepBegin", "StepInterrupted", "StatusUpdate", "token_usage", "ToolCall", "id",
    "turn.ended", "completed", "failed", "code", "event", "step.end", "finishReason", "max_tokens",
    "context.append_loop_event", "agent.message.appended", "role", "assistant", "meta", "finish",
    "rawFinishReason",
])  # fmt: skip
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | WORD | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORD, inner, max_size=4),
    max_leaves=10,
)

every = pytest.mark.parametrize("adapter", LOGS, ids=lambda one: one.id)


def written(folder: Path, adapter: Adapter, data: bytes) -> Path:
    """A transcript whose logs hold this."""
    for name in ("stdout.jsonl", LOGS[adapter]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@every
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.dictionaries(WORD, VALUE, min_size=1, max_size=4), max_size=4))
def test_no_rows_whatever_raise(tmp_path: Path, adapter: Adapter, rows: list[Any]) -> None:
    data = "\n".join(map(json.dumps, rows)).encode()

    assert isinstance(adapter.completion(written(tmp_path, adapter, data)).said, Said)


def quoting(adapter: Adapter, quoted: str) -> str:
    """A row in which an error of the API is quoted."""
    rows: dict[str, dict[str, Any]] = {
        "gemini": {"type": "result", "status": "error", "error": {"message": quoted}},
        "qwen": {"type": "result", "is_error": True, "error": {"message": quoted}},
        "opencode": {"type": "error", "error": {"name": "APIError", "data": {"message": quoted}}},
        "kimi-code": {"type": "turn.ended", "reason": "failed", "error": {"message": quoted}},
    }
    return json.dumps(rows[adapter.id]) if adapter.id in rows else quoted


@every
@pytest.mark.parametrize("quoted", ["a\x1b[2Jb\ud800\u202ec\td", "x" * 5_000_000, "x\n" * 300_000])
def test_what_is_quoted_is_one_short_line_that_can_be_written(
    tmp_path: Path, adapter: Adapter, quoted: str
) -> None:
    data = quoting(adapter, quoted).encode("utf-8", "surrogatepass") + b"\n"
    detail = adapter.completion(written(tmp_path, adapter, data)).detail

    assert quoted[0] in detail
    assert detail.isprintable()
    assert len(detail) <= LONGEST_DETAIL + 1


@every
def test_a_transcript_without_files_says_nothing(tmp_path: Path, adapter: Adapter) -> None:
    assert adapter.completion(tmp_path / "none").said is Said.NOTHING
    assert adapter.completion(written(tmp_path, adapter, b"")).said is Said.NOTHING
