"""Runs from a bucket make the site that runs in a folder make; a bucket holds it byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kbsite.build import build
from kbsite.cli import kbsite
from kbsite.errors import UsageError
from kbsite.store.locations import Location
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.object_storage.conftest import SECRET, Storage
from tests.object_storage.sites import site_of, write_site

ROWS = b'{"type": "user", "message": {"content": "begin"}}\n'


def command(*words: str) -> Result:
    return CliRunner().invoke(kbsite, list(words), catch_exceptions=False)


@pytest.fixture
def made(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    """Two runs in a folder, one of them with a large file, and a site beside them."""
    settings = make_settings(tmp_path)
    board = settings.runs / "demo"
    make_run(board, transcript={"stdout.jsonl": ROWS}, audit={})
    make_run(board, model="other", files={"profile.bin": bytes(1_000_001)})
    return settings


def local(settings: Settings) -> dict[str, bytes]:
    """A local build, by paths within the site."""
    out = build(settings).out
    paths = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}


def test_a_site_made_from_a_bucket_and_published_is_the_one_that_folders_make(
    made: Settings, storage: Storage
) -> None:
    storage.put_folder(made.runs, "of/runs")
    config = str(made.path)
    runs, out = storage.url("of/runs"), storage.url("site")
    first = command("build", "--config", config, "--runs", runs, "--out", out)
    published = storage.held("site")
    manifest = published.pop(".kbsite-published.json")

    assert first.exit_code == 0, first.output
    assert published == local(made)
    assert first.stdout.splitlines() == [storage.url("site/index.html")]
    assert SECRET not in first.output
    assert not any(SECRET.encode() in data for data in (manifest, *published.values()))

    # The same places in kbsite.yaml: nothing is left to do.
    made.path.write_text(f"runs: {runs}\nout: {out}\n{made.path.read_text()}")
    storage.service.forget()
    again = command("build", "--config", config)

    assert again.exit_code == 0
    assert "0 files written" in again.stderr
    assert storage.service.asked("PUT") == storage.service.asked("DELETE") == []
    assert storage.service.asked("GET") == ["site/.kbsite-published.json"]

    # A word in an audit: one file comes, and what shows it goes.
    (audit,) = made.runs.rglob("audit.yaml")
    audit.write_text(audit.read_text().replace("A. Reader", "B. Reader"))
    before = storage.look("site")
    key = f"of/runs/{audit.relative_to(made.runs).as_posix()}"
    storage.put(key, audit.read_bytes())
    storage.service.forget()
    command("build", "--config", config)
    sent = [key.removeprefix("site/") for key in storage.service.asked("PUT")]
    after = storage.look("site")
    changed = {key for key in after if after[key] != before.get(key)}

    assert storage.service.asked("GET") == [key, "site/.kbsite-published.json"]
    assert sorted(sent) == sorted(changed | {".kbsite-publishing.json"})
    assert 3 < len(changed) < len(after) / 2
    assert (sent[0], sent[-1]) == (".kbsite-publishing.json", ".kbsite-published.json")
    assert any(b"B. Reader" in data for data in after.values())


def test_settings_name_the_copies_of_buckets(made: Settings, storage: Storage) -> None:
    text = made.path.read_text()
    made.path.write_text(f"runs: {storage.url('of/runs')}\nstorage: {{cache: kept}}\n{text}")
    settings = read_settings(made.path)

    assert settings.runs.name == "runs"
    assert settings.runs.parent.parent == made.path.parent / "kept"
    assert settings.runs_at is not None
    assert settings.out_at is None
    assert settings.out == made.path.parent / "site"


def test_a_strict_build_that_finds_something_is_not_published(
    made: Settings, storage: Storage
) -> None:
    (made.runs / "demo" / "20260101_000000_broken").mkdir()
    (made.runs / "demo" / "20260101_000000_broken" / "run.json").write_text("{")
    out = storage.url("site")
    failed = command("build", "--config", str(made.path), "--out", out, "--strict")

    assert failed.exit_code == 11
    assert "not published" in failed.stderr
    assert storage.look("site") == {}

    # A plain one publishes the other runs, and its exit code tells of this one all the same.
    told = command("build", "--config", str(made.path), "--out", out)
    assert told.exit_code == 11
    assert "index.html" in storage.look("site")


def test_publish_sends_a_site_that_stands(tmp_path: Path, storage: Storage) -> None:
    files = site_of(1, range(1))
    site = write_site(tmp_path / "site", files)
    first = command("publish", str(site), storage.url("site"))
    held = storage.look("site")

    assert first.exit_code == 0
    assert first.stdout.splitlines() == [storage.url("site/index.html")]
    assert "8 files sent" in first.stderr
    assert {name: held[name].decode() for name in files} == files
    with pytest.raises(UsageError, match="no site"):
        command("publish", str(tmp_path), storage.url("two"))


@pytest.mark.parametrize("within", ["", "/site", "/demo/site"])
def test_a_site_is_never_published_among_the_runs_of_its_bucket(
    made: Settings, storage: Storage, within: str
) -> None:
    """The next build would take what it publishes of runs for runs."""
    storage.put_folder(made.runs, "of/runs")
    before = storage.look("of/runs")
    runs = storage.url("of/runs")
    done = CliRunner().invoke(
        kbsite, ["build", "--config", str(made.path), "--runs", runs, "--out", f"{runs}{within}"]
    )

    assert isinstance(done.exception, UsageError)
    assert f"within the place of the runs, {runs}; choose --out outside" in str(done.exception)
    assert storage.look("of/runs") == before


def test_a_place_whose_name_begins_like_that_of_the_runs_is_none_within_it() -> None:
    places = [Location("s3", "bench", prefix) for prefix in ("runs", "runs-site", "")]

    assert not places[1].is_within(places[0])
    assert not Location("gs", "bench", "runs/site").is_within(places[0])
    assert all(one.is_within(places[2]) for one in places)


def test_the_folder_that_one_stands_in_is_published_and_what_is_no_site_is_named(
    made: Settings, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = local(made)
    monkeypatch.chdir(made.out)
    done = command("publish", ".", storage.url("site"))
    assert done.exit_code == 0, done.output
    published = storage.held("site")
    del published[".kbsite-published.json"]
    assert published == site
    for folder in (made.runs, made.out / "data", made.out.parent, Path("/")):
        before = sorted(made.out.parent.rglob("*"))
        done = CliRunner().invoke(kbsite, ["publish", str(folder), storage.url("other")])
        assert str(done.exception).endswith(f"{folder}: no site; make it with `kbsite build`")
        assert sorted(made.out.parent.rglob("*")) == before
    assert storage.look("other") == {}
