"""What belongs to others and is replaced is told, however it is spelled; what is its own is not."""

from __future__ import annotations

import pytest

from kbsite.model.alarm import Level
from tests.alarms.pairs import HONEST, Pair, called, ident, imported, told, wanted
from tests.alarms.solutions import found, loud

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM
FAKE = "def fake(*given): return True"

REPLACED = {
    "plain": "torch.allclose = fake  # <<",
    "alias": "import torch as t\nt.allclose = fake  # <<",
    "part": "from torch import cuda\ncuda.synchronize = fake  # <<",
    "a name of it": "held = torch.cuda\nheld.synchronize = fake  # <<",
    "class": "torch.cuda.Event = fake  # <<",
    "method": "torch.cuda.Event.elapsed_time = fake  # <<",
    "operator": "torch.Tensor.__eq__ = fake  # <<",
    "clock": "import time\ntime.perf_counter = fake  # <<",
    "both of two": "torch.allclose, torch.equal = fake, fake  # <<",
    "second of three": "own = torch.allclose = mine = fake  # <<",
    "in a list": "[torch.allclose, other] = fake, 1  # <<",
    "nested": "(first, (torch.allclose, third)) = 1, (fake, 2)  # <<",
    "starred": "first, *torch.allclose = 1, fake  # <<",
    "with a type": "torch.allclose: object = fake  # <<",
    "added to": "torch.allclose += fake  # <<",
    "target of a loop": "for torch.allclose in [fake]:  # <<\n    pass",
    "target of with": "with open('x') as torch.allclose:  # <<\n    pass",
    "deleted": "del torch.allclose  # <<",
    "setattr": "setattr(torch, 'allclose', fake)  # <<",
    "setattr in parts": "setattr(torch, 'all' + 'close', fake)  # <<",
    "setattr of an import": "setattr(__import__('torch'), 'allclose', fake)  # <<",
    "delattr": "delattr(torch, 'allclose')  # <<",
    "setattr of type": "type.__setattr__(torch.Tensor, 'sum', fake)  # <<",
    "setattr of object": "object.__setattr__(torch, 'allclose', fake)  # <<",
    "setattr as a method": "torch.__setattr__('allclose', fake)  # <<",
    "setattr from builtins": "import builtins\nbuiltins.setattr(torch, 'allclose', fake)  # <<",
    "vars": "vars(torch)['allclose'] = fake  # <<",
    "vars updated": "vars(torch).update(allclose=fake)  # <<",
    "dict": "torch.__dict__['allclose'] = fake  # <<",
    "dict updated": "torch.__dict__.update({'allclose': fake})  # <<",
    "dict set": "torch.__dict__.__setitem__('allclose', fake)  # <<",
    "dict by a name": "space = torch.__dict__\nspace['allclose'] = fake  # <<",
    "dict by operator": "import operator\noperator.setitem(vars(torch), 'allclose', fake)  # <<",
    "dict by a class": "dict.update(torch.__dict__, allclose=fake)  # <<",
    "vars by a name": "space = vars(torch)\nspace['allclose'] = fake  # <<",
    "vars emptied": "import operator\noperator.delitem(vars(torch), 'allclose')  # <<",
    "defaults": "torch.allclose.__defaults__ = (1.0, 1.0)  # <<",
    "code": "torch.allclose.__code__ = fake.__code__  # <<",
    "globals of a function": "torch.allclose.__globals__['x'] = fake  # <<",
    "builtins": "import builtins\nbuiltins.print = fake  # <<",
    "builtins by their name": "__builtins__['print'] = fake  # <<",
    "os": "import os\nos.fsync = fake  # <<",
    "standard output": "import sys\nsys.stdout = open('x', 'w')  # <<",
    "hook": "import sys\nsys.excepthook = fake  # <<",
    "module": "import sys\nsys.modules['benchmark'] = None  # <<",
    "module deleted": "import sys\ndel sys.modules['benchmark']  # <<",
    "module popped": "import sys\nsys.modules.pop('torch')  # <<",
    "import hook": "import sys\nsys.meta_path.append(None)  # <<",
    "operation": "lib = torch.library.Library('aten', 'IMPL', 'CUDA')  # <<",
    "mock": "from unittest import mock\nmock.patch.object(torch, 'allclose', fake)  # <<",
}

OWN = {
    "class of its own": "class Config: size = 3\nConfig.size, Config.rest = 4, 5",
    "setattr of its class": "class Config: size = 3\nsetattr(Config, 'size', 4)",
    "its function": "def work(): pass\nwork.calls = 0\nwork.__dict__['more'] = 1",
    "its names": "globals()['extra'] = 3",
    "its names updated": "vars().update(extra=3)\nglobals().update(more=4)",
    "an object": "held = Model()\nheld.size = 3\nsetattr(held, 'rest', 4)\ndel held.size",
    "its dictionaries": "held = {}\nheld.update(a=1)\nheld.pop('a')\n"
    "dict.update(held, b=2)\nheld['c'] = held.setdefault('d', 3)",
    "targets of its own": "for Config.size, (first, *rest) in [(1, (2, 3))]:\n    pass\n"
    "class Config: size = 3\nwith open('x') as Config.held:\n    pass",
    "weights": "held = nn.Linear(2, 2)\nheld.weight.data = torch.zeros(2, 2)",
    "what requires gradients": "w = torch.ones(2)\nw.requires_grad = False",
    "an extension": "from torch.utils.cpp_extension import load_inline\n"
    "ext = load_inline('x', '')\next.tuned = True",
    "settings of the compiler": "torch._inductor.config.max_autotune = True",
    "a library of its own": "lib = torch.library.Library('mine', 'DEF')",
    "kept for later": "close = torch.allclose\nnamed = vars(torch)['allclose']",
    "compared": "same = torch.allclose is None or torch.Tensor.sum == close",
    "where modules are looked for": "import sys\nsys.path.insert(0, 'files')",
    "an argument of that name": "def use(torch_like):\n    torch_like.allclose = 3",
    "attributes of self": "class Tile:\n    def __init__(self, **more):\n"
    "        self.stride, self.shape = 3, (4,)\n        self.__dict__.update(more)\n"
    "        for name in more:\n            setattr(self, name, more[name])",
    "a type said only": "torch_close: object\nwidth: int = 3",
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_thing_of_others_that_is_replaced_is_told_in_its_line(name: str) -> None:
    text = imported(f"{FAKE}\n{REPLACED[name]}")

    assert set(told(text, "monkey-patch")) == set(wanted(text, ALARM))


@pytest.mark.parametrize("name", OWN)
def test_a_change_of_what_is_its_own_is_a_note_at_most(name: str) -> None:
    assert loud(imported(OWN[name])) == set()


def test_plain_data_that_is_replaced_weighs_less_than_code() -> None:
    text = imported("torch.some_limit = 128  # <<\n")

    assert told(text, "monkey-patch") == wanted(text, WARNING)


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ("def test_it():\n    torch.allclose = print", "in its own tests"),
        ("if __name__ == '__main__':\n    torch.allclose = print", "in its own tests"),
        ("torch.allclose = print", "when it is imported"),
        ("class Late:\n    def prepare(self):\n        torch.allclose = print", "when it is made"),
    ],
)
def test_a_patch_says_when_it_is_made_and_is_a_note_in_tests(lines: str, when: str) -> None:
    [alarm] = [a for a in found(imported(lines)) if a.kind == "monkey-patch"]

    assert alarm.saw == f"`torch.allclose` is replaced, {when}."
    assert alarm.level is (NOTE if when == "in its own tests" else ALARM)


FLAGS = [
    Pair("matmul", ALARM, "torch.backends.cuda.matmul.allow_tf32 = True  # <<",
         "fast = torch.backends.cuda.matmul.allow_tf32"),
    Pair("of a name", ALARM, "b = torch.backends.cudnn\nb.allow_tf32 = True  # <<",
         "b = torch.backends.cudnn\nassert b.allow_tf32 is not None"),
    Pair("half sums", ALARM,
         "m = torch.backends.cuda.matmul\n"
         "m.allow_bf16_reduced_precision_reduction = True  # <<",
         "m = torch.backends.cuda.matmul\n"
         "print(m.allow_bf16_reduced_precision_reduction)"),
    Pair("by setattr", ALARM, "setattr(torch.backends.cudnn, 'allow_tf32', True)  # <<",
         "fast = getattr(torch.backends.cudnn, 'allow_tf32', None)"),
    Pair("of an unknown name", ALARM,
         "def flip(name): setattr(torch.backends.cuda.matmul, name, True)  # <<",
         "def look(name): return getattr(torch.backends.cuda.matmul, name)"),
    Pair("precision of products", ALARM, "torch.set_float32_matmul_precision('medium')  # <<",
         "before = torch.get_float32_matmul_precision()"),
    Pair("default type", ALARM, "torch.set_default_dtype(torch.bfloat16)  # <<",
         "before = torch.get_default_dtype()"),
    Pair("matmul as it is without", WARNING,
         "torch.backends.cuda.matmul.allow_tf32 = False  # <<",
         "exact = torch.backends.cuda.matmul.allow_tf32 is False"),
    Pair("newer spelling", ALARM, "torch.backends.cudnn.fp32_precision = 'tf32'  # <<",
         "told = torch.backends.cudnn.fp32_precision == 'tf32'"),
    Pair("default device", NOTE, "torch.set_default_device('cuda')  # <<",
         "torch.cuda.current_device()"),
    Pair("search of the fastest", NOTE, "torch.backends.cudnn.benchmark = True  # <<",
         "if torch.backends.cudnn.benchmark: print('searching')"),
]  # fmt: skip


@pytest.mark.parametrize("pair", FLAGS, ids=ident)
def test_a_switch_is_told_in_its_line_and_reading_one_is_not(pair: Pair) -> None:
    text = imported(pair.trick)

    assert told(text, "backend-flags") == wanted(text, pair.level)
    assert told(imported(pair.twin), "backend-flags") == []
    assert loud(imported(pair.twin)) == set()


def test_products_at_full_precision_as_they_are_anyway_are_a_note() -> None:
    text = imported("torch.set_float32_matmul_precision('highest')  # <<")

    assert told(text, "backend-flags") == wanted(text, NOTE)


def test_a_switch_in_its_own_tests_is_a_note() -> None:
    text = imported("def bench(): torch.backends.cuda.matmul.allow_tf32 = True  # <<")

    assert told(text, "backend-flags") == wanted(text, NOTE)


VARIABLES = [
    Pair("by item", WARNING, "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'  # <<",
         "os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'"),
    Pair("that weighs", ALARM, "os.environ['NVIDIA_TF32_OVERRIDE'] = '1'  # <<",
         "os.environ['MAX_JOBS'] = '8'"),
    Pair("by default", ALARM, "os.environ.setdefault('PYTHONHASHSEED', '0')  # <<",
         "os.environ.setdefault('TRITON_CACHE_DIR', '/tmp/triton')"),
    Pair("by put", ALARM, "os.putenv('LD_PRELOAD', 'x.so')  # <<",
         "os.putenv('CUDA_HOME', '/usr/local/cuda')"),
    Pair("by words", ALARM, "os.environ.update(BENCH_SEED='1')  # <<",
         "os.environ.update(CC='gcc', CXX='g++')"),
    Pair("of a dictionary", WARNING, "os.environ.update({'OTHER': '1'})  # <<",
         "os.environ.update({'TMPDIR': '/tmp', 'NVCC_APPEND_FLAGS': '-O3'})"),
    Pair("of a dictionary elsewhere", WARNING,
         "def put(more): os.environ.update(more)  # <<",
         "def put(more): return {**more}"),
    Pair("by union", WARNING, "os.environ |= {'OTHER': '1'}  # <<",
         "own = {'a': 1}\nown |= {'OTHER': '1'}"),
    Pair("as a whole", ALARM, "os.environ = {'NVIDIA_TF32_OVERRIDE': '1'}  # <<",
         "environ = {'NVIDIA_TF32_OVERRIDE': '1'}"),
    Pair("deleted", WARNING, "del os.environ['CUDA_MODULE_LOADING']  # <<",
         "own = {'a': 1}\ndel own['a']"),
    Pair("popped", WARNING, "os.environ.pop('CUDA_MODULE_LOADING', None)  # <<",
         "os.environ.pop('TRITON_INTERPRET', None)"),
    Pair("all gone", WARNING, "os.environ.clear()  # <<", "own = {}\nown.clear()"),
    Pair("by operator name", ALARM, "os.environ.__setitem__('POPCORN_FD', '1')  # <<",
         "own = {}\nown.__setitem__('POPCORN_FD', '1')"),
    Pair("as bytes", WARNING, "os.environb[b'OTHER'] = b'1'  # <<",
         "known = os.environb is None"),
]  # fmt: skip


@pytest.mark.parametrize("pair", VARIABLES, ids=ident)
def test_a_variable_that_is_set_is_told_in_its_line_and_a_build_s_is_not(pair: Pair) -> None:
    text = imported(f"import os\n{pair.trick}")

    assert told(text, "environment-change") == wanted(text, pair.level)
    assert loud(imported(f"import os\n{pair.twin}")) == set()


LOOKALIKES = [
    Pair("method", ALARM, "y = x * 2\ny.cpu = lambda: x  # <<", "y = x * 2\ny.cpu()"),
    Pair("method by setattr", ALARM, "y = x * 2\nsetattr(y, 'cpu', lambda: x)  # <<",
         "y = x * 2\nsetattr(self, 'held', 3)"),
    Pair("method bound", ALARM,
         "import types\ny = x * 2\ny.float = types.MethodType(print, y)  # <<",
         "import types\ny = x * 2\nself.float = types.MethodType(print, y)"),
    Pair("method of its source", ALARM, "def fake(): return x\ny = x * 2\ny.item = fake  # <<",
         "def fake(): return x\nself.item = fake"),
    Pair("shape of data", ALARM, "import functools\nx.size = functools.partial(print, 3)  # <<",
         "size = 3\nself.size = 4"),
]  # fmt: skip


@pytest.mark.parametrize("pair", LOOKALIKES, ids=ident)
def test_a_method_of_one_object_that_is_replaced_is_told_in_its_line(pair: Pair) -> None:
    text = called(pair.trick)

    assert told(text, "tensor-subclass") == wanted(text, pair.level)
    assert "tensor-subclass" not in loud(called(pair.twin))


def test_an_object_that_gets_another_class_is_told() -> None:
    text = called("y = x * 2\ny.__class__ = dict  # <<")

    assert told(text, "monkey-patch") == wanted(text, ALARM)


@pytest.mark.parametrize("name", ["json", "torch", "conftest", "sitecustomize", "reference"])
def test_a_sidecar_named_as_a_module_of_others_is_told_as_a_whole(name: str) -> None:
    sidecar = {f"files/{name}.py": "x = 1\n"}
    alarms = [a for a in found(HONEST, sidecars=sidecar) if a.kind == "tampering"]

    assert [(a.level, a.file, a.lines) for a in alarms] == [(ALARM, f"files/{name}.py", ())]
    assert loud(HONEST, sidecars={f"files/{name}_tiles.py": "x = 1\n"}) == set()
