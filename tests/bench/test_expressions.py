"""Formulas are arithmetic, whoever writes them: nothing runs, nothing hangs, errors say where."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.expressions import evaluate, names, whole
from kbsite.errors import InputError

WHERE = Path("problems/x/problem.yaml"), "flops.bf16"
SIZES = {"M": 4096, "N": 7, "K": 128}

VALUES = {
    "2*M*N*K": 2 * 4096 * 7 * 128,
    "M//N + M%N": 4096 // 7 + 4096 % 7,
    "M/N": 4096 / 7,
    "-(M - N)": -(4096 - 7),
    "ceil(M/N)*N": 586 * 7,
    "min(M, N, K) + max(M, 3)": 7 + 4096,
    "log2(M)": 12.0,
    "2**10": 1024,
    "N ** 0.5": 7**0.5,
    "1e3 + .5": 1000.5,
    " M * 2 ": 8192,
    "(" * 90 + "M" + ")" * 90: 4096,
}


@pytest.mark.parametrize("formula", VALUES)
def test_arithmetic_has_its_value(formula: str) -> None:
    assert evaluate(formula, SIZES, WHERE) == VALUES[formula]


HOSTILE = {
    "__import__('os').system('x')": "is no formula",
    "__import__(M)": "is not understood",
    "M.__class__": "is not understood",
    "().__class__.__bases__": "is not understood",
    "(lambda: M)()": "is no formula",
    "[M]": "is no formula",
    "M if N else K": "is not understood",
    "M and N": "is not understood",
    "M < N": "is no formula",
    "not M": "is not understood",
    "+M": "is not understood",
    "True": "is not understood",
    "1j": "is not understood",
    "...": "is not understood",
    "max(*M)": "is not understood",
    "max()": "is not understood",
    "eval(M)": "is not understood",
    "max(M)(N)": "is not understood",
    "ceil(M, N)": "`ceil` takes one number, got 2",
    "Q*2": "`Q` is no dimension; there are M, N, K",
    "9**9**9**9": "too large",
    "9**9**9": "too large",
    "(2**99)**(2**99)": "too large",
    "M**M": "too large",
    "(0-M)**0.5": "is no real number",
    "1e99 * 1e99": "too large",
    "1e999": "too large",
    "-1e999": "too large",
    "M/0": "divides by zero",
    "M//(N - 7)": "divides by zero",
    "M % 0": "divides by zero",
    "0**-1": "divides by zero",
    "log2(0)": "has no value",
    "log2(-M)": "has no value",
    "-" * 99 + "M": "nested too deeply",
    "+".join("M" for _ in range(100)): "nested too deeply",
    "(" * 199: "is no formula",
    "1" * 401: "has 401 characters",
    "": "is no formula",
    "M N": "is no formula",
    "M\x00": "is no formula",
    "\uff2d": "is no formula",
}


@pytest.mark.parametrize("formula", HOSTILE)
def test_whatever_is_no_arithmetic_is_refused_with_its_place(formula: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(formula, SIZES, WHERE)
    assert str(caught.value).startswith("problems/x/problem.yaml: flops.bf16: ")
    assert HOSTILE[formula] in str(caught.value)


@given(st.text("MNQ0123456789+-*/%()., e_\n'[]", max_size=60))
def test_any_text_has_a_finite_value_or_an_error(text: str) -> None:
    try:
        value = evaluate(text, SIZES, WHERE)
    except InputError:
        return
    assert math.isfinite(value)
    assert names(text, WHERE) <= {*SIZES}


def test_names_are_the_sizes_that_a_formula_needs() -> None:
    assert names("2*M*max(N, 3)", WHERE) == {"M", "N"}
    assert names("5", WHERE) == frozenset()
    with pytest.raises(InputError, match=r"flops\.bf16: .*is not understood"):
        names("M.x", WHERE)


def test_a_size_is_a_whole_number() -> None:
    assert whole("M/2", SIZES, WHERE) == 2048
    assert whole(3, SIZES, WHERE) == 3
    with pytest.raises(InputError, match=r"`N/2` is 3\.5 for M=4096, N=7, K=128"):
        whole("N/2", SIZES, WHERE)
