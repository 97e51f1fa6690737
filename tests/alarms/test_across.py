"""Sources and scores that other runs have too are found, and coincidences are not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kbsite.alarms.across import sources
from kbsite.alarms.across.scores import Scores
from kbsite.alarms.across.sources import Print, Sources
from kbsite.alarms.across.tokens import tokens
from kbsite.alarms.across.winnowing import (
    GRAM,
    MOST,
    SPACE,
    WINDOW,
    limited,
    marks,
    packed,
    unpacked,
)
from kbsite.alarms.evidence import Evidence
from kbsite.model.grade import Metrics
from kbsite.model.problem import Problem
from kbsite.model.status import Status
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import read_run
from tests.alarms.made import made_run


def said(text: str, *, native: bool = False) -> str:
    return " ".join(tokens(text, native=native))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = y + 1  # why", "total=width+99"),
        ('a = "text"', "b = 'other'"),
        ("def f(a):\n    return a", "def kernel(q):\n\n        return q"),
        ("x.load(3)", "thing.read(4)"),
    ],
)
def test_names_literals_comments_and_space_make_no_difference(one: str, other: str) -> None:
    assert said(one) == said(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tl.load(p)", "tl.store(p)"),
        ("x + y", "x - y"),
        ("if a: b", "while a: b"),
        ("f(a)", "f[a]"),
    ],
)
def test_what_the_code_does_makes_a_difference(one: str, other: str) -> None:
    assert said(one) != said(other)


def test_native_code_within_python_is_read_as_native_code() -> None:
    code = "__global__ void f(float* x) { x[0] += 1; /* why */ }"

    assert said(code, native=True) in said(f'src = r"""{code} // more\n"""')
    assert said('"""Some words; no code."""') == "S"


@pytest.mark.parametrize("text", ['"""' + "a" * 9, "'" * 9999, "\\" * 99, "/*" * 999, '"""' * 999])
def test_what_is_no_code_is_read_too(text: str) -> None:
    assert len(list(tokens(text, native=False))) <= len(text)
    assert len(list(tokens(text, native=True))) <= len(text)


def program(seed: int, size: int = 400) -> list[str]:
    rng = random.Random(seed)
    return [f"w{rng.randrange(300)}" for _ in range(size)]


def test_a_common_stretch_leaves_a_common_mark_wherever_it_stands() -> None:
    for seed in range(20):
        shared = program(1000 + seed, GRAM + WINDOW - 1)
        one = program(seed) + shared + program(seed + 50)
        other = program(seed + 100, 37) + shared
        assert set(marks(one)) & set(marks(other))


def test_texts_that_share_nothing_share_no_mark() -> None:
    assert not set(marks(program(1, 5000))) & set(marks(program(2, 5000)))


def test_too_short_a_text_has_no_marks_and_a_long_one_not_too_many() -> None:
    assert marks(program(1, GRAM - 1)) == []
    assert len(marks(program(1, GRAM))) == 1
    held, limit = limited(marks(program(1, 20_000)))
    assert len(held) == MOST
    assert held[-1] < limit < SPACE
    assert limited([1, 2]) == ([1, 2], SPACE)


def other_kernel(seed: int, steps: int = 25) -> str:
    rng = random.Random(seed)
    words = ["load", "store", "dot", "sum", "exp", "max", "min", "where", "arange", "zeros"]
    return "\n".join(
        " ".join(f"a = tl.{rng.choice(words)}(b {rng.choice('+-*/')} c);" for _ in range(6))
        for _ in range(steps)
    )


KERNEL = other_kernel(99, 40)


def problem(reference: str = "") -> StoredProblem:
    return StoredProblem(
        id="p", problem=Problem(title="P"), hash="0", prompt="", reference=reference
    )


def evidence(
    tmp_path: Path, run_id: str, source: str, hour: int | None = None, reference: str = "",
    score: float | None = 0.3, eager: float | None = None, **more: Any,
) -> Evidence:  # fmt: skip
    partial = new_run_folder(tmp_path, run_id)
    (partial / "solution.py").write_text(source, "utf-8")
    metrics = Metrics(format=1, status=Status.PASSED, peak_fraction=score)
    stored = read_run(complete(partial, made_run(run_id, hour, **more), metrics))
    return Evidence(stored, problem(reference), eager)


Prints = Mapping[str, tuple[str | int | float, ...]]
Told = list[tuple[str, str, str]]


def compared(found: list[Evidence]) -> Told:
    """The ids, levels and other runs of what is said of the sources."""
    look = Sources()
    taken = {one.stored.run.id: look.fingerprint(one) for one in found}
    held = {run_id: mark for run_id, mark in taken.items() if mark}
    return sorted((run, alarm.level.value, alarm.other) for run, alarm in look.alarms(held))


def renamed(source: str) -> str:
    return source.replace("a = ", "value = ").replace("(b ", "( width").replace(" c)", "  other)")


def test_a_copy_is_told_of_whoever_renamed_it_and_the_later_run_is_the_one(tmp_path: Path) -> None:
    one = evidence(tmp_path, "one", KERNEL, 9, model="a")
    copy = evidence(tmp_path, "copy", "# mine\n" + renamed(KERNEL), 12, model="b")

    assert compared([one, copy]) == [("copy", "alarm", "one"), ("one", "note", "copy")]


def test_where_nobody_knows_which_was_first_both_are_told_of(tmp_path: Path) -> None:
    runs = [evidence(tmp_path, name, KERNEL, model=name) for name in "ab"]

    assert compared(runs) == [("a", "alarm", "b"), ("b", "alarm", "a")]


def test_half_a_copy_is_a_warning(tmp_path: Path) -> None:
    half = "\n".join(KERNEL.splitlines()[:24]) + "\n" + other_kernel(3, 16)
    runs = [
        evidence(tmp_path, "a", KERNEL, 9, model="a"),
        evidence(tmp_path, "b", half, 10, model="b"),
    ]

    assert ("b", "warning", "a") in compared(runs)


def test_attempts_of_one_contender_are_a_note(tmp_path: Path) -> None:
    runs = [evidence(tmp_path, name, KERNEL, hour) for hour, name in enumerate("ab", 1)]

    assert compared(runs) == [("b", "note", "a")]


def test_other_sources_and_other_problems_are_no_copies(tmp_path: Path) -> None:
    runs = [
        evidence(tmp_path, "a", KERNEL, 9, model="a"),
        evidence(tmp_path, "b", other_kernel(1), 10, model="b"),
        evidence(tmp_path, "c", other_kernel(2), 11, model="c"),
        evidence(tmp_path, "d", KERNEL, 12, model="d", problem="q"),
    ]

    assert compared(runs) == []


def test_what_was_given_does_not_count(tmp_path: Path) -> None:
    runs = [
        evidence(tmp_path, name, KERNEL + "\n" + other_kernel(number), 9 + number,
                 reference=KERNEL, model=name)
        for number, name in enumerate("ab")
    ]  # fmt: skip

    assert compared(runs) == []


def test_what_most_contenders_have_does_not_count(tmp_path: Path) -> None:
    runs = [
        evidence(tmp_path, f"r{hour}", KERNEL + "\n" + other_kernel(hour, 8), hour, model=f"{hour}")
        for hour in range(1, 7)
    ]

    assert compared(runs) == []
    assert [run for run, *_ in compared(runs[:2])] == ["r1", "r2"]


def test_too_little_source_is_not_compared(tmp_path: Path) -> None:
    assert Sources().fingerprint(evidence(tmp_path, "a", "x = 1\n")) == {}


def test_a_fingerprint_is_small_and_plain(tmp_path: Path) -> None:
    taken = Sources().fingerprint(evidence(tmp_path, "a", other_kernel(1, 2000)))

    assert len(unpacked(str(taken["marks"][0]))) == MOST
    assert all(isinstance(value, str | int | float) for held in taken.values() for value in held)


def test_long_sources_are_compared_by_what_both_kept(tmp_path: Path) -> None:
    long = other_kernel(5, 800)
    runs = [
        evidence(tmp_path, "a", long, 9, model="a"),
        evidence(tmp_path, "b", "\n".join(long.splitlines()[:200]), 10, model="b"),
    ]

    assert ("b", "alarm", "a") in compared(runs)


def test_no_run_is_held_against_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand runs that share nothing cost no comparison."""
    held = {
        f"r{n}": {
            "who": ("p", f"c{n}", float(n), SPACE),
            "marks": (packed(range(n * 50, n * 50 + 40)),),
        }
        for n in range(1000)
    }

    def never(*_: object) -> None:
        raise AssertionError("compared")

    monkeypatch.setattr(sources, "_pair", never)

    assert list(Sources().alarms(held)) == []


def scored(
    values: Mapping[str, float], eager: float = 0.0, step: float = 1e-6
) -> dict[str, Prints]:
    return {
        name: {"where": ("p", "h", ""), "who": (name.split("-")[0],), "score": (value, step, eager)}
        for name, value in values.items()
    }


def clustered(runs: Mapping[str, Prints]) -> set[str]:
    return {run_id for run_id, alarm in Scores().alarms(runs) if alarm.level.value == "warning"}


SPREAD = {"a": 0.02, "b": 0.05, "c": 0.11, "d": 0.3, "e": 0.35}


def test_three_contenders_at_one_score_are_told_of() -> None:
    runs = scored({**SPREAD, "x": 0.4288, "y": 0.4292, "z": 0.4294})

    assert clustered(runs) == {"x", "y", "z"}


@pytest.mark.parametrize(
    "values",
    [
        {"x": 0.4288, "y": 0.4292},
        {"x-1": 0.4288, "x-2": 0.4292, "x-3": 0.4294},
        {"x": 0.4288, "y": 0.4338, "z": 0.4390},
        {},
    ],
)
def test_fewer_contenders_or_wider_clusters_are_not(values: Mapping[str, float]) -> None:
    assert clustered(scored({**SPREAD, **values})) == set()


def test_what_luck_may_do_is_not_told_of() -> None:
    crowd = {f"c{n}": 0.3 + 0.001 * n for n in range(60)}

    assert clustered(scored(crowd)) == set()


@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_attempts_that_lie_anywhere_make_no_cluster(seed: int) -> None:
    rng = random.Random(seed)
    runs = {f"c{n % 15}-{n}": rng.uniform(0.01, 0.9) for n in range(100)}

    assert clustered(scored(runs)) == set()


def test_small_scores_that_were_rounded_are_not_told_of() -> None:
    rounded = {"a": 0.021, "b": 0.021, "c": 0.021, "d": 0.04, "e": 0.3, "f": 0.11, "g": 0.09}

    assert clustered(scored(rounded, step=0.001)) == set()
    assert clustered(scored(rounded)) == {"a", "b", "c"}


def test_the_score_of_the_eager_reference_is_a_note() -> None:
    runs = scored({"a": 0.4292, "b": 0.31}, eager=0.4290)

    found = list(Scores().alarms(runs))

    assert [(run_id, alarm.level.value) for run_id, alarm in found] == [("a", "note")]


def test_a_cluster_names_its_range_and_its_chance() -> None:
    runs = scored({**SPREAD, "x": 0.4288, "y": 0.4292, "z": 0.4294}, eager=0.429)

    saw = next(alarm.saw for _, alarm in Scores().alarms(runs))

    assert "3 contenders score between 0.4288 and 0.4294" in saw
    assert "so does the eager reference" in saw
    assert "1 in " in saw


@pytest.mark.parametrize(
    ("score", "step"), [(0.428, 0.001), (0.42918, 0.00001), (0.5, 0.1), (0.123456789, 1e-6)]
)
def test_the_rounding_of_a_score_is_told_by_its_decimals(
    tmp_path: Path, score: float, step: float
) -> None:
    taken = Scores().fingerprint(evidence(tmp_path, "a", "", score=score, eager=0.4))

    assert taken["score"] == pytest.approx((score, step, 0.4))


def test_a_run_without_a_score_is_not_compared(tmp_path: Path) -> None:
    assert Scores().fingerprint(evidence(tmp_path, "a", "", score=None)) == {}
    assert Scores().fingerprint(evidence(tmp_path, "b", "", score=-1.0)) == {}


def test_marks_are_compared_in_parts_as_they_are_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = range(7, SPACE, SPACE // 50)
    held: dict[str, Print] = {
        f"r{n}": {
            "who": ("p", f"c{n % 3}", float(n), SPACE),
            "marks": (packed(sorted({*shared, *range(n, SPACE, SPACE // 30 + n)})),),
        }
        for n in range(6)
    }
    whole = list(Sources().alarms(held))
    monkeypatch.setattr(sources, "AT_ONCE", 7)

    assert whole
    assert list(Sources().alarms(held)) == whole
