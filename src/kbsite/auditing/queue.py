"""Which runs have to be read, and in which order: the same that /audits/ shows."""

from __future__ import annotations

from kbsite.pages.queue import Waiting, waiting, why_due

__all__ = ["Waiting", "waiting", "why_due"]
