"""prices.yaml is read strictly: what is wrong is named with file, line and key."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kbsite.model.price import PriceTable
from kbsite.store.parsing import InvalidFileError
from kbsite.store.prices import read_prices
from kbsite.store.settings import read_own_prices, read_settings
from tests.conftest import MakeSettings

OWN = Path(__file__).parents[2] / "prices.yaml"
WHOLE = """prices:
  - models: [m-1, "m-1-*"]
    since: 2026-01-02
    input: 2.50
    cache_read: 0.1
    output: 10
    source: https://prices.example/list
    looked_up: 2026-11-21
    note: Long prompts cost more.
"""
REST = "    input: 1\n    output: 1\n    source: https://a.example/\n    looked_up: 2026-11-21\n"


def told(tmp_path: Path, text: str) -> list[tuple[int | None, str | None, str]]:
    """Line, key and message of each error in a table."""
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(InvalidFileError) as caught:
        read_prices(path)
    assert all(error.path == path for error in caught.value.errors)
    return [(error.line, error.key, error.message) for error in caught.value.errors]


def test_amounts_are_the_digits_that_stand_there(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(WHOLE)
    [price] = read_prices(path).prices

    assert (price.input, price.cache_read, price.output) == (
        Decimal("2.5"), Decimal("0.1"), Decimal(10)
    )  # fmt: skip
    assert (price.cache_write, price.cache_write_1h) == (None, None)
    assert (price.since, price.looked_up) == (date(2026, 1, 2), date(2026, 11, 21))
    assert price.models == ("m-1", "m-1-*")


@pytest.mark.parametrize(
    ("before", "after", "line", "key", "message"),
    [
        ("cache_read", "cache_reed", 5, "prices[0].cache_reed", "is not a key of a price"),
        ("input: 2.50", "input: -1", 4, "prices[0].input", "expected US dollars, 0 or more"),
        ("input: 2.50", "input: much", 4, "prices[0].input", "expected a number"),
        ("input: 2.50", "input: .nan", 4, "prices[0].input", "expected a number"),
        ("    output: 10\n", "", 2, "prices[0].output", "missing; expected a number"),
        ("2026-01-02", "2026-13-02", 3, "prices[0].since", "expected a date (YYYY-MM-DD)"),
        ("https:", "http:", 7, "prices[0].source", "starts with https://"),
        ("https://prices.example/list", "https:///x", 7, "prices[0].source", "public address"),
        ('[m-1, "m-1-*"]', "[]", 2, "prices[0].models", "names no model"),
        ('"m-1-*"', '"m-*-1"', 2, "prices[0].models[1]", "or its beginning and a star"),
        ('"m-1-*"', '"*"', 2, "prices[0].models[1]", "or its beginning and a star"),
        ('"m-1-*"', "m-1", 2, "prices[0].models[1]", "m-1 has a price since 2026-01-02 already"),
    ],
)
def test_a_slip_is_named(
    tmp_path: Path, before: str, after: str, line: int, key: str, message: str
) -> None:
    assert WHOLE.count(before) == 1
    [(at, named, said)] = told(tmp_path, WHOLE.replace(before, after))

    assert (at, named) == (line, key)
    assert message in said


def test_everything_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    text = f"{WHOLE}  - models: [m-1]\n    since: 2026-01-02\n    cach: 1\n{REST}"

    assert [(line, key) for line, key, _ in told(tmp_path, text)] == [
        (12, "prices[1].cach"),
        (10, "prices[1].models[0]"),
    ]


def test_the_same_model_may_have_a_later_price(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(f"{WHOLE}  - models: [m-1]\n    since: 2026-03-02\n{REST}")

    assert len(read_prices(path).prices) == 2


@pytest.mark.parametrize("text", ["", "- 1\n", "prices: 1\n", "prices: [1]\n", "prices: {a: 1}\n"])
def test_what_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text)


def test_kbsite_yaml_may_name_another_file(tmp_path: Path, make_settings: MakeSettings) -> None:
    assert make_settings(tmp_path).prices.prices == ()
    (tmp_path / "prices.yaml").write_text(WHOLE)
    assert len(read_settings(tmp_path / "kbsite.yaml").prices.prices) == 1
    (tmp_path / "own.yaml").write_text("prices: []\n")
    assert make_settings(tmp_path, site={"prices": "own.yaml"}).prices.prices == ()
    with pytest.raises(InvalidFileError, match="no such file"):
        make_settings(tmp_path, site={"prices": "gone.yaml"})


def test_the_own_table_says_of_every_figure_where_it_was_read() -> None:
    table = read_prices(OWN)
    assert len(table.prices) > 20
    for price in table.prices:
        assert urlsplit(price.source).path not in ("", "/"), price.models
        assert price.since is None or price.since <= price.looked_up
        # What comes out costs more than what goes in, and a cache costs less: else a slip.
        assert price.output > price.input > (price.cache_read or 0)
        if price.cache_write is not None:
            assert price.input < price.cache_write < (price.cache_write_1h or price.output)


def test_the_own_table_knows_models_as_clis_write_them() -> None:
    table = read_prices(OWN)
    for name in ("claude-opus-4-5-20251101", "claude-opus-5", "gpt-5.5", "zai/glm-5.1"):
        assert table.price(name, date(2026, 10, 20)), name
    for name in ("scripted", "opus", "gpt-5.55", "claude-opus-4-55"):
        assert table.price(name, date(2026, 10, 20)) is None, name
    later = table.price("claude-sonnet-5-5", date(2026, 10, 7))
    earlier = table.price("claude-sonnet-5-5", date(2026, 10, 6))
    assert later
    assert earlier
    assert (earlier.cache_read, later.cache_read) == (Decimal("0.2"), Decimal("0.1"))


def test_the_prices_of_a_site_are_read_without_all_else(tmp_path: Path) -> None:
    settings = tmp_path / "kbsite.yaml"
    settings.write_text("title: A\n")
    assert read_own_prices(settings) == PriceTable()
    (tmp_path / "prices.yaml").write_text(WHOLE)
    (tmp_path / "bench" / "hardware").mkdir(parents=True)
    (tmp_path / "bench" / "hardware" / "broken.yaml").write_text("nothing: of use\n")
    assert read_own_prices(settings) == read_prices(tmp_path / "prices.yaml")
    settings.write_text("title: A\nprices: none.yaml\n")
    with pytest.raises(InvalidFileError, match=r"none\.yaml"):
        read_own_prices(settings)


def test_the_prices_of_this_site_are_those_of_its_settings() -> None:
    settings = OWN.with_name("kbsite.yaml")
    assert read_own_prices(settings) == read_settings(settings).prices
