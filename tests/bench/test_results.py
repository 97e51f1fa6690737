"""Grades get into runs whole, earlier ones are kept, and nothing that was changed is sealed."""

from __future__ import annotations

import json
import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from bench import results, sealed
from bench.named import meant
from bench.results import alarms, given, store, write_grade
from kbsite import whole
from kbsite.check import check
from kbsite.errors import InputError, UsageError
from kbsite.store import graded
from kbsite.store import run_folders as stored
from kbsite.store.runs import read_run
from kbsite.store.samples import SAMPLES
from tests.bench.grades import BESIDE, GRADED, grade
from tests.bench.toys import TOY
from tests.conftest import MakeRun


@pytest.fixture(name="run")
def _run(tmp_path: Path, make_run: MakeRun) -> Path:
    """A run of the toy that nobody graded."""
    files = {f"files/{name}": data for name, data in BESIDE.items()}
    return make_run(tmp_path / "demo", metrics=None, problem="toy", files=files)


def errors(run: Path) -> list[str]:
    return [f"{f.path}: {f.text}" for f in check([run]) if f.severity.value == "error"]


def test_a_run_whose_sealing_was_killed_is_sealed_again_without_what_that_left(run: Path) -> None:
    (run / "manifest.json").unlink()
    (run / "files/.own.partial").write_bytes(b"of the session")
    partial = run.rename(run.with_name(f"{run.name}.partial"))
    copy = os.fork()
    if copy == 0:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Path, "replace", lambda *_: os._exit(9))
            sealed.complete(partial)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 9
    left = [path for path in partial.iterdir() if path.name.endswith(".partial")]
    assert len(left) == 1

    assert sealed.complete(partial) == run
    listed = json.loads((run / "manifest.json").read_bytes())["files"]
    assert not {path.name for path in left} & listed.keys()
    assert "files/.own.partial" in listed
    assert errors(run) == []


def test_names_are_those_that_the_site_reads() -> None:
    for name in ("RUN", "METRICS", "AUDIT", "MANIFEST", "SOLUTION", "SIDECARS", "PARTIAL"):
        assert getattr(sealed, name) == getattr(stored, name)
    assert sealed.SAMPLES == SAMPLES
    assert set(graded.GRADED) >= {stored.METRICS, SAMPLES, *stored.LOGS[:2]}


def test_the_solution_of_a_run_has_its_sidecars_beside_it(run: Path) -> None:
    found = given(run)

    assert found.run == run
    assert found.problem == "toy"
    assert sorted(found.files) == ["inner/__init__.py", "kernel.cu", "solution.py"]
    assert found.files["kernel.cu"] == b"// fast\n"


def test_a_file_and_a_folder_are_solutions_of_nobodys_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def solve(): ...\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "solution.py").write_text("import kernel\n")
    (folder / "kernel.py").write_text("")

    assert given(tmp_path / "mine.py").files == {"solution.py": b"def solve(): ...\n"}
    assert sorted(given(folder).files) == ["kernel.py", "solution.py"]
    assert given(folder).run is None


def test_what_is_no_solution_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.py"):
        with pytest.raises(UsageError, match=r"a run by its id or as runs/BOARD/ID, a solution"):
            given(path)


def test_a_run_is_meant_by_its_id_or_a_part_of_it_that_no_other_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Path, make_run: MakeRun
) -> None:
    other = make_run(tmp_path / "deep" / "board", run_id=f"{run.name}-2")
    make_run(tmp_path, run_id="20260102_cut").rename(tmp_path / "20260102_cut.partial")
    monkeypatch.chdir(tmp_path)
    Path("solution.py").touch()

    assert [meant(Path(name), tmp_path) for name in (run.name, other.name[-9:])] == [run, other]
    for name in ("solution.py", "20260102_cut", f"demo/{run.name[:-1]}"):
        assert meant(Path(name), tmp_path) == Path(name)
    with pytest.raises(UsageError, match=f"could be any of 2 runs; say more:\n  .*{run.name}-2\n"):
        meant(Path(run.name[3:-1]), tmp_path)


def test_a_run_without_a_solution_has_none(run: Path) -> None:
    (run / "solution.py").unlink()
    sealed.seal(run)

    assert "solution.py" not in given(run).files


def test_a_grade_becomes_part_of_its_run(run: Path) -> None:
    assert store(run, grade(), "one screen\n") is None

    read = read_run(run)
    assert read.metrics == grade().metrics
    assert (run / "check.log").read_text() == grade().log
    assert (run / "benchmark.log").read_text() == "one screen\n"
    assert errors(run) == []


def test_an_earlier_grade_is_kept_whole(run: Path) -> None:
    later = grade(4.0, graded=GRADED + timedelta(days=1))
    store(run, grade(), "first\n")
    earlier = store(run, later, "second\n")

    assert earlier == run / "grades" / "20261121T160000Z"
    assert json.loads((earlier / "metrics.json").read_text())["peak_fraction"] == 0.5
    assert (earlier / "benchmark.log").read_text() == "first\n"
    assert len((earlier / "samples.jsonl").read_text().splitlines()) == 4
    assert read_run(run).metrics == later.metrics
    assert errors(run) == []


def test_grades_of_the_same_second_and_undated_ones_do_not_overwrite_each_other(run: Path) -> None:
    names = [store(run, grade(graded=None if n > 2 else GRADED), "") for n in range(5)]

    assert [path.name for path in names if path] == [
        "20261121T160000Z", "20261121T160000Z_2", "20261121T160000Z_3", "undated",
    ]  # fmt: skip


def test_of_two_who_grade_a_run_at_once_the_second_waits_and_keeps_what_the_first_wrote(
    run: Path,
) -> None:
    second = threading.Thread(target=store, args=(run, grade(), "second"))
    with sealed.alone(run):
        second.start()
        second.join(0.2)
        assert second.is_alive()
        assert not (run / "metrics.json").exists()
        write_grade(run, grade(), "first")
        sealed.seal(run)
    second.join()

    assert (run / "benchmark.log").read_text() == "second"
    assert [path.read_text() for path in run.glob("grades/*/benchmark.log")] == ["first"]
    assert errors(run) == []


@pytest.mark.parametrize("name", ["solution.py", "files/kernel.cu", "run.json"])
def test_a_run_that_was_changed_is_not_sealed_anew(run: Path, name: str) -> None:
    with (run / name).open("a") as stream:
        stream.write("\n")
    manifest = (run / "manifest.json").read_bytes()

    for act in (lambda: given(run), lambda: store(run, grade(), "")):
        with pytest.raises(InputError, match="not what the manifest has"):
            act()
    assert (run / "manifest.json").read_bytes() == manifest
    assert not (run / "metrics.json").exists()


def test_files_that_came_or_went_are_told(run: Path) -> None:
    (run / "reference.py").write_text("")
    with pytest.raises(InputError, match=r"not in the manifest.*; move it out of the run"):
        given(run)
    (run / "reference.py").unlink()
    (run / "files/kernel.cu").unlink()
    with pytest.raises(InputError, match="missing; the manifest lists it"):
        given(run)
    (run / "manifest.json").unlink()
    with pytest.raises(InputError, match="the run is incomplete"):
        given(run)


def test_no_file_without_an_end_is_held_against_the_manifest(run: Path) -> None:
    path = run / "files" / "kernel.cu"
    with path.open("wb") as stream:
        stream.truncate(1 << 43)
    for refused in (lambda: given(run), lambda: store(run, grade(), "log")):
        with pytest.raises(InputError, match=r"8796093022208 bytes.*put back what was there"):
            refused()


def test_an_audit_may_come_at_any_time(run: Path) -> None:
    (run / "audit.yaml").write_text("verdict: clean\nsummary: fine\nauditor: A\n")

    store(run, grade(), "")
    assert "audit.yaml" not in json.loads((run / "manifest.json").read_text())["files"]


@pytest.mark.parametrize("written", range(4))
def test_what_was_broken_off_is_told_and_can_be_graded_again(
    run: Path, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash after any file: `kbsite check` names it, and no grade is lost."""
    store(run, grade(), "first\n")
    left = [written + 4]  # four files of the earlier grade are copied before
    real = sealed.write_whole

    def crashing(path: Path, data: bytes) -> None:
        if not left[0]:
            whole._partial(path).write_bytes(data[:3])
            raise KeyboardInterrupt
        left[0] -= 1
        real(path, data)

    monkeypatch.setattr(results, "write_whole", crashing)
    with pytest.raises(KeyboardInterrupt):
        store(run, grade(4.0), "second\n")
    monkeypatch.setattr(results, "write_whole", real)
    assert errors(run), "the manifest is older than what lies there"
    last = grade(8.0, graded=GRADED + timedelta(days=2))
    store(run, last, "third\n")

    kept = [json.loads(p.read_text())["ms"] for p in sorted(run.glob("grades/*/metrics.json"))]
    assert read_run(run).metrics == last.metrics
    assert 2.0 in kept
    assert not list(run.rglob("*.partial"))
    assert errors(run) == []


def test_a_file_that_a_session_called_as_if_it_were_half_written_is_kept_and_sealed(
    tmp_path: Path, make_run: MakeRun
) -> None:
    files = {f"files/{name}": data for name, data in BESIDE.items()}
    files["workspace/.own.partial"] = b"of the session"
    run = make_run(tmp_path / "demo", metrics=None, problem="toy", files=files)
    store(run, grade(), "log")

    own = run / "workspace" / ".own.partial"
    assert own.read_bytes() == b"of the session"
    assert errors(run) == []
    own.write_bytes(b"of somebody else")
    with pytest.raises(InputError, match="not what the manifest has"):
        store(run, grade(), "log")


def test_a_grade_is_written_into_a_folder_of_its_own(tmp_path: Path) -> None:
    write_grade(tmp_path / "out", grade(), "one screen\n")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(graded.GRADED)


def test_a_run_that_has_the_problems_files_changed_is_told(
    tmp_path: Path, make_run: MakeRun
) -> None:
    yaml = (TOY / "problem.yaml").read_bytes()
    files = {
        "files/problem.yaml": yaml.replace(b"rms: 0.004", b"rms: 0.4"),
        "workspace/reference.py": (TOY / "reference.py").read_bytes(),
    }
    run = make_run(tmp_path / "demo", problem="toy", problem_hash="a" * 64, hardware="cpu",
                   files=files)  # fmt: skip
    (found,) = alarms(given(run), TOY, "a" * 64, "cpu")

    assert "problem.yaml of its own (files/problem.yaml)" in found
    assert "graded on the true one" in found


def test_another_version_of_the_problem_and_other_hardware_are_told(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "demo", problem="toy", problem_hash="b" * 64, hardware="h200-sxm")

    other, hardware = sorted(alarms(given(run), TOY, "a" * 64, "cpu"), key=len, reverse=True)
    assert "another version of the problem (bbbbbbbbbbbb)" in other
    assert hardware == "The run is one of h200-sxm, but was graded on cpu."


def test_files_that_are_no_source_are_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_BYTES", 10)
    with pytest.raises(InputError, match="expected at most 10"):
        given(run)
