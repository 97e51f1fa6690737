"""How much time a run may have."""

from __future__ import annotations

from typing import Final

LONGEST_SECONDS: Final = 365 * 24 * 3600
"""The longest budget, a year: no calendar has the end of one that is much longer."""
