"""The command line: exit codes, what goes to stdout and what to stderr, and how quick help is."""

from __future__ import annotations

import errno
import gc
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbsite.cli import COMMANDS, kbsite, main
from kbsite.cli.imports import imports
from kbsite.errors import UsageError
from kbsite.store.alone import alone
from kbsite.store.files import folder_digest
from kbsite.store.problems import read_problem
from tests.conftest import MakeRun, MakeSettings

HEAVY = [
    "pandas",
    "numpy",
    "plotly",
    "torch",
    "jinja2",
    "markdown_it",
    "pygments",
    "msgspec",
    "rich",
]
STREAM = b"""\
{"type":"system","subtype":"init","session_id":"s","model":"opus-x","cwd":"/w","tools":["Bash"],\
"permissionMode":"default","claude_code_version":"2.1.329"}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look first."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}
"""


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What the command does as a process of its own, as a person or a script starts it."""
    return subprocess.run(
        [sys.executable, "-m", "kbsite", *words],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_ctrl_c_before_the_command_line_is_there_is_no_traceback() -> None:
    code = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from kbsite.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )

    assert (done.returncode, done.stderr) == (1, "Aborted!\n")


def test_streams_that_are_closed_stop_no_command_and_take_no_file(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo", run_id="one")
    (tmp_path / "runs" / "demo" / "one" / "manifest.json").unlink()
    kbsite = f"{shlex.quote(sys.executable)} -m kbsite"
    commands = f"{kbsite} build 0<&- 1>&- 2>&-", f"{kbsite} audit show --no-pager one 1>&-"
    asked = "; ".join(f"{one}; echo $?" for one in commands)
    done = subprocess.run(
        ["sh", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )

    # What is told is another matter: that it is no traceback shows in the exit codes.
    assert done.stdout.split() == ["11", "0"]
    assert (tmp_path / "site" / "index.html").is_file()
    assert not (tmp_path / ".site.build.lock").read_bytes()


ASCII = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
"""What makes Python take names of files for ASCII; for Latin-1, a locale that few machines have."""


def test_a_site_leads_to_files_with_any_name_whatever_the_locale_is(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", run_id="one")
    (settings.runs / "demo" / "one" / "files").mkdir()
    (settings.runs / "demo" / "one" / "files" / "größe.py").write_text("x = 1\n")
    pages = {}
    for name, locale in (("utf8", {}), ("ascii", ASCII)):
        subprocess.run(
            [sys.executable, "-m", "kbsite", "build", "--fresh"],
            cwd=tmp_path, env={**os.environ, **locale}, check=False, timeout=120,
        )  # fmt: skip
        pages[name] = (tmp_path / "site" / "runs" / "one" / "index.html").read_text()

    assert "gr%C3%B6%C3%9Fe.py" in pages["utf8"]
    assert pages["ascii"] == pages["utf8"]


def test_bench_tells_names_of_files_whatever_the_locale_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "lint", str(tmp_path / "größe")],
        env={**os.environ, **ASCII}, capture_output=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode in (1, 2)
    assert "größe" in done.stderr.decode()


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from kbsite.cli import kbsite\n"
        "kbsite(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"
    assert "Commands:" in done.stdout


def test_a_command_that_ends_does_not_look_for_cycles_first() -> None:
    program = "import gc\nfrom kbsite.cli import main\ntry:\n    main()\nexcept SystemExit:\n"
    program += "    print(gc.get_freeze_count() > len(gc.get_objects()))"
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True"


def test_cycles_are_looked_for_again_once_a_command_is_loaded() -> None:
    gc.disable()
    try:
        done = CliRunner().invoke(kbsite, ["lint", "--help"])
        assert gc.isenabled()
    finally:
        gc.enable()

    assert done.exit_code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(kbsite, [command, "--help"])

    assert shown.exit_code == 0
    assert f"Example:\n    kbsite {command}" in shown.output


@pytest.mark.parametrize("command", sorted(imports.commands))
def test_every_import_has_help_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(kbsite, ["import", command, "--help"])

    assert shown.exit_code == 0
    assert f"Example:\n    kbsite import {command}" in shown.output


def test_build_says_where_the_site_is_on_stdout_and_the_rest_on_stderr(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo")
    done = run("build", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'site' / 'index.html'}\n"
    assert "0 errors" in done.stderr


def test_a_build_that_waits_for_another_says_so(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path)
    words = [sys.executable, "-m", "kbsite", "build"]
    with alone(tmp_path / "site"):
        waiting = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert waiting.stderr
        told = waiting.stderr.readline()
    rest = waiting.communicate(timeout=60)[1]

    assert (
        told == f"{tmp_path / 'site'}: another build is under way; this one waits until it ends\n"
    )
    assert (waiting.returncode, "0 errors" in rest) == (0, True)
    assert "another build" not in run("build", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("out", "told"),
    [("kbsite.yaml/a/site", "Not a directory"), ("x" * 300, "File name too long")],
)
def test_a_system_that_refuses_is_told_in_one_line(
    tmp_path: Path, make_settings: MakeSettings, out: str, told: str
) -> None:
    make_settings(tmp_path, site={"out": out})
    done = run("build", cwd=tmp_path)

    assert done.returncode == 3
    assert done.stderr == f"kbsite: {tmp_path / out}: cannot be written: {told}\n"


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, 3), (errno.EACCES, 3), (errno.ENOENT, None)]
)
def test_a_disk_that_is_full_is_told_and_what_no_system_does_is_traced(
    number: int, code: int | None, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def refuse(**_: object) -> None:
        raise OSError(number, "Refused", "/there")

    monkeypatch.setattr("kbsite.cli.kbsite", refuse)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    with pytest.raises(SystemExit if code else OSError) as raised:
        main()

    if code:
        assert getattr(raised.value, "code", None) == code
        assert capsys.readouterr().err == "kbsite: /there: Refused\n"


def test_what_stands_in_an_error_does_not_act_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: object) -> None:
        raise UsageError("a\x1b[2Jb: one line\nand another")

    monkeypatch.setattr("kbsite.cli.kbsite", refuse)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    with pytest.raises(SystemExit):
        main()

    assert capsys.readouterr().err == "kbsite: a\\x1b[2Jb: one line\nand another\n"


@pytest.mark.parametrize(
    "words",
    [
        ("export", "hf", "s3://bench/data"),
        ("import", "transcript", "s.jsonl", "--out", "s3://bench/runs/mine"),
        ("import", "harbor", ".", "--out", "file:///srv/runs/mine"),
    ],
)
def test_a_url_where_only_a_folder_can_be_makes_no_folder_called_like_it(
    tmp_path: Path, make_settings: MakeSettings, words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make_settings(tmp_path)
    (tmp_path / "s.jsonl").write_bytes(STREAM)
    before = set(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(kbsite, words)

    assert done.exit_code == 2
    assert "is a URL; expected a folder of this machine" in done.stderr
    assert set(tmp_path.iterdir()) == before


EMPTY = [
    ["init", ""],
    ["init", " "],
    ["build", "--out", ""],
    ["build", "--out", "\t"],
    ["build", "--runs", ""],
    ["build", "--problems", ""],
    ["build", "--single-file", ""],
    ["serve", "--watch", "--out", ""],
    ["export", "hf", ""],
    ["export", "hf", "data", "--runs", ""],
    ["check", ""],
    ["lint", ""],
    ["verify", ""],
    ["publish", "site", ""],
    ["audit", "show", ""],
    ["audit", "scan", "one", ""],
    ["audit", "queue", "--board", ""],
    ["audit", "queue", "--board", " "],
    ["import", "transcript", "log.jsonl", "--out", ""],
    ["import", "transcript", "log.jsonl", "--out", "runs/demo", "--model", ""],
    ["import", "inspect", "runs", "--out", "runs/demo", "--sample", ""],
]


@pytest.mark.parametrize("words", EMPTY, ids=" ".join)
def test_what_is_empty_is_wrong_use_and_no_folder_that_one_stands_in(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, words: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", run_id="one")
    (tmp_path / "log.jsonl").write_bytes(STREAM)
    (tmp_path / "site").mkdir()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(kbsite, words)

    assert done.exit_code == 2
    assert "empty, as a variable is that is not set" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", [["build"], ["serve", "--watch"]], ids=" ".join)
def test_problems_that_are_named_have_to_be_there(
    tmp_path: Path, make_settings: MakeSettings, command: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make_settings(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(kbsite, [*command, "--problems", "problem"])

    assert done.exit_code == 2
    assert "'--problems': Directory 'problem' does not exist." in done.stderr
    assert not (tmp_path / "site").exists()


def test_an_engine_that_is_none_is_named_by_who_named_it(
    tmp_path: Path, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_settings(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBSITE_ENGINE", "spark")
    done = CliRunner().invoke(kbsite, ["build"])

    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "KBSITE_ENGINE: expected one of local, ray, got 'spark'"
    assert CliRunner().invoke(kbsite, ["build", "--engine", "local"]).exit_code == 0


@pytest.mark.parametrize("place", ["led", "led/deep", "round", "file/deep", "/proc/none"])
@pytest.mark.parametrize(
    "words",
    [
        ["init"], ["export", "hf", "--runs", "runs"], ["build", "--single-file", "one", "--out"],
        ["import", "transcript", "log.jsonl", "--out"],
    ],
)  # fmt: skip
def test_where_no_folder_can_be_what_is_in_the_way_is_told(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, words: list[str], place: str
) -> None:
    make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", run_id="one")
    (tmp_path / "log.jsonl").write_bytes(STREAM)
    (tmp_path / "file").touch()
    (tmp_path / "led").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    target = f"{place}/x.html" if "--single-file" in words else place
    done = run(*words, target, cwd=tmp_path)

    assert done.returncode in (2, 3)
    assert place in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_whoever_stands_in_a_folder_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(sys, "argv", ["kbsite", "check"])
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path / "site")
    (tmp_path / "site").rmdir()
    with pytest.raises(SystemExit) as raised:
        main()

    assert raised.value.code == 3
    assert "the folder that this was started in is gone" in capsys.readouterr().err


def test_build_finds_kbsite_yaml_in_a_parent(tmp_path: Path, make_settings: MakeSettings) -> None:
    make_settings(tmp_path)
    deep = tmp_path / "runs" / "demo"
    done = run("build", cwd=deep)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


def test_build_without_settings_takes_the_runs_that_it_is_given(
    tmp_path: Path, make_run: MakeRun
) -> None:
    make_run(tmp_path / "mine" / "demo")
    done = run("build", "--runs", "mine", "--out", "there", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "demo" / "index.html").is_file()


def test_build_without_settings_or_runs_is_wrong_use(tmp_path: Path) -> None:
    done = run("build", cwd=tmp_path)

    assert done.returncode == 2
    assert "no kbsite.yaml" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("broken", "code"), [(0, 0), (1, 11), (3, 13), (95, 100)])
def test_the_exit_code_of_a_build_says_how_many_runs_could_not_be_read(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    broken: int,
    code: int,
    *,
    strict: bool,
) -> None:
    settings = make_settings(tmp_path)
    present = folder_digest(settings.problems / "softmax")
    wrong = {"status": "wrong"}
    made = make_run(tmp_path / "runs" / "demo", metrics=wrong, problem_hash=present)
    for number in range(broken):
        shutil.copytree(made, made.with_name(f"{made.name}{number}"))
        (made.with_name(f"{made.name}{number}") / "run.json").write_text("{}")
    done = run("build", *["--strict"] * strict, cwd=tmp_path)

    assert done.returncode == code, done.stderr
    # One file has many errors: all that it lacks.
    assert f"{broken * 15:,} errors, 0 warnings" in done.stderr
    # The others are published: what they say of themselves is one page a run.
    assert (tmp_path / "site" / "demo" / "index.html").is_file()


def test_a_build_that_has_nothing_to_do_tells_its_errors_again(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    bad = make_run(tmp_path / "runs" / "demo")
    (bad / "run.json").write_text("{}")
    plain = run("build", cwd=tmp_path)
    strict = run("build", "--strict", cwd=tmp_path)

    assert (plain.returncode, strict.returncode) == (11, 11)
    assert f"{bad}/run.json: error: " in plain.stderr
    # All but the last line, which counts the work: there was none left to do.
    assert plain.stderr.splitlines()[:-1] == strict.stderr.splitlines()[:-1]
    assert "0 transcripts read, 0 pages rendered, 0 files written, 0 kept" in strict.stderr


def test_only_a_strict_build_fails_where_audits_that_are_due_are_missing(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    held = read_problem(make_settings(tmp_path).problems / "softmax").hash
    read = make_run(tmp_path / "runs" / "demo", audit={}, problem_hash=held)
    unread = make_run(tmp_path / "runs" / "demo", model="other", problem_hash=held)
    told = (
        f"{tmp_path}/kbsite.yaml: warning: boards.demo: 1 of 2 audits that are due are missing;"
        " `kbsite audit queue` lists them"
    )
    plain = run("build", cwd=tmp_path)
    strict = run("build", "--strict", cwd=tmp_path)

    assert (plain.returncode, strict.returncode) == (0, 1)
    assert told in plain.stderr.splitlines()
    assert told in strict.stderr.splitlines()
    assert "0 errors, 1 warning" in plain.stderr
    checked = run("check", cwd=tmp_path)
    assert (checked.returncode, told in checked.stderr) == (0, True)
    assert run("check", "--strict", cwd=tmp_path).returncode == 1

    shutil.copy(read / "audit.yaml", unread)
    assert run("build", "--strict", cwd=tmp_path).returncode == 0
    assert run("check", "--strict", cwd=tmp_path).returncode == 0


def test_only_a_strict_build_fails_on_a_quote_that_is_not_proven(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    quotes = [
        {"file": "solution.py", "lines": [1, 1], "text": "def solve(x):"},
        {"file": "solution.py", "lines": [2, 2], "text": "return cached"},
    ]
    audited = make_run(tmp_path / "runs" / "demo", audit={"quotes": quotes})
    plain = run("build", cwd=tmp_path)
    strict = run("build", "--strict", cwd=tmp_path)
    [told] = [line for line in strict.stderr.splitlines() if "not proven" in line]

    assert (plain.returncode, strict.returncode) == (0, 1)
    assert told in plain.stderr.splitlines()
    assert told.startswith(f"{audited}/audit.yaml:")
    assert "warning: quotes[1]: not proven: solution.py: " in told


def test_settings_that_cannot_be_read_are_named_by_line_and_key(tmp_path: Path) -> None:
    (tmp_path / "kbsite.yaml").write_text("title: x\nboards:\n  - id: a\n    title: 3\n")
    done = run("build", cwd=tmp_path)

    assert done.returncode == 1
    assert f"{tmp_path}/kbsite.yaml:4: boards[0].title: " in done.stderr


def test_check_of_a_good_site_is_silent_on_stdout(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo")
    done = run("check", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "0 errors" in done.stderr


def test_check_names_file_line_key_and_expectation_and_exits_1(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    folder = make_run(tmp_path / "runs" / "demo")
    path = folder / "metrics.json"
    path.write_text(path.read_text().replace('"passed"', '"perfect"'))
    done = run("check", cwd=tmp_path)

    assert done.returncode == 1
    assert f"{path}:3: error: status: " in done.stderr
    assert "expected one of passed, wrong" in done.stderr


def test_check_can_speak_json(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    folder = make_run(tmp_path / "runs" / "demo")
    (folder / "run.json").write_text("{}")
    done = run("check", "--json", cwd=tmp_path)
    findings = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 1
    assert {finding["severity"] for finding in findings} <= {"error", "warning"}
    assert str(folder / "run.json") in {finding["path"] for finding in findings}


def test_check_works_on_a_run_that_lies_anywhere(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "board")
    done = run("check", str(folder), cwd=tmp_path)

    assert done.returncode == 0, done.stderr


def test_check_of_what_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    assert run("check", "nothing", cwd=tmp_path).returncode == 2


def test_a_lone_transcript_becomes_a_run_that_the_site_shows(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(STREAM)
    made = run("import", "transcript", "session.jsonl", "--out", "runs/mine", cwd=tmp_path)
    built = run("build", "--runs", "runs", cwd=tmp_path)
    page = Path(built.stdout.strip()).parent / "runs" / Path(made.stdout.strip()).name

    assert made.returncode == 0, made.stderr
    assert "I look first." in (page / "index.html").read_text("utf-8")
    assert run("check", made.stdout.strip(), cwd=tmp_path).returncode == 0


def test_an_imported_run_with_its_problem_and_solution_is_on_the_board(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    make_settings(tmp_path, budget_seconds=2700)
    (tmp_path / "session.jsonl").write_bytes(STREAM)
    (tmp_path / "kernel.py").write_text("def solve(x): return x\n")
    command = ("import", "transcript", "session.jsonl", "--out", "runs/demo", "--problems")
    said = ("problems", "--solution", "kernel.py", "--hardware", "cpu",
            "--budget-seconds", "2700", "--problem")  # fmt: skip
    lost = run(*command, *said, "sotfmax", cwd=tmp_path)
    made = run(*command, *said, "softmax", cwd=tmp_path)
    checked = run("check", cwd=tmp_path)

    assert lost.returncode == 2
    assert "no problem in problems is called 'sotfmax'" in lost.stderr
    assert made.returncode == 0, made.stderr
    assert (tmp_path / made.stdout.strip() / "solution.py").is_file()
    assert checked.returncode == 0, checked.stderr
    assert "refuses" not in checked.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "1e308"])
@pytest.mark.parametrize("what", ["transcript", "inspect"])
def test_a_time_that_no_budget_could_be_is_wrong_use(
    tmp_path: Path, what: str, seconds: str
) -> None:
    (tmp_path / "s.jsonl").write_bytes(STREAM)
    words = ["import", what, str(tmp_path / "s.jsonl"), "--out", str(tmp_path / "mine")]
    done = CliRunner().invoke(kbsite, [*words, "--budget-seconds", seconds])

    assert done.exit_code == 2
    assert "--budget-seconds" in done.stderr
    assert not (tmp_path / "mine").exists()


def test_a_file_that_is_no_transcript_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Buy milk.\n")
    done = run("import", "transcript", "notes.txt", "--out", "runs/mine", cwd=tmp_path)

    assert done.returncode == 1
    assert "notes.txt" in done.stderr
    assert "claude-session" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_an_unknown_command_is_wrong_use(tmp_path: Path) -> None:
    assert run("publish", cwd=tmp_path).returncode == 2


def test_the_version_is_told(tmp_path: Path) -> None:
    from kbsite import __version__

    assert run("--version", cwd=tmp_path).stdout == f"kbsite, version {__version__}\n"
