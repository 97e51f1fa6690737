"""What was put among the files of a published site, or taken out of them, is found in a folder."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.pages import runs
from kbsite.store.swapping import VERSIONS
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import Runs, copy_of, errors

RUN = f"runs/{Runs.first}"


@pytest.mark.parametrize(
    ("added", "named"),
    [
        (f"{RUN}/x/raw/page.html", f"{RUN}/x/raw/page.html"),
        (f"{RUN}/raw/page.html", f"{RUN}/raw/page.html"),
        ("runs/index/raw/page.html", "runs/index"),
        ("search/page.html", "search/page.html"),
        ("search/index/picture.svg", "search/index/picture.svg"),
        ("_redirects", "_redirects"),
    ],
)
def test_a_file_that_nothing_leads_to_is_named(
    added: str, named: str, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    (spoilt / added).parent.mkdir(parents=True, exist_ok=True)
    (spoilt / added).write_text("<h1>0.99</h1>")

    assert [one.path for one in errors(spoilt)] == [named]


def test_pages_of_a_list_of_very_many_runs_follow(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "ROWS", 1)
    settings = make_settings(tmp_path)
    for number in range(3):
        make_run(settings.runs / "demo", model=f"m{number}")
    out = build(settings).out
    listed = out / "runs" / "index" / "3.html"
    listed.with_name("3.html.gz").write_bytes(gzip.compress(listed.read_bytes()))
    assert errors(out) == []

    (out / "runs" / "index" / "4.html").write_text("<h1>0.99</h1>")
    assert [one.path for one in errors(out)] == ["runs/index"]


def test_compressed_copies_for_a_server_are_let_be(site: Path, tmp_path: Path) -> None:
    packed = copy_of(site, tmp_path / "packed")
    for path in [path for path in packed.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))

    assert errors(packed) == []


@pytest.mark.parametrize("versions", VERSIONS)
def test_the_clone_of_a_site_whose_versions_are_kept_follows(
    site: Path, tmp_path: Path, versions: str
) -> None:
    clone = copy_of(site, tmp_path / "clone")
    for name in ("config", "HEAD", "refs/heads/main", "objects/fb/2f337a", "page.html"):
        (clone / versions / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / versions / name).write_bytes(b"x")

    assert [one.path for one in errors(clone)] == [f"{versions}/page.html"]


def test_files_of_a_search_index_are_let_be(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    for name in ("index.js", "words/ab.js", "pagefind-entry.json", "wasm.en.pagefind",
                 "pagefind.en_2e54cc3.pf_meta", "fragment/en_2e54cc3.pf_fragment"):  # fmt: skip
        (spoilt / "search" / name).parent.mkdir(parents=True, exist_ok=True)
        (spoilt / "search" / name).write_bytes(b"x")

    assert errors(spoilt) == []


def test_a_link_that_a_server_may_follow_is_named(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    (tmp_path / "page.html").write_text("<h1>0.99</h1>")
    (spoilt / "page.html").symlink_to(tmp_path / "page.html")

    assert [one.path for one in errors(spoilt)] == ["page.html"]


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda card: card.write_text("<svg/>")], ids=["gone", "another"]
)
def test_a_picture_that_is_none_is_named(
    spoil: Callable[[Path], object], site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    spoil(spoilt / RUN / "card.png")

    assert [one.path for one in errors(spoilt)] == [f"{RUN}/card.png"]


def test_a_missing_manifest_is_named_where_it_would_stand_in_the_site(
    site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    (spoilt / RUN / "raw/manifest.json").unlink()
    named = {one.path for one in errors(spoilt)}

    assert f"{RUN}/raw/manifest.json" in named
    assert not [path for path in named if path.startswith("/")]
