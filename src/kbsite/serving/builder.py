"""The process that builds: it stays, so that a change costs no start.

It is told on its standard input, a line a build, and answers with a line of JSON. Being apart, it
can be killed, or run out of memory, and the server goes on with the site that stands.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbsite import assets
from kbsite.engines.engine import COLLECT_AFTER
from kbsite.errors import KbsiteError
from kbsite.model.config import Config
from kbsite.model.finding import Finding, Severity
from kbsite.store.settings import Settings, read_settings

if TYPE_CHECKING:
    from kbsite.build import Built
    from kbsite.record import Memory

_LONGEST = 1 << 26
"""Bytes of an answer at most: a build of a thousand bad runs names all of them."""
_AT_REST = 50_000
"""Objects that are made, and not dropped, before cycles of them are looked for, if nobody waits."""
_PATIENCE = 2.0
"""Seconds that a process gets which is to end and builds nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a site is built from: a kbsite.yaml, and what the command line says instead."""

    config: Path | None
    """None where there is none, and the command line says enough."""
    runs: Path | None = None
    problems: Path | None = None
    out: Path | None = None

    def settings(self) -> Settings:
        """The settings as they are now; InvalidFileError where kbsite.yaml is wrong."""
        from kbsite.build import override

        here = Path.cwd()
        held = (
            read_settings(self.config) if self.config
            else Settings(Config(), here / "runs", here / "problems", here / "site")
        )  # fmt: skip
        return override(held, self.runs, self.problems, self.out)

    def places(self) -> list[Path]:
        """All that the site is made of: folders and files to keep an eye on.

        Where kbsite.yaml cannot be read just now, what the command line names.
        """
        found = [assets.PACKAGE, assets.folder("templates"), assets.folder("static")]
        try:
            settings = self.settings()
        except KbsiteError:
            return [*found, *(path for path in (self.config, self.runs, self.problems) if path)]
        found += [settings.runs, settings.problems]
        if self.config:
            home, config = self.config.parent, settings.config
            found += [self.config, home / (config.prices or "prices.yaml")]
            found.append(home / (config.hardware or "bench/hardware"))
        return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a build."""

    failed: str | None = None
    """Why there was none; the site that stands is as it was."""
    errors: tuple[str, ...] = ()
    """What is wrong with the input, and was left out."""
    warnings: tuple[str, ...] = ()
    pages: int = 0
    rendered: int = 0
    written: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Builder:
    """Builds in a process of its own, which is started when it is needed."""

    source: Source
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)
    _builds: bool = field(default=False, init=False)
    """Whether nobody knows yet what comes of a build."""

    async def build(self, changed: Collection[str] | None = None) -> Outcome:
        """Build, and wait for what comes of it.

        `changed` are all files that have changed since the last build began; None where any may.
        """
        process = self._process
        if process is None or process.returncode is not None:
            try:
                process = self._process = await self._started()
            except OSError as error:  # as where there is no memory for one
                return Outcome(failed=f"no process can be started that builds: {error.strerror}")
        assert process.stdin
        assert process.stdout
        self._builds = True
        try:
            process.stdin.write(f"{json.dumps(changed and sorted(changed))}\n".encode())
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (ConnectionError, ValueError):  # the latter for a longer one than is taken
            line = b""
        # Who was killed while he answered leaves a part of it.
        if line.endswith(b"\n"):
            self._builds = False
            return _outcome(line)
        await self.stop()
        return Outcome(failed="the process that builds has ended; the next change starts another")

    async def _started(self) -> asyncio.subprocess.Process:
        held = {name: value and str(value) for name, value in asdict(self.source).items()}
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kbsite.serving.builder", json.dumps(held),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LONGEST,
            # A key that ends the server ends it: until then a build is not cut off.
            start_new_session=True,
        )  # fmt: skip

    async def stop(self) -> None:
        """End the process; a build that is under way leaves the site as it was.

        One whose site stands gets to write down what the next one wants to know.
        """
        process, self._process = self._process, None
        if process is None:
            return
        if not self._builds and process.stdin:
            process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _PATIENCE)
        if process.returncode is None:
            process.kill()
        await process.wait()
        if process.stdin:
            process.stdin.close()
            # A broken pipe that nobody asks for is told by asyncio, in a trace.
            with suppress(OSError):
                await asyncio.wait_for(process.stdin.wait_closed(), _PATIENCE)


def _outcome(line: bytes) -> Outcome:
    held = json.loads(line)
    return Outcome(**{**held, "errors": tuple(held["errors"]), "warnings": tuple(held["warnings"])})


_memory: Memory | None = None
"""What this process knows of its last build."""


def build_once(
    source: Source,
    changed: Collection[str] | None = None,
    told: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Build here and now; what goes wrong is in the outcome.

    It is `told` as soon as the site stands: what is left to do is for the next build.
    """
    global _memory  # noqa: PLW0603 - of this process, which does nothing but build
    from kbsite.build import build
    from kbsite.record import Memory

    _memory = _memory or Memory()
    _memory.hear(changed)
    before = time.perf_counter()
    outcome: Outcome | None = None

    def stands(built: Built) -> None:
        nonlocal outcome
        outcome = _came_of(built, time.perf_counter() - before)
        told(outcome)

    try:
        build(source.settings(), memory=_memory, told=stands)
    except KbsiteError as error:
        failed = str(error)
    except Exception as error:  # noqa: BLE001 - the next change may mend it; it is told meanwhile
        traceback.print_exc()
        failed = f"{type(error).__name__}: {error}"
    if outcome is None:
        outcome = Outcome(failed=failed)
        told(outcome)
    return outcome


def _came_of(built: Built, seconds: float) -> Outcome:
    found = [*built.findings, *built.unmet]
    work = built.work
    return Outcome(
        errors=_texts(found, Severity.ERROR), warnings=_texts(found, Severity.WARNING),
        pages=built.pages, rendered=work.rendered, written=work.written,
        seconds=seconds,
    )  # fmt: skip


def _texts(found: list[Finding], severity: Severity) -> tuple[str, ...]:
    chosen = [one.text for one in found if one.severity is severity]
    return tuple(text.encode("utf-8", "backslashreplace").decode() for text in chosen)


Build = Callable[[Source, Collection[str] | None, Callable[[Outcome], None]], object]


def main(build: Build = build_once) -> None:
    """Build whenever a line says so, until there are no more."""
    held = json.loads(sys.argv[1])
    source = Source(**{name: value and Path(value) for name, value in held.items()})
    # Whatever prints goes to the terminal: the answers have their pipe for themselves. Nobody reads
    # them where the server was killed, and then no more is asked.
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)

        def answer(outcome: Outcome) -> None:
            with suppress(BrokenPipeError):
                answers.write(json.dumps(asdict(outcome)) + "\n")
                answers.flush()
            gc.set_threshold(_AT_REST)

        for line in sys.stdin:
            gc.set_threshold(COLLECT_AFTER)
            build(source, json.loads(line), answer)


if __name__ == "__main__":
    main()
