"""A harness is loaded when a run of it is read, and is known by one name everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kbsite import harnesses

LOADED = """
import sys
import kbsite.build
from kbsite import harnesses
names = [name.split(".")[2] for name in sys.modules if name.startswith("kbsite.harnesses.")]
print(sorted(set(names) & set(harnesses.NAMES)))
print(harnesses.harness("kimi").title, harnesses.module_of("nobody"), harnesses.module_of("rows"))
names = [name.split(".")[2] for name in sys.modules if name.startswith("kbsite.harnesses.")]
print(sorted(set(names) & set(harnesses.NAMES)))
print(harnesses.module_of("kimi-code").FORMATS[0].id)
print(harnesses.module_of("pi") is harnesses.BY_ID["pi"] is harnesses.module_of("pi"))
"""


def test_the_names_are_the_ids_of_all_harnesses_and_of_their_modules() -> None:
    assert [module.HARNESS.id for module in harnesses.ALL] == list(harnesses.NAMES)
    assert list(harnesses.BY_ID) == [*harnesses.NAMES, *harnesses.APART]
    for name in harnesses.BY_ID:
        assert harnesses.module_of(name) is harnesses.BY_ID[name]
        assert harnesses.BY_ID[name].HARNESS.id == name


def test_no_package_of_a_harness_is_left_out() -> None:
    """One that nobody names is read by nobody, and no other test runs over it."""
    folders = Path(harnesses.__file__).parent.glob("*/__init__.py")

    assert {one.parent.name for one in folders} == {*harnesses.NAMES, *harnesses.APART.values()}


def test_programs_told_apart_are_read_as_the_one_that_they_were_told_apart_from() -> None:
    both = {form.id for name in harnesses.APART for form in harnesses.BY_ID[name].FORMATS}

    assert both == {form.id for form in harnesses.BY_ID["kimi"].FORMATS}
    assert not set(harnesses.APART) & set(harnesses.NAMES)
    assert [harnesses.harness(name).title for name in harnesses.APART] == ["kimi-cli", "Kimi Code"]


def test_a_build_loads_no_harness_but_those_of_its_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )

    assert done.stdout.split("\n")[:-1] == [
        "[]",
        "Kimi None None",
        "['kimi']",
        "kimi-code-wire",
        "True",
    ]


def test_what_is_no_list_of_harnesses_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'NOBODY'"):
        _ = harnesses.NOBODY  # type: ignore[attr-defined]


def test_a_harness_without_a_parser_is_named_by_its_id() -> None:
    assert harnesses.harness("nobody").title == "nobody"
