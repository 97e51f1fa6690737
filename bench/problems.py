"""Problems as the grader reads them: sizes, work, secret shapes, inputs and right results."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from bench.expressions import evaluate, whole
from bench.records import read_yaml
from kbsite.errors import InputError
from kbsite.model.hardware import Work
from kbsite.model.problem import Dimension, Dtype, Problem, Role
from kbsite.model.problem_files import LONGEST, counts, refuse_large
from kbsite.model.problem_rules import is_whole, rate, unsound
from kbsite.regular import read_regular

if TYPE_CHECKING:
    import torch

PROBLEM: Final = "problem.yaml"
REFERENCE: Final = "reference.py"
BASELINES: Final = "baselines.py"
PROMPT: Final = "prompt.md"

TORCH: Final = {
    Dtype.FP64: "float64", Dtype.FP32: "float32", Dtype.FP16: "float16", Dtype.BF16: "bfloat16",
    Dtype.FP8_E4M3: "float8_e4m3fn", Dtype.FP8_E5M2: "float8_e5m2", Dtype.INT64: "int64",
    Dtype.INT32: "int32", Dtype.INT8: "int8", Dtype.UINT8: "uint8", Dtype.BOOL: "bool",
}  # fmt: skip
"""Names of element types in torch."""

MOST_DRAWS: Final = 1_000
"""Of sizes, before a listed shape has to do."""


@dataclass(frozen=True)
class Shape:
    """A size for each dimension, and what these sizes are called together."""

    id: str
    sizes: Mapping[str, int] = field(hash=False)

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.id} ({sizes})"


@dataclass(frozen=True)
class GradedProblem:
    """A problem that holds everything that a grade needs."""

    id: str
    """The folder's name."""
    folder: Path
    problem: Problem
    hash: str
    """SHA-256 over all of its files."""

    def shapes(self, device: str) -> tuple[Shape, ...]:
        """What it is graded on: "cuda", or "cpu" for the smaller ones."""
        listed = self.problem.cpu_shapes if device == "cpu" else self.problem.shapes
        return tuple(
            Shape(str(one["id"]), {name: int(one[name]) for name in self.problem.dimensions})
            for one in listed
        )

    def sizes(self, tensor: str, shape: Shape) -> tuple[int, ...]:
        """The shape of a tensor."""
        where = self.folder / PROBLEM, f"tensors.{tensor}.shape"
        return tuple(whole(size, shape.sizes, where) for size in self.problem.tensors[tensor].shape)

    def bytes(self, shape: Shape) -> int:
        """Memory that the tensors of one call take."""
        return sum(
            math.prod(self.sizes(name, shape)) * tensor.dtype.bytes
            for name, tensor in self.problem.tensors.items()
        )

    def work(self, shape: Shape) -> Work:
        """What no implementation can do without: operations by format, and bytes."""
        path = self.folder / PROBLEM
        flops = {
            rate(key): float(evaluate(formula, shape.sizes, (path, f"flops.{key}")))
            for key, formula in self.problem.flops.items()
        }
        traffic = evaluate(self.problem.bytes or "0", shape.sizes, (path, "bytes"))
        return Work(flops, float(traffic))

    def held_out(self, shapes: Sequence[Shape], random: Random) -> Shape:
        """A shape that is not listed, from the domain of the dimensions, to check and not to time.

        It takes no more memory and no more operations than the largest of the listed ones. Where
        the domain holds no other, it is one of them.
        """
        most_bytes = max(map(self.bytes, shapes))
        most_flops = max(map(self._operations, shapes))
        listed = [shape.sizes for shape in shapes]
        for _ in range(MOST_DRAWS):
            drawn = Shape("held-out", self._drawn(random.choice(listed), listed, random))
            small = self.bytes(drawn) <= most_bytes and self._operations(drawn) <= most_flops
            if small and drawn.sizes not in listed:
                return drawn
        return Shape("held-out", random.choice(listed))

    def _drawn(
        self, base: Mapping[str, int], listed: Sequence[Mapping[str, int]], random: Random
    ) -> dict[str, int]:
        """Sizes of which about half are those of a listed shape."""
        return {
            name: base[name]
            if random.random() < 0.5
            else _size(one, max(sizes[name] for sizes in listed), random)
            for name, one in self.problem.dimensions.items()
        }

    def _operations(self, shape: Shape) -> float:
        return sum(self.work(shape).flops.values())

    def oracle(self) -> Oracle:
        """What draws inputs and knows right results; InputError where reference.py cannot."""
        return Oracle(self)


def read_problem(folder: Path) -> GradedProblem:
    """The problem in a folder; InputError where nobody can be graded by it."""
    path = folder / PROBLEM
    whole_hash = folder_hash(folder)
    # What is a link is no part of the hash: it could say something else tomorrow.
    problem = read_yaml(path, Problem, links=False)
    for key, message in unsound(problem):
        raise InputError(message, path=path, key=key)
    return GradedProblem(folder.resolve().name, folder, problem, whole_hash)


def folder_hash(folder: Path) -> str:
    """SHA-256 over names and contents of a folder's files, as the site has it too.

    Symlinks, hidden files and caches of Python do not count. InputError for a file that is too
    large, before any is read, or that cannot be read.
    """
    # As `kbsite.store.files.folder_digest`, and a test holds them to be the same: problems are read
    # where nothing of the store is loaded, which knows archives and what is hidden of files.
    whole_hash = hashlib.sha256()
    counted = sorted(_files(folder, ""))
    for _, path in counted:
        refuse_large(path, path.stat().st_size)
    for name, path in counted:
        content = _digest(path)
        whole_hash.update(f"{content}  {name}\0".encode("utf-8", "surrogateescape"))
    return whole_hash.hexdigest()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def _files(folder: Path, inside: str) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if not counts(path.name) or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path, f"{inside}{path.name}/")
        elif path.is_file():
            yield f"{inside}{path.name}", path


def _size(one: Dimension, largest: int, random: Random) -> int:
    """A size of a dimension up to `largest`; each order of magnitude is as likely as another."""
    most = min(one.most, max(largest, one.least))
    drawn = math.exp(random.uniform(math.log(one.least), math.log(most + 1)))
    return one.least + (min(int(drawn), most) - one.least) // one.step * one.step


class Oracle:
    """reference.py, held to what problem.yaml says of every tensor."""

    def __init__(self, problem: GradedProblem) -> None:
        self._problem = problem
        self._path = problem.folder / REFERENCE
        self._code = functions(self._path, ("inputs", "reference"))

    def inputs(
        self, case: str, generator: torch.Generator, shape: Shape
    ) -> dict[str, torch.Tensor]:
        """The in and inout tensors of a call, drawn from the generator, on its device."""
        import torch

        with torch.no_grad():
            drawn = self._code["inputs"](case, generator, **shape.sizes)
        names = self._names(Role.OUT)
        self._check("inputs", drawn, names, shape)
        for name in names:
            expected = torch_dtype(self._problem.problem.tensors[name].dtype)
            if drawn[name].dtype is not expected:
                self._refuse("inputs", f"{name} is {drawn[name].dtype}; expected {expected}")
            if drawn[name].device.type != generator.device.type:
                self._refuse(
                    "inputs", f"{name} lies on {drawn[name].device}, not with the generator"
                )
        return {name: drawn[name].contiguous() for name in names}

    def reference(
        self, inputs: Mapping[str, torch.Tensor], shape: Shape
    ) -> dict[str, torch.Tensor]:
        """The right values of the out and inout tensors: fp32 or fp64, or the whole numbers."""
        import torch

        before = {name: tensor._version for name, tensor in inputs.items()}
        with torch.no_grad():
            made = self._code["reference"](**inputs, **shape.sizes)
        names = self._names(Role.IN)
        self._check("reference", made, names, shape)
        for name in names:
            self._check_precision(name, made[name])
        for name, tensor in inputs.items():
            if tensor._version != before[name]:
                self._refuse("reference", f"changes its argument {name}; it has to leave it alone")
        return {name: made[name] for name in names}

    def _names(self, without: Role) -> list[str]:
        tensors = self._problem.problem.tensors
        return [name for name, one in tensors.items() if one.role is not without]

    def _check(self, function: str, held: Any, names: list[str], shape: Shape) -> None:
        import torch

        if not isinstance(held, dict) or {*held} != {*names}:
            got = ", ".join(map(str, held)) if isinstance(held, dict) else type(held).__name__
            self._refuse(function, f"gives {got}; expected a dict of {', '.join(names)}")
        for name in names:
            if not isinstance(held[name], torch.Tensor):
                self._refuse(function, f"{name} is no tensor but {type(held[name]).__name__}")
            expected, got_shape = self._problem.sizes(name, shape), tuple(held[name].shape)
            if got_shape != expected:
                got = f"{name} has the shape {got_shape} for {shape}"
                self._refuse(function, f"{got}; expected {expected}")

    def _check_precision(self, name: str, tensor: torch.Tensor) -> None:
        import torch

        dtype = self._problem.problem.tensors[name].dtype
        exact = (torch_dtype(dtype),) if is_whole(dtype) else (torch.float32, torch.float64)
        if tensor.dtype not in exact:
            expected = " or ".join(map(str, exact))
            self._refuse("reference", f"{name} is {tensor.dtype}; expected {expected}")

    def _refuse(self, function: str, message: str) -> None:
        raise InputError(message, path=self._path, key=f"{function}()")


def functions(path: Path, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Functions that a Python file defines; InputError where it cannot be read or lacks one."""
    text = read_regular(path, LONGEST)
    try:
        # What a reference asserts holds with -O, too.
        code = compile(text, str(path), "exec", optimize=0)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not valid Python: {error}", path=path, line=line) from error
    held: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(code, held)  # noqa: S102 - problems are ours, not those of who is graded
    for name in names:
        if not callable(held.get(name)):
            raise InputError(f"missing; expected a function {name}()", path=path, key=name)
    return held


def torch_dtype(dtype: Dtype) -> torch.dtype:
    """A format of elements as torch has it."""
    import torch

    found: torch.dtype = getattr(torch, TORCH[dtype])
    return found
