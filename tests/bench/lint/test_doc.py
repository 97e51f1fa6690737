"""The problem that is told to be copied is sound."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from bench.lint import lint_folder
from kbsite.check import check
from kbsite.model.problem import Bound, Problem, Tensor

TEXT = (Path(__file__).parents[3] / "docs" / "problems.md").read_text("utf-8")


def test_the_problem_to_copy_has_nothing_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "rowsum"
    folder.mkdir()
    for name, text in re.findall(r"^## (\w+\.\w+)\n.*?```\w+\n(.*?)```", TEXT, re.M | re.S):
        (folder / name).write_text(text)

    assert len(list(folder.iterdir())) == 4
    assert list(check([folder])) == []
    assert lint_folder(folder) == []


def test_every_key_of_a_problem_is_told() -> None:
    told = set(re.findall(r"`(\w+)`", TEXT))
    calibrated = {"honest", "cheapest", "cheat"}

    for kind in (Problem, Tensor, Bound):
        assert {field.name for field in fields(kind)} - calibrated - told == set()
