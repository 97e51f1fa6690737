"""`bench doctor`: a table, JSON, and an exit code; from both command lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench import doctor
from bench.__main__ import main
from bench.cli import bench
from bench.doctor import LOOKS, Here, Look, Seen, State, examine, reasons
from bench.doctor.walls import Walls
from kbsite.errors import MachineError


@dataclass(frozen=True)
class Said:
    """A look that says what it is told to."""

    seen: tuple[Seen, ...] = ()
    error: Exception | None = None
    name: str = "something"

    def look(self, here: Here) -> Iterator[Seen]:
        assert here.runs.is_absolute()
        yield from self.seen
        if self.error is not None:
            raise self.error


FINE = Seen(name="one", state=State.YES, seen="it is there", needed=True)
LITTLE = Seen(name="two", state=State.NO, seen="it is not there", cure="install it")
FATAL = Seen(name="three", state=State.NO, seen="nothing holds", cure="mend it", needed=True)


def looks(monkeypatch: pytest.MonkeyPatch, *given: Look) -> None:
    """What the command looks at."""
    whole = doctor.examine
    monkeypatch.setattr(doctor, "examine", lambda here, told: whole(here, told, given))


def run(*words: str) -> Result:
    return CliRunner().invoke(bench, ["doctor", *words])


def test_where_all_that_is_needed_is_there_runs_can_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks(monkeypatch, Said((FINE,)), Said((LITTLE,)))
    done = run()
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["what", "there", "seen", "what", "to", "do"]
    assert lines[2] == ["two", "no", "it", "is", "not", "there", "install", "it"]
    assert "runs can be made here" in done.stderr
    assert "looking at something" in done.stderr


def test_where_not_it_says_why_and_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, Said((FINE, FATAL)), Said((LITTLE,)))
    done = run()
    assert done.exit_code == 3
    assert "no run can be made here: three: nothing holds. Mend it." in done.stderr
    assert "two" not in done.stderr


def test_as_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks(monkeypatch, Said((FINE, FATAL)))
    done = run("--json", "--runs", str(tmp_path))
    said = json.loads(done.stdout)
    assert done.exit_code == 3
    assert said["can_run"] is False
    assert said["reasons"] == ["three: nothing holds. Mend it."]
    assert said["seen"][0] == {
        "name": "one", "state": "yes", "seen": "it is there", "cure": None, "needed": True,
    }  # fmt: skip


def test_from_a_bare_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks(monkeypatch, Said((FINE, LITTLE)))
    assert main(["doctor"]) == 0
    assert "it is not there" in capsys.readouterr().out


@pytest.mark.parametrize(
    "error", [MachineError("broken"), OSError("broken"), ImportError("broken")]
)
def test_a_look_that_fails_hides_no_other(error: Exception) -> None:
    told: list[tuple[str, float | None]] = []
    given = (Said((FINE,), error), Said((LITTLE,), name="other"))
    seen = list(examine(Here(runs=Path("/runs")), lambda *one: told.append(one), given))
    assert [one.name for one in seen] == ["one", "something", "two"]
    assert seen[1].state is State.NO
    assert "could not be looked at: broken" in seen[1].seen
    assert told == [("looking at something", 0.0), ("looking at other", 0.5)]


def test_only_what_is_needed_is_a_reason() -> None:
    assert reasons([FINE, LITTLE]) == []
    assert reasons([FINE, FATAL]) == ["three: nothing holds. Mend it."]
    run = replace(FATAL, cure="kbsite bench install")
    assert reasons([run]) == ["three: nothing holds. Run `kbsite bench install`."]


def test_this_host_is_looked_at_without_loading_torch(tmp_path: Path) -> None:
    """All but the sandboxes, which have a test of their own."""
    given = [one for one in LOOKS if not isinstance(one, Walls)]
    assert len(given) == len(LOOKS) - 1
    seen = list(examine(Here(runs=tmp_path, clis=tmp_path), lambda *_: None, given))
    names = [one.name for one in seen]
    assert len(names) == len(set(names)), "each row is told from the others"
    assert {"system", "memory", "disk for runs", "python", "torch", "g++", "ray"} <= set(names)
    assert not any("could not be looked at" in one.seen for one in seen)
    assert [one.name for one in seen if one.forbids] == ["CLIs"]
    assert all(one.cure or one.state is State.YES for one in seen), "no trouble without a cure"


def test_a_bare_checkout_without_a_package_is_told_what_it_lacks() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-S", "-m", "bench", "doctor", "--json"], cwd=root, capture_output=True,
        text=True, check=False, timeout=240, env={**os.environ, "PYTHONPATH": "src:."},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    seen = {one["name"]: one["seen"] for one in json.loads(done.stdout)["seen"]}
    assert "not installed: aiohttp, msgspec, pyyaml" in seen["python"]
    assert any(name.endswith("an agent's box") for name in seen), "sandboxes are tried all the same"
