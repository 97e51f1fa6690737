"""Whether what is installed is what the lock file names: by what it prints, never by its name."""

from __future__ import annotations

from pathlib import Path

from bench.harnesses import ADAPTERS
from bench.harnesses.form import by_id
from bench.installing.calling import printed_version
from bench.installing.installing import node_program, on_host
from bench.installing.lock import NODE, Lock
from bench.installing.stamp import Installed, folder_of
from kbsite.errors import KbsiteError


def wrong_version(said: Installed, prefix: Path, lock: Lock) -> str:
    """What is wrong with an installed CLI, by its `--version`; empty if nothing is."""
    locked = lock.clis[said.harness]
    try:
        node = node_program(prefix, lock) if NODE in said.command else None
        printed = printed_version(on_host(said.command, folder_of(prefix, locked), node))
    except KbsiteError as error:
        return str(error)
    if not locked.printed_by(printed):
        return f"--version printed {printed[:200]!r}, expected {locked.prints!r}"
    adapter = by_id(ADAPTERS).get(said.harness)
    if adapter is not None and adapter.recognises(printed) != said.version:
        return f"its adapter does not recognise {printed[:200]!r} as version {said.version}"
    return ""
