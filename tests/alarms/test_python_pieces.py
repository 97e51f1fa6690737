"""What is worked out of constants is what Python gives, or nothing: a wrong text would hide one."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import functools
import operator
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.python.constants import Constants
from kbsite.alarms.python.pieces import LONGEST, Value, function, method, operation
from tests.alarms.solutions import read

HEAD = "import base64, binascii, codecs, functools, operator\n"
TOOLS = {
    "base64": base64, "binascii": binascii, "codecs": codecs, "functools": functools,
    "operator": operator,
}  # fmt: skip


def worked_out(expression: str, before: str = "") -> Value | None:
    reading = read(f"{HEAD}{before}\nwanted = {expression}\n")
    last = reading.module.tree.body[-1]
    assert isinstance(last, ast.Assign)
    return reading.names.value(last.value)


def plain(value: object) -> object:
    """What Python gives, with lists and iterators as tuples."""
    if isinstance(value, str | bytes | int | float):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    assert hasattr(value, "__iter__")
    return tuple(plain(part) for part in value)


NAMES = ("mm", "matmul", "bmm", "_getframe", "synchronize")


@pytest.mark.parametrize(
    "expression",
    [
        "'xmmx'[1:-1]",
        "'mxm'[::2]",
        "'ab'[-1]",
        "('mm', 'zeros')[-2]",
        "'m' * 2",
        "2 * 'm'",
        "'m' 'm' + 'x'[1:]",
        "-1",
        "~-110",
        "not 0",
        "7 * 16 - 3",
        "-7 // 2",
        "-7 % 3",
        "'%s%s' % ('m', 'm')",
        "'%c%c' % (109, 109)",
        "'%d' % 7",
        "'{}{}'.format('m', 'm')",
        "'{0}{0}'.format('m')",
        "'{1}{0}'.format('a', 'b')",
        "f\"{'matmulXX':.6}\"",
        "f\"{'mm':>4}\"",
        'f"{109:c}"',
        "f\"{'m'!r}\"",
        "f\"{'m'!s}\"",
        'f"{7:03d}"',
        "'mxmx'.replace('x', '', 1)",
        "'a.b.c'.rsplit('.', 1)",
        "'mm zeros'.partition(' ')",
        "'a.mm'.rpartition('.')[2]",
        "'MM'.casefold()",
        "'mm'.__str__()",
        "'m'.__add__('m')",
        "'mmx'.__getitem__(1)",
        "b'mm'.decode('ascii')",
        "'mm'.encode('utf-16').decode('utf-16')",
        "'mm'.encode('utf_8').hex()",
        "str(b'mm', 'ascii')",
        "bytes('mm', 'ascii')",
        "bytearray(b'mm'.decode(), 'utf-8')",
        "bytes([109, 109])",
        "bytes(109 for c in 'ab')",
        "codecs.decode(b'6d6d', 'hex')",
        "codecs.decode(b'bW0=', 'base64')",
        "codecs.decode('zz', 'rot13')",
        "codecs.decode(b'mm', 'utf-8')",
        "base64.b32decode('NVWQ====')",
        "base64.b85decode(b'Z*')",
        "binascii.unhexlify('6d6d')",
        "''.join(map(chr, (109, 109)))",
        "''.join(map(str, [1, 2]))",
        "''.join(sorted('nm'))",
        "''.join(reversed(list('ab')))",
        "''.join(tuple('mm'))",
        "tuple(b'mm')",
        "''.join(chr(c ^ 1) for c in b'll')",
        "[ord(c) + 1 for c in 'll']",
        "functools.reduce(operator.add, ['m', 'm'])",
        "operator.concat('m', 'm')",
        "str.lower('MM')",
        "str.join('', ['m', 'm'])",
        "str.replace('mxm', 'x', '')",
        "'mm' if True else 'zeros'",
        "'zeros' and 'mm'",
        "'' or 'mm'",
        "(name := 'mm')",
        "b','.join([b'a', b'b'])",
        "['m'] + ['m']",
        "{'k': 'mm', 1: 'x'}[1]",
    ],
)
def test_what_python_gives_is_worked_out(expression: str) -> None:
    wanted = eval(expression, dict(TOOLS))

    assert worked_out(expression) == plain(wanted)


@pytest.mark.parametrize(
    "expression",
    [
        "'a b'.split(sep=' ')",
        "'{a}'.format(a='mm')",
        "'{0.__class__}'.format('m')",
        "'{:9999}'.format('m')",
        "'%(a)s' % 'm'",
        "'%5s' % 'm'",
        "f\"{['m']}\"",
        "f\"{'m':{'>9999999'}}\"",
        "'%s' % (['a'],)",
        "'{}'.format(['a'])",
        "'mm'.encode('rot13')",
        "'mm'.encode('idna')",
        "b'\\xff'.decode()",
        "'mm'.decode()",
        "b'mm'.encode()",
        "b''.join(['a', b'b'])",
        "bytes([109, 999])",
        "bytes(5)",
        "bytes('')",
        "'mm'.hex()",
        "b'mm'.casefold()",
        "str(1.5)",
        "int('12', 8)",
        "[c for c in 'mxm' if c != 'x']",
        "[a + b for a in 'm' for b in 'm']",
        "'ab'[unknown:]",
        "'ab'[9]",
        "'zeros' if unknown else 'mm'",
        "unknown and 'mm'",
        "map(chr, 'ab')",
        "functools.reduce(operator.mul, [2, 3])",
        "functools.reduce(operator.add, [])",
        "sorted((2, 1), key=str)",
        "str.lower('a', 'b', 'c', 'd', 'e')",
        "(lambda: 'mm')()",
        "'mm'.translate({109: 'z'})",
        "'' .join(*['ab'])",
        "None",
    ],
)  # fmt: skip
def test_what_is_not_known_for_sure_is_nothing(expression: str) -> None:
    assert worked_out(expression) is None


def test_a_name_that_is_bound_twice_is_not_known() -> None:
    assert worked_out("s", "s = 'mm'") == "mm"
    assert worked_out("s", "s = None\ns = 'mm'") == "mm"
    assert worked_out("s", "s = 'zeros'\ns = 'mm'") is None
    assert worked_out("s", "s = 'm'\ns += 'm'") is None
    assert worked_out("s", "for s in ('mm',): pass") is None
    assert worked_out("s", "def f():\n    global s\n    s = 'mm'\ns = 'zeros'") is None


texts = st.text("abm_.:% {}", max_size=6)
small = st.integers(-9, 130)
written = st.recursive(
    st.one_of(texts.map(repr), small.map(repr), texts.map(lambda t: repr(t.encode()))),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "%", "-", "//", "^"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda part: f"({part} * 3)"),
        st.tuples(inner, small, small).map(lambda p: f"({p[0]})[{p[1]}:{p[2]}]"),
        st.tuples(inner, small).map(lambda p: f"({p[0]})[{p[1]}]"),
        st.tuples(inner, st.sampled_from(["decode()", "encode('utf-16')", "hex()", "upper()",
                                          "split()", "partition('m')", "format(1)", "strip('a')",
                                          "replace('m', 'x')", "__str__()", "title()"])).map(
            lambda p: f"({p[0]}).{p[1]}"
        ),
        st.tuples(st.sampled_from(["chr", "ord", "str", "bytes", "tuple", "''.join", "len"]),
                  inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} or {p[1]})"),
        st.tuples(inner, st.sampled_from(["", ":>4", ":.2", ":d"])).map(
            lambda p: "f'''{(" + p[0] + ")" + p[1] + "}'''"
        ),
    ),
    max_leaves=6,
)  # fmt: skip


@settings(deadline=None)
@given(written)
def test_no_expression_is_worked_out_to_another_value(expression: str) -> None:
    try:
        ast.parse(expression)
    except SyntaxError:
        return
    try:
        # What Python warns of is no other value.
        with warnings.catch_warnings(action="ignore"):
            wanted = plain(eval(expression))
    except Exception as error:  # noqa: BLE001 - whatever Python says of it
        wanted = error
    found = worked_out(expression)

    assert found is None or found == wanted, expression


@settings(deadline=None)
@given(st.lists(st.sampled_from(["'mm'", "9", "x"]), min_size=1, max_size=4))
def test_a_value_is_the_same_each_time_it_is_asked_for(parts: list[str]) -> None:
    tree = ast.parse(f"({','.join(parts)},)", mode="eval").body
    constants = Constants(lambda _: None, lambda _: "?")

    assert constants.value(tree) == constants.value(tree)
    assert (constants.value(tree) is None) == ("x" in parts)


@pytest.mark.parametrize(
    ("left", "right", "sign"),
    [
        ("a", LONGEST + 1, ast.Mult()),
        ("a" * (LONGEST - 1), "bb", ast.Add()),
        ((1,) * LONGEST, (1,), ast.Add()),
        (1 << 70, 2, ast.Mult()),
        (1, 0, ast.Mod()),
        (1, 0, ast.FloorDiv()),
    ],
    ids=["times", "text", "tuple", "number", "rest", "zero"],
)
def test_what_would_grow_without_end_is_left(left: Value, right: Value, sign: ast.operator) -> None:
    assert operation(left, right, sign) is None


def test_odd_arguments_are_left() -> None:
    assert method("a" * 6_000, "upper", ()) is None
    assert method("a", "replace", ("a", "b" * 200)) is None
    assert method("a", "center", (10**9,)) is None
    assert function("base64.b64decode", (7,)) is None
    assert function("builtins.chr", (0x110000,)) is None
    assert function("os.getenv", ("HOME",)) is None
