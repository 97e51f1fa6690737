"""The recipes of deploy/ fit the site that is built: its policy, its names, its commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite.cli import COMMANDS
from kbsite.linting.policy import parsed
from kbsite.pages import missing
from kbsite.pages.policy_source import source_of
from kbsite.search import FOLDER
from kbsite.serving.answers import CSP
from kbsite.store.media_types import type_of
from tests.in_page import BOOT, STYLE

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "deploy"
SERVERS = ["_headers", "nginx.conf", "Caddyfile"]
KEPT = "public, max-age=31536000, immutable"
DOC = (ROOT / "docs" / "deploy.md").read_text("utf-8")


def recipe(name: str) -> str:
    return (RECIPES / name).read_text("utf-8")


def rules(text: str) -> dict[str, dict[str, str]]:
    """The headers of each address in a file of headers."""
    held: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith("/"):
            held[line] = {}
        elif line.startswith("  "):
            name, _, value = line.strip().partition(": ")
            held[list(held)[-1]][name] = value
        else:
            assert not line or line.startswith("#"), line
    return held


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_the_policy_is_that_of_the_pages_of_runs_and_of_404(name: str) -> None:
    """A browser keeps to the header and the page's own policy: both have to allow what is there."""
    for_all, worker = map(parsed, re.findall(r'"(default-src [^"]+)"', recipe(name)))
    if name == "Caddyfile":
        assert "@worker path /search/pagefind-worker.js" in recipe(name)
    own = parsed(CSP)

    assert for_all == {
        **own,
        "style-src": ("'self'", source_of(missing.STYLE), source_of(STYLE)),
        "script-src": ("'self'", source_of(BOOT)),
    }
    assert worker["script-src"] == (*for_all["script-src"], "'wasm-unsafe-eval'")
    assert worker == {**for_all, "script-src": worker["script-src"]}


def test_a_file_of_headers_says_what_no_page_can_say_of_itself() -> None:
    policy = parsed(rules(recipe("_headers"))["/*"]["Content-Security-Policy"])

    assert policy == {"frame-ancestors": parsed(CSP)["frame-ancestors"]}


@pytest.mark.parametrize("name", SERVERS)
def test_what_is_named_by_what_it_holds_is_kept_and_nothing_else(name: str) -> None:
    text = recipe(name)

    assert KEPT in text
    assert set(re.findall(rf"/{FOLDER}/(\w+)/", text.replace("(?:index|fragment|filter)", "index")))
    for folder in ("index", "fragment", "filter"):
        assert folder in text
    assert "static/" not in text


def test_no_header_of_a_file_of_headers_stands_in_two_rules_that_fit_an_address() -> None:
    """Hosts join such values with a comma."""
    every = rules(recipe("_headers"))
    first = every.pop("/*")

    assert len(every) == 3
    assert [set(held) & set(first) for held in every.values()] == [set()] * 3


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_raw_files_are_shown_as_text_as_kbsite_serve_does(name: str) -> None:
    text = recipe(name)
    (listed,) = re.findall(r"text/plain +(txt [\w ]+);|@text path (.+)", text)
    suffixes = {f".{one.removeprefix('*.')}" for one in "".join(listed).split()}

    assert suffixes == {".txt", ".log", ".py", ".yaml", ".jsonl"}
    assert {type_of(Path(f"a{suffix}")) for suffix in suffixes} == {"text/plain; charset=utf-8"}


def test_nginx_gives_types_as_kbsite_serve_does() -> None:
    (block,) = re.findall(r"types \{(.*?)\}", recipe("nginx.conf"), re.DOTALL)
    for kind, suffixes in re.findall(r"(\S+) +([\w ]+);", block):
        for suffix in suffixes.split():
            assert type_of(Path(f"a.{suffix}")).partition(";")[0] == kind, suffix


def workflow() -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load(recipe("github-pages.yml"))
    return held


def test_the_workflow_checks_before_it_publishes_and_calls_what_there_is() -> None:
    steps = workflow()["jobs"]["build"]["steps"]
    called = [step["run"].split() for step in steps if step.get("run", "").startswith("kbsite ")]

    assert [words[1] for words in called] == ["check", "build", "lint"]
    assert {words[1] for words in called} <= set(COMMANDS)
    assert all("--strict" in words for words in called)
    assert steps[-1]["uses"].startswith("actions/upload-pages-artifact@")
    assert steps[-1]["with"]["path"] in called[1]
    assert steps[-1]["with"]["path"] in called[2]


def test_the_workflow_may_do_no_more_than_it_has_to() -> None:
    held = workflow()

    assert held["permissions"] == {}
    assert held["jobs"]["build"]["permissions"] == {"contents": "read", "pages": "read"}
    assert held["jobs"]["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert held["jobs"]["deploy"]["needs"] == "build"
    assert all("uses" in s or "run" in s for job in held["jobs"].values() for s in job["steps"])


def test_the_page_about_recipes_names_each_and_only_these() -> None:
    there = {path.name for path in RECIPES.iterdir()}

    assert set(re.findall(r"deploy/([\w.-]+)", DOC)) - {"md"} >= there
    assert set(re.findall(r"`deploy/([\w.-]+)`", DOC)) == there


def published(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(RECIPES / "publish.sh"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", ["/srv/a b", "/srv/$(x)", "host:-x", "host:", "/srv/a;b"])
def test_a_place_that_a_shell_would_read_otherwise_is_refused(folder: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("x")
    done = published(tmp_path, folder)

    assert done.returncode == 2
    assert "expected a folder" in done.stderr


def test_what_is_no_site_is_not_published(tmp_path: Path) -> None:
    done = published(tmp_path, tmp_path / "there")

    assert done.returncode == 2
    assert not (tmp_path / "there").exists()


needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync on this machine")


@needs_rsync
def test_each_release_is_whole_and_takes_the_place_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEP", "2")
    site, there = tmp_path / "site", tmp_path / "there"
    (site / "runs").mkdir(parents=True)
    (site / "runs" / "same.txt").write_text("same")
    (site / ".kbsite").write_text("1")
    (site / ".git").mkdir()
    (site / ".git" / "config").write_text("where it is pushed to")
    seen = []
    for number in range(3):
        (site / "index.html").write_text(f"page {'x' * number}")
        assert published(site, there).returncode == 0
        seen.append((there / "current").resolve())
        assert (there / "current" / "index.html").read_text() == f"page {'x' * number}"

    assert len(set(seen)) == 3
    assert set((there / "releases").iterdir()) == set(seen[1:])
    assert len({(one / "runs" / "same.txt").stat().st_ino for one in seen[1:]}) == 1
    assert {path.name for path in (there / "current").iterdir()} == {"index.html", "runs"}
    assert [path.name for path in there.iterdir() if path.is_symlink()] == ["current"]


def _made(folder: Path, text: str, second: int) -> Path:
    """A site of one page, written in a second of its own."""
    folder.mkdir()
    for name, held in (("index.html", text), (".kbsite", "1")):
        (folder / name).write_text(held)
        os.utime(folder / name, ns=(second * 10**9 + len(text), second * 10**9 + ord(text[0])))
    return folder


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_stands_in_the_place_of_the_link_stays(tmp_path: Path, *, is_folder: bool) -> None:
    site, there = _made(tmp_path / "site", "page", 1), tmp_path / "there"
    other = there / "current" / "index.html" if is_folder else there / "current"
    other.parent.mkdir(parents=True)
    other.write_text("not ours")
    done = published(site, there)

    assert done.returncode == 2
    assert "expected nothing, or the link" in done.stderr
    assert other.read_text() == "not ours"
    assert [path.name for path in there.iterdir()] == ["current"]


@pytest.mark.parametrize("inside", [".", "releases", "runs/deeper"])
def test_a_site_is_not_published_into_itself(tmp_path: Path, inside: str) -> None:
    site = _made(tmp_path / "site", "page", 1)
    (tmp_path / "link").symlink_to(site)
    before = sorted(site.rglob("*"))
    for one, other in ((site, site), (tmp_path / "link", site), (site, tmp_path / "link")):
        done = published(one, other / inside)
        assert (done.returncode, "within the site itself" in done.stderr) == (2, True)
    assert sorted(site.rglob("*")) == before


def test_what_is_led_to_by_somebody_else_stays(tmp_path: Path) -> None:
    """Other tools publish by a link called `current` as well."""
    site, there = _made(tmp_path / "site", "page", 1), tmp_path / "there"
    (there / "releases" / "20260101120000").mkdir(parents=True)
    (there / "current").symlink_to("releases/20260101120000")
    done = published(site, there)

    assert done.returncode == 2
    assert "leads to releases/20260101120000, which is no release of this script" in done.stderr
    assert sorted(path.name for path in there.rglob("*")) == [
        "20260101120000", "current", "releases"
    ]  # fmt: skip


@needs_rsync
def test_what_is_no_release_is_not_counted_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEP", "1")
    site, there = _made(tmp_path / "site", "page", 1), tmp_path / "there"
    names = {"20260101120000", "mine", "notes.partial", "20300101T000000Z-1x"}
    for name in names:
        (there / "releases" / name).mkdir(parents=True)
    for _ in range(2):
        assert published(site, there).returncode == 0

    held = {path.name for path in (there / "releases").iterdir()}
    assert held - names == {(there / "current").resolve().name}
    assert held >= names


def test_without_rsync_that_is_said_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("bash", "sh", "date", "dirname", "basename", "grep", "readlink", "mkdir"):
        found = shutil.which(name)
        assert found
        (commands / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(commands))
    done = published(_made(tmp_path / "site", "page", 1), tmp_path / "there")

    assert (done.returncode, done.stderr) == (
        3, "rsync is not installed here; it is needed on both sides\n"
    )  # fmt: skip
    assert not (tmp_path / "there").exists()


@needs_rsync
def test_a_release_stays_whose_clock_was_behind(tmp_path: Path) -> None:
    site, there = _made(tmp_path / "site", "page", 1), tmp_path / "there"
    for year in range(2030, 2036):
        (there / "releases" / f"{year}0101T000000Z-1").mkdir(parents=True)

    assert published(site, there).returncode == 0
    assert (there / "current" / "index.html").read_text() == "page"
    assert len(list((there / "releases").iterdir())) == 5


@pytest.mark.parametrize("keep", ["0", "-1", "five", "1; x"])
def test_a_number_of_releases_that_is_none_is_refused(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEP", keep)
    done = published(_made(tmp_path / "site", "page", 1), tmp_path / "there")

    assert done.returncode == 2
    assert "at least 1" in done.stderr


@needs_rsync
def test_what_was_written_within_a_second_of_the_last_release_is_published(tmp_path: Path) -> None:
    there = tmp_path / "there"
    for text in ("a", "b"):
        assert published(_made(tmp_path / text, text, 1), there).returncode == 0

    assert (there / "current" / "index.html").read_text() == "b"


RSYNC = """#!/bin/sh
"$REAL" "$@" || exit
for _ in $BUILDS; do cp "$SITE/.kbsite" "$SITE/.new" && mv "$SITE/.new" "$SITE/.kbsite"; done
exit "$ENDS"
"""


@needs_rsync
@pytest.mark.parametrize(("ends", "code", "builds"), [(0, 1, "1"), (0, 1, "1 2"), (11, 11, "1")])
def test_a_site_that_was_not_sent_whole_is_not_published_and_takes_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: int, code: int, builds: str
) -> None:
    """A build took its place meanwhile, or two did, or rsync failed: of a full disk, say."""
    site, there = _made(tmp_path / "site", "a", 1), tmp_path / "there"
    assert published(site, there).returncode == 0
    first = (there / "current").resolve()
    command = tmp_path / "bin" / "rsync"
    command.parent.mkdir()
    command.write_text(RSYNC)
    command.chmod(0o755)
    told = {"REAL": shutil.which("rsync"), "SITE": site, "ENDS": ends, "BUILDS": builds}
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    done = published(site, there)

    assert done.returncode == code
    assert ("built anew" in done.stderr) == (ends == 0)
    assert (there / "current").resolve() == first
    assert list((there / "releases").iterdir()) == [first]


BSD_MV = """#!/bin/sh
case $1 in
  -T) echo "mv: illegal option -- T" >&2; exit 64 ;;
  -h | -fh | -hf) [ -n "$KNOWS_H" ] || { echo "mv: illegal option -- h" >&2; exit 64; }
    shift; exec "$REAL" -T "$@" ;;
  *) exec "$REAL" "$@" ;;
esac
"""
COPIES = """#!/bin/sh
for last; do before=$at at=$last; done
cp -R "$before." "$at"
"""


@pytest.fixture(name="on_bsd")
def _on_bsd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose mv knows no -T, as those of FreeBSD and macOS; and an rsync that copies all."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("mv", BSD_MV), ("rsync", COPIES)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    monkeypatch.setenv("REAL", str(shutil.which("mv")))
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_bsd")
def test_a_host_whose_mv_is_no_gnu_one_is_published_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNOWS_H", "1")
    there = tmp_path / "there"
    for text in ("a", "b"):
        done = published(_made(tmp_path / text, text, 1), there)
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
        assert (there / "current" / "index.html").read_text() == text
    assert [path.name for path in there.iterdir() if path.is_symlink()] == ["current"]


@pytest.mark.usefixtures("on_bsd")
def test_where_no_mv_replaces_a_link_that_is_said_and_the_last_release_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    monkeypatch.setenv("KNOWS_H", "1")
    assert published(_made(tmp_path / "a", "a", 1), there).returncode == 0
    held = sorted(there.iterdir()), sorted((there / "releases").iterdir())
    monkeypatch.setenv("KNOWS_H", "")
    done = published(_made(tmp_path / "b", "b", 2), there)

    assert done.returncode == 3
    assert "illegal option -- T" in done.stderr
    assert "the release before stays" in done.stderr
    assert (there / "current" / "index.html").read_text() == "a"
    assert (sorted(there.iterdir()), sorted((there / "releases").iterdir())) == held
