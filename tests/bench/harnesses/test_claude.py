"""Claude Code is started with variables alone, and its last `result` event says how it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.harnesses.claude import ADAPTER
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
    # it asks again without streaming, and has its answer
    "dropmid": Said.COMPLETED,
    "cut": Said.COMPLETED,
    "maxtok": Said.CUT,
    "e400": Said.PROVIDER,
    "e401": Said.PROVIDER,
    "e429": Said.PROVIDER,
    "e500": Said.PROVIDER,
    "late500": Said.PROVIDER,
    # `terminal_reason` is "aborted_tools": the exit code was 0
    "longtool-INT": Said.FAILED,
    "longtool-KILL": Said.NOTHING,
    "hang-KILL": Said.NOTHING,
    "hang-TERM": Said.NOTHING,
}


def test_every_captured_end_is_told() -> None:
    assert {name: completion(ADAPTER, name).said for name in scenarios(ADAPTER)} == ENDS


@pytest.mark.parametrize(("scenario", "status"), [("e401", 401), ("e429", 429), ("late500", 500)])
def test_the_status_of_the_api_is_told(scenario: str, status: int) -> None:
    detail = completion(ADAPTER, scenario).detail

    assert f"api_error, status {status}" in detail
    assert f"scripted {status}" in detail


def test_a_retry_that_was_cut_short_is_told(tmp_path: Path) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 3, "error_status": 529}
    end = ADAPTER.completion(printed(tmp_path, '{"type":"system"}', json.dumps(retry)))

    assert end.said is Said.NOTHING
    assert "asks the model's API again" in end.detail


def test_the_last_of_several_results_counts(tmp_path: Path) -> None:
    good = {"type": "result", "is_error": False, "terminal_reason": "completed"}
    bad = {"type": "result", "is_error": True, "terminal_reason": "api_error"}
    after = '{"type":"system","subtype":"task_notification"}'

    first = printed(tmp_path / "1", json.dumps(bad), json.dumps(good), after)
    assert ADAPTER.completion(first).said is Said.COMPLETED
    second = printed(tmp_path / "2", json.dumps(good), json.dumps(bad), after)
    assert ADAPTER.completion(second).said is Said.PROVIDER


def test_an_answer_cut_by_its_limit_is_no_completion(tmp_path: Path) -> None:
    row = {
        "type": "result", "is_error": False, "terminal_reason": "completed",
        "stop_reason": "max_tokens",
    }  # fmt: skip
    assert ADAPTER.completion(printed(tmp_path, json.dumps(row))).said is Said.CUT


@pytest.mark.parametrize(
    "row",
    [
        "", "no JSON", "[]", '{"type": "result"}', '{"type": ["result"]}', "[" * 100_000,
        '{"type": "result", "subtype": "success", "is_error": "false", "terminal_reason": []}',
        '{"type": "result", "is_error": 0, "terminal_reason": "completed", "result": {}}',
    ],
)  # fmt: skip
def test_odd_rows_are_no_success(tmp_path: Path, row: str) -> None:
    assert ADAPTER.completion(printed(tmp_path, row)).said in (Said.NOTHING, Said.FAILED)


def test_a_detail_is_a_short_line(tmp_path: Path) -> None:
    row = {
        "type": "result", "is_error": True, "terminal_reason": "api_error",
        "result": "a\x1b[31m\nb" * 10_000,
    }  # fmt: skip
    detail = ADAPTER.completion(printed(tmp_path, json.dumps(row))).detail

    assert detail.isprintable()
    assert len(detail) < 2_000


def test_no_transcript_is_no_completion(tmp_path: Path) -> None:
    assert ADAPTER.completion(tmp_path / "none").said is Said.NOTHING


def test_the_prompt_is_read_from_stdin_and_the_proxy_is_asked() -> None:
    launch = ADAPTER.launch(asked(Dialect.ANTHROPIC))

    assert launch.stdin == PROMPT.encode()
    assert launch.environment["ANTHROPIC_BASE_URL"] == URL
    assert launch.environment["ANTHROPIC_API_KEY"] == DUMMY_KEY


def test_the_model_that_was_asked_for_does_all_the_work() -> None:
    launch = ADAPTER.launch(asked(Dialect.ANTHROPIC, model="glm-5.2"))
    named = {key: value for key, value in launch.environment.items() if key.endswith("_MODEL")}

    assert set(named.values()) == {"glm-5.2"}
    assert {"ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"} <= set(named)
    assert launch.command[launch.command.index("--model") + 1] == "glm-5.2"
    assert launch.environment["CLAUDE_CODE_NO_MODEL_FALLBACK"] == "1"
    assert launch.environment["CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP"] == "1"


def test_the_session_has_the_id_that_was_chosen() -> None:
    one = asked(Dialect.ANTHROPIC)
    command = ADAPTER.launch(one).command

    assert command[command.index("--session-id") + 1] == one.session_id


def test_an_effort_is_asked_for_only_where_one_is_wanted() -> None:
    command = ADAPTER.launch(asked(Dialect.ANTHROPIC, effort="xhigh")).command

    assert command[command.index("--effort") + 1] == "xhigh"
    assert "--effort" not in ADAPTER.launch(asked(Dialect.ANTHROPIC)).command


def test_it_has_no_web_and_updates_nothing() -> None:
    launch = ADAPTER.launch(asked(Dialect.ANTHROPIC))

    denied = launch.command[launch.command.index("--disallowedTools") + 1]
    assert set(denied.split(",")) == {"WebSearch", "WebFetch"}
    for name in ("DISABLE_UPDATES", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"):
        assert launch.environment[name] == "1"


@pytest.mark.parametrize("wrong", [asked(Dialect.CHAT), asked(Dialect.ANTHROPIC, effort="huge")])
def test_what_it_has_not_is_refused(wrong: Asked) -> None:
    with pytest.raises(UsageError, match="claude"):
        ADAPTER.launch(wrong)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.329 (Claude Code)", "2.1.329"),
        ("2.1.329 (Claude Code)\n", "2.1.329"),
        ("2.1.329", None),
        ("claude 2.1.329", None),
        ("warning\n2.1.329 (Claude Code)", None),
    ],
)
def test_it_is_known_by_what_it_prints(said: str, version: str | None) -> None:
    assert ADAPTER.recognises(said) == version
