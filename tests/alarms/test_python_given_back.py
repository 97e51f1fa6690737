"""What is handed back: nothing written, an input, a constant; and inputs that are changed."""

from __future__ import annotations

import pytest

from tests.alarms.solutions import KERNEL, found, loud, model, problem
from tests.alarms.twins import ALARM, NOTE, WARNING, Twins, each, solution

UNWRITTEN, PASSED, CHANGED, FIXED = (
    "uninitialised-output", "input-passthrough", "input-change", "constant-output",
)  # fmt: skip
READS = """
@triton.jit
def _look(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, v, mask=i < n)
"""
BLIND = """
@triton.jit
def _fill(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = i * 0.125
    tl.store(y_ptr + i, v, mask=i < n)
"""
SEEING = BLIND.replace("v = i * 0.125", "v = tl.load(x_ptr + i) * 0.125")

UNINITIALISED = [
    Twins(
        "kernel writes to something else", UNWRITTEN, ALARM,
        solution("""
            y, z = torch.empty_like(x), torch.empty_like(x)
            double_into(x, y)
            return z  #!
            """),
        solution("""
            y, z = torch.empty_like(x), torch.empty_like(x)
            double_into(x, z)
            return z
            """),
    ),
    Twins(
        "kernel that stores where it loaded", UNWRITTEN, ALARM,
        solution("""
            y = torch.empty_like(x)
            _look[(1,)](x, y, x.numel(), BLOCK=1024)
            return y  #!
            """, READS),
        solution("""
            y = torch.empty_like(x)
            _look[(1,)](x, y, x.numel(), BLOCK=1024)
            return y
            """, READS.replace("tl.store(x_ptr", "tl.store(y_ptr").replace(", v,", ", v * 3,")),
    ),
    Twins(
        "one path that writes nothing", UNWRITTEN, ALARM,
        solution("""
            if x.shape[0] > 64:
                return torch.empty_like(x)  #!
            return double(x)
            """),
        solution("""
            if x.numel() == 0:
                return torch.empty_like(x)
            return double(x)
            """),
    ),
    Twins(
        "memory of a function", UNWRITTEN, ALARM,
        solution("return room(x)  #!", "def room(x):\n    return x.new_empty(x.shape)\n"),
        solution("""
            y = room(x)
            double_into(x, y)
            return y
            """, "def room(x):\n    return x.new_empty(x.shape)\n"),
    ),
    Twins(
        "a view of it, by strides", UNWRITTEN, ALARM,
        solution("return torch.empty_strided(x.shape, x.stride()).view(-1).view(x.shape)  #!"),
        solution("""
            y = torch.empty_strided(x.shape, x.stride(), device=x.device)
            double_into(x, y.view(-1))
            return y
            """),
    ),
    Twins(
        "written through another name", UNWRITTEN, ALARM,
        solution("""
            y = torch.empty_like(x)
            flat = torch.empty_like(y).view(-1)
            double_into(x, flat)
            return y  #!
            """),
        solution("""
            y = torch.empty_like(x)
            flat = y.view(-1)
            double_into(x, flat)
            return y
            """),
    ),
]  # fmt: skip

PASSTHROUGH = [
    Twins("as it came", PASSED, ALARM, solution("return x  #!"), solution("return double(x)")),
    Twins(
        "after a kernel that nobody reads", PASSED, ALARM,
        solution("double(x)\nreturn x  #!"),
        solution("y = double(x)\nreturn y"),
    ),
    Twins(
        "as a copy", PASSED, ALARM,
        solution("return x.clone()  #!"),
        solution("y = x.clone()\ndouble_into(x, y)\nreturn y"),
    ),
    Twins(
        "copied into new memory", PASSED, ALARM,
        solution("y = torch.empty_like(x)\ny.copy_(x)\nreturn y  #!"),
        solution("y = torch.empty_like(x)\ny.copy_(double(x))\nreturn y"),
    ),
    Twins(
        "as another type", PASSED, ALARM,
        solution("return x.contiguous().to(torch.float16)  #!"),
        solution("return double(x).contiguous().to(torch.float16)"),
    ),
    Twins(
        "plus nothing", PASSED, ALARM,
        solution("return x * 1 + 0  #!"),
        solution("return double(x) * 1 + 0"),
    ),
    Twins(
        "on one path", PASSED, WARNING,
        solution("""
            if x.shape[0] > 64:
                return x  #!
            return double(x)
            """),
        solution("""
            if not x.numel():
                return x
            return double(x)
            """),
    ),
    Twins(
        "through a function", PASSED, ALARM,
        solution("return same(x)  #!", "def same(y):\n    return y.reshape(y.shape)\n"),
        solution("return same(x)", "def same(y):\n    return double(y.reshape(y.shape))\n"),
    ),
]  # fmt: skip

CHANGES = [
    Twins(
        "zeroed", CHANGED, ALARM,
        solution("y = double(x)\nx.zero_()  #!\nreturn y"),
        solution("y = double(x)\ny.clamp_(min=0)\nreturn y"),
    ),
    Twins(
        "by an assignment to items", CHANGED, ALARM,
        solution("y = double(x)\nx[0] = 0  #!\nreturn y"),
        solution("y = double(x)\ny[0] = 0\nreturn y"),
    ),
    Twins(
        "by an operator", CHANGED, ALARM,
        solution("x *= 0.5  #!\nreturn double(x)"),
        solution("x = x * 0.5\nreturn double(x)"),
    ),
    Twins(
        "through a view", CHANGED, ALARM,
        solution("flat = x.view(-1)\nflat.fill_(1)  #!\nreturn double(x)"),
        solution("flat = x.view(-1).clone()\nflat.fill_(1)\nreturn double(x) + flat"),
    ),
    Twins(
        "by out=", CHANGED, ALARM,
        solution("torch.mul(x, 2, out=x)  #!\nreturn double(x)"),
        solution("y = torch.empty_like(x)\ntorch.mul(x, 2, out=y)\nreturn double(y)"),
    ),
    Twins(
        "by a kernel", CHANGED, WARNING,
        solution("_double[(1,)](x, x, x.numel(), BLOCK=1024)  #!\nreturn double(x)"),
        solution("y = x.clone()\n_double[(1,)](y, y, x.numel(), BLOCK=1024)\nreturn y"),
    ),
    Twins(
        "through .data", CHANGED, ALARM,
        solution("x.data.mul_(0)  #!\nreturn double(x)"),
        solution("y = double(x)\ny.data.mul_(0.5)\nreturn y"),
    ),
    Twins(
        "through what may be of the same type", CHANGED, ALARM,
        solution("x.to(torch.float32).zero_()  #!\nreturn double(x)"),
        solution("h = x.to(torch.float32)\nh.mul_(0.5)\nh += 1\nreturn double(h)"),
    ),
    Twins(
        "in a function", CHANGED, ALARM,
        solution("spoil(x)\nreturn double(x)", "def spoil(t):\n    t.fill_(0.5)  #!\n"),
        solution("return tidy(double(x))", "def tidy(t):\n    t.mul_(0.5)\n    return t\n"),
    ),
]  # fmt: skip

CONSTANTS = [
    Twins(
        "zeros", FIXED, ALARM,
        solution("return torch.zeros_like(x)  #!"),
        solution("y = torch.zeros_like(x)\ndouble_into(x, y)\nreturn y"),
    ),
    Twins(
        "filled by a kernel that loads nothing", FIXED, ALARM,
        solution("""
            y = torch.empty_like(x)
            _fill[(1,)](x, y, x.numel(), BLOCK=1024)  #!
            return y  #!
            """, BLIND),
        solution("""
            y = torch.empty_like(x)
            _fill[(1,)](x, y, x.numel(), BLOCK=1024)
            return y
            """, SEEING),
    ),
    Twins(
        "on one path", FIXED, WARNING,
        solution("""
            if x.shape[0] > 64:
                return torch.zeros_like(x)  #!
            return double(x)
            """),
        solution("""
            if x.shape[0] == 0:
                return torch.zeros_like(x)
            return double(x)
            """),
    ),
    Twins(
        "of the weights alone", FIXED, ALARM,
        solution("return self.weight * 2 + 1  #!",
                 made="self.weight = nn.Parameter(torch.ones(4))"),
        solution("return double(x) * self.weight",
                 made="self.weight = nn.Parameter(torch.ones(4))"),
    ),
    Twins(
        "random", FIXED, ALARM,
        solution("return torch.randn(x.shape, device=x.device)  #!"),
        solution("return double(x) + torch.randn(x.shape, device=x.device)"),
    ),
]  # fmt: skip

EVERY = [*UNINITIALISED, *PASSTHROUGH, *CHANGES, *CONSTANTS]


@each(EVERY)
def test_what_is_handed_back_without_work_is_told(pair: Twins) -> None:
    assert pair.right(), pair.alarms()


@each(EVERY)
def test_what_a_kernel_wrote_is_honest(pair: Twins) -> None:
    assert {alarm.kind for alarm in pair.flagged()} <= {"no-kernel", "library-call"}


@pytest.mark.parametrize("name", ["out", "output", "y_out", "dst", "kv_cache", "workspace"])
def test_an_argument_named_for_output_may_be_written(name: str) -> None:
    text = model(f"{name}.copy_(x * 2)\nreturn {name}").replace("(self, x)", f"(self, x, {name})")
    levels = [alarm.level for alarm in found(text) if alarm.kind == CHANGED]

    assert levels == [NOTE]


@pytest.mark.parametrize("tag", ["in-place", "inplace", "in_place"])
def test_a_problem_about_changing_its_input_is_a_note(tag: str) -> None:
    text = solution("x.mul_(2.5)\nreturn x")
    levels = [alarm.level for alarm in found(text, problem(tags=(tag,))) if alarm.kind == CHANGED]

    assert levels == [NOTE]
    assert CHANGED in loud(text, problem(tags=("fused",)))


def test_a_change_of_each_input_is_told_once() -> None:
    text = model("x.mul_(2)\nx.add_(1)\nw.mul_(2)\nreturn x * w").replace(
        "(self, x)", "(self, x, w)"
    )
    told = [alarm.saw for alarm in found(text) if alarm.kind == CHANGED]

    assert told == ["The input `x` is changed in place.", "The input `w` is changed in place."]


def test_an_entry_without_arguments_makes_constants_honestly() -> None:
    text = (
        f"{KERNEL}\nclass Model(nn.Module):\n    def forward(self):\n        return torch.ones(3)\n"
    )

    assert FIXED not in {alarm.kind for alarm in found(text)}


@pytest.mark.parametrize(
    "store",
    [
        "tl.atomic_add(y_ptr + i, v)",
        "tl.store(y_ptr + i, v)",
        "p = y_ptr + i\n    tl.store(p, v)",
        "tl.make_block_ptr(base=y_ptr, shape=(n,)).store(v)",
        "tl.store(tl.make_block_ptr(base=y_ptr, shape=(n,)), v)",
        "_put(y_ptr, i, v)",
        "q = y_ptr.to(tl.pointer_type(tl.int32))\n    tl.store(q + i, v)",
    ],
)
def test_every_way_of_storing_is_a_write(store: str) -> None:
    kernel = f"""
@triton.jit
def _put(to_ptr, at, value):
    tl.store(to_ptr + at, value)

@triton.jit
def _work(x_ptr, y_ptr, n):
    i = tl.arange(0, 64)
    v = tl.load(x_ptr + i) * 2.5
    {store}
"""
    body = "y, z = torch.empty_like(x), torch.empty_like(x)\n_work[(1,)](x, y, 64)\nreturn {}"

    assert loud(model(body.format("y"), kernel)) == set()
    assert loud(model(body.format("z"), kernel)) >= {UNWRITTEN}
