"""Control groups: limits that the kernel keeps for all processes of a box together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Group:
    """A control group of a box; `memory` says whether it limits memory."""

    memory: Path | None = None

    def over(self) -> bool:
        """Whether the kernel had to kill for want of memory."""
        return False

    def remove(self) -> None:
        """Remove it, once it is empty."""
