"""Runs as a person names them to `bench`; standard library only, as grading is.

The site names them likewise: `kbsite.auditing.named`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bench.sealed import is_run
from kbsite.store.folders import PARTIAL, any_of


def meant(path: Path, runs: Path) -> Path:
    """What is named: a path that is there, else the run with that id, or that part of its id.

    A path that is nothing of these is given back as it came: whoever reads it says what it expects.
    UsageError where several runs could be meant.
    """
    name = str(path)
    if os.path.lexists(path) or path.name != name:
        return path
    there = list(_finished(runs))
    found = [one for one in there if one.name == name] or [one for one in there if name in one.name]
    if len(found) > 1:
        raise any_of(name, found)
    return found[0] if found else path


def _finished(folder: Path) -> Iterator[Path]:
    """The complete runs below a folder, by path; what cannot be listed has none."""
    try:
        with os.scandir(folder) as entries:
            held = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in sorted(held):
        if name.startswith(".") or name.endswith(PARTIAL):
            continue
        below = folder / name
        if is_run(below):
            yield below
        else:
            yield from _finished(below)
