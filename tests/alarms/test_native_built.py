"""Native texts that a Python source builds: whatever way they are put together, they are read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.native.filled import Given, formatted, percented, templated
from kbsite.alarms.native.sources import LONGEST, native_sources
from tests.alarms.native.seen import alarms, evidence, stored_problem

GEMM = stored_problem("GEMM", ["torch.matmul"])
HEAD = "#include <torch/extension.h>"


def places(files: dict[str, str] | str) -> list[tuple[str, int]]:
    """Where the forbidden call is found."""
    found = alarms(files, GEMM, "solution.py")
    return [(one.file, one.lines[0]) for one in found if one.kind == "forbidden-op"]


BUILT = {
    "grown by +=": (f'S = "{HEAD}\\n"\nS += "x = at::"\nS += "matmul(a, b);"\n', 2),
    "grown in a function": (
        f'def make():\n    s = """{HEAD}\n"""\n    s += """\nx = at::matmul(a);\n"""\n'
        f'    return s\n',
        5,
    ),
    "appended to a list": (
        f'L = []\nL.append("{HEAD}")\nL.append("x = at::matmul(a);")\nS = "\\n".join(L)\n', 3,
    ),
    "a list by its name": (f'P = [\n  "{HEAD}",\n  "x = at::matmul(a);",\n]\nS = "\\n'
                           f'".join(P)\n', 3),
    "formatted by keyword": (
        f'S = """{HEAD}\nvoid f() {{{{ at::{{op}}(a); }}}}""".format(op="matmul")\n', 2,
    ),
    "formatted by a name": (
        f'OP = "matmul"\nT = """{HEAD}\nx = at::{{op}}(a);"""\nS = T.format(op=OP)\n', 3,
    ),
    "formatted by number": (
        f'S = """{HEAD}\nx = at::{{1}}{{0}}(a);""".format("mul", "mat")\n', 2,
    ),
    "percent and a mapping": (f'S = """{HEAD}\nx = at::%(op)s(a);""" % {{"op": "matmul"}}\n', 2),
    "percent and several": (f'N = "mat"\nS = """{HEAD}\nx = at::%s%s(a);""" % (N, "mul")\n', 3),
    "a template": (
        f'from string import Template\nS = Template("""{HEAD}\n'
        f'x = at::$op(a);""").substitute(op="matmul")\n',
        3,
    ),
    "a template and a mapping": (
        f'from string import Template\nD = {{"op": "matmul"}}\n'
        f'T = Template("""{HEAD}\nx = at::${{op}}(a);""")\nS = T.safe_substitute(D)\n',
        4,
    ),
    "a function's argument": (
        f'def make(op):\n    return f"""{HEAD}\nx = at::{{op}}(a);"""\nS = make("matmul")\n', 3,
    ),
    "a function's argument by name": (
        f'def make(*, op):\n    return """{HEAD}\nx = at::OP(a);""".replace("OP", op)\n'
        f'S = make(op="mm")\n',
        3,
    ),
    "functions that hand back": (
        f'def head():\n    return "{HEAD}\\n"\ndef body():\n    return "x = at::matmul(a);"\n'
        "S = head() + body()\n",
        4,
    ),
    "bytes": (f'S = b"""{HEAD}\nx = at::matmul(a);"""\n', 2),
    "the module's docstring": (f'"""{HEAD}\nx = at::matmul(a);\n"""\nload("x", __doc__)\n', 2),
    "a function's docstring": (
        f'def f():\n    """{HEAD}\n    x = at::matmul(a);\n    """\nload("x", f.__doc__)\n', 3,
    ),
    "summands in lines": (f'S = ("{HEAD}\\n"\n    + "int a;\\n"\n    + "at::matmul(a);")\n', 3),
    "an item of a mapping": (f'D = {{"k": """{HEAD}\nx = at::matmul(a);"""}}\nS = D["k"]\n', 2),
    "one of two": (f'S = """{HEAD}\nx = at::matmul(a);""" if new else ""\n', 2),
    "letters by number": (
        f'S = "{HEAD}\\nat::" + "".join(chr(c) for c in [109, 109]) + "(a);"\n', 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
def test_a_text_is_read_and_its_lines_are_those_that_wrote_it(name: str) -> None:
    python, line = BUILT[name]

    assert set(places(python)) == {("solution.py", line)}


@pytest.mark.parametrize(
    "python",
    [
        f'"""{HEAD}\nx = at::matmul(a);"""\n',
        f'def f():\n    """{HEAD}\n    x = at::matmul(a);"""\n',
        'log = "at::matmul(a, b) would be slower"\n',
        f'S = """{HEAD}\nx = at::{{op}}(a);""".format(op="relu")\n',
        f'S = """{HEAD}\nx = at::%s(a);""" % name\n',
        f'# """{HEAD}\n# x = at::matmul(a);"""\n',
    ],
    ids=["module docstring", "docstring", "plain words", "another name", "unknown", "comment"],
)
def test_what_is_no_source_or_names_nothing_forbidden_is_left_alone(python: str) -> None:
    assert not places(python)


@pytest.mark.parametrize(
    ("file", "python", "found"),
    [
        ("files/kernel.txt", "open('kernel.txt').read()", True),
        ("files/kernel.bin", "Path(__file__).with_name('kernel' + '.bin')", True),
        ("files/kernel.txt", "x = 1", False),
        ("files/kernel.inc", "x = 1", True),
        ("files/KERNEL.CUH", "x = 1", True),
        ("files/README.md", "open('README.md')", False),
    ],
)
def test_files_of_any_suffix_are_read_if_the_solution_names_them(
    file: str,
    python: str,
    found: bool,
) -> None:
    held = places({"solution.py": python, file: f"{HEAD}\n\nx = at::matmul(a);\n"})

    assert held == ([(file, 3)] if found else [])


def test_a_grown_text_is_one_source() -> None:
    python = f'S = "{HEAD}\\n"\nS += "int a;\\n"\nS += "int b;\\n"\n'

    (found,) = native_sources(evidence(python, name="solution.py"))
    assert found.text == f"{HEAD}\nint a;\nint b;\n"


@pytest.mark.parametrize(
    "python",
    [
        f'S = "{HEAD}"\n' + "S += S\n" * 300,
        f'S = "{HEAD}"\n' + "S += S + S\n" * 300,
        f'def f():\n    return "{HEAD}" + f() + f()\nS = f()\n',
        f'def f(x):\n    return "{HEAD}" + g(x)\ndef g(x):\n    return x + f(x)\nS = f("a" * 99)\n',
        f'S = "{HEAD} {{0}}{{0}}"\n' + "S = S.format(S)\n" * 200,
        f'S = "{HEAD} %s %s"\n' + "S = S % (S, S)\n" * 200,
        f'L = ["{HEAD}"]\n' + 'L.append("".join(L))\n' * 200 + 'S = "".join(L)\n',
        f'S = "{HEAD}" % ({"S, " * 5000})\n',
    ],
    ids=["+= itself", "+= twice", "calls itself", "call each other", "format", "percent", "list",
         "many"],
)  # fmt: skip
def test_what_grows_without_end_is_bounded(python: str) -> None:
    held = native_sources(evidence(python, name="solution.py"))

    assert sum(len(source.text) for source in held) <= 2 * LONGEST


NAMES = st.sampled_from(["a", "b", "op", "n_1"])
PLAIN = st.text("ab c;()\n<>", max_size=8)
FILLING = st.lists(st.tuples(PLAIN, NAMES), max_size=6)


@settings(max_examples=50, deadline=None)
@given(FILLING, st.dictionaries(NAMES, PLAIN))
def test_places_are_filled_as_python_does_it(
    pieces: list[tuple[str, str]], named: dict[str, str]
) -> None:
    full = {"a": "1", "b": "22", "op": "mm", "n_1": "", **named}
    held = Given((), full)

    braces = "".join(f"{plain}{{{name}}}{{{{}}}}" for plain, name in pieces)
    assert formatted(braces, held, LONGEST) == braces.format(**full)
    percent = "".join(f"{plain}%({name})s%%" for plain, name in pieces)
    assert percented(percent, held, LONGEST) == percent % full
    dollar = "".join(f"{plain}${{{name}}}$$" for plain, name in pieces)
    assert templated(dollar, held, LONGEST) == dollar.replace("$$", "\0").replace("${", "{").format(
        **full
    ).replace("\0", "$")


@settings(max_examples=50, deadline=None)
@given(st.text("{}%$()ab0s", max_size=30), st.lists(PLAIN, max_size=3))
def test_what_cannot_be_filled_in_stays(text: str, placed: list[str]) -> None:
    held = Given(placed, {})

    for fill in (formatted, percented, templated):
        assert len(fill(text, held, 50)) <= 50
    if "{" not in text and "}" not in text:
        assert formatted(text, held, LONGEST) == text
    if "%" not in text:
        assert percented(text, held, LONGEST) == text
    if "$" not in text:
        assert templated(text, held, LONGEST) == text


def test_what_is_given_in_order_is_used_in_order() -> None:
    held = Given(("x", "y"))

    assert formatted("{} {1} {} {} {7}", held, 99) == "x y y {} {7}"
    assert percented("%s %5.2f %d", held, 99) == "x y %d"
