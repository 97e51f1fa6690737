"""Installed CLIs as a sandbox gets them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from bench.harnesses.form import CLIS, Program
from bench.installing.lock import NODE, RIPGREP, TOOLS, Lock, Locked, read_lock
from bench.installing.stamp import Installed, folder_of, installed

_SYSTEM = Path("/usr")
"""In every sandbox."""


def programs(prefix: Path, lock: Lock | None = None) -> Mapping[str, Program]:
    """The CLIs that are installed below a prefix, whole and as locked, by harness."""
    lock = lock or read_lock()
    node = installed(prefix, lock.clis[NODE])
    found = {}
    for locked in lock.clis.values():
        said = installed(prefix, locked) if locked.id not in TOOLS else None
        if said is not None and (node is not None or NODE not in locked.command):
            found[locked.id] = _program(prefix, lock, locked, (said, node))
    return found


def _program(
    prefix: Path, lock: Lock, locked: Locked, said: tuple[Installed, Installed | None]
) -> Program:
    own, node = said
    bound = {CLIS / locked.id: folder_of(prefix, locked)}
    path: tuple[PurePosixPath, ...] = ()
    node_inside = ""
    search = lock.clis.get(RIPGREP)
    if search is not None and (there := installed(prefix, search)) is not None:
        bound[CLIS / RIPGREP] = folder_of(prefix, search)
        path = ((CLIS / RIPGREP / there.command[0]).parent,)
    if node is not None and NODE in locked.command:
        bound[CLIS / NODE] = folder_of(prefix, lock.clis[NODE])
        seen = CLIS / NODE / node.command[0]
        node_inside, path = str(seen), (seen.parent, *path)
    command = tuple(
        node_inside if word == NODE else str(CLIS / locked.id / word) if word[:2] == "./" else word
        for word in own.command
    )
    return Program(
        harness=locked.id, version=own.version, command=command, bound=bound,
        readable=_readable(own), path=path,
        facts={**own.facts, "package": own.package, "source": locked.source},
    )  # fmt: skip


def _readable(said: Installed) -> tuple[Path, ...]:
    """The folder of the Python whose environment it is, unless all sandboxes have that."""
    base = said.facts.get("python_folder")
    if base is None or Path(base).is_relative_to(_SYSTEM):
        return ()
    return (Path(base),)
