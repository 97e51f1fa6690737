"""Ids: what may stand in an address, and what a run is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kbsite.model.slugs import id_of_run, is_slug, slug

HERE = timezone(timedelta(hours=5))


@pytest.mark.parametrize(
    ("started", "stamp"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 999, tzinfo=UTC), "20260102_030405"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=HERE), "20260101_220405"),
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))), "99991231_235959"),
        (None, "00000000_000000"),
    ],
)
def test_a_run_is_called_by_its_second_in_utc(started: datetime | None, stamp: str) -> None:
    assert id_of_run(started, "kimi_cli", "lab/Opus X", "add") == f"{stamp}_kimi-cli_lab-opus-x_add"


def test_no_id_ends_as_the_folder_of_a_run_that_is_still_written() -> None:
    """Each run of such a problem was left alone as one that is not complete."""
    assert not is_slug("sum.partial")
    assert is_slug("sum.partial-2")
    assert slug("Sum.PARTIAL") == "sum-partial"
    assert slug("x" * 52 + ".partial.more") == "x" * 52 + "-partial"
