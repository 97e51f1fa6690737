from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kbsite.model.audit import Earlier, Verdict
from kbsite.model.grade import Clocks, Commitment, Isolation, Outcome, OutputError, Proof
from kbsite.model.run import Run
from kbsite.model.status import EndReason, Status
from kbsite.store.schema import SCHEMAS, attribute_docs, schema
from tests.conftest import MakeRun

DIALECT = jsonschema.Draft202012Validator


def valid(name: str, data: object) -> bool:
    return bool(DIALECT(schema(name)).is_valid(data))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_schema(name: str) -> None:
    DIALECT.check_schema(schema(name))
    assert json.loads(json.dumps(schema(name))) == schema(name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_asks_for_no_format_that_json_schema_does_not_have(name: str) -> None:
    """Validators that are strict, as Ajv is, refused the schema of site.json for "decimal"."""
    held = re.findall(r'"format": "([^"]*)"', json.dumps(schema(name)))
    assert set(held) <= set(DIALECT.FORMAT_CHECKER.checkers) | {"date-time"}


@pytest.mark.parametrize(
    ("amount", "fits"), [("3", True), ("0.075", True), ("1E-7", True), ("a few", False)]
)
def test_amounts_in_dollars_are_texts_of_digits(amount: str, *, fits: bool) -> None:
    amounts = schema("site")["$defs"]["Price"]["properties"]["input"]
    assert DIALECT(amounts).is_valid(amount) is fits


def test_a_run_that_the_store_wrote_fits(tmp_path: Path, make_run: MakeRun) -> None:
    quote = {"file": "solution.py", "lines": [1, 2], "text": "x"}
    folder = make_run(tmp_path / "demo", audit={"quotes": [quote]}, host={"gpu": "A"})
    for name in ("run", "metrics"):
        assert valid(name, json.loads((folder / f"{name}.json").read_text())), name
    assert valid("audit", yaml.safe_load((folder / "audit.yaml").read_text()))


SPOILT: list[tuple[str, dict[str, Any]]] = [
    ("run", {"format": 2}),
    ("run", {"id": 7}),
    ("run", {"end_reason": "bored"}),
    ("run", {"started": 7}),
    ("run", {"usage": {"input": "many"}}),
    ("metrics", {"status": "superb"}),
    ("metrics", {"interval": [1]}),
    ("metrics", {"shapes": [{}]}),
]


@pytest.mark.parametrize(("name", "change"), SPOILT)
def test_a_spoilt_record_does_not_fit(
    tmp_path: Path, make_run: MakeRun, name: str, change: dict[str, Any]
) -> None:
    folder = make_run(tmp_path / "demo")
    record = json.loads((folder / f"{name}.json").read_text())
    assert valid(name, record)
    assert not valid(name, {**record, **change})


def test_every_key_that_must_be_there_is_required(tmp_path: Path, make_run: MakeRun) -> None:
    record = json.loads((make_run(tmp_path / "demo") / "run.json").read_text())
    for key in schema("run")["required"]:
        assert not valid("run", {k: v for k, v in record.items() if k != key}), key
    assert {"usage", "host", "cost_usd"}.isdisjoint(schema("run")["required"])


def test_keys_that_nobody_knows_are_welcome(tmp_path: Path, make_run: MakeRun) -> None:
    record = json.loads((make_run(tmp_path / "demo") / "run.json").read_text())
    assert valid("run", {**record, "mood": "fine"})


@pytest.mark.parametrize(
    ("name", "kind"), [("run", EndReason), ("metrics", Status), ("audit", Verdict)]
)
def test_each_word_of_a_closed_set_is_listed(name: str, kind: type[Enum]) -> None:
    part = schema(name)["$defs"][kind.__name__]
    assert sorted(part["enum"]) == sorted(member.value for member in kind)


def test_descriptions_are_the_attribute_docstrings() -> None:
    docs = attribute_docs(Run)
    properties = schema("run")["properties"]
    assert docs["environment"] == "Names, never values, of the environment variables passed."
    assert {k: v["description"] for k, v in properties.items() if "description" in v} == docs
    assert list(properties) != []
    assert set(properties) == {field.name for field in fields(Run)}
    usage = schema("run")["$defs"]["Usage"]["properties"]
    assert usage["reasoning"]["description"] == "The part of `output` that was reasoning."


@pytest.mark.parametrize("name", SCHEMAS)
def test_descriptions_are_the_same_whatever_a_python_leaves_of_indentation(name: str) -> None:
    described = [part.get("description", "") for part in schema(name)["$defs"].values()]

    assert all(text == inspect.cleandoc(text) for text in described)


def test_a_description_of_several_lines_begins_each_at_the_left() -> None:
    assert "\n\nThe kinds do not overlap" in schema("run")["$defs"]["Usage"]["description"]


def test_earlier_verdicts_are_described_too() -> None:
    parts = schema("audit")["$defs"]
    assert parts["Earlier"]["properties"]["why"]["description"] == attribute_docs(Earlier)["why"]
    assert "replaced" in parts["Earlier"]["required"]
    assert "event" in parts["Quote"]["properties"]


def test_times_have_a_zone() -> None:
    for name, key in (("run", "started"), ("run", "ended"), ("metrics", "graded")):
        options = schema(name)["properties"][key]["anyOf"]
        assert {"type": "string", "format": "date-time"} in options


def test_a_line_of_samples_fits_and_a_spoilt_one_does_not() -> None:
    line = {"round": 1, "shape": "n=8", "ms": [0.5, 1]}

    assert valid("samples", line)
    assert not valid("samples", {**line, "ms": ["fast"]})
    assert not valid("samples", {"round": 1, "shape": "n=8"})


def test_every_part_of_a_grade_is_described() -> None:
    parts = schema("metrics")["$defs"]
    for kind in (Clocks, Commitment, Isolation, OutputError, Proof):
        told = parts[kind.__name__]["properties"]
        docs = attribute_docs(kind)
        assert docs, kind
        assert {k: v["description"] for k, v in told.items() if "description" in v} == docs
    assert sorted(parts["Outcome"]["enum"]) == sorted(one.value for one in Outcome)
    clocks = {"event_ms": 1, "wall_ms": 1, "slope_ms": 1, "overhead_ms": 0}
    graded = {"format": 1, "status": "passed", "outcome": "PASS"}
    assert valid("metrics", {**graded, "shapes": [{"shape": "s", "clocks": clocks}]})
    assert not valid("metrics", {**graded, "shapes": [{"shape": "s", "clocks": {"event_ms": 1}}]})
    assert not valid("metrics", {**graded, "outcome": "SPLENDID"})
