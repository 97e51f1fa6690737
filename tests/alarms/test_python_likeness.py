"""A reference that is handed in again is known by what it does, not by its names."""

from __future__ import annotations

import re

import pytest

from kbsite.alarms.evidence import Source
from kbsite.alarms.python import likeness
from kbsite.alarms.python.module import Module, parsed
from kbsite.model.problem import Problem
from kbsite.store.problems import StoredProblem
from tests.alarms.solutions import found, loud, model

REFERENCE = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """Attention over a window."""

    def forward(self, q, k, v):
        scores = torch.einsum("bhd,bnhd->bhn", q, k) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(scores < -10.0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.einsum("bhn,bnhd->bhd", weights, v)
        return mixed.reshape(q.shape[0], -1).to(q.dtype)
'''


def about(reference: str) -> StoredProblem:
    told = Problem(title="Window", forbidden=("torch.einsum",))
    return StoredProblem(id="window", problem=told, hash="", prompt="", reference=reference)


def renamed(text: str) -> str:
    names = {"scores": "s", "weights": "w", "mixed": "out", "q": "query", "Window": "Other"}
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text.replace("Attention over a window", "My own kernel").replace("10.0", "12.5")


@pytest.mark.parametrize("text", [REFERENCE, renamed(REFERENCE)], ids=["verbatim", "renamed"])
def test_a_copy_is_told_with_its_share(text: str) -> None:
    alarm = next(a for a in found(text, about(REFERENCE)) if a.kind == "reference-copy")

    assert int(alarm.saw.partition("%")[0]) >= 75
    assert alarm.lines


def test_a_solution_of_its_own_is_no_copy() -> None:
    own = model("y = torch.empty_like(x)\n_double[(1,)](x, y, 4, BLOCK=4)\nreturn y")

    assert "reference-copy" not in loud(own, about(REFERENCE))


def test_a_copy_that_only_its_tests_run_is_none() -> None:
    body = "y = torch.empty_like(x)\n_double[(1,)](x, y, 4, BLOCK=4)\nreturn y"
    check = REFERENCE.partition("def forward(self, ")[2].replace("        ", "    ")

    assert loud(f"{model(body)}\n\ndef test_it({check}\n", about(REFERENCE)) == set()


@pytest.mark.parametrize(
    "reference", ["", "def f(:", "class Model:\n    def forward(self): pass\n"]
)
def test_a_reference_that_says_nothing_is_compared_with_nothing(reference: str) -> None:
    assert "reference-copy" not in loud(REFERENCE, about(reference))


def test_a_reference_is_read_once_for_all_runs_of_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def counted(source: Source) -> Module:
        read.append(source.text)
        return parsed(source)

    monkeypatch.setattr(likeness, "parsed", counted)
    reference = REFERENCE.replace("a window", "windows")
    kinds = [{alarm.kind for alarm in found(text, about(reference))} for text in (REFERENCE, "")]

    assert "reference-copy" in kinds[0]
    assert "reference-copy" not in kinds[1]
    assert "reference-copy" in {alarm.kind for alarm in found(REFERENCE, about(reference))}
    assert read == [reference]
