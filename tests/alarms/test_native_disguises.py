"""One trick in many spellings: what it is told as does not depend on how it is written."""

from __future__ import annotations

import pytest

from kbsite.model.alarm import Level
from tests.alarms.native.seen import alarms, stored_problem

GEMM = stored_problem("BF16 GEMM", ["torch.matmul"], "y = a @ b")
KERNEL = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[0] * x[1]; }\n"
GO = "k<<<g, b>>>(x.data_ptr<float>(), y.data_ptr<float>());"
RUN = "torch::Tensor run(torch::Tensor x) {{ auto y = make(x); {0} return y; }}\n"


def loud(text: str) -> set[str]:
    found = alarms(KERNEL + text, GEMM)
    return {one.kind for one in found if one.level is not Level.NOTE}


def host(body: str, before: str = "") -> str:
    return f"{before}\n" + RUN.format(body)


COUNTS = [
    host(f"static int c = 0; int m = ++c; if (m > 10) return y; {GO}"),
    host(f"static int c; int m = c++ < 3 ? 1 : 0; if (m) return y; {GO}"),
    host(f"static int c; switch (++c) {{ case 1: {GO} break; default: return y; }}"),
    host(f"while (++c > 10) return y; {GO}", "int c = 0;"),
    host(f"if (++c > 10) return y; {GO}", "int c{0};"),
    host(f"if (++c > 10) goto end; {GO} end:", "static unsigned c;"),
    host(f"if (c++ > 10) [[likely]] {{ return y; }} {GO}", "namespace {{ long c = 0; }}"),
    host(f"c = c + 1; if (c % 5) return y; {GO}", "thread_local int c = 0;"),
    host(f"c.fetch_add(1); if (c > 5) return y; {GO}", "std::atomic<int> c{0};"),
    host(f"if (c) return y; c += 1; {GO}", "struct P {{ int a; }};\nint c;"),
]
KEPT = [
    host(f"if (x.data_ptr() == last) return kept; {GO} last = x.data_ptr(); kept = y;",
         "void* last = nullptr;\ntorch::Tensor kept;"),
    host(f"const void* p = x.data_ptr(); if (p == last) return y; {GO} last = p;",
         "const void* last;"),
    host(f"auto key = (uintptr_t)x.data_ptr(); if (key == last) {{ return y; }} {GO} last = key;",
         "namespace { uintptr_t last = 0; }"),
    host(f"if (x.const_data_ptr() == last) goto end; {GO} end:", "void* last;"),
]  # fmt: skip


@pytest.mark.parametrize("text", COUNTS)
def test_calls_that_are_counted(text: str) -> None:
    assert "call-count" in loud(text.replace("{{", "{").replace("}}", "}"))


@pytest.mark.parametrize("text", KEPT)
def test_results_that_an_address_gives_back(text: str) -> None:
    assert "output-cache" in loud(text)


@pytest.mark.parametrize(
    "text",
    [
        host(f"if (n > 10) return y; {GO}", "constexpr int n = 4;"),
        host(f"if (n > 10) return y; {GO}", "const int n = 4;"),
        host(f"int c = 0; ++c; if (c > 10) return y; {GO}"),
        host(f"for (int i = 0; i < 3; ++i) {{ {GO} }}"),
        host(f"if (count == 0) {{ cudaGetDeviceCount(&count); }} {GO}", "int count = 0;"),
        host(f"calls++; {GO}", "int calls = 0;"),
        host(f"P p; p.n++; if (p.n > 3) throw x; {GO}", "struct P { int n; };"),
        host(f"if (c > 3) return y; {GO}", "int c(int);\nvoid other() { }"),
        host(f"while (i < 3) {{ {GO} i++; }}".replace("while", "int i = 0; while")),
    ],
)
def test_variables_of_the_call_and_constants_count_nothing(text: str) -> None:
    assert not loud(text)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('(system)("ls");', "outside-world"),
        ('auto f = &system; f("ls");', "outside-world"),
        ('auto f = system; f("ls");', "outside-world"),
        ('int (*f)(const char*) = &::system; f("ls");', "outside-world"),
        ("syscall(SYS_process_vm_readv, pid);", "outside-world"),
        ("exit(0x0);", "early-exit"),
        ("std::exit((0));", "early-exit"),
        ("exit((int)0u);", "early-exit"),
        ("at::native::mm_cuda(x, x);", "forbidden-op"),
        ('PyObject_CallMethod(t, "matmul", "OO", a, b);', "forbidden-op"),
        ('PyObject_GetAttrString(t, "mm");', "forbidden-op"),
        ('torch::jit::compile("def f(a): return a");', "obfuscation"),
        ("auto p = (uintptr_t)x.data_ptr() & ~(uintptr_t)0xfffff;", "memory-scan"),
        ("auto p = (uintptr_t)x.data_ptr() & ~static_cast<size_t>(65535);", "memory-scan"),
    ],
)
def test_names_and_numbers_in_other_words(body: str, kind: str) -> None:
    assert kind in loud(host(f"{GO} {body}"))


@pytest.mark.parametrize(
    "body",
    [
        "cudaEvent_t fork; cudaEventCreate(&fork);",
        "cudaEvent_t fork; auto* at = &fork;",
        "int kill = 0; bool stop = kill;",
        "exit(status);",
        "exit(10);",
        "exit(0x10);",
        "std::exit(EXIT_FAILURE);",
        'TORCH_CHECK(ok, "matmul");',
        "auto p = (uintptr_t)x.data_ptr() & ~(uintptr_t)0xf;",
        "// the prefix that all share, as a system prompt is\n",
    ],
)
def test_what_only_sounds_like_it(body: str) -> None:
    assert not loud(host(f"{body} {GO}"))


@pytest.mark.parametrize(
    "head",
    [
        "#define SEP ::\n#define GO at SEP mm\n",
        "#define SEP ::\n#define NS at\n#define GO NS SEP mm\n",
        "#define IN(x) x ::\n#define GO IN(at) mm\n",
    ],
)
def test_namespaces_that_a_macro_puts_together(head: str) -> None:
    assert "forbidden-op" in loud(head + host(f"{GO} auto z = GO(x, x);"))
