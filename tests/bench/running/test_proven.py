"""A proof is of the box that it was made with: another kind of box is tried anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.running import proven
from bench.sandbox import NONE
from bench.sandbox.box import Box, Limits, Proven, Sandbox
from bench.sandbox.namespaces import Namespaces

HOME, WORKSPACE = Path("/home/agent"), Path("/workspace")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Box]:
    """The boxes that were tried; nothing is."""
    boxes: list[Box] = []

    def self_test(sandbox: Sandbox, *, like: Box) -> Proven:
        boxes.append(like)
        return Proven(sandbox=sandbox.name, level="L2", claims=(), facts={})

    monkeypatch.setattr(proven, "self_test", self_test)
    monkeypatch.setattr(proven, "_under_way", {})
    return boxes


LIKE = Box(
    log=Path("/log"), folder=WORKSPACE, home=HOME, writable={WORKSPACE: 1 << 20, HOME: 1 << 20},
    bound={Path("/opt/clis/one"): Path("/usr/bin")}, hidden=(Path("/usr/share"),), listen=8000,
)  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {"readable": (*LIKE.readable, Path("/srv"))},
        {"readable": ()},
        {"bound": {}},
        {"bound": {Path("/opt/clis/one"): Path("/usr/sbin")}},
        {"bound": {Path("/opt/clis/two"): Path("/usr/bin")}},
        {"hidden": ()},
        {"devices": (Path("/dev/nvidia0"),)},
        {"writable": {WORKSPACE: 1 << 20}},
        {"folder": HOME},
        {"home": WORKSPACE},
        {"share_ipc": True},
        {"interfaces": True},
        {"terminals": True},
    ],
)
def test_what_a_box_can_reach_is_proven_for_each(
    tried: list[Box], other: dict[str, object]
) -> None:
    box = replace(LIKE, **other)  # type: ignore[arg-type]
    sandbox = Namespaces()
    for like in (LIKE, box, LIKE, box):
        assert proven.proving(sandbox, like).result().level == "L2"
    assert tried == [LIKE, box]
    proven.proving(NONE, LIKE).result()
    assert len(tried) == 3


def test_what_a_box_works_on_is_not_proven_anew(tried: list[Box]) -> None:
    work = {
        "log": Path("/other"), "stdout": Path("/stdout"), "files": {"a": b""}, "stdin": b"x",
        "seeds": {HOME / "key": b"x"}, "environment": {"A": "b"}, "listen": 8001,
        "limits": Limits(processes=5), "writable": {HOME: 2 << 20, WORKSPACE: 2 << 20},
    }  # fmt: skip
    for like in (LIKE, replace(LIKE, **work)):  # type: ignore[arg-type]
        proven.proving(Namespaces(), like).result()
    assert tried == [LIKE]
