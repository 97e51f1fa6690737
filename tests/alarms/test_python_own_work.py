"""Who does the work: no kernel, a fig leaf, a fall-back, and kernels that do it themselves."""

from __future__ import annotations

import pytest

from tests.alarms.solutions import found, loud, model, problem
from tests.alarms.twins import ALARM, NOTE, WARNING, Twins, each, solution

FREE = problem(title="Linear layer")
BANNED = problem(title="GEMM", forbidden=("torch.matmul",))
IDLE = """
@triton.jit
def _idle(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, {}, mask=i < n)
"""
NATIVE = "from torch.utils.cpp_extension import load_inline\n"

LEAVES = [
    Twins(
        "the result is thrown away", "fig-leaf", ALARM,
        solution("""
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=1024)  #!
            return torch.softmax(x, -1)
            """),
        solution("""
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=1024)
            return torch.softmax(y, -1)
            """, ),
        problem(title="Softmax of twice the input"),
    ),
    Twins(
        "the result is written over", "fig-leaf", ALARM,
        solution("""
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=1024)  #!
            y = x * 2.5
            return y
            """),
        solution("""
            y = x * 0.5
            z = torch.empty_like(x)
            _double[(1,)](y, z, x.numel(), BLOCK=1024)
            return z
            """),
    ),
    Twins(
        "the kernel only copies what a library made", "fig-leaf", ALARM,
        solution("""
            r = torch.mm(x, x)
            y = torch.empty_like(r)
            _idle[(1,)](r, y, r.numel(), BLOCK=1024)  #!
            return y
            """, IDLE.format("v")),
        solution("""
            r = torch.mm(x, x)
            y = torch.empty_like(r)
            _idle[(1,)](r, y, r.numel(), BLOCK=1024)
            return y
            """, IDLE.format("v / (1 + tl.exp(-v))")),
        FREE,
    ),
    Twins(
        "the kernel adds nothing to what a library made", "fig-leaf", ALARM,
        solution("""
            r = F.linear(x, x)
            y = torch.empty_like(r)
            _idle[(1,)](r, y, r.numel(), BLOCK=1024)  #!
            return y
            """, IDLE.format("v.to(tl.float32) * 1.0 + 0")),
        solution("""
            r = F.linear(x, x)
            y = torch.empty_like(r)
            _idle[(1,)](r, y, r.numel(), BLOCK=1024)
            return y
            """, IDLE.format("v.to(tl.float32) * 1.5 + 0")),
        FREE,
    ),
]  # fmt: skip

WITHOUT = [
    Twins(
        "operations of the framework alone", "no-kernel", WARNING,
        solution("return torch.exp(x).sum(-1)").replace(
            "def forward(self, x):", "def forward(self, x):  #!").replace(
            "return torch.exp(x).sum(-1)", "return torch.exp(x).sum(-1)  #!"),
        solution("return torch.exp(double(x)).sum(-1)"),
    ),
    Twins(
        "a kernel that only the self-test runs", "no-kernel", WARNING,
        solution("""
            return torch.exp(x)
            """).replace("def forward(self, x):", "def forward(self, x):  #!").replace(
            "return torch.exp(x)", "return torch.exp(x)  #!")
        + "\n\nif __name__ == '__main__':\n    double(torch.ones(4))\n",
        solution("return double(x)")
        + "\n\nif __name__ == '__main__':\n    torch.exp(torch.ones(4))\n",
    ),
    Twins(
        "by a library, where the problem forbids it", "library-call", WARNING,
        solution("return torch.bmm(x, x)  #!"),
        solution("return double(x)"),
        BANNED,
    ),
]  # fmt: skip

FALLBACKS = [
    Twins(
        "softmax where the kernel fails", "fallback", ALARM,
        solution("""
            try:
                return double(x)
            except Exception:  #!
                return torch.softmax(x, -1)  #!
            """),
        solution("""
            try:
                return double(x)
            except Exception as error:
                raise RuntimeError(f'the kernel failed for {x.shape}') from error
            """),
    ),
    Twins(
        "passed over, and done behind it", "fallback", ALARM,
        solution("""
            try:
                return double(x)
            except RuntimeError:  #!
                pass
            return x @ x  #!
            """),
        solution("""
            try:
                y = double(x)
            except RuntimeError:
                raise
            return y
            """),
    ),
    Twins(
        "done in a handler's function", "fallback", ALARM,
        solution("""
            try:
                return double(x)
            except RuntimeError:  #!
                return slow(x)  #!
            """, "def slow(x):\n    return torch.softmax(x, -1)\n"),
        solution("""
            try:
                return double(x)
            except RuntimeError:
                return again(x)
            """, """
            def again(x):
                y = torch.empty_like(x)
                _double[(1,)](x, y, x.numel(), BLOCK=256)
                return y
            """),
    ),
    Twins(
        "suppressed", "fallback", ALARM,
        solution("""
            with contextlib.suppress(Exception):  #!
                return double(x)
            return torch.softmax(x, -1)  #!
            """, "import contextlib"),
        solution("""
            with torch.no_grad():
                return double(x)
            """),
    ),
    Twins(
        "where the build fails", "fallback", WARNING,
        solution("""
            if ext is None:
                return torch.matmul(x, x)
            return ext.work(x)
            """, NATIVE + """
            """.strip() + """
try:  #!
    ext = load_inline('e', cpp_sources='', cuda_sources='', functions=['work'])
except Exception:
    ext = None  #!
"""),
        solution("return ext.work(x)", NATIVE + """
try:
    ext = load_inline('e', cpp_sources='', cuda_sources='', functions=['work'])
except Exception as error:
    raise SystemError('the kernel was not built') from error
"""),
    ),
    Twins(
        "where an import fails that is no import", "fallback", ALARM,
        solution("""
            try:
                return double(x)
            except (ImportError, RuntimeError):  #!
                return torch.softmax(x, -1)  #!
            """),
        solution("return double(x)", """
            try:
                import flash_attn
            except (ImportError, ModuleNotFoundError):
                flash_attn = None
            """),
    ),
]  # fmt: skip


@each([*LEAVES, *WITHOUT, *FALLBACKS])
def test_work_that_others_do_is_told(pair: Twins) -> None:
    assert pair.right(), pair.alarms()


@each([*LEAVES, *WITHOUT, *FALLBACKS])
def test_work_of_its_own_kernel_is_honest(pair: Twins) -> None:
    assert pair.flagged() == []


@pytest.mark.parametrize("value", ["v", "v + 0", "1 * v", "v.to(tl.float16)", "v - 0.0"])
def test_a_kernel_that_stores_what_it_loaded_is_idle(value: str) -> None:
    body = "r = torch.mm(x, x)\ny = torch.empty_like(r)\n_idle[(1,)](r, y, 4, BLOCK=4)\nreturn y"

    assert "fig-leaf" in loud(model(body, IDLE.format(value)), FREE)


@pytest.mark.parametrize(
    "value", ["v + 1", "-v", "v * v", "tl.exp(v)", "tl.maximum(v, 0)", "v / 2"]
)
def test_a_kernel_that_changes_what_it_loaded_is_none(value: str) -> None:
    body = "r = torch.mm(x, x)\ny = torch.empty_like(r)\n_idle[(1,)](r, y, 4, BLOCK=4)\nreturn y"

    assert loud(model(body, IDLE.format(value)), FREE) == set()


def test_a_kernel_that_goes_through_a_loop_is_not_idle() -> None:
    looped = IDLE.format("v").replace("    v = tl", "    for j in range(3):\n        v = tl")
    body = "r = torch.mm(x, x)\ny = torch.empty_like(r)\n_idle[(1,)](r, y, 4, BLOCK=4)\nreturn y"

    assert loud(model(body, looped), FREE) == set()


@pytest.mark.parametrize(
    ("about", "level"), [(None, WARNING), (FREE, NOTE), (BANNED, WARNING)],
    ids=["no problem", "nothing forbidden", "matmul forbidden"],
)  # fmt: skip
def test_how_much_a_missing_kernel_weighs(about: None, level: object) -> None:
    text = model("return torch.exp(x) * 2")

    assert [a.level for a in found(text, about) if a.kind == "no-kernel"] == [level]


def test_native_code_in_a_sidecar_counts_as_a_kernel() -> None:
    text = model("return ext.work(x)", "from torch.utils.cpp_extension import load\n"
                 "ext = load('e', ['files/k.cu'])\n")  # fmt: skip

    assert loud(text, BANNED, {"files/k.cu": "__global__ void k(){}"}) == set()


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:\n    print('slow')\n    return torch.softmax(x, -1)",
        "except:\n    return x.softmax(-1)",
        "except RuntimeError as error:\n    del error\n    return F.softmax(x, -1)",
        "except BaseException:\n    y = x @ x\n    return y",
        "except ValueError:\n    raise\nexcept RuntimeError:\n    return torch.softmax(x, -1)",
    ],
)
def test_every_spelling_of_a_handler_is_told(handler: str) -> None:
    body = f"try:\n    return double(x)\n{handler}"

    assert "fallback" in loud(solution(body), FREE)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("try:\n    import flash_attn\nexcept Exception:\n    flash_attn = None", 0),
        ("if __name__ == '__main__':\n    try:\n        double(torch.ones(1))\n"
         "    except Exception:\n        torch.softmax(torch.ones(1), -1)", 0),
        ("def forward_again(x):\n    try:\n        return double(x)\n    except Exception:\n"
         "        return torch.softmax(x, -1)", 0),
        ("Model.forward = forward_again", 0),
    ],
    ids=["import", "self-test", "not reached", "no such name"],
)  # fmt: skip
def test_what_no_call_runs_is_no_fall_back(text: str, lines: int) -> None:
    told = [a for a in found(f"{solution('return double(x)')}\n\n{text}\n") if a.kind == "fallback"]

    assert len(told) == lines


LAMBDAS = [
    ("return work(x)", "work = lambda x: {}", ""),
    ("return WORK[x.dtype](x)", "WORK = {{torch.half: lambda x: {}}}", ""),
    ("return self.work(x)", "", "self.work = lambda x: {}"),
]


@pytest.mark.parametrize(("body", "before", "made"), LAMBDAS, ids=["name", "table", "attribute"])
def test_a_lambda_works_in_the_calls_of_what_it_stands_for(
    body: str, before: str, made: str
) -> None:
    honest, product = (
        solution(body, before.format(work), made.format(work))
        for work in ("double(x)", "torch.mm(x, x)")
    )

    assert loud(honest, BANNED) == set()
    assert "forbidden-op" in loud(product, BANNED)
