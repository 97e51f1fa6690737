"""What a machine is: its anchors, its hardware, its terminal, and what is installed on it."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench import calibration, jobs
from bench.anchors import Anchors, read_anchors, write_anchors
from bench.calibration import anchors_here, kept_place
from bench.cli import Terminal
from bench.commands import COMMANDS, Command, command
from bench.devices.cpu import Cpu
from bench.grading.setting import Step
from bench.lines import EVERY_SECONDS, Lines
from bench.progress import Track, words
from kbsite.cli import BESIDE, kbsite
from kbsite.errors import InputError, MachineError, UsageError
from tests.bench.commands.shells import ANCHORS, Graded, Shell


def test_calibrating_writes_what_it_measured(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        calibration, "calibrate", lambda _device, told: told("copy", 1, 4) or ANCHORS
    )
    code, out, err = shell("calibrate", "--device", "cpu", "--out", "here/anchors.json")

    assert code == 0
    assert read_anchors(Path("here/anchors.json")) == ANCHORS
    assert "triad" in out
    assert "12 GB/s" in out
    assert "written into here/anchors.json" in err


@pytest.fixture(name="measured")
def _measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the devices that are measured from now on, which takes no time."""
    measured: list[str] = []

    def measuring(device: Any, told: Any) -> Anchors:
        assert told
        measured.append(device.name)
        return ANCHORS

    monkeypatch.setattr(calibration, "calibrate", measuring)
    return measured


@pytest.mark.parametrize("place", [".", "/dev/nowhere-at-all"])
def test_where_no_file_can_be_nothing_is_measured(
    shell: Shell, measured: list[str], place: str
) -> None:
    code, _, err = shell("calibrate", "--device", "cpu", "--out", place)

    assert (code, measured) == (2, [])
    assert "name one, as anchors.json" in err


def test_anchors_are_measured_once(home: Path, measured: list[str]) -> None:
    kept_place("cpu").unlink()
    assert anchors_here(Cpu()) == anchors_here(Cpu()) == ANCHORS
    assert measured == ["cpu"]
    old = replace(ANCHORS, made=datetime.now(UTC) - timedelta(days=400))
    other = replace(ANCHORS, host={**ANCHORS.host, "cpu": "another one"})
    for stale in (old, other):
        write_anchors(kept_place("cpu"), stale)
        assert anchors_here(Cpu()) == ANCHORS
    assert len(measured) == 3
    write_anchors(home / "other.json", other)
    with pytest.raises(InputError, match=r"of another machine \(cpu: another one, here"):
        anchors_here(Cpu(), home / "other.json")
    with pytest.raises(InputError, match=r"no such file; .*bench calibrate --out"):
        anchors_here(Cpu(), home / "none.json")
    assert anchors_here(Cpu(), kept_place("cpu")) == ANCHORS


def test_a_grading_that_has_to_calibrate_first_says_so(
    shell: Shell, grader: Graded, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_place("cpu").unlink()
    monkeypatch.setattr(
        calibration, "calibrate", lambda _device, told: told("triad", 1, 8) or ANCHORS
    )
    code, _, err = shell("grade", "mine.py", "--problem", "toy", "--device", "cpu")

    assert (code, len(grader.asked)) == (0, 1)
    assert "calibrating, triad: 1 of 8" in err
    assert kept_place("cpu").is_file()


class Gpu(Cpu):
    name = "cuda"

    def __init__(self, called: str) -> None:
        super().__init__()
        self._called = called

    def facts(self) -> dict[str, str]:
        return {"gpu": self._called, "driver": "580"}


def test_hardware_is_found_by_what_its_driver_calls_it() -> None:
    assert jobs.hardware_of("", Gpu("NVIDIA H200"))[0] == "h200-sxm"
    assert jobs.hardware_of("h200-sxm", Gpu("NVIDIA H200"))[0] == "h200-sxm"
    assert jobs.hardware_of("a100-sxm-40gb", Gpu("A toaster"))[0] == "a100-sxm-40gb"
    own = "b200-sxm-192gb-1000w"
    assert jobs.hardware_of(own, Gpu("NVIDIA B200"))[0] == own, "its driver calls both so"
    with pytest.raises(MachineError, match="this device is h200-sxm, not a100-sxm-40gb"):
        jobs.hardware_of("a100-sxm-40gb", Gpu("NVIDIA H200"))
    with pytest.raises(MachineError, match=r"called what this device is \(gpu A toaster"):
        jobs.hardware_of("", Gpu("A toaster"))
    with pytest.raises(UsageError, match="there is no such hardware; known are: a100"):
        jobs.hardware_of("toaster", Gpu("NVIDIA H200"))


def test_progress_grows_and_ends_at_the_whole() -> None:
    track, shares = Track(), []
    for number in (1, 2, 3):
        shares.append(track.share(Step(stage="importing", round=number, rounds=3)))
        for shape in ("a", "b"):
            for done in (5, 10):
                step = Step(stage="calling", round=number, rounds=3, shape=shape, done=done, of=10)
                shares.append(track.share(step))
    known = [share for share in shares if share is not None]

    assert shares[:5] == [None] * 5, "one round shows how long it is"
    assert known == sorted(known)
    assert known[0] == pytest.approx(1 / 3)
    assert known[-1] == 1.0
    assert words(Step(stage="testing the sandbox", round=0, rounds=3)) == "testing the sandbox"


def test_rounds_that_are_made_again_are_no_more_than_there_are() -> None:
    step = Step(stage="calling", round=5, rounds=3, shape="square", done=50, of=100)
    assert words(step) == "again, round 2 of 3: calling, square"
    assert words(Step(stage="starting", round=3, rounds=3)) == "round 3 of 3: starting"
    track = Track()
    assert track.share(Step(stage="calling", round=2, rounds=3, shape="square")) == 1 / 3
    assert track.share(step) == 1 / 3 + 0.5 / 3


def test_lines_tell_what_changes_and_a_sign_of_life() -> None:
    clock, stream = [0.0], StringIO()
    lines = Lines("grading", stream, lambda: clock[0])
    for second, what in enumerate(["a", "a", "a", "b"]):
        clock[0] = second * 0.6 * EVERY_SECONDS
        lines(what, 0.25)
    assert stream.getvalue().splitlines() == ["grading", "a", "a: 25% of all", "b"]


def test_a_bar_is_shown_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with Terminal().progress("grading") as told:
        told("round 1 of 2", None)
        told("round 2 of 2", 0.5)
    assert "grading" in shown.getvalue()


def test_kbsite_finds_bench_by_its_entry_point() -> None:
    done = CliRunner().invoke(kbsite, ["bench", "--help"])

    assert done.exit_code == 0
    assert all(command.name in done.output for command in COMMANDS)
    assert "bench" in BESIDE
    assert BESIDE["bench"] in CliRunner().invoke(kbsite, ["--help"]).output


def test_without_the_extra_kbsite_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (home / "mine.py").is_file()
    monkeypatch.setattr(command, "NEEDED", ("torch_of_nowhere", "numpy"))
    done = CliRunner().invoke(kbsite, ["bench", "grade", "mine.py", "--problem", "toy"])
    assert isinstance(done.exception, MachineError)
    assert str(done.exception) == (
        "torch_of_nowhere cannot be imported; install them with: pip install 'kbsite[bench]'"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("preflight",),
        ("run", "claude", "m", "toy"),
        ("install", "claude", "--check", "session"),
        ("sweep", "run", "s.yaml"),
        ("sweep", "plan", "s.yaml"),
    ],
)
def test_without_what_sessions_need_it_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    contender = "{harness: claude, model: m, provider: anthropic}"
    sheet = f"board: b\nhardware: cpu\nproblems: [toy]\ncontenders: [{contender}]\n"
    (home / "s.yaml").write_text(sheet)
    monkeypatch.setattr(command, "OF_SESSIONS", ("aiohttp_of_nowhere",))
    done = CliRunner().invoke(kbsite, ["bench", *words])
    said = done.stderr if words[:2] == ("sweep", "plan") else str(done.exception)

    assert "aiohttp_of_nowhere cannot be imported" in said
    assert "pip install 'kbsite[bench]'" in said


def test_anchors_of_a_user_without_a_home_are_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(MachineError, match="set HOME or XDG_CACHE_HOME"):
        kept_place("cpu")


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_command_that_nobody_brings_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(kbsite, ["toast"]).exit_code == 2
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    done = CliRunner().invoke(kbsite, ["bench"])
    assert "install it with: pip install 'kbsite[bench]'" in str(done.exception)

    class Broken:
        def load(self) -> Command:
            raise ImportError("No module named 'bench'")

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [Broken()])
    done = CliRunner().invoke(kbsite, ["bench"])
    assert "`kbsite bench` cannot be used here: No module named 'bench'" in str(done.exception)


def test_a_solution_may_not_take_all_memory() -> None:
    told = Path("/proc/meminfo").read_text().split()
    total = int(told[told.index("MemTotal:") + 1]) * 1024

    assert 0.7 * total < jobs.most_memory() < 0.8 * total
