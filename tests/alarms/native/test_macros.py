"""Macros are put in as far as names can be hidden by them, and never without end."""

from __future__ import annotations

import pytest

from kbsite.alarms.native.macros import LONGEST, included, macro
from kbsite.alarms.native.source import NativeSource
from kbsite.alarms.native.unit import unit


def after(text: str) -> str:
    return " ".join(word for _, word, _ in unit(NativeSource("k.cu", text)).tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define A at::mm\nA(x)", "at::mm ( x )"),
        ("#define NS at\nNS::mm(x)", "at::mm ( x )"),
        ("#define F(a, b) a##b\nat::F(mat, mul)(x)", "at::matmul ( x )"),
        ("#define G2(a, b) a##b\n#define G(a, b) G2(a, b)\n#define L cub\nG(L, las)", "cublas"),
        ("#define S(x) #x\nS(a + b)", '"a + b"'),
        ('#define S(x) "evict_" #x\nf(S(last))', 'f ( "evict_last" )'),
        ("#define P(f, ...) f(__VA_ARGS__)\nP(g, 1, 2)", "g ( 1 , 2 )"),
        ("#define F(x) x\nF", "F"),
        ("#define F() at::mm\nF()(x)", "at::mm ( x )"),
        ("#define A B\n#define B(x) at::x\nA(mm)", "at::mm"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define A A + 1\nA", "A + 1"),
        ("#define F(x) [x]\nF((a, b))", "[ ( a , b ) ]"),
        ("#define F(x) x\nF(F(F(y)))", "y"),
        ("#define N(x) x = -1\nN(a)", "a = - 1"),
    ],
)
def test_macros_are_put_in(text: str, expected: str) -> None:
    assert after(text) == expected


def test_what_comes_of_a_macro_stands_where_it_is_used() -> None:
    held = unit(NativeSource("k.cu", "#define A(x) f(x,\\\n g)\n\nA(1);\n"))

    assert held.line(held.names["g"][0]) == 4


def test_names_that_were_pasted_are_known() -> None:
    held = unit(NativeSource("k.cu", "#define C(a, b) a##b\nC(do, it)();"))

    assert held.pasted == {"doit"}


def test_directives_are_read() -> None:
    assert included("#include <cublas_v2.h>") == "cublas_v2.h"
    assert included('#  include "a/b.cuh"') == "a/b.cuh"
    assert included("#pragma once") == ""
    assert macro("#undef A") is None
    held = macro("# define F(a,  b) a")
    assert held is not None
    assert held.parameters == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{n} A{n + 1} A{n + 1}\n" for n in range(60)) + "A0",
        "#define A(x) x\n" + "A(" * 50_000,
        "#define A(x) x x x x\n" + "A(" * 400 + "1" + ")" * 400,
        "#define A(x) x##x##x##x\n" + "A(" * 30 + "a" * 150 + ")" * 30,
        "#define A(x) x(\n" + "A(A)" * 20_000,
        "#define F(...) __VA_ARGS__ , __VA_ARGS__\n" + "F(" * 200 + "1" + ")" * 200,
    ],
    ids=["doubling", "open", "nested", "pasted", "growing", "variadic"],
)
def test_macros_that_grow_without_end_are_left_as_they_are(text: str) -> None:
    held = unit(NativeSource("k.cu", text))

    assert len(held.tokens) <= len(text) + 5 * LONGEST
    assert max(map(len, held.pasted), default=0) <= 200
