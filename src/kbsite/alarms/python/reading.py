"""A source as detectors read it: what runs in every call, what is a kernel, who launches it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property
from typing import Final, cast

from msgspec import Struct

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.alarms.python.callers import answers, asks_for_main, registered
from kbsite.alarms.python.module import Module, lines, modules
from kbsite.alarms.python.names import LOCAL, Names, names
from kbsite.alarms.python.scopes import Definition, Function, Scope
from kbsite.model.alarm import Alarm, Level
from kbsite.store.run_folders import SOLUTION

KERNEL_MAKERS: Final = (
    "triton.jit", "triton.autotune", "triton.heuristics", "triton.experimental.gluon",
    "cutlass.cute", "numba.cuda.jit", "tilelang.", "helion.", "warp.kernel", "taichi.kernel",
    "cupyx.jit", "triton.runtime.jit", "mojo.", "tvm.script", "cuda.jit",
)  # fmt: skip
"""What a decorator starts with that makes a function run on the device."""

NATIVE: Final = (
    "torch.utils.cpp_extension.load", "ctypes.CDLL", "ctypes.cdll", "cupy.RawKernel",
    "cupy.RawModule", "cupy.ElementwiseKernel", "cupy.ReductionKernel",
    "torch.cuda._compile_kernel", "pycuda.compiler.SourceModule", "cutlass.cute.compile",
    "cuda.core", "cuda.bindings", "cffi.", "pyopencl.", "triton.compile", "tilelang.",
    "torch.cuda.jiterator",
)  # fmt: skip
"""What an origin starts with that is native code of the solution's own."""

_TORCH_SPACES: Final = frozenset(
    ("aten", "prims", "prim", "quantized", "profiler", "c10d", "inductor", "image", "torchvision",
     "_c10d_functional", "mkldnn", "sparse", "load_library", "loaded_libraries")
)  # fmt: skip
NATIVE_SUFFIXES: Final = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".so", ".ptx", ".cubin",
                          ".hip", ".metal", ".cl")  # fmt: skip

ENTRIES: Final = ("forward", "__call__")
_GIVEN: Final = frozenset(("get_inputs", "get_init_inputs", "make_inputs", "generate_input"))
_TESTS: Final = ("test", "bench", "check_", "main", "_test", "_bench", "profile", "verify")
_SETUP: Final = frozenset(
    ("__init__", "setup", "load", "load_state_dict", "_load_from_state_dict", "extra_repr",
     "reset_parameters", "prepare", "plan", "warmup", "__del__", "backward", "state_dict", "train",
     "to", "_apply", "setup_context", "init")
)  # fmt: skip


class Phase(Enum):
    """When a line runs."""

    CALL = "in every call"
    SETUP = "when it is made"
    IMPORT = "when it is imported"
    TEST = "in its own tests"


class Reading(Struct, dict=True):
    """A Python source of a run, with what detectors ask of it."""

    evidence: Evidence
    module: Module
    names: Names
    is_entry: bool
    """Whether others come in here: solution.py, or a sidecar that it imports."""
    siblings: frozenset[str] = frozenset()
    """What the other Python files of the run are imported as."""

    @property
    def file(self) -> str:
        """The name of the source within the run."""
        return self.module.file

    def raised(self, kind: str, level: Level, saw: str, node: ast.AST | None = None) -> Alarm:
        """An alarm of a kind about a node of the source; about all of it without one."""
        return alarm(kind, level, saw, self.file, _span(node) if node is not None else ())

    @cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call with the origin of what is called, outside of code for the device."""
        return [
            (call, self.names.origin(call.func))
            for call in self.module.all(ast.Call)
            if not self.on_device(call)
        ]

    @cached_property
    def kernels(self) -> dict[str, Function]:
        """The functions that run on the device, by origin."""
        return {self.names.path(node): node for node in self.functions if self._is_kernel(node)}

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method of the source."""
        found: list[Function] = [*self.module.all(ast.FunctionDef)]
        return [*found, *self.module.all(ast.AsyncFunctionDef)]

    def _is_kernel(self, node: Function) -> bool:
        origins = (self.names.origin(made) for made in node.decorator_list)
        return any(origin.startswith(KERNEL_MAKERS) for origin in origins)

    @cached_property
    def _device(self) -> set[ast.AST]:
        inside: set[ast.AST] = set()
        for node in self.kernels.values():
            inside |= {scope.node for scope in _below(self.module, node)}
        return inside

    def on_device(self, node: ast.AST) -> bool:
        """Whether a node stands in code for the device."""
        return bool(self.kernels) and any(at in self._device for at in self._owners(node))

    def _owners(self, node: ast.AST) -> Iterator[ast.AST]:
        scope = self.module.scope(node)
        while True:
            yield scope.node
            if scope.outer is None:
                return
            scope = scope.outer

    def launches(self, call: ast.Call, origin: str) -> str:
        """What kernel of the solution's own a call runs; empty if none."""
        base, _, last = origin.rpartition(".")
        if origin.endswith("[]") and (origin.removesuffix("[]") in self.kernels):
            return origin.removesuffix("[]").removeprefix(LOCAL)
        if base in self.kernels and last in ("run", "launch"):
            return base.removeprefix(LOCAL)
        if origin in self.kernels or (base.removesuffix("()") in self.kernels):
            return origin.removeprefix(LOCAL)
        if self.is_native(origin):
            return last or origin
        if origin.endswith("[]") and isinstance(call.func, ast.Subscript):
            return self._from_sibling(origin)
        return ""

    def _from_sibling(self, origin: str) -> str:
        head = origin.lstrip(".").partition(".")[0]
        return origin.removesuffix("[]") if head in self.siblings else ""

    def is_native(self, origin: str) -> bool:
        """Whether an origin is native code of the solution's own, once it is built."""
        if origin.startswith("torch.ops."):
            space = origin.split(".")[2].removesuffix("()")
            return space not in _TORCH_SPACES
        made = origin.startswith(NATIVE) and ("()." in origin or "()[" in origin)
        return made or origin.endswith(("load_inline()", "RawKernel()"))

    def phase(self, node: ast.AST) -> Phase:
        """When a node runs."""
        function = self._function(node)
        if function in self.hot:
            return Phase.CALL
        if self._is_in_main(function or node):
            return Phase.TEST
        if function is None:
            return Phase.IMPORT
        if function in self._tests or not self.is_entry:
            return Phase.TEST
        return Phase.SETUP

    def is_hot(self, node: ast.AST) -> bool:
        """Whether a node runs in every call."""
        return self.phase(node) is Phase.CALL

    def _function(self, node: ast.AST) -> Function | ast.Lambda | None:
        """The outermost function around a node that is known to run by itself."""
        for owner in self._owners(node):
            if isinstance(owner, Function) or (isinstance(owner, ast.Lambda) and owner in self.hot):
                return owner
        return None

    def _is_in_main(self, node: ast.AST) -> bool:
        """Whether a node only runs where the source is the program itself."""
        below = node
        for at in self.module.above(node):
            if isinstance(at, ast.If) and below in at.body and asks_for_main(at.test):
                return True
            below = at
        return False

    @cached_property
    def entries(self) -> list[Function]:
        """What others call to have the work done."""
        if not self.is_entry:
            return []
        inside = [part for held in self._entry_classes for part in held.body]
        methods = [part for part in _functions(inside) if part.name in ENTRIES]
        found = methods
        if not methods or self.file != SOLUTION:
            top = [part for part in _functions(self.module.tree.body) if _is_work(part.name)]
            found = methods + self._uncalled([p for p in top if p not in self.kernels.values()])
        return [*self._wrappers(found), *found]

    @property
    def _entry_classes(self) -> list[ast.ClassDef]:
        """The classes that nothing in the source makes objects of; all if each is made."""
        found = self.module.all(ast.ClassDef)
        made = {
            self.names.origin(call.func).removesuffix(".apply")
            for call in self.module.all(ast.Call)
            if isinstance(call.func, ast.Name | ast.Attribute)
        }
        return [held for held in found if self.names.path(held) not in made] or found

    def _wrappers(self, found: list[Function]) -> list[Function]:
        """What decorators of the source put in the place of functions."""
        wrappers: list[Function] = []
        for made in [made for node in found for made in node.decorator_list]:
            maker = self.names.definition(self.names.origin(made).removesuffix("()"))
            if isinstance(maker, ast.FunctionDef):
                wrappers += [
                    inner for inner in ast.walk(maker)
                    if isinstance(inner, ast.FunctionDef) and inner is not maker
                ]  # fmt: skip
        return wrappers

    def _uncalled(self, found: list[Function]) -> list[Function]:
        """Those that no other function calls; all if each is called by one."""
        used = {target for node in found for target in self._uses(node) if target is not node}
        return [node for node in found if node not in used] or found

    @cached_property
    def hot(self) -> set[ast.AST]:
        """The functions that run in every call."""
        return self._reached([*self.entries, *(answers(self.module) if self.entries else ())])

    @cached_property
    def _tests(self) -> set[ast.AST]:
        """The functions that only the solution's own tests run."""
        return {
            node for node in self.functions
            if node not in self.hot
            and (node.name in _GIVEN or node.name.lower().startswith(_TESTS))
        }  # fmt: skip

    def _reached(self, start: Iterable[Function | ast.Lambda]) -> set[ast.AST]:
        reached: set[ast.AST] = set()
        waiting: list[Definition | ast.Lambda] = list(start)
        while waiting:
            node = waiting.pop()
            if node in reached:
                continue
            reached.add(node)
            waiting += self._uses(node)
        return reached

    def _uses(self, node: Definition | ast.Lambda) -> list[Definition]:
        """The functions that a function refers to, and the methods that a class is used by."""
        held = self.module.memo.setdefault(("uses", node), [])
        found = cast("list[Definition]", held)
        if found:
            return found
        if isinstance(node, ast.ClassDef):
            wanted = (*ENTRIES, "__init__", "__getitem__", "__enter__")
            scope = self.module.scopes[node]
            found += [m for name in wanted if (m := self.names.method(scope, name)) is not None]
            return found
        for scope in _below(self.module, node):
            for name in scope.all(ast.Name):
                if name.id in self._named:
                    found += self._target(self.names.origin(name))
            for part in scope.all(ast.Attribute):
                if part.attr in self._named:
                    found += self._target(self.names.origin(part))
            for call in scope.all(ast.Call):
                found += self._target(self.names.origin(call.func))
        return found

    @cached_property
    def _named(self) -> set[str]:
        classes = {node.name for node in self.module.all(ast.ClassDef)}
        return classes | {node.name for node in self.functions} | registered(self.module).keys()

    def _target(self, origin: str) -> list[Definition]:
        if origin.startswith("torch.ops."):
            return [*registered(self.module).get(origin.rpartition(".")[2], ())]
        if not origin.startswith(LOCAL):
            return []
        found = self.names.definition(origin.removesuffix("()").removesuffix(".apply"))
        if found is None or found in self.kernels.values():
            return []
        return [found]

    @cached_property
    def hot_calls(self) -> list[tuple[ast.Call, str]]:
        """The calls that run in every call of the solution."""
        return [(call, origin) for call, origin in self.calls if self.is_hot(call)]

    @cached_property
    def builds(self) -> bool:
        """Whether native code is built, by a call or by handing on what builds it."""
        if any(origin.startswith(NATIVE) for _, origin in self.calls):
            return True
        handed = (part for call, _ in self.calls for part in call.args[:2])
        named = (part for part in handed if isinstance(part, ast.Name | ast.Attribute))
        return any(self.names.origin(part).startswith(NATIVE) for part in named)

    @cached_property
    def has_kernel(self) -> bool:
        """Whether the run has code for the device of its own, in whatever file."""
        if self.kernels or any(self.launches(call, origin) for call, origin in self.calls):
            return True
        if self.builds:
            return True
        return any(source.suffix in NATIVE_SUFFIXES for source in self.evidence.sources)


def _below(module: Module, node: ast.AST) -> Iterator[Scope]:
    waiting = [module.scopes[node]]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting += scope.inner


def _functions(statements: Iterable[ast.stmt]) -> list[Function]:
    return [part for part in statements if isinstance(part, Function)]


def _is_work(name: str) -> bool:
    known = name in _GIVEN or name in _SETUP
    return not known and not name.lower().startswith(_TESTS)


def _span(node: ast.AST) -> tuple[int, ...]:
    first, last = lines(node)
    return (first,) if first == last else (first, last)


def readings(evidence: Evidence) -> tuple[Reading, ...]:
    """The Python sources of a run, read once for all detectors, solution.py first."""
    held = evidence.shared.get("python readings")
    if held is None:
        held = _readings(evidence)
        evidence.shared["python readings"] = held
    return cast("tuple[Reading, ...]", held)


def _readings(evidence: Evidence) -> tuple[Reading, ...]:
    found = modules(evidence)
    # What names stand for is asked of them by what they hold.
    evidence.ends.extend(vars(names(module)).clear for module in found)
    stems = {module: module.file.rpartition("/")[2].removesuffix(".py") for module in found}
    imported = _imported(found, stems)
    return tuple(
        Reading(
            evidence,
            module,
            names(module),
            is_entry=module.file == SOLUTION or module in imported,
            siblings=frozenset(stem for other, stem in stems.items() if other is not module),
        )
        for module in found
    )


def _imported(found: tuple[Module, ...], stems: dict[Module, str]) -> set[Module]:
    """The sidecars that solution.py imports, or that one of them imports."""
    reached: set[Module] = {module for module in found if module.file == SOLUTION}
    waiting = list(reached)
    while waiting:
        words = _import_words(waiting.pop())
        new = [m for m, stem in stems.items() if stem in words and m not in reached]
        reached.update(new)
        waiting += new
    return reached


def _import_words(module: Module) -> set[str]:
    words: set[str] = set()
    for plain in module.all(ast.Import):
        words.update(part for alias in plain.names for part in alias.name.split("."))
    for chosen in module.all(ast.ImportFrom):
        words.update((chosen.module or "").split("."))
        words.update(alias.name for alias in chosen.names)
    return words
