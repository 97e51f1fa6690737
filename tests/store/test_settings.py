from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kbsite.errors import InputError, UsageError
from kbsite.model.config import BoardConfig, Config, Represents
from kbsite.store.records import InvalidFileError
from kbsite.store.settings import CONFIG, Settings, config_path, denied_of, moved, read_settings
from kbsite.user_cache import CACHE
from tests.conftest import MakeSettings


def test_folders_are_those_beside_kbsite_yaml(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path, site={"runs": "results", "out": "../public"})
    assert settings == Settings(
        config=settings.config,
        runs=tmp_path / "results",
        problems=tmp_path / "problems",
        out=tmp_path / "../public",
        path=tmp_path / "kbsite.yaml",
    )


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text("boards:\n- id: demo\n  title: Demo\n")
    config = read_settings(path).config
    assert config == Config(boards=(BoardConfig(id="demo", title="Demo"),))
    (board,) = config.boards
    assert board.represents is Represents.FIRST
    assert all(rule.sentence.endswith(".") for rule in Represents)


def test_an_empty_file_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text("# nothing yet\n")
    with pytest.raises(InvalidFileError, match=r"kbsite\.yaml:1: expected keys and values"):
        read_settings(path)


@pytest.mark.parametrize("canary", ["dodo", "26b5c67b86e74c5a8a3c1c1f5a4e2d10", "{guid}", "<b>"])
def test_a_canary_that_is_no_guid_is_told_with_a_new_one(canary: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: x\ncanary: {json.dumps(canary)}\n")
    with pytest.raises(InvalidFileError, match=r"kbsite\.yaml:2: canary: expected a GUID") as told:
        read_settings(path)

    (proposed,) = re.findall(r"such as (\S+), which is new", str(told.value))
    path.write_text(f"title: x\ncanary: {proposed}\n")
    assert read_settings(path).config.canary == proposed


@pytest.mark.parametrize("robots", ["noindex noai", "noindex,", '"><script>', "a\\nb"])
def test_what_asks_crawlers_for_nothing_is_told_with_its_line(robots: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: x\nrobots: {json.dumps(robots)}\n")
    with pytest.raises(InvalidFileError, match=r"kbsite\.yaml:2: robots: expected words for"):
        read_settings(path)


@pytest.mark.parametrize(("key", "told"), [("prices", "file"), ("hardware", "folder")])
def test_a_place_where_nothing_is_is_told_with_the_line_that_names_it(
    key: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: A\n{key}: gone\n")
    with pytest.raises(InvalidFileError, match=rf"kbsite\.yaml:2: {key}: .*gone: no such {told};"):
        read_settings(path)


@pytest.mark.parametrize(
    "url",
    ["bench.example", "javascript:alert(1)", "ftp://a.example/", "https://", "https://[::1",
     "https://a.example:99999999/", "https://me:word@a.example/", "https://a.example/?a=b",
     "https://a.example/#a", 'https://a.example/"><b>', "https://a example/", "file:///srv/site"],
)  # fmt: skip
def test_an_address_that_is_none_is_told_with_its_line(url: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: A\nurl: '{url}'\n")
    with pytest.raises(InvalidFileError, match=r"kbsite\.yaml:2: url: expected where the site"):
        read_settings(path)


@pytest.mark.parametrize(
    "url", ["https://a.example", "http://127.0.0.1:8000/a/b/", "https://bücher.example/a%20b/"]
)
def test_an_address_is_taken_as_it_is(url: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"url: '{url}'\n")

    assert read_settings(path).config.url == url


@pytest.mark.parametrize("key", ["runs", "problems", "prices", "hardware", "out"])
def test_a_path_that_holds_a_nul_is_told_with_its_line(key: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f'title: A\n{key}: "a\\0b"\n')
    with pytest.raises(InvalidFileError, match=rf"kbsite\.yaml:2: {key}: holds a NUL"):
        read_settings(path)


@pytest.mark.parametrize("key", ["runs", "problems", "out"])
@pytest.mark.parametrize("text", ["", "  "])
def test_a_folder_without_a_name_is_told_with_its_line(key: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: A\n{key}: '{text}'\n")
    with pytest.raises(InvalidFileError, match=rf"kbsite\.yaml:2: {key}: is empty; expected"):
        read_settings(path)


def test_paths_may_start_at_the_home_of_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    path = tmp_path / "kbsite.yaml"
    path.write_text("runs: ~/runs\nproblems: ~/problems\nout: ~nobody-here/site\n")
    settings = read_settings(path)

    assert settings.runs == tmp_path / "me" / "runs"
    assert settings.problems == tmp_path / "me" / "problems"
    assert settings.out == tmp_path / "~nobody-here" / "site"


def test_the_root_of_a_system_is_no_place_for_a_site(tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text("title: A\nout: /\n")
    with pytest.raises(InvalidFileError, match=r"kbsite\.yaml:2: out: expected a folder"):
        read_settings(path)


def test_kbsite_yaml_is_found_in_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kbsite.yaml").write_text("title: A\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert config_path(below) == tmp_path / "kbsite.yaml"
    assert config_path(tmp_path) == tmp_path / "kbsite.yaml"
    monkeypatch.chdir(below)
    assert config_path(Path()) == tmp_path / "kbsite.yaml"
    (below / "kbsite.yaml").mkdir()
    assert config_path(Path()) == tmp_path / "kbsite.yaml"
    (tmp_path / "a" / "kbsite.yaml").write_text("title: B\n")
    assert config_path(Path()) == tmp_path / "a" / "kbsite.yaml"


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a link that leads nowhere"])
def test_a_kbsite_yaml_that_cannot_be_read_is_told_of(tmp_path: Path, kind: str) -> None:
    (tmp_path / "kbsite.yaml").write_text("title: that of a parent\n")
    path = tmp_path / "below" / "kbsite.yaml"
    path.parent.mkdir()
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a device":
            path.symlink_to("/dev/zero")
        case _:
            path.symlink_to("nowhere")
    with pytest.raises(InvalidFileError, match=r"below/kbsite\.yaml:? .*expected a regular file"):
        read_settings(config_path(path.parent))


def test_no_kbsite_yaml_anywhere(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no kbsite\.yaml in"):
        config_path(tmp_path)


@pytest.mark.parametrize("place", ["/proc", "/sys/kernel", "/dev/fd", "led"])
@pytest.mark.parametrize("key", ["runs", "problems"])
def test_what_the_system_shows_of_itself_is_refused(tmp_path: Path, key: str, place: str) -> None:
    (tmp_path / "led").symlink_to("/proc/self")
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"title: a\n{key}: {place}\n")
    with pytest.raises(InvalidFileError, match=rf"yaml:2: {key}: what the system shows of itself"):
        read_settings(path)


def test_it_is_refused_on_the_command_line_too(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path)
    with pytest.raises(UsageError, match=r"/proc: what the system shows of itself"):
        moved(settings, Path("/proc"), None)
    assert moved(settings, Path("/dev/shm/runs"), None).runs == Path("/dev/shm/runs")


def test_whoever_has_no_home_needs_none_until_a_bucket_is_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CACHE_HOME", CACHE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    path = tmp_path / "kbsite.yaml"
    path.write_text("title: t\n")
    assert read_settings(path).runs == tmp_path / "runs"
    path.write_text("title: t\nruns: s3://bench/runs\n")
    with pytest.raises(UsageError, match=r"storage\.cache"):
        read_settings(path)
    path.write_text("title: t\nruns: s3://bench/runs\nstorage: {cache: here}\n")
    assert read_settings(path).runs.is_relative_to(tmp_path / "here")


def test_a_hidden_value_that_the_environment_lacks_is_told_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENCH_KEY", raising=False)
    path = tmp_path / "other.yaml"
    path.write_text("title: t\nredact:\n  deny: [BENCH_KEY]\n")
    with pytest.raises(InputError) as told:
        denied_of(read_settings(path))
    error = told.value
    assert (error.path, error.line, error.key) == (path, 3, "redact.deny")
    assert "names the environment variable BENCH_KEY, which is not set" in error.message


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    config = tmp_path / CONFIG
    for text, keys in (
        ("jobs: -1\nurl: nowhere\nruns: ''\n", {"jobs", "url", "runs"}),
        ("runs: x://y\nout: s3://\nproblems: /proc\n", {"runs", "out", "problems"}),
        (
            "title: ' '\nstorage:\n  most_bytes: -1\n  most_file_bytes: 0\n",
            {"title", "storage.most_bytes", "storage.most_file_bytes"},
        ),
    ):
        config.write_text(text if "title" in keys else f"title: Mine\n{text}")
        with pytest.raises(InvalidFileError) as raised:
            read_settings(config)
        assert {(one.key, bool(one.line)) for one in raised.value.errors} == {
            (key, True) for key in keys
        }
