"""run.json: where its tokens, its cost and its name come from."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from bench.harnesses.form import Program
from bench.providers import Dialect
from bench.proxy.form import Account, Exchange, Outcome
from bench.running import record
from bench.running.ending import Verdict
from bench.running.form import Order
from bench.running.given import Workspace
from bench.running.record import (
    Became,
    Told,
    about_models,
    new_folder,
    own_usage,
    run_record,
    usage_source,
)
from bench.sandbox.box import Ending, Proven
from kbsite.errors import UsageError
from kbsite.model.price import Price, PriceTable
from kbsite.model.run import Host
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage

STARTED = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
ORDER = Order(board="b", problem="add", harness="claude", model="Opus/X 5", provider="anthropic")
USAGE = Usage(input=1_000_000, cache_read=200, output=500_000)
ACCOUNT = Account(exchanges=7, usage=USAGE)
PRICE = Price(
    models=("Opus/X 5",), input=Decimal(4), output=Decimal(20), source="https://example.org/p",
    looked_up=date(2026, 1, 1),
)  # fmt: skip
TOLD = Told(
    order=ORDER,
    program=Program(harness="claude", version="2.1", command=("/opt/clis/claude/claude",)),
    provider_host="api.example.org",
    command=("/opt/clis/claude/claude", "-p", "the whole prompt", "--prompt=the whole prompt"),
    environment={"PATH": "/bin", "HOME": "/home/agent"},
    given=Workspace(prompt="the whole prompt", prompt_hash="ab", problem_hash="cd"),
    host=Host(cpu="a processor"),
    started=STARTED,
)
BECAME = Became(
    verdict=Verdict(reason=EndReason.FINISHED, detail="It was done.", retryable=False),
    ending=Ending(exit_code=0),
    ended=STARTED,
    account=ACCOUNT,
    proven=Proven(sandbox="bubblewrap", level="L3", claims=(), facts={}),
    notes=("Odd.",),
)


def logged(folder: Path, *usages: Mapping[str, int]) -> Path:
    """A run's folder with a session log of Claude Code that tells these usages."""
    log = folder / "transcript/home/.claude/projects/-w/s.jsonl"
    log.parent.mkdir(parents=True)
    lines = [
        {"type": "assistant", "uuid": f"u{number}", "sessionId": "s",
         "timestamp": "2026-01-02T03:04:05Z",
         "message": {"id": f"m{number}", "role": "assistant", "model": "x", "usage": usage,
                     "content": [{"type": "text", "text": "Hello."}]}}
        for number, usage in enumerate(usages)
    ]  # fmt: skip
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def test_a_run_s_name_tells_when_who_and_what(tmp_path: Path) -> None:
    names = [new_folder(tmp_path, ORDER, STARTED).name for _ in range(3)]
    assert names == [
        "20260102_030405_claude_opus-x-5_add.partial",
        "20260102_030405_claude_opus-x-5_add-2.partial",
        "20260102_030405_claude_opus-x-5_add-3.partial",
    ]
    (tmp_path / "b/20260102_030405_claude_opus-x-5_add-4").mkdir()
    assert new_folder(tmp_path, ORDER, STARTED).name.endswith("_add-5.partial")


def test_a_run_s_folder_says_from_the_first_which_order_it_is_of(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, replace(ORDER, cell="a-cell"), STARTED)
    assert json.loads((folder / "order.json").read_text())["cell"] == "a-cell"


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a run's id"):
        new_folder(tmp_path, replace(ORDER, problem="a/b"), STARTED)


def test_everything_that_is_known_is_recorded(tmp_path: Path) -> None:
    run = run_record("x", TOLD, BECAME, PriceTable(), tmp_path)
    assert (run.id, run.board, run.problem, run.model) == ("x", "b", "add", "Opus/X 5")
    assert (run.prompt_hash, run.problem_hash) == ("ab", "cd")
    assert (run.harness_version, run.provider, run.base_url_host) == (
        "2.1", "anthropic", "api.example.org",
    )  # fmt: skip
    assert run.command == ("/opt/clis/claude/claude", "-p", "PROMPT", "--prompt=PROMPT")
    assert run.environment == ("HOME", "PATH")
    assert (run.usage, run.end_reason, run.end_detail) == (
        USAGE, EndReason.FINISHED, "It was done.",
    )  # fmt: skip
    assert (run.exit_code, run.signal) == (0, None)
    assert (run.sandbox, run.hardware, run.notes) == ("bubblewrap (L3)", "cpu", ("Odd.",))
    assert run.kbsite_version
    assert (run.cost_usd, run.cost_source) == (None, None)


@pytest.mark.parametrize(
    ("ending", "signal"),
    [
        (Ending(exit_code=3), None),
        (Ending(signal=15), "SIGTERM"),
        (Ending(killed=True), "SIGKILL"),
    ],
)
def test_a_signal_has_its_name(tmp_path: Path, ending: Ending, signal: str | None) -> None:
    run = run_record("x", TOLD, replace(BECAME, ending=ending), PriceTable(), tmp_path)
    assert (run.exit_code, run.signal) == (ending.exit_code, signal)


def test_a_cost_is_reckoned_from_prices_and_says_so(tmp_path: Path) -> None:
    run = run_record("x", TOLD, BECAME, PriceTable(prices=(PRICE,)), tmp_path)
    assert run.cost_usd == 14.0
    assert run.cost_source == (
        "prices.yaml (https://example.org/p, looked up 2026-01-01) and the tokens in proxy.jsonl, "
        "at least: some kinds of token have no price there"
    )


def test_the_cli_s_own_count_is_held_against_the_proxy_s(tmp_path: Path) -> None:
    first = {"input_tokens": 1_000_000, "output_tokens": 400_000, "cache_read_input_tokens": 200}
    folder = logged(tmp_path, first, {"input_tokens": 0, "output_tokens": 100_000})
    own = own_usage("claude", folder)
    assert own is not None
    assert (own.sent, own.output) == (1_000_200, 500_000)
    assert usage_source("claude", ACCOUNT, folder) == (
        "proxy.jsonl: 7 exchanges; the CLI's own log says the same"
    )
    other = replace(ACCOUNT, usage=replace(USAGE, output=500_001))
    assert usage_source("claude", other, folder).endswith(
        "the CLI's own log says 1000200 in and 500000 out, here it is 1000200 in and 500001 out"
    )


def test_without_a_log_there_is_no_second_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "proxy.jsonl: 7 exchanges; the CLI's own log tells no total"
    (tmp_path / "empty").mkdir()
    assert usage_source("claude", ACCOUNT, tmp_path / "empty") == expected
    folder = logged(tmp_path / "full", {"input_tokens": 1, "output_tokens": 1})
    monkeypatch.setattr(record, "READABLE_BYTES", 10)
    assert usage_source("claude", ACCOUNT, folder) == expected


def test_a_log_of_very_many_rows_takes_little_memory_and_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent can write one: what its supervisor dies of is tried again, as if it had not been."""
    folder = logged(tmp_path, {"input_tokens": 1, "output_tokens": 1})
    log = next(folder.rglob("*.jsonl"))
    with log.open("ab") as stream:
        stream.write(b"{}\n" * 50_000)
    assert own_usage("claude", folder) == Usage(input=1, output=1)
    tracemalloc.start()
    own_usage("claude", folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 << 20, "a row that is kept takes some hundred bytes"
    monkeypatch.setattr(record, "MOST_EVENTS", 1000)
    assert own_usage("claude", folder) is None


def test_other_models_and_tools_of_the_provider_are_noted() -> None:
    plain = Exchange(
        number=1, started=STARTED, seconds=1.0, first_byte_seconds=0.1, method="POST",
        path="/v1/messages", dialect=Dialect.ANTHROPIC, model="Opus/X 5", answered_by="Opus/X 5",
        status=200, outcome=Outcome.COMPLETE, stop="end_turn", request_id=None,
    )  # fmt: skip
    assert list(about_models(ORDER, [plain])) == []
    odd = [
        replace(plain, model="small"),
        replace(plain, answered_by="Opus/X 5-20260101"),
        replace(plain, server_tools=("web_search",)),
    ]
    assert list(about_models(ORDER, [plain, *odd])) == [
        "The CLI asked for other models, too: small.",
        "Answers named other models than were asked: Opus/X 5-20260101.",
        "The CLI let the provider use tools of its own: web_search.",
    ]
    many = [replace(plain, model=f"m{number:02}") for number in range(15)]
    # Counts of tokens and refused paths name no model that answered.
    side = replace(plain, model="counted", model_request=False)
    (sentence,) = about_models(ORDER, iter([side, *many]))
    assert sentence.endswith("m09 and 5 more.")
