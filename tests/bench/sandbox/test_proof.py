"""What a sandbox claims is what was seen; where a wall is missing, the claim is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.sandbox import NONE, group_places, probe, self_test, strain
from bench.sandbox import plan as plan_module
from bench.sandbox.box import Box, Claim, Proven, Sandbox, Sandboxed
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.places import own_packages
from bench.sandbox.proof import NEEDED, level_of
from kbsite.errors import MachineError
from tests.bench.sandbox.boxes import left_over, processes_of_boxes, sandbox, traces

__all__ = ["sandbox"]


LIMITS = [name for name in sorted(NEEDED["L2"]) if name.startswith(("limit of", "nothing"))]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take for granted that limits hold, where a test is about walls: trying that takes a while."""
    held = [Claim(name=name, held=True, how="not tried", seen="not tried") for name in LIMITS]
    monkeypatch.setattr("bench.sandbox.proof.tried_limits", lambda *_: iter(held))


def missing(proven: Proven) -> set[str]:
    """The claims that did not hold."""
    return {claim.name for claim in proven.claims if not claim.held}


def test_every_claim_holds_and_says_how_it_was_tried(sandbox: Sandbox) -> None:
    before = traces()
    proven = self_test(sandbox)
    by_group = not missing(proven)
    assert missing(proven) <= {"limits kept by the kernel"}
    assert proven.level == ("L3" if by_group else "L2")
    assert proven.sandbox == sandbox.name
    assert all(claim.how and claim.seen for claim in proven.claims)
    assert sorted(claim.name for claim in proven.claims) == sorted(NEEDED["L3"])
    assert len(LIMITS) == 5
    assert json.loads(json.dumps(proven.as_dict()))["level"] == proven.level
    assert processes_of_boxes() == []
    assert left_over(before) == set()


def test_without_a_sandbox_nothing_is_claimed() -> None:
    proven = self_test(NONE)
    assert proven.level == "L0"
    assert missing(proven) >= {
        "user", "namespaces", "filter", "root", "processes", "network", "scratch", "calls", "ipc",
        "devices", "limit of processes", "limit of scratch", "memory of others",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Namespaces, Bubblewrap])
@pytest.mark.usefixtures("quick")
def test_a_user_of_its_own_is_claimed_only_where_it_is_one(
    kind: type[Namespaces] | type[Bubblewrap],
) -> None:
    sandbox = kind(new_user=True)
    if sandbox.available() is not None:
        pytest.skip("this kernel makes no user namespaces here")
    proven = self_test(sandbox)
    assert missing(proven) - {"limits kept by the kernel"} <= {"user"}
    assert proven.level == "L2"
    assert proven.facts["user"] == "the caller, by another number"


@pytest.mark.usefixtures("quick")
def test_without_a_filter_of_calls_the_level_is_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "filter_of_calls", bytes)
    proven = self_test(Namespaces(new_user=False))
    assert missing(proven) - {"limits kept by the kernel"} == {"filter", "calls"}
    assert proven.level == "L1"


def test_without_control_groups_the_level_is_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.sandbox.groups.places", dict)
    proven = self_test(Namespaces(new_user=False))
    assert missing(proven) == {"limits kept by the kernel"}
    assert proven.level == "L2"
    assert proven.facts["processes"] == "RLIMIT_NPROC of the box's own user"


@pytest.mark.parametrize("lacking", ["memory", "pids", "devices"])
@pytest.mark.usefixtures("quick")
def test_the_kernel_keeps_limits_only_where_it_keeps_all_of_them(
    lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = group_places.places()
    if not here.keys() >= {"memory", "pids", "devices"}:
        pytest.skip("the kernel keeps no limits of a whole box here")
    held = {limit: place for limit, place in here.items() if limit != lacking}
    monkeypatch.setattr("bench.sandbox.groups.places", lambda: held)
    proven = self_test(Namespaces(new_user=False))
    assert missing(proven) == {"limits kept by the kernel"}
    assert proven.level == "L2"
    told = {"memory": "memory", "pids": "processes", "devices": "devices"}[lacking]
    (seen,) = (one.seen for one in proven.claims if not one.held)
    assert f"not kept by it: {told}" in seen


@dataclass(frozen=True)
class Leaky:
    """A sandbox that shows more of the host than it is asked to."""

    shown: Path
    name: str = "leaky"
    gives_terminals: bool = False

    def available(self) -> str | None:
        return None

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        within = Namespaces(new_user=False)
        return within.start(command, replace(box, readable=(*box.readable, self.shown)))


@pytest.mark.usefixtures("quick")
def test_a_checkout_that_can_be_read_is_seen() -> None:
    proven = self_test(Leaky(Path(__file__).parents[3] / "bench"))
    assert "root" in missing(proven)
    assert proven.level == "L1"


@pytest.mark.usefixtures("quick")
def test_a_home_that_can_be_read_is_seen_by_whatever_lies_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    (home / "python").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert "root" in missing(self_test(Leaky(home)))
    like = Box(log=tmp_path / "log", readable=(*Box(log=tmp_path).readable, home / "python"))
    assert "root" not in missing(self_test(Namespaces(new_user=False), like=like))


@pytest.mark.parametrize("home", ["/tmp", "/tmp/of/mine", "/box", "/box/within", "/", "/etc"])
@pytest.mark.usefixtures("quick")
def test_a_home_where_a_box_has_something_of_its_own_lowers_no_level(
    home: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home)
    assert missing(self_test(sandbox)) <= {"limits kept by the kernel"}


@pytest.mark.usefixtures("quick")
def test_our_own_code_among_the_packages_of_python_has_to_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a wheel is installed; `src/kbsite` and `bench` of a checkout lie where no box looks.
    tmp_path.chmod(0o755)
    own = (tmp_path / "site" / "kbsite", tmp_path / "site" / "bench")
    for folder in own:
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    monkeypatch.setattr("bench.sandbox.proof.our_code", lambda: own)
    box = Box(log=tmp_path / "log", readable=(*Box(log=tmp_path).readable, tmp_path / "site"))
    sandbox = Namespaces(new_user=False)
    assert missing(self_test(sandbox, like=box)) >= {"root"}
    assert missing(self_test(sandbox, like=replace(box, hidden=own[:1]))) >= {"root"}
    assert "root" not in missing(self_test(sandbox, like=replace(box, hidden=own)))
    monkeypatch.setattr("bench.sandbox.proof.own_packages", lambda: own)
    monkeypatch.setattr("bench.sandbox.box.python_places", lambda: box.readable)
    assert "root" not in missing(self_test(sandbox)), "so it is in the boxes of graders"


@pytest.mark.usefixtures("quick")
def test_shared_ipc_is_seen(sandbox: Sandbox, tmp_path: Path) -> None:
    like = Box(log=tmp_path / "log", hidden=own_packages(), share_ipc=True)
    proven = self_test(sandbox, like=like)
    assert missing(proven) - {"limits kept by the kernel"} == {"ipc"}
    assert proven.level == "L1"


def test_a_sandbox_that_cannot_be_entered_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "filter_of_calls", lambda: b"x" * 8)
    with pytest.raises(MachineError, match="the filter of system calls: Invalid argument"):
        self_test(Namespaces(new_user=False))


def test_levels_follow_from_the_claims_that_held() -> None:
    names = sorted(NEEDED["L3"])
    all_held = [Claim(name=name, held=True, how="", seen="") for name in names]
    assert level_of(all_held) == "L3"
    assert level_of([]) == "L0"
    for name in names:
        without = [replace(claim, held=claim.name != name) for claim in all_held]
        expected = {"user": "L2", "limits kept by the kernel": "L2"}.get(name, "L1")
        assert level_of(without) == expected, name


def test_the_page_on_sandboxes_names_what_is_claimed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")]
    levels = {row[0].strip(): row[1] for row in rows if len(row) == 2}
    explained = {name.strip() for row in rows for name in row[0].split(",")}
    for level, needed in NEEDED.items():
        below = set().union(*(NEEDED[one] for one in ("L1", "L2") if one < level == "L3"))
        for name in needed - below:
            assert name in levels[level], (level, name)
            assert name in explained, name
    assert f"{len(probe.REFUSED)} system calls that have to be refused" in page
    assert f"sockets of {len(probe.FAMILIES)} families" in page


class _Over:
    """A sandbox whose programs are over before anybody looks, but for the last one."""

    def __init__(self, early: int) -> None:
        self.early = early
        self.started = 0

    @contextmanager
    def start(self, *_: object) -> Iterator[SimpleNamespace]:
        self.started += 1
        with subprocess.Popen(["sleep", "0.2"]) as program:
            if self.started <= self.early:
                program.wait()
            yield SimpleNamespace(pid=program.pid, wait=program.wait)


def test_a_program_that_was_over_before_it_was_seen_is_started_again(tmp_path: Path) -> None:
    sandbox, box = _Over(early=2), Box(log=tmp_path / "log")
    claim = strain._left(sandbox, box)  # type: ignore[arg-type]

    assert sandbox.started == 3
    assert claim.name == "nothing left"
    with pytest.raises(MachineError, match="over each time before it was seen"):
        strain._left(_Over(early=99), box)  # type: ignore[arg-type]
