"""A problem that is read can be graded by: sizes, work, secret shapes, inputs, right results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from bench.problems import Shape, folder_hash, functions, read_problem
from kbsite.errors import InputError
from kbsite.model.hardware import Accumulate, Format
from kbsite.store.files import folder_digest
from tests.bench.toys import TOY, sound, toy, with_yaml

ROOT = Path(__file__).parents[2]
CPU = Shape("square", {"M": 96, "N": 64, "K": 128})


def test_shapes_sizes_and_work_are_those_of_the_formulas() -> None:
    problem = sound()
    assert problem.id == "toy"
    assert [shape.id for shape in problem.shapes("cuda")] == ["square", "flat"]
    assert problem.shapes("cpu")[0] == CPU
    assert [problem.sizes(name, CPU) for name in "xwby"] == [(96, 128), (128, 64), (64,), (96, 64)]
    assert problem.bytes(CPU) == 2 * (96 * 128 + 128 * 64 + 96 * 64) + 4 * 64
    work = problem.work(CPU)
    assert work.flops == {(Format.BF16, None): 2 * 96 * 64 * 128}
    assert work.bytes == problem.bytes(CPU)


def test_the_format_of_sums_can_be_named(tmp_path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["flops"] = {"fp16/fp16": "M", "fp32": "N"}

    problem = read_problem(with_yaml(tmp_path, change))
    assert problem.work(CPU).flops == {
        (Format.FP16, Accumulate.FP16): 96.0, (Format.FP32, None): 64.0,
    }  # fmt: skip


def test_held_out_shapes_are_of_the_domain_and_no_larger_than_what_is_listed() -> None:
    problem = sound()
    shapes = problem.shapes("cpu")
    most = max(map(problem.bytes, shapes))
    random = Random(5)
    drawn = [problem.held_out(shapes, random) for _ in range(200)]
    for shape in drawn:
        assert shape.id == "held-out"
        assert shape.sizes not in [one.sizes for one in shapes]
        assert problem.bytes(shape) <= most
        for name, one in problem.problem.dimensions.items():
            assert one.least <= shape.sizes[name] <= one.most
            assert (shape.sizes[name] - one.least) % one.step == 0
    assert len({tuple(shape.sizes.items()) for shape in drawn}) > 50
    assert any(shape.sizes["M"] % 2 for shape in drawn)
    again = Random(5)
    assert [problem.held_out(shapes, again) for _ in range(200)] == drawn


def test_where_the_domain_holds_no_other_shape_a_listed_one_is_held_out(tmp_path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        for name, size in {"M": 96, "N": 64, "K": 128}.items():
            data["dimensions"][name] = {"means": "fixed", "least": size, "most": size}
        for key in ("shapes", "cpu_shapes"):
            data[key] = [{"id": "only", "M": 96, "N": 64, "K": 128}]

    problem = read_problem(with_yaml(tmp_path, change))
    assert problem.held_out(problem.shapes("cpu"), Random(1)).sizes == CPU.sizes


def test_the_hash_is_the_one_that_the_site_has(tmp_path: Path) -> None:
    folder = toy(tmp_path)
    (folder / "more" / "deep").mkdir(parents=True)
    (folder / "more" / "deep" / "b.txt").write_text("b")
    (folder / "more.txt").write_text("sorts between")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"1")
    (folder / ".hidden").write_text("x")
    (folder / "link").symlink_to("/etc/hostname")
    first = folder_hash(folder)
    assert first == folder_digest(folder) == read_problem(folder).hash
    assert read_problem(TOY).hash == folder_digest(TOY) != first
    (folder / "more" / "deep" / "b.txt").write_text("c")
    assert folder_hash(folder) == folder_digest(folder) != first


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda data: data.pop("bytes"), "bytes"),
        (lambda data: data["shapes"][0].pop("K"), "shapes[0].K"),
        (lambda data: data["tensors"]["y"].pop("bound"), "tensors.y.bound"),
    ],
)
def test_who_cannot_be_graded_by_is_not_read(
    change: Callable[[dict[str, Any]], object], key: str, tmp_path: Path
) -> None:
    folder = with_yaml(tmp_path, change)
    with pytest.raises(InputError) as caught:
        read_problem(folder)
    assert (caught.value.path, caught.value.key) == (folder / "problem.yaml", key)


def test_no_problem_is_named_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"problem\.yaml: cannot be read: No such file"):
        read_problem(tmp_path)


def drawn(seed: int, case: str = "ordinary") -> dict[str, torch.Tensor]:
    return sound().oracle().inputs(case, torch.Generator().manual_seed(seed), CPU)


def test_inputs_are_drawn_from_the_generator_alone() -> None:
    first, again, other = drawn(1), drawn(1), drawn(2)
    assert list(first) == ["x", "w", "b"]
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
    assert first["x"].dtype is torch.bfloat16
    assert drawn(1, "outliers")["x"].float().abs().max() > 2 * first["x"].float().abs().max()


def test_the_reference_is_right_and_leaves_its_arguments_alone() -> None:
    inputs = drawn(1)
    before = {name: tensor.clone() for name, tensor in inputs.items()}
    y = sound().oracle().reference(inputs, CPU)["y"]
    exact = inputs["x"].double() @ inputs["w"].double() + inputs["b"].double()
    assert y.dtype is torch.float32
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-5)
    assert all(torch.equal(before[name], tensor) for name, tensor in inputs.items())


MADE = '"y": x.float() @ w.float() + b'
REFERENCES = {
    "inputs() lacks one": (', "b": normal(N)', "", "gives x, w; expected a dict of x, w, b"),
    "inputs() gives another type": ("x.bfloat16()", "x", "x is torch.float32; expected torch.bf"),
    "inputs() gives another shape": ("normal(K, N)", "normal(N, K)", "w has the shape (64, 128)"),
    "inputs() gives numbers": ("x.bfloat16()", "5", "x is no tensor but int"),
    "inputs() lies elsewhere": ("normal(N)}", 'normal(N).to("meta")}', "b lies on meta"),
    "reference() gives a tensor": ("return {" + MADE + "}", "return x", "gives Tensor; expected a"),
    "reference() rounds": (MADE, '"y": x @ w', "y is torch.bfloat16; expected torch.float32 or"),
    "reference() writes": ('return {"y"', 'x.zero_()\n    return {"y"', "changes its argument x"),
    "reference() has another shape": (
        MADE, '"y": (x @ w).float().sum(1)',
        "y has the shape (96,) for square (M=96, N=64, K=128); expected (96, 64)"),
    "no reference()": ("def reference(", "def referenz(", "expected a function reference()"),
    "no Python": ("import torch", "import torch torch", "not valid Python"),
}  # fmt: skip


def asked(folder: Path) -> None:
    """Have a problem's reference.py do all that it can."""
    oracle = read_problem(folder).oracle()
    oracle.reference(oracle.inputs("ordinary", torch.Generator().manual_seed(1), CPU), CPU)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_held_to_what_problem_yaml_says(name: str, tmp_path: Path) -> None:
    old, new, message = REFERENCES[name]
    folder = toy(tmp_path, reference=lambda text: text.replace(old, new))
    with pytest.raises(InputError) as caught:
        asked(folder)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(folder / "reference.py"))


def test_functions_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.py: cannot be read"):
        functions(tmp_path / "none.py", ["solve"])


BARE = """
import sys
for name in ("msgspec", "rich", "click", "jinja2", "pandas", "pygments", "markdown_it"):
    sys.modules[name] = None
sys.path[:0] = ["src", "."]
from pathlib import Path
from bench.problems import read_problem
from bench.forbidden import FAMILIES
import bench.expressions
problem = read_problem(Path("tests/bench/toy"))
assert "torch" not in sys.modules
assert "kbsite.store" not in sys.modules
print(problem.hash)
"""


def test_a_bare_checkout_reads_problems_without_what_builds_pages() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", BARE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.stdout.strip()) == ("", sound().hash)
