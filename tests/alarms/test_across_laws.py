"""What comparing runs finds does not hang on their order, nor on what a copyist changes."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms import Fingerprint, compare
from kbsite.alarms.across.scores import LEAST, Scores
from kbsite.alarms.across.sources import Sources
from kbsite.alarms.across.tokens import tokens
from kbsite.alarms.across.winnowing import GRAM, SPACE, WINDOW, marks, packed
from tests.alarms.cases import HONEST
from tests.alarms.test_across import evidence, other_kernel

SOURCES = [
    path
    for glob in ("triton-*/solution.py", "*cutlass*/files/*.cu*")
    for path in sorted(HONEST.glob(glob))
    if path.stat().st_size > 1500
]
NATIVE = {".cu", ".cuh"}


def marked(text: str, *, native: bool) -> list[int]:
    return marks(tokens(text, native=native))


def comments(text: str, rng: random.Random, sign: str) -> str:
    """The same source with comments and empty lines where a line begins."""
    lines = text.split("\n")
    free = rng.sample(range(len(lines)), min(6, len(lines)))
    for at in sorted(free, reverse=True):
        if not _within_text(lines[:at]) and not "".join(lines[:at]).endswith("\\"):
            words = rng.choice(["why", "tl.load(x) + 'x", 'say "it', "int main() { return 0; }"])
            lines.insert(at, rng.choice(["", "   ", f"{sign} {words}"]))
    return "\n".join(lines)


def _within_text(lines: Sequence[str]) -> bool:
    return "\n".join(lines).count('"""') % 2 == 1


def renamed(text: str, rng: random.Random) -> str:
    """The same source with other names for what it names itself."""
    own = sorted(set(re.findall(r"\b(?:def|class)\s+([a-z_]\w{3,})", text)) - {"__init__"})
    for name in own:
        other = f"n{rng.randrange(10**6)}"
        text = re.sub(rf"\b{name}\b", other, text)
    return text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name + "-" + path.name)
@pytest.mark.parametrize("seed", range(4))
def test_comments_space_and_names_leave_every_mark(path: Path, seed: int) -> None:
    text, rng, native = path.read_text("utf-8"), random.Random(seed), path.suffix in NATIVE
    before = marked(text, native=native)

    changed = comments(text, rng, "//" if native else "#")
    if not native:
        changed = renamed(changed, rng)

    assert len(before) > 10
    assert changed != text
    assert marked(changed, native=native) == before


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name + "-" + path.name)
def test_wider_indents_and_line_ends_of_windows_leave_every_mark(path: Path) -> None:
    text, native = path.read_text("utf-8"), path.suffix in NATIVE
    wider = re.sub(r"(?m)^( +)", r"\1\1", text).replace("\n", "\r\n")

    assert marked(wider, native=native) == marked(text, native=native)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name + "-" + path.name)
def test_another_operation_changes_some_marks(path: Path) -> None:
    text, native = path.read_text("utf-8"), path.suffix in NATIVE
    other = text.replace(" + ", " - ")

    assert marked(other, native=native) != marked(text, native=native)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.booleans())
def test_every_text_has_tokens_none_of_them_empty(text: str, native: bool) -> None:
    found = list(tokens(text, native=native))

    assert "" not in found
    assert not any(token.isspace() for token in found)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=80),
    st.lists(st.sampled_from("abcdefgh"), min_size=GRAM + WINDOW - 1, max_size=60),
    st.lists(st.sampled_from("abcdefgh"), max_size=80),
)
def test_a_stretch_that_is_taken_over_leaves_a_mark_wherever_it_is_put(
    before: list[str], shared: list[str], after: list[str]
) -> None:
    assert set(marks(before + shared + after)) & set(marks(shared))


RUNS = st.lists(
    st.tuples(
        st.sampled_from(["c1", "c2", "c3", "c4"]),
        st.integers(0, 3),
        st.sampled_from([0.11, 0.4288, 0.4289, 0.429, 0.4291, 0.7]),
        st.sampled_from([1000, 1010, 1020, 5000]),
        st.sampled_from(["p", "q"]),
    ),
    min_size=2, max_size=12,
)  # fmt: skip
Made = list[tuple[str, int, float, int, str]]


def prints(made: Made) -> dict[str, tuple[Fingerprint, ...]]:
    held: dict[str, tuple[Fingerprint, ...]] = {}
    for number, (contender, hour, score, start, problem) in enumerate(made):
        source: Fingerprint = {
            "who": (problem, contender, float(hour), SPACE),
            "marks": (packed(range(start, start + 40)),),
        }
        scored: Fingerprint = {
            "where": (problem, "h", ""), "who": (contender,), "score": (score, 1e-6, 0.0),
        }  # fmt: skip
        held[f"r{number:02}"] = (source, scored)
    return held


@settings(max_examples=100, deadline=None)
@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_change_what_is_found(made: Made, rng: random.Random) -> None:
    held = prints(made)
    names = list(held)
    rng.shuffle(names)

    assert compare({name: held[name] for name in names}) == compare(held)


@settings(max_examples=100, deadline=None)
@given(RUNS)
def test_runs_of_another_problem_change_nothing(made: Made) -> None:
    held = prints(made)
    alone = {
        name: taken for name, taken in held.items() if made[int(name[1:])][-1] == "p"
    }  # fmt: skip
    found = compare(held)

    assert {name: found[name] for name in found if name in alone} == compare(alone)


@settings(max_examples=100, deadline=None)
@given(RUNS)
def test_an_alarm_names_another_run_of_its_problem_and_alarms_lie_between_contenders(
    made: Made,
) -> None:
    for name, found in compare(prints(made)).items():
        mine = made[int(name[1:])]
        for alarm in found:
            other = made[int(alarm.other[1:])]
            assert alarm.other != name
            assert other[-1] == mine[-1]
            assert other[0] != mine[0] or alarm.level.value == "note"


@settings(max_examples=100, deadline=None)
@given(RUNS)
def test_of_two_runs_the_later_one_is_told_of_more(made: Made) -> None:
    """A run before all others of its problem, whose hour is known, copied from nobody."""
    first = ("first", 1, 0.5, 1000, "p")
    later = [(who, hour + 2, score, start, where) for who, hour, score, start, where in made]
    held = prints([first, *later])

    for alarm in compare(held).get("r00", ()):
        assert alarm.kind != "near-identical-source" or alarm.level.value == "note"


@settings(max_examples=60, deadline=None)
@given(RUNS, st.floats(0.01, 1.4))
def test_scores_in_another_unit_are_as_near(made: Made, factor: float) -> None:
    def clusters(by: float) -> list[tuple[str, str]]:
        runs: Mapping[str, Fingerprint] = {
            name: {**taken[1], "score": (float(taken[1]["score"][0]) * by, 1e-12, 0.0)}
            for name, taken in prints(made).items()
        }
        return [(run, alarm.level.value) for run, alarm in Scores().alarms(runs)]

    assert clusters(1.0) == clusters(factor)
    assert len(clusters(1.0)) != 1
    assert len(clusters(1.0)) == 0 or len(clusters(1.0)) >= LEAST


def compared(runs: Sequence[tuple[str, str]], tmp_path: Path) -> list[tuple[str, str, str]]:
    """Ids, levels and other runs, of contenders and their sources in order of time."""
    look = Sources()
    found = [
        evidence(tmp_path, f"r{hour}", source, hour, model=model)
        for hour, (model, source) in enumerate(runs, 1)
    ]
    taken = {one.stored.run.id: look.fingerprint(one) for one in found}
    told = look.alarms({name: held for name, held in taken.items() if held})
    return sorted((run, alarm.level.value, alarm.other) for run, alarm in told)


def test_a_copy_of_a_copy_names_a_source_that_came_before(tmp_path: Path) -> None:
    text = other_kernel(7, 40)

    found = compared([("a", text), ("b", text), ("c", text)], tmp_path)

    alarms = {run: other for run, level, other in found if level == "alarm"}
    assert set(alarms) == {"r2", "r3"}
    assert alarms["r2"] == "r1"
    assert alarms["r3"] in {"r1", "r2"}


def test_a_copy_is_found_within_more_code_of_its_own(tmp_path: Path) -> None:
    text, more = other_kernel(7, 40), other_kernel(8, 160)

    found = compared([("a", text), ("b", more + "\n" + text)], tmp_path)

    assert ("r2", "alarm", "r1") in found


def test_a_copy_in_another_order_is_still_one(tmp_path: Path) -> None:
    blocks = [other_kernel(seed, 8) for seed in range(6)]

    found = compared([("a", "\n".join(blocks)), ("b", "\n".join(blocks[::-1]))], tmp_path)

    assert ("r2", "alarm", "r1") in found


def varied(seed: int, steps: int) -> str:
    """Statements of which hardly one is like another."""
    rng = random.Random(seed)
    return "".join(
        f"a = tl.w{rng.randrange(9999)}(b, tl.w{rng.randrange(9999)}(c))\n" for _ in range(steps)
    )


def test_a_quarter_is_a_note_and_an_eighth_is_nothing(tmp_path: Path) -> None:
    part = varied(1, 60)
    quarter = [("a", part + varied(2, 140)), ("b", part + varied(3, 140))]
    eighth = [("a", part + varied(2, 440)), ("b", part + varied(3, 440))]

    assert compared(quarter, tmp_path / "q") == [("r2", "note", "r1")]
    assert compared(eighth, tmp_path / "e") == []
