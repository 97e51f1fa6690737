"""What newcomers are told of the code is true: layers, packages, and where things are added."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kbsite import alarms
from kbsite.alarms.kinds import KINDS
from kbsite.model.config import Leak
from kbsite.store.schema import attribute_docs

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def test_the_line_of_layers_is_the_one_that_imports_are_held_to() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [held["layers"] for held in contracts if held["name"] == "imports go one way"]

    assert " > ".join(layers).replace("kbsite.", "") in TEXT.splitlines()


def test_every_module_in_the_table_of_packages_is_there() -> None:
    table = TEXT.partition("| package | what it does |")[2].partition("\n\n")[0]
    named = [name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in row.split(", ")]
    known = {path.stem for path in (ROOT / "src" / "kbsite").iterdir()}

    assert len(named) > 20
    assert [name for name in named if name.strip("`") not in known] == []


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
