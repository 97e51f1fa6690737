"""Problems: the folders under problems/."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from kbsite.errors import InputError
from kbsite.model.finding import Finding
from kbsite.model.problem import Problem
from kbsite.model.problem_files import LONGEST
from kbsite.store.files import contents, folder_digest, linked, not_read
from kbsite.store.parsing import InvalidFileError, invalid
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
    findings: tuple[Finding, ...] = ()
    """What in its folder is not read."""


def problem_folders(problems: Path) -> list[Path]:
    """The folders below `problems`, by name; no links, and none if it is not there."""
    return folders_and_links(problems)[0]


def folders_and_links(problems: Path) -> tuple[list[Path], list[Finding]]:
    """The folders below `problems`, by name, and links to some: nobody sees what changes there."""
    if not problems.is_dir():
        return [], []
    shown = sorted(path for path in problems.iterdir() if path.is_dir() and path.name[0] != ".")
    links = {path for path in shown if path.is_symlink()}
    return [path for path in shown if path not in links], [linked(p) for p in shown if p in links]


def is_problem(folder: Path) -> bool:
    """Whether a folder is, or wants to be, a problem's; nobody looks into any other."""
    return os.path.lexists(folder / PROBLEM)


def read_problem(folder: Path) -> StoredProblem:
    """The problem in a folder.

    InvalidFileError names all that is wrong with problem.yaml, a text that is too long to show, or
    a file that cannot be read or that nobody has the time to: all of them are hashed.
    """
    problem = yaml_record(folder / PROBLEM, Problem)
    held, refused = contents(folder)
    try:
        its_hash = folder_digest(folder, held)
    except InputError as error:
        raise InvalidFileError([error]) from error
    return StoredProblem(
        id=folder.name,
        problem=problem,
        hash=its_hash,
        prompt=_optional(folder / PROMPT),
        reference=_optional(folder / REFERENCE),
        findings=not_read(folder, refused),
    )


def _optional(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as stream:
        data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise invalid(f"too large; expected at most {LONGEST} bytes", path)
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
