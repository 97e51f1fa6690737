"""What a run cost by the table of prices: exact, by kind, and nothing where nobody knows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.model.price import (
    MILLION,
    Cost,
    Estimate,
    Price,
    PriceTable,
    TokenKind,
    cost,
    estimate,
)
from kbsite.model.run import Run
from kbsite.model.usage import Usage
from tests.conftest import RUN

DAY = date(2026, 3, 1)
COUNTS = st.none() | st.integers(0, 10**12)


def price(*models: str, since: date | None = None, **amounts: str) -> Price:
    held = {"input": "3", "output": "15", **amounts}
    return Price(
        models=models or ("m",),
        since=since,
        source="https://prices.example/",
        looked_up=DAY,
        **{name: Decimal(amount) for name, amount in held.items()},  # type: ignore[arg-type]
    )


def run(**fields: Any) -> Run:
    known = {"id": "r", "board": "b", "started": "2026-03-02T00:00:00Z", "ended": None}
    return msgspec.convert({**RUN, **known, "model": "m", **fields}, Run)


def guess(usage: Usage, of: Price) -> Estimate:
    found = estimate(usage, "m", DAY, PriceTable(prices=(of,)))
    assert found is not None
    return found


def test_each_kind_has_its_price_and_the_sum_is_exact() -> None:
    usage = Usage(input=7, cache_read=1_000_001, cache_write=13, output=99)
    found = guess(usage, price(cache_read="0.3", cache_write="3.75"))

    assert [(part.kind, part.tokens, part.usd) for part in found.parts] == [
        (TokenKind.INPUT, 7, Decimal("0.000021")),
        (TokenKind.CACHE_READ, 1_000_001, Decimal("0.3000003")),
        (TokenKind.CACHE_WRITE, 13, Decimal("0.00004875")),
        (TokenKind.OUTPUT, 99, Decimal("0.001485")),
    ]
    assert found.usd == Decimal("0.30155505")
    assert not found.lower_bound


def test_reasoning_is_a_part_of_what_came_out_and_costs_nothing_more() -> None:
    plain, thinking = Usage(input=1, output=50), Usage(input=1, output=50, reasoning=40)

    assert guess(plain, price()).usd == guess(thinking, price()).usd


def test_a_kind_without_a_price_makes_it_a_lower_bound_unless_there_are_none() -> None:
    none, some = Usage(input=1, cache_write=0, output=1), Usage(input=1, cache_write=5, output=1)

    assert not guess(none, price()).lower_bound
    assert guess(some, price()).lower_bound
    assert guess(some, price()).usd == Decimal("0.000018")
    assert guess(some, price()).parts[1].usd is None


def test_what_is_kept_for_an_hour_is_a_part_of_what_was_written() -> None:
    of = price(cache_write="5", cache_write_1h="8")
    usage = Usage(input=0, cache_write=2 * MILLION, cache_write_1h=MILLION, output=0)

    assert guess(usage, of).usd == Decimal(13)
    assert guess(usage, price(cache_write="5")).usd == Decimal(5)
    assert guess(usage, price(cache_write="5")).lower_bound
    more = Usage(input=0, cache_write=MILLION, cache_write_1h=2 * MILLION, output=0)
    assert guess(more, of).usd == Decimal(8)


def test_where_nobody_says_how_long_a_cache_is_kept_an_hour_is_told_beside_it() -> None:
    usage = Usage(input=0, cache_write=2 * MILLION, output=0)
    both = price(cache_write="5", cache_write_1h="8")

    assert (guess(usage, both).usd, guess(usage, both).usd_1h) == (Decimal(10), Decimal(16))
    told = Usage(input=0, cache_write=2 * MILLION, cache_write_1h=0, output=0)
    assert (guess(told, both).usd, guess(told, both).usd_1h) == (Decimal(10), None)
    assert guess(Usage(input=1, output=1), both).usd_1h is None
    assert guess(usage, price(cache_write="5")).usd_1h is None


@pytest.mark.parametrize("usage", [Usage(), Usage(input=5), Usage(output=5), Usage(reasoning=1)])
def test_without_counts_of_both_directions_there_is_no_estimate(usage: Usage) -> None:
    assert estimate(usage, "m", DAY, PriceTable(prices=(price(),))) is None


def test_a_model_that_nobody_prices_has_no_estimate() -> None:
    table = PriceTable(prices=(price("m"), price("n-*")))

    assert estimate(Usage(input=1, output=1), "other", DAY, table) is None
    assert table.price("n", DAY) is None
    assert table.price("", DAY) is None


def test_the_whole_name_is_closer_than_a_beginning_and_a_long_one_than_a_short_one() -> None:
    short, long, whole = price("m-4-*"), price("m-4-5-*"), price("m-4-5-x")
    table = PriceTable(prices=(whole, short, long))

    assert table.price("m-4-0", DAY) is short
    assert table.price("m-4-5-2025", DAY) is long
    assert table.price("m-4-5-x", DAY) is whole
    assert table.price("m-4", DAY) is None


def test_a_price_holds_from_its_day_until_the_next_one() -> None:
    first, second = price(since=date(2026, 1, 1)), price(since=date(2026, 6, 1))
    table = PriceTable(prices=(second, first))

    assert table.price("m", date(2025, 12, 31)) is None
    assert table.price("m", date(2026, 1, 1)) is first
    assert table.price("m", date(2026, 5, 31)) is first
    assert table.price("m", date(2026, 6, 1)) is second
    assert table.price("m", None) is second


@pytest.mark.parametrize(
    ("usage", "told", "remark"),
    [({"input": 1, "output": 1}, None, "estimate"), ({"input": 1, "output": 1}, 2.0, ""),
     ({"input": 1, "cache_read": 5, "output": 1}, None, "estimate, at least"),
     ({"input": 1, "cache_read": 5, "output": 1}, 2.0, "")],
)  # fmt: skip
def test_an_estimate_says_so_and_whether_it_lacks_the_price_of_some_tokens(
    usage: dict[str, int], told: float | None, remark: str
) -> None:
    assert cost(run(usage=usage, cost_usd=told), PriceTable(prices=(price(),))).remark == remark


@pytest.mark.parametrize(
    ("started", "usd"),
    [("2026-03-31T23:59:59Z", 3.0), ("2026-03-31T22:00:00-05:00", 4.0),
     ("2026-04-01T08:00:00+09:00", 3.0), ("9999-12-31T23:00:00-05:00", 4.0)],
)  # fmt: skip
def test_a_run_is_priced_by_its_day_in_utc(started: str, usd: float) -> None:
    table = PriceTable(prices=(price(), price(since=date(2026, 4, 1), input="4")))
    held = run(started=started, usage={"input": MILLION, "output": 0})

    assert cost(held, table).usd == usd


def test_a_price_without_a_first_day_holds_until_one_with() -> None:
    always, later = price(), price(since=date(2026, 6, 1))
    table = PriceTable(prices=(always, later))

    assert table.price("m", date(2020, 1, 1)) is always
    assert table.price("m", date(2026, 7, 1)) is later
    assert (always.dated, later.dated) == (DAY, date(2026, 6, 1))


def test_the_figure_of_the_cli_stands_first() -> None:
    table = PriceTable(prices=(price(),))
    told = cost(run(cost_usd=0.25, usage={"input": 100_000, "output": 0}), table)
    guessed = cost(run(usage={"input": 100_000, "output": 0}), table)

    assert (told.usd, told.estimated, told.difference) == (0.25, False, Decimal("0.05"))
    assert (guessed.usd, guessed.estimated, guessed.difference) == (0.3, True, None)
    assert cost(run(model="other"), table) == Cost(None, None)
    assert cost(run(model="other", cost_usd=0.25), table).difference is None
    assert Cost(None, None).usd is None
    assert not Cost(None, None).estimated


def test_a_figure_of_nothing_is_a_figure() -> None:
    assert cost(run(cost_usd=0.0), PriceTable(prices=(price(),))).usd == 0


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_every_estimate_is_the_sum_of_its_parts_to_the_last_digit(
    new: int | None, read: int | None, written: int | None, kept: int | None, out: int | None
) -> None:
    hour = None if kept is None or written is None else min(kept, written)
    usage = Usage(input=new, cache_read=read, cache_write=written, cache_write_1h=hour, output=out)
    of = price(cache_read="0.075", cache_write="3.125", cache_write_1h="6.25")
    found = estimate(usage, "m", DAY, PriceTable(prices=(of,)))
    if found is None:
        assert out is None or usage.sent is None
        return
    # Thousandths of a dollar per million tokens are whole numbers: no rounding can hide.
    whole = 3000 * (new or 0) + 75 * (read or 0) + 3125 * (written or 0) + 15000 * (out or 0)
    whole += (6250 - 3125) * (hour or 0)

    assert found.usd * 1000 * MILLION == whole
