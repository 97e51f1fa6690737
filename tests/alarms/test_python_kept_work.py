"""Prepared inputs, captured graphs and counters that are kept from call to call."""

from __future__ import annotations

import pytest

from tests.alarms.solutions import found, loud, model
from tests.alarms.twins import ALARM, NOTE, WARNING, Twins, each, solution

WEIGHT = "self.weight = nn.Parameter(torch.ones(4))\nself.packed = None"
CAPTURE = """
    if self.graph is None:
        self.given, self.out = x.clone(), torch.empty_like(x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            double_into(self.given, self.out)"""
LOADS = """

    def load_state_dict(self, *given, **named):
        super().load_state_dict(*given, **named)
        self.packed = self.weight.t().contiguous()
"""

PREPARED = [
    Twins(
        "input converted once for an address", "input-cache", ALARM,
        solution("""
            if x.data_ptr() not in self.half:
                self.half[x.data_ptr()] = x.half() * 2  #!
            return double(self.half[x.data_ptr()])
            """, made="self.half = {}"),
        solution("""
            half = x.half() * 2
            return double(half)
            """, made="self.half = {}"),
    ),
    Twins(
        "scale of the first input", "input-cache", ALARM,
        solution("""
            if self.scale is None:
                self.scale = x.abs().amax()  #!
            y = torch.empty_like(x)
            _double[(1,)](x / self.scale, y, x.numel(), BLOCK=1024)
            return y
            """, made="self.scale = None"),
        solution("""
            self.scale = x.abs().amax()
            y = torch.empty_like(x)
            _double[(1,)](x / self.scale, y, x.numel(), BLOCK=1024)
            return y
            """, made="self.scale = None"),
    ),
    Twins(
        "input transposed once in a global", "input-cache", ALARM,
        solution("""
            global _turned
            if _turned is None:
                _turned = torch.mul(x.t(), 1.5)  #!
            return double(_turned) + x
            """, "_turned = None"),
        solution("""
            global _turned
            _turned = torch.mul(x.t(), 1.5)
            return double(_turned) + x
            """, "_turned = None"),
    ),
    Twins(
        "indices worked out of values", "input-cache", ALARM,
        solution("""
            if x.shape not in self.order:
                self.order[x.shape] = torch.argmax(x, dim=-1)  #!
            return double(x[self.order[x.shape]])
            """, made="self.order = {}"),
        solution("""
            if x.shape not in self.order:
                self.order[x.shape] = torch.arange(x.shape[0], device=x.device)
            return double(x[self.order[x.shape]])
            """, made="self.order = {}"),
    ),
    Twins(
        "weights packed by the first call", "input-cache", WARNING,
        solution("""
            if self.packed is None:
                self.packed = self.weight * 0.5  #!
            return double(x) + double(self.packed)
            """, made=WEIGHT),
        solution("return double(x) + double(self.packed)", made=WEIGHT) + LOADS,
    ),
    Twins(
        "weights packed while their version is not looked at", "input-cache", WARNING,
        solution("""
            if self.packed is None or self.shape != x.shape:
                self.packed = torch.mul(self.weight, 2)  #!
                self.shape = x.shape
            return double(x) + double(self.packed)
            """, made=f"{WEIGHT}\nself.shape = None"),
        solution("""
            if self.packed is None or self.seen != self.weight._version:
                self.packed = torch.mul(self.weight, 2)
                self.seen = self.weight._version
            return double(x) + double(self.packed)
            """, made=f"{WEIGHT}\nself.seen = None"),
    ),
    Twins(
        "workspace that is filled once", "input-cache", ALARM,
        solution("""
            if self.space is None:
                self.space = double(x)  #!
            y = torch.empty_like(x)
            _double[(1,)](self.space, y, x.numel(), BLOCK=1024)
            return y + x
            """, made="self.space = None"),
        solution("""
            if self.space is None:
                self.space = double(x)
            self.space.copy_(x)
            y = torch.empty_like(x)
            _double[(1,)](self.space, y, x.numel(), BLOCK=1024)
            return y + x
            """, made="self.space = None"),
    ),
]  # fmt: skip

GRAPHS = [
    Twins(
        "nothing copied in", "graph-replay", ALARM,
        solution(f"""{CAPTURE}
    self.graph.replay()  #!
    return self.out.clone()
            """, made="self.graph = None"),
        solution(f"""{CAPTURE}
    self.given.copy_(x)
    self.graph.replay()
    return self.out.clone()
            """, made="self.graph = None"),
    ),
    Twins(
        "copied in after the replay", "graph-replay", ALARM,
        solution(f"""{CAPTURE}
    self.graph.replay()  #!
    self.given.copy_(x)
    return self.out.clone()
            """, made="self.graph = None"),
        solution(f"""{CAPTURE}
    self.given[:] = x
    self.graph.replay()
    return self.out.clone()
            """, made="self.graph = None"),
    ),
    Twins(
        "only zeros copied in", "graph-replay", ALARM,
        solution(f"""{CAPTURE}
    self.given.zero_()
    self.graph.replay()  #!
    return self.out.clone()
            """, made="self.graph = None"),
        solution(f"""{CAPTURE}
    torch.add(x, 0.5, out=self.given)
    self.graph.replay()
    return self.out.clone()
            """, made="self.graph = None"),
    ),
    Twins(
        "graphs by address", "graph-replay", ALARM,
        solution("""
            if x.data_ptr() not in self.graphs:
                graph, out = torch.cuda.CUDAGraph(), torch.empty_like(x)
                with torch.cuda.graph(graph):
                    double_into(x, out)
                self.graphs[x.data_ptr()] = (graph, out)
            graph, out = self.graphs[x.data_ptr()]
            graph.replay()  #!
            return out.clone()
            """, made="self.graphs = {}"),
        solution("""
            if x.shape not in self.graphs:
                graph, given, out = torch.cuda.CUDAGraph(), x.clone(), torch.empty_like(x)
                with torch.cuda.graph(graph):
                    double_into(given, out)
                self.graphs[x.shape] = (graph, given, out)
            graph, given, out = self.graphs[x.shape]
            given.copy_(x)
            graph.replay()
            return out.clone()
            """, made="self.graphs = {}"),
    ),
]  # fmt: skip

COUNTERS = [
    Twins(
        "other work after the first calls", "call-count", WARNING,
        solution("""
            self.calls += 1
            if self.calls > 5:  #!
                return double(x[:1]).expand_as(x)
            return double(x)
            """, made="self.calls = 0"),
        solution("""
            self.calls += 1
            return double(x)
            """, made="self.calls = 0"),
    ),
    Twins(
        "global counter", "call-count", WARNING,
        solution("""
            global _calls
            _calls += 1
            return double(x) if _calls % 3 else double(x) * 2  #!
            """, "_calls = 0"),
        solution("""
            global _calls
            _calls += 1
            return double(x)
            """, "_calls = 0"),
    ),
    Twins(
        "counted by a sum", "call-count", WARNING,
        solution("""
            self.calls = self.calls + 1
            if self.calls == 10:  #!
                return double(x) * 2
            return double(x)
            """, made="self.calls = 0"),
        solution("""
            self.calls = self.calls + 1
            return double(x)
            """, made="self.calls = 0"),
    ),
    Twins(
        "length of a list that each call adds to", "call-count", WARNING,
        solution("""
            self.seen.append(1)
            if len(self.seen) == 10:  #!
                return double(x) * 2
            return double(x)
            """, made="self.seen = []"),
        solution("""
            self.seen.append(1)
            if len(self.seen) > 100:
                self.seen.clear()
            return double(x)
            """, made="self.seen = []"),
    ),
    Twins(
        "iterator that counts", "call-count", WARNING,
        solution("""
            if next(self.calls) > 3:  #!
                return double(x) * 2
            return double(x)
            """, "import itertools", "self.calls = itertools.count()"),
        solution("""
            for part in itertools.count(1):
                if part > 3:
                    break
            return double(x)
            """, "import itertools"),
    ),
    Twins(
        "attribute of the function", "call-count", WARNING,
        solution("return work(x)", """
            def work(x):
                work.calls += 1
                if work.calls > 3:  #!
                    return double(x) * 2
                return double(x)
            work.calls = 0
            """),
        solution("return work(x)", """
            def work(x):
                work.calls += 1
                return double(x)
            work.calls = 0
            """),
    ),
]  # fmt: skip


@each([*PREPARED, *GRAPHS, *COUNTERS])
def test_what_later_calls_do_otherwise_is_told(pair: Twins) -> None:
    assert pair.right(), pair.alarms()


@each([*PREPARED, *GRAPHS, *COUNTERS])
def test_what_each_call_does_anew_is_honest(pair: Twins) -> None:
    assert pair.flagged() == []


@pytest.mark.parametrize("method", ["load_state_dict", "repack", "on_weights_loaded"])
def test_weights_renewed_by_another_method_are_a_note(method: str) -> None:
    body = (
        "if self.packed is None:\n    self.packed = self.weight * 2\nreturn double(self.packed) + x"
    )
    text = solution(body, made=WEIGHT)
    renewed = f"{text}\n\n    def {method}(self, state):\n        self.packed = None\n"
    levels = [[a.level for a in found(t) if a.kind == "input-cache"] for t in (text, renewed)]

    assert levels == [[WARNING], [NOTE]]


def test_weights_that_init_alone_resets_are_not_renewed() -> None:
    text = solution("""
        if self.packed is None:
            self.packed = self.weight * 2
        return double(self.packed) + x
        """, made=WEIGHT)  # fmt: skip

    assert text.count("self.packed = None") == 1
    assert loud(text) == {"input-cache"}


def test_a_counter_is_told_once_however_often_it_is_asked() -> None:
    asks = "".join(f"if self.n == {n}:\n    x = x * {n}\n" for n in range(5))
    text = model(f"self.n += 1\n{asks}return x * 2", made="self.n = 0")

    assert len([a for a in found(text) if a.kind == "call-count"]) == 1
