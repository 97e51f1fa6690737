"""Paths for certain values and sizes, and what fits certain inputs only, told from dispatch."""

from __future__ import annotations

import textwrap

import pytest

from kbsite.model.alarm import Level
from tests.alarms.pairs import WORK, Pair, called, ident, told, wanted
from tests.alarms.solutions import KERNEL, found, loud, model

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

BY_VALUE = [
    Pair("largest", WARNING, "if x.abs().max() > 8:  # <<\n    return x * 2",
         "if x.numel() > 8:\n    x = x.contiguous()"),
    Pair("spread", WARNING, "if float(x.std()) < 1.5:  # <<\n    return x * 2",
         "if x.stride(0) < 2:\n    x = x.contiguous()"),
    Pair("length", WARNING, "norm = x.norm().item()\nif norm < 9:  # <<\n    return x * 2",
         "rows = x.size(0)\nif rows < 9:\n    x = x.contiguous()"),
    Pair("a choice", WARNING, "big = x.amax() > 3\nx = x * 2 if big else x  # <<",
         "big = x.shape[0] > 3\nx = x * 1 if big else x"),
    Pair("any above", WARNING, "if (x.abs() > 100).any():  # <<\n    return x * 2",
         "if x.dim() > 2 and any(size > 100 for size in x.shape):\n    x = x.flatten(1)"),
    Pair("in a function", WARNING,
         "def wide(t):\n    return t.abs().max().item() > 7\nif wide(x):  # <<\n    return x * 2",
         "def wide(t):\n    return t.shape[-1] > 7\nif wide(x):\n    x = x.contiguous()"),
]  # fmt: skip


@pytest.mark.parametrize("pair", BY_VALUE, ids=ident)
def test_a_branch_on_how_large_values_are_is_told_in_its_line(pair: Pair) -> None:
    text = called(pair.trick)

    assert told(text, "magnitude-branch") == wanted(text, pair.level)
    assert loud(called(pair.twin)) == set()


@pytest.mark.parametrize(
    "lines",
    [
        "assert x.is_cuda and x.dtype == torch.float32 and x.shape[0] % 8 == 0",
        "if self.scale > 3:\n    x = x.contiguous()",
        "if self.training:\n    x = x.contiguous()",
    ],
)
def test_what_is_asked_before_the_work_is_no_branch_on_values(lines: str) -> None:
    text = model(f"{lines}\n{WORK}return y", made="self.scale = torch.ones(4).abs().max().item()")

    assert loud(text) == set()


@pytest.mark.parametrize(
    "lines",
    [
        "if torch.isnan(x).any():\n    raise ValueError('not a number')",
        "assert x.abs().max() < 1e4, 'out of range'",
    ],
)
def test_values_that_are_refused_are_no_other_path(lines: str) -> None:
    assert loud(called(lines)) == set()
    assert loud(called(lines.replace("raise ValueError('not a number')", "return x * 2"))) == (
        {"magnitude-branch"} if "raise" in lines else set()
    )


LAUNCH = "_double[(1,)](x, y, x.numel(), BLOCK=1024)"
BY_SIZE = [
    Pair("a size", WARNING, f"if x.shape[0] == 512:  # <<\n    {LAUNCH}",
         f"if x.shape[0] == 512:\n    {LAUNCH}\nelse:\n    _double[(2,)](x, y, 4, BLOCK=8)"),
    Pair("listed sizes", WARNING, f"if x.shape[-1] in (512, 4096):  # <<\n    {LAUNCH}",
         f"if x.shape[-1] in (512, 4096):\n    print('wide')\n{LAUNCH}"),
    Pair("sizes of a table", WARNING, f"if x.numel() in {{4096: 1}}:  # <<\n    {LAUNCH}",
         f"blocks = {{4096: 1}}.get(x.numel(), 2)\n{LAUNCH}"),
    Pair("one of several", WARNING,
         f"if x.dim() == 2 and x.size(1) == 64:  # <<\n    {LAUNCH}",
         f"if x.dim() != 2:\n    raise ValueError(x.shape)\n{LAUNCH}"),
    Pair("a size by a name", WARNING, f"n = x.shape[0]\nif n == 512:  # <<\n    {LAUNCH}",
         f"n = x.shape[0]\nif n > 0:\n    {LAUNCH}"),
    Pair("sizes taken apart", WARNING,
         f"rows, n = x.shape\nif (rows, n) in ((8, 512), (8, 4096)):  # <<\n    {LAUNCH}",
         f"rows, n = x.shape\nif rows and n:\n    {LAUNCH}"),
    Pair("the number of values", WARNING,
         f"n = x.numel()\nif n == 1 << 20:  # <<\n    {LAUNCH}",
         f"n = x.numel()\nif n == 1:\n    {LAUNCH}\nelse:\n    _double[(2,)](x, y, n, BLOCK=8)"),
]  # fmt: skip


@pytest.mark.parametrize("pair", BY_SIZE, ids=ident)
def test_a_kernel_for_listed_sizes_only_is_told_in_its_line(pair: Pair) -> None:
    made = "y = torch.zeros_like(x)"
    text = model(f"{made}\n{pair.trick}\nreturn y")

    assert told(text, "shape-branch") == wanted(text, pair.level)
    assert loud(model(f"{made}\n{pair.twin}\nreturn y")) == set()


FLAGGED = f"""{KERNEL}
@triton.jit
def _flagged(x_ptr, y_ptr, n, LOW: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    if LOW:
        x = CAST
    tl.store(y_ptr + i, (x * 2).to(tl.bfloat16), mask=i < n)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        MADE
        _flagged[(1,)](x, y, 4,
            GIVEN,
            B=64)
        return y
"""


def flagged(cast: str, given: str, made: str = "pass") -> str:
    """A solution whose kernel casts where its flag says so."""
    return FLAGGED.replace("CAST", cast).replace("GIVEN,", given).replace("MADE", made)


@pytest.mark.parametrize("cast", ["x.to(tl.float8e5)", "tl.cast(x, tl.float8e4nv).to(tl.float32)"])
@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("x.shape[0] == 4096,  # <<", "pass"),
        ("LOW=x.numel() > 9000,  # <<", "pass"),
        ("quick,  # <<", "quick = x.size(0) in (512, 4096)"),
    ],
)
def test_a_kernel_that_a_size_tells_to_use_fewer_bits_is_told_where_it_is_given(
    cast: str, given: str, made: str
) -> None:
    text = flagged(cast, given, made)

    assert told(text, "shape-branch") == wanted(text, WARNING)


@pytest.mark.parametrize(
    ("cast", "given"),
    [
        ("x.to(tl.float8e5)", "x.dtype == torch.float16,"),
        ("x.to(tl.float8e5)", "False,"),
        ("x.to(tl.float32)", "x.shape[0] == 4096,"),
        ("x.to(tl.bfloat16)", "x.shape[0] == 4096,"),
        ("tl.load(x_ptr + i)", "x.shape[0] % 64 == 0,"),
    ],
    ids=["by type", "never", "wider", "as its result", "without a mask"],
)
def test_a_flag_that_costs_no_bits_is_honest(cast: str, given: str) -> None:
    assert "shape-branch" not in loud(flagged(cast, given))


ERRORS = ["torch.cuda.OutOfMemoryError('no')", "torch.OutOfMemoryError", "torch.AcceleratorError()"]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_of_the_device_that_is_feigned_is_told_in_its_line(error: str) -> None:
    text = called(f"if x.shape[0] == 512:\n    raise {error}  # <<")
    own = called("if x.shape[0] == 0:\n    raise RuntimeError('empty')")
    caught = f"def test_it():\n    raise {error}\n"

    assert told(text, "early-exit") == wanted(text, ALARM)
    assert loud(own) == loud(f"{called('')}\n{caught}") == set()


def cutting(kernel: str, given: str, made: str = "") -> str:
    """A solution whose kernel has these lines, and is launched with this beside x, y, n."""
    body = "".join(f"    {line}\n" for line in textwrap.dedent(kernel).strip().splitlines())
    return f"""{KERNEL}
@triton.jit
def _keep(x_ptr, y_ptr, n, cut, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
{body}

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        {made or "pass"}

    def forward(self, x):
        y = torch.zeros_like(x)
        _keep[(1,)](x, y, x.numel(), {given}, B=64)
        return y
"""


KEEP = "tl.store(y_ptr + i, x, mask=x > cut)"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("2.9  # <<\n       ", ""),
        ("cut=-1.5  # <<\n       ", ""),
        ("self.cut  # <<\n       ", "self.cut = 4.0 * n"),
    ],
    ids=["a number", "by its name", "kept"],
)
def test_a_fixed_bound_of_what_is_kept_is_told_where_it_is_given(given: str, made: str) -> None:
    text = cutting(KEEP, given, made)
    [alarm] = [a for a in found(text) if a.kind == "distribution-constant"]

    assert alarm.level is WARNING
    [(_, line)] = wanted(text, WARNING)
    assert alarm.lines[0] <= line <= alarm.lines[-1]
    assert "_keep[(1,)]" in text.split("\n")[alarm.lines[0] - 1]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("x.flatten().kthvalue(3).values", ""),
        ("0.0", ""),
        ("float('inf')", ""),
        ("7", ""),
        ("self.n", ""),
    ],
    ids=["of the input", "zero", "infinity", "a whole number", "an argument"],
)
def test_a_bound_of_the_input_or_of_the_problem_is_none(given: str, made: str) -> None:
    assert "distribution-constant" not in loud(cutting(KEEP, given, made))


@pytest.mark.parametrize(
    "kernel",
    [
        "keep = x > 2.5\nslot = tl.cumsum(keep.to(tl.int32), 0)\ntl.store(y_ptr + slot, x)",
        "tl.store(y_ptr + i, x, mask=2.5 < x.to(tl.float32))",
        "tl.store(y_ptr + i, x, mask=tl.abs(x) >= 2.5)",
    ],
)
def test_a_bound_within_a_kernel_is_told_at_the_kernel(kernel: str) -> None:
    text = cutting(kernel, "n").replace("def _keep(", "def _keep(").replace(", n, B=", ", 1, B=")
    first = text.split("\n").index("def _keep(x_ptr, y_ptr, n, cut, B: tl.constexpr):") + 1
    alarms = [a for a in found(text) if a.kind == "distribution-constant"]

    assert [(a.level, a.lines[0] in (first - 1, first)) for a in alarms] == [(WARNING, True)]


@pytest.mark.parametrize(
    "kernel",
    [
        "tl.store(y_ptr + i, tl.where(x > 2.5, 2.5, x), mask=i < n)",
        "tl.store(y_ptr + i, x, mask=x > 0.0)",
        "tl.store(y_ptr + i, tl.minimum(x, 6.0), mask=i < n)",
        "high = x * 2\ntl.store(y_ptr + i, x, mask=high > 2.5)",
        "m = tl.max(x, 0)\ntl.store(y_ptr + i, x, mask=m > 2.5)",
    ],
    ids=["clamp", "sign", "minimum", "of a product", "of a result"],
)
def test_constants_that_drop_no_loaded_value_are_honest(kernel: str) -> None:
    assert "distribution-constant" not in loud(cutting(kernel, "1"))


@pytest.mark.parametrize(
    ("trick", "twin"),
    [
        ("x = x.flatten()[::16].contiguous()  # <<", "x = x.flatten()[::1].contiguous()"),
        ("x = x[:, 1::2]  # <<", "x = x[:, 0::2] + x[:, 1::2]"),
        ("step = 4\nz = x[..., ::step]  # <<", "step = 4\nx[..., ::step] = 0"),
    ],
)
def test_values_that_are_passed_over_are_told_in_their_line(trick: str, twin: str) -> None:
    text = called(trick)

    assert told(text, "distribution-constant") == wanted(text, WARNING)
    assert told(called(twin), "distribution-constant") == []


WEIGHTS = "self.weight = nn.Parameter(torch.ones(4))\nself.bias = nn.Parameter(torch.ones(4))  # <<"
USED = f"{WORK}y = y * self.weight\n"


def test_a_weight_that_no_line_reads_is_told_where_it_is_made() -> None:
    text = model(f"{USED}return y", made=WEIGHTS)

    assert told(text, "distribution-constant") == wanted(text, WARNING)


@pytest.mark.parametrize(
    "body",
    ["y = y + self.bias", "y = y + getattr(self, 'bias')", "held = dict(self.named_parameters())"],
)
def test_a_weight_that_is_read_in_any_way_is_honest(body: str) -> None:
    text = model(f"{USED}{body}\nreturn y", made=WEIGHTS)

    assert told(text, "distribution-constant") == []
