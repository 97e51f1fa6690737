"""Floors are cut out of baselines.py: readable, alone, and the same function under another name."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest
import torch

from bench.floor_source import source
from bench.problems import BASELINES
from kbsite.errors import InputError
from kbsite.model.floor import FloorKind
from tests.bench.toys import TOY

PROBLEMS = sorted(
    path.parent for path in (Path(__file__).parents[2] / "problems").glob("*/baselines.py")
)

REFERENCE = '''"""What is right."""

import math

import torch

SCALE = 2.0
"""Of everything."""


def reference(x):
    return {"y": inner(x) * math.sqrt(SCALE)}


def inner(x):
    return x


def inputs(case, generator):
    return {"x": torch.zeros(1)}
'''


def folder(home: Path, baselines: str, reference: str = REFERENCE) -> Path:
    made = home / "problem"
    made.mkdir()
    (made / BASELINES).write_text(baselines)
    (made / "reference.py").write_text(reference)
    return made


def run(text: str) -> ModuleType:
    module = ModuleType("solution")
    exec(compile(text, "solution.py", "exec"), module.__dict__)
    return module


def names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("kind", FloorKind)
@pytest.mark.parametrize("problem", [TOY, *PROBLEMS], ids=lambda path: path.name)
def test_every_floor_of_every_problem_stands_alone(problem: Path, kind: FloorKind) -> None:
    text = source(problem, kind)
    module = run(text)

    assert callable(module.solve)
    assert kind.label.capitalize() in (module.__doc__ or "")
    assert "SHORTCUTS" not in text
    assert not any(
        isinstance(node, ast.ImportFrom) and node.module in ("reference", "baselines")
        for node in ast.walk(ast.parse(text))
    )


def test_what_a_floor_needs_comes_along_and_nothing_else(tmp_path: Path) -> None:
    text = source(folder(tmp_path, '''"""Floors."""
import os
import sys

LIBRARY = 'ends a docstring: \"\"\" and \\\\'

# A deep one.
DEPTH = 3
"""How deep."""


@staticmethod
def decorated():
    return DEPTH


class Kept:
    size = 4


def library(y):
    y.append((decorated.__wrapped__(), Kept.size, sys.maxsize > 0))


def eager(y):
    os.abort()
'''), FloorKind.EAGER)  # fmt: skip

    assert "import os" in text
    assert not {"sys", "DEPTH", "Kept"} & {
        n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)
    }
    library = source(tmp_path / "problem", FloorKind.LIBRARY)
    assert '# A deep one.\nDEPTH = 3\n"""How deep."""' in library
    out: list[object] = []
    run(library).solve(out)
    assert out == [(3, 4, True)]
    assert "os.abort" not in library


def test_the_reference_comes_along_where_it_is_imported(tmp_path: Path) -> None:
    text = source(folder(tmp_path, '''
from reference import reference


def eager(x, y):
    y.append(reference(x)["y"])
'''), FloorKind.EAGER)  # fmt: skip
    out: list[float] = []
    run(text).solve(2.0, out)

    assert out == [pytest.approx(2 * 2**0.5)]
    assert "def inputs" not in text
    assert text.index("import math") < text.index("SCALE = 2.0") < text.index("def solve")


def test_a_name_that_is_no_function_or_calls_itself_is_kept(tmp_path: Path) -> None:
    text = source(folder(tmp_path, '''
def eager(x, deep=0):
    return x if deep > 2 else eager(x, deep + 1)


def wrap(one):
    return one


compiled = wrap(eager)
'''), FloorKind.COMPILED)  # fmt: skip

    assert text.rstrip().endswith("solve = compiled")
    assert run(text).solve(5) == 5
    assert run(source(tmp_path / "problem", FloorKind.EAGER)).solve(5) == 5


def test_settings_that_a_module_makes_come_along(tmp_path: Path) -> None:
    text = source(folder(tmp_path, '''
import torch

torch.backends.cuda.matmul.allow_tf32 = False


def library(x):
    return x
'''), FloorKind.LIBRARY)  # fmt: skip

    assert "allow_tf32 = False" in text
    assert text.index("import torch") < text.index("allow_tf32")


CLASH = """from reference import reference

SCALE = 3

def library():
    return reference(SCALE)
"""


@pytest.mark.parametrize(
    ("baselines", "line", "message"),
    [
        ("def eager(): ...\n", None, "has no library; expected a function of that name"),
        ("def library(:\n", None, "cannot be read as Python"),
        ("\nimport reference\n\ndef library(): ...\n", 2, "imports reference as a whole"),
        ("LIBRARY = str(1)\n\ndef library(): ...\n", 1, "expected a text that stands there"),
        (CLASH, 3, r"SCALE is made here and in reference\.py, differently"),
    ],
)
def test_what_cannot_be_cut_is_told(
    tmp_path: Path, baselines: str, line: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        source(folder(tmp_path, baselines), FloorKind.LIBRARY)
    assert error.value.line == line
    assert Path(error.value.path).name == BASELINES


def test_a_compiled_floor_has_code_for_each_shape(tmp_path: Path) -> None:
    module = run(source(folder(tmp_path, """\
import torch

SIZES = []


def _seen(graph, inputs):
    SIZES.append([str(size) for x in inputs if isinstance(x, torch.Tensor) for size in x.shape])
    return graph.forward


_double = torch.compile(lambda x: x + x, backend=_seen)


def compiled(x, y):
    y.copy_(_double(x))
"""), FloorKind.COMPILED))  # fmt: skip

    for size in (5, 7):
        module.solve(torch.ones(size), torch.zeros(size))

    assert module.SIZES == [["5"], ["7"]]


def test_a_floor_that_compiles_nothing_sets_nothing(tmp_path: Path) -> None:
    text = source(folder(tmp_path, "import torch\n\n\ndef compiled(x, y):\n    y.copy_(x)\n"),
                  FloorKind.COMPILED)  # fmt: skip

    assert "_dynamo" not in text
