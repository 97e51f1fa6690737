"""opencode is started with one provider, and its last events say how it ended."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.harnesses.form import DUMMY_KEY, Said
from bench.harnesses.opencode import ADAPTER
from bench.providers import Dialect
from kbsite.errors import UsageError
from tests.bench.harnesses.captured import PROMPT, URL, asked, completion, printed, scenarios

ENDS = {
    "quick": Said.COMPLETED,
    "e500once": Said.COMPLETED,
    "badtool": Said.COMPLETED,
    "bgtool": Said.COMPLETED,
    "dropmidonce": Said.COMPLETED,
    "maxtok": Said.CUT,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "e429": Said.PROVIDER,
    "e500": Said.PROVIDER,
    "late500": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    "hang-TERM": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "longtool-INT": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
}


def config(
    dialect: Dialect = Dialect.CHAT, model: str = "model-1", effort: str | None = None
) -> dict[str, Any]:
    files = ADAPTER.launch(asked(dialect, model=model, effort=effort)).files
    held: dict[str, Any] = json.loads(files[PurePosixPath(".config/opencode/opencode.json")])
    return held


def finished(reason: str) -> str:
    return json.dumps({"type": "step_finish", "part": {"reason": reason}})


def error(name: str, **data: object) -> str:
    return json.dumps({"type": "error", "error": {"name": name, "data": data}})


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_what_the_api_said_is_told() -> None:
    assert "APIError: scripted 401" in completion(ADAPTER, "e401").detail


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([finished("unknown")], Said.PROVIDER),
        ([finished("content-filter")], Said.FAILED),
        ([finished("stop"), '{"type":"step_start"}'], Said.NOTHING),
        ([finished("stop"), error("UnknownError", message="m")], Said.FAILED),
        ([error("UnknownError", statusCode=500)], Said.PROVIDER),
        ([error("UnknownError", message='{"message":"m","type":"overloaded"}')], Said.PROVIDER),
        ([error("MessageOutputLengthError")], Said.CUT),
        ([error("APIError"), finished("stop")], Said.COMPLETED),
        ([finished("stop"), '{"type":"text"}', "no JSON"], Said.COMPLETED),
        (['{"type":"step_finish","part":[]}'], Said.NOTHING),
        (['{"type":"error"}'], Said.FAILED),
        ([], Said.NOTHING),
    ],
)
def test_the_last_end_of_a_step_or_error_counts(
    tmp_path: Path, rows: list[str], said: Said
) -> None:
    assert ADAPTER.completion(printed(tmp_path, *rows)).said is said


@pytest.mark.parametrize(
    ("dialect", "package"),
    [
        (Dialect.CHAT, "@ai-sdk/openai-compatible"),
        (Dialect.ANTHROPIC, "@ai-sdk/anthropic"),
        (Dialect.RESPONSES, "@ai-sdk/openai"),
    ],
)
def test_each_dialect_has_its_package(dialect: Dialect, package: str) -> None:
    held = config(dialect)
    (provider,) = held["provider"].values()

    assert provider["npm"] == package
    assert provider["options"]["baseURL"] == f"{URL}/v1"
    assert provider["options"]["apiKey"] == DUMMY_KEY
    assert list(provider["models"]) == ["model-1"]
    assert held["enabled_providers"] == list(held["provider"])
    assert held["model"] == held["small_model"] == f"{held['enabled_providers'][0]}/model-1"


def test_the_prompt_is_read_from_stdin() -> None:
    launch = ADAPTER.launch(asked(Dialect.CHAT))

    assert launch.stdin == PROMPT.encode()
    assert not any("solution" in word for word in launch.command)


def test_it_asks_for_no_title_which_nothing_would_count() -> None:
    command = ADAPTER.launch(asked(Dialect.CHAT)).command

    assert command[command.index("--title") + 1]
    assert config()["agent"]["title"]["disable"] is True


def test_it_shares_nothing_updates_nothing_and_has_no_web() -> None:
    launch, held = ADAPTER.launch(asked(Dialect.CHAT)), config()

    assert (held["share"], held["autoupdate"]) == ("disabled", False)
    assert held["permission"] == {"*": "allow", "webfetch": "deny", "websearch": "deny"}
    assert launch.environment["OPENCODE_DISABLE_MODELS_FETCH"] == "1"
    # an empty variable of it is an error
    assert all(launch.environment.values())


def test_it_finds_the_package_that_it_would_fetch_as_fetched() -> None:
    files = ADAPTER.launch(asked(Dialect.CHAT)).files
    folder = PurePosixPath(".config/opencode")
    needs = {"@opencode-ai/plugin": "1.2.3"}

    assert json.loads(files[folder / "package.json"])["dependencies"] == needs
    lock = json.loads(files[folder / "package-lock.json"])
    assert lock["packages"][""]["dependencies"] == needs
    assert any(folder / "node_modules" in path.parents for path in files)


@pytest.mark.parametrize(
    ("dialect", "options"),
    [
        (Dialect.CHAT, {"reasoningEffort": "high"}),
        (Dialect.RESPONSES, {"reasoningEffort": "high"}),
        (Dialect.ANTHROPIC, {"thinking": {"type": "adaptive"}, "effort": "high"}),
    ],
)
def test_an_effort_is_a_variant_of_the_model(dialect: Dialect, options: dict[str, Any]) -> None:
    command = ADAPTER.launch(asked(dialect, effort="high")).command
    (provider,) = config(dialect, effort="high")["provider"].values()

    assert command[-2:] == ("--variant", "high")
    assert provider["models"]["model-1"]["variants"] == {"high": options}
    assert "--variant" not in ADAPTER.launch(asked(dialect)).command


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="effort 'on', expected one of: minimal, low"):
        config(effort="on")
    with pytest.raises(UsageError, match="opencode: it does not speak 'gemini'"):
        config(Dialect.GEMINI)


def test_its_version_is_all_that_it_prints() -> None:
    assert ADAPTER.recognises("1.18.33\n") == "1.18.33"
    assert ADAPTER.recognises("1.18.33 and more") is None
