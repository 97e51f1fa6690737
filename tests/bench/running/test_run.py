"""One run, end to end, with a small program in the CLI's place: what is kept, and how it ends."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bench.harnesses.form import Extract
from bench.proxy.log import read_exchanges
from bench.running.form import SessionLimits
from bench.running.run import run
from bench.sandbox import NONE, best
from bench.sandbox.box import Sandbox
from bench.scripted import Script, expected_usage, load_scripts, scripted_provider, serve
from bench.scripted.script import Fault, Turn
from kbsite.errors import MachineError, UsageError
from kbsite.model.run import Run
from kbsite.model.status import EndReason
from kbsite.store.runs import read_run
from kbsite.store.snapshots import recorded
from tests.bench.planted import planted
from tests.bench.running.sessions import (
    FAKE,
    LONG_S,
    SMALL,
    FakeAdapter,
    Trial,
    left_of,
    wrong_with,
)

WRITES = "write('def solve(a, b):\\n    return a + b\\n')\n"
KEY = "sk-planted/key+of=the&operator-93b1"


def run_of(folder: Path) -> Run:
    return read_run(folder).run


def test_a_session_becomes_a_complete_run(trial: Trial) -> None:
    ended = trial.fake("ask()\n" + WRITES + "done()\n")
    assert (ended.reason, ended.retryable) == ("finished", False), ended.detail
    assert wrong_with(ended.folder) == []
    told = run_of(ended.folder)
    assert ended.folder == trial.runs / "demo" / told.id
    assert told.end_reason is EndReason.FINISHED
    assert (told.problem, told.harness, told.harness_version) == ("add", "claude", "0.0.1")
    assert told.usage == expected_usage(trial.server.requests_of(trial.runs.name))
    assert told.usage_source is not None
    assert told.usage_source.startswith("proxy.jsonl: 1 exchange;")
    assert told.answers == 1
    assert told.hardware == "cpu"
    assert told.sandbox is not None
    assert told.exit_code == 0
    assert (ended.folder / "solution.py").read_text() == "def solve(a, b):\n    return a + b\n"
    assert {path.name for path in ended.folder.iterdir()} == {
        "run.json", "order.json", "session.json", "sandbox.json", "proxy.jsonl", "prompt.txt",
        "transcript", "snapshots", "solution.py", "manifest.json",
    }  # fmt: skip
    assert json.loads((ended.folder / "order.json").read_text())["cell"] == "cell-1"
    assert (ended.folder / "transcript/home/seed.jsonl").read_text() == '{"seeded": true}\n'
    assert json.loads((ended.folder / "sandbox.json").read_text())["claims"]
    assert len(list(read_exchanges(ended.folder / "proxy.jsonl"))) == 1
    assert left_of(os.getpid()) == []


def test_the_agent_gets_what_is_listed_and_cannot_change_what_is_given(trial: Trial) -> None:
    ended = trial.fake("""
print(json.dumps({"environment": sorted(os.environ), "prompt": sys.stdin.read()[:40]}))
for name in ("reference.py", "problem.json", "check.py", "kb-time"):
    for change in (lambda: write("mine", name), lambda: os.remove(name),
                   lambda: os.rename(name, name + "2"), lambda: os.chmod(name, 0o777)):
        try:
            change()
            print(name, "was changed")
        except OSError:
            pass
print(subprocess.run(["./kb-time"], capture_output=True, text=True))
ask()
print(subprocess.run(["./kb-time"], capture_output=True, text=True))
subprocess.run([sys.executable, "check.py"])
done()
""")
    said = (ended.folder / "transcript/stdout.jsonl").read_text()
    first = json.loads(said.splitlines()[0])
    assert set(run_of(ended.folder).environment or ()) == set(first["environment"])
    assert first["prompt"].startswith("Write solution.py with solve(a, b)")
    assert "was changed" not in said
    assert "2 min 0 s left of 2 min 0 s" in said, "before the first request the time stands"
    assert re.search(r"stdout='1 min \d+ s left of 2 min 0 s", said), "then it runs"
    assert json.loads((ended.folder / "session.json").read_text())["checks"] == 1
    assert run_of(ended.folder).notes == ()


def test_the_deadline_cuts_and_what_counted_then_counts(trial: Trial) -> None:
    ended = trial.fake("""
def late(*_):
    write("# late")
signal.signal(signal.SIGTERM, late)
subprocess.Popen(["sleep", "1000"], start_new_session=True)
write("# in time")
ask()
while True:
    time.sleep(0.05)
""", budget=2.0)  # fmt: skip
    assert (ended.reason, ended.retryable) == ("budget", False)
    told = run_of(ended.folder)
    assert told.cut
    assert told.signal == "SIGKILL"
    assert (ended.folder / "solution.py").read_text() == "# in time"
    assert any("was changed while the session was ended" in note for note in told.notes)
    assert left_of(os.getpid()) == []
    assert wrong_with(ended.folder) == []


def test_what_lies_beside_the_solution_counts_as_it_was_at_the_deadline(trial: Trial) -> None:
    ended = trial.fake("""
def late(*_):
    write("# late", "kernel.py")
    write("# new", "other.py")
    os.remove("gone.py")
signal.signal(signal.SIGTERM, late)
write("import kernel, gone")
for name in ("kernel.py", "gone.py"):
    write("# in time", name)
ask()
while True:
    time.sleep(0.05)
""", budget=2.0)  # fmt: skip
    assert ended.reason == "budget"
    files = {path.name: path.read_text() for path in (ended.folder / "files").iterdir()}
    assert files == {"kernel.py": "# in time", "gone.py": "# in time"}
    notes = run_of(ended.folder).notes
    for name in ("kernel.py", "other.py", "gone.py"):
        said = f"{name} was changed while the session was ended; what it was before counts."
        assert said in notes
    assert wrong_with(ended.folder) == []


def test_what_is_written_after_the_deadline_alone_is_no_solution(trial: Trial) -> None:
    ended = trial.fake("""
def late(*_):
    write("# late")
    done()
signal.signal(signal.SIGTERM, late)
ask()
while True:
    time.sleep(0.05)
""", budget=1.0)  # fmt: skip
    assert ended.reason == "budget"
    assert not (ended.folder / "solution.py").exists()
    assert not (ended.folder / "snapshots").exists()


def test_the_agent_is_told_when_time_is_short(trial: Trial) -> None:
    limits = replace(SMALL, warn_share=0.03)  # which leaves it a minute to hear of it
    ended = trial.fake("""
ask()
while not os.path.exists("TIME_IS_SHORT.txt"):
    time.sleep(0.05)
print(open("TIME_IS_SHORT.txt").read())
done()
""", budget=60.0, limits=limits)  # fmt: skip
    assert ended.reason == "finished"
    said = (ended.folder / "transcript/stdout.jsonl").read_text()
    assert "left when this was written" in said
    assert not (ended.folder / "files").exists(), "the runner's note is no sidecar"


@pytest.mark.parametrize(
    ("program", "script", "limits", "reason", "retryable"),
    [
        ("ask()\ntime.sleep(999)", "hi", {"stall_seconds": 5.0}, "stalled", True),
        (WRITES + "ask()\ntime.sleep(999)", "hi", {"stall_seconds": 5.0}, "stalled", False),
        (WRITES + "ask()\ntime.sleep(2)\nos.unlink('solution.py')\ntime.sleep(999)", "hi",
         {"stall_seconds": 5.0}, "stalled", False),
        ("time.sleep(999)", "hi", {"first_request_seconds": 1.0}, "harness_error", True),
        ("while True:\n    ask()", "e500", {"failures": 3, "failing_seconds": 0.5},
         "provider_error", True),
        ("sys.exit(0)", "hi", {}, "harness_error", True),
        ("ask()\nsys.exit(0)", "hi", {}, "harness_error", False),
        ("ask()\ndone()\nsys.exit(3)", "hi", {}, "finished", False),
        ("ask()\ndone()", "e401", {}, "provider_error", True),
        ("ask()\ndone()", "maxtok", {}, "truncated", False),
        ("held = bytearray(2 << 30)\nheld[::4096] = b'x' * len(held[::4096])", "hi",
         {"memory_bytes": 128 << 20}, "harness_error", True),
    ],
    ids=["stall", "stall with a solution", "stall with one taken back", "no request", "failures",
         "no question", "no completion", "exit 3", "401", "cut", "memory"],
)  # fmt: skip
def test_why_a_session_ended(
    trial: Trial, program: str, script: str, limits: dict[str, float], reason: str, retryable: bool
) -> None:
    ended = trial.fake(program, script, limits=replace(SMALL, **limits))  # type: ignore[arg-type]
    assert (ended.reason, ended.retryable) == (reason, retryable), ended.detail
    assert run_of(ended.folder).end_detail == ended.detail
    assert left_of(os.getpid()) == []


@pytest.mark.parametrize("held", [best(), NONE], ids=["sandbox", "none"])
def test_work_in_the_background_is_no_stall(trial: Trial, held: Sandbox) -> None:
    # Twice a fork, as a shell does that ends: the job has no parent in the session any more.
    trial.sandbox = held
    ended = trial.fake(WRITES + """
ask()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for stream in (0, 1, 2):
            os.close(stream)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            pass
    os._exit(0)
os.wait()
time.sleep(8)
done()
""", limits=replace(SMALL, stall_seconds=3.0))  # fmt: skip
    assert ended.reason == "finished", ended.detail


BAD = """
def bad(count=1):
    body = {"model": os.environ["MODEL"], "max_tokens": 9, "tools": [{"name": "Bash",
            "input_schema": {"properties": {"command": {}}}}],
            "messages": [{"role": "user", "content": "[[script:e400]] x"}]}
    for _ in range(count):
        asked = urllib.request.Request(BASE + "/v1/messages", json.dumps(body).encode(),
                                       {"content-type": "application/json"})
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked)
        except urllib.error.HTTPError as error:
            assert error.code == 400
"""


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("ask()\ndone()\nbad(3)", "finished"),
        ("ask()\nbad(1100)\nsys.exit(1)", "harness_error"),
        ("ask()\nwhile True:\n    bad()\n    time.sleep(0.05)", "harness_error"),
    ],
    ids=["after the end", "until all else is forgotten", "for long"],
)
def test_bad_requests_of_an_agent_do_not_undo_its_session(
    trial: Trial, program: str, reason: str
) -> None:
    limits = replace(SMALL, failures=5, failing_seconds=0.5)
    ended = trial.fake(BAD + WRITES + program, limits=limits)
    assert (ended.reason, ended.retryable) == (reason, False), ended.detail
    assert run_of(ended.folder).broken_off(solution=True) is None, "boards count it"


def test_a_file_that_a_provider_does_not_have_does_not_undo_a_session(tmp_path: Path) -> None:
    """A provider says 404 of it, as of a model."""
    fault = Fault(status=404, message="File not found: file_011")
    none = Script(name="nofile", about="No such file.", turns=(Turn(text="Never.", fault=fault),))
    program = BAD.replace("e400", "nofile").replace("error.code == 400", "error.code == 404")
    (runs := tmp_path / tmp_path.name).mkdir()
    with serve((*load_scripts(), none)) as server:
        ended = Trial(server, runs).fake(
            program + WRITES + "ask()\nwhile True:\n    bad()\n    time.sleep(0.05)",
            limits=replace(SMALL, failures=5, failing_seconds=0.5),
        )
    assert (ended.reason, ended.retryable) == ("harness_error", False), ended.detail
    assert "File not found" in ended.detail


def test_a_session_whose_key_is_refused_ends_soon(trial: Trial) -> None:
    limits = replace(SMALL, failures=10**9, failing_seconds=0.5)
    ended = trial.fake("while True:\n    ask()", "e401", budget=5, limits=limits)
    assert ended.reason == "provider_error"
    assert "in a row failed at the provider. The last one: status 401" in ended.detail


def test_the_operator_ends_a_session_and_the_run_is_whole(trial: Trial) -> None:
    def ended_when_asked() -> None:
        trial.server.wait_until(
            lambda requests: any(one.run == trial.runs.name for one in requests), LONG_S
        )
        trial.stop.set()

    threading.Thread(target=ended_when_asked).start()
    ended = trial.fake(WRITES + "ask()\ntime.sleep(999)")
    assert (ended.reason, ended.retryable) == ("signal", False)
    assert (ended.folder / "solution.py").exists()
    assert wrong_with(ended.folder) == []


def test_versions_of_the_solution_are_kept_and_logs_grow_on_the_way(trial: Trial) -> None:
    ended = trial.fake("""
ask()
os.makedirs(os.path.expanduser("~/logs/deep"), exist_ok=True)
for number in range(3):
    write(f"# version {number}")
    with open(os.path.expanduser("~/logs/deep/a.jsonl"), "a") as stream:
        stream.write('{"line": %d}\\n' % number)
    time.sleep(1)
done()
""")
    stored = read_run(ended.folder)
    copies, left_out = recorded(stored)
    # On a busy machine a look may come too late for one of them.
    versions = [one.content for one in copies]
    assert set(versions) <= {"# version 0", "# version 1", "# version 2"}
    assert len(versions) >= 2
    assert versions == sorted(versions)
    assert versions[-1] == "# version 2"
    assert all(one.at for one in copies)
    assert left_out == []
    log = (ended.folder / "transcript/home/deep/a.jsonl").read_text()
    assert log == '{"line": 0}\n{"line": 1}\n{"line": 2}\n'
    assert max(one.snapshots for one in trial.seen) >= 1, "somebody who looks on sees them come"


def test_what_lies_beside_the_solution_is_kept_and_odd_things_are_noted(trial: Trial) -> None:
    ended = trial.fake("""
ask()
os.makedirs("kernels/__pycache__")
write("kernel", "kernels/a.cu")
write("cache", "kernels/__pycache__/a.pyc")
write("hidden", ".hidden")
os.symlink("/etc/passwd", "solution.py")
os.mkfifo("pipe")
with open("huge.bin", "wb") as stream:
    stream.truncate(40 << 20)
done()
""")
    assert ended.reason == "finished"
    folder = ended.folder
    files = [str(path.relative_to(folder)) for path in (folder / "files").rglob("*")
             if path.is_file()]  # fmt: skip
    assert files == ["files/kernels/a.cu"]
    assert not (folder / "solution.py").exists(), "a link is no solution"
    notes = "\n".join(run_of(folder).notes)
    assert "huge.bin (41943040 bytes) was left in the workspace" in notes
    assert "solution.py" in notes
    assert "a link" in notes
    assert "a pipe" in notes
    assert wrong_with(folder) == []


def test_a_run_tells_what_has_to_be_known_of_its_provider_and_nothing_of_folders_here(
    trial: Trial,
) -> None:
    known = scripted_provider(trial.server.url, trial.runs.name, "hi")
    provider = replace(known, note="No model answers.")
    program = replace(FAKE, facts={"folder": "/opt/of/this/machine", "python": "3.13.0"})
    job = trial.job(FakeAdapter("ask()\ndone()\n"), program, "hi", provider=provider)
    folder = run(job, trial.seen.append, trial.stop).folder
    assert run_of(folder).notes == ("No model answers.",)
    assert json.loads((folder / "session.json").read_text())["program"] == {"python": "3.13.0"}


def test_no_key_is_in_any_file(trial: Trial) -> None:
    provider = replace(
        scripted_provider(trial.server.url, trial.runs.name, "e401"), key_variable="KB_TEST_KEY"
    )
    program = "ask()\nprint(os.environ)\nprint(open('/proc/self/environ').read())\ndone()\n"
    job = trial.job(FakeAdapter(program), FAKE, "e401", provider=provider, key=KEY)
    ended = run(job, trial.seen.append, trial.stop)
    assert KEY not in repr(job)
    assert planted(trial.runs, KEY) == []
    (ended.folder / "planted.txt").write_text(KEY)
    assert planted(trial.runs, KEY), "it would be found"


def test_what_only_a_program_can_read_is_extracted_in_a_box_of_its_own(trial: Trial) -> None:
    extract = Extract(
        script=b"import sys, pathlib\n"
        b"for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.db')):\n"
        b"    print(path.name, path.read_text().upper())\n",
        glob="store/*.db",
        to="sessions.jsonl",
    )
    program = """
os.makedirs(os.path.expanduser("~/store"))
write("abc", os.path.expanduser("~/store/a.db"))
ask()
done()
"""
    ended = trial.fake(program, extract=extract)
    assert (ended.folder / "transcript/sessions.jsonl").read_text() == "a.db ABC\n"
    broken = replace(extract, script=b"raise SystemExit('no such table')")
    ended = trial.fake(program, extract=broken)
    assert any("could not be made whole" in note for note in run_of(ended.folder).notes)
    assert "no such table" in (ended.folder / "transcript/sessions.jsonl.log").read_text()


def test_it_works_on_a_desk_without_a_sandbox_and_notes_what_was_changed(trial: Trial) -> None:
    trial.sandbox = NONE
    ended = trial.fake("""
os.chmod("reference.py", 0o666)
write("tampered", "reference.py")
print(subprocess.run(["./kb-time"], capture_output=True, text=True))
ask()
done()
""")
    assert ended.reason == "finished", ended.detail
    told = run_of(ended.folder)
    assert told.sandbox == "none (L0)"
    assert any("reference.py, which was given, was changed" in note for note in told.notes)
    assert "left of 2 min 0 s" in (ended.folder / "transcript/stdout.jsonl").read_text()


def test_two_runs_of_the_same_second_have_folders_of_their_own(trial: Trial) -> None:
    folders = {trial.fake("ask()\ndone()").folder for _ in range(2)}
    assert len(folders) == 2


def test_what_cannot_start_leaves_nothing(trial: Trial) -> None:
    adapter = FakeAdapter("done()")
    for order, error in (
        ({"problem": "nothing"}, "no such problem"),
        ({"hardware": "abacus"}, "'abacus' is no hardware that is known"),
        ({"hardware": "h100-sxm"}, "say which one by its UUID"),
    ):
        with pytest.raises(UsageError, match=error):
            run(trial.job(adapter, FAKE, "hi", order=order), trial.seen.append, trial.stop)
    broken = replace(FAKE, bound={Path("/opt/clis/none"): trial.runs / "missing"})  # type: ignore[dict-item]
    with pytest.raises((UsageError, MachineError)):
        run(trial.job(adapter, broken, "hi"), trial.seen.append, trial.stop)
    assert [path for path in trial.runs.rglob("*") if path.is_file()] == []


def test_a_provider_that_speaks_no_dialect_of_the_cli_is_refused(trial: Trial) -> None:
    whole = scripted_provider(trial.server.url, "r", "hi")
    silent = replace(whole, bases={})
    with pytest.raises(UsageError, match=r"speaks none of the dialects of claude \(anthropic\)"):
        run(trial.job(FakeAdapter(""), FAKE, "hi", provider=silent), trial.seen.append, trial.stop)


def test_limits_are_those_that_the_record_tells(trial: Trial) -> None:
    ended = trial.fake("ask()\ndone()")
    told = json.loads((ended.folder / "session.json").read_text())
    assert SessionLimits(**told["limits"]) == SMALL
    assert told["program"] == {"made": "for a test"}
