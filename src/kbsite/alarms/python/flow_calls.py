"""What calls give and change, for `flow`: kernels, allocations, views, operations, functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from kbsite.alarms.python.flow_memory import GIVEN, Frame
from kbsite.alarms.python.kernels import is_blind, kept_defaults, leaves, parameters, written
from kbsite.alarms.python.names import LOCAL
from kbsite.alarms.python.ops import label_of
from kbsite.alarms.python.scopes import Function

if TYPE_CHECKING:
    from kbsite.alarms.python.flow import Flow
    from kbsite.alarms.python.flow_memory import Value

_EMPTY: Final = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted")
)
_FILLED: Final = frozenset(
    """zeros ones full zeros_like ones_like full_like arange linspace eye new_zeros new_ones
    new_full rand randn rand_like randn_like randint tensor scalar_tensor""".split()  # noqa: SIM905
)
_VIEWS: Final = frozenset(
    """view reshape contiguous t transpose permute expand expand_as squeeze unsqueeze flatten
    narrow select detach to view_as unflatten movedim swapaxes data as_strided chunk split
    unbind cuda float half bfloat16 double type_as type requires_grad_ identity clone_ items values
    get pop popitem __getitem__ move_to_end positive alias real""".split()  # noqa: SIM905
)
_CASTS: Final = frozenset(("to", "float", "half", "bfloat16", "double", "type", "type_as"))
_META: Final = frozenset(
    """size stride numel dim nelement element_size is_contiguous get_device storage_offset
    is_floating_point ndimension""".split()  # noqa: SIM905
)
_IDENTITY: Final = frozenset(("data_ptr", "untyped_storage", "storage", "__hash__", "_cdata"))
_STORES: Final = frozenset(
    """append add update insert setdefault set put extend appendleft __setitem__ put_nowait
    push send""".split()  # noqa: SIM905
)
_OF_ONE: Final = frozenset(
    ("append", "add", "update", "extend", "appendleft", "put_nowait", "push", "send")
)
"""Those of them that take one thing: what is given more is a function of the solution's own."""
_BY_NAME: Final = frozenset(("register_buffer", "register_parameter", "__setattr__"))
_LOOKS: Final = ("get", "pop", "__getitem__")
_HOST: Final = frozenset(("item", "tolist", "numpy", "cpu"))
_PLAIN: Final = ("math.", "triton.cdiv", "triton.next_power_of_2", "builtins.")


class Calls:
    """Follows the calls of a flow."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def value(self, node: ast.Call, frame: Frame) -> Value:
        """The labels of what a call gives, after all that it changes."""
        flow = self._flow
        origin = flow.reading.names.origin(node.func)
        given = [flow.value(part, frame) for part in node.args]
        named = {k.arg or "**": flow.value(k.value, frame) for k in node.keywords}
        if flow.reading.launches(node, origin):
            return self._launched(node, origin, given, named)
        entered = self._of_source(node, origin, given, named, frame)
        if entered is not None:
            return entered
        if "out" in named:
            label = label_of(origin) or "op"
            flow.write(named["out"], flow.made(label, *given), node)
            return named["out"]
        every = [*given, *named.values()]
        if isinstance(node.func, ast.Attribute) and not _is_module(origin):
            return self._method(node, node.func, origin, every, frame)
        return self._function(node, origin, every, frame)

    def _of_source(
        self,
        node: ast.Call,
        origin: str,
        given: list[Value],
        named: dict[str, Value],
        frame: Frame,
    ) -> Value | None:
        """What a function or class of the source gives; None where it is of another."""
        flow = self._flow
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            flow.value(node.func.value, frame)  # what makes the object may keep what it is given
        maker = self._constructor(origin)
        if maker is not None:
            self._entered(node, maker, given, named, frame)
            return frozenset(("made",)).union(*given, *named.values())
        local = self._local(origin)
        if local is not None:
            return self._entered(node, local, given, named, frame)
        return None

    def _launched(
        self, node: ast.Call, origin: str, given: list[Value], named: dict[str, Value]
    ) -> Value:
        flow = self._flow
        every = [*given, *named.values()]
        flow.done.chosen += [(node, flow.data(value)) for value in every if "choice" in value]
        base = origin.removesuffix("[]").removesuffix(".run").removesuffix(".launch")
        kernel = flow.reading.kernels.get(base)
        made = flow.made(f"own:{node.lineno}", *every)
        if kernel is not None and is_blind(flow.reading, kernel):
            made = frozenset((f"own:{node.lineno}",))
        placed = given[: _placed(node)]
        by_name = {} if kernel is None else dict(zip(parameters(kernel), placed, strict=False))
        targets = None if kernel is None else self._targets(kernel, by_name | named)
        reached = frozenset[str]().union(*(every if targets is None else targets))
        marks = frozenset(
            mark for mark in reached
            if mark[0] == "@" and (targets is not None or not mark.startswith(GIVEN))
        )  # fmt: skip
        flow.write(marks, made, node)
        flow.done.launched.append((node, base, marks))
        return made

    def _targets(self, kernel: Function, by_name: dict[str, Value]) -> list[Value] | None:
        """What a kernel writes to; None where that cannot be told."""
        reading = self._flow.reading
        if leaves(reading, kernel):
            return []
        outputs = written(reading, kernel)
        if not outputs <= set(by_name) or not outputs:
            return None
        return [by_name[name] for name in outputs]

    def _constructor(self, origin: str) -> Function | None:
        """The `__init__` that a call of a class of the source enters."""
        if not origin.startswith(LOCAL) or origin.endswith("()"):
            return None
        names = self._flow.reading.names
        found = names.definition(origin)
        if not isinstance(found, ast.ClassDef):
            return None
        return names.method(self._flow.reading.module.scopes[found], "__init__")

    def _local(self, origin: str) -> Function | None:
        """The function of the source that a call of an origin enters."""
        if not origin.startswith(LOCAL):
            return None
        reading = self._flow.reading
        found = reading.names.definition(origin.removesuffix("()").removesuffix(".apply"))
        if isinstance(found, ast.ClassDef):
            used = origin.endswith(("()", ".apply"))
            held = reading.module.scopes[found]
            names = ("forward", "__call__") if used else ()
            methods = [m for name in names if (m := reading.names.method(held, name)) is not None]
            return methods[0] if methods else None
        return found

    def _entered(
        self,
        node: ast.Call,
        function: Function,
        given: list[Value],
        named: dict[str, Value],
        frame: Frame,
    ) -> Value:
        flow = self._flow
        names = parameters(function)
        first = names[0] if names else ""
        bound = first in ("self", "cls", "ctx") and isinstance(node.func, ast.Attribute | ast.Call)
        bound = bound or (first in ("self", "cls", "ctx") and len(given) < len(names))
        placed = names[1:] if bound else names
        values = dict(zip(placed, given, strict=False)) | named
        sure = _placed(node)
        if sure < len(node.args):
            rest = frozenset[str]().union(*given[sure:])
            values |= dict.fromkeys(placed[sure:], rest) | named
        for kept in kept_defaults(function):
            values.setdefault(kept, flow.state(f"{function.name}.{kept}"))
        for name in names:
            values.setdefault(name, frozenset())
        if function.args.vararg is not None:
            further = given[len(placed) :]
            values[function.args.vararg.arg] = frozenset[str]().union(*further)
        if self._is_memoised(function):
            return self._memoised(node, function, values)
        return flow.enter(function, values, frame)

    def _is_memoised(self, function: Function) -> bool:
        origins = (self._flow.reading.names.origin(made) for made in function.decorator_list)
        return any(
            origin.startswith(("functools.lru_cache", "functools.cache")) for origin in origins
        )

    def _memoised(self, node: ast.Call, function: Function, values: dict[str, Value]) -> Value:
        """A call whose results are kept by what it is given."""
        flow = self._flow
        place = f"{function.name}()"
        depends = flow.data(*values.values())
        flow.done.keyed.append((node, depends))
        if place in flow.kept:
            return flow.state(place)
        made = flow.enter(function, values, Frame(function))
        if any(label == "id" or label.startswith("in:") for label in depends):
            flow.store(place, made, node)
        return made

    def _method(
        self, node: ast.Call, called: ast.Attribute, origin: str, given: list[Value], frame: Frame
    ) -> Value:
        flow = self._flow
        owner = flow.value(called.value, frame)
        name = called.attr
        place = self._looked_for(node, called, frame)
        if place is not None:
            return flow.held(place)
        if name in _BY_NAME and len(node.args) > 1:
            return self._set_by_name(node, called, given, frame)
        if name in _META or name in _IDENTITY:
            return frozenset(("meta" if name in _META else "id",))
        if name.startswith("new_") and name in _EMPTY | _FILLED:
            return flow.place(node, "empty" if name in _EMPTY else "const")
        return self._of_kept(node, called, owner, given) or self._of_tensor(
            node, name, origin, owner, given
        )

    def _looked_for(self, node: ast.Call, called: ast.Attribute, frame: Frame) -> str | None:
        """The place of a name that is got from a namespace by a method."""
        if called.attr not in _LOOKS or not node.args:
            return None
        return self._flow.lasting(ast.Subscript(called.value, node.args[0]), frame)

    def _set_by_name(
        self, node: ast.Call, called: ast.Attribute, given: list[Value], frame: Frame
    ) -> Value:
        """`self.register_buffer(name, value)`, `object.__setattr__(self, name, value)`."""
        flow = self._flow
        owner, *rest = (called.value, *node.args) if len(node.args) == 2 else node.args
        name = flow.reading.names.text(rest[0])
        place = None if name is None else flow.lasting(ast.Attribute(owner, name), frame)
        if place is not None:
            flow.keep(place, given[len(node.args) - 1], node)
        return frozenset()

    def _of_kept(
        self, node: ast.Call, called: ast.Attribute, owner: Value, given: list[Value]
    ) -> Value:
        """What a method of something that outlasts the call gives; empty if it is of another."""
        flow, name = self._flow, called.attr
        if name == "replay":
            flow.done.replayed.append((node, self._fed()))
            self._written_by_graph(node)
            return owner
        kept = next((label for label in owner if label.startswith("state:")), "")
        if kept and _is_store(node, name):
            return self._stored(node, called, kept, given)
        if name in _STORES and name not in ("add", "push", "send"):
            flow.write(owner, flow.data(*given), node)
        if kept and given:
            self._asked(node, name, given)
        return frozenset()

    def _asked(self, node: ast.Call, name: str, given: list[Value]) -> None:
        """Note by what something is looked up in what is kept, or that it gets hold of an input."""
        flow = self._flow
        if name in _LOOKS:
            flow.done.keyed.append((node, flow.data(given[0])))
        elif any(mark.startswith(GIVEN) for value in given for mark in value):
            flow.done.unknown.append(node)  # whatever its name, it may be a library of its own

    def _stored(
        self, node: ast.Call, called: ast.Attribute, label: str, given: list[Value]
    ) -> Value:
        flow = self._flow
        place = label.removeprefix("state:")
        if called.attr == "setdefault" and place in flow.kept:
            return flow.state(place)
        flow.store(place, frozenset[str]().union(*given[-1:]), node)
        if called.attr in ("setdefault", "__setitem__") and given:
            flow.done.keyed.append((node, flow.data(given[0])))
        return flow.state(place) | frozenset[str]().union(*given[-1:])

    def _of_tensor(
        self, node: ast.Call, name: str, origin: str, owner: Value, given: list[Value]
    ) -> Value:
        flow = self._flow
        if name in _VIEWS:
            return flow.cast(owner) if name in _CASTS else owner
        if name == "clone":
            return flow.copied(node, owner)
        if name == "copy_" and flow.data(*given):
            flow.write(owner, flow.data(*given), node)
            return owner
        if name in _HOST:
            return flow.made("host", owner)
        if name.endswith("_") and not name.startswith("_") and name not in _VIEWS:
            label = "const" if name in ("zero_", "fill_") else "op"
            flow.write(owner, flow.made(label, *given), node)
            return owner
        label = label_of(origin)
        return flow.made(label, owner, *given) if label else self._unknown(node, [owner, *given])

    def _unknown(self, node: ast.Call, given: list[Value]) -> Value:
        """What something gives of which nothing is known: it may write to all but the inputs."""
        flow = self._flow
        flow.done.unknown.append(node)
        made = flow.made("call", *given)
        places = {mark for value in given for mark in value if mark[0] == "@"}
        own = frozenset(mark for mark in places if not mark.startswith((*GIVEN, "@state:")))
        flow.write(own, made, node)
        return made | own

    def _function(self, node: ast.Call, origin: str, given: list[Value], frame: Frame) -> Value:
        flow = self._flow
        if origin.startswith(("torch.", "cupy.", "numpy.")):
            return self._of_framework(node, origin, given)
        if origin in ("builtins.id", "builtins.hash"):
            return frozenset(("id",)) | flow.data(*given)
        if origin in ("builtins.getattr", "builtins.setattr") and len(node.args) > 1:
            return self._looked_up(node, origin, given, frame)
        if origin.startswith(_PLAIN):
            return self._plain(node, origin, given)
        label = label_of(origin)
        return flow.made(label, *given) if label else self._unknown(node, given)

    def _plain(self, node: ast.Call, origin: str, given: list[Value]) -> Value:
        """What functions of Python give."""
        labels = frozenset[str]().union(*given)
        match origin.removeprefix("builtins."):
            case "next" if node.args and isinstance(node.args[0], ast.Name | ast.Attribute):
                marks = (mark for mark in labels if mark[:6] == "state:")
                return labels.union(mark.replace("state:", "next:") for mark in marks)
            case "len":
                kept = (mark.replace("state:", "len:") for mark in labels if mark[:6] == "state:")
                return frozenset(kept) | {"meta"}
            case "float" | "int" | "bool" if found := self._flow.data(labels):
                return found | {"host"}
            case _:
                return labels

    def _of_framework(self, node: ast.Call, origin: str, given: list[Value]) -> Value:
        flow = self._flow
        name = origin.rpartition(".")[2]
        if name in _EMPTY:
            return flow.place(node, "empty")
        if name in _FILLED:
            filled = given[1:] if name.endswith("_like") else given
            return flow.place(node, "const") | flow.data(*filled)
        if name == "clone":
            return flow.copied(node, *given)
        if name in _VIEWS or name == "as_tensor":
            return frozenset[str]().union(*given)
        label = label_of(origin)
        return flow.made(label, *given) if label else self._unknown(node, given)

    def _looked_up(self, node: ast.Call, origin: str, given: list[Value], frame: Frame) -> Value:
        """`getattr` and `setattr` of something that outlasts the call."""
        flow = self._flow
        name = flow.reading.names.text(node.args[1])
        if name is None or not isinstance(node.args[0], ast.Name):
            return frozenset[str]().union(*given)
        spelled = ast.Attribute(node.args[0], name)
        place = flow.lasting(spelled, frame)
        if place is None:
            return given[0]
        if origin == "builtins.setattr" and len(given) > 2:
            flow.keep(place, given[2], node)
            return frozenset()
        return flow.held(place)

    def _fed(self) -> bool:
        """Whether something of the inputs has been written to what outlasts the call."""
        return any(
            mark.startswith("@state:") and any(label.startswith("in:") for label in labels)
            for mark, labels in self._flow.done.memory.items()
        )

    def _written_by_graph(self, node: ast.Call) -> None:
        self._flow.by_graphs.add(f"own:{node.lineno}")
        for mark, labels in self._flow.done.memory.items():
            if mark.startswith("@state:"):
                labels.add(f"own:{node.lineno}")


def _is_store(node: ast.Call, name: str) -> bool:
    return name in _STORES and (len(node.args) < 2 or name not in _OF_ONE)


def _placed(node: ast.Call) -> int:
    """How many arguments of a call stand where they seem to: those before the first `*`."""
    stars = (n for n, part in enumerate(node.args) if isinstance(part, ast.Starred))
    return next(stars, len(node.args))


def _is_module(origin: str) -> bool:
    """Whether an origin is a function of a module, no method of a value."""
    root = origin.partition(".")[0]
    return (
        root not in ("?", "")
        and not root.startswith(LOCAL)
        and "()" not in origin
        and not origin.endswith(".__setattr__")
        and "[]" not in origin
    )
