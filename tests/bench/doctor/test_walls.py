"""What the doctor says of sandboxes and control groups: by trying them, never by their name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.doctor import walls
from bench.doctor.form import Here, Seen, State
from bench.doctor.walls import Groups, Walls, agents_box
from bench.harnesses.form import HOME, WORKSPACE
from bench.sandbox import best
from bench.sandbox.box import Box, Claim, Proven, Sandbox, Sandboxed
from bench.sandbox.places import our_code, own_packages
from kbsite.errors import MachineError

HERE = Here(runs=Path("/nowhere"), environment={})


@dataclass(frozen=True)
class Named:
    """A sandbox that can be asked for its name, and whether it can be used."""

    name: str
    reason: str | None = None
    gives_terminals: bool = False

    def available(self) -> str | None:
        return self.reason

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        raise MachineError(f"{self.name} starts nothing: {command}, {box}")


def proven(level: str, *broken: str) -> Proven:
    claims = (
        Claim(name="root", held=True, how="tried", seen="nothing"),
        *(Claim(name=one, held=False, how="tried", seen="a hole") for one in broken),
    )
    return Proven(sandbox="one", level=level, claims=claims, facts={})


def tried(monkeypatch: pytest.MonkeyPatch, said: Proven) -> list[Seen]:
    monkeypatch.setattr(walls, "self_test", lambda *_, **__: said)
    return list(Walls(sandboxes=(Named("one"),)).look(HERE))


def test_a_grader_s_and_an_agent_s_box_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Sandbox, Box | None]] = []

    def test(sandbox: Sandbox, *, like: Box | None) -> Proven:
        asked.append((sandbox, like))
        return proven("L3")

    monkeypatch.setattr(walls, "self_test", test)
    seen = list(Walls(sandboxes=(Named("one"), Named("two"))).look(HERE))
    assert [one.name for one in seen] == [
        "one, a grader's box", "one, an agent's box", "two, a grader's box", "two, an agent's box",
    ]  # fmt: skip
    assert {one.state for one in seen} == {State.YES}
    assert {one.seen for one in seen} == {"level L3"}
    assert [box is not None and bool(box.writable) for _, box in asked] == [False, True] * 2


@pytest.mark.parametrize(
    ("level", "broken", "state", "cure"),
    [
        ("L2", ("limits kept by the kernel",), State.PARTLY, "have control groups"),
        ("L2", ("user", "limits kept by the kernel"), State.PARTLY, "start it as root"),
        ("L0", ("network",), State.NO, "nothing from here should be published"),
    ],
)
def test_what_did_not_hold_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, level: str, broken: tuple[str, ...], state: State, cure: str
) -> None:
    for one in tried(monkeypatch, proven(level, *broken)):
        assert one.state is state
        assert one.seen.startswith(f"level {level}; did not hold: ")
        assert all(f"{name} (a hole)" in one.seen for name in broken)
        assert cure in one.cure
        assert not one.forbids


def test_a_sandbox_that_cannot_be_entered_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    seen = list(Walls(sandboxes=(Named("one"),)).look(HERE))
    assert [one.state for one in seen] == [State.NO, State.NO]
    assert all("one starts nothing" in one.seen for one in seen)


def test_where_none_can_be_used_no_run_can_be_made() -> None:
    seen = list(Walls(sandboxes=(Named("one", "it is not installed"),)).look(HERE))
    assert [(one.name, one.forbids) for one in seen] == [("one", False), ("sandboxes", True)]
    assert seen[0].seen == "it is not installed"


def test_the_best_sandbox_of_this_machine_holds_an_agent_s_box(tmp_path: Path) -> None:
    *_, agents = Walls(sandboxes=(best(),)).look(HERE)
    assert agents.name.endswith("an agent's box")
    assert agents.state in (State.YES, State.PARTLY), agents.seen
    box = agents_box(tmp_path)
    assert (box.folder, box.home) == (Path(WORKSPACE), Path(HOME))
    assert set(box.writable) == {box.folder, box.home}


def test_control_groups() -> None:
    def seen(*names: str) -> Seen:
        (one,) = Groups(places=dict.fromkeys(names, Path("/groups"))).look(HERE)
        return one

    whole = seen("memory", "pids", "devices", "freezer")
    assert (whole.state, whole.cure) == (State.YES, "")
    assert whole.seen == "devices, freezer, memory, pids can be limited below /groups"
    some = seen("pids")
    assert some.state is State.PARTLY
    assert "not: memory, devices" in some.seen
    none = seen()
    assert (none.state, none.seen) == (State.NO, "none")
    assert "as root" in none.cure


def test_control_groups_of_this_machine() -> None:
    (one,) = Groups().look(HERE)
    assert bool(one.cure) == (one.state is not State.YES)


def test_an_agent_s_box_is_tried_as_sessions_have_it_where_a_wheel_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(our_code()[0].parents[1]))
    assert agents_box(tmp_path).hidden == own_packages() == our_code()
