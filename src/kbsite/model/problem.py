"""A problem: what the agent is asked to write a kernel for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """problem.yaml: everything about a problem that is not code or prose."""

    title: str
    summary: str = ""
    """One sentence for a reader of the board."""
    tags: tuple[str, ...] = ()
    regime: str | None = None
    """What bounds it: compute or memory."""
    shapes: tuple[Mapping[str, int | float | str | bool], ...] = ()
    """The inputs that it is graded on."""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Allowed deviation from the reference, by data type or by name of the bound."""
    forbidden: tuple[str, ...] = ()
    """Operations that a solution must not use."""
    flops: str | None = None
    """Formula of the work over a shape's variables."""
    bytes: str | None = None
    """Formula of the memory traffic over a shape's variables."""
