"""Why a session ended is decided from events, in a fixed order, whatever the exit code says."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.harnesses.form import Completion, Said
from bench.proxy.form import Exchange, Outcome
from bench.running.ending import Facts, Stop, decide
from bench.running.last_words import last_words
from bench.sandbox.box import Ending
from kbsite.model.status import EndReason

START = datetime(2026, 1, 2, tzinfo=UTC)
WENT_WELL = Ending(exit_code=0)
FINISHED = EndReason.FINISHED
ODD_STOPS = (None, "end_turn", "tool_use", "tool_calls", "STOP", "max_tokens", "refusal")


def exchange(
    outcome: Outcome,
    *,
    stop: str | None = "end_turn",
    status: int | None = 200,
    error: str | None = None,
    first_byte: float | None = 0.1,
    at: float = 0.0,
    seconds: float = 1.5,
    silent: float | None = None,
    model: str = "m",
) -> Exchange:
    return Exchange(
        number=1, started=START + timedelta(seconds=at), seconds=seconds,
        first_byte_seconds=first_byte, method="POST", path="/v1/messages", dialect=None,
        model=model, answered_by=model, status=status, outcome=outcome, stop=stop,
        request_id=None, error=error, silent_seconds=silent,
    )  # fmt: skip


DONE = exchange(Outcome.COMPLETE)
MORE = exchange(Outcome.COMPLETE, stop="tool_use")
FAILED = exchange(Outcome.ERROR, status=500, stop=None, error="overloaded")
BROKEN = exchange(Outcome.BROKEN, stop=None)
GONE = exchange(Outcome.UNREACHABLE, status=None, stop=None, error="connection refused")
CUT = exchange(Outcome.CUT, stop="max_tokens")
LEFT = exchange(Outcome.ABANDONED, stop=None)
SILENT = exchange(Outcome.ABANDONED, stop=None, status=None, first_byte=None, seconds=120.0)
SOON = replace(SILENT, seconds=2.0)
BAD = exchange(Outcome.ERROR, status=400, stop=None, error="invalid_request_error: too long")
OTHER = exchange(Outcome.ERROR, status=404, stop=None, error="model: no", model="made-up")
NO_FILE = exchange(Outcome.ERROR, status=404, stop=None, error="not_found_error: File: f_1")
REFUSED = exchange(Outcome.REFUSED, status=403, stop=None, error="no such path")


def facts(
    said: Said,
    exchanges: Sequence[Exchange],
    ending: Ending = WENT_WELL,
    *,
    stop: Stop | None = None,
    late: bool = False,
    solution: bool = False,
    elapsed: float = 10.0,
) -> Facts:
    return Facts(
        stop=stop, why="The runner ended it." if stop else "", exchanges=exchanges,
        completion=Completion(said=said, detail=f"it said {said.value}"), ending=ending,
        late=late, solution=solution, ended=START + timedelta(seconds=elapsed),
        budget_seconds=100.0, model="m",
    )  # fmt: skip


BY_ITSELF: list[tuple[str, Said, list[Exchange], Ending, EndReason, bool]] = [
    ("both marks", Said.COMPLETED, [MORE, DONE], WENT_WELL, FINISHED, False),
    ("both marks, exit 1", Said.COMPLETED, [DONE], Ending(exit_code=1), FINISHED, False),
    ("no event, exit 0", Said.NOTHING, [DONE], WENT_WELL, EndReason.HARNESS, False),
    ("event, last answer broke off", Said.COMPLETED, [DONE, BROKEN], WENT_WELL,
     EndReason.PROVIDER, True),
    ("event, last answer cut", Said.COMPLETED, [DONE, CUT], WENT_WELL, EndReason.TRUNCATED, False),
    ("event says cut", Said.CUT, [DONE], WENT_WELL, EndReason.TRUNCATED, False),
    ("event, model waits for a tool", Said.COMPLETED, [MORE], WENT_WELL, EndReason.HARNESS, False),
    ("errors only", Said.PROVIDER, [FAILED, FAILED], Ending(exit_code=1),
     EndReason.PROVIDER, True),
    ("errors, CLI says nothing", Said.NOTHING, [DONE, FAILED], WENT_WELL,
     EndReason.PROVIDER, True),
    ("unreachable", Said.FAILED, [GONE], Ending(exit_code=75), EndReason.PROVIDER, True),
    ("event says provider", Said.PROVIDER, [DONE], WENT_WELL, EndReason.PROVIDER, True),
    ("event says failed", Said.FAILED, [DONE], Ending(exit_code=1), EndReason.HARNESS, False),
    ("never asked", Said.NOTHING, [], Ending(exit_code=2), EndReason.HARNESS, True),
    ("never asked, exit 0", Said.COMPLETED, [], WENT_WELL, EndReason.HARNESS, True),
    ("gave up on silence", Said.NOTHING, [DONE, SILENT], WENT_WELL, EndReason.PROVIDER, True),
    ("killed while it waited", Said.NOTHING, [MORE, SOON], Ending(signal=signal.SIGKILL),
     EndReason.HARNESS, False),
    ("killed before any answer", Said.NOTHING, [SOON], Ending(exit_code=1),
     EndReason.HARNESS, True),
    ("gave up in an answer", Said.NOTHING, [DONE, LEFT], WENT_WELL, EndReason.HARNESS, False),
    ("nothing but given up", Said.NOTHING, [LEFT], WENT_WELL, EndReason.HARNESS, True),
    ("a sub-agent left behind", Said.COMPLETED, [DONE, LEFT], WENT_WELL, FINISHED, False),
    ("a request that was none", Said.FAILED, [DONE, BAD], WENT_WELL, EndReason.HARNESS, False),
    ("another model than was ordered", Said.PROVIDER, [MORE, OTHER], WENT_WELL,
     EndReason.HARNESS, False),
    ("it had ended before", Said.COMPLETED, [DONE, OTHER, BAD], WENT_WELL, FINISHED, False),
    ("a tool was waited for", Said.COMPLETED, [MORE, BAD], WENT_WELL, EndReason.HARNESS, False),
    ("from the first on", Said.FAILED, [BAD], WENT_WELL, EndReason.PROVIDER, True),
    ("the model that was ordered", Said.FAILED,
     [DONE, exchange(Outcome.ERROR, status=404, stop=None)], WENT_WELL, EndReason.PROVIDER, True),
    ("a file that there is not", Said.FAILED, [DONE, NO_FILE], WENT_WELL,
     EndReason.HARNESS, False),
    ("another one that had answered", Said.FAILED,
     [exchange(Outcome.COMPLETE, model="made-up"), OTHER], WENT_WELL, EndReason.PROVIDER, True),
    ("refused", Said.FAILED, [REFUSED], Ending(exit_code=1), EndReason.HARNESS, True),
    ("killed from outside", Said.NOTHING, [DONE], Ending(signal=signal.SIGTERM),
     EndReason.SIGNAL, False),
    ("crashed", Said.NOTHING, [DONE], Ending(signal=signal.SIGSEGV), EndReason.HARNESS, False),
    ("too much memory", Said.COMPLETED, [DONE], Ending(killed=True, over_memory=True),
     EndReason.HARNESS, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "exchanges", "ending", "reason", "retryable"),
    [row[1:] for row in BY_ITSELF],
    ids=[row[0] for row in BY_ITSELF],
)
def test_a_session_that_ended_by_itself(
    said: Said, exchanges: list[Exchange], ending: Ending, reason: EndReason, retryable: bool
) -> None:
    verdict = decide(facts(said, exchanges, ending))
    assert (verdict.reason, verdict.retryable) == (reason, retryable), verdict.detail
    assert verdict.detail[0].isupper(), "it is a sentence"
    assert verdict.detail.endswith("."), "to its end"
    assert ".." not in verdict.detail


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (Stop.DEADLINE, EndReason.BUDGET),
        (Stop.OPERATOR, EndReason.SIGNAL),
        (Stop.NO_REQUEST, EndReason.HARNESS),
        (Stop.FAILURES, EndReason.PROVIDER),
        (Stop.STALL, EndReason.STALLED),
    ],
)
def test_what_the_runner_did_itself_comes_first(stop: Stop, reason: EndReason) -> None:
    for said in Said:
        for last in (DONE, FAILED, CUT, LEFT):
            verdict = decide(facts(said, [last], stop=stop))
            assert verdict.reason is reason
            assert verdict.detail.startswith("The runner ended it.")


def test_a_deadline_is_the_provider_s_where_it_failed_for_long_before_it() -> None:
    def reason(exchanges: list[Exchange], elapsed: float = 100.0) -> EndReason:
        told = facts(Said.NOTHING, exchanges, stop=Stop.DEADLINE, elapsed=elapsed)
        return decide(told).reason

    failed_at = {
        at: exchange(Outcome.ERROR, status=529, stop=None, error="overloaded", at=at)
        for at in (0.0, 79.0, 81.0, 95.0)
    }
    assert reason([failed_at[0.0], failed_at[95.0]]) is EndReason.PROVIDER
    assert reason([DONE, failed_at[79.0], failed_at[95.0]]) is EndReason.PROVIDER
    assert reason([DONE, failed_at[79.0], LEFT, failed_at[95.0], LEFT]) is EndReason.PROVIDER
    assert reason([DONE, failed_at[81.0], failed_at[95.0]]) is EndReason.BUDGET
    assert reason([failed_at[0.0], DONE, failed_at[95.0]]) is EndReason.BUDGET
    assert reason([DONE, LEFT]) is EndReason.BUDGET
    verdict = decide(facts(Said.NOTHING, [failed_at[0.0]], stop=Stop.DEADLINE, elapsed=100.0))
    assert verdict.retryable
    assert "the last 100 s of it had failed: status 529, overloaded" in verdict.detail


@pytest.mark.parametrize("bad", [BAD, OTHER, NO_FILE])
def test_whoever_sends_bad_requests_does_not_get_another_session_for_it(bad: Exchange) -> None:
    """An agent could, from a shell, as often as it likes."""
    at_once = decide(facts(Said.NOTHING, [MORE, *[bad] * 12], stop=Stop.FAILURES))
    assert (at_once.reason, at_once.retryable) == (EndReason.HARNESS, False)
    assert at_once.detail.startswith("The runner ended it. The last one: status 4")
    late = decide(facts(Said.NOTHING, [MORE, *[bad] * 12], stop=Stop.DEADLINE, elapsed=100.0))
    assert (late.reason, late.retryable) == (EndReason.BUDGET, False)
    never = facts(Said.NOTHING, [bad] * 12, stop=Stop.FAILURES)
    assert (decide(never).reason, decide(never).retryable) == (EndReason.PROVIDER, True)
    forgotten = decide(replace(never, answers=1))
    assert (forgotten.reason, forgotten.retryable) == (EndReason.HARNESS, False)


def test_a_refusal_after_the_deadline_is_the_budget() -> None:
    assert decide(facts(Said.FAILED, [DONE, REFUSED], late=True)).reason is EndReason.BUDGET
    assert decide(facts(Said.FAILED, [DONE, REFUSED])).reason is EndReason.HARNESS


def test_a_stall_is_tried_again_only_without_a_solution() -> None:
    assert decide(facts(Said.NOTHING, [DONE], stop=Stop.STALL)).retryable
    assert not decide(facts(Said.NOTHING, [DONE], stop=Stop.STALL, solution=True)).retryable


def test_the_provider_s_words_are_in_the_sentence_and_bounded() -> None:
    long = exchange(Outcome.ERROR, status=500, error="overloaded " * 1000)
    detail = decide(facts(Said.PROVIDER, [long])).detail
    assert "status 500, overloaded" in detail
    assert len(detail) < 500


@given(
    said=st.sampled_from(Said),
    ends=st.lists(st.tuples(st.sampled_from(Outcome), st.sampled_from(ODD_STOPS)), max_size=4),
    stop=st.sampled_from([None, *Stop]),
    code=st.sampled_from([0, 1, 75, 143]),
    late=st.booleans(),
)
def test_finished_needs_both_marks(
    said: Said, ends: list[tuple[Outcome, str | None]], stop: Stop | None, code: int, late: bool
) -> None:
    exchanges = [exchange(outcome, stop=word) for outcome, word in ends]
    told = facts(said, exchanges, Ending(exit_code=code), stop=stop, late=late)
    if decide(told).reason is not FINISHED:
        return
    answered = [
        (outcome, word)
        for outcome, word in ends
        if outcome not in (Outcome.ABANDONED, Outcome.REFUSED)
    ]
    assert stop is None
    assert said is Said.COMPLETED
    assert answered[-1][0] is Outcome.COMPLETE
    assert answered[-1][1] not in ("tool_use", "tool_calls")


@given(
    said=st.sampled_from(Said),
    outcome=st.sampled_from(Outcome),
    codes=st.lists(st.integers(0, 255), min_size=2, max_size=2),
)
def test_exit_codes_decide_nothing(said: Said, outcome: Outcome, codes: list[int]) -> None:
    first, second = (
        decide(facts(said, [exchange(outcome)], Ending(exit_code=code))) for code in codes
    )
    assert first.reason is second.reason


def waiting(at: float, seconds: float, silent: float, first_byte: float | None = 0.1) -> Exchange:
    """An answer that was under way when the session ended."""
    return exchange(
        Outcome.ABANDONED, stop=None, first_byte=first_byte, at=at, seconds=seconds, silent=silent
    )


@pytest.mark.parametrize(
    ("exchanges", "told"),
    [
        ([MORE, waiting(20, 80.5, 78)], "of which nothing but keep-alives had come for 78 s."),
        ([MORE, waiting(60, 40.5, 40.5, None)], "of which nothing had come for 40 s."),
        ([MORE, waiting(20, 80.5, 5)], None),
        ([waiting(20, 80.5, 78), exchange(Outcome.COMPLETE, at=97)], None),
        ([MORE, waiting(20, 30, 30)], None),
        ([MORE], None),
    ],
    ids=["keep-alives", "no byte", "it writes", "another answers", "given up before", "a tool"],
)
def test_a_budget_that_was_spent_on_waiting_says_so(
    exchanges: Sequence[Exchange], told: str | None
) -> None:
    verdict = decide(facts(Said.NOTHING, exchanges, stop=Stop.DEADLINE, elapsed=100))
    assert verdict.reason is EndReason.BUDGET, "nobody knows whether the model thought all the time"
    assert verdict.detail.endswith(told or "The runner ended it.")


def test_requests_that_failed_in_a_row_tell_how_the_last_one_did() -> None:
    verdict = decide(facts(Said.NOTHING, [FAILED, GONE], stop=Stop.FAILURES))
    assert verdict.detail.endswith(" The last one: unreachable, connection refused.")


@pytest.mark.parametrize("stop", [None, Stop.FAILURES])
@pytest.mark.parametrize(("count", "status", "told"), [
    (200, 429, True), (200, 529, True), (200, 500, False), (30, 429, False),
])  # fmt: skip
def test_a_flood_before_there_were_too_many_requests_is_told(
    stop: Stop | None, count: int, status: int, told: bool
) -> None:
    """A person can see then that it was the session's own."""
    early = [exchange(Outcome.COMPLETE, at=0.0)] * 100
    asked = [exchange(Outcome.COMPLETE, at=100.0 + 50 * one / count) for one in range(count)]
    last = exchange(Outcome.ERROR, status=status, stop=None, error="slow down", at=151.0)
    verdict = decide(facts(Said.NOTHING, [*early, *asked, last], stop=stop))
    assert verdict.reason is EndReason.PROVIDER
    said = f" In the minute before, models were asked {count + 1} times."
    assert verdict.detail.endswith(said) is told


@pytest.mark.parametrize("stop", [None, Stop.NO_REQUEST])
def test_a_cli_that_asked_no_model_is_quoted(stop: Stop | None) -> None:
    told = replace(facts(Said.NOTHING, [], stop=stop), last_words="Error: Cannot find module 'x'")
    verdict = decide(told)
    assert (verdict.reason, verdict.retryable) == (EndReason.HARNESS, True)
    assert verdict.detail.endswith(" It wrote last: Error: Cannot find module 'x'")


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (b"at x.js:2\nError: no\n    at f (x.js:2)\n\nNode.js v22.23.3\n", "Error: no"),
        (b"Traceback (most recent call last):\nModuleNotFoundError: y\n", "ModuleNotFoundError: y"),
        (b"starting\n\x1b[31mout of luck\x1b[0m\n\n", "out of luck"),
        (b"\xff\x07\n", "\ufffd\\x07"),
        (b"x" * 99_999, "x" * 200 + "\u2026"),
        (b"", ""),
    ],
)
def test_the_last_words_of_a_cli_are_its_error(log: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "stderr.log").write_bytes(log)
    assert last_words(tmp_path / "stderr.log") == told
    assert last_words(tmp_path / "none.log") == ""
