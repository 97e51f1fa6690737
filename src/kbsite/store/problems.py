"""Problems: the folders under problems/."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kbsite.model.problem import Problem
from kbsite.store.files import Stored, contents, folder_digest
from kbsite.store.parsing import invalid
from kbsite.store.records import yaml_record

PROBLEM = "problem.yaml"
PROMPT = "prompt.md"
REFERENCE = "reference.py"
LONGEST = 1_000_000
"""Bytes that a statement or a reference has at most."""
LARGEST = 1_000_000_000
"""Bytes that a file of a problem has at most: also a sparse one of more is read to its end."""


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
    """The problem in a folder.

    InvalidFileError names all that is wrong with problem.yaml, a text that is too long to show, or
    a file that nobody has the time to read: what lies there is hashed as a whole.
    """
    large = too_large(folder)
    if large:
        message = f"{large.size} bytes; expected at most {LARGEST} in a file of a problem"
        raise invalid(message, folder / large.name)
    return StoredProblem(
        id=folder.name,
        problem=yaml_record(folder / PROBLEM, Problem),
        hash=folder_digest(folder),
        prompt=_optional(folder / PROMPT),
        reference=_optional(folder / REFERENCE),
    )


def too_large(folder: Path) -> Stored | None:
    """A file of a problem that nobody has the time to read; None if there is none."""
    return next((file for file in contents(folder)[0] if file.size > LARGEST), None)


def _optional(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as stream:
        data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise invalid(f"too large; expected at most {LONGEST} bytes", path)
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
