"""What is too large to be read, or no file at all, is told at once; all else is as it was."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from kbsite import proofs
from kbsite.build import build
from kbsite.check import check
from kbsite.linting import lint
from kbsite.model.finding import Severity
from kbsite.model.problem_files import LARGEST
from kbsite.reading import lookout_of, read
from kbsite.regular import LIMIT_BYTES
from kbsite.store import files, inputs, rested
from kbsite.store.inputs import UNREAD
from kbsite.store.manifests import ADDED
from kbsite.store.problems import read_problem
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import read_run
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeProblem, MakeRun, MakeSettings
from tests.trees import tree

ENDLESS = 1 << 43
"""Bytes of a sparse file that nobody reads to its end within days."""


def endless(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(ENDLESS)


def _socket(path: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "outside": lambda path: path.symlink_to("/etc/hostname"),
}


@pytest.fixture(name="settings")
def _settings(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_problem: MakeProblem
) -> Settings:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", run_id="one", audit={}, files={"files/a.py": b"x = 1\n"})
    make_run(settings.runs / "demo", run_id="two")
    make_problem(settings.problems, "other")
    return settings


@pytest.fixture(name="_soon")
def _ends_soon() -> Iterator[None]:
    """Whoever reads without an end is killed, and takes no other test with it."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent.ru_utime + spent.ru_stime) + 60, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CPU, before)


def told(settings: Settings, name: str) -> list[tuple[Severity, str]]:
    found = build(settings).findings
    return [(one.severity, one.message) for one in found if Path(one.path).name == name]


PROBLEM_SAYS = f"{ENDLESS} bytes; expected at most {LARGEST} in a file of a problem; keep it"


@pytest.mark.usefixtures("_soon")
def test_a_build_reads_no_endless_file_of_a_problem_and_makes_all_other_pages(
    settings: Settings,
) -> None:
    endless(settings.problems / "other" / "data.bin")
    ((severity, message),) = told(settings, "data.bin")

    assert (severity, message[: len(PROBLEM_SAYS)]) == (Severity.ERROR, PROBLEM_SAYS)
    assert {path.name for path in (settings.out / "runs").iterdir()} >= {"one", "two"}
    assert (settings.out / "problems" / "softmax" / "index.html").is_file()
    assert build(settings).work.written == 0


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("place", ["data.bin", "files/data.bin", "transcript/data.jsonl"])
def test_a_build_reads_no_endless_file_of_a_run(settings: Settings, place: str) -> None:
    path = settings.runs / "demo" / "one" / place
    path.parent.mkdir(exist_ok=True)
    endless(path)
    most = settings.config.most_file_bytes

    assert told(settings, path.name) == [
        (
            Severity.WARNING,
            f"not read: of more bytes than most_file_bytes of kbsite.yaml allows, {most}",
        )
    ]
    assert {path.name for path in (settings.out / "runs").iterdir()} >= {"one", "two"}
    assert build(settings).work.written == 0


@pytest.mark.usefixtures("_soon")
def test_whoever_shares_the_look_at_many_files_reads_no_endless_one_either(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", 1)
    build(settings)
    endless(settings.problems / "other" / "data.bin")

    assert told(settings, "data.bin")
    assert build(settings).work.written == 0
    held = lookout_of(settings)
    assert [one for one in read(settings, held).findings if one.path.endswith("data.bin")]


def test_a_file_is_read_as_soon_as_kbsite_yaml_allows_it_though_it_did_not_change(
    settings: Settings,
) -> None:
    path = settings.runs / "demo" / "one" / "files" / "large.txt"
    path.write_bytes(b"a" * (LIMIT_BYTES + 1))
    config = settings.path.read_text()
    settings.path.write_text(f"{config}\nmost_file_bytes: {LIMIT_BYTES}\n")
    few = read_settings(settings.path)
    places = [few.runs, few.problems]
    unread = inputs.inputs(places, {}, most=few.most_bytes)
    assert unread[str(path)].changed == UNREAD

    known = inputs.inputs(places, unread, most=read_settings(settings.path).most_bytes)
    assert inputs.changed(unread, known) == []
    settings.path.write_text(config)
    more = inputs.inputs(places, unread, most=read_settings(settings.path).most_bytes)
    assert inputs.changed(unread, more) == [str(path)]
    assert more[str(path)].digest == files.digest(path)


@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize("name", ["data.bin", "prompt.md"])
def test_a_build_tells_what_in_a_problem_is_no_file(
    settings: Settings, name: str, kind: str
) -> None:
    path = settings.problems / "other" / name
    path.unlink(missing_ok=True)
    NO_FILES[kind](path)
    ((severity, message),) = told(settings, name)

    assert severity is Severity.WARNING
    assert message.startswith("not read: a ")
    assert message.endswith("; expected a file or a folder")
    assert told(settings, name) == [(severity, message)]
    assert (settings.out / "problems" / "other" / "index.html").is_file()
    path.unlink()
    path.write_text("# Statement\n")
    assert told(settings, name) == []


def test_a_problem_that_cannot_be_read_takes_nothing_else_along(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = files.Stored.stream

    def refused(file: files.Stored) -> object:
        if file.at.endswith("other/reference.py"):
            raise PermissionError(13, "Permission denied")
        return stream(file)

    monkeypatch.setattr(files.Stored, "stream", refused)
    expected = [(Severity.ERROR, "cannot be read: Permission denied")]
    assert told(settings, "reference.py") == expected
    assert (settings.out / "runs" / "one" / "index.html").is_file()
    found = [one for one in check([], settings) if one.path.endswith("reference.py")]
    assert [(one.severity, one.message) for one in found] == expected


@pytest.mark.usefixtures("_soon")
def test_a_check_tells_coverage_beside_a_problem_that_is_too_large(
    settings: Settings, make_run: MakeRun
) -> None:
    held = read_problem(settings.problems / "softmax").hash
    make_run(settings.runs / "demo", run_id="due", model="x", problem_hash=held)
    due = {one.message for one in check([], settings) if "audits that are due" in one.message}
    assert due
    endless(settings.problems / "other" / "data.bin")
    found = list(check([], settings))

    assert {one.message for one in found if "audits that are due" in one.message} == due
    assert [one.path for one in found if one.message.startswith(PROBLEM_SAYS)] == [
        str(settings.problems / "other" / "data.bin")
    ]


@pytest.mark.usefixtures("_soon")
def test_a_check_holds_no_endless_file_against_the_manifest_and_says_so(
    settings: Settings,
) -> None:
    run = settings.runs / "demo" / "one"
    endless(run / "files" / "a.py")
    endless(run / "files" / "new.py")
    found = [one for one in check([run], settings) if "/files/" in one.path]
    messages = [(Path(one.path).name, one.severity, one.message.partition(":")[0]) for one in found]

    assert sorted(messages, key=str) == [
        ("a.py", Severity.WARNING, "not held against the manifest"),
        ("a.py", Severity.WARNING, "not read"),
        ("new.py", Severity.ERROR, f"not in the manifest; {ADDED}"),
        ("new.py", Severity.WARNING, "not read"),
    ]


def test_who_reads_a_run_alone_gets_no_file_that_a_site_would_not_show(
    settings: Settings,
) -> None:
    run = settings.runs / "demo" / "one"
    (run / "transcript").mkdir(exist_ok=True)
    endless(run / "transcript" / "stdout.jsonl")

    assert read_run(run).file("transcript/stdout.jsonl") is None
    (stored,) = [one for one in read(settings).runs if one.run.id == "one"]
    assert stored.file("transcript/stdout.jsonl") is None
    assert "not read" in stored.findings[0].message


@pytest.mark.parametrize("kind", [*NO_FILES, "endless"])
def test_prices_that_are_no_table_are_told_and_the_site_that_stands_stays(
    settings: Settings, kind: str
) -> None:
    before = tree(build(settings).out)
    (settings.path.parent / "own.yaml").unlink(missing_ok=True)
    {**NO_FILES, "endless": endless}[kind](settings.path.parent / "own.yaml")
    settings.path.write_text(f"{settings.path.read_text()}\nprices: own.yaml\n")

    with pytest.raises(InvalidFileError, match=r"own\.yaml.*expected (a regular|at most)"):
        read_settings(settings.path)
    assert tree(settings.out) == before


def test_a_link_to_a_folder_that_is_no_problem_is_not_looked_into(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (settings.problems / "link").symlink_to(outside)
    looked: list[str] = []
    scandir = os.scandir

    def seen(path: str) -> object:
        looked.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", seen)
    found = [*build(settings).findings, *check([], settings)]

    told = [one for one in found if one.path == f"{settings.problems}/link"]
    assert [one.severity for one in told] == [Severity.WARNING] * 2
    assert all("a symbolic link; move or copy the folder here" in one.message for one in told)
    assert not [path for path in looked if "/link" in path or "outside" in path]


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("name", ["data/site.json", "data/leaderboard.json"])
def test_a_lint_of_a_site_reads_no_endless_table(settings: Settings, name: str) -> None:
    out = build(settings).out
    endless(out / name)
    found = [one for one in lint(out) if one.path == name and one.severity is Severity.ERROR]

    assert "expected a table" in found[0].message


def test_a_quote_of_a_file_that_nobody_looks_into_is_not_told_to_mean_that_file(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    quote = {"file": "files/a.py", "lines": [1], "text": "x = 1"}
    run = make_run(
        settings.runs / "demo", run_id="three", audit={"quotes": [quote]},
        files={"files/a.py": b"x = 1\n"},
    )  # fmt: skip
    monkeypatch.setattr(proofs, "LARGEST", 5)
    (told,) = [one.message for one in check([run], settings) if one.key == "quotes[0].file"]

    assert told == "'files/a.py' is the audit itself, cannot be read, or is too large to look into"


def _too_deep(folder: Path) -> None:
    """A file below folders whose path the system takes from nobody who names all of it."""
    with chdir(folder):
        for _ in range(20):
            Path("d" * 250).mkdir()
            os.chdir("d" * 250)
        Path("deep.log").write_bytes(b"x")


def test_what_lies_too_deep_for_a_path_stops_no_build_and_is_told(settings: Settings) -> None:
    run = settings.runs / "demo" / "one"
    (run / "transcript" / "home").mkdir(parents=True)
    _too_deep(run / "transcript" / "home")
    built = build(settings)
    assert [finding.message for finding in built.findings] == [
        "not read: cannot be read: File name too long"
    ]
    assert (settings.out / "runs" / "one" / "index.html").is_file()
    assert build(settings).work.written == 0
