"""Whatever keeps a problem from being graded by is named by its key; a sound one has nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from bench.records import record
from kbsite.model.hardware import Accumulate, Format
from kbsite.model.problem import Dtype, Problem
from kbsite.model.problem_rules import is_to_be_graded, is_whole, rate, unsound
from tests.bench.toys import TOY

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> Problem:
    data = yaml.safe_load((TOY / "problem.yaml").read_text())
    change(data)
    return record(data, Problem, "problem.yaml")


def put(*path: str | int, value: object) -> Change:
    """What sets the value at a place of the data; None takes it away."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        if value is None:
            del data[path[-1]]
        else:
            data[path[-1]] = value

    return change


NO_BOUND = {"role": "out", "dtype": "bf16", "shape": ["M", "N"]}
INDICES = {"role": "out", "dtype": "int32", "shape": ["M", "N"]}
RULES: list[tuple[Change, str, str]] = [
    (put("regime", value=None), "regime", "missing; expected compute or memory or latency"),
    (put("dimensions", "M", "least", value=0), "dimensions.M", "expected 1 <= least <= most"),
    (put("dimensions", "M", "least", value=9000), "dimensions.M", "got 9000 to 8192"),
    (put("dimensions", "K", "step", value=0), "dimensions.K.step", "expected 1 or more, got 0"),
    (put("dimensions", "Q", value={"means": "q", "least": 1, "most": 1}), "dimensions.Q",
     "no tensor's shape depends on it"),
    (put("dimensions", "class", value={"means": "q", "least": 1, "most": 1}), "dimensions.class",
     "expected a name that Python takes for a parameter"),
    (put("dimensions", "max", value={"means": "q", "least": 1, "most": 1}), "dimensions.max",
     "expected a name that Python takes"),
    (put("tensors", "M", value={"role": "in", "dtype": "bf16", "shape": ["M"]}), "tensors.M",
     "a dimension has the same name"),
    (put("tensors", "a b", value={"role": "in", "dtype": "bf16", "shape": ["M"]}), "tensors.a b",
     "expected a name that Python takes"),
    (put("shapes", value=[]), "shapes", "none; expected what a solution is graded on"),
    (put("cpu_shapes", value=None), "cpu_shapes", "none; expected what a solution is graded on"),
    (put("shapes", 0, "M", value=None), "shapes[0].M", "missing; expected a size of each"),
    (put("shapes", 0, "T", value=5), "shapes[0].T", "no such dimension; there are M, N, K"),
    (put("shapes", 0, "M", value=True), "shapes[0].M", "expected a whole number, got True"),
    (put("shapes", 0, "M", value="4"), "shapes[0].M", "expected a whole number, got '4'"),
    (put("shapes", 0, "M", value=8193), "shapes[0].M", "expected 1 to 8192 as the dimension says"),
    (put("cpu_shapes", 1, "K", value=65), "cpu_shapes[1].K", "expected 16 plus a multiple of 16"),
    (put("shapes", 0, "id", value=None), "shapes[0].id", "expected a short name"),
    (put("shapes", 0, "id", value="a b"), "shapes[0].id", "expected a short name"),
    (put("shapes", 1, "id", value="square"), "shapes[1]", "the same id as shapes[0]"),
    (put("shapes", 1, value={"id": "x", "M": 4096, "N": 4096, "K": 4096}), "shapes[1]",
     "the same sizes as shapes[0]"),
    (put("tensors", "x", "shape", value=["M", "J"]), "tensors.x.shape[1]", "`J` is no dimension"),
    (put("tensors", "x", "shape", value=["M", "K/3"]), "tensors.x.shape[1]",
     "`K/3` is 1365.3333333333333 for K=4096; expected a whole number"),
    (put("tensors", "x", "shape", value=["M", "K - 128"]), "tensors.x.shape[1]",
     "`K - 128` is 0 for K=128; expected a whole number from 1 up"),
    (put("tensors", "x", "shape", value=["M", "K.y"]), "tensors.x.shape[1]", "not understood"),
    (put("tensors", "x", "bound", value={"rms": 1}), "tensors.x.bound", "an input is not checked"),
    (put("tensors", "y", value=NO_BOUND), "tensors.y.bound", "missing; expected how far"),
    (put("tensors", "y", "bound", "rms", value=-1), "tensors.y.bound.rms", "expected 0 or more"),
    (put("tensors", "y", "bound", "typical", value=0), "tensors.y.bound.typical", "asks for bits"),
    (put("tensors", "y", "bound", "indices_into", value="x"), "tensors.y.bound.indices_into",
     "indices are whole numbers, not bf16"),
    (put("tensors", "y", value={**INDICES, "bound": {"indices_into": "z"}}),
     "tensors.y.bound.indices_into", "'z' is no input of the problem"),
    (put("tensors", "y", "role", value="in"), "tensors", "nothing to check"),
    (put("cases", value=["ordinary"]), "cases", "expected the ordinary inputs and one or more"),
    (put("cases", value=["a", "b", "a"]), "cases[2]", "'a' stands there twice"),
    (put("forbidden", value=["matmul", "matmul"]), "forbidden[1]", "'matmul' stands there twice"),
    (put("forbidden", value=["torch.mm"]), "forbidden[0]", "expected one of matmul, scaled_matmul"),
    (put("flops", value={}), "flops", "missing; without it nobody knows"),
    (put("flops", value={"bf16/bf16": "M"}), "flops.bf16/bf16", "no format of a peak"),
    (put("flops", value={"bf16/": "M"}), "flops.bf16/", "no format of a peak"),
    (put("flops", "bf16", value="2*M*Q"), "flops.bf16", "`Q` is no dimension; there are M, N, K"),
    (put("flops", "bf16", value="M/(K-K)"), "flops.bf16", "divides by zero"),
    (put("flops", "bf16", value=" "), "flops.bf16", "is no formula"),
    (put("bytes", value=None), "bytes", "missing; expected the traffic"),
    (put("bytes", value="M - M"), "bytes", "is 0 for M=4096; expected more than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "key", "message"), RULES, ids=[key for _, key, _ in RULES])
def test_a_rule_names_the_key(change: Change, key: str, message: str) -> None:
    found = list(unsound(changed(change)))
    assert any(at == key and message in said for at, said in found), found


def test_a_sound_problem_breaks_no_rule() -> None:
    assert list(unsound(changed(lambda _: None))) == []


def test_indices_may_point_into_an_input() -> None:
    pointing = {**INDICES, "bound": {"indices_into": "x"}}
    assert list(unsound(changed(put("tensors", "y", value=pointing)))) == []


def test_a_problem_of_which_nothing_is_said_is_not_to_be_graded() -> None:
    assert not is_to_be_graded(Problem(title="Add", shapes=({"a": 2},)))
    assert is_to_be_graded(changed(lambda _: None))
    assert is_to_be_graded(Problem(title="Add", flops={"fp32": "1"}))
    assert {key for key, _ in unsound(Problem(title="Add"))} == {
        "regime", "shapes", "cpu_shapes", "tensors", "cases", "bytes",
    }  # fmt: skip


def test_a_rate_names_its_format_and_that_of_its_sums() -> None:
    assert rate("bf16") == (Format.BF16, None)
    assert rate("fp16/fp16") == (Format.FP16, Accumulate.FP16)
    for wrong in ("", "bf17", "fp16/", "fp16/fp8", "/fp16"):
        with pytest.raises(ValueError, match="is not a valid"):
            rate(wrong)


def test_whole_numbers_and_truth_values_are_told_from_floats() -> None:
    assert [one.value for one in Dtype if is_whole(one)] == [
        "int64", "int32", "int8", "uint8", "bool",
    ]  # fmt: skip
