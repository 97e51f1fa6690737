"""A session's workspace and the checker in it: no peak, no seed of the grader, no code of ours."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import runpy
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.grading.secret import Secret
from bench.problems import folder_hash
from bench.problems import read_problem as read_graded
from bench.running.given import CHECK, CHECKS, CLOCK, SHAPES, workspace
from kbsite.errors import InputError
from kbsite.store.problems import read_problem
from kbsite.trajectories.scores import scores

ROOT = Path(__file__).parents[3]
TOY = ROOT / "tests" / "bench" / "toy"
SHIPPED = ROOT / "bench" / "running" / "workspace"
RIGHT = """
def solve(x, w, b, y):
    y.copy_(x.float() @ w.float() + b)
"""


def laid_out(folder: Path, problem: Path, solution: str | None) -> Path:
    """A workspace of a problem in a folder, as a box has it, without the read-only part."""
    folder.mkdir()
    for name, content in workspace(read_problem(problem), 60.0, gpu=False).files.items():
        (folder / name).write_bytes(content)
    if solution is not None:
        (folder / "solution.py").write_text(solution)
    return folder


@dataclass(frozen=True)
class Checked:
    """What the checker of a workspace said."""

    returncode: int
    stdout: str


def checked(folder: Path, *shapes: str) -> Checked:
    """What it says when it is run, in this process: importing torch once is enough."""
    said = io.StringIO()
    with redirect_stdout(said):
        code = runpy.run_path(str(folder / CHECK))["main"](shapes)
    return Checked(code, said.getvalue())


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "problems").iterdir()))
def test_every_problem_makes_a_workspace(name: str) -> None:
    stored = read_problem(ROOT / "problems" / name)
    made = workspace(stored, 2700.0, gpu=True)
    told = json.loads(made.files[SHAPES])
    assert [one["id"] for one in told["shapes"]]
    assert made.problem_hash == folder_hash(ROOT / "problems" / name)
    assert made.prompt_hash == hashlib.sha256(made.prompt.encode()).hexdigest()
    assert stored.prompt.strip() in made.prompt
    assert "45 minutes" in made.prompt


def test_the_statement_says_no_more_than_it_has_to() -> None:
    note = workspace(read_problem(ROOT / "problems" / "add"), 60.0, gpu=False).prompt.lower()
    for word in ("grade", "score", "benchmark", "peak", "leaderboard", "kbsite", "sandbox"):
        assert word not in note


def test_shapes_are_told_and_no_peak_and_no_calibration() -> None:
    problem = ROOT / "problems" / "fp8_gemm"
    made = workspace(read_problem(problem), 60.0, gpu=True)
    text = made.files[SHAPES].decode()
    for word in ("peak", "honest", "cheapest", "cheat", "flops", "bytes", "ceiling"):
        assert f'"{word}"' not in text
    told = json.loads(text)
    listed = read_graded(problem).shapes("cuda")
    assert [one["id"] for one in told["shapes"]] == [one.id for one in listed]
    assert told["shapes"][0]["tensors"]["y"] == [8192, 8192]
    assert told["tensors"]["y"]["bound"]["rms"] == 0.35


def test_without_a_gpu_the_small_shapes_are_told() -> None:
    shapes = {
        gpu: json.loads(workspace(read_problem(TOY), 60.0, gpu=gpu).files[SHAPES])["shapes"]
        for gpu in (False, True)
    }
    assert shapes[False][0]["sizes"] == {"M": 96, "N": 64, "K": 128}
    assert shapes[True][0]["sizes"] == {"M": 4096, "N": 4096, "K": 4096}


def test_a_problem_without_a_statement_is_refused(tmp_path: Path) -> None:
    shutil.copytree(TOY, tmp_path / "mute")
    (tmp_path / "mute" / "prompt.md").write_text("\n")
    with pytest.raises(InputError, match=r"mute/prompt\.md: missing or empty"):
        workspace(read_problem(tmp_path / "mute"), 60.0, gpu=False)


def test_the_checker_shares_no_code_with_the_grader() -> None:
    tree = ast.parse((SHIPPED / CHECK).read_text())
    named = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    named |= {
        (node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    assert named - set(sys.stdlib_module_names) == {"torch"}


def test_the_checker_s_seeds_are_its_own() -> None:
    own = {runpy.run_path(str(SHIPPED / CHECK))["SEED"] + number for number in range(100)}
    drawn = {Secret().number("inputs", number) for number in range(100)}
    assert not own & drawn
    assert max(own) < 1000, "the grader's are numbers of 63 bits"


def test_the_clock_needs_nothing_but_python() -> None:
    tree = ast.parse((SHIPPED / CLOCK).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names}  # fmt: skip
    assert names <= {"json", "sys", "urllib.request"}
    assert (SHIPPED / CLOCK).read_text().startswith("#!/usr/bin/env python3\n")


def test_a_right_solution_passes_and_each_use_is_counted(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "work", TOY, RIGHT)
    command = [sys.executable, str(folder / CHECK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "PASS"
    assert [score.passed for score in scores(done.stdout)] == [True]
    assert [line.partition(" ")[0] for line in lines] == ["square", "tall"]
    assert all("): pass, at most about" in line for line in lines)
    assert all("ms a call" in line for line in lines)
    one = checked(folder, "tall").stdout
    assert one.startswith("tall (M=160, N=48, K=64): pass")
    assert scores(one) == [], "what was not compared may be wrong"
    assert len((folder / CHECKS).read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        ("def solve(x, w, b, y):\n    y.copy_(x.float() @ w.float())\n", "of the bound (y,"),
        ("def solve(x, w, b, y):\n    pass\n", "many times of the bound (y, ordinary inputs)"),
        ("def solve(x, w, b, y):\n    raise ValueError('mine')\n", "ValueError: mine"),
    ],
    ids=["no bias", "nothing written", "an error"],
)
def test_a_wrong_solution_fails_and_says_roughly_how(
    tmp_path: Path, solution: str, said: str
) -> None:
    done = checked(laid_out(tmp_path / "work", TOY, solution))
    assert done.returncode == 1
    assert "square (M=96, N=64, K=128): FAIL" in done.stdout
    assert said in done.stdout
    [score] = scores(done.stdout)
    assert (score.passed, score.text) == (False, "FAIL: 2 of 2 shapes")


@pytest.mark.parametrize(
    ("solution", "said"),
    [(None, "No such file"), ("def solve(:", "SyntaxError"), ("x = 1", "no function solve")],
)
def test_what_cannot_be_run_is_told(tmp_path: Path, solution: str | None, said: str) -> None:
    done = checked(laid_out(tmp_path / "work", TOY, solution))
    assert done.returncode == 1
    assert said in done.stdout


def test_an_unknown_shape_is_told_with_the_known_ones(tmp_path: Path) -> None:
    done = checked(laid_out(tmp_path / "work", TOY, RIGHT), "round")
    assert done.returncode == 2
    assert "there are: square, tall" in done.stdout


def test_indices_may_break_ties_but_not_repeat(tmp_path: Path) -> None:
    folder = laid_out(
        tmp_path / "work", ROOT / "problems" / "topk_bitonic",
        "def solve(x, values, indices):\n"
        "    found = x.topk(values.shape[1], dim=1)\n"
        "    values.copy_(found.values)\n"
        "    indices.copy_(found.indices)\n",
    )  # fmt: skip
    assert checked(folder, "short").returncode == 0
    with (folder / "solution.py").open("a") as stream:
        stream.write("    indices[0, 1] = indices[0, 0]\n")
    done = checked(folder, "short")
    assert done.returncode == 1
    assert "(indices, " in done.stdout


def test_values_are_checked_where_there_are_no_tensors(tmp_path: Path) -> None:
    problem = ROOT / "problems" / "add"
    folder = laid_out(tmp_path / "work", problem, "def solve(a, b):\n    return a + b\n")
    assert checked(folder).stdout.startswith("shape-1 (a=2, b=3): pass")
    (folder / "solution.py").write_text("def solve(a, b):\n    return a - b\n")
    assert checked(folder).stdout.startswith("shape-1 (a=2, b=3): FAIL")
