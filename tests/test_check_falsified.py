"""Each number of a real grade is falsified: what `kbsite check` cannot find is listed here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.store.settings import read_settings

ROOT = Path(__file__).parents[1]
RUN = ROOT / "runs/kernels/20261127_013107_codex_scripted_vector_add"

UNKNOWN = (
    r"shapes\.\d+\.dropped",  # bounded by the calls that were timed, and no more
    r"shapes\.\d+\.errors\..*",  # outputs are gone
    r"shapes\.\d+\.clocks\.host_ms",  # not among the samples; it can only excuse a slow clock
    r"anchors\.(?!triad).*",  # but the fastest bandwidth, which binds this problem
    r"calls_per_round",  # bounded by the calls that were made
    r"stages\..*",  # how long the grading took
)
"""Numbers of a grade that follow from nothing else that is kept."""


def numbers(held: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """The numbers in JSON data with the keys that lead there."""
    if isinstance(held, dict | list):
        for key, value in held.items() if isinstance(held, dict) else enumerate(held):
            yield from numbers(value, *path, key)
    elif isinstance(held, int | float) and not isinstance(held, bool):
        yield path, held


def changed(grade: Any, path: tuple[str | int, ...], value: float) -> Any:
    """A grade with another number at one place."""
    copy = deepcopy(grade)
    held = copy
    for step in path[:-1]:
        held = held[step]
    held[path[-1]] = value
    return copy


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / RUN.parent.name / RUN.name))


def test_a_number_of_a_grade_that_was_changed_by_a_hundredth_is_found(run: Path) -> None:
    settings = read_settings(ROOT / "kbsite.yaml")
    file = run / "metrics.json"
    true = json.loads(file.read_text())

    def said(grade: Any) -> set[str]:
        file.write_text(json.dumps(grade))
        found = check([run], settings)
        return {one.text for one in found if not one.message.startswith("changed after the run")}

    assert said(true) == set()
    passed = {
        ".".join(map(str, path))
        for path, value in numbers(true)
        if path[0] != "shapes" or path[1] == 0  # of each shape alike
        for other in ((value + 1, value - 1) if isinstance(value, int) else (value * 1.01,))
        if not said(changed(true, path, other))
    }
    assert {name for name in passed if not re.fullmatch("|".join(UNKNOWN), name)} == set()
    assert [one for one in UNKNOWN if not any(re.fullmatch(one, name) for name in passed)] == []
