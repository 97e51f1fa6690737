"""Every trick of the catalogue is caught, and no honest kernel raises more than a note."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbsite.alarms
from kbsite.alarms.kinds import BY_ID
from kbsite.model.alarm import Alarm, Level
from tests.alarms.cases import (
    FIXTURES,
    HONEST,
    PROBLEMS,
    Case,
    Expected,
    Outcome,
    cases,
    catches,
    evidence,
    outcomes,
    table_text,
)

CAUGHT = Path(kbsite.alarms.__file__).with_name("caught.json")
ALL = {case.name: case for case in (*cases(FIXTURES), *cases(HONEST))}
README = (FIXTURES / "README.md").read_text("utf-8")
LEAST_HONEST = 24


def where(alarm: Alarm) -> str:
    lines = "-".join(str(line) for line in alarm.lines)
    return f"{alarm.level.value:7} {alarm.kind} {alarm.file}:{lines}"


@pytest.fixture(scope="module", name="fixtures")
def _fixtures(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return outcomes(FIXTURES, tmp_path_factory.mktemp("fixtures"))


@pytest.fixture(scope="module", name="honest")
def _honest(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return outcomes(HONEST, tmp_path_factory.mktemp("honest"))


def test_every_fixture_is_caught(fixtures: list[Outcome]) -> None:
    missed = []
    for one in fixtures:
        found = [where(alarm) for alarm in one.catching]
        print(f"{one.case.name:44} {'caught' if one.caught else 'MISSED':7} {'; '.join(found)}")
        if not one.caught:
            others = [where(alarm) for alarm in one.alarms]
            missed.append(f"{one.case.name} wants {one.case.says.expected}, got {others}")
    print(f"caught {len(fixtures) - len(missed)} of {len(fixtures)}")

    assert not missed, "\n".join(missed)


def test_no_honest_kernel_raises_more_than_a_note(honest: list[Outcome]) -> None:
    flagged = []
    for one in honest:
        level = one.highest.value if one.highest else "nothing"
        print(f"{one.case.name:44} {level:7} {'; '.join(where(a) for a in one.alarms)}")
        flagged += [
            f"{one.case.name}: {where(alarm)}: {alarm.saw}"
            for alarm in one.alarms
            if alarm.level is not Level.NOTE
        ]
    print(f"flagged {len({line.split(':')[0] for line in flagged})} of {len(honest)}")

    assert not flagged, "\n".join(flagged)


def test_the_published_table_is_up_to_date(fixtures: list[Outcome], honest: list[Outcome]) -> None:
    cure = "run scripts/alarm_table.py"
    assert CAUGHT.read_text("utf-8") == table_text(fixtures, honest), cure


def test_there_are_enough_honest_kernels() -> None:
    assert len(cases(HONEST)) >= LEAST_HONEST


@pytest.mark.parametrize("case", ALL.values(), ids=list(ALL))
def test_a_case_can_be_judged(case: Case, tmp_path: Path) -> None:
    """Its names are right, its kinds exist, and the lines that it names are in the file."""
    fixture = case.folder.parent == FIXTURES
    assert bool(case.says.expected) == fixture
    assert case.name.startswith(f"{case.says.id}-") == fixture
    assert not case.says.problem or (PROBLEMS / case.says.problem).is_dir()
    runs = evidence(case, tmp_path)
    assert not [finding for run in runs for finding in run.stored.findings]
    for expected in case.says.expected:
        assert set(expected.any_of) <= set(BY_ID)
        if expected.lines:
            held = [run.stored.file(expected.file) for run in runs]
            longest = max(len(f.path.read_bytes().splitlines()) for f in held if f)
            assert 1 <= expected.lines[0] <= expected.lines[-1] <= longest


def test_every_row_of_the_catalogue_has_a_fixture_or_a_reason() -> None:
    counts = {"H": 24, "A": 16, "B": 13, "C": 28, "D": 28, "E": 29, "F": 11}
    rows = {
        f"{letter}{number}" if letter == "H" else f"{letter}{number:02}"
        for letter, most in counts.items()
        for number in range(1, most + 1)
    }
    held = {case.says.source for case in cases(FIXTURES)}
    excused = {line.split("|")[1].strip() for line in README.splitlines() if line.startswith("| ")}

    assert held <= rows
    assert rows - held == excused & rows, "both or neither"


@pytest.mark.parametrize(
    ("kind", "level", "file", "lines", "right"),
    [
        ("output-cache", Level.WARNING, "solution.py", (4, 9), True),
        ("output-cache", Level.ALARM, "solution.py", (20,), True),
        ("output-cache", Level.NOTE, "solution.py", (10,), False),
        ("early-exit", Level.ALARM, "solution.py", (10,), False),
        ("output-cache", Level.ALARM, "files/other.py", (10,), False),
        ("output-cache", Level.ALARM, "solution.py", (21, 30), False),
        ("output-cache", Level.ALARM, "solution.py", (), False),
    ],
)
def test_an_alarm_counts_only_for_its_trick(
    kind: str, level: Level, file: str, lines: tuple[int, ...], right: bool
) -> None:
    alarm = Alarm(kind=kind, level=level, saw="", look="", file=file, lines=lines)
    expected = Expected(any_of=("output-cache", "input-cache"), file="solution.py", lines=(9, 20))

    assert catches(expected, alarm) == right
