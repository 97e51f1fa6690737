"""Sources shown to the detectors of Python, without a run directory around them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import yaml

from kbsite.alarms.evidence import Evidence, Source
from kbsite.alarms.python.detector import PythonSources
from kbsite.alarms.python.reading import Reading, readings
from kbsite.model.alarm import Alarm, Level
from kbsite.model.problem import Dtype, Problem, Role, Tensor
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun

KERNEL = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def _double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2.5, mask=i < n)
"""
"""The head of a solution: what it imports, and a kernel that works."""


def problem(**told: object) -> StoredProblem:
    """A problem with these keys in its problem.yaml."""
    made = Problem(**{"title": "A problem", **told})  # type: ignore[arg-type]
    return StoredProblem(id="problem", problem=made, hash="", prompt="", reference="")


def written(*formats: Dtype) -> dict[str, Tensor]:
    """Outputs of these formats."""
    return {
        f"y{at}": Tensor(role=Role.OUT, dtype=dtype, shape=("n",))
        for at, dtype in enumerate(formats)
    }


def evidence(
    text: str, about: StoredProblem | None = None, sidecars: Mapping[str, str] | None = None
) -> Evidence:
    """A run with this solution.py and these files."""
    made = Evidence(stored=cast("StoredRun", None), problem=about)
    files = {"solution.py": text, **(sidecars or {})}
    vars(made)["sources"] = tuple(
        Source(name, textwrap.dedent(held)) for name, held in files.items()
    )
    return made


def found(
    text: str, about: StoredProblem | None = None, sidecars: Mapping[str, str] | None = None
) -> list[Alarm]:
    """What is raised about a solution."""
    return list(PythonSources().alarms(evidence(text, about, sidecars)))


def loud(
    text: str, about: StoredProblem | None = None, sidecars: Mapping[str, str] | None = None
) -> set[str]:
    """The kinds of what is raised above a note."""
    raised = found(text, about, sidecars)
    return {alarm.kind for alarm in raised if alarm.level is not Level.NOTE}


def read(text: str) -> Reading:
    """A solution as the detectors read it."""
    return readings(evidence(text))[0]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Parts of a solution, of snippets.yaml."""

    kind: str = ""
    before: str = ""
    made: str = ""
    body: str = ""

    @property
    def text(self) -> str:
        """The whole solution."""
        return model(self.body, self.before, self.made)


def snippets(name: str) -> list[Snippet]:
    """The snippets of a list."""
    return [Snippet(**parts) for parts in _lists()[name]]


@cache
def _lists() -> dict[str, list[dict[str, str]]]:
    text = Path(__file__).with_name("snippets.yaml").read_text("utf-8")
    held: dict[str, list[dict[str, str]]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return held


def ident(case: Snippet) -> str:
    """What a case is called in a list of tests."""
    first = (case.body or case.before).splitlines()[0]
    return f"{case.kind} {first}".strip()[:60]


def model(body: str, before: str = "", made: str = "") -> str:
    """A solution whose forward has this body, with lines before the class and in `__init__`."""
    lines = [
        KERNEL,
        textwrap.dedent(before),
        "class Model(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        textwrap.indent(textwrap.dedent(made), " " * 8),
        "    def forward(self, x):",
        textwrap.indent(textwrap.dedent(body), " " * 8),
    ]
    return "\n".join(lines)
