"""kimi-cli is started with a configuration of its own, and its wire log says how it ended."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from bench.harnesses.form import DUMMY_KEY, Said
from bench.harnesses.kimi_cli import ADAPTER
from bench.providers import Dialect
from kbsite.errors import UsageError
from tests.bench.harnesses.captured import PROMPT, URL, asked, completion, printed, scenarios

ENDS = {
    "quick": Said.COMPLETED,
    "e500once": Said.COMPLETED,
    "badtool": Said.COMPLETED,
    "bgtool": Said.COMPLETED,
    "dropmidonce": Said.COMPLETED,
    # it does not say that the last answer was cut: the proxy does
    "maxtok": Said.COMPLETED,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "e429": Said.PROVIDER,
    "e500": Said.PROVIDER,
    "late500": Said.PROVIDER,
    "cut": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    "longtool-INT": Said.FAILED,
    "hang-TERM": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
}


def config(model: str = "model-1", effort: str | None = None) -> dict[str, Any]:
    files = ADAPTER.launch(asked(Dialect.CHAT, model=model, effort=effort)).files
    return tomllib.loads(files[PurePosixPath(".kimi/config.toml")].decode())


def wire(folder: Path, *types: str) -> Path:
    """A transcript whose wire log has rows of these types."""
    log = folder / "home/.kimi/sessions/hash/session/wire.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f'{{"message":{{"type":"{one}","payload":{{}}}}}}\n' for one in types))
    return folder


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_errors_are_told_although_they_are_broken_into_lines() -> None:
    detail = completion(ADAPTER, "e401").detail

    assert "Error code: 401" in detail
    assert "authentication_error" in detail


def test_an_answer_that_broke_off_is_told_from_one_that_came_whole() -> None:
    assert "broke off" in completion(ADAPTER, "cut").detail


def test_a_turn_that_did_not_end_is_no_end(tmp_path: Path) -> None:
    assert ADAPTER.completion(wire(tmp_path, "TurnBegin", "StepBegin")).said is Said.NOTHING
    assert ADAPTER.completion(tmp_path / "none").said is Said.NOTHING


def test_a_later_turn_counts(tmp_path: Path) -> None:
    rows = ("TurnBegin", "StepBegin", "StepInterrupted", "TurnEnd", "TurnBegin", "StepBegin")

    assert ADAPTER.completion(wire(tmp_path / "a", *rows)).said is Said.NOTHING
    assert ADAPTER.completion(wire(tmp_path / "b", *rows, "TurnEnd")).said is Said.COMPLETED


def test_reaching_its_own_limit_is_a_failure_of_its_own(tmp_path: Path) -> None:
    folder = printed(tmp_path, '{"role":"assistant","content":"a"}', "Max number of steps reached")
    wire(folder, "TurnBegin", "StepBegin", "StepInterrupted", "TurnEnd")
    end = ADAPTER.completion(folder)

    assert (end.said, "Max number of steps" in end.detail) == (Said.FAILED, True)


@pytest.mark.parametrize("told", ["Error: scripted overloaded_error", "Connection error.", ""])
def test_whatever_else_it_prints_of_a_broken_step_is_what_the_api_said(
    tmp_path: Path, told: str
) -> None:
    folder = wire(printed(tmp_path, told), "TurnBegin", "StepBegin", "StepInterrupted", "TurnEnd")
    end = ADAPTER.completion(folder)

    assert (end.said, told in end.detail) == (Said.PROVIDER, True)


def test_a_link_in_place_of_its_log_is_not_followed(tmp_path: Path) -> None:
    real = wire(tmp_path / "real", "TurnBegin", "StepBegin", "TurnEnd")
    log = tmp_path / "run/home/.kimi/sessions/hash/session/wire.jsonl"
    log.parent.mkdir(parents=True)
    log.symlink_to(real / "home/.kimi/sessions/hash/session/wire.jsonl")

    assert ADAPTER.completion(real).said is Said.COMPLETED
    assert ADAPTER.completion(tmp_path / "run").said is Said.NOTHING


def test_the_prompt_is_read_from_stdin_and_the_proxy_is_asked() -> None:
    launch = ADAPTER.launch(asked(Dialect.CHAT))
    held = config()

    assert launch.stdin == PROMPT.encode()
    assert held["providers"]["proxy"] == {
        "type": "openai_legacy",
        "base_url": f"{URL}/v1",
        "api_key": DUMMY_KEY,
    }
    assert held["models"][held["default_model"]]["model"] == "model-1"
    assert held["telemetry"] is False
    assert launch.environment["KIMI_CLI_NO_AUTO_UPDATE"] == "1"
    assert launch.environment["KIMI_DISABLE_TELEMETRY"] == "1"


def test_moonshots_own_models_are_asked_in_its_own_way() -> None:
    assert config("kimi-k2.6")["providers"]["proxy"]["type"] == "kimi"


@pytest.mark.parametrize("model", ['a"b', "a\\b", "a\nb", "é\x7f"])
def test_a_model_of_any_name_is_one_string_of_its_configuration(model: str) -> None:
    assert config(model)["models"]["ordered"]["model"] == model


def test_its_agent_has_no_web_and_asks_nobody() -> None:
    launch = ADAPTER.launch(asked(Dialect.CHAT))
    agent = yaml.safe_load(launch.files[PurePosixPath(".kimi/agent.yaml")])["agent"]

    assert launch.command[launch.command.index("--agent-file") + 1].endswith("/.kimi/agent.yaml")
    assert agent["extend"] == "default"
    assert {name.split(":")[1] for name in agent["exclude_tools"]} == {
        "SearchWeb",
        "FetchURL",
        "AskUserQuestion",
    }


@pytest.mark.parametrize(
    ("effort", "switch"), [(None, "--thinking"), ("on", "--thinking"), ("off", "--no-thinking")]
)
def test_thinking_is_on_or_off(effort: str | None, switch: str) -> None:
    assert ADAPTER.launch(asked(Dialect.CHAT, effort=effort)).command[-1] == switch


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="effort 'high', expected one of: off, on"):
        config(effort="high")
    with pytest.raises(UsageError, match="kimi-cli: it does not speak 'gemini'"):
        ADAPTER.launch(asked(Dialect.GEMINI))


def test_it_says_its_name_with_its_version() -> None:
    assert ADAPTER.recognises("kimi, version 1.50.0\n") == "1.50.0"
    assert ADAPTER.recognises("2.1.0") is None
    assert ADAPTER.recognises("kimi-cli is no longer maintained") is None
