"""What single rules say, and how lint goes about a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lint import RULES, Subject, hardware_table, lint, lint_folder
from bench.lint.statement import FORMATS, HINTS
from bench.problems import read_problem
from kbsite.model.finding import Finding, Severity
from kbsite.model.problem import Dtype
from tests.bench.lint.test_broken import edited
from tests.bench.toys import TOY, sound, toy


def by_rule(name: str, folder: Path) -> list[Finding]:
    """What the rule of this name says of a problem."""
    rule = next(one for one in RULES if one.name == name)
    return list(rule.findings(Subject(read_problem(folder), "cpu", hardware_table())))


def of_edit(name: str, tmp_path: Path, **edits: tuple[str, str]) -> list[str]:
    """The same of a toy with an edit in a file, as messages."""
    folder = toy(tmp_path, **{stem: edited([pair]) for stem, pair in edits.items()})
    return [one.message for one in by_rule(name, folder)]


def test_rules_are_told_apart_by_what_they_look_at() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_progress_tells_each_rule_before_it_is_looked_at() -> None:
    seen: list[tuple[int, int, str]] = []
    assert lint(sound(), progress=lambda *step: seen.append(step)) == []
    assert seen == [
        *((done, len(RULES), rule.name) for done, rule in enumerate(RULES)),
        (len(RULES), len(RULES), ""),
    ]


def test_an_error_of_the_code_is_told_once_and_other_rules_go_on(tmp_path: Path) -> None:
    def edit(text: str) -> str:
        return text.replace("y.copy_(torch.mm", "raise ValueError('broken')\n    y.copy_(torch.mm")

    folder = toy(tmp_path, baselines=edit, prompt=lambda text: text.replace("0.008", "0.08"))
    found = lint_folder(folder)
    broken = [one for one in found if one.key == "library"]
    assert len(broken) == 1
    assert "case 'ordinary', square (M=96, N=64, K=128): ValueError: broken" in broken[0].message
    assert broken[0].path == str(folder / "baselines.py")
    assert {Path(one.path).name for one in found} == {"baselines.py", "prompt.md"}


@pytest.mark.parametrize("name", ["prompt.md", "reference.py", "baselines.py", "problem.yaml"])
def test_a_file_that_is_not_there_is_told(name: str, tmp_path: Path) -> None:
    folder = toy(tmp_path)
    (folder / name).unlink()
    found = lint_folder(folder)
    assert [(one.path, one.severity) for one in found] == [(str(folder / name), Severity.ERROR)]
    assert "cannot be read" in found[0].message


def test_a_finding_names_the_line_of_its_key(tmp_path: Path) -> None:
    folder = toy(tmp_path, problem=edited([("regime: compute", "regime: memory")]))
    first = by_rule("the regime fits the formulas", folder)[0]
    lines = (folder / "problem.yaml").read_text().splitlines()
    assert first.line is not None
    assert "id: square" in lines[first.line - 1]


INPUTS = "inputs change with the seed"


def test_inputs_that_differ_for_the_same_seed_are_told(tmp_path: Path) -> None:
    own = ("normal(N)}", "normal(N) * float(torch.rand(()))}")
    said = of_edit(INPUTS, tmp_path, reference=own)
    assert "b, case 'ordinary': differs for the same seed; draw it from `generator`" in said
    assert any("draws from torch's global generator" in one for one in said)
    assert not [one for one in said if one.startswith(("x", "w"))]


def test_one_tensor_that_is_the_same_for_all_seeds_is_told_alone(tmp_path: Path) -> None:
    said = of_edit(INPUTS, tmp_path, reference=("normal(N)}", "torch.ones(N)}"))
    assert said == [
        f"b, case {case!r}: is the same for the seeds (1, 2, 3); draw it from `generator`"
        for case in ("ordinary", "outliers")
    ]


def test_a_case_that_the_reference_does_not_know_is_told(tmp_path: Path) -> None:
    folder = toy(tmp_path, problem=edited([("[ordinary, outliers]", "[ordinary, outliers, tiny]")]))
    found = by_rule("cases differ", folder)
    assert [(one.key, one.message) for one in found] == [
        ("cases[2]", "draws the same inputs as 'ordinary'")
    ]


def test_an_output_that_repeats_along_an_axis_lets_a_row_stand_for_all(tmp_path: Path) -> None:
    same = ('"x": x.bfloat16()', '"x": x[:1].expand(M, K).bfloat16()')
    said = of_edit("no output passes that takes no work", tmp_path, reference=same)
    assert [one.split(", is ")[0] for one in said] == [
        f"lets a shortcut through: axis 0 computed once and repeated, case {case!r}"
        for case in ("ordinary", "outliers")
    ]


def test_an_output_that_is_a_copy_of_an_input_is_told(tmp_path: Path) -> None:
    folder = toy(
        tmp_path,
        problem=edited([("[M, K], means", "[M, N], means")]),
        reference=edited([("x = normal(M, K)", "x = normal(M, N)"),
                          ("x.float() @ w.float() + b", "x.float() + 0 * w.sum()")]),
    )  # fmt: skip
    found = by_rule("no output passes that takes no work", folder)
    assert "a copy of x, case 'ordinary', is 0 bounds off" in found[0].message


def test_a_baseline_that_is_wrong_is_told_with_case_and_shape(tmp_path: Path) -> None:
    said = of_edit(
        "honest baselines pass", tmp_path, baselines=("torch.addmm(b", "torch.addmm(2 * b")
    )
    assert len(said) == 1
    assert "expected at most 0.5: mend the baseline, or widen the bound" in said[0]


def test_a_calibration_that_does_not_hold_is_told(tmp_path: Path) -> None:
    bound = ("typical: 0.004}", "typical: 0.004, honest: 0.01, cheapest: 1.5}")
    said = of_edit("the calibration holds", tmp_path, problem=bound)
    assert len(said) == 2
    assert said[0].startswith("says 0.01; eager() is 0.")
    assert said[1] == "1.5; expected more than 2"
    bound = ("typical: 0.004}", "typical: 0.004, honest: 0.6}")
    said = of_edit("the calibration holds", tmp_path / "more", problem=bound)
    assert said == ["0.6; expected at most 0.5"]


def test_shortcuts_are_needed(tmp_path: Path) -> None:
    folder = toy(tmp_path, baselines=lambda text: text.partition("SHORTCUTS")[0])
    found = [one for one in lint_folder(folder) if one.key == "SHORTCUTS"]
    assert len(found) == 1
    assert "expected cheats by name" in found[0].message


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("2*M*N", "inputs and outputs that matter are"),
        ("4*(M*K + K*N + M*N) + 4*N", "all tensors together are only"),
    ],
)
def test_bytes_are_no_fewer_than_matter_and_no_more_than_there_are(
    formula: str, words: str, tmp_path: Path
) -> None:
    edit = ("bytes: 2*(M*K + K*N + M*N) + 4*N", f"bytes: {formula}")
    said = of_edit("bytes are those of the tensors", tmp_path, problem=edit)
    assert len(said) == 2
    assert all(words in one for one in said)


def test_bytes_of_what_is_never_read_need_not_be_counted(tmp_path: Path) -> None:
    half = ("x.float() @ w.float()", "x[:, : K // 2].float() @ w[: K // 2].float()")
    edit = ("2*(M*K + K*N + M*N) + 4*N", "2*(M*K/2 + K*N/2 + M*N) + 4*N")
    assert not of_edit("bytes are those of the tensors", tmp_path, reference=half, problem=edit)
    assert of_edit("bytes are those of the tensors", tmp_path / "more", problem=edit)


def test_latency_is_for_shapes_that_are_too_short_to_be_read(tmp_path: Path) -> None:
    edit = ("regime: compute", "regime: latency")
    said = of_edit("the regime fits the formulas", tmp_path, problem=edit)
    assert said == ["latency, but every shape takes 100 us at best, or more"]


def test_a_formula_that_is_far_off_but_grows_alike_is_told(tmp_path: Path) -> None:
    edit = ("bf16: 2*M*N*K", "bf16: 16*M*N*K")
    said = of_edit("flops are those of the reference", tmp_path, problem=edit)
    assert len(said) == 1
    assert "expected about the same" in said[0]


DOMAIN = "all sizes of the domain work"


def test_a_reference_that_fails_for_sizes_that_are_allowed_is_told(tmp_path: Path) -> None:
    edit = ("+ b}", "+ b + 0 * b.view(-1, 16).sum()}")
    said = of_edit(DOMAIN, tmp_path, reference=edit)
    assert len(said) == 1
    assert said[0].startswith("fails in case 'ordinary' on least (M=1, N=1, K=16): RuntimeError:")


def test_a_bound_that_honest_kernels_miss_for_sizes_that_are_allowed_is_told(
    tmp_path: Path,
) -> None:
    edit = ("y.copy_(torch.addmm(b", "y.copy_(torch.addmm(b + (len(x) % 2)")
    said = of_edit(DOMAIN, tmp_path, baselines=edit)
    assert len(said) == 1
    assert "bounds off in case 'ordinary' on least (M=1, N=1, K=16): narrow the dim" in said[0]


STATEMENTS = [
    ("prompt.md tells the shapes", ("| flat | 1024 | 8192 | 8192 |\n", ""),
     "has no line with the sizes of the shape flat (M=1024, N=8192, K=8192)"),
    ("prompt.md tells the shapes", ("| flat |", "old: M=1, N=2, K=16\n| flat |"),
     "lists `old: M=1, N=2, K=16`, which problem.yaml does not"),
    ("prompt.md tells the domain", ("from 1 to 8192", "that is usual"),
     "does not say 1, of the sizes that M can have"),
    ("prompt.md tells what is forbidden", ("library matrix products", "any products"),
     "does not say `library matrix products`, which problem.yaml forbids"),
    ("prompt.md tells what is forbidden", ("Please do", "No library softmax. Please do"),
     "speaks of `library softmax`; problem.yaml does not forbid softmax"),
    ("prompt.md tells the tensors", ("`b` holds", "The bias holds"), "does not name `b`"),
    ("prompt.md tells the tensors", ("bf16", "half precision"),
     "does not name the format of `x`, bf16"),
    ("prompt.md gives no hints", ("Sum up", "You have a budget of an hour. Sum up"),
     "speaks of `budget`; leave out how it is judged and what bounds it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "edit", "message"), STATEMENTS)
def test_a_statement_says_what_problem_yaml_says(
    name: str, edit: tuple[str, str], message: str, tmp_path: Path
) -> None:
    assert by_rule(name, TOY) == []
    assert of_edit(name, tmp_path, prompt=edit)[:1] == [message]


def test_an_exact_output_has_to_be_called_that(tmp_path: Path) -> None:
    def exact(text: str) -> str:
        return text.replace("{rms: 0.004, relative: 0.008, typical: 0.004}", "{}")

    folder = toy(tmp_path, problem=exact, prompt=lambda text: text.replace("exact", "right"))
    messages = [one.message for one in by_rule("prompt.md tells the bounds", folder)]
    assert messages[0] == "does not say that the output has to be equal bit by bit"
    assert messages[1] == "says 0.004; the bounds of problem.yaml are none"


def test_every_format_can_be_named_in_a_statement() -> None:
    assert {*FORMATS} == {*Dtype}


@pytest.mark.parametrize(
    "text", ["peak", "TFLOP/s", "TFLOPS", "GB/s", "memory bound", "benchmarked"]
)
def test_hints_are_known_by_their_words(text: str) -> None:
    assert HINTS.search(f"It has {text} there")
    assert not HINTS.search("The bounds of speakers, within the bounds of memory")
