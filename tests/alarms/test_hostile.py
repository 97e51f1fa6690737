"""Whatever a run holds, its detectors come to an end and say what they saw, or nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kbsite.alarms.evidence import LONGEST, Evidence
from kbsite.alarms.kinds import BY_ID, SHOWN
from kbsite.model.alarm import Alarm
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.problems import read_problem
from kbsite.store.run_folders import SOLUTION
from kbsite.store.runs import read_run
from tests.alarms.cases import BASE_METRICS, BASE_RUN, PROBLEMS, raised
from tests.hanging import hanging

LONGEST_SENTENCE = 20 * SHOWN

IMPORTS = "import torch\nimport torch.nn as nn\nimport triton\n"
MODEL = "class Model(nn.Module):\n    def forward(self, x):\n        "
INLINE = """from torch.utils.cpp_extension import load_inline
SRC = r'''
{}
'''
load_inline('x', '', SRC)
"""

DEEP = 3000


def chain(text: str, many: int) -> bytes:
    """Lines, each of its number {0} and the next one {1}."""
    return "".join(text.format(i, i + 1) for i in range(many)).encode()


SOURCES: dict[str, bytes] = {
    "empty": b"",
    "a NUL": b"import torch\0\n",
    "only NULs": b"\0" * 5000,
    "two megabytes of one line": b"x = [" + b"1," * 999_000 + b"]\n",
    "two megabytes of lines": b"x = torch.empty(1)\n" * 105_000,
    "two megabytes of blanks": b" " * (LONGEST - 10),
    "more than is read": b"import os\n" * (LONGEST // 10 + 10),
    "no line end": b"import os; os._exit(0)",
    "syntax error": b"def f(:\n  return\n",
    "unclosed bracket": b"x = (((((\n",
    "unclosed string": b"x = '''\nimport os\n",
    "brackets": b"(" * 100_000,
    "paired brackets": b"x = " + b"(" * DEEP + b"1" + b")" * DEEP + b"\n",
    "nested lists": b"x = " + b"[" * 150 + b"]" * 150 + b"\n",
    "unary minus": b"x = " + b"-" * 50_000 + b"1\n",
    "not not": b"x = " + b"not " * 50_000 + b"1\n",
    "long sum": b"x = " + b"1 + " * 20_000 + b"1\n",
    "long concatenation": b"x = " + b"'a' + " * 20_000 + b"'b'\n",
    "long attribute chain": b"x = torch" + b".a" * 20_000 + b"\n",
    "long call chain": b"x = f" + b"()" * 20_000 + b"\n",
    "long subscript chain": b"x = f" + b"[0]" * 20_000 + b"\n",
    "long else-if": b"if a:\n  pass\n" + b"elif a:\n  pass\n" * 5_000,
    "nested blocks": b"".join(b" " * i + b"if a:\n" for i in range(95)) + b" " * 95 + b"pass\n",
    "nested functions": b"".join(b" " * i + b"def f():\n" for i in range(90)) + b" " * 90 + b"0\n",
    "lambdas": b"x = " + b"lambda: " * 2_000 + b"0\n",
    "huge integer": b"x = " + b"9" * 100_000 + b"\n",
    "huge hex": b"x = 0x" + b"f" * 500_000 + b"\n",
    "huge power": b"x = 9 ** 9 ** 9 ** 9\nfor i in range(10 ** 18):\n    y = i\n",
    "huge shift": b"x = 1 << 10 ** 12\ny = 'a' * 10 ** 12\nz = [0] * (1 << 62)\n",
    "doubling text": b"a = 'ab' * 1000\n"
    + chain("a{1} = a{0} + a{0}\n", 60).replace(b"a0", b"a"),
    "doubling join": b"a = 'x'\n" + b"a = a.join([a, a, a, a])\n" * 60 + b"getattr(torch, a)(x)\n",
    "format bomb": b"a = '%1000000000d' % 1\n"
    b"b = f'{1:1000000000}'\nc = '{:>999999999}'.format(1)\n",
    "chr bomb": b"a = ''.join(chr(c) for c in [0x110000, -1, 55296])\ngetattr(torch, a)\n",
    "replace bomb": b"a = 'a' * 4000\n" + b"a = a.replace('a', a)\n" * 40,
    "f-string nest": b"x = f'{f\"{f\\'{1}\\'}\"}'\n",
    "f-strings": b"x = " + b"f'{" * 90 + b"1" + b"}'" * 90 + b"\n",
    "form feeds": b"\x0cimport os\x0c\n\x0b\x0cos._exit(0)\n",
    "carriage returns": b"import os\ros._exit(0)\r\nx = 1\r",
    "unicode line ends": "import os\u2028x = 1\u0085os._exit(0)\n".encode(),
    "byte-order mark": b"\xef\xbb\xbfimport os\nos._exit(0)\n",
    "utf-16": "import os\nos._exit(0)\n".encode("utf-16"),
    "latin-1 cookie": b"# -*- coding: latin-1 -*-\nx = '\xe4\xf6'\n",
    "unknown cookie": b"# -*- coding: no-such-thing -*-\nimport os\n",
    "utf-7 cookie": b"# coding: utf-7\n+AGkAbQBwAG8AcgB0 os\n",
    "broken utf-8": b"x = '\xff\xfe\xc3'\nimport os\n",
    "surrogates": b"x = '\\ud800\\udfff'\ngetattr(torch, x)\n",
    "wide letters": "ｉｍｐｏｒｔ = 1\nimport ｏｓ\nｏｓ._ｅｘｉｔ(0)\n".encode(),
    "right to left": "x = 1  # \u202e evil \u202c\n".encode(),
    "control characters": b"x = 1 # \x1b[31m\x07\x08\n",
    "names that loop": b"a = b\nb = c\nc = a\na()\ngetattr(a, b)(c)\n",
    "name of itself": b"f = f\nf = f.f\nx = x + x\nclass A(A):\n    pass\ndef g(): return g()\n",
    "functions that loop": b"def f(x): return g(x)\ndef g(x): return f(x)\n"
    b"class Model:\n    def forward(self, x): return f(x)\n",
    "classes that loop": b"class A(B): pass\nclass B(A): pass\n"
    b"class Model(A):\n    def forward(self, x): return self.y(x)\n",
    "imports itself": b"from solution import *\nimport solution as s\ns.s.s.s()\n",
    "star imports": b"from torch import *\nfrom os import *\n_exit(0)\n",
    "odd targets": b"(a, *b), [c, (d, e.f[0])] = x\n"
    b"for a.b[0] in y: pass\nwith f() as (g, h): pass\n",
    "walrus and match": b"match x:\n"
    b"    case {'a': [b, *c], **d} if (e := b): pass\n    case A(b=1) | None: pass\n",
    "type statements": b"type A[T: (int, str)] = list[A[T]]\ndef f[T](x: T) -> T: return x\n",
    "async": b"async def forward(x):\n"
    b"    async with a as b:\n        return [await c async for c in d]\n",
    "star and slash": b"def forward(self, x, /, *, y=lambda *a, **k: (yield), **z): return x\n",
    "tabs and spaces": b"if 1:\n\tx = 1\n        y = 2\n",
    "python 2": b"print 'PASS'\nexec 'x = 1'\n",
    "no python": b"<html><script>alert(1)</script></html>\n",
    "markup in a name": b"import os\nos.environ['<img src=x onerror=alert(1)>'] = '</script>'\n",
    "very long name": b"import os as " + b"a" * 200_000 + b"\n" + b"a" * 200_000 + b"._exit(0)\n",
    "very long string": b"open('/proc/" + b"a" * 500_000 + b"', 'w')\n",
    "many functions": chain("def f{0}(x):\n    return f{1}(x)\n", 5_000),
    "many calls of one": b"def f(x):\n    return x\n" + b"f(f(f(f(f(f(f(f(1))))))))\n" * 5_000,
    "branching calls": chain("def f{0}(x):\n    return f{1}(x) + f{1}(x)\n", 200),
    "branching classes": chain(
        "class C{0}(C{1}, D{1}): pass\nclass D{0}(C{1}, D{1}): pass\n", 200
    ),
    "branching names": chain("v{0} = v{1} if c else v{1}\n", 400),
    "many subscripts": b"from torch import a\n" + b"d = {}\nd['k'] = d['k']\n" * 5_000,
}  # fmt: skip

NATIVE: dict[str, bytes] = {
    "empty": b"",
    "braces": b"{" * 200_000,
    "closing braces": b"}" * 200_000,
    "brackets": b"void f() { return " + b"(" * 100_000 + b"1;\n",
    "unclosed comment": b"/* __global__ void f() {}\n" * 10_000,
    "unclosed string": b'const char* s = "abc\n__global__ void f() {}\n',
    "unclosed raw string": b'R"delimiter(' + b"x" * 100_000,
    "long raw delimiter": b'R"' + b"d" * 1_000 + b"(x)" + b"d" * 1_000 + b'"',
    "line continuations": b"int a\\\n" * 20_000 + b";\n",
    "comments": b"/**/" * 100_000 + b"int a;\n",
    "slashes": b"/" * 200_000,
    "quotes": b"'" * 100_000 + b'"' * 100_000,
    "backslashes": b'"' + b"\\" * 200_000,
    "macro of itself": b"#define A A\nA A\n#define B C\n#define C B\nB C\n",
    "macro bomb": b"#define A0 x\n" + chain("#define A{1} A{0} A{0} A{0} A{0}\n", 40) + b"A39\n",
    "paste bomb": b"#define P(a, b) a##b\n" + b"P(" * 3_000 + b"x" + b", y)" * 3_000,
    "macro of many": chain("#define M{0}(x) x##{0}\n", 5_000),
    "templates": b"a<" * 50_000 + b">" * 50_000,
    "adjacent strings": b"const char* s = " + b'"cu" ' * 50_000 + b";\n",
    "trigraphs": b"??=define A ??/\n??<??>\n",
    "NUL": b"int a;\0int b;\n",
    "broken utf-8": b"int \xff\xfe = 0;\n",
    "two megabytes": b"cudaStreamCreate(&s);\n" * 90_000,
    "two megabytes of words": b"a " * 999_000,
    "one long name": b"a" * 1_900_000,
    "many kernels": b"__global__ void k(float* p) { p[0] = 1; }\n" * 20_000,
    "many launches": b"k<<<1, 1, 0, s>>>(p);\n" * 20_000,
    "many braces": b"void f() {" + b"{}" * 100_000 + b"}\n",
    "many asm": b'asm volatile("ld.global.L2::evict_last" : : "l"(p));\n' * 10_000,
    "chevrons": b"<" * 100_000 + b">" * 100_000,
    "preprocessor": b"#if 1\n" * 20_000 + b"#else\n#endif\n" * 20_000,
}

COMMANDS = {
    "long": "a" * 1_000_000,
    "quotes": "'" * 20_000 + '"' * 20_001,
    "backslashes": "\\" * 100_000,
    "substitutions": "$(" * 10_000 + "echo" + ")" * 10_000,
    "backquotes": "`" * 30_001,
    "pipes": "a|" * 50_000,
    "semicolons": ";" * 100_000,
    "here-documents": "cat <<A <<B <<C\n" * 5_000,
    "unclosed here-document": "cat > check.py <<'EOF'\n" + "x\n" * 50_000,
    "nested shells": "bash -c '" * 2_000 + "ls" + "'" * 2_000,
    "variables": "A=$A$A; " * 10_000 + "rm $A",
    "kills": "kill -9 $(pgrep python); " * 5_000,
    "paths": "cat " + "../" * 30_000 + "outputs/runs/x/solution.py",
    "control": "\x00\x1b[2J\x07 pkill python",
    "surrogates": "echo \ud800 && pkill python",
    "urls": "curl http://" + "a." * 50_000,
    "blanks": " " * 500_000 + "pkill python",
    "slashes": "/" * 300_000,
    "dashes": "-" * 300_000 + " --x",
    "new lines": "\n" * 300_000 + "pkill python",
}


def _run(tmp_path: Path, files: dict[str, bytes], name: str = "run", **metrics: Any) -> Evidence:
    partial = new_run_folder(tmp_path / "board", name)
    for path, data in files.items():
        (partial / path).parent.mkdir(parents=True, exist_ok=True)
        (partial / path).write_bytes(data)
    run = msgspec.convert({**BASE_RUN, "id": name, "problem": "gemm"}, Run)
    grade = msgspec.convert({**BASE_METRICS, **metrics}, Metrics)
    folder = complete(partial, run, grade)
    return Evidence(read_run(folder), read_problem(PROBLEMS / "gemm"), eager=0.1)


def _all(*runs: Evidence) -> list[Alarm]:
    """What is found, each of it fit to be shown."""
    with hanging():
        found = raised(runs)
    for alarm in found:
        assert alarm.kind in BY_ID
        assert alarm.saw
        assert len(alarm.saw) <= LONGEST_SENTENCE
        assert "\n" not in alarm.saw
        assert len(alarm.lines) <= 2
        assert all(line >= 1 for line in alarm.lines)
        assert alarm.lines == tuple(sorted(alarm.lines))
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_a_hostile_solution_is_looked_over(name: str, tmp_path: Path) -> None:
    _all(_run(tmp_path, {SOLUTION: SOURCES[name]}))


@pytest.mark.parametrize("name", [name for name, text in SOURCES.items() if len(text) < 300_000])
def test_a_hostile_sidecar_does_not_hide_what_the_solution_does(name: str, tmp_path: Path) -> None:
    plain = f"{IMPORTS}import os\n{MODEL}os._exit(0)\n".encode()
    found = _all(_run(tmp_path, {SOLUTION: plain, "files/part.py": SOURCES[name]}))

    assert "early-exit" in {alarm.kind for alarm in found if alarm.file == SOLUTION}


@pytest.mark.parametrize("name", NATIVE)
def test_a_hostile_native_source_is_looked_over(name: str, tmp_path: Path) -> None:
    inline = INLINE.format(NATIVE[name].decode("utf-8", "replace").replace("'''", "")).encode()
    _all(
        _run(tmp_path, {SOLUTION: b"import torch\n", "files/kernel.cu": NATIVE[name]}),
        _run(tmp_path, {SOLUTION: inline}, "inline"),
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_hostile_command_is_looked_over(name: str, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": COMMANDS[name]}}
    odd = {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": [COMMANDS[name]]}}
    rows = [
        {"type": "assistant", "message": {"id": f"m{i}", "role": "assistant", "content": [part]}}
        for i, part in enumerate((call, odd))
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()

    _all(_run(tmp_path, {SOLUTION: b"x = 1\n", "transcript/stdout.jsonl": text}))


@pytest.mark.parametrize("least", [0, 1e-300, 1e300, -1.0, float("inf"), float("nan")])
def test_hostile_figures_are_looked_over(least: float, tmp_path: Path) -> None:
    told = least if math.isfinite(least) else None
    shapes = [{"shape": "x" * 10_000, "ms": told, "ceiling_ms": told, "peak_fraction": told}]
    lines = [
        json.dumps({"round": round_, "shape": "x", "ms": [least] * 5}) for round_ in (1, 2, -3)
    ]
    samples = "\n".join([*lines, "{", "[]", '{"round": "1"}']).encode()

    _all(
        _run(tmp_path, {SOLUTION: b"", "samples.jsonl": samples}, peak_fraction=told, shapes=shapes)
    )


def test_the_same_source_in_many_runs_is_compared_once_for_all(tmp_path: Path) -> None:
    source = (IMPORTS + MODEL + "return x + 1\n" * 50).encode()
    runs = [_run(tmp_path, {SOLUTION: source}, f"run{i}") for i in range(60)]

    found = _all(*runs)

    assert len(found) <= 60 * len(runs)


def test_many_odd_sources_are_compared(tmp_path: Path) -> None:
    texts = enumerate([*SOURCES.values(), *NATIVE.values()])
    _all(*(_run(tmp_path, {SOLUTION: text}, f"run{i}") for i, text in texts if len(text) < 50_000))


def test_what_a_run_says_of_itself_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"import pathlib\npathlib.Path({str(mark)!r}).write_text('x')\n"
    files = {SOLUTION: code.encode(), "files/sitecustomize.py": code.encode()}

    _all(_run(tmp_path, files))

    assert not mark.exists()
