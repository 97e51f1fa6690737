"""A contender for tests: a small program in a CLI's place, whose log is Claude Code's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bench.harnesses.form import Adapter, Asked, Launch
from bench.preflight import Tools
from bench.providers import Provider
from bench.sandbox import best
from bench.sandbox.box import Sandbox
from kbsite.errors import UsageError
from tests.bench.running.sessions import FAKE, FakeAdapter

ASKS = """
answer = ask()
print(json.dumps({"type": "assistant", "message": answer, "session_id": "s"}))
"""
"""One request, and the answer in the program's own log."""

WRITES = "write('def solve(a, b):\\n    return a + b\\n')\n"
GOOD = ASKS + "done()\n"


class Efforts(FakeAdapter):
    """The same, with an effort that it takes and others that it refuses."""

    def launch(self, asked: Asked) -> Launch:
        if asked.effort not in (None, "max"):
            raise UsageError(f"claude: effort {asked.effort!r}, expected one of: max")
        return super().launch(asked)


def tools(
    program: str = GOOD,
    *,
    providers: Mapping[str, Provider] | None = None,
    environment: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    wrong: Callable[[str], str] = lambda _: "",
    installed: bool = True,
) -> Tools:
    """A host with one CLI, which is that program."""
    adapter: Adapter = Efforts(program)
    return Tools(
        adapters={"claude": adapter},
        programs={"claude": FAKE} if installed else {},
        wrong=wrong,
        providers=providers or {},
        sandbox=sandbox or best(),
        clis=Path("/clis"),
        environment=environment or {},
    )
