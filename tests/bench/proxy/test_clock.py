"""The budget of a run, and the time of day in it, whoever sets the machine's clock meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bench.proxy import clock
from bench.proxy.clock import Clock, time_of_day


class Set:
    """A machine's clock that somebody set."""

    by = timedelta()

    @classmethod
    def now(cls, zone: object) -> datetime:
        assert zone is UTC
        return datetime.now(UTC) + cls.by


@pytest.mark.parametrize("hours", [-7, 7])
def test_a_clock_that_is_set_changes_no_time_of_a_run(
    hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = time_of_day()
    monkeypatch.setattr(clock, "datetime", Set)
    monkeypatch.setattr(Set, "by", timedelta(hours=hours))
    budget = Clock(60.0)
    budget.start()
    after = time_of_day()

    assert budget.started is not None
    assert before <= budget.started <= after <= before + timedelta(seconds=60)
    assert abs(before - datetime.now(UTC)) < timedelta(seconds=60)
