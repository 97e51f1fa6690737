"""What the rules on native code see in sources that a test writes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

from kbsite.alarms.evidence import Evidence, Source
from kbsite.alarms.native import NativeSources
from kbsite.model.alarm import Alarm, Level
from kbsite.model.problem import Problem
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun


def stored_problem(
    title: str = "BF16 GEMM", forbidden: Iterable[str] = (), reference: str = "", prompt: str = ""
) -> StoredProblem:
    return StoredProblem(
        id="given",
        problem=Problem(title=title, forbidden=tuple(forbidden)),
        hash="0" * 64,
        prompt=prompt,
        reference=reference,
    )


def evidence(
    files: dict[str, str] | str, problem: StoredProblem | None = None, name: str = "files/kernel.cu"
) -> Evidence:
    """A run that holds nothing but these sources."""
    held = {name: files} if isinstance(files, str) else files
    made = Evidence(cast("StoredRun", SimpleNamespace(files=())), problem)
    sources = tuple(Source(file, textwrap.dedent(text)) for file, text in held.items())
    made.__dict__["sources"] = sources
    return made


def alarms(
    files: dict[str, str] | str, problem: StoredProblem | None = None, name: str = "files/kernel.cu"
) -> list[Alarm]:
    return list(NativeSources().alarms(evidence(files, problem, name)))


def told(found: Iterable[Alarm]) -> set[tuple[str, str]]:
    """Kinds with their levels, without notes."""
    return {(one.kind, one.level.value) for one in found if one.level is not Level.NOTE}
