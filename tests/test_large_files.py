"""A file of a run that is too large for a site: the run stays, and says that it is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.model.finding import Severity
from kbsite.regular import LIMIT_BYTES
from kbsite.single_file import write
from kbsite.store.records import InvalidFileError
from kbsite.store.settings import Settings, read_settings
from kbsite.verifying import verify
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

LARGE = LIMIT_BYTES + 1
WHY = f"not read: of more bytes than most_file_bytes of kbsite.yaml allows, {LIMIT_BYTES}"


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path, site={"most_file_bytes": LIMIT_BYTES})
    make_run(
        settings.runs / "demo", run_id="one", audit={},
        files={"files/core.bin": b"x" * LARGE, "files/small.py": b"x = 1\n"},
    )  # fmt: skip
    return settings


def _allowing(settings: Settings, most: int) -> Settings:
    text = settings.path.read_text()
    settings.path.write_text(text.replace(str(settings.config.most_file_bytes), str(most)))
    return read_settings(settings.path)


def test_it_is_left_out_and_told_and_the_run_stays(settings: Settings) -> None:
    built = build(settings)
    raw = built.out / "runs" / "one" / "raw" / "files"

    assert [path.name for path in raw.iterdir()] == ["small.py"]
    assert [(one.severity, Path(one.path).name, one.message) for one in built.findings] == [
        (Severity.WARNING, "core.bin", WHY)
    ]
    assert WHY in (built.out / "runs" / "one" / "index.html").read_text("utf-8")


def test_it_comes_and_goes_with_what_kbsite_yaml_allows(settings: Settings) -> None:
    first = tree(build(settings).out)
    more = _allowing(settings, LARGE)
    held = build(more)
    large = held.out / "runs" / "one" / "raw" / "files" / "core.bin.txt"

    assert (held.findings, large.stat().st_size) == ((), LARGE)
    assert tree(build(_allowing(more, LIMIT_BYTES)).out) == first


def test_the_next_build_has_nothing_to_do_and_a_changed_run_leaves_it_out_again(
    settings: Settings,
) -> None:
    build(settings)
    again = build(settings)
    os.utime(settings.runs / "demo" / "one" / "files" / "core.bin", ns=(1, 1))
    touched = build(settings)
    (settings.runs / "demo" / "one" / "solution.py").write_text("# another\n")
    changed = build(settings)

    assert again.work.written == 0
    assert touched.findings == again.findings
    assert [one.message for one in changed.findings] == [WHY]


def test_a_site_without_it_is_verified_and_what_is_missed_is_a_warning(settings: Settings) -> None:
    """So is one with a link, which no site holds either."""
    (settings.runs / "demo" / "one" / "link").symlink_to("/etc/passwd")
    site = build(settings).out

    told = {one.path: (one.severity, one.message) for one in verify(FolderPlace(site))}
    # Its id, which is none that kbsite gives, is told as well.
    assert told.pop("runs/one/raw/run.json")[0] is Severity.WARNING
    assert told == {
        "runs/one/raw/files/core.bin.txt": (Severity.WARNING, f"{WHY}; the manifest lists it")
    }


def test_one_file_of_a_run_says_it_too(settings: Settings, tmp_path: Path) -> None:
    written = write(settings, "one", tmp_path / "one.html")

    assert [one.message for one in written.findings] == [WHY]


def test_a_bound_below_that_of_records_is_refused(settings: Settings) -> None:
    with pytest.raises(InvalidFileError, match=r"most_file_bytes: expected at least"):
        _allowing(settings, 1000)
