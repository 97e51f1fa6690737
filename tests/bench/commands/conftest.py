from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import floors, jobs
from bench.__main__ import main
from bench.anchors import write_anchors
from bench.calibration import kept_place
from bench.cli import bench
from bench.sandbox import NONE
from tests.bench.commands.shells import ANCHORS, Graded, Shell
from tests.bench.toys import toy


@pytest.fixture(name="grader")
def _grader(monkeypatch: pytest.MonkeyPatch) -> Graded:
    made = Graded()
    monkeypatch.setattr(jobs, "grade", made)
    monkeypatch.setattr(floors, "grade", made)
    monkeypatch.setattr(jobs, "best", lambda: NONE)
    return made


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a problem and anchors, to stand in; what is kept is kept in it, too."""
    toy(tmp_path / "problems")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = kept_place("cpu")
    place.parent.mkdir(parents=True)
    write_anchors(place, ANCHORS)
    (tmp_path / "mine.py").write_text("def solve(*tensors): ...\n")
    return tmp_path


@pytest.fixture(name="shell", params=["click", "argparse"])
def _shell(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], home: Path) -> Shell:
    """Runs a command on one of the command lines: exit code, stdout, stderr."""
    assert home.is_dir()

    def with_click(*words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(bench, words)
        error = done.exception
        if error is not None and not isinstance(error, SystemExit):
            return getattr(error, "exit_code", 99), done.stdout, f"{done.stderr}{error}"
        return done.exit_code, done.stdout, done.stderr

    def with_argparse(*words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return with_click if request.param == "click" else with_argparse
