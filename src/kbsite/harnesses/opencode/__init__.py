"""opencode: placeholder."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.model.harness import Harness

HARNESS = Harness("opencode", "opencode", maker="")
FORMATS: list[Format] = []
