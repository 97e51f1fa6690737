"""Sources as tokens, whatever their quotes."""

from __future__ import annotations

import pytest

from kbsite.alarms.across.tokens import tokens


@pytest.mark.parametrize("native", [False, True])
def test_quotes_that_nothing_closes_are_read_in_proportion_to_them(native: bool) -> None:
    # Looking for the end of each of them anew takes an hour here.
    assert len(list(tokens("x = " + '\\"' * 500_000, native=native))) < 10
