"""One run as it is ordered, and how it may end: types that runner and sweeps share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

BUDGET_SECONDS = 2700.0
"""45 minutes of wall-clock time, from the first request for a model."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A run that somebody wants: all that decides what it is. Plain values, written as JSON."""

    board: str
    problem: str
    harness: str
    model: str
    provider: str
    effort: str | None = None
    variant: str | None = None
    budget_seconds: float = BUDGET_SECONDS
    hardware: str | None = None
    gpu: str | None = None
    """UUID of the GPU that the agent gets; None for a run on processors alone."""
    cell: str | None = None
    """The sweep's key of the cell, where a sweep ordered it."""


@dataclass(frozen=True, kw_only=True)
class SessionLimits:
    """What a session may use, and how long the runner waits for what."""

    memory_bytes: int | None = 16 << 30
    processes: int = 1024
    workspace_bytes: int = 4 << 30
    home_bytes: int = 2 << 30
    scratch_bytes: int = 8 << 30
    """All three lie in memory: what is written there counts as memory of the session."""
    stdout_bytes: int = 256 << 20
    stderr_bytes: int = 64 << 20
    server_tools: bool = False
    """Whether the CLI may let its provider use tools of its own: a web search is a way out."""
    first_request_seconds: float = 180.0
    """A CLI that has asked nothing by then failed to start."""
    stall_seconds: float = 900.0
    """Nothing through the proxy, no log grew, no processor time used: it hangs."""
    failures: int = 12
    """Failed exchanges in a row after which the provider is given up on, if ..."""
    failing_seconds: float = 30.0
    """... they went on for that long: sub-agents fail many at once."""
    grace_seconds: float = 5.0
    """Between SIGTERM and the end of the PID namespace."""
    warn_share: float = 0.8
    """Share of the budget after which the agent is warned that time is short."""
    copy_seconds: float = 30.0
    """Between two copies of the growing transcript."""
    look_seconds: float = 1.0
    """Between two looks at solution.py."""
    share_gpu: bool = False
    """Whether the GPU may be in use already: by other agents, while none is measured."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders of this host that runs read from and write to."""

    runs: Path
    problems: Path
    clis: Path


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run that is complete on disk."""

    folder: Path
    reason: str
    """The value of kbsite.model.status.EndReason."""
    detail: str
    retryable: bool
    """Whether the machine or the provider failed, and not the contender."""
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
