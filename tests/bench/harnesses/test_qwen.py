"""Qwen Code is started with its memory off, and its `result` event says how it ended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.harnesses.form import DUMMY_KEY, Said
from bench.harnesses.qwen import ADAPTER
from bench.providers import Dialect
from kbsite.errors import UsageError
from tests.bench.harnesses.captured import PROMPT, URL, asked, completion, printed, scenarios

ENDS = {
    "quick": Said.COMPLETED,
    "e500once": Said.COMPLETED,
    "badtool": Said.COMPLETED,
    "bgtool": Said.COMPLETED,
    "dropmidonce": Said.COMPLETED,
    # it asks on, puts the pieces together, and says nothing: the proxy does
    "maxtok": Said.COMPLETED,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "late500": Said.PROVIDER,
    "cut": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    # it was killed while it still tried
    "e429": Said.NOTHING,
    "e500": Said.NOTHING,
    "hang-TERM": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "longtool-INT": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
}


def settings(effort: str | None = None) -> dict[str, Any]:
    files = ADAPTER.launch(asked(Dialect.CHAT, effort=effort)).files
    held: dict[str, Any] = json.loads(files[PurePosixPath(".qwen/settings.json")])
    return held


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_what_the_api_said_is_told() -> None:
    assert "401 scripted 401" in completion(ADAPTER, "e401").detail


def test_a_session_that_still_asks_again_says_so() -> None:
    assert "asks again" in completion(ADAPTER, "e429").detail


def test_a_context_that_is_too_large_is_not_the_providers(tmp_path: Path) -> None:
    told = "[API Error: Context is too large to send safely after automatic compression.]"
    row = {"type": "result", "is_error": True, "error": {"message": told}}
    end = ADAPTER.completion(printed(tmp_path, json.dumps(row)))
    assert (end.said, told in end.detail) == (Said.FAILED, True)


def test_an_error_of_its_own_is_not_the_providers(tmp_path: Path) -> None:
    row = '{"type":"result","is_error":true,"subtype":"error_max_turns"}'
    end = ADAPTER.completion(printed(tmp_path, row))

    assert (end.said, "error_max_turns" in end.detail) == (Said.FAILED, True)


@pytest.mark.parametrize("row", ["", "no JSON", "[]", '{"type": "result"}', '{"type": ["result"]}'])
def test_odd_rows_are_no_success(tmp_path: Path, row: str) -> None:
    assert ADAPTER.completion(printed(tmp_path, row)).said in (Said.NOTHING, Said.FAILED)


@pytest.mark.parametrize(
    ("dialect", "kind"), [(Dialect.CHAT, "openai"), (Dialect.RESPONSES, "openai-responses")]
)
def test_each_dialect_has_its_type(dialect: Dialect, kind: str) -> None:
    launch = ADAPTER.launch(asked(dialect))

    assert launch.command[:2] == ("--auth-type", kind)
    assert launch.environment["OPENAI_BASE_URL"] == f"{URL}/v1"
    assert launch.environment["OPENAI_API_KEY"] == DUMMY_KEY
    assert launch.environment["OPENAI_MODEL"] == "model-1"
    assert launch.stdin == PROMPT.encode()


def test_it_asks_for_nothing_in_the_background() -> None:
    held = settings()

    assert set(held["memory"].values()) == {False}
    assert held["privacy"]["usageStatisticsEnabled"] is False
    assert held["telemetry"]["enabled"] is False
    assert held["general"]["enableAutoUpdate"] is False
    assert held["tools"]["exclude"] == ["web_fetch", "web_search"]


@pytest.mark.parametrize("terminals", [False, True])
def test_its_commands_get_a_terminal_where_there_is_one(terminals: bool) -> None:
    launch = ADAPTER.launch(replace(asked(Dialect.CHAT), terminals=terminals))
    held = json.loads(launch.files[PurePosixPath(".qwen/settings.json")])

    assert held["tools"]["shell"] == {
        "enableInteractiveShell": terminals,
        "defaultTimeoutMs": 300_000,
    }


def test_its_patience_is_bounded() -> None:
    generation = settings()["model"]["generationConfig"]

    assert generation["maxRetries"] == 1
    assert generation["retryMaxDelayMs"] <= 60_000
    assert generation["timeout"] == generation["streamIdleTimeoutMs"] == 600_000
    assert "reasoning" not in generation


def test_an_effort_is_set() -> None:
    assert settings("max")["model"]["generationConfig"]["reasoning"] == {"effort": "max"}
    with pytest.raises(UsageError, match="qwen: effort 'minimal', expected one of: low"):
        settings("minimal")
    with pytest.raises(UsageError, match="does not speak 'anthropic'"):
        ADAPTER.launch(asked(Dialect.ANTHROPIC))


def test_its_version_is_all_that_it_prints() -> None:
    assert ADAPTER.recognises("0.24.4\n") == "0.24.4"
    assert ADAPTER.recognises("kimi, version 1.50.0") is None
