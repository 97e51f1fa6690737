"""A site is the same however many processes build it, whatever becomes of one of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.sandbox.processes import family
from kbsite import ahead, alarms
from kbsite.ahead import Ahead
from kbsite.build import Built, build
from kbsite.engines import Engine, Here, Lost, copies, crew, engine_of
from kbsite.engines.copies import Copies
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.store.runs import StoredRun
from kbsite.store.settings import Settings
from kbsite.transcripts import transcript
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

BROKEN = "mini-swe"
"""The harness of the run with which something goes wrong."""


def row(text: str) -> bytes:
    return b'{"type": "user", "message": {"content": "%s"}}\n' % text.encode()


@pytest.fixture(name="settings")
def _settings(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    settings = make_settings(tmp_path)
    monkeypatch.setattr(copies, "LEAST", 1)
    for number in range(5):
        log = row(f"round {number}") * (10 + 200 * (number == 3))
        make_run(settings.runs / "demo", model=f"m{number}", transcript={"stdout.jsonl": log})
    make_run(
        settings.runs / "demo", harness=BROKEN, model="b", transcript={"t.traj.json": b"{}"},
        audit={"verdict": "clean"},
    )  # fmt: skip
    (settings.runs / "demo" / "no-run").mkdir()
    (settings.runs / "demo" / "no-run" / "run.json").write_text("{")
    return settings


def made(settings: Settings, engine: Engine) -> tuple[Built, dict[str, str], list[tuple[int, int]]]:
    """What a build from nothing comes to, the site, and how far it was told to be."""
    told: list[tuple[int, int]] = []
    out = settings.out.with_name(f"site-{len(list(settings.out.parent.iterdir()))}")
    built = build(
        structs.replace(settings, out=out),
        lambda _, done, whole: told.append((done, whole)),
        engine=engine,
    )
    return built, tree(built.out), told


def failing(harness: str, files: Sequence[Any]) -> None:
    """In place of `transcript`: none can be read of one run."""
    if harness == BROKEN:
        raise ValueError(f"no such thing in {len(files)} files")


@pytest.mark.parametrize("wrong", [False, True])
def test_the_site_is_the_same_with_one_process_two_and_three(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *, wrong: bool
) -> None:
    if wrong:
        monkeypatch.setattr(ahead, "transcript", failing)
    alone, site, told = made(settings, Here())

    assert any("page cannot be made" in one.message for one in alone.findings) == wrong
    for jobs in (2, 3):
        built, other, others = made(settings, Copies(jobs))
        assert other == site
        assert others == told
        assert structs.replace(built, out=alone.out) == alone


def test_what_two_processes_made_is_kept_by_one_and_changed_by_three(settings: Settings) -> None:
    whole = build(settings, engine=Copies(2))
    chosen = structs.replace(settings, config=structs.replace(settings.config, jobs=7))
    again = build(chosen, engine=Here())

    assert again.work == structs.replace(whole.work, parsed=0, rendered=0, written=0, kept=0)
    log = next(settings.runs.rglob("stdout.jsonl"))
    log.write_bytes(log.read_bytes() + row("one more"))
    three = build(settings, engine=Copies(3))
    _, site, _ = made(settings, Here())
    assert (three.work.parsed, tree(settings.out)) == (1, site)


def dying(times: int, place: Path) -> Callable[..., None]:
    """In place of some work: kills the process that does it with one run, so many times."""
    here = os.getpid()

    def work(harness: str, *_: object) -> None:
        killed = len(list(place.glob("killed-*")))
        if harness == BROKEN and os.getpid() != here and killed < times:
            (place / f"killed-{killed}").touch()
            if times > 1:
                (place / "site.partial" / "runs" / "astray.html").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return work


def built_with_deaths(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, times: int
) -> tuple[dict[str, str], Built]:
    """The site as it is when nobody dies, and then built anew by two of whom some are killed."""

    def taken(work: Callable[..., None]) -> Callable[[Ahead, StoredRun], None]:
        return lambda _, stored: work(stored.run.harness)

    monkeypatch.setattr(Ahead, "take", taken(dying(0, settings.out.parent)))
    _, whole, _ = made(settings, Here())
    monkeypatch.setattr(Ahead, "take", taken(dying(times, settings.out.parent)))
    return whole, build(settings, engine=Copies(2))


def test_a_page_whose_process_was_killed_once_is_made_by_another(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = built_with_deaths(settings, monkeypatch, 1)

    assert (settings.out.parent / "killed-0").exists()
    assert tree(settings.out) == whole


def test_a_run_whose_transcript_is_read_ahead_by_who_is_killed_once_is_looked_over_by_another(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tree(build(settings, engine=Here(), fresh=True).out)
    killing = dying(1, settings.out.parent)

    def read(harness: str, *given: Any) -> Any:
        killing(harness)
        return transcript(harness, *given)

    monkeypatch.setattr(ahead, "transcript", read)

    assert tree(build(settings, engine=Copies(2), fresh=True).out) == whole
    assert (settings.out.parent / "killed-0").exists()


def test_a_page_whose_processes_are_killed_says_so_and_the_others_are_whole(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, built = built_with_deaths(settings, monkeypatch, 9)
    told = [one for one in built.findings if "killed (SIGKILL)" in one.message]
    site = tree(settings.out)

    assert len(list(settings.out.parent.glob("killed-*"))) == 2
    assert [one.path for one in told] == [f"runs/{_id(settings)}/index.html"]
    assert "killed (SIGKILL)" in (settings.out / told[0].path).read_text("utf-8")
    assert {path for path in whole if site.get(path) != whole[path]} <= {
        path for path in whole if path.startswith(f"runs/{_id(settings)}/")
    }
    assert site.keys() <= whole.keys()


def _id(settings: Settings) -> str:
    return next(path.name for path in (settings.runs / "demo").glob("*mini*"))


def test_a_run_that_kills_who_looks_it_over_is_told_and_looked_over_again_the_next_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()

    class Deadly:
        def alarms(self, evidence: Any) -> Any:
            if evidence.stored.run.harness == BROKEN and os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            yield from ()

    monkeypatch.setattr(alarms, "DETECTORS", (Deadly(),))
    built = build(settings, engine=Copies(2))
    told = [one for one in built.findings if "looked it over was killed" in one.message]
    (settings.runs / "demo" / "no-run" / "run.json").write_text("{{")

    assert {Path(one.path).name for one in told} == {_id(settings)}
    assert not [one for one in build(settings, engine=Here()).findings if "killed" in one.message]


def test_nothing_is_published_of_runs_that_nobody_could_look_for_secrets(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kbsite.hiding.looking.Seen.see", lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    )
    with pytest.raises(MachineError, match=r"what is to hide: killed \(SIGKILL\)"):
        build(settings, engine=Copies(2))

    assert not settings.out.exists()


# Copies by themselves.


def each(work: Callable[[int], Any], tasks: int, jobs: int = 2) -> dict[int, Any]:
    given: dict[int, Any] = {}
    Copies(jobs).each(work, range(tasks), [1] * tasks, given.__setitem__)
    return given


def test_more_tasks_than_a_pipe_holds_are_all_done_in_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)
    given = each(lambda number: (number * 2, os.getpid()), 20_000)

    assert {number: twice for number, (twice, _) in given.items()} == {
        number: number * 2 for number in range(20_000)
    }
    assert os.getpid() not in {process for _, process in given.values()}


def test_what_came_of_tasks_is_told_once_though_their_process_is_killed_before_it_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)
    monkeypatch.setattr(crew, "_TELL_AFTER", 60.0)
    marker = tmp_path / "killed"

    def work(number: int) -> int:
        if number == 150 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 2

    told: list[tuple[int, int | Lost]] = []
    Copies(2).each(work, range(200), [1] * 200, lambda *given: told.append(given))

    assert marker.exists()
    assert sorted(told) == [(number, number * 2) for number in range(200)]


def test_small_tasks_are_told_together_and_long_ones_when_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)
    heard: list[float] = []
    each_one = crew.Crew._hear

    def hear(one: crew.Crew[int, int], copy: crew._Copy, data: bytes) -> None:
        heard.append(time.monotonic())
        each_one(one, copy, data)

    monkeypatch.setattr(crew.Crew, "_hear", hear)
    each(lambda number: number, 5_000)
    assert len(heard) < 500

    def work(number: int) -> bool:
        """Whether the first is told before the second is done, which waits for that."""
        time.sleep(0.1)
        end = time.monotonic() + 60
        while number and not (tmp_path / "0").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return (tmp_path / "0").exists()

    told: dict[int, bool | Lost] = {}

    def hear_of(number: int, was_told: bool | Lost) -> None:
        (tmp_path / str(number)).touch()
        told[number] = was_told

    Copies(1).each(work, range(2), [2, 1], hear_of)
    assert told == {0: False, 1: True}


def test_what_work_raises_is_raised_here_and_nobody_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)

    def work(number: int) -> None:
        if number == 3:
            raise InputError("wrong", path="a.yaml", line=3)
        time.sleep(0.01)

    before = set(family(os.getpid()))
    with pytest.raises((InputError, RuntimeError), match=r"a\.yaml:3: wrong"):
        each(work, 1000)
    assert set(family(os.getpid())) <= before


def test_a_key_that_ends_the_build_leaves_nobody_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)

    def told(_: int, __: Lost | None) -> None:
        raise KeyboardInterrupt

    before = set(family(os.getpid()))
    with pytest.raises(KeyboardInterrupt):
        Copies(2).each(lambda number: time.sleep(number * 60), range(2), [1, 2], told)
    assert set(family(os.getpid())) <= before


def test_where_no_process_can_be_made_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refused)
    assert each(lambda _: os.getpid(), 3) == dict.fromkeys(range(3), os.getpid())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux ends them at once")
def test_nobody_outlives_a_process_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1)

    def work(_: int) -> None:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    process = get_context("fork").Process(target=lambda: each(work, 2))
    process.start()
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.01)
    process.kill()
    process.join()
    left = [path.name for path in tmp_path.iterdir()]
    end = time.monotonic() + 20
    while any(_lives(one) for one in left) and time.monotonic() < end:
        time.sleep(0.01)

    assert not [one for one in left if _lives(one)]


def _lives(process: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


# How many.


def test_how_many_processes_build_is_said_by_the_option_then_the_variable_then_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kbsite.engines.local.cores", lambda: 5)
    monkeypatch.delenv("KBSITE_JOBS", raising=False)

    assert engine_of() == Copies(5)
    assert engine_of(otherwise=3) == Copies(3)
    monkeypatch.setenv("KBSITE_JOBS", "4")
    assert engine_of(otherwise=3) == Copies(4)
    assert engine_of(2, 3) == Copies(2)
    assert engine_of(1) == Here()
    for wrong in ("0", "two", "-1", "²"):
        monkeypatch.setenv("KBSITE_JOBS", wrong)
        with pytest.raises(UsageError, match="KBSITE_JOBS: expected how many"):
            engine_of()


@pytest.mark.parametrize(
    ("weights", "jobs", "alone"),
    [
        ([9], 2, [0]),
        ([5, 5], 2, []),
        ([5, 5, 5], 2, [2]),
        ([9, 1, 1], 2, [0, 2]),
        ([1] * 8, 3, [7]),
    ],
)
def test_more_than_one_core_may_work_at_what_others_would_wait_for(
    weights: list[int], jobs: int, alone: list[int]
) -> None:
    assert list(copies._alone(weights, jobs)) == alone
