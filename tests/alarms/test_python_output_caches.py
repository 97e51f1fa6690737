"""Results that are kept from call to call, wherever they hide, and memory that is only reused."""

from __future__ import annotations

import textwrap

import pytest

from tests.alarms.solutions import KERNEL, found
from tests.alarms.twins import ALARM, WARNING, Twins, each, solution

KIND = "output-cache"

CACHES = [
    Twins(
        "attribute set from the first call", KIND, ALARM,
        solution("""
            if self.y is None:
                self.y = double(x)  #!
            return self.y  #!
            """, made="self.y = None"),
        solution("""
            if self.y is None:
                self.y = torch.empty_like(x)
            double_into(x, self.y)
            return self.y.clone()
            """, made="self.y = None"),
    ),
    Twins(
        "list with one slot", KIND, ALARM,
        solution("""
            if not self.slot:
                self.slot.append(double(x))  #!
            return self.slot[0]  #!
            """, made="self.slot = []"),
        solution("""
            if not self.slot:
                self.slot.append(torch.empty_like(x))
            double_into(x, self.slot[0])
            return self.slot[0] + 0.5
            """, made="self.slot = []"),
    ),
    Twins(
        "setdefault", KIND, ALARM,
        solution("return self.kept.setdefault(x.data_ptr(), double(x))  #!",
                 made="self.kept = {}"),
        solution("""
            held = self.kept.setdefault(x.shape, torch.empty_like(x))
            double_into(x, held)
            return double(held)
            """, made="self.kept = {}"),
    ),
    Twins(
        "update of a dictionary", KIND, ALARM,
        solution("""
            if x.shape not in self.kept:
                self.kept.update({x.shape: double(x)})  #!
            return self.kept[x.shape]  #!
            """, made="self.kept = {}"),
        solution("""
            if x.shape not in self.grids:
                self.grids.update({x.shape: (x.numel() + 1023) // 1024})
            y = torch.empty_like(x)
            _double[(self.grids[x.shape],)](x, y, x.numel(), BLOCK=1024)
            return y
            """, made="self.grids = {}"),
    ),
    Twins(
        "attribute of the type", KIND, ALARM,
        solution("""
            if type(self).y is None:
                type(self).y = double(x)  #!
            return type(self).y  #!
            """).replace("class Model(nn.Module):", "class Model(nn.Module):\n    y = None\n"),
        solution("""
            if type(self).y is None:
                type(self).y = torch.empty_like(x)
            double_into(x, type(self).y)
            return type(self).y * 1.5
            """).replace("class Model(nn.Module):", "class Model(nn.Module):\n    y = None\n"),
    ),
    Twins(
        "setattr and getattr", KIND, ALARM,
        solution("""
            if not hasattr(self, 'y'):
                setattr(self, 'y', double(x))  #!
            return getattr(self, 'y')  #!
            """),
        solution("""
            if not hasattr(self, 'space'):
                setattr(self, 'space', torch.empty_like(x))
            double_into(x, getattr(self, 'space'))
            return double(getattr(self, 'space'))
            """),
    ),
    Twins(
        "registered buffer", KIND, ALARM,
        solution("""
            if self.y is None:
                self.register_buffer('y', double(x))  #!
            return self.y  #!
            """, made="self.y = None"),
        solution("""
            if self.space is None:
                self.register_buffer('space', torch.empty_like(x))
            double_into(x, self.space)
            return double(self.space)
            """, made="self.space = None"),
    ),
    Twins(
        "the object's own dictionary", KIND, ALARM,
        solution("""
            if 'y' not in self.__dict__:
                self.__dict__['y'] = double(x)  #!
            return self.__dict__['y']  #!
            """),
        solution("""
            if 'space' not in self.__dict__:
                self.__dict__['space'] = torch.empty_like(x)
            double_into(x, self.__dict__['space'])
            return double(self.__dict__['space'])
            """),
    ),
    Twins(
        "globals()", KIND, ALARM,
        solution("""
            if 'y' not in globals():
                globals()['y'] = double(x)  #!
            return globals()['y']  #!
            """),
        solution("""
            if 'space' not in globals():
                globals()['space'] = torch.empty_like(x)
            double_into(x, globals()['space'])
            return double(globals()['space'])
            """),
    ),
    Twins(
        "closure with nonlocal", KIND, ALARM,
        solution("return run(x)  #!", """
            def make():
                y = None
                def inner(x):
                    nonlocal y
                    if y is None:
                        y = double(x)  #!
                    return y
                return inner
            run = make()
            """),
        solution("return run(x)", """
            def make():
                space = None
                def inner(x):
                    nonlocal space
                    if space is None:
                        space = torch.empty_like(x)
                    double_into(x, space)
                    return double(space)
                return inner
            run = make()
            """),
    ),
    Twins(
        "object of a class of its own", KIND, ALARM,
        solution("return self.store.ask(x)  #!", """
            class Store:
                def __init__(self):
                    self.held = {}
                def ask(self, x):
                    if x.shape not in self.held:
                        self.held[x.shape] = double(x)  #!
                    return self.held[x.shape]
            """, "self.store = Store()"),
        solution("return self.store.ask(x)", """
            class Store:
                def __init__(self):
                    self.held = {}
                def ask(self, x):
                    if x.shape not in self.held:
                        self.held[x.shape] = torch.empty_like(x)
                    double_into(x, self.held[x.shape])
                    return double(self.held[x.shape])
            """, "self.store = Store()"),
    ),
    Twins(
        "weak dictionary by the input", KIND, ALARM,
        solution("""
            if x in self.held:
                return self.held[x]  #!
            y = double(x)  #!
            self.held[x] = y  #!
            return y
            """, "import weakref", "self.held = weakref.WeakKeyDictionary()"),
        solution("""
            if x.device in self.held:
                return double(x)
            self.held[x.device] = torch.cuda.get_device_properties(x.device)
            return double(x)
            """, "import weakref", "self.held = weakref.WeakKeyDictionary()"),
    ),
    Twins(
        "tuple of key and result", KIND, ALARM,
        solution("""
            if self.last is not None and self.last[0] == x.data_ptr():
                return self.last[1]  #!
            y = double(x)  #!
            self.last = (x.data_ptr(), y)  #!
            return y
            """, made="self.last = None"),
        solution("""
            if self.last is not None and self.last[0] == x.shape:
                double_into(x, self.last[1])
                return double(self.last[1])
            self.last = (x.shape, torch.empty_like(x))
            return double(x)
            """, made="self.last = None"),
    ),
    Twins(
        "kept as a copy, given as a copy", KIND, ALARM,
        solution("""
            if self.y is None:
                self.y = double(x).clone()  #!
            return self.y.clone()  #!
            """, made="self.y = None"),
        solution("""
            if self.shape is None:
                self.shape = x.shape
            return double(x).clone()
            """, made="self.shape = None"),
    ),
    Twins(
        "copied into new memory", KIND, ALARM,
        solution("""
            if self.y is None:
                self.y = double(x)  #!
            out = torch.empty_like(x)  #!
            out.copy_(self.y)  #!
            return out  #!
            """, made="self.y = None"),
        solution("""
            if self.space is None:
                self.space = torch.empty_like(x)
            double_into(x, self.space)
            out = torch.empty_like(x)
            out.copy_(self.space)
            return out
            """, made="self.space = None"),
    ),
    Twins(
        "ternary", KIND, ALARM,
        solution("""
            self.y = double(x) if self.y is None else self.y  #!
            return self.y  #!
            """, made="self.y = None"),
        solution("""
            self.space = torch.empty_like(x) if self.space is None else self.space
            double_into(x, self.space)
            return double(self.space)
            """, made="self.space = None"),
    ),
    Twins(
        "exception for a missing entry", KIND, ALARM,
        solution("""
            try:
                return self.held[x.shape]  #!
            except KeyError:
                self.held[x.shape] = double(x)  #!
            return self.held[x.shape]
            """, made="self.held = {}"),
        solution("""
            try:
                warps = self.held[x.shape]
            except KeyError:
                warps = self.held[x.shape] = 4
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=1024, num_warps=warps)
            return y
            """, made="self.held = {}"),
    ),
    Twins(
        "functools.cache on a method", KIND, ALARM,
        solution("return self.work(x)  #!").replace(
            "    def forward",
            "    @functools.cache\n    def work(self, x):\n        return double(x)\n"
            "    def forward",
        ).replace("import torch\n", "import functools\nimport torch\n", 1),
        solution("return self.work(x, self.warps(x.numel()))").replace(
            "    def forward",
            "    @functools.cache\n    def warps(self, n):\n        return 8 if n > 4096 else 4\n"
            "    def work(self, x, warps):\n        return double(x)\n"
            "    def forward",
        ).replace("import torch\n", "import functools\nimport torch\n", 1),
    ),
    Twins(
        "memory of the set-up that is filled once", KIND, ALARM,
        solution("""
            if not self.ready:
                self.y[: x.numel()] = double(x)  #!
                self.ready = True  #!
            return self.y[: x.numel()].clone()  #!
            """, made="self.y, self.ready = torch.empty(4096), False"),
        solution("""
            if not self.ready:
                self.ready = True
            self.y[: x.numel()] = double(x)
            return self.y[: x.numel()].clone()
            """, made="self.y, self.ready = torch.empty(4096), False"),
    ),
    Twins(
        "slice of a list", KIND, ALARM,
        solution("""
            if not self.held:
                self.held[:] = [double(x)]  #!
            return self.held[0]  #!
            """, made="self.held = []"),
        solution("""
            self.held[:] = [double(x), double(x + 1)]
            return double(x)
            """, made="self.held = []"),
    ),
    Twins(
        "vars()", KIND, ALARM,
        solution("""
            if 'y' not in vars(self):
                vars(self)['y'] = double(x)  #!
            return self.y  #!
            """),
        solution("""
            vars(self)['y'] = double(x)
            return self.y
            """),
    ),
    Twins(
        "got from a namespace", KIND, ALARM,
        solution("""
            y = globals().get('_kept')
            if y is None:
                y = globals()['_kept'] = double(x)  #!
            return y  #!
            """),
        solution("""
            block = globals().get('_block')
            if block is None:
                block = globals()['_block'] = 1024
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=block)
            return y
            """),
    ),
    Twins(
        "object.__setattr__", KIND, ALARM,
        solution("""
            if self.y is None:
                object.__setattr__(self, 'y', double(x))  #!
            return self.y  #!
            """, made="self.y = None"),
        solution("""
            object.__setattr__(self, 'y', double(x))
            return self.y
            """, made="self.y = None"),
    ),
    Twins(
        "attribute of the input", KIND, ALARM,
        solution("""
            if not hasattr(x, 'done'):
                x.done = double(x)  #!
            return x.done  #!
            """),
        solution("""
            y = double(x)
            y.done = True
            return y
            """),
    ),
    Twins(
        "attribute of a module", KIND, ALARM,
        solution("""
            if getattr(triton, 'kept', None) is None:
                triton.kept = double(x)  #!
            return triton.kept  #!
            """),
        solution("""
            block = getattr(triton, 'block', 1024)
            y = torch.empty_like(x)
            _double[(1,)](x, y, x.numel(), BLOCK=block)
            return y
            """),
    ),
    Twins(
        "last result unless the input is new", KIND, ALARM,
        solution("""
            if x is not self.x:
                self.x, self.y = x, double(x)  #!
            return self.y  #!
            """, made="self.x = self.y = None"),
        solution("""
            self.x, self.y = x, double(x)
            return self.y
            """, made="self.x = self.y = None"),
    ),
    Twins(
        "cached property", KIND, ALARM,
        solution("self.x = x\nreturn self.y  #!").replace(
            "    def forward",
            "    @functools.cached_property\n    def y(self):  #!\n        return double(self.x)\n"
            "    def forward",
        ).replace("import torch\n", "import functools\nimport torch\n", 1),
        solution("self.x = x\nreturn self.y").replace(
            "    def forward",
            "    @property\n    def y(self):\n        return double(self.x)\n    def forward",
        ),
    ),
    Twins(
        "the same memory in every call", KIND, WARNING,
        solution("""
            if self.y is None:
                self.y = torch.empty_like(x)  #!
            double_into(x, self.y)  #!
            return self.y  #!
            """, made="self.y = None"),
        solution("""
            if self.space is None:
                self.space = torch.empty_like(x)
            double_into(x, self.space)
            y = torch.empty_like(x)
            double_into(self.space, y)
            return y
            """, made="self.space = None"),
    ),
]  # fmt: skip


@each(CACHES)
def test_a_kept_result_is_told_where_it_is_kept(pair: Twins) -> None:
    assert pair.right(), pair.alarms()


@each(CACHES)
def test_kept_memory_that_each_call_writes_is_honest(pair: Twins) -> None:
    assert pair.flagged() == []


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("x.data_ptr()", "its address or version"),
        ("x._version", "its address or version"),
        ("hash(x)", "its address or version"),
        ("x.shape", "its shape"),
        ("(x.shape, x.dtype)", "its shape"),
        ("float(x[0])", "a few of its values"),
        ("(x.data_ptr(), x.shape)", "its address or version and its shape"),
        ("x.sum().item()", "a few of its values"),
    ],
)
def test_what_a_result_is_found_by_is_told(key: str, words: str) -> None:
    body = f"k = {key}\nif k not in self.c:\n    self.c[k] = double(x)\nreturn self.c[k]"
    told = [a.saw for a in found(solution(body, made="self.c = {}")) if a.kind == KIND]

    assert len(told) == 1
    assert told[0].endswith(f"it is found by {words}.")


def test_each_place_is_told_once() -> None:
    body = """
        if self.y is not None:
            return self.y
        if self.y is None:
            self.y = double(x)
        return self.y
        """
    told = [a for a in found(solution(body, made="self.y = None")) if a.kind == KIND]

    assert len(told) == 1


def test_a_place_with_a_hostile_name_is_shortened() -> None:
    name = "y" * 4_000
    body = f"if self.{name} is None:\n    self.{name} = double(x)\nreturn self.{name}"
    told = [a for a in found(solution(body, made=f"self.{name} = None")) if a.kind == KIND]

    assert len(told) == 1
    assert len(told[0].saw) < 400


SKIPPED = {
    "a set of addresses": """
        done = set()

        def solve(x, y):
            if x.data_ptr() in done:
                return
            torch.mul(x, 2.5, out=y)
            done.add(x.data_ptr())
        """,
    "a table, the work within the branch": """
        done = {}

        def solve(x, y):
            key = x.data_ptr(), x.shape
            if key not in done:
                y.copy_(x * 2.5)
                done[key] = True
        """,
    "what came last": """
        last = None

        def solve(x, y):
            global last
            if last is not None and last == x._version:
                return None
            double_into(x, y)
            last = x._version
        """,
    "a kernel": """
        seen = {}

        def solve(x, y):
            if y.data_ptr() in seen and seen[y.data_ptr()] == x._version:
                return
            _double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            seen[y.data_ptr()] = x._version
        """,
}
"""Solutions that write into what they are given, and only the first time."""

WRITING = {
    "a graph that is replayed": """
        graphs = {}

        def solve(x, y):
            graph = graphs.get(x.data_ptr())
            if graph is None:
                double_into(x, y)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    double_into(x, y)
                graphs[x.data_ptr()] = graph
            graph.replay()
        """,
    "a library that is built once": """
        built = {}

        def solve(x, y):
            if x.shape not in built:
                y.zero_()
                built[x.shape] = load_inline(name="a", cpp_sources="", functions=["add"])
            built[x.shape].add(x, y)
        """,
    "a library whose function is called like an operation": """
        built = {}

        def solve(x, y):
            if x.shape not in built:
                y.zero_()
                built[x.shape] = load_inline(name="a", cpp_sources="", functions=["softmax"])
            built[x.shape].softmax(x, y)
        """,
    "a function that is compiled once": """
        made = None

        def solve(x, y):
            global made
            if made is None:
                y.zero_()
                made = torch.compile(lambda x, y: torch.mul(x, 2.5, out=y))
            made(x, y)
        """,
    "an operator that is loaded once": """
        ready = False

        def solve(x, y):
            global ready
            if not ready:
                torch.mul(x, 2.5, out=y)
                torch.ops.load_library("own.so")
                ready = True
                return
            torch.ops.own.double(x, y)
        """,
    "a plan that is kept": """
        plans = {}

        def solve(x, y):
            if x.shape not in plans:
                plans[x.shape] = 64 if x.numel() > 100 else 32
            if plans[x.shape] == 64:
                double_into(x, y)
            else:
                torch.mul(x, 2.5, out=y)
        """,
    "nothing to do without elements": """
        plans = {}

        def solve(x, y):
            if x.numel() == 0:
                return
            plans[x.shape] = 64
            double_into(x, y)
        """,
}
"""Solutions that keep something, and write in every call."""


def _own(text: str) -> str:
    made = "\n\ndef double_into(x, y):\n    _double[(1,)](x, y, x.numel(), BLOCK=1024)\n"
    return KERNEL + made + textwrap.dedent(text)


@pytest.mark.parametrize("text", SKIPPED.values(), ids=list(SKIPPED))
def test_who_writes_only_the_first_time_is_told(text: str) -> None:
    (told,) = (one for one in found(_own(text)) if one.kind == KIND)

    assert told.level is ALARM
    assert "writes nothing" in told.saw


@pytest.mark.parametrize("text", WRITING.values(), ids=list(WRITING))
def test_who_keeps_something_and_writes_each_time_is_not(text: str) -> None:
    assert [one.saw for one in found(_own(text)) if one.kind == KIND] == []
