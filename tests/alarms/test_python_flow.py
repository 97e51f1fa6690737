"""What is kept and what is given back: told apart from what honest solutions keep."""

from __future__ import annotations

import pytest

from kbsite.model.alarm import Level
from tests.alarms.solutions import Snippet, found, ident, loud, model, problem, snippets

RUN = "_double[(1,)](x, y, x.numel(), BLOCK=1024)"
MAKE = "y = torch.empty_like(x)"


@pytest.mark.parametrize("case", snippets("keeps"), ids=ident)
def test_honest_ways_of_keeping_raise_nothing(case: Snippet) -> None:
    assert loud(case.text) == set()


COPY = """
@triton.jit
def _copy(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(y + i, v * 1.0 + 0, mask=i < n)
"""


@pytest.mark.parametrize("case", snippets("keeping tricks"), ids=ident)
def test_tricks_are_told(case: Snippet) -> None:
    assert case.kind in loud(model(case.body, COPY, case.made))


@pytest.mark.parametrize("case", snippets("hidden caches"), ids=ident)
def test_a_cache_is_found_wherever_it_hides(case: Snippet) -> None:
    assert "output-cache" in loud(case.text)


def test_a_decorator_that_keeps_results_is_found() -> None:
    before = """
    def keep(function):
        kept = {}
        def inner(self, x):
            if x.data_ptr() not in kept:
                kept[x.data_ptr()] = function(self, x)
            return kept[x.data_ptr()]
        return inner
    """
    text = model(f"{MAKE}\n{RUN}\nreturn y", before).replace(
        "    def forward", "    @keep\n    def forward"
    )

    assert loud(text) == {"output-cache"}


KEPT = f"""
k = x.data_ptr()
if k in self.c:
    return self.c[k]
{MAKE}
{RUN}
self.c[k] = y
return y
"""


def test_what_it_is_looked_up_by_is_told() -> None:
    text = model(KEPT, made="self.c = {}")
    alarm = next(a for a in found(text) if a.kind == "output-cache")

    assert alarm.level is Level.ALARM
    assert "`Model.c`" in alarm.saw
    assert "address" in alarm.saw
    assert alarm.file == "solution.py"
    shown = text.splitlines()[alarm.lines[0] - 1 : alarm.lines[-1]]
    assert any("self.c[k]" in line for line in shown)


RENEWED = f"""
if self.p is None:
    self.p = self.weight * 2
{MAKE}
_double[(1,)](self.p, y, 4, BLOCK=4)
return y + x
"""


def test_weights_packed_anew_where_they_are_loaded_are_a_note() -> None:
    text = model(RENEWED, made="self.weight = nn.Parameter(torch.ones(4))\nself.p = None")
    loading = "\n    def load_state_dict(self, state):\n        self.p = None\n"

    assert loud(text) == {"input-cache"}
    assert loud(text + loading) == set()


def test_an_in_place_problem_allows_changes() -> None:
    text = model("_double[(1,)](x, x, 4, BLOCK=4)\nreturn x * 2")

    assert loud(text) == {"input-change"}
    assert loud(text, problem(tags=("in-place",))) == set()


def test_a_function_that_writes_its_output_argument_is_honest() -> None:
    text = model("").replace("class Model(nn.Module):", "class Gone:") + "\n        pass\n"
    text = text[: text.index("class Gone")]
    text += "def run(x, out):\n    _double[(1,)](x, out, x.numel(), BLOCK=1024)\n"

    assert loud(text) == set()


def test_following_ends_on_sources_without_end() -> None:
    deep = "x" + ".t()" * 900
    wide = "\n".join(f"y{i} = x + {i}" for i in range(3_000))
    turns = "return self.forward(self.forward(x))"
    for body in (f"return {deep}", f"{wide}\nreturn y1", turns, "while True:\n    x = x + x"):
        found(model(body))
