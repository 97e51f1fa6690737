"""What Kimi Code counts: the tokens of its wire log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.model.event import Event, Finish, Trace
from kbsite.model.usage import Usage
from tests.harnesses.kimi_rows import (
    CAPTURES,
    WIRE,
    captured,
    coded,
    ledger,
    looped,
    of,
    one,
    read,
    written,
)
from tests.harnesses.reading import BESIDE, beside

CODE = BESIDE / "captures" / "kimi-code-2.1.0"
CORPUS = sorted((BESIDE / "corpus" / "kimi-code-wire").rglob("*.jsonl"))
MAIN = "home/.kimi-code/sessions/wd_x/session_y/agents/main/wire.jsonl"
CHILD = "home/.kimi-code/sessions/wd_x/session_y/agents/agent-0/wire.jsonl"


def wire(*rows: dict[str, Any], name: str = MAIN) -> list[Event]:
    return read(WIRE, written(*rows), name)


def used(sent: int, output: int, scope: str = "turn") -> dict[str, object]:
    usage = {"inputOther": sent, "output": output, "inputCacheRead": 2, "inputCacheCreation": 1}
    return coded("usage.record", usage=usage, usageScope=scope, model="alias")


def ended(sent: int, output: int, reason: str = "tool_use") -> dict[str, object]:
    usage = used(sent, output)["usage"]
    return looped("step.end", step=1, finishReason=reason, usage=usage)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["record first", "step first"])
def test_a_count_that_is_written_twice_counts_once(order: tuple[int, int]) -> None:
    rows: list[dict[str, object]] = []
    for sent in (10, 20):
        pair = (used(sent, 1), ended(sent, 1))
        rows += [looped("step.begin", step=1), pair[order[0]], pair[order[1]]]
    total = ledger(wire(*rows)).total
    assert total == Usage(input=30, cache_read=4, cache_write=2, output=2)


def test_requests_beside_the_steps_are_counted_too() -> None:
    rows = (
        looped("step.begin", step=1), used(10, 1), looped("step.end", finishReason="error"),
        looped("step.begin", step=2), ended(20, 1), used(20, 1),
        used(40, 1, scope="session"),
        looped("step.begin", step=3), used(80, 1),
    )  # fmt: skip
    assert ledger(wire(*rows)).total.input == 150


def test_a_request_beside_the_steps_is_not_taken_for_the_count_that_is_awaited() -> None:
    rows = (looped("step.begin"), ended(20, 1), used(40, 1, scope="session"), used(20, 1))
    assert ledger(wire(*rows)).total.input == 80 - 20


def test_steps_are_counted_where_nothing_else_is() -> None:
    rows = (looped("step.begin"), ended(10, 1), looped("step.begin"), ended(20, 1))
    assert ledger(wire(*rows)).total.input == 30


def test_agents_are_counted_apart() -> None:
    events = [*wire(used(10, 1)), *wire(used(20, 2), name=CHILD)]
    assert ledger(events).usage("").input == 10
    assert ledger(events).usage("agent-0").input == 20
    assert ledger(events).total.input == 30


def test_four_zeros_are_no_count() -> None:
    usage = {"inputOther": 0, "output": 0, "inputCacheRead": 0, "inputCacheCreation": 0}
    events = wire(coded("usage.record", usage=usage), looped("step.end", usage=usage))
    assert [type(event) for event in events] == [Trace, Trace]


def test_a_captured_run_adds_up() -> None:
    events = captured(CAPTURES / "kimi-code-quick", WIRE)
    # turn t sends 1000 and 500 t from the cache, and brings 40 + 10 t
    assert ledger(events).total == Usage(input=3000, cache_read=1500, cache_write=0, output=150)
    assert one(Finish, events).ok


@beside
def test_a_captured_sub_agent_is_counted_as_the_program_counts_it() -> None:
    events = captured(CODE / "main", WIRE)
    turns = [t for t in range(14) if t != 11]
    assert ledger(events).usage("") == Usage(
        input=1000 * len(turns),
        cache_read=sum(500 * t for t in turns),
        cache_write=0,
        output=sum(40 + 10 * t for t in turns),
    )
    (told,) = [t for t in of(Trace, events) if t.type == "subagent.completed"]
    usage = json.loads(told.raw)["usage"]
    assert ledger(events).usage("agent-0") == Usage(
        input=usage["inputOther"],
        cache_read=usage["inputCacheRead"],
        cache_write=usage["inputCacheCreation"],
        output=usage["output"],
    )


def recorded(path: Path) -> dict[str, int]:
    """The counts of a log's `usage.record` rows, added up."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    usages = [row["usage"] for row in rows if row["type"] == "usage.record"]
    return {
        key: sum(usage[key] for usage in usages)
        for key in ("inputOther", "inputCacheRead", "output")
    }


@beside
@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_a_foreign_log_adds_up_to_its_own_records(path: Path) -> None:
    total = ledger(read(WIRE, path.read_bytes(), path.name)).total
    assert recorded(path) == {
        "inputOther": total.input,
        "inputCacheRead": total.cache_read,
        "output": total.output,
    }
