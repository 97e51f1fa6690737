"""Codex is started with a config.toml, and its last turn says how it ended."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.harnesses.codex import ADAPTER
from bench.harnesses.form import DUMMY_KEY, Asked, Said
from bench.providers import Dialect
from kbsite.errors import UsageError
from tests.bench.harnesses.captured import PROMPT, URL, asked, completion, printed, scenarios

ENDS = {
    "hi": Said.COMPLETED,
    "quick": Said.COMPLETED,
    "badtool": Said.COMPLETED,
    "bgtool": Said.COMPLETED,
    "e500once": Said.COMPLETED,
    "dropmidonce": Said.COMPLETED,
    "maxtok": Said.CUT,
    "cut": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "e429": Said.PROVIDER,
    "e500": Said.PROVIDER,
    "late500": Said.PROVIDER,
    "longtool-INT": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "hang-TERM": Said.NOTHING,
}


def config(one: Asked) -> dict[str, Any]:
    return tomllib.loads(ADAPTER.launch(one).files[PurePosixPath(".codex/config.toml")].decode())


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_what_the_api_said_is_told() -> None:
    assert "unexpected status 401" in completion(ADAPTER, "e401").detail
    assert "max_output_tokens" in completion(ADAPTER, "maxtok").detail


def failed(message: object) -> str:
    return json.dumps({"type": "turn.failed", "error": {"message": message}})


def test_a_full_context_is_not_the_providers(tmp_path: Path) -> None:
    message = "Codex ran out of room in the model's context window. Start a new thread."

    assert ADAPTER.completion(printed(tmp_path, failed(message))).said is Said.FAILED


def test_a_turn_that_follows_another_counts(tmp_path: Path) -> None:
    rows = ['{"type":"turn.completed","usage":{}}', '{"type":"turn.started"}']
    assert ADAPTER.completion(printed(tmp_path, *rows)).said is Said.NOTHING


def test_warnings_are_no_failures(tmp_path: Path) -> None:
    error = '{"type":"error","message":"Reconnecting... 1/4"}'
    end = ADAPTER.completion(printed(tmp_path, error, '{"type":"turn.completed"}', error))
    assert end.said is Said.COMPLETED


@pytest.mark.parametrize(
    "row",
    ["", "no JSON", "[]", '{"type": ["turn.completed"]}', '{"type": "turn."}', "[" * 100_000],
)
def test_odd_rows_are_no_success(tmp_path: Path, row: str) -> None:
    assert ADAPTER.completion(printed(tmp_path, row)).said is Said.NOTHING


@pytest.mark.parametrize("message", [None, 7, ["x"], {}, "\x1b[2J\n" * 10_000])
def test_a_detail_is_a_short_line(tmp_path: Path, message: object) -> None:
    end = ADAPTER.completion(printed(tmp_path, failed(message)))

    assert end.said is Said.PROVIDER
    assert end.detail.isprintable()
    assert len(end.detail) < 4_000


def test_no_transcript_is_no_completion(tmp_path: Path) -> None:
    assert ADAPTER.completion(tmp_path / "none").said is Said.NOTHING


def test_the_prompt_is_read_from_stdin_and_the_proxy_is_asked() -> None:
    one = asked(Dialect.RESPONSES)
    launch = ADAPTER.launch(one)
    held = config(one)
    provider = held["model_providers"][held["model_provider"]]

    assert launch.command[-1] == "-"
    assert launch.stdin == PROMPT.encode()
    assert provider["base_url"] == f"{URL}/v1"
    assert provider["wire_api"] == "responses"
    assert launch.environment == {provider["env_key"]: DUMMY_KEY}


def test_retries_are_few() -> None:
    provider = config(asked(Dialect.RESPONSES))["model_providers"]["proxy"]

    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (7, 7)


@pytest.mark.parametrize("model", ["gpt-5.5", 'odd"name\\', "a/b:free", "naïve\x7f\n[features]"])
def test_the_model_is_named_to_the_letter(model: str) -> None:
    assert config(asked(Dialect.RESPONSES, model=model))["model"] == model


def test_an_effort_is_asked_for_only_where_one_is_wanted() -> None:
    assert config(asked(Dialect.RESPONSES, effort="high"))["model_reasoning_effort"] == "high"
    assert "model_reasoning_effort" not in config(asked(Dialect.RESPONSES))


def test_it_has_no_web_and_asks_nobody_else() -> None:
    held = config(asked(Dialect.RESPONSES))

    assert held["web_search"] == "disabled"
    assert held["check_for_update_on_startup"] is False
    assert held["analytics"] == held["feedback"] == {"enabled": False}
    assert held["otel"] == {"exporter": "none"}
    assert not any(held["features"].values())


@pytest.mark.parametrize("wrong", [asked(Dialect.CHAT), asked(Dialect.RESPONSES, effort="max")])
def test_what_it_has_not_is_refused(wrong: Asked) -> None:
    with pytest.raises(UsageError, match="codex"):
        ADAPTER.launch(wrong)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("codex-cli 0.169.0\n", "0.169.0"),
        ("codex-cli 0.170.0-alpha.2", "0.170.0-alpha.2"),
        ("0.169.0", None),
        ("codex 0.169.0", None),
    ],
)
def test_it_is_known_by_what_it_prints(said: str, version: str | None) -> None:
    assert ADAPTER.recognises(said) == version
