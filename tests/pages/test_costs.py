"""Pages tell what a run cost: the CLI's own figure first, the estimate beside it, marked as one."""

from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.price import Cost, Price, PriceTable, estimate
from kbsite.model.usage import Usage
from kbsite.pages.costs import in_words
from kbsite.store.problems import read_problem
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.pages.test_board_figures import said

SOURCE = "https://prices.example/list?a=1&b=2"
PRICES = f"""prices:
  - models: [priced]
    since: 2026-01-01
    input: 2
    cache_read: 0.5
    cache_write: 2.5
    cache_write_1h: 4
    output: 10
    source: {SOURCE}
    looked_up: 2026-11-21
    note: Prompts of <b>many</b> tokens cost more.
  - models: [bare]
    input: 2
    output: 10
    source: https://prices.example/bare
    looked_up: 2026-11-21
"""
USAGE = {"input": 100_000, "cache_read": 1_000_000, "cache_write": 200_000, "output": 30_000}
USER = b'{"type": "user", "message": {"role": "user", "content": "hello"}}\n'


def _counted(kind: str, sent: int) -> dict[str, object]:
    usage = {"input_tokens": sent, "output_tokens": 5}
    return {
        "type": kind,
        "session_id": kind,
        "message": {"id": "m", "usage": usage},
        "usage": usage,
    }


TWICE = "\n".join(
    json.dumps(_counted(*row)) for row in (("result", 40), ("assistant", 70))
).encode()


@pytest.fixture(name="out")
def _out(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    runs = tmp_path / "runs" / "demo"
    made = partial(make_run, problem_hash=read_problem(tmp_path / "problems" / "softmax").hash)
    made(runs, run_id="told", model="priced", usage=USAGE, cost_usd=1.25)
    made(runs, run_id="guessed", model="priced", usage=USAGE)
    made(runs, run_id="shown", model="priced", usage=USAGE, transcript={"stdout.jsonl": USER})
    other, log = tmp_path / "runs" / "other", {"stdout.jsonl": TWICE}
    made(other, run_id="went-on", model="priced", cost_usd=1.25, transcript=log)
    made(other, run_id="bare", model="bare", usage=USAGE)
    made(runs, run_id="partly", model="priced", usage={"input": 1, "output": 1})
    made(runs, run_id="unknown", model="unheard-of", usage=USAGE)
    return build(read_settings(tmp_path / "kbsite.yaml")).out


def page(out: Path, run_id: str) -> Any:
    text = (out / "runs" / run_id / "index.html").read_text("utf-8")
    return html5lib.parse(text, namespaceHTMLElements=False)


def facts(out: Path, run_id: str) -> str:
    return next(
        said(node) for node in page(out, run_id).iter("p") if node.get("class") == "facts-line"
    )


def rows(out: Path, run_id: str) -> list[list[str]]:
    [table] = [
        node for node in page(out, run_id).iter("table") if node.get("class") == "chart-table cost"
    ]
    return [[said(cell) for cell in row.iter("td")] for row in table.iter("tr")][1:]


def test_what_the_cli_says_of_one_session_of_two_is_a_lower_bound(out: Path) -> None:
    told = facts(out, "went-on")

    assert "40 in 5 out tokens, a lower bound (the CLI's total)" in told
    assert "at least $1.25 (as the CLI says)" in told


def test_the_own_figure_stands_beside_the_estimate_and_their_difference(out: Path) -> None:
    assert "$1.25 (as the CLI says) estimate: $1.50, prices of 2026-01-01" in facts(out, "told")
    assert rows(out, "told")[-2:] == [
        ["as the CLI says", "", "", "$1.25"],
        ["difference", "", "", "+$0.2500"],
    ]


@pytest.mark.parametrize("run_id", ["guessed", "shown"])
def test_the_estimate_is_told_by_kind_of_token(out: Path, run_id: str) -> None:
    assert "CLI says" not in facts(out, run_id)
    assert rows(out, run_id) == [
        ["new", "100,000", "2", "$0.2000"],
        ["from cache", "1,000,000", "0.5", "$0.5000"],
        ["written to cache", "200,000", "2.5", "$0.5000"],
        ["out", "30,000", "10", "$0.3000"],
        ["all", "1,330,000", "", "$1.50"],
    ]
    [note] = [said(node) for node in page(out, run_id).iter("p") if "looked up" in said(node)]
    assert "for priced, looked up on 2026-11-21" in note
    assert "kept for an hour: $1.80. Prompts of <b>many</b> tokens cost more." in note


HOUR = {**USAGE, "cache_write_1h": 150_000}


def test_what_was_written_for_an_hour_has_its_own_price(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    make_run(tmp_path / "runs" / "demo", run_id="hour", model="priced", usage=HOUR)
    make_run(tmp_path / "runs" / "demo", run_id="bare", model="bare", usage=HOUR)
    out = build(read_settings(tmp_path / "kbsite.yaml")).out

    assert rows(out, "hour")[2:] == [
        ["written to cache", "50,000", "2.5", "$0.1250"],
        ["written to cache for an hour", "150,000", "4", "$0.6000"],
        ["out", "30,000", "10", "$0.3000"],
        ["all", "1,330,000", "", "$1.72"],
    ]
    assert "kept for an hour:" not in said(page(out, "hour"))
    assert ["written to cache for an hour", "150,000", "no price", "–"] in rows(out, "bare")
    assert "estimate: at least $0.5000" in facts(out, "bare")
    assert "200,000 written to cache, 150,000 of them for an hour" in (
        out / "runs" / "hour" / "index.html"
    ).read_text("utf-8")
    [csv_row, _] = sorted(
        csv.DictReader((out / "data" / "runs.csv").read_text("utf-8").splitlines()),
        key=lambda row: row["id"] != "hour",
    )
    assert (csv_row["cache_write_tokens"], csv_row["cache_write_1h_tokens"]) == ("200000", "150000")
    assert csv_row["estimate_usd"] == "1.725"


def test_a_transcript_tells_which_writes_of_a_run_were_for_an_hour(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    usage = {
        "input_tokens": 100_000, "cache_creation_input_tokens": 200_000, "output_tokens": 10,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 50_000, "ephemeral_1h_input_tokens": 150_000,
        },
    }  # fmt: skip
    message = {"id": "m", "usage": usage, "stop_reason": "end_turn",
               "content": [{"type": "text", "text": "so"}]}  # fmt: skip
    stream = json.dumps({"type": "assistant", "message": message}).encode()
    old = {"input": 100_000, "cache_write": 200_000, "output": 10}
    for run_id, told in (("untold", {}), ("old", old), ("less", {**old, "cache_write": 100})):
        make_run(
            tmp_path / "runs" / "demo", run_id=run_id, model="priced", usage=told,
            transcript={"stdout.jsonl": stream},
        )  # fmt: skip
    out = build(read_settings(tmp_path / "kbsite.yaml")).out
    found = {run_id: rows(out, run_id)[1:3] for run_id in ("untold", "old", "less")}

    assert (
        found["untold"]
        == found["old"]
        == [
            ["written to cache", "50,000", "2.5", "$0.1250"],
            ["written to cache for an hour", "150,000", "4", "$0.6000"],
        ]
    )
    assert found["less"][0] == ["written to cache", "100", "2.5", "$0.00025"]
    told = json.loads((out / "runs" / "untold" / "trajectory.json").read_text("utf-8"))
    extra = {"cache_creation_input_tokens": 200_000, "ephemeral_1h_input_tokens": 150_000}
    assert told["steps"][-1]["metrics"]["extra"] == extra
    assert told["final_metrics"]["extra"] == {f"total_{key}": n for key, n in extra.items()}


def test_the_source_of_the_prices_is_linked(out: Path) -> None:
    links = [node for node in page(out, "told").iter("a") if node.get("href") == SOURCE]

    assert len(links) == 2
    assert {link.get("rel") for link in links} == {"noopener noreferrer"}


def test_without_a_price_nothing_is_guessed(out: Path) -> None:
    assert "cost not known" in facts(out, "unknown")
    told = said(page(out, "unknown"))
    assert "the table of prices has no price for unheard-of on that day" in told
    assert "estimate:" not in told


def test_the_board_holds_scores_against_both_and_marks_estimates(out: Path) -> None:
    text = (out / "demo" / "index.html").read_text("utf-8")
    board = html5lib.parse(text, namespaceHTMLElements=False)
    found = {}
    for figure in board.iter("figure"):
        if said(figure.find(".//h3")) == "What runs took":
            at = [said(head) for head in figure.find(".//thead").iter("th")].index("cost")
            for row in figure.find(".//tbody").iter("tr"):
                cells = list(row.iter("td"))
                found[cells[2].find("a").get("href").split("/")[-2]] = said(cells[at])

    assert found == {
        "told": "$1.25",
        "guessed": "$1.50 (estimate)",
        "shown": "$1.50 (estimate)",
        "partly": "$0.000012 (estimate)",
        "unknown": "–",
    }


def test_the_figure_to_compare_by_says_what_it_is() -> None:
    price = Price(
        models=("m",), input=Decimal(2), output=Decimal(4), source="https://a.example/x",
        looked_up=date(2026, 1, 1),
    )  # fmt: skip
    guess = estimate(Usage(input=1_000_000, output=0), "m", None, PriceTable(prices=(price,)))

    assert in_words(Cost(4.1, guess)) == "$4.10"
    assert in_words(Cost(4.1, guess), few=True) == "at least $4.10"
    assert in_words(Cost(None, guess)) == "estimate $2.00"
    assert in_words(Cost(None, None)) == ""


def test_a_run_s_chart_tells_what_was_spent_until_each_point(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    usage = {"input_tokens": 500_000, "output_tokens": 100_000}
    rows = []
    for number in range(2):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": "x"}}
        message = {"id": f"m{number}", "usage": usage, "content": [call], "stop_reason": "tool_use"}
        held = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "PASS\n"}
        rows += [{"type": "assistant", "message": message},
                 {"type": "user", "message": {"role": "user", "content": [held]}}]  # fmt: skip
    stream = "\n".join(map(json.dumps, rows)).encode()
    for run_id, model in (("r", "priced"), ("s", "unheard-of")):
        make_run(
            tmp_path / "runs" / "demo",
            run_id=run_id, model=model, usage=USAGE, transcript={"stdout.jsonl": stream},
        )  # fmt: skip
    out = build(read_settings(tmp_path / "kbsite.yaml")).out
    tables = [t for t in page(out, "r").iter("table") if t.get("class") == "chart-table"]
    heads, *body = [[said(cell) for cell in row] for row in tables[0].iter("tr")]
    at = heads.index("cost of these tokens, estimated")

    assert [row[at] for row in body] == ["$2.00", "$4.00", "$4.00"]
    assert "cost of these" not in (out / "runs" / "s" / "index.html").read_text("utf-8")


def test_a_new_price_is_told_by_the_next_build(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo", run_id="r", model="priced", usage=USAGE)
    (tmp_path / "prices.yaml").write_text(PRICES)
    out = build(read_settings(tmp_path / "kbsite.yaml")).out
    before = facts(out, "r")
    (tmp_path / "prices.yaml").write_text(PRICES.replace("output: 10", "output: 10.5"))
    build(read_settings(tmp_path / "kbsite.yaml"))

    assert "estimate: $1.50" in before
    assert "estimate: $1.52" in facts(out, "r")


def test_the_published_list_has_both_figures_and_the_tokens(out: Path) -> None:
    listed = json.loads((out / "data" / "runs.json").read_text("utf-8"))["runs"]
    found = {run["id"]: (run["cost_usd"], run["estimate_usd"]) for run in listed}
    least = {run["id"] for run in listed if run["estimate_is_least"]}

    assert found["told"] == (1.25, 1.5)
    assert found["bare"] == (None, 0.5)
    assert least == {"bare"}
    assert found["guessed"] == (None, 1.5)
    assert found["unknown"] == (None, None)
    [usage] = [run["usage"] for run in listed if run["id"] == "told"]
    assert usage == {**USAGE, "cache_write_1h": None, "reasoning": None}


def test_the_published_lists_say_which_costs_nobody_counted(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    for run_id, source in (("told", "its own log"), ("guessed", "estimate of the table")):
        make_run(tmp_path / "runs" / "demo", run_id=run_id, cost_usd=0.5, cost_source=source)
    out = build(read_settings(tmp_path / "kbsite.yaml")).out
    listed = json.loads((out / "data" / "runs.json").read_text("utf-8"))["runs"]
    table = csv.DictReader((out / "data" / "runs.csv").read_text("utf-8").splitlines())

    assert {one["id"]: one["cost_is_estimate"] for one in listed} == {
        "told": False,
        "guessed": True,
    }
    assert {one["id"]: one["cost_is_estimate"] for one in table} == {
        "told": "false", "guessed": "true",
    }  # fmt: skip


def test_a_chart_says_lower_bound_and_in_all_where_the_rest_of_the_page_does(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    usage = {"input_tokens": 400, "cache_read_input_tokens": 90, "output_tokens": 100}
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "x"}}
    rows = [
        {"type": "assistant", "message": {"id": "m", "usage": usage, "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "PASS\n"}]}},
        {"type": "assistant", "parent_tool_use_id": "c", "message": {
            "id": "n", "usage": usage, "content": [{"type": "text", "text": "so"}]}},
    ]  # fmt: skip
    stream = "\n".join(map(json.dumps, rows)).encode()
    make_run(
        tmp_path / "runs" / "other", run_id="bare", model="bare", usage={},
        transcript={"stdout.jsonl": stream},
    )  # fmt: skip
    out = build(read_settings(tmp_path / "kbsite.yaml")).out
    drawn = said(page(out, "bare"))
    table = next(t for t in page(out, "bare").iter("table") if t.get("class") == "chart-table")
    heads, *body = [[said(cell) for cell in row] for row in table.iter("tr")]

    assert "estimate: at least $0.0036" in facts(out, "bare")
    assert "590 of 1.18k, estimate at least $0.0036 in all" in drawn
    assert heads[1] == "tokens of the main agent's messages"
    at = heads.index("cost of these tokens, estimated")
    assert {(row[1], row[at]) for row in body} == {("590", "at least $0.0018")}


def test_what_the_cli_says_is_a_lower_bound_in_the_table_too(out: Path) -> None:
    assert ["as the CLI says", "", "", "at least $1.25"] in rows(out, "went-on")


def test_the_head_of_a_page_tells_kinds_of_tokens_as_its_vital_signs_do(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    usage = {"input_tokens": 400, "cache_read_input_tokens": 0, "output_tokens": 100}
    message = {"id": "m", "usage": usage, "content": [{"type": "text", "text": "so"}]}
    stream = json.dumps({"type": "assistant", "message": message}).encode()
    make_run(
        tmp_path / "runs" / "demo", run_id="r", usage={"input": 400, "output": 100},
        transcript={"stdout.jsonl": stream},
    )  # fmt: skip
    out = build(read_settings(tmp_path / "kbsite.yaml")).out

    kinds = "400 new, unknown from cache, unknown written to cache"
    assert (out / "runs" / "r" / "index.html").read_text("utf-8").count(kinds) == 2
