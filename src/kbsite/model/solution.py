"""The files of a run that are its solution, and what they are known by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

SOLUTION = "solution.py"

SIDECARS = "files/"
"""Folder of a run with what lay beside its solution.py."""

LONGEST = 2_000_000
"""Bytes of a file of a solution from which it is only named."""

COLOURED = 300_000
"""Characters of one from which it has no colours."""


def is_text(data: bytes) -> bool:
    """Whether a file of a solution may be shown as text.

    A few NUL bytes stand in texts by mistake, or to hide something; machine code is full of them.
    """
    return data.count(b"\0") * 20 <= len(data)


def solution_names(names: Iterable[str]) -> dict[str, str]:
    """By what path a solution knows its files, by their names in the run.

    Sidecars lie beside it; one that has the name of solution.py itself is none.
    """
    found = {
        name: name.removeprefix(SIDECARS)
        for name in names
        if name == SOLUTION or name.startswith(SIDECARS)
    }
    if SOLUTION in found:
        found.pop(f"{SIDECARS}{SOLUTION}", None)
    return found


def solution_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents of all files, by the paths that the solution knows."""
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{len(name.encode())}:{name}{len(content)}:".encode())
        found.update(content)
    return found.hexdigest()
