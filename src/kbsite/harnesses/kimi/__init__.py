"""Kimi: placeholder."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("kimi", "Kimi", maker="Moonshot AI")
FORMATS: list[Format] = []
