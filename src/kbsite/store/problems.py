"""Problems: the folders under problems/."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kbsite.model.problem import Problem
from kbsite.store.files import folder_digest
from kbsite.store.records import yaml_record

PROBLEM = "problem.yaml"
PROMPT = "prompt.md"
REFERENCE = "reference.py"


class StoredProblem(Struct, frozen=True, kw_only=True):
    """A problem as it lies on disk."""

    id: str
    """The folder's name."""
    problem: Problem
    hash: str
    """SHA-256 over all of its files."""
    prompt: str
    """The statement, as an agent gets it; Markdown. Empty if there is none."""
    reference: str
    """Source of the reference; empty if there is none."""


def problem_folders(problems: Path) -> list[Path]:
    """The folders below `problems`, by name; none if it is not there."""
    if not problems.is_dir():
        return []
    return sorted(path for path in problems.iterdir() if path.is_dir() and path.name[0] != ".")


def read_problem(folder: Path) -> StoredProblem:
    """The problem in a folder; InvalidFileError names all that is wrong with problem.yaml."""
    return StoredProblem(
        id=folder.name,
        problem=yaml_record(folder / PROBLEM, Problem),
        hash=folder_digest(folder),
        prompt=_optional(folder / PROMPT),
        reference=_optional(folder / REFERENCE),
    )


def _optional(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return path.read_text("utf-8", errors="replace")
