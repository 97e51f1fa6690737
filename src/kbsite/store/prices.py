"""prices.yaml: what models cost, read more strictly than the rest: a slip here is a wrong sum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import fields

from kbsite.model.price import Price, PriceTable
from kbsite.store.parsing import LIMIT_YAML_BYTES, read_text, yaml_data
from kbsite.store.records import record, wrong_keys

PRICES = "prices.yaml"

_KEYS = {field.name for field in fields(Price)}
_AMOUNTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")


def read_prices(path: Path) -> PriceTable:
    """The table in a file; InvalidFileError names everything that is wrong with it."""
    text = read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff")
    data = yaml_data(path, text)
    table = record(data, PriceTable, path, text)
    wrong = [*_misspelt(data), *_impossible(table), *_said_twice(table)]
    if wrong:
        raise wrong_keys(wrong, path, text)
    return table


def _misspelt(data: object) -> Iterator[tuple[str, str]]:
    held = data.get("prices", []) if isinstance(data, dict) else []
    for number, price in enumerate(held):
        for key in sorted(set(price) - _KEYS):
            expected = ", ".join(sorted(_KEYS))
            yield f"prices[{number}].{key}", f"is not a key of a price; expected one of {expected}"


def _impossible(table: PriceTable) -> Iterator[tuple[str, str]]:
    for number, price in enumerate(table.prices):
        for name in _AMOUNTS:
            amount = getattr(price, name)
            if amount is not None and not (amount.is_finite() and amount >= 0):
                yield f"prices[{number}].{name}", f"expected US dollars, 0 or more, got {amount}"
        for at, model in enumerate(price.models):
            if not model.rstrip("*") or "*" in model[:-1]:
                expected = "expected a model's id, or its beginning and a star"
                yield f"prices[{number}].models[{at}]", f"{expected}, got {model!r}"
        if not price.models:
            yield f"prices[{number}].models", "names no model; expected ids of models"
        address = urlsplit(price.source)
        if address.scheme != "https" or not address.hostname:
            yield f"prices[{number}].source", "expected a public address that starts with https://"


def _said_twice(table: PriceTable) -> Iterator[tuple[str, str]]:
    seen = set()
    for number, price in enumerate(table.prices):
        for at, model in enumerate(price.models):
            if (model, price.since) in seen:
                message = f"{model} has a price since {price.since} already; keep one of them"
                yield f"prices[{number}].models[{at}]", message
            seen.add((model, price.since))
