"""What is wrong with a contender is found before anything starts, all of it at once."""

from __future__ import annotations

from threading import Event

import pytest

from bench.preflight import CHECKS, Check, Row, State, Tools, Trial, Wanted, preflight
from bench.providers import Dialect, Provider
from kbsite.errors import UsageError
from tests.bench.preflight.standing_in import tools

KEY = "sk-very-secret-0123456789"
MINE = Provider(
    id="mine", bases={Dialect.ANTHROPIC: "https://models.example.org"}, key_variable="MY_KEY"
)
OTHER = Provider(id="other", bases={Dialect.GEMINI: "http://127.0.0.1:1"}, key_variable=None)
PROVIDERS = {"mine": MINE, "other": OTHER}


def look(host: Tools, *wanted: Wanted, stop: Event | None = None) -> list[Row]:
    return preflight(wanted, host, Trial(script=None), lambda *_: None, stop or Event())


def one(host: Tools, **asked: str) -> dict[str, Check]:
    (row,) = look(host, Wanted(**{"harness": "claude", **asked}))
    assert tuple(check.name for check in row.checks) == CHECKS, "each row has each check once"
    return {check.name: check for check in row.checks}


def states(found: dict[str, Check]) -> dict[str, str]:
    return {name: check.state.value for name, check in found.items()}


def test_a_contender_that_lacks_nothing_can_start() -> None:
    host = tools(providers=PROVIDERS, environment={"MY_KEY": KEY})
    (row,) = look(host, Wanted(harness="claude", model="opus-x", effort="max", provider="mine"))
    assert row.can_start
    assert row.wanted.label == "claude · opus-x [max]"
    assert [check.state.value for check in row.checks] == ["fine"] * 5 + ["not tried"] * 2
    assert row.check("installed").seen == "version 0.0.1"
    assert row.check("provider").seen == "anthropic at models.example.org"
    assert row.check("key").seen == "MY_KEY is set"
    assert KEY not in str(row)
    assert KEY not in repr(host), "tools can be printed"


def test_all_that_is_wrong_is_told_at_once() -> None:
    host = tools(providers=PROVIDERS, wrong=lambda name: f"{name} printed 6.6.6")
    (row,) = look(host, Wanted(harness="claude", model="x", effort="most", provider="mine"))
    assert not row.can_start
    assert [check.name for check in row.problems] == ["version", "model", "key"]
    version, model, key = (check.sentence for check in row.problems)
    assert "claude printed 6.6.6" in version
    assert "bench install claude" in version
    assert "effort 'most', expected one of: max" in model
    assert "MY_KEY is not set" in key
    assert "export MY_KEY" in key


def test_a_harness_that_nobody_knows() -> None:
    found = one(tools(providers=PROVIDERS), harness="clod", provider="mine")
    assert states(found) == {
        "installed": "wrong", "version": "not tried", "provider": "not tried",
        "model": "not tried", "key": "wrong", "session": "not tried", "live": "not tried",
    }  # fmt: skip
    assert found["installed"].sentence == "'clod' is no harness; take one of: claude"


def test_a_cli_that_is_not_installed() -> None:
    found = one(tools(installed=False))
    assert found["installed"].state is State.WRONG
    assert found["installed"].cure == "kbsite bench install claude --clis /clis"
    assert found["model"].state is State.FINE, "the rest is looked at all the same"


@pytest.mark.parametrize(
    ("provider", "says"),
    [
        ("nobody", "'nobody' is no provider that is known; take one of: mine, other"),
        ("other", "other speaks none of the dialects of claude (anthropic)"),
    ],
)
def test_a_provider_that_does_not_serve(provider: str, says: str) -> None:
    found = one(tools(providers=PROVIDERS), provider=provider)
    assert found["provider"].state is State.WRONG
    assert says in found["provider"].sentence
    assert found["model"].state is State.NOT_TRIED


def test_a_provider_that_needs_no_key() -> None:
    free = Provider(id="free", bases=MINE.bases, key_variable=None)
    found = one(tools(providers={"free": free}), provider="free")
    assert found["key"].seen == "none is needed"
    assert found["provider"].state is State.FINE


def test_a_key_that_cannot_be_one_is_told_and_not_shown() -> None:
    host = tools(providers=PROVIDERS, environment={"MY_KEY": "two secret words"})
    found = one(host, provider="mine")
    assert found["key"].state is State.WRONG
    assert "holds no key" in found["key"].seen
    assert "secret" not in found["key"].sentence


def test_without_a_provider_nobody_asks_for_its_key() -> None:
    found = one(tools(providers=PROVIDERS))
    assert states(found)["provider"] == "not tried"
    assert states(found)["key"] == "not tried"


def test_contenders_keep_their_order_and_progress_is_told() -> None:
    told: list[tuple[str, float | None]] = []
    wanted = [Wanted(harness="claude", model=name) for name in ("b", "a")]
    rows = preflight(wanted, tools(), Trial(script=None), lambda *one: told.append(one), Event())
    assert [row.wanted for row in rows] == wanted
    assert told == [("looking at claude · b", 0.0), ("looking at claude · a", 0.5)]


def test_what_lacks_something_is_not_tried() -> None:
    host = tools(installed=False)
    (row,) = preflight(
        [Wanted(harness="claude")], host, Trial(script="hi", live=True), lambda *_: None, Event()
    )
    assert row.check("session").seen == "first: installed"
    assert row.check("live").seen == "first: installed, version, provider, key"


def test_nothing_is_tried_after_a_stop() -> None:
    stop = Event()
    stop.set()
    (row,) = preflight(
        [Wanted(harness="claude")], tools(), Trial(script="hi"), lambda *_: None, stop
    )
    assert row.check("session").seen == "it was stopped before"


def test_a_script_that_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"'nothing' is no script; expected one of: .*quick"):
        preflight([], tools(), Trial(script="nothing"), lambda *_: None, Event())
