"""Problems with the defects that a deck before this one had are refused, each for its defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.lint import Subject, lint, lint_folder
from kbsite.model.finding import Finding
from tests.bench.toys import TOY, sound, toy

Edit = Callable[[str], str]


@dataclass(frozen=True)
class Broken:
    """A defect, and all that has to be said of it: file, key, and words of the message."""

    says: list[tuple[str, str | None, str]]
    edits: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Texts to replace, by the stem of the file."""


BOUND = "bound: {rms: 0.004, relative: 0.008, typical: 0.004}"
FP8 = "fp8_e4m3, shape: [K, N]"

BROKEN = {
    "fp8 GEMM: the reference holds bf16 weights, yaml and prompt say fp8": Broken(
        [("reference.py", "inputs()", "w is torch.bfloat16; expected torch.float8_e4m3fn")],
        {"problem": [("bf16, shape: [K, N]", FP8)],
         "prompt": [("K x N in\nbf16", "K x N in\n`torch.float8_e4m3fn`")]},
    ),
    "fp8 GEMM: a tolerance under a key that nobody looks up": Broken(
        [("problem.yaml", "tolerance", "no such key; expected one of title, summary")],
        {"problem": [("cases:", "tolerance: {fp8_e4m3fn: 0.15}\ncases:")]},
    ),
    "KDA: inputs() seeds itself, so that all seeds are one": Broken(
        [("reference.py", "inputs()", "draws from torch's global generator, or seeds it"),
         ("reference.py", "inputs()", "x, case 'ordinary': is the same for the seeds (1, 2, 3)"),
         ("reference.py", "inputs()", "w, case 'ordinary': is the same"),
         ("reference.py", "inputs()", "b, case 'ordinary': is the same"),
         ("reference.py", "inputs()", "x, case 'outliers': is the same"),
         ("reference.py", "inputs()", "w, case 'outliers': is the same"),
         ("reference.py", "inputs()", "b, case 'outliers': is the same"),
         ("problem.yaml", "tensors.x", "other values of x change the outputs by 0"),
         ("problem.yaml", "tensors.w", "other values of w change the outputs by 0"),
         ("problem.yaml", "tensors.b", "other values of b change the outputs by 0"),
         ("problem.yaml", "tensors.y.bound", "the output of another call, case 'ordinary'"),
         ("problem.yaml", "tensors.y.bound", "the output of another call, case 'outliers'")],
        {"reference": [("    x = normal(M, K)", "    torch.manual_seed(0)\n    x = normal(M, K)"),
                       ("generator=generator, device=generator.device", "device='cpu'")]},
    ),
    "KDA: a tolerance that YAML reads as text": Broken(
        [("problem.yaml", "tensors.y.bound.rms", "YAML reads it as text: write it as 0.05")],
        {"problem": [("rms: 0.004", "rms: 4e-3")]},
    ),
    "KDA: what the statement calls done already, the reference does": Broken(
        [("problem.yaml", "tensors.b", "other values of b change the outputs by 0")],
        {"reference": [("+ b}", "+ 0 * b}")],
         "baselines": [("+ b)", ")"), ("b, x.float(), w.float())", "0 * b, x.float(), w.float())"),
                       ("b, x[:, :half]", "0 * b, x[:, :half]"),
                       ('"no bias": no_bias', '"none": lambda x, w, b, y: None')]},
    ),
    "paged attention: what is forbidden is not what a lazy solution calls": Broken(
        [("problem.yaml", "forbidden", "calls any of attention, softmax: their operations are "),
         ("problem.yaml", "forbidden", "does not hold matmul: a baseline leaves its work to addmm"),
         ("problem.yaml", "forbidden", "does not hold matmul: a baseline leaves its work to mm"),
         ("prompt.md", "forbidden", "does not say `library attention`"),
         ("prompt.md", "forbidden", "does not say `library softmax`"),
         ("prompt.md", "forbidden", "speaks of `library matrix products`; problem.yaml does not")],
        {"problem": [("[matmul]", "[attention, softmax]")]},
    ),
    "Kahan softmax: a tolerance that the shortcut passes": Broken(
        [("problem.yaml", "tensors.y.bound", ", case 'ordinary', is"),
         ("problem.yaml", "tensors.y.bound", "case 'outliers', is"),
         ("problem.yaml", "tensors.y.bound", "bf16 as fp8, fp32 as tf32, "),
         ("problem.yaml", "tensors.y.bound", "half the sum, "),
         ("problem.yaml", "tensors.y.bound", "no bias, "),
         ("problem.yaml", "tensors.b", "other values of b change the outputs by 0."),
         ("problem.yaml", "tensors.x", "other values of x change the outputs by 0."),
         ("problem.yaml", "tensors.w", "other values of w change the outputs by 0.")],
        {"problem": [(BOUND, "bound: {rms: 9, relative: 0.008}")],
         "prompt": [("0.004 RMS(r) + 0.008 |r|", "9 RMS(r) + 0.008 |r|"),
                    (", and all of it\ntogether within 0.004 RMS(r)", "")]},
    ),
    "top-k: a launch takes longer than the work": Broken(
        [("problem.yaml", "shapes[0]", "us at best on NVIDIA H200 SXM; expected 100 us or more"),
         ("problem.yaml", "shapes[1]", "us at best on NVIDIA H200 SXM; expected 100 us or more")],
        {"problem": [("M: 4096, N: 4096, K: 4096", "M: 64, N: 8192, K: 512"),
                     ("M: 1024, N: 8192, K: 8192", "M: 16, N: 8192, K: 512")],
         "prompt": [("| 4096 | 4096 | 4096 |", "| 64 | 8192 | 512 |"),
                    ("| 1024 | 8192 | 8192 |", "| 16 | 8192 | 512 |")]},
    ),
    "MoE: operations without the factor K": Broken(
        [("problem.yaml", "flops", "the reference multiplies"),
         ("problem.yaml", "flops", "grows 1-fold when K goes from 64 to 128; what the reference"),
         ("problem.yaml", "shapes[0]", "us at best"), ("problem.yaml", "shapes[1]", "us at best")],
        {"problem": [("bf16: 2*M*N*K", "bf16: 2*M*N")]},
    ),
    "W4A16: bound by compute, scored against the DRAM": Broken(
        [("problem.yaml", "shapes[0]", "bound by compute on NVIDIA H200 SXM"),
         ("problem.yaml", "shapes[1]", "the regime is memory")],
        {"problem": [("regime: compute", "regime: memory")]},
    ),
    "M-RoPE: another tolerance in the prompt than in yaml": Broken(
        [("prompt.md", "tensors.y.bound.relative", "does not say 0.008, as problem.yaml has it"),
         ("prompt.md", None, "says 0.01; the bounds of problem.yaml are 0.004, 0.008")],
        {"prompt": [("0.008 |r|", "0.01 |r|")]},
    ),
    "patch embedding: forbidden by pieces of source text": Broken(
        [("problem.yaml", "forbidden[1]", "expected one of matmul, scaled_matmul")],
        {"problem": [("[matmul]", '[matmul, "torch.nn.Conv3d("]')]},
    ),
    "patch embedding: hints in the statement": Broken(
        [("prompt.md", None, "speaks of `compute-bound`")],
        {"prompt": [("Sum up", "It is compute-bound at K=1280, so wins come from tiles. Sum up")]},
    ),
    "peaks: held against a format that the problem does not have": Broken(
        [("problem.yaml", "flops.fp8", "held against the peak of fp8, but the inputs are bf16,"),
         ("problem.yaml", "shapes[0]", "us at best"), ("problem.yaml", "shapes[1]", "us at best")],
        {"problem": [("bf16: 2*M*N*K", "fp8: 2*M*N*K")]},
    ),
    "peaks: a format that no hardware has": Broken(
        [("problem.yaml", "flops.bf15", "no format of a peak; expected one of fp32, tf32")],
        {"problem": [("bf16: 2*M*N*K", "bf15: 2*M*N*K")]},
    ),
    "formulas: a name that is no dimension": Broken(
        [("problem.yaml", "flops.bf16", "`T` is no dimension; there are M, N, K")],
        {"problem": [("bf16: 2*M*N*K", "bf16: 2*M*N*T")]},
    ),
}  # fmt: skip


def edited(pairs: list[tuple[str, str]]) -> Edit:
    """What replaces each text, all of which have to be there."""

    def edit(text: str) -> str:
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        return text

    return edit


def test_a_sound_problem_has_nothing_wrong() -> None:
    assert lint_folder(TOY) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_defect_is_refused_for_what_it_is(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]
    folder = toy(tmp_path, **{stem: edited(pairs) for stem, pairs in broken.edits.items()})
    found = lint_folder(folder)
    left = list(found)
    for file, key, words in broken.says:
        said = [
            one
            for one in left
            if (one.path, one.key) == (str(folder / file), key) and words in one.message
        ]
        assert said, (file, key, words, [one.text for one in left])
        left.remove(said[0])
    assert left == []


@pytest.mark.parametrize(("stem", "old", "line"), [
    ("reference", "    return {\"y\"", 17),
    ("reference", "    x = normal(M, K)", 10),
    ("reference", "import torch\n", 3),
    ("baselines", "import torch\n", 3),
])  # fmt: skip
def test_code_that_fails_is_told_with_its_line(
    stem: str, old: str, line: int, tmp_path: Path
) -> None:
    broken = old[: len(old) - len(old.lstrip())] + "[][0]"
    made = toy(tmp_path, **{stem: edited([(old, f"{broken}\n{old}")])})
    findings = lint_folder(made)

    assert {(Path(one.path).name, one.line) for one in findings} >= {(f"{stem}.py", line)}
    assert any(one.message == "fails: IndexError: list index out of range" for one in findings)


def test_a_rule_that_fails_by_itself_is_no_remark_on_a_problem() -> None:
    class Faulty:
        name = "it fails"

        def findings(self, subject: Subject) -> Iterator[Finding]:
            yield from [][subject.problem.cases[0]]  # type: ignore[call-overload]

    with pytest.raises(TypeError):
        lint(sound(), rules=[Faulty()])
