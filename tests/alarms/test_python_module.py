"""Sources are parsed within bounds; what cannot be is told, and nothing fails."""

from __future__ import annotations

import ast

import pytest

from kbsite.alarms.evidence import Source
from kbsite.alarms.python.module import modules, parsed
from kbsite.alarms.python.reading import Phase
from kbsite.alarms.python.scopes import Parameter
from kbsite.model.alarm import Level
from tests.alarms.solutions import evidence, found, read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:\n", "line 1 "),
        ("x = 1\n  y = 2\n", "line 2 "),
        ("(" * 500 + ")" * 500, "line 1 "),
        ("-" * 200_000 + "1", "nested"),
        ("a" + ".b" * 100_000, "nested"),
        ("x = " + "1+" * 90_000 + "1", "nested"),
        ("x = 1\n" * 200_000, "longer than"),
        ("[" + "0," * 160_000 + "]", "parts"),
    ],
    ids=["syntax", "indent", "brackets", "signs", "dots", "sums", "long", "nodes"],
)
def test_what_cannot_be_read_is_told_as_a_note(text: str, reason: str) -> None:
    alarms = found(text)

    assert [(a.kind, a.level, a.file) for a in alarms] == [
        ("obfuscation", Level.NOTE, "solution.py")
    ]
    assert reason in alarms[0].saw


@pytest.mark.parametrize("name", ["rot13", "utf_7", "raw-unicode-escape"])
def test_an_encoding_that_hides_what_runs_is_told(name: str) -> None:
    for text in (f"# -*- coding: {name} -*-\n", f"#!python\n# vim: set fileencoding={name} :\n"):
        assert [(a.kind, a.level) for a in found(text)] == [("obfuscation", Level.ALARM)]
    assert found("# -*- coding: utf-8 -*-\n") == found("x = 1\n\n# coding: rot13\n") == []


def test_odd_sources_are_read() -> None:
    for text in ("", "\n", "#", "'\\d'", "x = 'ä€😀'; y = x\n", "\ufeffx = 1\n", "\f\nx=1\n"):
        assert parsed(Source("solution.py", text)).problem == ""


def test_a_source_is_parsed_once_for_all_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    count: list[str] = []
    real = ast.parse

    def counted(text: str) -> ast.Module:
        count.append(text)
        return real(text)

    monkeypatch.setattr(ast, "parse", counted)
    seen = evidence("x = 1\n")

    assert modules(seen) is modules(seen)
    assert count == ["x = 1\n"]


def test_nodes_are_indexed_in_order_with_what_is_above_them() -> None:
    module = parsed(
        Source(
            "solution.py", "a(1)\ndef f(x, *, y=2):\n    if x:\n        b(3)\n    return y\nc()\n"
        )
    )

    names = [call.func.id for call in module.all(ast.Call) if isinstance(call.func, ast.Name)]
    assert names == ["a", "b", "c"]
    inner = module.all(ast.Call)[1]
    assert module.scope(inner).name == "f"
    assert [type(node) for node in module.above(inner)] == [ast.Expr, ast.If]
    assert module.written(inner) == "b(3)"


def test_names_are_bound_where_they_live() -> None:
    module = parsed(
        Source(
            "solution.py",
            "import os.path as p\nimport a.b\nfrom .c import d as e\nn = 1\n"
            "def f(x, y=2, *z, **w):\n    global n\n    n = 3\n    q, (r, s) = x, y\n"
            "    for t in x: pass\n    with x as u: pass\n    return (v := 4)\n"
            "class C:\n    def m(self):\n        self.k, C.j = 1, 2\n",
        )
    )
    top, function, held = module.top, *(module.scopes[node] for node in module.tree.body[4:])

    assert top.bound["p"] == ["os.path"]
    assert top.bound["a"] == ["a"]
    assert top.bound["e"] == [".c.d"]
    assert len(top.bound["n"]) == 2
    assert function.bound["x"] == [Parameter("x", 0)]
    assert len(function.bound["y"]) == 2
    assert set("zwqrstuv") <= set(function.bound)
    assert set(held.attributes) == {"k", "j"}


def test_text_beside_wide_signs_is_cut_right() -> None:
    reading = read("x = 'äöü€'; f('😀', y)\n")

    assert reading.module.written(reading.module.all(ast.Call)[0]) == "f('😀', y)"


def test_lines_are_counted_as_python_counts_them() -> None:
    reading = read("x = 1  # \x0b \x0c \u2028 \x1c\r\ny = 2\rf(x)\n")
    call = reading.module.all(ast.Call)[0]

    assert call.lineno == 3
    assert reading.module.written(call) == "f(x)"


@pytest.mark.parametrize(
    ("guard", "phase"),
    [
        ("if __name__ == '__main__':", Phase.TEST),
        ("if '__main__' == __name__:", Phase.TEST),
        ("if __name__ == '__main__' and torch.cuda.is_available():", Phase.TEST),
        ("if __name__ == '__main__':\n    def bench():", Phase.TEST),
        ("if __name__ != '__main__':", Phase.IMPORT),
        ("if __name__ == 'solution':", Phase.IMPORT),
        ("if __name__:", Phase.IMPORT),
        ("if __name__ == '__main__' or True:", Phase.IMPORT),
        ("if __name__ == '__main__':\n    pass\nelse:", Phase.IMPORT),
        ("if __name__ == '__main__':\n    pass\nelif torch:", Phase.IMPORT),
    ],
)
def test_only_what_the_program_itself_runs_is_its_test(guard: str, phase: Phase) -> None:
    depth = "    " * (1 + guard.count("def "))
    reading = read(f"import torch\n{guard}\n{depth}torch.here()\n")
    call = next(call for call, origin in reading.calls if origin == "torch.here")

    assert reading.phase(call) is phase
