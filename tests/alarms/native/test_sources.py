"""Native code is found where it stands, and its lines are those of the file that holds it."""

from __future__ import annotations

import pytest

from kbsite.alarms.native import NativeSources
from kbsite.alarms.native.sources import LONGEST, native_sources
from tests.alarms.native.seen import alarms, evidence, stored_problem

GEMM = stored_problem("GEMM", ["torch.matmul"])
HEAD = "#include <torch/extension.h>\n"
CODED = "I2luY2x1ZGUgPGE+CmF0OjptYXRtdWwoYSk7"
CALL = "torch::Tensor run(torch::Tensor a, torch::Tensor b) {\n  return at::matmul(a, b);\n}\n"


def place(python: str) -> int:
    """The line of solution.py in which the forbidden call is found."""
    found = [one for one in alarms(python, GEMM, "solution.py") if one.kind == "forbidden-op"]
    assert len(found) == 1, found
    assert found[0].file == "solution.py"
    return found[0].lines[0]


@pytest.mark.parametrize(
    ("python", "line"),
    [
        (f'SRC = r"""\n{HEAD}{CALL}"""\n', 4),
        (f'import x\n\next = load_inline("n", """{CALL}""", functions=["run"])\n', 4),
        (f'A = """{HEAD}"""\nB = A + """\n{CALL}"""\n', 5),
        ('S = ("#include <a>\\n"\n     "x = at::mat"\n     "mul(a, b);\\n")\n', 1),
        ('S = "\\n".join([\n  "#include <a>",\n  "y = at::matmul(a, b);",\n])\n', 3),
        (f'T = """{HEAD}return at::WORK(a, b);"""\nS = T.replace("WORK", "matmul")\n', 2),
        (f'N = "matmul"\nS = f"""\n{HEAD}return at::{{N}}(a, b);\n"""\n', 4),
        (f'import textwrap as t\nS = t.dedent("""\n  {HEAD}  x = at::matmul(a);\n""")\n', 4),
        ('S = "#include <a>\\nreturn at::%s(a, b);" % "matmul"\n', 1),
        ('S = """#include <a>\n#define GO \\\\\n  at::matmul\nGO(a, b);"""\n', 4),
        ('S = """#include <a>\n#define GO \\\n  at::matmul\nGO(a, b);"""\n', 4),
        (f'import base64 as b\nS = b.b64decode("{CODED}").decode()\n', 2),
    ],
    ids=["raw", "argument", "added", "adjacent", "joined", "replaced", "f-string", "dedented",
         "formatted", "spliced", "spliced by Python", "decoded"],
)  # fmt: skip
def test_texts_are_put_together_and_keep_their_lines(python: str, line: int) -> None:
    assert place(python) == line


def test_a_text_that_a_loop_fills_in_is_followed() -> None:
    python = f'''
T = """
{HEAD}return @NS@::@OP@(a, b);
"""
marks = {{"@NS@": "at", "@OP@": "".join(("mat", "mul"))}}
source = T
for mark, text in marks.items():
    source = source.replace(mark, text)
'''
    assert place(python) == 4


def test_a_text_is_read_once() -> None:
    python = f'A = """{HEAD}"""\nB = A + """{CALL}"""\next = load_inline("n", B)\n'

    assert len(native_sources(evidence(python, name="solution.py"))) == 1


def test_files_of_their_own_are_found_by_their_suffix() -> None:
    files = {f"files/k.{end}": HEAD for end in ("cu", "cuh", "cpp", "h", "hip", "txt", "md", "ptx")}

    found = [source.file.rpartition(".")[2] for source in native_sources(evidence(files))]

    assert sorted(found) == ["cpp", "cu", "cuh", "h", "hip", "ptx"]


def test_assembly_within_triton_is_read() -> None:
    python = """
    import triton.language as tl
    def load(p):
        return tl.inline_asm_elementwise(
            "ld.global.L2::evict_last.b32 $0, [$1];", "=r,l", [p], tl.int32, True, 1)
    """
    found = alarms(python, name="solution.py")

    assert [(one.kind, one.lines) for one in found] == [("cache-policy", (5,))]


def test_assembly_in_a_file_is_read() -> None:
    text = ".version 8.0\n.visible .entry k() {\n ld.global.L2::evict_last.f32 %f1, [%rd1];\n}\n"
    found = alarms(text, name="files/k.ptx")

    assert [(one.kind, one.lines) for one in found] == [("cache-policy", (3,))]


def test_docstrings_and_other_texts_are_no_code() -> None:
    python = '"""Uses __global__ and #include <x>; at::matmul(a, b)."""\nname = "matmul of a, b"\n'

    assert not alarms(python, GEMM, "solution.py")


def test_what_is_too_long_is_told() -> None:
    text = "// filler\n" * (LONGEST // 10 + 5) + CALL
    found = alarms(text, GEMM)

    assert [one.kind for one in found] == ["obfuscation"]
    assert "looked into up to line" in found[0].saw


def test_a_text_of_many_pieces_is_put_together() -> None:
    python = 'S = "#include <a>\\n"' + ' + "int a;\\n"' * 200 + ' + "at::mat" + "mul(a);"\n'

    assert place(python) == 1


@pytest.mark.parametrize(
    "python",
    [
        "S = '#include <a>'\n" + "S = S + S\n" * 500,
        "S0 = '#include <a>'\n" + "".join(f"S{n + 1} = S{n} + S{n}\n" for n in range(500)),
        "S = '#include <a>'" + ".replace('a', 'aa')" * 100,
        "a = '#include <a>' + b\nb = a + a\n",
    ],
    ids=["itself", "doubled", "replaced", "in a circle"],
)
def test_texts_that_grow_without_end_are_bounded(python: str) -> None:
    held = native_sources(evidence(python, name="solution.py"))

    assert all(len(source.text) <= LONGEST for source in held)


def test_python_that_cannot_be_parsed_is_no_error() -> None:
    assert not alarms("def (:\n '#include <x>'", GEMM, "solution.py")


HOSTILE = {
    "brackets": "(" * 50_000 + "{" * 50_000,
    "angles": "a<" * 50_000,
    "casts": "(a)" * 50_000,
    "launches": "k<a,b>" * 20_000 + "<<<",
    "quotes": '"' * 50_001 + "'" * 50_001,
    "comment": "/*" * 50_000,
    "raw": 'R"x(' * 30_000,
    "nothing": "\0" * 50_000,
    "spaces": " " * 100_000 + "a",
    "splices": "\\\n" * 50_000,
    "branches": "T f(T x){static T a;" + "if(a){return a;}" * 5_000 + "k<<<1,1>>>(a);}",
    "functions": "T f(){static T a;if(a==1)return a;k<<<1,1>>>(a);}\n" * 2_000,
    "catches": "catch(){" * 20_000,
    "noise": "".join(chr(32 + (n * 7919 + n * n * 31) % 95) for n in range(100_000)),
    "surrogates": "\ud800" * 100 + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_source_is_an_error(name: str) -> None:
    found = list(NativeSources().alarms(evidence(HOSTILE[name], GEMM)))

    assert len(found) < 100
    assert all(len(one.saw) < 400 for one in found)
