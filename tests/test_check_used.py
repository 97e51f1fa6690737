"""`kbsite check` counts the tokens of a run anew, from its proxy's account or its transcript."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun, MakeSettings

Found = Callable[..., set[tuple[str, str | None]]]


def exchange(output: int | None = 10, outcome: str = "complete", **told: Any) -> dict[str, Any]:
    usage = {"input": 100, "cache_read": 5, "cache_write": None, "output": output, "reasoning": 2}
    return {"usage": usage, "outcome": outcome, "model_request": True, **told}


ACCOUNT = [exchange(), exchange(20), exchange(None, "error"), exchange(7, model_request=False)]
USED = {"input": 300, "cache_read": 15, "cache_write": None, "output": 30, "reasoning": 6}
SOURCE = "proxy.jsonl: 4 exchanges; the CLI's own log says the same"


@pytest.fixture(name="found")
def _found(tmp_path: Path, make_run: MakeRun) -> Found:
    """Checks a run with an account; severity and key of what is wrong with what it tells."""

    def check_of(
        lines: list[Any] = ACCOUNT, used: dict[str, Any] = USED, **run: Any
    ) -> set[tuple[str, str | None]]:
        account = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
        told = {"usage": used, "usage_source": SOURCE, "answers": 2, **run}
        folder = make_run(tmp_path / "demo", files={"proxy.jsonl": account.encode()}, **told)
        kept = [f for f in check([folder]) if f.path.endswith(("run.json", "proxy.jsonl"))]
        return {(f.severity.value, f.key) for f in kept}

    return check_of


def test_tokens_that_follow_from_the_account_are_fine(found: Found) -> None:
    assert found() == set()


@pytest.mark.parametrize("kind", ["input", "cache_read", "cache_write", "output", "reasoning"])
def test_a_count_that_was_changed_by_hand_is_an_error(found: Found, kind: str) -> None:
    more = (USED[kind] or 0) + 1
    assert found(used={**USED, kind: more}) >= {("error", f"usage.{kind}")}
    if USED[kind] is not None:
        assert found(used={**USED, kind: None}) == {("error", f"usage.{kind}")}


@pytest.mark.parametrize(
    ("hour", "known"), [(0, set()), (4, {("warning", "usage.cache_write_1h")})]
)
def test_a_run_from_before_writes_for_an_hour_were_counted_lacks_them_where_there_are_some(
    tmp_path: Path, make_run: MakeRun, hour: int, known: set[tuple[str, str]]
) -> None:
    kinds = {"ephemeral_1h_input_tokens": hour}
    usage = {
        "input_tokens": 3, "cache_creation_input_tokens": 5, "cache_creation": kinds,
        "output_tokens": 7,
    }  # fmt: skip
    message = {"id": "m", "usage": usage, "content": [], "stop_reason": "end_turn"}
    run = make_run(
        tmp_path / "demo", usage={"input": 3, "cache_write": 5, "output": 7},
        usage_source="stdout.jsonl: counted once per model message",
        transcript={"stdout.jsonl": json.dumps({"type": "assistant", "message": message}).encode()},
    )  # fmt: skip
    kept = [one for one in check([run]) if one.path.endswith("run.json")]

    assert {(one.severity.value, one.key) for one in kept} == known


def test_answers_and_exchanges_are_counted_too(found: Found) -> None:
    assert found(answers=3) == {("error", "answers")}
    assert found(answers=None) == set()
    assert found(lines=ACCOUNT[:3]) == {("error", "usage_source")}
    assert ("error", "usage_source") in found(lines=[*ACCOUNT, exchange()])


def test_of_very_many_exchanges_not_all_are_written_down(found: Found) -> None:
    many = SOURCE.replace("4 exchanges", "60000 exchanges")
    assert found(usage_source=many) == set()
    assert found(used={**USED, "output": 9000}, usage_source=many) == set()
    assert found(used={**USED, "output": 29}, usage_source=many) == {("error", "usage.output")}


def test_what_is_no_exchange_is_an_error(found: Found) -> None:
    assert found(lines=[*ACCOUNT[:3], "{"]) == {("error", None)}
    assert found(lines=[*ACCOUNT[:3], {"usage": 3}]) == {("error", None)}


def test_tokens_from_elsewhere_are_held_against_no_account(found: Found) -> None:
    assert found(used={"output": 1}, usage_source="stdout.jsonl: the CLI's own total") == set()


ROWS: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "model": "opus-x", "cwd": "/w", "tools": []},
    {"type": "assistant", "message": {"id": "m", "model": "opus-x", "content": [
        {"type": "text", "text": "Done."}], "usage": {"input_tokens": 3, "output_tokens": 4}}},
    {"type": "result", "subtype": "success", "is_error": False, "result": "Done.",
     "usage": {"input_tokens": 3, "output_tokens": 4}},
]  # fmt: skip


@pytest.mark.parametrize(("output", "known"), [(4, set()), (5, {("warning", "usage.output")})])
def test_tokens_of_a_transcript_are_counted_anew(
    tmp_path: Path, make_run: MakeRun, output: int, known: set[tuple[str, str]]
) -> None:
    told = {"stdout.jsonl": "\n".join(map(json.dumps, ROWS)).encode()}
    folder = make_run(
        tmp_path / "demo", transcript=told, usage={"input": 3, "output": output},
        usage_source="Claude Code (stdout.jsonl): the CLI's own total",
    )  # fmt: skip
    kept = [one for one in check([folder]) if one.path.endswith("run.json")]

    assert {(one.severity.value, one.key) for one in kept} == known

    told["stdout.jsonl"] = told["stdout.jsonl"][:9]
    cut = make_run(
        tmp_path / "cut", transcript=told, usage={"input": 3},
        usage_source="Claude Code (stdout.jsonl): the CLI's own total",
    )  # fmt: skip
    messages = [one.message for one in check([cut]) if one.key == "usage.input"]
    assert messages == ["the transcript tells none, not 3"]


PRICE = """prices:
- models: [opus-x]
  input: "2"
  output: "10"
  source: https://prices.example/
  looked_up: 2026-01-01
"""
RECKONED = (
    "prices.yaml (https://prices.example/, looked up 2026-01-01) and the tokens in proxy.jsonl"
)


@pytest.mark.parametrize(
    ("cost", "source", "known"),
    [
        # 300 tokens at 2 and 30 at 10 dollars a million; nobody says what cached ones cost.
        (0.0009, RECKONED, set()),
        (0.0009, f"{RECKONED}, at least: some kinds have no price there", set()),
        (0.0008, RECKONED, {("error", "cost_usd")}),
        (0.0008, RECKONED.replace("2026", "2025"), set()),
        (0.0008, "stdout.jsonl: what the CLI says", set()),
    ],
)
def test_a_cost_by_the_table_is_reckoned_anew(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, cost: float, source: str,
    known: set[tuple[str, str]],
) -> None:  # fmt: skip
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICE)
    settings = read_settings(tmp_path / "kbsite.yaml")
    used = {**USED, "cache_read": None, "reasoning": None}
    run = make_run(settings.runs / "demo", usage=used, cost_usd=cost, cost_source=source)
    kept = [one for one in check([run], settings) if one.path.endswith("run.json")]

    assert {(one.severity.value, one.key) for one in kept} == known
