"""What this user may not read costs what it holds, and nothing else; it is told."""

from __future__ import annotations

import errno
import os
import pickle
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite import cli
from kbsite.build import Built, build
from kbsite.check import check
from kbsite.check.fixes import fix
from kbsite.check.targets import Kind, target
from kbsite.engines.engine import packed_error
from kbsite.errors import (
    READABLE,
    InputError,
    MachineError,
    name_file,
    of_machine,
    of_run,
)
from kbsite.linting import lint
from kbsite.model.finding import Severity, failure_of
from kbsite.store import at_once, files, inputs, rested
from kbsite.store.settings import Settings
from tests.cli.audit.calling import called
from tests.conftest import MakeRun, MakeSettings
from tests.shut import shut
from tests.test_incremental import from_nothing
from tests.trees import tree

MODES = {"nothing": 0o000, "names": 0o444, "way": 0o111}
"""What others may read of a folder."""


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", run_id="one")
    make_run(settings.runs / "other", run_id="two")
    return settings


def errors(built: Built, settings: Settings) -> list[tuple[str, str]]:
    """Where it is wrong, as seen from the runs, and how."""
    assert {one.severity for one in built.findings} <= {Severity.ERROR}
    return [
        (str(Path(one.path).relative_to(settings.runs)), one.message.partition(";")[0])
        for one in built.findings
    ]


DENIED = "Permission denied"
TOLD = {
    "nothing": [("demo", f"cannot be listed: {DENIED}"),
                ("demo/floors.json", f"cannot be read: {DENIED}")],
    "names": [("demo/one", f"cannot be listed: {DENIED}"),
              ("demo/floors.json", f"cannot be read: {DENIED}")],
    "way": [("demo", f"cannot be listed: {DENIED}")],
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("many", [1, rested.MANY])
def test_a_board_that_cannot_be_read_ends_no_build_of_the_others(
    settings: Settings, mode: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", many)
    before = tree(build(settings).out)
    with shut(settings.runs / "demo", mode=MODES[mode]):
        assert errors(build(settings), settings) == TOLD[mode]
        assert (settings.out / "runs" / "two" / "index.html").is_file()
        assert not (settings.out / "runs" / "one").exists()
        assert tree(settings.out) == from_nothing(settings)

        again = build(settings)
        assert errors(again, settings) == TOLD[mode]
        assert again.work.written == 0
    assert errors(build(settings), settings) == []
    assert tree(settings.out) == before


@pytest.mark.parametrize("within", [".", "run.json"])
@pytest.mark.parametrize("many", [1, rested.MANY])
def test_what_came_and_cannot_be_read_is_told_by_the_next_build(
    settings: Settings, make_run: MakeRun, within: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", many)
    build(settings)
    run = make_run(settings.runs / "demo", run_id="three")
    with shut(run / within):
        for _ in range(2):
            ((where, why),) = errors(build(settings), settings)
            assert (where, DENIED in why) == (str(Path("demo/three") / within), True)
        assert tree(settings.out) == from_nothing(settings)
    assert errors(build(settings), settings) == []
    assert (settings.out / "runs" / "three" / "index.html").is_file()


@pytest.mark.parametrize("mode", MODES)
def test_a_check_goes_on_beside_a_board_that_cannot_be_read(settings: Settings, mode: str) -> None:
    settings.path.write_text(f"{settings.path.read_text()}\ndeck: [softmax]\n")
    (settings.runs / "other" / "two" / "solution.py").write_text("another = 1\n")
    with shut(settings.runs / "demo", mode=MODES[mode]):
        found = list(check([], settings))
        assert list(fix([], settings)) == []

    told = [str(Path(one.path).relative_to(settings.runs)) for one in found
            if DENIED in one.message and one.severity is Severity.ERROR]  # fmt: skip
    assert sorted(set(told)) == sorted(where for where, _ in TOLD[mode])
    assert [one for one in found if "changed after the run was completed" in one.message]


@pytest.mark.parametrize("mode", ["nothing", "way"])
def test_a_problem_that_cannot_be_read_ends_nothing(settings: Settings, mode: str) -> None:
    folder = settings.problems / "softmax"
    with shut(folder, mode=MODES[mode]):
        told = [one for one in check([], settings) if one.path == str(folder)]
        build(settings)

    assert [(one.severity, one.message) for one in told] == [
        (
            Severity.ERROR,
            f"not read: cannot be listed: {DENIED}; let the user who builds read it (chmod u+rx)",
        )
    ]
    assert (settings.out / "runs" / "one" / "index.html").is_file()


@pytest.mark.parametrize(
    ("place", "bits"), [(".", "u+rx"), ("run.json", "u+r"), ("transcript", "u+rx")]
)
def test_what_may_not_be_read_is_told_with_what_to_do(
    settings: Settings, place: str, bits: str
) -> None:
    run = settings.runs / "demo" / "one"
    (run / "transcript").mkdir(exist_ok=True)
    with shut(run / place):
        (told,) = [one for one in build(settings).findings if DENIED in one.message]
        assert told.path == str(run / place)
        assert f"let the user who builds read it (chmod {bits})" in told.message


FILES = {
    "audit.yaml": b"",
    "check.log": b"PASS\n",
    "files/a.py": b"x = 1\n",
    "manifest.json": b"",
    "metrics.json": b"",
    "samples.jsonl": b'{"round": 1, "shape": "n=1", "ms": [1.5]}\n',
    "snapshots/20260102T030405Z.py": b"y = 2\n",
    "solution.py": b"def solve(x):\n    return x\n",
    "transcript/stderr.log": b"odd\n",
    "transcript/stdout.jsonl": b'{"type":"assistant","message":{"content":[]}}\n',
}  # fmt: skip
"""What a run may lack; what it then holds where a test's run has none of its own."""


@pytest.fixture(name="whole")
def _whole(settings: Settings, make_run: MakeRun) -> Path:
    """A run of which every file is there, and one is quoted by its audit."""
    quote = {"label": "The call.", "file": "solution.py", "lines": [1, 1], "text": "def solve(x):"}
    given = {name: data for name, data in FILES.items() if data}
    return make_run(settings.runs / "demo", run_id="three", files=given, audit={"quotes": [quote]})


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_costs_no_page_but_what_it_says(
    settings: Settings, whole: Path, name: str
) -> None:
    with shut(whole / name):
        for _ in range(2):
            found = [one for one in build(settings).findings if one.severity is Severity.ERROR]
            assert [(one.path, one.message) for one in found] == [
                (
                    str(whole / name),
                    f"not read: {DENIED}; let the user who builds read it (chmod u+r)",
                )
            ]
            pages = [path.read_text() for path in settings.out.rglob("*.html")]
            assert not [page for page in pages if "could not be made" in page]
            assert not [page for page in pages if str(settings.runs) in page]
        assert tree(settings.out) == from_nothing(settings)
        checked = [one for one in check([], settings) if DENIED in one.message]
        assert [(one.path, one.severity) for one in checked] == [
            (str(whole / name), Severity.ERROR)
        ]
    assert not build(settings).findings
    assert tree(settings.out) == from_nothing(settings)


@pytest.mark.parametrize("many", [1, rested.MANY])
def test_a_file_that_is_shut_later_costs_no_page_of_what_changes_then(
    settings: Settings, whole: Path, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", many)
    assert not build(settings).findings
    (whole / "check.log").write_text("PASS, again\n")
    with shut(whole / "solution.py"):
        ((where, _),) = [
            (one.path, one.message) for one in build(settings).findings
            if one.severity is Severity.ERROR
        ]  # fmt: skip
        assert where == str(whole / "solution.py")
        page = (settings.out / "runs" / "three" / "index.html").read_text()
        assert "PASS, again" in page
    build(settings)
    assert tree(settings.out) == from_nothing(settings)


def test_a_file_that_fails_while_it_is_read_costs_its_run_s_page_and_tells_no_path(
    settings: Settings, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = at_once.read_at_once

    def failing(path: str, size: int) -> bytes:
        if path == str(whole / "solution.py"):
            raise OSError(errno.EIO, "Input/output error", path)
        return read(path, size)

    monkeypatch.setattr(files, "read_at_once", failing)
    found = {one.path: one.message for one in build(settings).findings}

    why = "the page cannot be made: OSError: Input/output error: solution.py"
    assert found["runs/three/index.html"] == why
    assert "demo/index.html" not in found
    for path in settings.out.rglob("*.html"):
        assert str(settings.runs) not in path.read_text()


def test_a_transcript_that_fails_while_it_is_read_is_named(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(tmp_path, site={"redact": {"on": False}})
    told = {"home/.claude/projects/p/s.jsonl": b'{"type":"user"}\n' * 9}
    run = make_run(settings.runs / "demo", run_id="one", transcript=told)
    opened = at_once.itself

    def failing(path: str, flags: int) -> int:
        # What another process has in memory is a regular file whose first page is not there.
        return opened("/proc/self/mem" if path.endswith(".jsonl") else path, flags)

    monkeypatch.setattr(files, "itself", failing)
    found = {one.path: one.message for one in build(settings).findings}

    why = "OSError: Input/output error: home/.claude/projects/p/s.jsonl"
    assert found[str(run)] == f"not all alarms could be looked for: {why}"
    assert found["runs/one/index.html"] == f"the page cannot be made: {why}"
    for path in settings.out.rglob("*.html"):
        assert str(settings.runs) not in path.read_text()


@pytest.mark.parametrize("why", [errno.ENOENT, errno.ELOOP, errno.EIO])
@pytest.mark.parametrize("name", ["solution.py", "transcript/stdout.jsonl"])
@pytest.mark.parametrize("words", [["audit", "show"], ["build", "--single-file"]])
def test_who_asks_for_one_run_is_told_which_of_its_files_went_meanwhile(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], name: str, words: list[str], why: int,
) -> None:  # fmt: skip
    told = {"stdout.jsonl": b'{"type":"user"}\n' * 9}
    run = make_run(settings.runs / "demo", run_id="three", transcript=told)
    seen = []

    def going(path: str, flags: int) -> int:
        if path == str(run / name):
            seen.append(path)
            # That it can be opened is looked at once, before it is read.
            if len(seen) > 1:
                raise OSError(why, os.strerror(why), path)
        return at_once.itself(path, flags)

    def read(path: str, size: int) -> bytes:
        os.close(going(path, os.O_RDONLY))
        return at_once.read_at_once(path, size)

    monkeypatch.setattr(files, "itself", going)
    monkeypatch.setattr(files, "read_at_once", read)
    monkeypatch.chdir(settings.out.parent)
    monkeypatch.setattr(sys, "argv", ["kbsite", *words, "three"])
    with pytest.raises(SystemExit) as ended:
        cli.main()

    said = f"{run / name}: Input/output error"
    if why != errno.EIO:
        said = f"{run / name}: cannot be read any more: {os.strerror(why)}; it was there just now"
    assert said in capsys.readouterr().err
    assert ended.value.code == (3 if why == errno.EIO else 1)


@pytest.mark.parametrize("why", [errno.EIO, errno.EACCES, errno.EPERM])
def test_only_who_may_not_read_a_file_is_told_of_its_mode(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    """By the error's number: what words it comes in is the system's."""

    def failing(path: str, flags: int) -> int:
        if path.endswith("one/solution.py"):
            raise OSError(why, "in other words", path)
        return at_once.itself(path, flags)

    monkeypatch.setattr(files, "itself", failing)
    (found,) = files.within(1 << 20, files.contents(settings.runs / "demo" / "one"))[1]
    cure = "" if why == errno.EIO else f"; {READABLE}"
    assert found.told == f"{os.strerror(why)}{cure}"


@pytest.mark.parametrize("error", [PermissionError(errno.EPERM, "no"), OSError("no number")])
def test_a_build_keeps_by_which_error_a_file_could_not_be_read(error: OSError) -> None:
    kept = inputs.unread(error, size=5)
    assert kept.unread == (error.errno or errno.EIO)
    for other in (replace(kept, digest="a" * 64), replace(kept, changed=1)):
        assert other.unread == 0
    assert replace(kept, digest=f"{kept.digest}x").unread == errno.EIO, "what is kept was damaged"


@pytest.mark.parametrize("command", ["queue", "stats", "scan"])
def test_who_counts_runs_says_that_some_could_not_be_read(
    settings: Settings, tmp_path: Path, command: str
) -> None:
    assert called(tmp_path, command).returncode == 0
    with shut(settings.runs / "demo"):
        done = called(tmp_path, command)

    assert done.returncode == 1
    assert f"{settings.runs / 'demo'}: error: cannot be listed: {DENIED}" in done.stderr
    assert "move it elsewhere" in done.stderr


def test_a_lock_of_somebody_else_is_named(settings: Settings) -> None:
    lock = build(settings).out.with_name(".site.build.lock")
    with shut(lock), pytest.raises(MachineError, match=rf"{lock}: cannot be written: {DENIED}"):
        build(settings)


def test_a_run_is_one_though_the_folder_that_it_lies_in_cannot_be_listed(
    settings: Settings,
) -> None:
    run = settings.runs / "demo" / "one"
    with shut(run.parent, mode=0o111):
        assert target(run / "solution.py", settings).kind is Kind.RUN
        assert not [one for one in check([run], settings) if one.severity is Severity.ERROR]


def test_an_error_of_a_copy_is_told_of_a_file_of_a_run_only_where_it_is_of_one() -> None:
    error = PermissionError(errno.EACCES, "Permission denied", "/site/index.html")
    sent = pickle.loads(packed_error(error))
    assert (of_run(sent), failure_of(sent)) == (None, "PermissionError: Permission denied")

    name_file(error, "/runs/one/solution.py", "solution.py")
    sent = pickle.loads(packed_error(error))
    assert str(of_run(sent)).startswith("/site/index.html: cannot be read any more")
    assert failure_of(sent) == "PermissionError: Permission denied: solution.py"


@pytest.mark.parametrize("words", [["build"], ["check"], ["audit", "queue"]])
def test_who_may_not_read_the_folder_of_all_runs_is_told_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(settings.path.parent)
    monkeypatch.setattr(sys, "argv", ["kbsite", *words])
    with shut(settings.runs), pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (3, "")
    assert said.err.startswith(f"kbsite: {settings.runs}")
    cure = f"let the user who builds read {settings.runs} (chmod u+rx)"
    assert said.err.endswith(f": {DENIED}; {cure}\n")


def test_who_may_not_write_or_read_is_told_of_the_folder_that_denies_it(settings: Settings) -> None:
    board = settings.runs / "demo"

    def told(path: Path) -> str:
        return str(of_machine(PermissionError(errno.EACCES, DENIED, str(path))))

    new = board / "new.partial" / "run.json"
    with shut(board, mode=0o555):
        assert told(new) == f"{new}: {DENIED}; let this user write into {board} (chmod u+w)"
    with shut(board):
        assert told(new) == f"{new}: {DENIED}; let the user who builds read {board} (chmod u+rx)"
    with shut(settings.path):
        assert told(settings.path) == f"{settings.path}: {DENIED}; {READABLE}"
    assert told(new) == f"{new}: {DENIED}", "whose cause nobody can see here"


def test_a_site_that_may_not_be_read_is_not_taken_for_none(settings: Settings) -> None:
    site = build(settings).out
    with shut(site), pytest.raises(InputError, match=rf"cannot be listed: {DENIED}; let the user"):
        list(lint(site))
