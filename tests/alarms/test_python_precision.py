"""Fewer bits than the problem has are told in their line; what the problem says itself is not."""

from __future__ import annotations

import pytest

from kbsite.alarms.python.precision import bits_of_problem
from kbsite.alarms.python.reading import readings
from kbsite.model.alarm import Level
from kbsite.model.problem import Dtype
from kbsite.store.problems import StoredProblem
from tests.alarms.pairs import MARK, WORK, called, told, wanted
from tests.alarms.solutions import KERNEL, evidence, loud, model, problem, written

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM
KIND = "precision-downcast"
FP32 = problem(title="GEMM", tensors=written(Dtype.FP32))
BF16 = problem(title="GEMM", tensors=written(Dtype.BF16))
FP8 = problem(title="GEMM of fp8_e4m3 values", tensors=written(Dtype.BF16))


def product(lines: str, name: str = "_mm") -> str:
    """A kernel with these lines between its loads and its store."""
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"""
@triton.jit
def {name}(x, y, z, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    a, b = tl.load(x + i), tl.load(y + i)
{body}    tl.store(z + i, acc.to(tl.bfloat16))
"""


def multiplied(lines: str) -> str:
    """A solution that launches such a kernel."""
    body = "y = torch.empty_like(x)\n_mm[(1,)](x, x, y, 64)\nreturn y"
    return model(body, product(lines))


@pytest.mark.parametrize(
    ("about", "bits"),
    [
        (None, 0),
        (problem(title="Sort"), 0),
        (problem(title="Sort", tensors=written(Dtype.INT32)), 0),
        (FP32, 32),
        (BF16, 16),
        (problem(tensors=written(Dtype.BF16, Dtype.FP32)), 32),
        (problem(tensors=written(Dtype.FP64)), 64),
        (FP8, 8),
        (problem(tags=("e5m2",), tensors=written(Dtype.FP32)), 8),
        (problem(summary="A view of bf8 values", tensors=written(Dtype.FP16)), 16),
    ],
)
def test_the_bits_of_a_problem_are_what_it_says(about: StoredProblem | None, bits: int) -> None:
    assert bits_of_problem(readings(evidence("x = 1\n", about))[0]) == bits


IN_A_KERNEL = {
    "tf32 by its name": "acc = tl.dot(a, b, acc, input_precision='tf32')  # <<",
    "tf32 by the older flag": "acc = tl.dot(a, b, acc, allow_tf32=True)  # <<",
    "one product of bf16": "acc = tl.dot(a, b, acc, input_precision='bf16x1')  # <<",
    "half operands": "a = a.to(tl.float16)  # <<\nacc = tl.dot(a, b, acc)",
    "by a call": "a = tl.cast(a, tl.bfloat16)  # <<\nacc = tl.dot(a, b, acc)",
    "by a keyword": "a = a.to(dtype=tl.float8e4nv)  # <<\nacc = tl.dot(a, b, acc)",
}


@pytest.mark.parametrize("name", IN_A_KERNEL)
def test_fewer_bits_in_a_kernel_are_told_in_their_line(name: str) -> None:
    text = multiplied(IN_A_KERNEL[name]).replace("acc.to(tl.bfloat16)", "acc")

    assert told(text, KIND, FP32) == wanted(text, WARNING)


@pytest.mark.parametrize("name", IN_A_KERNEL)
def test_where_the_problem_says_bf16_these_are_notes_at_most(name: str) -> None:
    assert loud(multiplied(IN_A_KERNEL[name]), BF16) == set()


@pytest.mark.parametrize(
    "lines",
    [
        "acc = tl.dot(a, b, acc)",
        "acc = tl.dot(a, b, acc, input_precision='tf32x3')",
        "acc = tl.dot(a, b, acc, input_precision='ieee')",
        "acc = tl.dot(a, b, acc, allow_tf32=False)",
        "acc += tl.sum(a.to(tl.float32) * b.to(tl.float32))",
        "acc = tl.dot(a.to(tl.float64), b.to(tl.float64)).to(tl.float32)",
        "acc = tl.dot(a.to(tl.int32, bitcast=True), b)",
        "i = i.to(tl.int64)\nacc = tl.dot(a, b, acc)",
    ],
)
def test_full_products_of_fp32_raise_nothing(lines: str) -> None:
    text = multiplied(lines).replace("acc.to(tl.bfloat16)", "acc")

    assert told(text, KIND, FP32) == []


def test_sums_in_fp32_of_bf16_inputs_are_what_bf16_means() -> None:
    text = multiplied("acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc)")

    assert told(text, KIND, BF16) == []


WIDENED = {
    "in the product": "acc = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc)  # <<",
    "before it": "c = a.to(tl.float16)\nacc = tl.dot(c, b, acc)  # <<",
    "one of both": "acc = tl.dot(a, b.to(tl.float32), acc)  # <<",
}


@pytest.mark.parametrize("name", WIDENED)
def test_operands_of_fp8_that_are_widened_are_told_where_the_problem_is_fp8(name: str) -> None:
    text = multiplied(WIDENED[name])

    assert told(text, KIND, FP8) == wanted(text, WARNING)
    assert loud(text, BF16) == set()


def test_products_of_fp8_that_are_scaled_afterwards_raise_nothing() -> None:
    text = multiplied("acc = tl.dot(a, b, acc)\nacc = acc * tl.load(x).to(tl.float32)")

    assert loud(text, FP8) == set()


ON_THE_HOST = [
    "x = x.half()  # <<",
    "x = x.bfloat16()  # <<",
    "x = x.to(torch.float16)  # <<",
    "x = x.to('cuda', torch.bfloat16)  # <<",
    "x = x.to(dtype=torch.float8_e4m3fn)  # <<",
    "x = x.type(torch.half)  # <<",
    "low = torch.float16\nx = x.to(low)  # <<",
    "with torch.autocast('cuda', dtype=torch.bfloat16):  # <<\n    x = x * 2",
    "from torch.cuda.amp import autocast as fast\nwith fast():  # <<\n    x = x * 2",
]


@pytest.mark.parametrize("lines", ON_THE_HOST)
def test_fewer_bits_on_the_host_weigh_by_the_problem(lines: str) -> None:
    text = called(lines)

    assert told(text, KIND, FP32) == wanted(text, WARNING)
    assert told(text, KIND, BF16) == wanted(text, WARNING if "float8" in lines else NOTE)
    assert told(text, KIND) == wanted(text, NOTE)


@pytest.mark.parametrize(
    "lines",
    [
        "x = x.float()",
        "x = x.to(torch.float32)",
        "x = x.to('cuda')",
        "x = x.to(x.dtype)",
        "x = x.to(torch.int32)",
        "x = x.double()",
        "wide = torch.float64\nx = x.to(wide)",
        "assert x.dtype in (torch.float16, torch.bfloat16), x.dtype",
        "fast = torch.is_autocast_enabled()",
        "low = torch.get_autocast_dtype('cuda')",
    ],
)
def test_casts_that_lose_nothing_raise_nothing(lines: str) -> None:
    assert told(called(lines), KIND, FP32) == []


def test_autocast_above_what_runs_in_every_call_is_told() -> None:
    plain = model(f"{WORK}return y")
    text = plain.replace("    def forward", "    @torch.autocast('cuda')  # <<\n    def forward")
    other = f"{plain}\n@torch.autocast('cuda')\ndef bench(x):\n    return x\n"

    assert told(text, KIND, FP32) == wanted(text, WARNING)
    assert told(other, KIND, FP32) == []


def test_the_result_may_be_given_back_in_fewer_bits() -> None:
    given = model(f"{WORK}return y.to(torch.bfloat16)")

    assert [level for level, _ in told(given, KIND, FP32)] == [NOTE]


def test_weights_that_are_made_smaller_once_are_no_cast_of_a_call() -> None:
    text = model(f"{WORK}return y", made="self.w = torch.ones(4).half()")

    assert told(text, KIND, FP32) == []


SWITCHED = f"""
{KERNEL}
{product("acc = tl.dot(a, b, acc)", "_whole").replace(".to(tl.bfloat16)", "")}
{product("acc = tl.dot(SIDES, acc)", "_other").replace(".to(tl.bfloat16)", "")}
class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        if x.shape[0] == 4096:  {MARK}
            _other[(1,)](x, x, y, 64)
        else:
            _whole[(1,)](x, x, y, 64)
        return y
"""
CHOSEN = (
    SWITCHED[: SWITCHED.index("        if x.shape")]
    + f"""
        run = _other if x.numel() > 9000 else _whole  {MARK}
        run[(1,)](x, x, y, 64)
        return y
"""
)


@pytest.mark.parametrize("text", [SWITCHED, CHOSEN], ids=["a branch", "a choice"])
@pytest.mark.parametrize("sides", ["a.to(tl.float16), b", "a, b.to(tl.float8e5)"])
def test_a_size_that_chooses_a_kernel_of_fewer_bits_is_told(text: str, sides: str) -> None:
    low = text.replace("SIDES", sides)

    assert told(low, "shape-branch") == wanted(low, WARNING)


@pytest.mark.parametrize("text", [SWITCHED, CHOSEN], ids=["a branch", "a choice"])
@pytest.mark.parametrize("sides", ["b, a", "a.to(tl.float32), b.trans()"])
def test_a_size_that_chooses_a_kernel_of_as_many_bits_is_honest(text: str, sides: str) -> None:
    assert loud(text.replace("SIDES", sides)) == set()
