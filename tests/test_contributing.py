"""What newcomers are told of the code is true: layers, packages, and where things are added."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kbsite import alarms, harnesses
from kbsite.alarms.kinds import KINDS
from kbsite.model.audit import Verdict
from kbsite.model.config import Leak
from kbsite.store.schema import attribute_docs

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def contract(name: str) -> dict[str, Any]:
    """What imports are held to."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (held,) = [one for one in settings["tool"]["importlinter"]["contracts"] if one["name"] == name]
    return dict(held)


def test_the_line_of_layers_is_the_one_that_imports_are_held_to() -> None:
    layers = contract("imports go one way")["layers"]

    assert " > ".join(layers).replace("kbsite.", "") in TEXT.splitlines()


def test_every_package_has_its_layer() -> None:
    layers = " | ".join(contract("imports go one way")["layers"]).split(" | ")
    packages = {
        path.stem for path in (ROOT / "src" / "kbsite").iterdir() if not path.stem.startswith("__")
    }

    assert {name.removeprefix("kbsite.") for name in layers} == packages


def test_no_parser_of_a_harness_is_left_out_where_newcomers_look_for_it() -> None:
    apart = contract("parsers know nothing of each other")["modules"]
    table = README.partition("| harness | formats read")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row[:40])}

    assert {name.rpartition(".")[2] for name in apart} == set(harnesses.NAMES)
    assert set(harnesses.NAMES) - {"kimi"} <= told


def test_every_module_in_the_table_of_packages_is_there() -> None:
    table = TEXT.partition("| package | what it does |")[2].partition("\n\n")[0]
    named = [name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in row.split(", ")]
    known = {path.stem for path in (ROOT / "src" / "kbsite").iterdir()}

    assert len(named) > 20
    assert [name for name in named if name.strip("`") not in known] == []


def test_the_table_of_bench_has_each_of_its_packages_and_no_other() -> None:
    table = TEXT.rpartition("| package | what it does |")[2].partition("\n\n")[0]
    named = [name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in row.split(", ")]
    held = {
        path.stem
        for path in (ROOT / "bench").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[:2] != "__"
    }

    assert sorted(name.strip("`").removeprefix("bench.") for name in named) == sorted(held)


@pytest.mark.parametrize(
    "path", ["alarms/__init__.py", "alarms/kinds.py", "model/status.py", "model/audit.py"]
)
def test_the_files_in_which_something_is_added_are_there(path: str) -> None:
    assert f"`{path}`" in TEXT
    assert (ROOT / "src" / "kbsite" / path).is_file()


def test_the_lists_that_things_are_added_to_are_called_that() -> None:
    for name in ("DETECTORS", "COMPARISONS", "Detector", "Comparison"):
        assert name in TEXT
        assert hasattr(alarms, name)
    assert "KINDS" in TEXT
    assert len({kind.id for kind in KINDS}) == len(KINDS)


def test_the_leak_in_the_readme_has_the_keys_of_a_leak() -> None:
    block = README.partition("leaks:\n")[2].partition("```")[0]

    assert set(re.findall(r"^ +(?:- )?(\w+):", block, re.M)) == set(attribute_docs(Leak)) | {
        "id", "title"
    }  # fmt: skip


def test_the_audit_in_the_readme_names_all_verdicts() -> None:
    (told,) = re.findall(r"^verdict: \w+ +# (.*)$", README, re.M)

    assert told.split(", ") == [verdict.value for verdict in Verdict]
