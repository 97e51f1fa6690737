"""Kimi: two programs of that name, kimi-cli (Python) and its successor Kimi Code (npm).

A run has the session log of one of them at most, so their order does not matter; what they print
comes last, for runs that kept no session log. Runs that say which of them it was are of the
harness `kimi-cli` or `kimi-code`.
"""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.kimi import code_wire, session, stream
from kbsite.model.harness import Harness

HARNESS = Harness("kimi", "Kimi", maker="Moonshot AI", keeps_folder=False)
FORMATS: list[Format] = [session.FORMAT, code_wire.FORMAT, stream.FORMAT]
