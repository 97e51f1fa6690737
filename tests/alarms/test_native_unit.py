"""What a native source is made into before any rule looks: functions, calls, names, its problem."""

from __future__ import annotations

import pytest

from kbsite.alarms.native.solution import is_trivial
from kbsite.alarms.native.source import NativeSource
from kbsite.alarms.native.state import branches
from kbsite.alarms.native.task import precisions, task
from kbsite.alarms.native.unit import Unit, unit
from tests.alarms.native.seen import evidence, stored_problem


def read(text: str) -> Unit:
    return unit(NativeSource("files/k.cu", text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("void f() { g(); }", ["f"]),
        ("template <typename T, int N> T f(T (&x)[N]) { return x[0]; }", ["f"]),
        ("auto f(int a) -> torch::Tensor { return h(a); }", ["f"]),
        ("int f() const noexcept override { return 1; }", ["f"]),
        ("namespace a { namespace b { void f() {} } }", ["f"]),
        ("struct S { int f() { return 1; } void g() { if (x) { y(); } } };", ["f", "g"]),
        ("torch::Tensor S::run(torch::Tensor x) { return x; }", ["S::run"]),
        ('extern "C" { void f() {} }', ["f"]),
        ('extern "C" __global__ void f(float* x) { x[0] = 1; }', ["f"]),
        ("__global__ void __launch_bounds__(256, 2) f(int n) { }", ["f"]),
        ("int a[] = {1, 2, 3}; struct S { int x; } s = {f(1)};", []),
        ("void f();\nint g(int);", []),
        ("enum class E : int { a, b }; union U { int x; float y; };", []),
        ("void f() { auto g = [&](int x) { return x; }; while (g(1)) { h(); } }", ["f"]),
        ("void f() try { g(); } catch (...) { h(); }", []),
        ("#define BODY { return 1; }\nint f() BODY\n", ["f"]),
        ("#define FN(name) void name() { g(); }\nFN(one)\nFN(two)\n", ["one", "two"]),
        ("void f() { ", []),
        ("} void f() { }", ["f"]),
    ],
)
def test_the_functions_of_a_source_are_found(text: str, names: list[str]) -> None:
    assert [one.name for one in read(text).functions] == names


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("f(1);", True),
        ("return f(1);", True),
        ("x = f(1);", True),
        ("else f(1);", True),
        ("(void)f(1);", True),
        ("!f(1)", True),
        ("case f(1):", True),
        ("::f(1);", True),
        ("#define G f\nG(1);", True),
        ("int f(1);", False),
        ("auto f(int x);", False),
        ("a.f(1);", False),
        ("a->f(1);", False),
        ("~f();", False),
        ("f;", False),
        ('"f(1)";', False),
        ("// f(1)\n;", False),
    ],
)
def test_calls_are_told_from_declarations_and_members(text: str, called: bool) -> None:
    assert bool(list(read(text).calls("f"))) == called


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("f()", []),
        ("f(a)", ["a"]),
        ("f(a, b)", ["a", "b"]),
        ("f(g(a, b), c)", ["g ( a , b )", "c"]),
        ("f({a, b}, c[d, e])", ["{ a , b }", "c [ d , e ]"]),
        ("f([&](int a, int b) { return a, b; })",
         ["[ & ] ( int a , int b ) { return a , b ; }"]),
        ("f(a, b", []),
        ("#define A x, y\nf(A)", ["x", "y"]),
    ],
)  # fmt: skip
def test_arguments_are_told_apart(text: str, given: list[str]) -> None:
    held = read(text)

    (at,) = held.names["f"]
    assert [held.written(place) for place in held.arguments(at)] == given


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("void f() { k<<<1, 1>>>(x); }", 1),
        ("void f() { k<float, 4><<<dim3(1), 32, 0, s>>>(x); k<<<1, 1>>>(y); }", 2),
        ("void f() { cudaLaunchKernel((void*)k, g, b, a, 0, s); }", 1),
        ("void f() { cudaLaunchKernelEx(&config, k, x); cuLaunchKernel(h); }", 2),
        ("#define GO(k) k<<<1, 1>>>()\nvoid f() { GO(a); GO(b); }", 2),
        ("#define ARROWS <<<1, 1>>>\nvoid f() { k ARROWS (x); }", 1),
        ("void f() { x = a << b; std::cout << c << d; }", 0),
        ('void f() { puts("k<<<1, 1>>>()"); /* k<<<1, 1>>>() */ }', 0),
        ("void f() { k<<\\\n<1, 1>>>(x); }", 1),
    ],
)
def test_launches_are_found(text: str, many: int) -> None:
    held = read(text)

    assert len(held.launches) == many
    assert held.launched_in(held.functions[0].body) == held.launches


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("using namespace torch; mm(x);", "torch::mm"),
        ("using torch::mm; mm(x);", "torch::mm"),
        ("namespace t = torch; t::mm(x);", "torch::mm"),
        ("namespace F = torch::nn::functional; F::mm(x);", "torch::nn::functional::mm"),
        ("namespace t = at; using namespace t; mm(x);", "at::mm"),
        ("using t = at::Tensor; t::mm(x);", "at::Tensor::mm"),
        ("torch\n::\nmm(x);", "torch::mm"),
        ("torch::/* at */mm(x);", "torch::mm"),
        ("#define NS torch\n#define SEP ::\nNS SEP mm(x);", "torch::mm"),
    ],
)
def test_names_are_known_by_all_that_they_are_of(text: str, full: str) -> None:
    assert full in read(text).names


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ('f("a" "b" \'c\' "d");', ["ab", "d"]),
        ('f("a" /* gap */\n "b");', ["ab"]),
        ('#define Q "q"\nf("a" Q "b");', ["aqb"]),
        ('f(R"x(a"\n)x" "b");', ['a"\nb']),
        ('f(u8"\\x61" L"b");', ["ab"]),
        ('f("//", "/*", "*/");', ["//", "/*", "*/"]),
        ('f("a\\\nb");', ["ab"]),
        ('f(R"(a\nb)");', ["a\nb"]),
    ],
)
def test_texts_are_put_together_as_the_language_does(text: str, strings: list[str]) -> None:
    assert [held for _, held in read(text).strings] == strings


@pytest.mark.parametrize(
    ("text", "tests", "guarded"),
    [
        ("void f() { if (a) b(); c(); }", ["( a )"], ["b ( ) ;"]),
        ("void f() { if (a) { b(); } }", ["( a )"], ["{ b ( ) ; }"]),
        ("void f() { if constexpr (a) b(); }", ["( a )"], ["b ( ) ;"]),
        ("void f() { if (a) b(); else if (c) d(); }", ["( a )", "( c )"],
         ["b ( ) ;", "d ( ) ;"]),
        ("#define WHEN if\nvoid f() { WHEN (a) b(); }", ["( a )"], ["b ( ) ;"]),
        ("void f() { if (a", [], []),
    ],
)  # fmt: skip
def test_branches_are_known_with_what_they_guard(
    text: str, tests: list[str], guarded: list[str]
) -> None:
    held = read(text)
    found = list(branches(held, (0, len(held.tokens) - 1)))

    assert [held.written(one.test) for one in found] == tests
    assert [held.written(one.body) for one in found] == guarded


NOTHING = [
    "",
    ";;",
    "int i = threadIdx.x;",
    "y[i] = x[i];",
    "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];",
    "y[i] = x[i] + 0.0f;",
    "y[i] = x[i] * 1.0f;",
    "y[i] = (float)x[i];",
    "y[i] = static_cast<half>(x[i]);",
    "float v = x[i]; y[i] = v;",
    "for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];",
    "y[i] = 0;",
    "y[i] += 0;",
    "y[i] *= 1.0f;",
    "const float4 v = p[i]; q[i] = v;",
]
SOMETHING = [
    "y[i] = x[i] * x[i];",
    "y[i] = x[i] * 2.0f;",
    "y[i] = a[i] + b[i];",
    "y[i] += x[i];",
    "y[i] = x[i] + 1e-5f * 0.1f;",
    "y[i] = max(a[i], b[i]);",
    "y[i] = expf(x[i]);",
    'asm volatile("mma.sync...");',
    "atomicAdd(y, x[i]);",
    "__syncthreads(); y[0] = s[0];",
    "if (i < n) { float s = 0; for (int k = 0; k < n; ++k) s += a[k] * b[k]; y[i] = s; }",
]


@pytest.mark.parametrize("body", NOTHING)
def test_a_kernel_that_only_moves_data_is_trivial(body: str) -> None:
    held = read(f"__global__ void k(float* x, float* y, int n) {{ {body} }}")

    assert is_trivial(held, held.kernels[0])


@pytest.mark.parametrize("body", SOMETHING)
def test_a_kernel_that_computes_is_not_trivial(body: str) -> None:
    held = read(f"__global__ void k(float* x, float* y, int n) {{ {body} }}")

    assert not is_trivial(held, held.kernels[0])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("bf16 gemm", {"bf16"}),
        ("gemm in fp8 (e4m3), fp32 accumulate", {"fp8", "fp32"}),
        ("w4a16 gemm", {"int4"}),
        ("w8a8", {"int8"}),
        ("nvfp4 grouped gemm", {"fp4"}),
        ("half precision", {"fp16"}),
        ("doubled rows, halved columns", set()),
        ("afp16 fp16x", set()),
        ("float8_e4m3fn", {"fp8"}),
        ("tf32 is allowed", {"tf32"}),
        ("uint8 codes", {"int8"}),
        ("", set()),
    ],
)
def test_precisions_are_read_from_words(text: str, named: set[str]) -> None:
    assert precisions(text) == named


@pytest.mark.parametrize(
    ("title", "reference", "known"),
    [
        ("GEMM", "y = a @ b", {"fp32"}),
        ("GEMM", "y = a.to(torch.bfloat16) @ b", {"bf16"}),
        ("BF16 GEMM", "y = torch.mm(a, b).to(torch.float32)", {"bf16", "fp32"}),
        ("GEMM", "", set()),
        ("FP8 GEMM", "", {"fp8"}),
    ],
)
def test_the_precisions_of_a_problem_are_those_it_names(
    title: str, reference: str, known: set[str]
) -> None:
    held = stored_problem(title, reference=reference)

    assert task(evidence({}, held)).precisions == known


@pytest.mark.parametrize(
    ("title", "forbidden", "reference", "families"),
    [
        ("Softmax", [], "y = torch.softmax(x, -1)", {"softmax"}),
        ("GEMM", [], "y = x", {"matmul"}),
        ("A problem", [], "y = a @ b", {"matmul"}),
        ("A problem", [], "@decorated\ndef f(): pass", set()),
        ("A problem", ["F.layer_norm("], "", {"normalisation"}),
        ("A problem", [], "y = self.conv(x)", set()),
        ("A problem", [], "self.c = nn.Conv2d(3, 4, 5)", {"convolution"}),
    ],
)
def test_the_families_of_a_problem_are_those_it_is_about(
    title: str, forbidden: list[str], reference: str, families: set[str]
) -> None:
    assert task(evidence({}, stored_problem(title, forbidden, reference))).families == families


@pytest.mark.parametrize(
    ("spelled", "op", "family"),
    [
        ("torch.matmul", "matmul", "matmul"),
        ("F.scaled_dot_product_attention(", "scaled_dot_product_attention", "attention"),
        ("nn.LayerNorm", "layernorm", "normalisation"),
        (".topk(", "topk", "sort"),
        ("torch.ops.aten.mm", "mm", "matmul"),
    ],
)
def test_what_is_forbidden_is_known_by_operation_and_family(
    spelled: str, op: str, family: str
) -> None:
    held = task(evidence({}, stored_problem(forbidden=[spelled]))).forbidden

    assert held == {op: spelled, family: spelled}


def test_a_run_without_a_problem_is_judged_by_nothing() -> None:
    held = task(evidence({}))

    assert not held.forbidden
    assert not held.precisions
