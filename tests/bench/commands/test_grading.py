"""`bench grade` on both command lines: what it grades, writes, tells and ends with."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from bench.__main__ import main, parser
from bench.commands import COMMANDS, Command
from bench.problems import folder_hash
from kbsite.check import check
from kbsite.model.grade import Outcome
from kbsite.store.runs import read_run
from tests.bench.commands.shells import ANCHORS, Graded, Shell
from tests.bench.grades import failed
from tests.conftest import MakeRun


def test_both_command_lines_know_the_same(shell: Shell) -> None:
    for command in COMMANDS:
        code, out, _ = shell(command.name, "--help")
        text = " ".join(out.split())
        assert code == 0
        for option in command.options:
            assert f"--{option.name}" in text
        assert all(" ".join(example.split()) in text for example in command.examples)
        assert "Exit codes: 0" in text


@pytest.mark.parametrize("empty", ["", " "], ids=["nothing", "blank"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_option_and_no_argument_takes_an_empty_value_for_the_folder_it_stands_in(
    shell: Shell, home: Path, command: Command, empty: str
) -> None:
    before = sorted(home.rglob("*"))
    words = [one.choices[0] if one.choices else "mine.py" for one in command.arguments]
    asked = [[*words, f"--{one.name}", empty] for one in command.options if one.kind is not bool]
    asked += [[*words[:at], empty, *words[at + 1 :]] for at in range(len(words))]
    for one in asked:
        code, out, err = shell(command.name, *one)
        assert (code, out) == (2, ""), one
        assert any(told in err for told in ("empty, as a variable", "invalid", "''", "' '")), err

    assert sorted(home.rglob("*")) == before


def test_examples_are_commands_that_are_understood() -> None:
    for command in COMMANDS:
        for example in command.examples:
            assert parser().parse_args(example.split()).command == command.name


def test_a_file_is_graded_and_told_on_one_screen(shell: Shell, grader: Graded) -> None:
    code, out, err = shell("grade", "mine.py", "--problem", "toy", "--rounds", "2", "--calls", "9")
    ((solution, problem, setting),) = grader.asked

    assert code == 0
    assert solution.files == {"solution.py": b"def solve(*tensors): ...\n"}
    assert (problem.id, setting.rounds, setting.calls) == ("toy", 2, 9)
    assert setting.anchors.tflops == ANCHORS.tflops
    assert out.startswith("toy: PASS · peak_fraction 0.500 (0.496 to 0.504)")
    assert "Every call was right, and all clocks agree." in out
    assert len(out.splitlines()) <= 24
    assert max(map(len, out.splitlines())) <= 160
    assert "round 2 of 2: calling, square" in err
    assert not list(Path().glob("**/metrics.json"))


@pytest.mark.parametrize(("out", "code"), [("mine.py", 2), ("mine.py/deep", 2), ("/proc/x", 3)])
def test_where_a_grade_cannot_be_written_nothing_is_graded(
    shell: Shell, grader: Graded, out: str, code: int
) -> None:
    told, _, err = shell("grade", "mine.py", "--problem", "toy", "--out", out)

    assert (told, grader.asked) == (code, [])
    assert f"{out}: " in err


def test_no_grade_is_put_into_a_run_or_a_problem_beside_what_is_there(
    shell: Shell, grader: Graded, make_run: MakeRun
) -> None:
    run = make_run(Path("runs/demo").absolute(), problem="toy", metrics=None)
    before, problem = (run / "manifest.json").read_bytes(), folder_hash(Path("problems/toy"))
    for out in (str(run), str(run / "files/deep"), "problems/toy"):
        code, _, err = shell("grade", "mine.py", "--problem", "toy", "--out", out)
        assert (code, grader.asked) == (2, [])
        assert f"--out {out}: " in err

    assert (run / "manifest.json").read_bytes() == before
    assert not (run / "metrics.json").exists()
    assert folder_hash(Path("problems/toy")) == problem


def test_a_disk_that_is_full_is_told_where_there_is_no_click_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/there")

    monkeypatch.setattr("bench.jobs.grade_path", refuse)

    assert main(["grade", "mine.py"]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == "bench: /there: No space left on device"


def test_a_grade_as_json_is_metrics_json(shell: Shell, grader: Graded) -> None:
    _, out, _ = shell("grade", "mine.py", "--problem", "toy", "--json", "--out", "made")

    assert len(grader.asked) == 1
    assert json.loads(out) == json.loads(Path("made/metrics.json").read_text())


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Outcome.INCORRECT, 1), (Outcome.CLOCK_MISMATCH, 1), (Outcome.NO_SOLUTION, 1),
     (Outcome.INFRA, 3), (Outcome.UNSTABLE_CLOCKS, 3)],
)  # fmt: skip
def test_each_outcome_explains_itself_and_has_its_exit_code(
    shell: Shell, grader: Graded, outcome: Outcome, code: int
) -> None:
    grader.says = failed(outcome, "what exactly was found")
    ended, out, _ = shell("grade", "mine.py", "--problem", "toy")

    assert ended == code
    assert out.splitlines()[:2] == [
        f"toy: {outcome.value}", f"{outcome.sentence} what exactly was found"
    ]  # fmt: skip


def test_a_run_names_its_problem_and_gets_its_grade(
    shell: Shell, grader: Graded, make_run: MakeRun
) -> None:
    run = make_run(Path("runs/demo").absolute(), problem="toy", metrics=None, hardware="cpu",
                   problem_hash=folder_hash(Path("problems/toy")))  # fmt: skip
    first = shell("grade", str(run))
    second = shell("grade", run.name)

    assert first[0] == second[0] == 0
    assert f"written into {run}" in first[2]
    assert "the earlier grade is kept in" in second[2]
    assert "the earlier grade" not in first[2]
    assert read_run(run).metrics.alarms == ()
    assert [f for f in check([run]) if f.severity.value == "error"] == []
    assert len(grader.asked) == 2


def test_whoever_grades_an_audited_run_again_is_told_to_look_at_the_audit(
    shell: Shell, grader: Graded, make_run: MakeRun
) -> None:
    run = make_run(Path("runs/demo").absolute(), problem="toy", audit={})
    (_, _, audited), (_, _, again) = shell("grade", str(run)), shell("grade", str(run))

    assert "the run was audited before" in audited
    assert "the run was audited before" in again
    assert len(grader.asked) == 2
    assert len(list(run.glob("grades/*/metrics.json"))) == 2


def test_what_is_not_the_whole_grade_of_a_run_is_not_written_into_it(
    shell: Shell, grader: Graded, make_run: MakeRun
) -> None:
    run = make_run(Path("runs/demo").absolute(), problem="toy", metrics=None)
    shell("grade", str(run), "--shape", "square")
    shell("grade", str(run), "--out", "elsewhere")
    grader.says = failed(Outcome.INFRA)
    shell("grade", str(run))

    assert not (run / "metrics.json").exists()
    assert Path("elsewhere/metrics.json").exists()
    assert grader.asked[0][2].shapes == ("square",)


WRONG: list[tuple[list[str], int, str]] = [
    (["grade", "mine.py"], 2, "mine.py does not say which problem it solves"),
    (["grade", "mine.py", "--problem", "no"], 2, "'no' is no problem; in problems there are: toy"),
    (["grade", "none.py", "--problem", "toy"], 2, "expected a run by its id"),
    (["grade", "mine.py", "--problem", "toy", "--shape", "no"], 2, "has no shape 'no' on cpu"),
    (["grade", "mine.py", "--problem", "toy", "--rounds", "0"], 2, "--rounds 0: expected 1"),
    (["grade", "mine.py", "--problem", "toy", "--hardware", "h200-sxm", "--device", "cpu"], 2,
     "a CPU is held to what was measured on it"),
    (["grade", "mine.py", "--problem", "toy", "--anchors", "no.json"], 1, "no.json"),
    (["grade", "mine.py", "--problem", "toy", "--device", "tpu"], 2, "tpu"),
    (["grade"], 2, "solution"),
    (["floor", "no"], 2, "is no problem"),
    (["floor", "--problems", "nowhere"], 2, "there is no problem with a baselines.py in nowhere"),
    (["floor", "toy", "--kind", "magic"], 2, "magic"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "message"), WRONG)
def test_wrong_use_is_told(
    shell: Shell, grader: Graded, words: list[str], code: int, message: str
) -> None:
    ended, out, err = shell(*words)

    assert (ended, out) == (code, "")
    assert message.lower() in " ".join(err.lower().split())
    assert grader.asked == []


def test_a_run_of_another_problem_is_refused(
    shell: Shell, grader: Graded, make_run: MakeRun
) -> None:
    run = make_run(Path("runs/demo").absolute(), problem="softmax", metrics=None)
    code, _, err = shell("grade", str(run), "--problem", "toy")

    assert (code, grader.asked) == (2, [])
    assert "worked on softmax, not on toy" in err
