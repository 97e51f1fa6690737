"""Files that change while a build reads them: the next build is right, whatever happened then."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from kbsite import hiding
from kbsite.build import build, making
from kbsite.build.page_making import PageMaking
from kbsite.record import Memory
from kbsite.store import rested
from kbsite.store.settings import CONFIG, Settings
from kbsite.store.steady import moment, wait_past
from tests.conftest import MakeRun, MakeSettings
from tests.test_incremental import from_nothing
from tests.trees import tree

Way = Callable[[Path], AbstractContextManager[None]]
"""How something is another for a while."""

ANSWER = b'{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"}]}}\n'


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    quote = {"label": "The call.", "file": "solution.py", "lines": [1, 1], "text": "def solve(x):"}
    make_run(
        settings.runs / "demo", run_id="one", transcript={"stdout.jsonl": ANSWER},
        files={"solution.py": b"def solve(x):\n    return x\n", "check.log": b"PASS\n"},
        audit={"quotes": [quote]},
    )  # fmt: skip
    make_run(settings.runs / "demo", run_id="two")
    floors = '{"format": 1, "floors": []}'
    (settings.runs / "demo" / "floors.json").write_text(floors)
    return settings


def test_a_moment_lies_between_the_times_of_what_changed_before_and_after_it(
    tmp_path: Path,
) -> None:
    for number in range(20):
        before, after = tmp_path / f"{number} before", tmp_path / f"{number} after"
        time.sleep(0.0053)  # not in step with the ticks of the system's clock
        before.mkdir()
        (before / "file").touch()
        since = moment()
        wait_past(since)
        after.mkdir()
        (after / "file").touch()
        for path in (before, before / "file"):
            assert path.stat().st_ctime_ns <= since
        for path in (after, after / "file"):
            assert path.stat().st_ctime_ns >= since


def test_nobody_waits_for_a_clock_that_was_set_back() -> None:
    begun = time.monotonic()
    wait_past(moment() + 3600 * 10**9)
    assert time.monotonic() - begun < 60


@contextmanager
def other(path: Path) -> Iterator[None]:
    """For a while something else is in a place, which is then what it was, its times too."""
    aside = path.parents[2] / f"aside-{path.name}"
    path.rename(aside)
    if aside.is_file():
        path.write_text("odd: [\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        aside.rename(path)


@contextmanager
def missing(path: Path) -> Iterator[None]:
    """For a while nothing is in a place."""
    with other(path):
        path.unlink(missing_ok=True)
        yield


def beside(path: Path) -> Path:
    """A place beside another one, for another of its kind."""
    return path.with_name("new.py" if path.is_file() else "new")


@contextmanager
def more(path: Path) -> Iterator[None]:
    """For a while there is something new beside what is in a place."""
    new = beside(path)
    if path.is_dir():
        shutil.copytree(path, new)
    else:
        new.write_text("x = 1\n")
    try:
        yield
    finally:
        shutil.rmtree(new, ignore_errors=True)
        new.unlink(missing_ok=True)


MADE: dict[str, dict[str, str]] = {}


def anew(settings: Settings) -> dict[str, str]:
    """What a build that knows of none before makes; the same input is built once."""
    home = settings.runs.parent
    given = [tree(folder) for folder in (settings.runs, home / "problems")]
    of = str([*given, (home / CONFIG).read_bytes()])
    if of not in MADE:
        MADE[of] = from_nothing(settings)
    return MADE[of]


PLACES = (
    "runs/demo/one", "runs/demo/one/run.json", "runs/demo/one/solution.py",
    "runs/demo/one/audit.yaml", "runs/demo/one/metrics.json", "runs/demo/one/check.log",
    "runs/demo/one/transcript/stdout.jsonl", "runs/demo/floors.json",
    "problems/softmax/prompt.md", "problems/softmax/problem.yaml",
)  # fmt: skip
MOMENTS = {
    "what is hidden is looked for": (hiding, "hiding_of"),
    "runs are read": (making, "read_noticing"),
    "pages are made": (PageMaking, "make"),
}


@contextmanager
def meanwhile(moment: str, way: Way, path: Path) -> Iterator[None]:
    """Where something is done in a build, the files are other ones for as long as that takes."""
    owner, name = MOMENTS[moment]
    work: Callable[..., object] = getattr(owner, name)

    def done(*given: object, **named: object) -> object:
        with way(path):
            return work(*given, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, done)
        yield


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("way", [other, missing, more])
@pytest.mark.parametrize("place", PLACES)
def test_what_changed_while_it_was_read_is_right_in_the_next_build(
    settings: Settings, place: str, way: Way, moment: str
) -> None:
    with meanwhile(moment, way, settings.runs.parent / place):
        build(settings)
    assert build(settings).findings == ()
    assert tree(settings.out) == anew(settings)
    again = build(settings)
    assert again.work.written == again.work.parsed == again.work.rendered == 0


@pytest.mark.parametrize("way", [other, missing, more])
@pytest.mark.parametrize("place", PLACES[:2])
def test_it_is_so_where_nobody_reads_the_names_in_folders_that_rest(
    settings: Settings, place: str, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", 1)
    build(settings)
    (settings.runs / "demo" / "one" / "check.log").write_text("PASS, again\n")
    with meanwhile("runs are read", way, settings.runs.parent / place):
        build(settings)
    assert build(settings).findings == ()
    assert tree(settings.out) == anew(settings)


@pytest.mark.parametrize("way", [other, missing, more])
@pytest.mark.parametrize("place", PLACES)
def test_who_watches_is_right_once_it_is_told_of_what_changed_meanwhile(
    settings: Settings, place: str, way: Way
) -> None:
    path, memory = settings.runs.parent / place, Memory()
    build(settings, memory=memory)
    changed = settings.runs / "demo" / "one" / "check.log"
    changed.write_text("PASS, again\n")
    with meanwhile("runs are read", way, path):
        memory.hear([str(changed)])
        build(settings, memory=memory)
    memory.hear([str(beside(path) if way is more else path)])
    assert build(settings, memory=memory).findings == ()
    assert tree(settings.out) == anew(settings)
