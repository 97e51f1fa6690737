"""What contenders are held against: what this host has, what adapters and providers know."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from bench.harnesses import ADAPTERS
from bench.harnesses.form import Adapter, Program, by_id
from bench.installing import programs, read_lock
from bench.installing.checks import wrong_version
from bench.installing.stamp import installed
from bench.providers import Provider, load_providers
from bench.running.supervising import sandbox_of
from bench.sandbox.box import Sandbox


@dataclass(frozen=True, kw_only=True)
class Tools:
    """All that a contender may need."""

    adapters: Mapping[str, Adapter]
    programs: Mapping[str, Program]
    """The CLIs that are installed."""
    wrong: Callable[[str], str]
    """What is wrong with an installed CLI, asked for its version; empty if nothing is."""
    providers: Mapping[str, Provider]
    sandbox: Sandbox
    clis: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """Where keys are; never changed."""


def tools_here(clis: Path, providers: Path | None = None, sandbox: str | None = None) -> Tools:
    """What there is on this host.

    `providers` is a file beside those that are known, `sandbox` a name; None takes the best. Raises
    MachineError where no session can be held, another KbsiteError where something is not
    known or not readable.
    """
    lock = read_lock()

    @lru_cache
    def wrong(harness: str) -> str:
        said = installed(clis, lock.clis[harness])
        return "it is not installed any more" if said is None else wrong_version(said, clis, lock)

    return Tools(
        adapters=by_id(ADAPTERS),
        programs=programs(clis, lock),
        wrong=wrong,
        providers=load_providers(providers),
        sandbox=sandbox_of(sandbox),
        clis=clis,
    )
