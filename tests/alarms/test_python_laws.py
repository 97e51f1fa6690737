"""Laws of reading a source: likeness by deeds, operations by family, phases, named algorithms."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.python.algorithms import ALGORITHMS
from kbsite.alarms.python.callers import FEW, arguments
from kbsite.alarms.python.likeness import SAME, SPAN, find
from kbsite.alarms.python.ops import FAMILY, LIGHT, full, is_view, op
from kbsite.alarms.python.reading import Phase, Reading, readings
from kbsite.alarms.python.scopes import Parameter
from kbsite.model.alarm import Level
from kbsite.model.problem import Problem
from kbsite.store.problems import StoredProblem
from tests.alarms.solutions import evidence, found, model, read

NAMES = ("scores", "weights", "mixed", "width")
REFERENCE = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """Attention over a window."""

    def forward(self, q, k, v):
        width = q.shape[-1] ** 0.5
        scores = torch.einsum("bhd,bnhd->bhn", q, k) / width
        scores = scores.masked_fill(scores < -10.0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.einsum("bhn,bnhd->bhd", weights, v)
        return mixed.reshape(q.shape[0], -1).to(q.dtype)
'''
WORK = "y = torch.empty_like(x)\n_double[(1,)](x, y, x.numel(), BLOCK=1024)\n"


def about(title: str, **told: object) -> StoredProblem:
    made = Problem(**{"title": title, **told})  # type: ignore[arg-type]
    return StoredProblem(id="p", problem=made, hash="", prompt="", reference=REFERENCE)


def share(text: str) -> int | None:
    """How much of the reference a solution repeats, in percent; None where nothing is told."""
    told = list(find(readings(evidence(text, about("Window")))[0]))
    return int(told[0].saw.partition("%")[0]) if told else None


words = st.from_regex(r"[a-z]{2}_[a-z]{1,4}", fullmatch=True)
comments = st.text("abc xyz!", max_size=12)


@settings(deadline=None)
@given(st.lists(words, min_size=4, max_size=4, unique=True), comments, st.floats(0.5, 9.5))
def test_names_comments_and_figures_change_no_likeness(
    chosen: list[str], said: str, figure: float
) -> None:
    text = REFERENCE
    for old, new in zip(NAMES, chosen, strict=True):
        text = re.sub(rf"\b{old}\b", new, text)
    rows = text.replace("Attention over a window", said).replace("10.0", str(figure)).splitlines()
    text = "\n".join(f"{row}  # {said}" if "=" in row else row for row in rows)

    assert share(text) == share(REFERENCE) == 100


@settings(deadline=None)
@given(st.sets(st.integers(0, 5)))
def test_what_is_left_out_makes_it_less_alike(left: set[int]) -> None:
    head, _, body = REFERENCE.partition("v):\n")
    lines = body.splitlines()
    assert len(lines) == 6
    kept = [line for at, line in enumerate(lines) if at not in left] or ["        return q"]
    whole, part = 100, share(f"{head}v):\n" + "\n".join(kept) + "\n")

    assert part is None or SAME * 100 <= part <= whole
    assert (part == whole) == (not left)


def test_a_copy_within_a_longer_solution_is_a_copy() -> None:
    own = "\n".join(f"        own{i} = q.sum({i}) * {i} + k.mean({i})" for i in range(20))
    head, _, body = REFERENCE.partition("v):\n")

    assert (share(f"{head}v):\n{own}\n{body}") or 0) >= 100 * SAME
    assert share(f"{head}v):\n{own}\n        return q\n") is None
    assert SPAN > 1


def test_a_copy_that_is_called_is_told_of_what_calls_it() -> None:
    _, _, body = REFERENCE.partition("v):\n")
    work = "def work(q, k, v):\n" + body.replace("        ", "    ")
    text = model("return work(x, x, x)", work)
    told = [alarm for alarm in found(text, about("Window")) if alarm.kind == "reference-copy"]

    assert [alarm.level for alarm in told] == [Level.ALARM]
    assert "def forward" in text.splitlines()[told[0].lines[0] - 1]


OPERATIONS = sorted(name for name in FAMILY if not name.startswith("_") and name.islower())


@settings(deadline=None)
@given(st.sampled_from(OPERATIONS))
def test_an_operation_is_the_same_wherever_it_lives(name: str) -> None:
    for spelled in (
        f"torch.{name}",
        f"torch.ops.aten.{name}",
        f"torch.ops.aten.{name}.default",
        f"torch.ops.aten.{name}.out",
        f"torch._C._VariableFunctions.{name}",
        f"torch.nn.functional.{name}",
        f"torch.Tensor.{name}",
        f"torch.linalg.{name}",
        f"?.{name}",
        f"?.{name}_",
        f"torch.ones().{name}",
    ):
        assert FAMILY[op(spelled)] == FAMILY[name], spelled
    for other in (f"local:{name}", f"math.{name}", f"torch.cuda.{name}", f"torch.{name}()"):
        assert op(other) == "", other


def test_no_operation_is_heavy_and_light() -> None:
    assert not LIGHT & set(FAMILY)
    assert not [name for name in FAMILY if is_view(f"?.{name}")]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("F.linear", "torch.nn.functional.linear"),
        ("nn.Conv2d", "torch.nn.Conv2d"),
        ("tl.sort", "triton.language.sort"),
        ("Tensor.mm", "torch.Tensor.mm"),
        ("np.dot", "numpy.dot"),
        ("torch.mm", "torch.mm"),
        ("sonic_moe", "sonic_moe"),
    ],
)
def test_short_names_are_written_out(short: str, long: str) -> None:
    assert full(short) == full(long) == long


PHASES = """
import torch
import triton
MARK_IMPORT = mark()


@triton.jit
def kernel(x):
    mark()


def worker(x):
    return mark(x)


def setup():
    mark()


def test_it():
    mark()


class Model(torch.nn.Module):
    def __init__(self):
        self.kept = mark()

    def forward(self, x):
        inner = lambda: mark()
        return worker(x) + self.part(x) + inner()

    def part(self, x):
        return [mark() for _ in x]


if __name__ == "__main__":
    mark()
"""


def marks(reading: Reading) -> list[Phase]:
    calls = reading.module.all(ast.Call)
    return [
        reading.phase(call)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "mark"
    ]


def test_each_line_is_known_by_when_it_runs() -> None:
    reading = read(PHASES)

    assert marks(reading) == [
        Phase.IMPORT, Phase.SETUP, Phase.CALL, Phase.SETUP, Phase.TEST,
        Phase.SETUP, Phase.CALL, Phase.CALL, Phase.TEST,
    ]  # fmt: skip
    assert list(reading.kernels) == ["local:kernel"]
    assert len([c for c, _ in reading.calls if c.func.__dict__.get("id") == "mark"]) == 8


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=12, unique=True))
def test_a_chain_of_functions_runs_in_every_call_to_its_end(chain: list[str]) -> None:
    links = [f"def {a}(x): return {b}(x)" for a, b in zip(chain, [*chain[1:], "mark"], strict=True)]
    classes = f"class Model:\n    def forward(self, x): return {chain[0]}(x)\n"
    apart = (
        f"class Model:\n    def forward(self, x): return x\n    def close(self): {chain[0]}(1)\n"
    )
    together = "\n".join(links)

    assert marks(read(f"{together}\n{classes}")) == [Phase.CALL]
    assert marks(read(f"{together}\n{apart}")) == [Phase.SETUP]


@pytest.mark.parametrize(
    ("calls", "given_"),
    [
        ("f(1, 2)", ["2"]),
        ("f(1, b=3)", ["3"]),
        ("f(1)", []),
        ("g.f(4, 5)", ["5"]),
        ("f(1, 2); f(3, 4)", ["2", "4"]),
        ("; ".join(f"f(0, {n})" for n in range(FEW + 3)), [str(n) for n in range(FEW)]),
    ],
    ids=["place", "name", "left out", "attribute", "twice", "often"],
)
def test_what_a_function_is_given_is_looked_up(calls: str, given_: list[str]) -> None:
    module = read(f"def f(a, b): return b\n{calls}\n").module
    scope = module.scopes[module.tree.body[0]]

    shown = [ast.unparse(node) for node in arguments(module, Parameter("b", 1), scope)]
    assert shown == given_
    assert arguments(module, Parameter("other", 7), scope) == []


def test_an_object_is_given_what_its_class_is_called_with() -> None:
    text = "class K:\n    def __init__(self, a, b): pass\n    def m(self, a): pass\n"
    module = read(f"{text}K(1, 2)\nK(3, 4).m(5)\n").module
    made, method = (module.scopes[node] for node in module.all(ast.FunctionDef))

    assert [ast.unparse(n) for n in arguments(module, Parameter("b", 2), made)] == ["2", "4"]
    assert [ast.unparse(n) for n in arguments(module, Parameter("a", 1), method)] == ["5"]


TITLES = {
    "Kahan's compensated sum": ("Kahan softmax", "c = (t - s) - y"),
    "a bitonic sorting network": ("Bitonic sort", "partner = i ^ j"),
    "an online softmax": ("Flash attention", "p = tl.exp(s - m)"),
    "a radix sort": ("Radix sort", "digit = (key >> 8) & 0xff"),
    "a scan with decoupled look-back": ("Decoupled look-back scan", "done = tl.atomic_add(at, 1)"),
    "Strassen's scheme": ("Strassen product", "m7 = 1"),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name[:16])
def test_an_algorithm_that_is_named_leaves_a_trace(algorithm: object) -> None:
    name, level = getattr(algorithm, "name", ""), getattr(algorithm, "level", None)
    title, trace = TITLES[name]
    honest = model(f"{WORK}return y")

    def missing(text: str, problem: StoredProblem) -> list[Level]:
        return [a.level for a in found(text, problem) if a.kind == "algorithm-missing"]

    assert missing(honest, about(title)) == [level]
    assert missing(honest, about("Sum", tags=(title.lower().replace(" ", "-"),)))
    assert missing(f"{honest}\n# {trace}", about(title)) == [level]
    assert missing(f"{trace}\n{honest}", about(title)) == []
    assert missing(honest, about("Something else")) == []


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("torch.distributed.all_reduce(y)", True),
        ("import torch.distributed as dist; dist.broadcast(y, 0)", True),
        ("# torch.distributed.all_reduce(y)", False),
        ("'all_reduce'", False),
        ("f = torch.distributed.all_reduce", False),
        ("torch.distributed.get_rank()", False),
    ],
)
def test_several_devices_speak_by_what_runs(line: str, speaks: bool) -> None:
    text = model(f"{WORK}{line}\nreturn y")
    kinds = {alarm.kind for alarm in found(text, about("All-reduce over 8 GPUs"))}

    assert ("no-communication" in kinds) != speaks
