"""Statements of the Hard deck say what a solution is held to."""

from __future__ import annotations

import re

import pytest

from kbsite.model.forbidden import FAMILIES
from tests.bench.problems.deck import IDS, problem


def _statement(name: str) -> str:
    return (problem(name).folder / "prompt.md").read_text("utf-8")


@pytest.mark.parametrize("name", IDS)
def test_every_shape_has_a_line_with_its_sizes_in_order_and_no_other_is_listed(name: str) -> None:
    lines = re.findall(r"^\* (\w+: \w+=\d.*)$", _statement(name), re.MULTILINE)
    assert lines == [
        f"{shape.id}: " + ", ".join(f"{key}={size}" for key, size in shape.sizes.items())
        for shape in problem(name).shapes("cuda")
    ]


@pytest.mark.parametrize("name", IDS)
def test_the_bound_stands_there_as_a_formula(name: str) -> None:
    text = _statement(name)
    for one in problem(name).problem.outputs.values():
        bound = one.bound
        assert bound is not None
        if not bound.rms:
            assert "bit by bit" in text
            continue
        formula = f"<= {bound.rms:g} * RMS(r) + {bound.relative:g} * |r|"
        assert formula in _short(text)
        if bound.typical is not None:
            assert f"<= {bound.typical:g} * RMS(r)." in text


def _short(text: str) -> str:
    """With figures as Python writes them."""
    return re.sub(r"\b\d+e-\d+\b", lambda found: f"{float(found[0]):g}", text)


@pytest.mark.parametrize("name", IDS)
def test_solve_is_written_with_the_tensors_in_order(name: str) -> None:
    tensors = ", ".join(problem(name).problem.tensors)
    assert f"\n    solve({tensors})\n" in _statement(name)


@pytest.mark.parametrize("name", IDS)
def test_what_is_forbidden_is_told_in_the_words_of_its_family(name: str) -> None:
    text = _statement(name)
    forbidden = problem(name).problem.forbidden
    for family in forbidden:
        assert FAMILIES[family].words in text
    others = {
        key for key, family in FAMILIES.items() if family.words in text and key not in forbidden
    }
    assert not others
