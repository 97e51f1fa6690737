"""Gemini CLI is started with its settings, and its `result` event says how it ended."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.harnesses.form import DUMMY_KEY, Said
from bench.harnesses.gemini import ADAPTER
from bench.providers import Dialect
from kbsite.errors import UsageError
from tests.bench.harnesses.captured import PROMPT, URL, asked, completion, printed, scenarios

ENDS = {
    "quick": Said.COMPLETED,
    "e500once": Said.COMPLETED,
    "badtool": Said.COMPLETED,
    "bgtool": Said.COMPLETED,
    # it does not say that the last answer was cut: the proxy does
    "maxtok": Said.COMPLETED,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "e429": Said.PROVIDER,
    "e500": Said.PROVIDER,
    "late500": Said.PROVIDER,
    "cut": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    "dropmidonce": Said.PROVIDER,
    "hang-TERM": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "longtool-INT": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
}


def settings(model: str = "gemini-3.1-pro-preview", effort: str | None = None) -> dict[str, Any]:
    files = ADAPTER.launch(asked(Dialect.GEMINI, model=model, effort=effort)).files
    held: dict[str, Any] = json.loads(files[PurePosixPath(".gemini/settings.json")])
    return held


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_what_the_api_said_is_told() -> None:
    assert "scripted 401" in completion(ADAPTER, "e401").detail
    assert "without a finish reason" in completion(ADAPTER, "cut").detail


def test_an_error_of_its_own_is_not_the_providers(tmp_path: Path) -> None:
    folder = printed(
        tmp_path,
        '{"type":"error","severity":"error","message":"Maximum session turns exceeded"}',
        '{"type":"result","status":"error","stats":{}}',
    )
    end = ADAPTER.completion(folder)

    assert end.said is Said.FAILED
    assert "Maximum session turns" in end.detail


@pytest.mark.parametrize("row", ["", "no JSON", "[]", '{"type": "result"}', '{"type": ["result"]}'])
def test_odd_rows_are_no_success(tmp_path: Path, row: str) -> None:
    assert ADAPTER.completion(printed(tmp_path, row)).said in (Said.NOTHING, Said.FAILED)


def test_the_prompt_is_read_from_stdin_and_the_proxy_is_asked() -> None:
    launch = ADAPTER.launch(asked(Dialect.GEMINI))

    assert launch.stdin == PROMPT.encode()
    assert launch.environment["GOOGLE_GEMINI_BASE_URL"] == URL
    assert launch.environment["GEMINI_API_KEY"] == DUMMY_KEY
    assert launch.command[launch.command.index("--model") + 1] == "model-1"


def test_it_counts_nothing_updates_nothing_and_has_no_web() -> None:
    held = settings()

    assert held["privacy"]["usageStatisticsEnabled"] is False
    assert held["telemetry"]["enabled"] is False
    assert held["general"]["enableAutoUpdate"] is False
    assert 1 < held["general"]["maxAttempts"] < 10
    assert held["tools"]["exclude"] == ["google_web_search", "web_fetch"]
    assert "modelConfigs" not in held


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-3.1-pro-preview", {"thinkingLevel": "HIGH"}),
        ("gemini-2.5-pro", {"thinkingBudget": 24576}),
    ],
)
def test_an_effort_is_a_level_or_for_older_models_a_budget(
    model: str, thinking: dict[str, Any]
) -> None:
    overrides = settings(model, "high")["modelConfigs"]["customOverrides"]

    assert [one["match"]["model"] for one in overrides] == ["chat-base", model]
    for one in overrides:
        assert one["modelConfig"] == {"generateContentConfig": {"thinkingConfig": thinking}}


def test_it_speaks_one_dialect_and_has_four_efforts() -> None:
    with pytest.raises(UsageError, match=r"gemini: it does not speak 'chat'; .* gemini"):
        ADAPTER.launch(asked(Dialect.CHAT))
    with pytest.raises(UsageError, match="effort 'huge', expected one of: minimal, low, medium"):
        ADAPTER.launch(asked(Dialect.GEMINI, effort="huge"))


def test_its_version_is_all_that_it_prints() -> None:
    assert ADAPTER.recognises("0.61.0\n") == "0.61.0"
    assert ADAPTER.recognises("0.62.0-preview.1") == "0.62.0-preview.1"
    for other in ("2.1.329 (Claude Code)", "kimi, version 1.50.0", "codex-cli 0.169.0", "", "v1"):
        assert ADAPTER.recognises(other) is None
