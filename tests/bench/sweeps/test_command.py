"""`bench sweep` on both command lines, and two terminals at one sweep."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import preflight
from bench.harnesses.form import Asked, Launch
from bench.preflight import Tools as Held
from bench.providers import Dialect
from bench.sandbox import NONE
from bench.sweeps import conduct, driver
from bench.sweeps.conduct import Interrupts, drive, opened
from bench.sweeps.driver import Wish
from bench.sweeps.ledger import Ledger
from bench.sweeps.shown import driver_of
from bench.sweeps.states import Outcome, State
from bench.sweeps.tries import at_work, end
from bench.sweeps.works import Tools, Work
from kbsite.errors import MachineError, UsageError
from tests.bench.commands.shells import Shell, shell_of
from tests.bench.running.sessions import FAKE, FakeAdapter
from tests.bench.sweeps.drive import PROVIDERS, TOOLS
from tests.bench.sweeps.stand_in import JOURNAL
from tests.bench.sweeps.sweeps import contender, works, write_sheet

DRIVE = Path(__file__).with_name("drive.py")


class Codex(FakeAdapter):
    """A CLI that takes any model but one."""

    def launch(self, asked: Asked) -> Launch:
        if asked.model == "unheard-of":
            raise UsageError("codex: model 'unheard-of' is none; take another one")
        return super().launch(asked)


def host(*, installed: bool = True) -> Held:
    """What there is on a host with one CLI."""
    return Held(
        adapters={"codex": Codex("", id="codex", dialects=(Dialect.RESPONSES,))},
        programs={"codex": FAKE} if installed else {}, wrong=lambda _: "", providers=PROVIDERS,
        sandbox=NONE, clis=Path("/clis"), environment={},
    )  # fmt: skip


@pytest.fixture(name="shell", params=["click", "argparse"])
def _shell(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:  # fmt: skip
    """Runs `bench sweep` in a folder with a sweep, with stand-ins for what it starts."""
    works(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "tools_here", lambda *_: host())
    monkeypatch.setattr(conduct, "load_providers", lambda _: PROVIDERS)
    monkeypatch.setattr(conduct, "Tools", lambda: TOOLS)
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.02)

    return shell_of(request.param, capsys)


def test_a_sweep_is_planned_run_told_and_not_run_twice(shell: Shell) -> None:
    code, out, _ = shell("sweep", "plan", "night.yaml", "--json")
    assert (code, json.loads(out)["missing"]) == (0, 1)

    code, out, err = shell("sweep", "run", "night.yaml", "--json")
    assert code == 0
    assert json.loads(out)["done"] == 1
    assert "cost in all: unknown" in err
    assert "1 of 1 done" in err

    code, out, _ = shell("sweep", "status", "night.yaml")
    assert code == 0
    assert out.splitlines()[-1] == "1 of 1 done; nobody drives it"
    assert out.splitlines()[0].split()[:3] == ["contender", "waiting", "running"]
    (cell,) = json.loads(shell("sweep", "status", "night.yaml", "--json")[1])["cells"]
    assert (cell["state"], cell["attempt"]) == ("done", 1)

    before = Path(JOURNAL).read_text()
    assert shell("sweep", "resume", "night.yaml")[0] == 0
    assert Path(JOURNAL).read_text() == before
    code, out, _ = shell("sweep", "plan", "night.yaml")
    assert out.splitlines()[1].split()[-5:] == ["1", "1", "0", "$0.00", "–"]


def test_cells_that_failed_are_told_and_tried_again_when_wanted(shell: Shell) -> None:
    write_sheet(Path("night.yaml"), contenders=[contender(model="refused")])
    code, _, err = shell("sweep", "run", "night.yaml")
    assert code == 1
    assert "1 failed" in err
    assert "`run --failed` tries them once more" in err
    code, out, _ = shell("sweep", "status", "night.yaml")
    assert code == 0, "as --help says"
    assert "no such CLI is installed" in out
    assert len(Path(JOURNAL).read_text().splitlines()) == 1
    shell("sweep", "run", "night.yaml")
    assert len(Path(JOURNAL).read_text().splitlines()) == 1
    shell("sweep", "run", "night.yaml", "--failed")
    assert len(Path(JOURNAL).read_text().splitlines()) == 2


def test_a_contender_that_cannot_start_is_told_before_anything_is_started(shell: Shell) -> None:
    good, bad = contender(), contender(model="unheard-of")
    write_sheet(Path("night.yaml"), contenders=[good, bad], grade=False)
    code, out, err = shell("sweep", "plan", "night.yaml")
    assert code == 0
    assert [line.split()[-1] for line in out.splitlines()[:3]] == ["lacks", "nothing", "model"]
    assert "codex · unheard-of: model: codex: model 'unheard-of' is none; take another" in err
    told = json.loads(shell("sweep", "plan", "night.yaml", "--json")[1])["contenders"]
    assert [len(one["lacks"]) for one in told] == [0, 1]

    for action in ("run", "resume"):
        code, out, err = shell("sweep", action, "night.yaml", "--json")
        assert (code, out) == (3, "")
        assert "'unheard-of' is none; take another one" in err
        assert "nothing was started: 1 of 2 contenders cannot start" in err
    assert not Path("runs").exists()

    code, out, err = shell("sweep", "run", "night.yaml", "--without-missing", "--json")
    assert code == 1
    counts = json.loads(out)
    assert (counts["done"], counts["waiting"], counts["failed"]) == (1, 1, 0)
    assert "left open: 1 session of codex · unheard-of, which lacks: model" in err


def test_a_contender_with_nothing_left_to_do_needs_nothing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("sweep", "run", "night.yaml")[0] == 0
    monkeypatch.setattr(preflight, "tools_here", lambda *_: host(installed=False))
    assert shell("sweep", "run", "night.yaml")[0] == 0
    code, out, err = shell("sweep", "plan", "night.yaml")
    assert (code, out.splitlines()[1].split()[-1], err) == (0, "–", "")


def test_a_cli_that_is_not_installed_is_told_with_what_installs_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "tools_here", lambda *_: host(installed=False))
    code, _, err = shell("sweep", "run", "night.yaml")
    assert code == 3
    assert "installed: not in /clis; kbsite bench install codex" in err


def test_nodes_of_an_engine_may_have_what_this_host_lacks(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no host can have is a reason still."""
    monkeypatch.setattr(preflight, "tools_here", lambda *_: host(installed=False))
    slurm = {"kind": "slurm", "cluster": "debug"}
    write_sheet(Path("night.yaml"), executor=slurm, contenders=[contender(harness="codox")])
    assert shell("sweep", "run", "night.yaml")[0] == 3
    write_sheet(Path("night.yaml"), executor=slurm, grade=False)
    monkeypatch.setattr(conduct, "drive", lambda *_, **__: dict.fromkeys(State, 0))
    code, _, err = shell("sweep", "run", "night.yaml")
    assert code == 0
    assert "kbsite bench install codex --clis /clis (on this host)" in err
    assert "this host alone was looked at; nodes of slurm may differ" in err


def test_a_host_that_can_hold_no_session_is_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> Held:
        raise MachineError("no sandbox works here")

    monkeypatch.setattr(preflight, "tools_here", nothing)
    code, out, err = shell("sweep", "plan", "night.yaml")
    assert (code, out.splitlines()[1].split()[-1]) == (0, "–")
    assert "this host holds no session: no sandbox works here" in err
    assert shell("sweep", "run", "night.yaml")[0] == 3
    write_sheet(Path("night.yaml"), executor={"kind": "slurm", "cluster": "debug"})
    monkeypatch.setattr(conduct, "drive", lambda *_, **__: dict.fromkeys(State, 0))
    code, _, err = shell("sweep", "run", "night.yaml")
    assert (code, "contenders were not looked at" in err) == (0, True)


def test_what_cannot_work_is_told_with_its_exit_code(shell: Shell) -> None:
    assert shell("sweep", "fly", "night.yaml")[0] == 2
    code, _, err = shell("sweep", "status", "night.yaml")
    assert (code, "was never started" in err) == (2, True)
    write_sheet(Path("night.yaml"), attempts=0)
    code, _, err = shell("sweep", "plan", "night.yaml")
    assert (code, "night.yaml:" in err, "attempts: expected 1 or more" in err) == (1, True, True)


# Two processes at one sweep.


@pytest.fixture(name="long")
def _long(tmp_path: Path) -> Work:
    return works(
        tmp_path, contenders=[contender(model="works:300")], attempts=2, grade=False, max_parallel=1
    )


Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Start]:
    """Starts a driver of its own; at the end it and what it started are ended."""
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        words = [str(tmp_path / name) for name in ("night.yaml", "runs", "problems")]
        with (tmp_path / "driver.log").open("ab") as log:
            processes.append(
                subprocess.Popen(
                    [sys.executable, str(DRIVE), *words], stdout=log, stderr=log,
                    start_new_session=True,
                )
            )  # fmt: skip
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
    for folder in (tmp_path / "runs/night/.sweeps/night/tries").iterdir():
        end(folder, signal.SIGKILL)


def until(true: Callable[[], object]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in a minute")


def running(work: Work) -> list[str]:
    """The tries whose sessions are at work; the ledger need not be there yet."""
    if not work.ledger.is_file():
        return []
    with opened(work) as ledger:
        tries = [one.id for one in ledger.open_tries()]
    started = [work.tries / name / "lock" for name in tries]
    partials = list(work.board.glob("*.partial/order.json"))
    return tries if partials and all(path.exists() for path in started) else []


def outcomes(work: Work) -> list[Outcome | None]:
    with opened(work) as ledger:
        return [one.outcome for one in ledger.tries()]


def test_one_sweep_has_one_driver(long: Work, start: Start) -> None:
    process = start()
    until(lambda: running(long))
    with pytest.raises(UsageError, match=f"driven by process {process.pid}"):
        drive(long, lambda *_: None, lambda _: None)
    with opened(long) as ledger:
        who = driver_of(ledger)
    assert who is not None
    assert who.pid == process.pid


def test_ctrl_c_twice_ends_what_runs_and_loses_nothing(long: Work, start: Start) -> None:
    process = start()
    until(lambda: running(long))
    process.send_signal(signal.SIGINT)
    until(lambda: "nothing more is started" in (long.board.parents[1] / "driver.log").read_text())
    assert process.poll() is None
    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 1
    assert outcomes(long) == [Outcome.STOPPED]
    assert len(list(long.aside.iterdir())) == 1
    assert list(long.board.glob("2*")) == []
    with opened(long) as ledger:
        assert ledger.counts()[State.WAITING] == 2


def test_another_terminal_stops_a_sweep_at_once(long: Work, start: Start) -> None:
    process = start()
    until(lambda: running(long))
    told = "told its driver to {}; 1 under way"
    assert conduct.ask_to_stop(long, at_once=False) == told.format("start nothing more")
    assert conduct.ask_to_stop(long, at_once=True) == told.format("end what runs")
    assert process.wait(60) == 1
    assert outcomes(long) == [Outcome.STOPPED]


def test_what_a_dead_driver_left_goes_on_and_can_be_ended(long: Work, start: Start) -> None:
    process = start()
    until(lambda: running(long))
    process.kill()
    process.wait()
    (left,) = running(long)
    assert "1 under way, which `--now` ends" in conduct.ask_to_stop(long, at_once=False)
    assert conduct.ask_to_stop(long, at_once=True).startswith("nobody drives it; ended 1")
    until(lambda: not at_work(long.tries / left))
    assert conduct.ask_to_stop(long, at_once=False).startswith("nobody drives it; 0 under way")
    assert conduct.ask_to_stop(long, at_once=True).startswith("nobody drives it; ended 0")
    with opened(long) as ledger:
        assert driver_of(ledger) is None


def test_once_and_twice_are_told_apart() -> None:
    said: list[str] = []
    pressed = Interrupts(said.append)
    wishes = [pressed.wish]
    for count in (1, 2, 3):
        pressed(count)
        wishes.append(pressed.wish)

    assert wishes == [Wish.GO, Wish.DRAIN, Wish.END, Wish.END]
    assert len(said) == 2


def test_the_usual_tools_are_ours() -> None:
    usual = Tools()
    assert usual.supervisor[1:3] == ("-m", "bench.running")
    assert usual.grader[1:4] == ("-m", "bench", "grade")
    assert Ledger.__doc__


@pytest.mark.parametrize(
    ("action", "option"),
    [("run", "--now"), ("plan", "--failed"), ("status", "--without-missing"), ("stop", "--failed")],
)
def test_an_option_of_another_action_is_refused(
    shell: Shell, tmp_path: Path, action: str, option: str
) -> None:
    code, out, err = shell("sweep", action, str(write_sheet(tmp_path / "night.yaml")), option)
    assert (code, out) == (2, "")
    assert f"{option} is for `" in err
    assert f"leave it out of `{action}`" in err
