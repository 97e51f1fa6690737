"""SWEEP.yaml becomes records, or an error that says where it is wrong."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bench.running.form import SessionLimits
from bench.sweeps.conduct import check_work, read_work
from bench.sweeps.sheet import Engine, read_sweep
from kbsite.errors import InputError
from tests.bench.sweeps.drive import PROVIDERS
from tests.bench.sweeps.sweeps import contender, sheet, works, write_sheet

ROOT = Path(__file__).parents[3]


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    read = sheet(tmp_path)

    assert (read.attempts, read.grade, read.max_parallel, read.sandbox) == (1, True, None, None)
    assert read.executor.kind is Engine.LOCAL
    assert read.limits == SessionLimits()
    assert read.contenders[0].label == "codex · works"


def test_limits_and_slots_are_read_by_key(tmp_path: Path) -> None:
    read = sheet(tmp_path, limits={"stall_seconds": 60, "grace_seconds": 0}, slots={"here": 9})

    assert read.limits == SessionLimits(stall_seconds=60.0, grace_seconds=0.0)
    assert read.slots == {"here": 9}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"board": "a/b"}, "board", "letters, digits"),
        ({"hardware": ""}, "hardware", "letters, digits"),
        ({"problems": []}, "problems", "one or more"),
        ({"problems": ["toy", "toy"]}, "problems[1]", "twice"),
        ({"problems": ["../toy"]}, "problems[0]", "letters, digits"),
        ({"contenders": []}, "contenders", "one or more"),
        ({"contenders": [contender(), contender()]}, "contenders[1]", "variant"),
        ({"contenders": [contender(provider="a b")]}, "contenders[0].provider", "letters"),
        ({"contenders": [contender(model=" ")]}, "contenders[0].model", "name of a model"),
        ({"contenders": [contender(effrot="max")]}, "contenders[0].effrot", "no such key"),
        ({"contenders": [{"harness": "codex"}]}, "contenders[0].model", "missing"),
        ({"attempts": 0}, "attempts", "1 or more"),
        ({"attempts": "three"}, "attempts", "a whole number"),
        ({"max_parallel": 0}, "max_parallel", "1 or more"),
        ({"budget_seconds": 0}, "budget_seconds", "more than 0"),
        ({"budget_seconds": 10**20}, "budget_seconds", "at most 31536000"),
        ({"retries": {"most": -1}}, "retries.most", "0 or more"),
        ({"retries": {"most": 10**9}}, "retries.most", "at most 1000"),
        ({"retries": {"lost": 10**9}}, "retries.lost", "at most 1000"),
        ({"retries": {"backoff_seconds": -1.0}}, "retries.backoff_seconds", "0 to 31536000"),
        ({"retries": {"longest_seconds": 1e300}}, "retries.longest_seconds", "a year"),
        ({"retries": {"outage_seconds": float(10**12)}}, "retries.outage_seconds", "a year"),
        ({"slots": {"here": 0}}, "slots.here", "1 or more"),
        ({"executor": {"kind": "kubernetes"}}, "executor.kind", "local"),
        ({"executor": {"kind": "ray", "gpus": ["GPU-1"]}}, "executor.gpus", "means nothing to ray"),
        ({"executor": {"options": {"a": 1}}}, "executor.options", "means nothing to local"),
        ({"executor": {"gpus": ["GPU-1", "GPU-2", "GPU-1"]}}, "executor.gpus[2]", "twice"),
        ({"executor": {"gpus": ["GPU-1", "1"]}}, "executor.gpus[1]", "twice"),
        ({"executor": {"gpus": []}}, "executor.gpus", "one or more, or null for all"),
        ({"executor": {"gpus": ["GPU-1"]}}, "executor.gpus", "means nothing where `hardware` is"),
        ({"executor": {"agents_per_gpu": 2}}, "executor.agents_per_gpu", "`hardware` is cpu"),
        ({"limits": {"memory": 3}}, "limits.memory", "no such key"),
        ({"limits": {"memory_bytes": -1}}, "limits.memory_bytes", "more than 0 .*got -1"),
        ({"limits": {"memory_bytes": 10**30}}, "limits.memory_bytes", "at most 1125899906842624"),
        ({"limits": {"stall_seconds": 1e300}}, "limits.stall_seconds", "at most 31536000"),
        ({"limits": {"warn_share": 80}}, "limits.warn_share", "at most 1, got 80"),
        ({"limits": {"processes": 10**9}}, "limits.processes", "at most 1000000"),
        ({"limits": {"processes": 0}}, "limits.processes", "more than 0 .*got 0"),
        ({"limits": {"grace_seconds": -1.0}}, "limits.grace_seconds", "0 or more .*got -1"),
        ({"problems": ["a" * 101]}, "problems[0]", "at most 100"),
        ({"contenders": [contender(model="a\x1b")]}, "contenders[0].model", "name of a model"),
        ({"attempts": 100_001}, "attempts", "that is 100001 runs; expected at most 100000"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_key(
    tmp_path: Path, changes: dict[str, Any], key: str, words: str
) -> None:
    path = write_sheet(tmp_path / "wrong.yaml", **changes)
    with pytest.raises(InputError, match=words) as caught:
        read_sweep(path)

    assert (caught.value.key, caught.value.path) == (key, path)
    assert caught.value.line is not None


def test_a_provider_or_problem_that_nobody_knows_is_named_before_anything_starts(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"contenders\[0\].provider: 'mars' .*here, there"):
        works(tmp_path, contenders=[contender(provider="mars")])
    with pytest.raises(InputError, match=r"slots.mars: 'mars' .*known are: here"):
        works(tmp_path, slots={"mars": 2})
    with pytest.raises(InputError, match=r"yaml:\d+: providers: .*gone.yaml: no such file"):
        works(tmp_path, providers="gone.yaml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"hardware": "abacus"},
            "hardware: 'abacus' is no hardware that is known; expected cpu",
        ),
        ({"sandbox": "docker"}, "sandbox: 'docker' is no sandbox; expected one of"),
    ],
)
def test_what_no_session_could_have_is_told_before_any_starts(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    made = works(tmp_path, **change)
    with pytest.raises(InputError, match=rf"night\.yaml:\d+: {words}"):
        check_work(tmp_path / "night.yaml", made)


@pytest.mark.parametrize("grade", [True, False])
def test_problems_that_are_not_there_or_cannot_be_graded_are_told_before_anything_is_paid_for(
    tmp_path: Path, grade: bool
) -> None:
    made, path = works(tmp_path, problems=["toy", "gone"], grade=grade), tmp_path / "night.yaml"
    with pytest.raises(InputError, match=r"yaml:\d+: problems\[1\]: 'gone' is no problem"):
        check_work(path, made)
    shutil.copytree(ROOT / "problems" / "add", tmp_path / "problems" / "gone")
    told = r"problems\[1\]: gone cannot be graded: .*yaml: regime: missing; .*`grade: false`"
    with pytest.raises(InputError, match=told) if grade else nullcontext():
        check_work(path, made)


def test_two_models_of_one_name_need_a_variant(tmp_path: Path) -> None:
    """A board would show both in one row, whichever provider they were asked at."""
    twice = [contender(), contender(provider="there")]
    with pytest.raises(InputError, match="variant"):
        sheet(tmp_path, contenders=twice)
    assert len(sheet(tmp_path, contenders=[twice[0], {**twice[1], "variant": "b"}]).contenders) == 2


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "sweeps").glob("*.yaml")), ids=str)
def test_the_examples_of_the_documentation_can_be_read(path: Path) -> None:
    read = read_sweep(path)

    assert {name for name in read.problems if (ROOT / "problems" / name).is_dir()} == set(
        read.problems
    )


def test_there_is_an_example_of_each_engine() -> None:
    examples = (ROOT / "docs" / "sweeps").glob("*.yaml")
    assert {read_sweep(path).executor.kind for path in examples} == set(Engine)


def test_a_file_of_providers_lies_beside_the_sweep(tmp_path: Path) -> None:
    made = works(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "providers: {mine: {bases: {chat: 'http://127.0.0.1:9'}, key_variable: null, slots: 7}}\n"
    )
    path = write_sheet(
        tmp_path / "own.yaml", providers="mine.yaml", contenders=[contender(provider="mine")]
    )

    own = read_work(path, made.places)
    assert own.slots("mine") == 7
    assert own.providers_file == tmp_path / "mine.yaml"
    assert set(PROVIDERS).isdisjoint(own.providers)
