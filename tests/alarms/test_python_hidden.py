"""However the name of an operation is hidden, it is found, or hiding it is told, on its line."""

from __future__ import annotations

import base64
import codecs
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.python.names import Names
from kbsite.model.alarm import Alarm, Level
from kbsite.model.problem import Dtype
from tests.alarms.solutions import found, loud, model, problem, read, written

FORBIDDEN = ("mm", "matmul", "bmm", "baddbmm", "einsum", "addmm")
GEMM = problem(title="GEMM", forbidden=("torch.mm",), tensors=written(Dtype.BF16))
WORK = "y = torch.empty_like(x)\n_double[(1,)](x, y, x.numel(), BLOCK=1024)\n"
HEAD = """
import base64, builtins, codecs, functools, importlib, inspect, itertools, operator, pydoc, string
OPS = {"a": torch.neg, "b": torch.zeros}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
def apply(f, a): return f(a, a)
def pick(name): return getattr(torch, name)
"""
HELD = f"""
{HEAD}
OPS = {{"a": torch.mm, "b": torch.zeros}}
class Held:
    op = torch.mm
"""


def told(expression: str, before: str = HEAD) -> list[Alarm]:
    """What is raised about the one line that is not honest, with nothing on another."""
    text = model(f"{WORK}return {expression}", before)
    line = text.splitlines().index(f"        return {expression}") + 1
    raised = [alarm for alarm in found(text, GEMM) if alarm.level is not Level.NOTE]
    assert all(line in alarm.lines for alarm in raised), [a.saw for a in raised]
    return raised


@pytest.mark.parametrize(
    "expression",
    [
        "functools.reduce(torch.mm, [y, y])",
        "list(map(torch.mm, [y], [y]))[0]",
        "torch.vmap(torch.mm)(y, y)",
        "torch.utils.checkpoint.checkpoint(torch.mm, y, y)",
        "next(itertools.starmap(torch.mm, [(y, y)]))",
        "operator.call(torch.mm, y, y)",
        "torch.mm.__call__(y, y)",
        "operator.methodcaller('m' + 'm', y)(y)",
        "[f(y, y) for f in (torch.zeros, torch.mm)][0]",
        "[getattr(torch, n)(y, y) for n in ('zeros', 'mm')][0]",
        "pick('mm')(y, y)",
        "type(y).mm(y, y)",
        "y.__matmul__(y)",
        "Held.op(y, y)",
        "Held().op(y, y)",
        "OPS['a'](y, y)",
        "OPS.get('a')(y, y)",
        "{'k': torch.mm}.get('k')(y, y)",
        "(lambda op=torch.mm: op(y, y))()",
        "(lambda: torch.mm)()(y, y)",
        "vars(torch).get('mm')(y, y)",
        "torch.__dict__.get('m' * 2)(y, y)",
        "operator.itemgetter('mm')(vars(torch))(y, y)",
        "functools.partial(getattr, torch)('mm')(y, y)",
        "getattr(*(torch, 'mm'))(y, y)",
        "eval('torch.mm')(y, y)",
        "pydoc.locate('torch.mm')(y, y)",
        "importlib.import_module(name='torch').mm(y, y)",
        "getattr(__builtins__, '__import__')('torch').mm(y, y)",
        "(None or torch.mm)(y, y)",
    ],
)
def test_the_operation_itself_is_told(expression: str) -> None:
    raised = told(expression, HELD.replace('OPS = {"a": torch.neg, "b": torch.zeros}', ""))

    assert ("forbidden-op", Level.ALARM) in {(a.kind, a.level) for a in raised}


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("f = torch.zeros\nf = torch.mm", 2),
        ("class K: pass\nsetattr(K, 'f', torch.mm)", 2),
        ("F_ = {}\nF_['a'] = torch.mm", 2),
        ("F_ = []\n\nF_.append(torch.mm)", 3),
        ("F_ = {}\nF_.update(a=torch.mm)", 2),
        ("F_ = dict([\n('a', torch.mm)])", 2),
        ("globals()['f'] = torch.mm", 1),
        ("def g():\n    yield torch.mm", 2),
        ("class C:\n    @property\n    def p(self):\n        return torch.bmm", 4),
        ("match torch.ops.aten.mm:\n    case f: pass", 1),
    ],
)
def test_what_is_forbidden_is_told_where_it_is_only_named(before: str, line: int) -> None:
    text = model(f"{WORK}return y", before)
    first = text[: text.index(before)].count("\n")
    raised = [a for a in found(text, GEMM) if a.level is not Level.NOTE]

    assert [(a.kind, a.level, a.lines) for a in raised] == [
        ("forbidden-op", Level.WARNING, (first + line,))
    ]
    assert loud(text.replace("torch.mm", "torch.neg").replace("bmm", "neg"), GEMM) == (
        {"forbidden-op"} if "aten" in before else set()
    )


@pytest.mark.parametrize(
    "before",
    [
        "def test_it():\n    f = torch.mm",
        "if __name__ == '__main__':\n    f = torch.mm",
        "f = torch.nn.Linear",
        "def f(op): return op is torch.mm",
        "f = torch.backends.cuda.matmul.allow_tf32",
    ],
)
def test_to_name_it_elsewhere_is_honest(before: str) -> None:
    assert loud(model(f"{WORK}return y", before), GEMM) == set()


@pytest.mark.parametrize(
    "expression",
    [
        "functools.reduce(torch.add, [y, y])",
        "list(map(torch.abs, [y]))[0]",
        "[f(y) for f in (torch.zeros_like, torch.ones_like)][0] + y",
        "[getattr(torch, n)(y) for n in ('neg', 'abs')][1]",
        "pick('abs')(y)",
        "OPS.get('b')(4) + y",
        "{'k': torch.abs}.get('k')(y)",
        "(lambda: torch.abs)()(y)",
        "vars(torch).get('abs')(y)",
        "eval('torch.abs')(y)",
        "getattr(torch, 'abs')(y)",
        "y.to(getattr(torch, str(y.dtype).split('.')[-1]))",
        "y.to(getattr(torch, f'float{y.element_size() * 8}'))",
        "isinstance(y, torch.Tensor) and y",
        "apply(torch.add, y)",
    ],
)
def test_the_same_ways_are_honest_where_what_they_do_is(expression: str) -> None:
    assert told(expression) == []


@pytest.mark.parametrize(
    "hidden",
    [
        "'mxm'.replace('x', '', 1)[::-1].translate({})",
        "'%(a)s' % {'a': 'mm'}",
        "'{a}'.format(a='mm')",
        "['mm'].pop()",
        "(lambda: 'mm')()",
        "int.to_bytes(28013, 2, 'big').decode()",
        "string.ascii_letters[12] * 2",
        "''.join(c for c in 'mxm' if c != 'x')",
        "''.join(a + b for a, b in [('m', 'm')])",
        "''.join({'a': 'm', 'b': 'm'}.values())",
        "''.join(itertools.chain('m', 'm'))",
        "functools.reduce(lambda a, b: a + b, ['m', 'm'])",
        "''.join(LETTERS[i] for i in (12, 12))",
        "LETTERS[12] + LETTERS[12]",
    ],
)
def test_a_name_that_cannot_be_worked_out_is_told_as_hidden(hidden: str) -> None:
    raised = told(f"getattr(torch, {hidden})(y, y)")

    assert {alarm.level for alarm in raised} >= {Level.WARNING}
    assert {alarm.kind for alarm in raised} & {"obfuscation", "forbidden-op"}


@pytest.mark.parametrize(
    "hidden",
    ["name", "name + '_'", "f'{name}'", "names[0]", "x.mode", "str(x.dtype)[6:]"],
)
def test_a_name_that_comes_from_elsewhere_hides_nothing(hidden: str) -> None:
    before = f"def find(x, name, names): return getattr(torch, {hidden})"

    assert loud(model(f"{WORK}return y", before), GEMM) == set()


def test_hiding_in_its_own_tests_is_a_note() -> None:
    hidden = "getattr(torch, ''.join({'a': 'm'}.values()))"
    shown = found(f"import torch\n\ndef test_it():\n    {hidden}\n")

    assert [(a.kind, a.level, a.lines) for a in shown] == [("obfuscation", Level.NOTE, (4,))]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("eval('lambda a: torch.mm(a, a)')", "obfuscation"),
        ("exec('def work(a):\\n    return torch.mm(a, a)')", "obfuscation"),
        ("exec('import torch as t\\nt.mm(1, 2)')", "obfuscation"),
        ("exec('import os\\nos._exit(0)')", "early-exit"),
        ("eval('__import__(\"os\")._exit(0)')", "early-exit"),
        ("exec(compile('import sys; sys.exit()', 'a', 'exec'))", "early-exit"),
        ("exec('import gc; gc.get_objects()')", "memory-scan"),
        ("exec('import inspect\\ninspect.stack()')", "environment-sniffing"),
    ],
)
def test_what_a_text_does_is_told_of_the_line_that_runs_it(written: str, kind: str) -> None:
    honest = model(f"{WORK}return y")
    raised = [a for a in found(f"{honest}\n{written}\n") if a.level is not Level.NOTE]

    assert kind in {alarm.kind for alarm in raised}
    assert {alarm.lines for alarm in raised} == {(honest.count("\n") + 2,)}


@pytest.mark.parametrize(
    "written",
    [
        "exec('def work(a): return a + 1')",
        "exec('import math; math.sqrt(2)')",
        "eval('torch.abs(torch.ones(2))')",
        "exec('def broken(:')",
        "exec('')",
        "exec()",
    ],
)
def test_a_text_that_does_nothing_wrong_is_no_more_than_a_note(written: str) -> None:
    assert loud(f"{model(f'{WORK}return y')}\n{written}\n") == set()


def origin(expression: str, before: str = "") -> str:
    reading = read(f"import torch, base64, codecs\n{before}\n_ = {expression}\n")
    names: Names = reading.names
    last = reading.module.tree.body[-1]
    return names.origin(last.value)  # type: ignore[attr-defined]


names = st.sampled_from(FORBIDDEN)


def cut(name: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(name), *(place % len(name) for place in places)})
    return [name[a:b] for a, b in pairwise(ends)]


@settings(deadline=None)
@given(names, st.lists(st.integers(0, 9), max_size=5), st.booleans())
def test_any_pieces_of_a_name_are_put_together(name: str, places: list[int], named: bool) -> None:
    pieces = cut(name, places)
    before = "\n".join(f"p{i} = {piece!r}" for i, piece in enumerate(pieces))
    parts = [f"p{i}" if named else repr(piece) for i, piece in enumerate(pieces)]
    braced = "".join(f"{{p{i}}}" for i in range(len(parts)))
    ways = (
        " + ".join(parts),
        f"''.join([{', '.join(parts)}])",
        f"''.join(({', '.join(parts)},))",
        f"'{'%s' * len(parts)}' % ({', '.join(parts)},)",
        f"'{'{}' * len(parts)}'.format({', '.join(parts)})",
        f"f'{braced}'",
    )
    for way in ways:
        assert origin(f"getattr(torch, {way})", before) == f"torch.{name}", way


@settings(deadline=None)
@given(names, st.integers(0, 60), st.sampled_from(["^", "-", "+"]))
def test_any_numbers_of_a_name_are_turned_back(name: str, key: int, sign: str) -> None:
    hidden = {"^": [ord(c) ^ key for c in name], "-": [ord(c) + key for c in name]}
    numbers = hidden.get(sign, [ord(c) - key for c in name])
    codes = list(map(ord, name))

    for way in (
        f"''.join(chr(n {sign} {key}) for n in {numbers})",
        f"''.join([chr(n {sign} {key}) for n in {tuple(numbers)}])",
        f"''.join(map(chr, {codes}))",
        f"bytes({codes}).decode()",
        " + ".join(f"chr({code})" for code in codes),
    ):
        assert origin(f"getattr(torch, {way})") == f"torch.{name}", way


@settings(deadline=None)
@given(names, st.integers(1, 4), st.sampled_from("xyzq"))
def test_any_cut_of_a_name_is_undone(name: str, step: int, filler: str) -> None:
    spaced = "".join(letter + filler * (step - 1) for letter in name)
    ways = (
        f"{name[::-1]!r}[::-1]",
        f"''.join(reversed({name[::-1]!r}))",
        f"{spaced!r}[::{step}]",
        f"{spaced!r}.replace({filler!r}, '')",
        f"{(filler * step + name + filler)!r}[{step}:-1]",
        f"{(filler * step + name + filler)!r}.strip({filler!r})",
        f"{name.upper()!r}.lower()",
        f"'{name} {filler}'.split()[0]",
        f"'{filler}.{name}'.rpartition('.')[-1]",
    )
    for way in ways:
        assert origin(f"getattr(torch, {way})") == f"torch.{name}", way


@settings(deadline=None)
@given(names, st.integers(0, 2))
def test_any_code_of_a_name_is_decoded(name: str, times: int) -> None:
    coded = name.encode()
    opened = "{}"
    for _ in range(times):
        coded = base64.b64encode(coded)
        opened = opened.format("base64.b64decode({})")
    way = f"{opened.format(repr(coded))}.decode()"

    assert origin(f"getattr(torch, {way})") == f"torch.{name}"
    turned = codecs.encode(name, "rot13")
    assert origin(f"getattr(torch, codecs.decode({turned!r}, 'rot13'))") == f"torch.{name}"
    assert origin(f"getattr(torch, bytes.fromhex({name.encode().hex()!r}).decode())") == (
        f"torch.{name}"
    )


aliases = st.from_regex(r"[a-z]{3}_[a-z0-9]{1,3}", fullmatch=True)


@settings(deadline=None)
@given(st.lists(aliases, min_size=1, max_size=8, unique=True), names)
def test_any_chain_of_aliases_leads_back(chain: list[str], name: str) -> None:
    before = f"{chain[0]} = torch.{name}\n"
    before += "\n".join(f"{b} = {a}" for a, b in pairwise(chain))

    assert origin(chain[-1], before) == f"torch.{name}"
