from __future__ import annotations

from pathlib import Path

import pytest

from bench import floors, jobs
from bench.anchors import write_anchors
from bench.calibration import kept_place
from bench.sandbox import NONE
from tests.bench.commands.shells import ANCHORS, Graded, Shell, shell_of
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

    return shell_of(request.param, capsys)
