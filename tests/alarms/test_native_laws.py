"""What holds of native code however it is written: splices, comments, macros, Python around it."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.native import MOST
from kbsite.alarms.native.source import NativeSource
from kbsite.alarms.native.sources import LONGEST, native_sources
from kbsite.alarms.native.sources import MOST as MOST_SOURCES
from kbsite.alarms.native.tokens import spliced, tokens, value
from kbsite.alarms.native.unit import unit
from kbsite.model.alarm import Alarm
from tests.alarms.native.seen import alarms, evidence, stored_problem

GEMM = stored_problem("GEMM", ["torch.matmul"])
KERNEL = "__global__ void k(float* y) { y[threadIdx.x] *= 2; }\n"
LAW = settings(max_examples=40, deadline=None)
CALL = "auto z = at::matmul(x, w);"

ROWS = st.lists(
    st.sampled_from(
        ["int a = 1;", "}", "{", "", "  y[i] = x[i];", "#pragma unroll", "// at::matmul(a, b)",
         "#include <vector>", "/* two", "rows */", 'f("text");', "k<<<1, 2>>>(y);"]
    ).filter(lambda row: row not in ("/* two", "rows */")),
    max_size=12,
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
GAPS = st.sampled_from(["", " ", "\n", "\\\n", "/* at::mm(x) */", "// x\n", "\t\f\v", "\\\r\n"])


def forbidden(files: dict[str, str] | str, name: str = "files/kernel.cu") -> list[Alarm]:
    return [one for one in alarms(files, GEMM, name) if one.kind == "forbidden-op"]


@LAW
@given(st.lists(st.sampled_from(["\\\n", "\\\r\n"]), max_size=3), st.integers(0, 60))
def test_a_splice_may_stand_anywhere(splices: list[str], at: int) -> None:
    text = f'static int a = 0x1F; f("b c", {CALL})'
    cut = text[:at] + "".join(splices) + text[at:]

    whole = [word for _, word, _ in tokens(text)]
    assert [word for _, word, _ in tokens(spliced(cut).joined)] == whole


@LAW
@given(ROWS, ROWS, ENDS)
def test_the_line_is_that_of_the_file_whatever_ends_lines(
    before: list[str], after: list[str], end: str
) -> None:
    text = end.join([*before, CALL, *after])

    (found,) = forbidden(text)
    assert found.lines == (len(before) + 1,)


@LAW
@given(st.lists(GAPS, min_size=6, max_size=6))
def test_gaps_between_the_parts_of_a_name_hide_nothing(gaps: list[str]) -> None:
    words = ("at", "::", "matmul", "(", "x", ")", ";")
    text = "".join(part for pair in zip(words, [*gaps, ""], strict=True) for part in pair)

    (found,) = forbidden(text)
    assert found.lines == (1,)


@LAW
@given(st.text(string.printable, max_size=60))
def test_what_stands_in_a_comment_is_no_call(text: str) -> None:
    quiet = text.replace("*/", "").replace("\n", " ").replace("\r", " ").rstrip("\\*/?")

    assert not forbidden(f"// {quiet} at::matmul(x, w) \nint a;")
    assert not forbidden(f"/* {quiet} \n at::matmul(x, w) */ int a;")


@LAW
@given(st.text(max_size=60))
def test_what_stands_in_a_text_is_no_call(text: str) -> None:
    literal = json.dumps(f"{text} at::matmul(x, w)")

    assert not forbidden(f"const char* s = {literal};")
    assert not forbidden(f'auto s = R"mark({text} at::matmul(x, w))mark";')


@LAW
@given(st.text(string.printable, max_size=40), st.text(string.ascii_letters, max_size=16))
def test_raw_texts_stand_for_what_is_in_them(text: str, mark: str) -> None:
    literal = f'R"{mark}({text}){mark}"'
    if f'){mark}"' in text:
        return
    ((_, word, _),) = tokens(literal)

    assert word == literal
    assert value(word) == text


@LAW
@given(st.permutations(range(8)))
def test_aliases_are_followed_in_whatever_order_they_are_defined(order: list[int]) -> None:
    defined = [f"#define A{n} A{n + 1}\n" for n in range(8)]
    text = "".join(defined[n] for n in order) + "#define A8 at::matmul\nauto z = A0(x, w);\n"

    (found,) = forbidden(text)
    assert found.lines == (10,)


@LAW
@given(st.integers(1, 5), st.integers(0, 6))
def test_a_name_may_be_pasted_of_any_pieces(pieces: int, before: int) -> None:
    word = "matmul"
    size = -(-len(word) // pieces)
    parts = [word[at : at + size] for at in range(0, len(word), size)]
    names = ", ".join(f"p{n}" for n in range(len(parts)))
    body = " ## ".join(f"p{n}" for n in range(len(parts)))
    text = f"#define J({names}) {body}\n" + "\n" * before + f"at::J({', '.join(parts)})(x);"

    (found,) = forbidden(text)
    assert found.lines == (before + 2,)


@LAW
@given(st.sampled_from(["#if 0", "#ifdef NEVER", "#ifndef X", "#if defined(A) && B > 2"]), ROWS)
def test_conditions_of_the_preprocessor_hide_nothing(condition: str, rows: list[str]) -> None:
    text = "\n".join([condition, *rows, CALL, "#else", "int other;", "#endif"])

    assert [one.lines for one in forbidden(text)] == [(len(rows) + 2,)]


def in_raw_text(rows: list[str]) -> tuple[str, int]:
    return 'S = r"""\n' + "\n".join(rows) + '\n"""\n', 1


def in_plain_text(rows: list[str]) -> tuple[str, int]:
    return "S = '''" + "\n".join(row.replace("\\", "\\\\") for row in rows) + "'''\n", 0


def in_dedented_text(rows: list[str]) -> tuple[str, int]:
    inner = "\n".join(f"        {row}" for row in rows)
    return f"import textwrap\nS = textwrap.dedent('''\n{inner}\n''').strip()\n", 2


def in_adjacent_texts(rows: list[str]) -> tuple[str, int]:
    return "S = (\n" + "".join(f"    {row + chr(10)!r}\n" for row in rows) + ")\n", 1


def in_a_list(rows: list[str]) -> tuple[str, int]:
    return 'S = "\\n".join([\n' + "".join(f"    {row!r},\n" for row in rows) + "])\n", 1


def in_a_sum(rows: list[str]) -> tuple[str, int]:
    return "S = (''\n" + "".join(f"    + {row + chr(10)!r}\n" for row in rows) + ")\n", 1


def in_a_call(rows: list[str]) -> tuple[str, int]:
    joined = "\n".join(rows)
    return f"ext = load_inline(\n    name='x',\n    cpp_sources='''{joined}''',\n)\n", 2


def in_a_class(rows: list[str]) -> tuple[str, int]:
    joined = "\n".join(rows)
    return f"class Sources:\n    device = '''\n{joined}\n    '''\n", 2


def in_a_formatted_text(rows: list[str]) -> tuple[str, int]:
    joined = "\n".join(rows).replace("{", "{{").replace("}", "}}")
    return f"N = 3\nS = f'''\n{joined}\nint n = {{N}};\n'''\n", 2


WAYS = {
    way.__name__: way
    for way in (in_raw_text, in_plain_text, in_dedented_text, in_adjacent_texts, in_a_list,
                in_a_sum, in_a_call, in_a_class, in_a_formatted_text)
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@LAW
@given(before=ROWS, after=ROWS, above=st.integers(0, 5))
def test_the_line_is_that_of_solution_py(
    way: str, before: list[str], after: list[str], above: int
) -> None:
    """A line that stands once is found, however the text around it is put together."""
    text, first = WAYS[way](["#include <torch/extension.h>", *before, CALL, *after])

    (found,) = forbidden("x = 1\n" * above + text, "solution.py")
    assert found.lines == (above + first + len(before) + 2,)


@LAW
@given(ROWS, st.integers(2, 4))
def test_the_same_line_in_several_texts_is_told_in_each(rows: list[str], many: int) -> None:
    rows = rows or [""]
    texts = [
        f'S{n} = """#include <a{n}>\n' + "\n".join(rows) + f'\n{CALL}\n"""\n' for n in range(many)
    ]

    found = forbidden("".join(texts), "solution.py")

    step = len(rows) + 3
    assert sorted(one.lines for one in found) == [(n * step + len(rows) + 2,) for n in range(many)]


TRICKS = [
    'system("x");', "fork();", CALL, "x.zero_();", "exit(0);", '"PASS";', "static int n = 0;",
    "if (++n > 3) return y;", "cudaStreamCreate(&s);", "mprotect(p, 1, 2);", 'getenv("SEED");',
    "#define A(x) x ## x", "A(fo)", "// note to the auditor: skip", "catch (...) { at::mm(x); }",
    'asm("mma.sync.f32.f16.f16.f32 %0;");', 'asm("ld.L2::evict_last.f32 %0;");', "std::thread t;",
    "k<<<1, 1>>>(x);", "torch::Tensor f(torch::Tensor x) {", "}", "return y;", "(", "/*", '"', "\\",
    "__global__ void k(float* x) { }", "auto y = torch::empty(3);", "#define B", "R\"(",
    "while (clock64()) {}",
]  # fmt: skip


@LAW
@given(st.lists(st.sampled_from(TRICKS), max_size=30), st.sampled_from(["\n", " ", "\\\n"]))
def test_what_is_told_lies_within_the_file_and_once_at_a_place(rows: list[str], end: str) -> None:
    text = end.join(rows)
    found = alarms(text, stored_problem("FP32 GEMM", ["torch.matmul"]))

    assert found == alarms(text, stored_problem("FP32 GEMM", ["torch.matmul"]))
    places = [(one.kind, one.file, one.lines) for one in found]
    assert len(set(places)) == len(places)
    last = text.count("\n") + 1
    assert all(1 <= one.lines[0] <= one.lines[-1] <= last for one in found)


@LAW
@given(st.lists(st.sampled_from(TRICKS), max_size=30).map("\n".join))
def test_brackets_that_match_know_each_other(text: str) -> None:
    held = unit(NativeSource("k.cu", text))

    for at, other in held.partner.items():
        assert held.partner[other] == at
        pair = held.tokens[min(at, other)][1] + held.tokens[max(at, other)][1]
        assert pair in ("()", "[]", "{}")
    for one in held.functions:
        assert one.head[0] <= one.head[1] < one.body[0] < one.body[1]
        assert held.partner[one.body[0]] == one.body[1]


def test_there_is_an_end_to_what_is_told_of_one_kind() -> None:
    rows = "".join(
        f'const char* s{n} = "\\x6d\\x61\\x74\\x6d\\x75\\x6c";\n' for n in range(MOST * 3)
    )

    assert len(alarms(rows)) == MOST


def test_there_is_an_end_to_the_sources_of_a_run() -> None:
    files = {f"files/{n:04}.cu": CALL for n in range(MOST_SOURCES * 2)}

    assert len(native_sources(evidence(files))) == MOST_SOURCES


@pytest.mark.parametrize(
    ("unit_of", "kind"),
    [
        ("a /* b */ ", ""),
        ('"\\x41" ', ""),
        ("#define A(x) x\nA(1)\n", ""),
        ("k<<<1, 1>>>(x); ", ""),
        ("{ if (a) { return b; } } ", ""),
        ("at::", ""),
        ("\\\n", ""),
        ("R\"x(", ""),
        ("'", ""),
        ("\0", ""),
        ("é\u202e", "obfuscation"),
    ],
    ids=["comments", "letters", "macros", "launches", "branches", "namespaces", "splices", "raw",
         "quotes", "NUL", "not seen"],
)  # fmt: skip
def test_two_megabytes_of_anything_are_looked_into(unit_of: str, kind: str) -> None:
    """What is cut is told, and what stands before the cut is found."""
    text = f"{KERNEL}system(x);\n" + unit_of * (2_000_000 // len(unit_of))

    kinds = {one.kind for one in alarms(text)}

    assert len(text) > LONGEST
    assert kinds >= {"outside-world", "obfuscation", kind or "obfuscation"}


@pytest.mark.parametrize("depth", [1, 100, 20_000])
@pytest.mark.parametrize("pair", ["()", "[]", "{}"])
def test_nested_brackets_hide_nothing(pair: str, depth: int) -> None:
    text = "void f() { x = " + pair[0] * depth + CALL + pair[1] * depth + "; }\n"

    assert [one.lines for one in forbidden(text)] == [(1,)]


@pytest.mark.parametrize(
    "noise",
    ["\0", "\0\0at::", "\ufffd", "\ufeff", "'", '"', "'a", '"a', "*/", "#", "##", "\\", ")", "]",
     "}",
     ">>>", "<<<", "1'", "0x", "'\\'", "L'", 'u8"', "R\"", "`", "@", "$", "\x1a", "//", "#define",
     "#define (", "#include", "#include <"],
)  # fmt: skip
def test_noise_in_the_line_before_hides_nothing(noise: str) -> None:
    assert [one.lines for one in forbidden(f"int a; {noise}\n{CALL}\n")] == [(2,)]
