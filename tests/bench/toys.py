"""Small problems to show to the grader."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from bench.problems import GradedProblem, read_problem

TOY = Path(__file__).parent / "toy"
"""A sound problem: a product with a bias."""


def toy(folder: Path, **edits: Callable[[str], str]) -> Path:
    """A copy of the sound problem; `edits` change the text of a file, by its stem."""
    made = folder / "toy"
    shutil.copytree(TOY, made)
    for stem, edit in edits.items():
        path = next(made.glob(f"{stem}.*"))
        before = path.read_text("utf-8")
        after = edit(before)
        assert after != before, f"the edit of {path.name} changes nothing"
        path.write_text(after, "utf-8")
    return made


def with_yaml(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of it whose problem.yaml was changed as data."""

    def edit(text: str) -> str:
        data = yaml.safe_load(text)
        change(data)
        return yaml.safe_dump(data, sort_keys=False)

    return toy(folder, problem=edit)


def sound() -> GradedProblem:
    """The sound problem, read."""
    return read_problem(TOY)
