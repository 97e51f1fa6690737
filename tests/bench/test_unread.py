"""What is no file, or too large, keeps no command of bench waiting, and fills no memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.floor_source import source
from bench.jobs import find_problem
from bench.lint import lint_folder
from bench.problems import folder_hash
from bench.records import read_yaml
from bench.results import MOST_BYTES, given, store
from kbsite.errors import InputError
from kbsite.model.floor import FloorKind
from kbsite.model.problem_files import LARGEST, LONGEST
from kbsite.regular import LIMIT_BYTES, read_regular
from kbsite.store.files import folder_digest
from tests.bench.grades import grade
from tests.bench.toys import TOY
from tests.conftest import MakeRun


def sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 43)


NONE_AND_ENDLESS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "expected a regular file"),
    "device": (
        lambda path: path.symlink_to("/dev/zero"),
        "a symbolic link is not read; expected a regular file",
    ),
    "outside": (
        lambda path: path.symlink_to("/etc/hostname"),
        "a symbolic link is not read; expected a regular file",
    ),
    "endless": (
        sparse,
        f"{1 << 43} bytes; expected at most {LARGEST} in a file of a problem; keep it elsewhere,"
        " or make it smaller",
    ),
}


@pytest.fixture(name="problem")
def _problem(tmp_path: Path) -> Path:
    shutil.copytree(TOY, tmp_path / "toy")
    return tmp_path / "toy"


@pytest.mark.parametrize("kind", NONE_AND_ENDLESS)
@pytest.mark.parametrize("name", ["problem.yaml", "reference.py", "baselines.py", "prompt.md"])
def test_a_lint_tells_of_a_file_that_nobody_can_read(problem: Path, name: str, kind: str) -> None:
    made, message = NONE_AND_ENDLESS[kind]
    (problem / name).unlink()
    made(problem / name)

    found = {(one.path, one.message) for one in lint_folder(problem)}
    assert (str(problem / name), message) in found


@pytest.mark.parametrize("kind", NONE_AND_ENDLESS)
def test_a_problem_whose_file_nobody_can_read_is_no_unknown_one(problem: Path, kind: str) -> None:
    made, message = NONE_AND_ENDLESS[kind]
    (problem / "problem.yaml").unlink()
    made(problem / "problem.yaml")

    with pytest.raises(InputError) as caught:
        find_problem("toy", problem.parent)
    assert (caught.value.path, caught.value.message) == (problem / "problem.yaml", message)


def test_both_hashes_refuse_the_same_files_in_the_same_words(problem: Path) -> None:
    (problem / ".hidden").mkdir()
    sparse(problem / ".hidden" / "cache.bin")
    assert folder_hash(problem) == folder_digest(problem) == folder_hash(TOY)
    sparse(problem / "data.bin")
    told = set()
    for hashed in (folder_hash, folder_digest):
        with pytest.raises(InputError) as caught:
            hashed(problem)
        told.add(str(caught.value))
    assert told == {f"{problem / 'data.bin'}: {NONE_AND_ENDLESS['endless'][1]}"}


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_the_source_of_a_floor_is_no_pipe(problem: Path, kind: str) -> None:
    made, message = NONE_AND_ENDLESS[kind]
    (problem / "baselines.py").unlink()
    made(problem / "baselines.py")
    with pytest.raises(InputError, match=message):
        source(problem, FloorKind.EAGER)


def test_a_record_may_be_a_link_to_a_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "held.yaml").write_text("{}\n")
    (tmp_path / "link.yaml").symlink_to("held.yaml")
    assert read_regular(tmp_path / "link.yaml", 9, links=True) == b"{}\n"
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("zero.yaml", "pipe.yaml"):
        with pytest.raises(InputError, match=r"yaml: expected a regular file"):
            read_yaml(tmp_path / name, FloorKind)
    with pytest.raises(InputError, match="too large; expected at most 2 bytes"):
        read_regular(tmp_path / "held.yaml", 2)


def test_what_a_problem_shows_is_less_than_a_record_and_that_less_than_a_solution() -> None:
    assert LONGEST < LIMIT_BYTES < MOST_BYTES


def test_a_run_whose_record_is_endless_is_told(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "demo", metrics=None, problem="toy")
    for name in ("manifest.json", "run.json"):
        sparse(run / name)
        with pytest.raises(InputError, match=rf"{name}: too large; expected at most {LIMIT_BYTES}"):
            given(run)


def test_an_endless_solution_is_told(tmp_path: Path) -> None:
    sparse(tmp_path / "solution.py")
    for path in (tmp_path, tmp_path / "solution.py"):
        with pytest.raises(InputError, match=f"expected at most {MOST_BYTES}"):
            given(path)


def test_a_grade_that_is_too_large_to_be_kept_is_told_before_anything_is_graded(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "demo", problem="toy")
    sparse(run / "samples.jsonl")
    with pytest.raises(InputError, match=r"samples\.jsonl: .* in a file of a grade; see what"):
        given(run)


def test_what_a_link_leads_to_is_no_earlier_grade(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "demo", problem="toy")
    (tmp_path / "secret").write_text("of somebody else")
    (run / "check.log").symlink_to(tmp_path / "secret")
    earlier = store(run, grade(), "log\n")

    assert earlier is not None
    assert "check.log" not in {path.name for path in earlier.iterdir()}
    assert (tmp_path / "secret").read_text() == "of somebody else"
    assert not (run / "check.log").is_symlink()
