"""Runs are looked over once, again when something changed, and never at the cost of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kbsite import alarms, lookout
from kbsite.alarms import Fingerprint
from kbsite.alarms.evidence import Evidence
from kbsite.build import build
from kbsite.engines import copies
from kbsite.engines.copies import Copies
from kbsite.lookout import one_run
from kbsite.model.alarm import Alarm, Level
from kbsite.reading import evidence, looked_over, lookout_of, read
from kbsite.standing import Program, program, record_path
from kbsite.store.inputs import Input
from kbsite.store.problems import read_problem
from kbsite.store.run_folders import SOLUTION
from kbsite.store.settings import Settings
from tests.conftest import MakeFloors, MakeRun, MakeSettings

SEEN: list[str] = []
"""The runs that a detector looked at, in order."""


def alarm(run_id: str, level: Level = Level.WARNING, other: str = "") -> Alarm:
    return Alarm(kind="fallback", level=level, saw=f"Saw {run_id}.", look="Look.", other=other)


class Watcher:
    """Notices every run, and writes down when."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        SEEN.append(evidence.stored.run.id)
        yield alarm(evidence.stored.run.id, Level.NOTE)


class Slipping:
    """Falls over what one run holds, after it found something."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        yield alarm("slipping")
        if "slip" in evidence.sources[0].text:
            raise RecursionError("a\nmile deep")


class Twins:
    """Compares sources as they are."""

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        SEEN.append(f"print of {evidence.stored.run.id}")
        return {"source": (evidence.sources[0].text, 1, 2.5)} if evidence.sources else {}

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        assert list(runs) == sorted(runs)
        for one, held in runs.items():
            for other, its in runs.items():
                if one < other and held == its:
                    yield one, alarm(one, Level.ALARM, other)


class Torn:
    """A comparison that fails."""

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        return {"n": (len(evidence.sources),)}

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        yield next(iter(runs)), alarm("torn")
        raise KeyError("gone")


@pytest.fixture(autouse=True)
def watchers(monkeypatch: pytest.MonkeyPatch) -> None:
    SEEN.clear()
    monkeypatch.setattr(alarms, "DETECTORS", (Watcher(),))
    monkeypatch.setattr(alarms, "COMPARISONS", (Twins(),))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    held = read_problem(settings.problems / "softmax").hash
    for model in ("a", "b"):
        make_run(settings.runs / "demo", model=model, files={"notes.txt": b"n"}, problem_hash=held)
    return settings


def folder_of(settings: Settings, model: str) -> Path:
    return next(settings.runs.glob(f"demo/*_{model}_*"))


def looked_at() -> list[str]:
    """The models whose runs were looked at since the last time."""
    found = sorted(name.split("_")[3] for name in SEEN if not name.startswith("print"))
    prints = sorted(name.split("_")[3] for name in SEEN if name.startswith("print"))
    SEEN.clear()
    assert prints == found
    return found


# What is found reaches the site.


def test_what_is_found_stands_on_the_site_and_on_the_board_the_heaviest_first(
    settings: Settings,
) -> None:
    site = read(settings, lookout_of(settings))
    first, second = (folder_of(settings, model).name for model in "ab")
    cells = {cell.shown.run.id: cell for _, _, cell in site.boards[0].cells}

    assert [(one.level, one.other) for one in site.alarms[first]] == [
        (Level.ALARM, second), (Level.NOTE, ""),
    ]  # fmt: skip
    assert [one.level for one in site.alarms[second]] == [Level.NOTE]
    assert cells[first].shown.alarms == site.alarms[first]
    assert (cells[first].shown.flagged, cells[second].shown.flagged) == (True, False)


def test_without_a_lookout_nobody_looks(settings: Settings) -> None:
    site = read(settings)

    assert (site.alarms, site.proofs, SEEN) == ({}, {}, [])


def test_one_run_by_itself_is_looked_over_and_no_other(settings: Settings) -> None:
    site = read(settings)
    site = looked_over(site, site.runs[0])

    assert looked_at() == ["a"]
    assert list(site.alarms) == [site.runs[0].run.id]


def test_what_detectors_read_of_a_run_is_not_kept_when_they_are_done(settings: Settings) -> None:
    site = read(settings)
    seen = [evidence(site, stored) for stored in site.runs]
    lookout.Lookout().look(seen)

    assert SEEN
    assert [set(vars(one)) & {"sources", "transcript"} or one.shared for one in seen] == [
        {} for _ in seen
    ]


def test_a_run_is_seen_with_its_problem_and_the_eager_floor_of_its_hardware(
    settings: Settings, make_floors: MakeFloors
) -> None:
    floor = {"kind": "eager", "problem": "softmax"}
    make_floors(
        settings.runs / "demo",
        {**floor, "hardware": "gpu-b", "peak_fraction": 0.9},
        {**floor, "kind": "compiled", "peak_fraction": 0.8},
        {**floor, "hardware": "gpu-a", "peak_fraction": 0.2},
    )
    site = read(settings)
    seen = evidence(site, site.runs[0])

    assert seen.problem is site.problems["softmax"]
    assert seen.eager == 0.2


# Again only where something changed.


def test_a_second_build_looks_at_nothing_and_finds_the_same(
    settings: Settings, make_run: MakeRun
) -> None:
    build(settings)
    first = read(settings, lookout_of(settings)).alarms
    SEEN.clear()
    make_run(settings.runs / "demo", model="new", files={"solution.py": b"x = 1\n"})
    build(settings)

    assert looked_at() == ["new"]
    assert first.items() <= read(settings, lookout_of(settings)).alarms.items()
    assert looked_at() == []


def test_a_changed_file_and_only_its_run_is_looked_at(settings: Settings) -> None:
    build(settings)
    SEEN.clear()
    (folder_of(settings, "b") / "notes.txt").write_text("other")
    build(settings)

    assert looked_at() == ["b"]


def test_sources_are_looked_into_where_they_changed_and_only_there(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    into: list[str] = []

    class Reader:
        def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
            into.append(evidence.stored.run.model)
            yield alarm(evidence.sources[0].text)

    def told() -> list[str]:
        """What stands on the site of the second run, once it is built."""
        build(settings)
        held = read(settings, lookout_of(settings)).alarms[changed.name]
        return sorted(one.saw for one in held)

    monkeypatch.setattr(alarms, "DETECTORS", (alarms._OfSources(Reader), Watcher()))
    changed = folder_of(settings, "b")
    text, watched = (changed / SOLUTION).read_text(), f"Saw {changed.name}."
    assert (told(), into) == (sorted([f"Saw {text}.", watched]), ["a", "b"])

    (changed / "notes.txt").write_text("other")
    SEEN.clear()
    assert (told(), into) == (sorted([f"Saw {text}.", watched]), ["a", "b"])
    assert looked_at() == ["b"]

    (changed / SOLUTION).write_text("other = 1")
    assert (told(), into) == (sorted(["Saw other = 1.", watched]), ["a", "b", "b"])


def test_an_audit_is_proven_anew_and_the_run_is_not_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    SEEN.clear()
    proven: list[str] = []

    def proofs(stored: Any) -> tuple[()]:
        proven.append(stored.run.id)
        return ()

    monkeypatch.setattr(one_run, "proofs", proofs)
    audited = folder_of(settings, "a")
    (audited / "audit.yaml").write_text("verdict: clean\nsummary: s\nauditor: a\n")
    build(settings)

    assert (looked_at(), proven) == ([], [audited.name])


def test_a_changed_floor_and_a_changed_problem_have_their_runs_looked_at(
    settings: Settings, make_floors: MakeFloors
) -> None:
    build(settings)
    SEEN.clear()
    make_floors(
        settings.runs / "demo", {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1}
    )
    build(settings)
    assert looked_at() == ["a", "b"]

    (settings.problems / "softmax" / "reference.py").write_text("def reference(x): ...\n")
    build(settings)
    assert looked_at() == ["a", "b"]


def test_other_code_looks_at_everything(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    SEEN.clear()
    own = program({}).files
    other = Program({**own, "other.py": Input(size=0, changed=0, digest="other")})
    monkeypatch.setattr("kbsite.build.program", lambda *_: other)
    build(settings)

    assert looked_at() == ["a", "b"]


def test_a_run_that_is_gone_is_compared_with_no_more(settings: Settings) -> None:
    build(settings)
    gone = folder_of(settings, "b")
    for path in sorted(gone.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    gone.rmdir()
    build(settings)
    site = read(settings, lookout_of(settings))

    assert [one.level for one in site.alarms[folder_of(settings, "a").name]] == [Level.NOTE]
    assert gone.name not in record_path(settings.out).read_text()


class Counting(Twins):
    """Writes down whose sources it compares."""

    def __init__(self) -> None:
        self.compared: list[list[str]] = []

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        self.compared.append(sorted(run_id.split("_")[3] for run_id in runs))
        return super().alarms(runs)


def test_runs_are_compared_anew_where_a_run_of_their_problem_changed_and_nowhere_else(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting()
    monkeypatch.setattr(alarms, "COMPARISONS", (counting,))
    for model in ("c", "d"):
        make_run(settings.runs / "demo", model=model, problem="other")
    build(settings)
    assert counting.compared == [["a", "b"], ["c", "d"]]
    own = {one: read(settings, lookout_of(settings)).alarms[folder_of(settings, one).name]
           for one in "ac"}  # fmt: skip
    counting.compared.clear()

    (folder_of(settings, "d") / SOLUTION).write_text("another = 1\n")
    build(settings)

    assert counting.compared == [["c", "d"]]
    now = read(settings, lookout_of(settings)).alarms
    assert now[folder_of(settings, "a").name] == own["a"]
    assert [one.level for one in own["c"]] == [Level.ALARM, Level.NOTE]
    assert [one.level for one in now[folder_of(settings, "c").name]] == [Level.NOTE]


# What goes wrong.


@pytest.fixture(name="slipping")
def _slipping(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(alarms, "DETECTORS", (Slipping(), Watcher()))
    (folder_of(settings, "a") / SOLUTION).write_text("slip\n")
    return settings


def test_a_detector_that_fails_is_told_and_stops_neither_the_others_nor_the_build(
    slipping: Settings,
) -> None:
    built = build(slipping)
    run = folder_of(slipping, "a")
    [told] = [one for one in built.findings if "looked for" in one.message]
    site = read(slipping, lookout_of(slipping))

    assert told.path == str(run)
    assert told.message == "not all alarms could be looked for: RecursionError: a\\nmile deep"
    assert [one.saw for one in site.alarms[run.name]] == ["Saw slipping.", f"Saw {run.name}."]
    assert (built.out / "runs" / run.name / "index.html").is_file()


def test_what_failed_is_told_again_by_a_build_with_nothing_to_look_at(slipping: Settings) -> None:
    first = build(slipping)
    (folder_of(slipping, "b") / "notes.txt").write_text("other")
    again = build(slipping)

    assert again.findings == first.findings
    assert build(slipping).findings == first.findings


def test_a_comparison_that_fails_is_told_once_and_what_it_found_is_kept(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "COMPARISONS", (Torn(), Twins()))
    make_run(settings.runs / "demo", model="c", problem="other")
    site = read(settings, lookout_of(settings))

    assert [one.message for one in site.findings] == [
        "not all alarms could be looked for: KeyError: 'gone'"
    ]
    assert [one.saw for one in site.alarms[folder_of(settings, "a").name]][:2] == [
        f"Saw {folder_of(settings, 'a').name}.", "Saw torn.",
    ]  # fmt: skip


def test_without_somebody_to_tell_a_failure_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "COMPARISONS", (Torn(),))
    with pytest.raises(KeyError):
        alarms.compare({"a": [{"n": (1,)}]})


def test_quotes_that_cannot_be_proven_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def proofs(stored: Any) -> tuple[()]:
        raise OSError(f"no {stored.run.model}")

    monkeypatch.setattr(one_run, "proofs", proofs)
    told = [one.message for one in build(settings).findings if "quotes" in one.message]

    assert told == [f"its quotes were not proven: OSError: no {model}" for model in "ab"]


# Many runs.


def test_many_runs_are_looked_over_alike_with_a_second_core_and_without(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        make_run(settings.runs / "demo", model=f"m{number}", files={"notes.txt": b"n"})
    monkeypatch.setattr(copies, "LEAST", 1)
    alone = read(settings, lookout_of(settings))
    beside = read(settings, replace(lookout_of(settings), engine=Copies(2)))

    assert len(alone.alarms) == 8
    assert beside.alarms == alone.alarms
    assert list(beside.alarms) == list(alone.alarms)


def test_runs_whose_files_are_not_known_are_always_looked_at(settings: Settings) -> None:
    known = lookout_of(settings)
    site = read(settings)
    seen = known.look([evidence(site, stored) for stored in site.runs])
    SEEN.clear()
    blind = replace(known, inputs={}, before=seen.noticed)
    blind.look([evidence(site, stored) for stored in site.runs])

    assert looked_at() == ["a", "b"]


# How far it is.


def test_each_run_that_is_looked_over_is_told_and_none_that_was_before(
    settings: Settings, make_run: MakeRun
) -> None:
    told: list[tuple[str, int, int]] = []
    tick = lambda *one: told.append(one)  # noqa: E731 - what a test writes down
    build(settings, tick)
    first, second = (folder_of(settings, model).name for model in "ab")

    assert told[:2] == [(first, 1, 2), (second, 2, 2)]
    assert all(name.endswith((".html", ".js")) for name, _, _ in told[2:])
    assert told[-1][1] == told[-1][2] == len(told) - 2

    told.clear()
    third = make_run(settings.runs / "demo", model="c", files={"notes.txt": b"n"})
    read(settings, lookout_of(settings), tick)
    assert told == [(third.name, 1, 1)]


def test_a_run_with_one_file_that_is_not_known_is_looked_at_again(settings: Settings) -> None:
    known = lookout_of(settings)
    site = read(settings)
    seen = known.look([evidence(site, stored) for stored in site.runs])
    SEEN.clear()
    hidden = str(folder_of(settings, "b").absolute() / "notes.txt")
    partly = {path: held for path, held in known.inputs.items() if path != hidden}
    assert len(partly) == len(known.inputs) - 1
    again = replace(known, inputs=partly, before=seen.noticed)
    found = again.look([evidence(site, stored) for stored in site.runs])

    assert looked_at() == ["b"]
    assert found.alarms == seen.alarms


def test_what_was_found_the_last_time_is_taken_over_as_it_was(settings: Settings) -> None:
    known = lookout_of(settings)
    site = read(settings)
    runs = [evidence(site, stored) for stored in site.runs]
    seen = known.look(runs)
    name = site.runs[0].run.id
    held = seen.noticed[name]
    other = replace(held, scan=replace(held.scan, alarms=(alarm("before", Level.ALARM),)))
    again = replace(known, before={**seen.noticed, name: other}).look(runs)

    assert "Saw before." in [one.saw for one in again.alarms[name]]
    assert again.noticed[name] is other


def test_nothing_is_seen_in_no_runs() -> None:
    seen = lookout.Lookout().look([])

    assert (seen.alarms, seen.proofs, seen.findings, seen.noticed) == ({}, {}, (), {})
