"""kimi-cli, the Python program: a run that says that it was this one, and not Kimi Code."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.kimi import session, stream
from kbsite.model.harness import Harness

HARNESS = Harness("kimi-cli", "kimi-cli", maker="Moonshot AI", keeps_folder=False)
FORMATS: list[Format] = [session.FORMAT, stream.FORMAT]
