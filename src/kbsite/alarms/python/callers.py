"""Who calls the functions of a source, and what they give them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from kbsite.alarms.python.module import Module
from kbsite.alarms.python.scopes import Function, Parameter, Scope

_REGISTER = frozenset(("custom_op", "triton_op", "impl", "register_kernel", "define"))
FEW = 4
"""Calls of a function that are looked at."""


def arguments(module: Module, parameter: Parameter, scope: Scope) -> list[ast.expr]:
    """What the source's own calls give for a parameter that is seen from a scope."""
    at: Scope | None = scope
    while at is not None and parameter not in at.bound.get(parameter.name, ()):
        at = at.outer
    if at is None or not isinstance(at.node, ast.FunctionDef):
        return []
    named, place = at.node.name, parameter.place
    if at.outer is not None and isinstance(at.outer.node, ast.ClassDef):
        named = at.outer.name if named == "__init__" else named
        place -= 1
    found: list[ast.expr] = []
    for call in _by_name(module).get(named, ())[:FEW]:
        found += [k.value for k in call.keywords if k.arg == parameter.name]
        found += call.args[place : place + 1] if place >= 0 else []
    return found


def _by_name(module: Module) -> dict[str, list[ast.Call]]:
    """The calls of a source, by the last word of what is called."""
    held = module.memo.get("calls by name")
    if held is None:
        made: dict[str, list[ast.Call]] = {}
        for call in module.all(ast.Call):
            match call.func:
                case ast.Name(id=named) | ast.Attribute(attr=named):
                    made.setdefault(named, []).append(call)
                case _:
                    continue
        held = made
        module.memo["calls by name"] = held
    return cast("dict[str, list[ast.Call]]", held)


def registered(module: Module) -> dict[str, list[Function]]:
    """The functions that the framework calls by a name of `torch.ops`, by the last word of it."""
    held = module.memo.get("registered")
    if held is None:
        made: dict[str, list[Function]] = {}
        for name, function in _registrations(module):
            made.setdefault(name, []).append(function)
        held = made
        module.memo["registered"] = held
    return cast("dict[str, list[Function]]", held)


def _registrations(module: Module) -> Iterator[tuple[str, Function]]:
    functions = {node.name: node for node in module.all(ast.FunctionDef)}
    for function in functions.values():
        for maker in function.decorator_list:
            if name := _registers(maker):
                yield name, function
    for call in module.all(ast.Call):
        # lib.impl("name", function, "CUDA"), torch.library.custom_op("ns::name", function)
        if name := _registers(call):
            given = [part.id for part in call.args[1:] if isinstance(part, ast.Name)]
            yield from ((name, functions[one]) for one in given if one in functions)


def _registers(maker: ast.expr) -> str:
    """The last word of the name that a call registers something under; empty if it does not."""
    match maker:
        case ast.Call(
            func=ast.Attribute(attr=made) | ast.Name(id=made),
            args=[ast.Constant(value=str(name)), *_],
        ) if made in _REGISTER:
            return name.rpartition("::")[2].partition("(")[0]
        case _:
            return ""


def asks_for_main(test: ast.expr) -> bool:
    """Whether a test lets those through alone who run the source as a program."""
    match test:
        case (
            ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            )
            | ast.Compare(
                left=ast.Constant(value="__main__"),
                ops=[ast.Eq()],
                comparators=[ast.Name(id="__name__")],
            )
        ):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(asks_for_main(value) for value in values)
        case _:
            return False


def answers(module: Module) -> list[ast.Lambda]:
    """The lambdas that a name, an attribute or a table of the source stands for."""
    return [node for node in module.all(ast.Lambda) if _is_kept(module, node)]


def _is_kept(module: Module, node: ast.Lambda) -> bool:
    within = module.scope(node).node
    if isinstance(within, ast.Lambda):
        return False
    if isinstance(within, ast.FunctionDef | ast.AsyncFunctionDef) and within.name != "__init__":
        return False
    above = list(module.above(node))
    targets = [part for at in above if isinstance(at, ast.Assign) for part in at.targets]
    own = all(isinstance(part, ast.Name) or _is_own(part) for part in targets)
    return bool(targets) and own and not any(isinstance(part, ast.Call) for part in above)


def _is_own(node: ast.expr) -> bool:
    """Whether it is an attribute of the object itself: one of others would be a patch."""
    held = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(held, ast.Name) and held.id == "self"
