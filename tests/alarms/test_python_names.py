"""Names are followed to where they come from, whatever is done to hide it; nothing is run."""

from __future__ import annotations

import ast

import pytest

from kbsite.alarms.python.ops import op
from tests.alarms.solutions import read

HEAD = """
import torch, importlib, operator, functools, base64, sys, codecs, inspect, builtins, types
import pydoc, pkgutil, binascii
import torch as t
import torch.nn.functional as F
from torch import mm as short
from torch.nn import functional as G
OPS = {"a": torch.bmm, "b": F.linear}
LISTED = [torch.mm]
f = torch.matmul
def give(): return torch.matmul
def late():
    global EXT
    if EXT is None:
        EXT = torch.utils.cpp_extension.load_inline("x")
    return EXT
EXT = None
def look(owner, name): return getattr(owner, name)
def wrapped(name): return getattr(torch, name)
"""


def origin(expression: str) -> str:
    reading = read(f"{HEAD}\nwanted = {expression}\n")
    last = reading.module.tree.body[-1]
    assert isinstance(last, ast.Assign)
    return reading.names.origin(last.value)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("t.matmul", "torch.matmul"),
        ("short", "torch.mm"),
        ("G.linear", "torch.nn.functional.linear"),
        ("f", "torch.matmul"),
        ("getattr(torch, 'mat' + 'mul')", "torch.matmul"),
        ("getattr(t, ''.join(['m', 'm']))", "torch.mm"),
        ("getattr(torch, 'lumtam'[::-1])", "torch.matmul"),
        ("getattr(torch, ''.join(chr(c) for c in [109, 109]))", "torch.mm"),
        ("getattr(torch, ''.join(map(chr, [109, 109])))", "torch.mm"),
        ("getattr(torch, base64.b64decode('bWF0bXVs').decode())", "torch.matmul"),
        ("getattr(torch, bytes.fromhex('6d6d').decode())", "torch.mm"),
        ("getattr(torch, codecs.decode('zngzhy', 'rot13'))", "torch.matmul"),
        ("getattr(torch, f\"{'mat'}mul\")", "torch.matmul"),
        ("getattr(torch, '%s%s' % ('mat', 'mul'))", "torch.matmul"),
        ("getattr(torch, '{}{}'.format('mat', 'mul'))", "torch.matmul"),
        ("getattr(torch, 'MATMUL'.lower())", "torch.matmul"),
        ("importlib.import_module('to' + 'rch').bmm", "torch.bmm"),
        ("__import__('torch').mm", "torch.mm"),
        ("sys.modules['torch'].mm", "torch.mm"),
        ("sys.modules.get('torch').mm", "torch.mm"),
        ("vars(torch)['mm']", "torch.mm"),
        ("torch.__dict__['mm']", "torch.mm"),
        ("globals()['f']", "torch.matmul"),
        ("functools.partial(torch.addmm, 1)", "torch.addmm"),
        ("operator.attrgetter('ops.aten.mm')(torch)", "torch.ops.aten.mm"),
        ("OPS['b']", "torch.nn.functional.linear"),
        ("OPS[unknown]", "torch.bmm"),
        ("LISTED[0]", "torch.mm"),
        ("give()", "torch.matmul"),
        ("late().gemm", "torch.utils.cpp_extension.load_inline().gemm"),
        ("torch.mm if unknown else None", "torch.mm"),
        ("torch.__dict__.get('mm')", "torch.mm"),
        ("vars(torch).__getitem__('mm')", "torch.mm"),
        ("torch.__getattribute__('mm')", "torch.mm"),
        ("object.__getattribute__(torch, 'mm')", "torch.mm"),
        ("inspect.getattr_static(torch, 'mm')", "torch.mm"),
        ("getattr(*(torch, 'mm'))", "torch.mm"),
        ("functools.partial(getattr, torch)('mm')", "torch.mm"),
        ("functools.reduce(getattr, 'ops.aten.mm'.split('.'), torch)", "torch.ops.aten.mm"),
        ("operator.itemgetter('mm')(vars(torch))", "torch.mm"),
        ("operator.methodcaller('mm', 1)", "?.mm"),
        ("importlib.import_module(name='torch').mm", "torch.mm"),
        ("importlib.import_module('.functional', 'torch.nn').linear", "torch.nn.functional.linear"),
        ("builtins.__import__('torch').mm", "torch.mm"),
        ("__builtins__['__import__']('torch').mm", "torch.mm"),
        ("getattr(__builtins__, '__import__')('torch').mm", "torch.mm"),
        ("sys.modules.__getitem__('torch').mm", "torch.mm"),
        ("globals().get('t').mm", "torch.mm"),
        ("eval('torch.mm')", "torch.mm"),
        ("eval(' f ')", "torch.matmul"),
        ("pydoc.locate('torch.mm')", "torch.mm"),
        ("pkgutil.resolve_name('torch:mm')", "torch.mm"),
        ("OPS.get('b', None)", "torch.nn.functional.linear"),
        ("dict(a=torch.mm)['a']", "torch.mm"),
        ("list([torch.mm])[0]", "torch.mm"),
        ("next(iter([torch.mm]))", "torch.mm"),
        ("types.MethodType(torch.mm, 1)", "torch.mm"),
        ("(lambda: torch.mm)()", "torch.mm"),
        ("(lambda f: f)(torch.mm)", "torch.mm"),
        ("look(torch, 'mm')", "torch.mm"),
        ("wrapped('mm')", "torch.mm"),
        ("eval('1 + 1')", "builtins.eval()"),
        ("eval(unknown)", "builtins.eval()"),
        ("unknown.get('mm')", "?.get()"),
        ("importlib.import_module(unknown).mm", "?().mm"),
        ("pydoc.locate('not a path')", "pydoc.locate()"),
        ("[][0]", "?"),
        ("unknown", "?"),
    ],
)
def test_an_origin_is_found(expression: str, expected: str) -> None:
    assert origin(expression) == expected


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("torch.matmul", "matmul"),
        ("torch.ops.aten.mm.default", "mm"),
        ("torch.nn.functional.linear", "linear"),
        ("torch.nn.Linear()", "linear"),
        ("torch.nn.Linear().forward", "linear"),
        ("torch.Tensor.__matmul__", "matmul"),
        ("torch.nn.Linear", "linear"),
        ("?.mm", "mm"),
        ("torch.empty().t().mm", "mm"),
        ("local:helper().softmax", "softmax"),
        ("operator.matmul", "matmul"),
        ("numpy.dot", "dot"),
        ("torch.utils.cpp_extension.load_inline().mm", ""),
        ("torch.empty()", ""),
        ("torch.cuda.synchronize", ""),
        ("math.exp", ""),
        ("?", ""),
    ],
)
def test_an_operation_is_known_by_any_spelling(spelled: str, expected: str) -> None:
    assert op(spelled) == expected


def test_what_callers_give_is_known_within_a_function() -> None:
    reading = read(
        """
        import torch
        def swap(module, name):
            setattr(module, name, None)
        swap(torch.cuda, "synchronize")
        """
    )
    call = next(c for c, o in reading.calls if o == "builtins.setattr")

    assert reading.names.origin(call.args[0]) == "torch.cuda"


def test_attributes_of_an_object_are_followed() -> None:
    reading = read(
        """
        import torch
        class Base:
            def setup(self):
                self.product = torch.mm
        class Model(Base):
            kept = staticmethod(torch.bmm)
            def forward(self, x, third=torch.addmm):
                self.product(x, x), self.kept(x, x), third(x), self.other(x)
        """
    )

    called = [name for _, name in reading.calls if not name.startswith("builtins.")]
    assert called == ["torch.mm", "torch.bmm", "torch.addmm", "?.other"]


@pytest.mark.parametrize(
    "expression",
    [
        "'a' * 10_000_000_000",
        "'a'[::0]",
        "1 << 10_000_000",
        "2 ** 10_000_000",
        "(10 ** 9) * (10 ** 9) * (10 ** 9)",
        "'%*d' % (10_000_000, 1)",
        "'{:>99999999}'.format(1)",
        "chr(-1)",
        "chr(0x110000)",
        "base64.b64decode('***')",
        "bytes.fromhex('zz')",
        "bytes([999])",
        "'a' // 0",
        "1 // 0",
        "ord('')",
        "''.join([1])",
        "{}['a']",
    ],
)
def test_hostile_constants_are_worked_out_or_left(expression: str) -> None:
    assert origin(f"getattr(torch, {expression})") in ("torch.?", "torch.")


def test_names_that_stand_for_each_other_come_to_an_end() -> None:
    text = "a = b\nb = a\nc = c\nd = d.e(d)[d]\nclass M(M): x = M.x\n"
    text += "def g(): return g()\nh = g()\n"
    reading = read(text)

    assert {reading.names.origin(n) for n in reading.module.all(ast.Name)} <= {
        "?", "local:M", "local:g", "local:g()", "?.e()[]", "?.e()", "?.x",
    }  # fmt: skip
