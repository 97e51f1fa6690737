"""Kimi Code is started with its prompt in the command line, and its log says how it ended."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bench.harnesses.form import DUMMY_KEY, HOME, Said
from bench.harnesses.kimi_code import ADAPTER, PROMPT_BYTES
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
    "cut": Said.PROVIDER,
    "dropmid": Said.PROVIDER,
    "hang-TERM": Said.FAILED,
    "longtool-INT": Said.FAILED,
    "hang-KILL": Said.NOTHING,
    "longtool-KILL": Said.NOTHING,
}
HINT = '{"role":"meta","type":"session.resume_hint","session_id":"s"}'
COMPLETED = '{"type":"turn.ended","agentId":"main","reason":"completed"}'


def config(
    dialect: Dialect = Dialect.CHAT, model: str = "model-1", effort: str | None = None
) -> dict[str, Any]:
    files = ADAPTER.launch(asked(dialect, model=model, effort=effort)).files
    return tomllib.loads(files[PurePosixPath(".kimi-code/config.toml")].decode())


def wire(folder: Path, *rows: str) -> Path:
    """A transcript whose main agent's log has these rows."""
    log = folder / "home/.kimi-code/sessions/place/session/agents/main/wire.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{row}\n" for row in rows))
    return folder


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


def test_what_the_api_said_is_told() -> None:
    assert "provider.auth_error: 401 scripted 401" in completion(ADAPTER, "e401").detail


def test_both_its_log_and_what_it_prints_have_to_say_the_end(tmp_path: Path) -> None:
    both = wire(printed(tmp_path / "both", HINT), COMPLETED)
    logged = wire(printed(tmp_path / "logged", "{}"), COMPLETED)

    assert ADAPTER.completion(both).said is Said.COMPLETED
    assert ADAPTER.completion(logged).said is Said.NOTHING
    assert ADAPTER.completion(printed(tmp_path / "printed", HINT)).said is Said.NOTHING


def test_a_later_turn_counts(tmp_path: Path) -> None:
    folder = wire(printed(tmp_path, HINT), COMPLETED, '{"type":"turn.prompt"}')

    assert ADAPTER.completion(folder).said is Said.NOTHING


def test_a_failure_that_is_not_the_providers_is_its_own(tmp_path: Path) -> None:
    row = '{"type":"turn.ended","reason":"failed","error":{"code":"loop.max_steps","message":"m"}}'
    end = ADAPTER.completion(wire(tmp_path, row))

    assert (end.said, "loop.max_steps: m" in end.detail) == (Said.FAILED, True)


def test_a_prompt_that_fits_is_in_the_command_line_as_it_is() -> None:
    launch = ADAPTER.launch(asked(Dialect.CHAT, prompt=f"--help {PROMPT}"))

    assert launch.command[0] == f"--prompt=--help {PROMPT}"
    assert launch.stdin == b""
    assert list(launch.files) == [PurePosixPath(".kimi-code/config.toml")]


def test_a_prompt_that_does_not_fit_is_in_a_file_that_the_command_line_names() -> None:
    prompt = "é" * (PROMPT_BYTES // 2 + 1)
    launch = ADAPTER.launch(asked(Dialect.CHAT, prompt=prompt))
    (place,) = (path for path in launch.files if path.suffix == ".md")

    assert launch.files[place] == prompt.encode()
    assert str(HOME / place) in launch.command[0]
    assert len(launch.command[0]) < 200


@pytest.mark.parametrize(
    ("dialect", "model", "kind", "url"),
    [
        (Dialect.CHAT, "model-1", "openai", f"{URL}/v1"),
        (Dialect.CHAT, "kimi-k2.6", "kimi", f"{URL}/v1"),
        (Dialect.ANTHROPIC, "kimi-k2.6", "anthropic", URL),
        (Dialect.RESPONSES, "model-1", "openai_responses", f"{URL}/v1"),
    ],
)
def test_each_dialect_has_its_type(dialect: Dialect, model: str, kind: str, url: str) -> None:
    held = config(dialect, model)

    assert held["providers"]["proxy"] == {"type": kind, "base_url": url, "api_key": DUMMY_KEY}
    assert held["models"][held["default_model"]]["model"] == model


def test_it_counts_nothing_updates_nothing_and_has_no_web() -> None:
    launch, held = ADAPTER.launch(asked(Dialect.CHAT)), config()

    assert held["telemetry"] is False
    assert {rule["pattern"] for rule in held["permission"]["rules"]} == {"WebSearch", "FetchURL"}
    assert {rule["decision"] for rule in held["permission"]["rules"]} == {"deny"}
    assert launch.environment["KIMI_CODE_NO_AUTO_UPDATE"] == "1"
    assert launch.environment["KIMI_DISABLE_TELEMETRY"] == "1"
    assert 1 < int(launch.environment["KIMI_LOOP_MAX_ATTEMPTS_PER_STEP"]) < 10


@pytest.mark.parametrize(
    ("effort", "thinking"),
    [
        (None, {"enabled": True}),
        ("off", {"enabled": False}),
        ("max", {"enabled": True, "effort": "max"}),
    ],
)
def test_an_effort_is_set(effort: str | None, thinking: dict[str, Any]) -> None:
    held = config(effort=effort)

    assert held["thinking"] == thinking
    assert "max" in held["models"]["ordered"]["support_efforts"]
    assert held["models"]["ordered"]["off_effort"] == "none"


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="effort 'on', expected one of: off, low"):
        config(effort="on")
    with pytest.raises(UsageError, match="kimi-code: it does not speak 'gemini'"):
        config(Dialect.GEMINI)


@pytest.mark.parametrize("model", ['a"b', "a\\b", "a\nb"])
def test_a_model_of_any_name_is_one_string_of_its_configuration(model: str) -> None:
    assert config(model=model)["models"]["ordered"]["model"] == model


def test_it_says_its_version_without_its_name() -> None:
    assert ADAPTER.recognises("2.1.0\n") == "2.1.0"
    assert ADAPTER.recognises("kimi, version 1.50.0") is None
