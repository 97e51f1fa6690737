"""Kimi Code, the npm program: a run that says that it was this one, and not kimi-cli."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.kimi import code_wire, stream
from kbsite.model.harness import Harness

HARNESS = Harness("kimi-code", "Kimi Code", maker="Moonshot AI", keeps_folder=False)
FORMATS: list[Format] = [code_wire.FORMAT, stream.FORMAT]
