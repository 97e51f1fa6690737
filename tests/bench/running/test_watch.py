"""The runner ends a session at its deadline, and when nothing will come of it; never before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.running.ending import Stop
from bench.running.form import SessionLimits
from bench.running.watch import BUSY_SECONDS, REFUSALS, Seen, Watch

LIMITS = SessionLimits(stall_seconds=100.0, first_request_seconds=60.0, failures=3)
START = Seen(now=0.0, since_first_request=None, quiet=0.0, failures=0, log_bytes=0, processor=0.0)
WORKING = replace(START, now=10.0, since_first_request=5.0)


def stop_of(watch: Watch, seen: Seen) -> Stop | None:
    ended = watch.look(seen)
    return ended[0] if ended else None


def test_the_budget_begins_with_the_first_request() -> None:
    watch = Watch(LIMITS, 40.0)
    assert stop_of(watch, replace(START, now=50.0, quiet=50.0)) is None
    assert stop_of(watch, replace(WORKING, now=89.9, since_first_request=39.9)) is None
    assert stop_of(watch, replace(WORKING, now=90.0, since_first_request=40.0)) is Stop.DEADLINE


def test_who_asks_nothing_failed_to_start() -> None:
    watch = Watch(LIMITS, 40.0)
    assert stop_of(watch, replace(START, now=59.9)) is None
    assert stop_of(watch, replace(START, now=60.0)) is Stop.NO_REQUEST


def test_failures_in_a_row_that_last_are_the_provider_s() -> None:
    def stopped(moments: list[tuple[float, int]]) -> Stop | None:
        watch = Watch(replace(LIMITS, failing_seconds=30.0), 1000.0)
        stops = [
            stop_of(watch, replace(WORKING, now=now, failures=count)) for now, count in moments
        ]
        assert stops[:-1] == [None] * (len(stops) - 1)
        return stops[-1]

    assert stopped([(10.0, 1), (20.0, 3), (39.0, 9)]) is None
    assert stopped([(10.0, 1), (20.0, 3), (40.0, 9)]) is Stop.FAILURES
    assert stopped([(10.0, 1), (20.0, 0), (40.0, 9), (69.0, 12)]) is None
    assert stopped([(10.0, 1), (20.0, 0), (40.0, 1), (70.0, 2)]) is None
    assert stopped([(10.0, 1), (20.0, 0), (40.0, 1), (70.0, 3)]) is Stop.FAILURES


@pytest.mark.parametrize(
    ("count", "refused", "lasting", "stop"),
    [
        (REFUSALS, True, 30.0, Stop.FAILURES),
        (REFUSALS, False, 30.0, None),
        (REFUSALS - 1, True, 30.0, None),
        (REFUSALS, True, 29.0, None),
    ],
)
def test_a_refused_key_is_not_asked_with_again_and_again(
    count: int, refused: bool, lasting: float, stop: Stop | None
) -> None:
    watch = Watch(SessionLimits(), 1000.0)
    seen = replace(WORKING, failures=count, refused=refused)
    assert stop_of(watch, seen) is None
    assert stop_of(watch, replace(seen, now=WORKING.now + lasting)) is stop


def test_the_operator_s_wish_comes_before_all_else() -> None:
    late = replace(WORKING, since_first_request=5000.0, failures=9, stop=True)
    assert stop_of(Watch(LIMITS, 40.0), late) is Stop.OPERATOR


@pytest.mark.parametrize("moving", ["quiet", "log_bytes", "processor"])
def test_whatever_moves_is_no_stall(moving: str) -> None:
    watch = Watch(LIMITS, 1e6)
    for step in range(1, 400):
        told = {
            "quiet": 0.5 if moving == "quiet" else step + 10.0,
            "log_bytes": step if moving == "log_bytes" else 7,
            "processor": 0.3 * step if moving == "processor" else 0.0,
        }
        seen = replace(WORKING, now=10.0 + step, quiet=told["quiet"],
                       log_bytes=int(told["log_bytes"]), processor=told["processor"])  # fmt: skip
        assert stop_of(watch, seen) is None


def test_nothing_moving_is_a_stall_and_says_for_how_long() -> None:
    watch = Watch(LIMITS, 1e6)
    assert watch.look(replace(WORKING, log_bytes=5)) is None
    still = replace(WORKING, log_bytes=5)
    assert watch.look(replace(still, now=109.0, quiet=105.0)) is None
    ended = watch.look(replace(still, now=110.5, quiet=106.5))
    assert ended is not None
    assert ended[0] is Stop.STALL
    assert "For 100 s" in ended[1]


def test_a_spinner_is_no_work() -> None:
    watch = Watch(LIMITS, 1e6)
    stops = [
        stop_of(watch, replace(WORKING, now=10.0 + step, quiet=10.0 + step, processor=0.01 * step))
        for step in range(200)
    ]
    assert Stop.STALL in stops


def test_slow_work_on_a_processor_is_work() -> None:
    watch = Watch(LIMITS, 1e6)
    for step in range(1000):
        used = 0.05 * step  # a twentieth of a core
        seen = replace(WORKING, now=10.0 + step, quiet=10.0 + step, processor=used)
        assert stop_of(watch, seen) is None
    assert used > BUSY_SECONDS


def test_the_agent_is_warned_in_the_last_part_of_its_budget() -> None:
    watch = Watch(LIMITS, 100.0)
    assert not watch.warn(replace(START, now=5000.0))
    assert not watch.warn(replace(WORKING, since_first_request=79.0))
    assert watch.warn(replace(WORKING, since_first_request=80.0))
