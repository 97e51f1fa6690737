"""Who calls the functions of a source, and what they give them."""

from __future__ import annotations

import ast
from typing import cast

from kbsite.alarms.python.module import Module, Parameter, Scope

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
