"""The scripts of a published search index, which pages run, are compared as all others are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kbsite import search
from kbsite.build import build
from kbsite.search import blocks, pagefind
from kbsite.verifying.places import FolderPlace
from kbsite.verifying.search_scripts import search_scripts
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import copy_of, errors

CODE = "document.title = '0.99';\n"
LIST = "search/index.js"
BLOCK = blocks.block_path("")


class _Unlisted(FolderPlace):
    """A site whose files nobody can list, as behind an address."""

    def names(self) -> None:  # type: ignore[override]
        return None


@pytest.fixture(name="indexed", scope="module")
def _indexed(
    tmp_path_factory: pytest.TempPathFactory, make_settings: MakeSettings, make_run: MakeRun
) -> dict[str, Path]:
    """A site with each kind of index."""
    sites = {}
    for kind, most in (("pagefind", search.MOST_BYTES), ("words", -1)):
        settings = make_settings(tmp_path_factory.mktemp(kind), site={"search": True})
        make_run(settings.runs / "demo")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(search, "MOST_BYTES", most)
            sites[kind] = build(settings).out
    return sites


def _told(site: Path, folder: Path) -> dict[str, str]:
    """What is said of each script, whether the site's files can be listed or not."""
    listed, unlisted = (
        {one.path: str(one.severity.value) for one in search_scripts(kind(site), folder / name)}
        for name, kind in (("listed", FolderPlace), ("unlisted", _Unlisted))
    )
    assert listed == unlisted
    return listed


def _write(site: Path, path: str, text: str) -> None:
    (site / path).unlink()
    (site / path).write_text(text)


@pytest.mark.parametrize(
    ("kind", "path", "text"),
    [
        ("pagefind", LIST, 'kbsiteIndex({"kind":"pagefind"});\n' + CODE),
        ("pagefind", "search/pagefind.js", CODE),
        ("pagefind", "search/pagefind-worker.js", CODE),
        ("words", LIST, CODE),
        ("words", LIST, 'kbsiteIndex({"kind":"words","texts":[],"firsts":"","names":"../x"});\n'),
        ("words", LIST, 'kbsiteIndex({"kind":"words","texts":[],"firsts":"\\ud800"});\n'),
        ("words", BLOCK, "kbsiteWords(document.title = 1);\n"),
    ],
)
def test_code_in_a_search_index_is_found(
    kind: str, path: str, text: str, indexed: dict[str, Path], tmp_path: Path
) -> None:
    spoilt = copy_of(indexed[kind], tmp_path / "spoilt")
    _write(spoilt, path, text)

    assert _told(spoilt, tmp_path) == {path: "error"}


@pytest.mark.parametrize("kind", ["pagefind", "words"])
def test_a_site_whose_index_is_code_does_not_follow(
    kind: str, indexed: dict[str, Path], tmp_path: Path
) -> None:
    assert errors(indexed[kind]) == []

    spoilt = copy_of(indexed[kind], tmp_path / "spoilt")
    _write(spoilt, LIST, CODE)
    assert [one.path for one in errors(spoilt)] == [LIST]


def test_scripts_of_another_pagefind_or_without_one_are_not_compared(
    indexed: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = copy_of(indexed["pagefind"], tmp_path / "spoilt")
    _write(spoilt, f"search/{pagefind.ENTRY}", '{"version": "0.1"}')
    _write(spoilt, "search/pagefind.js", CODE)
    assert _told(spoilt, tmp_path) == {"search/pagefind.js": "warning"}

    monkeypatch.setitem(sys.modules, "pagefind.service", None)
    assert _told(spoilt, tmp_path / "without") == {"search/pagefind.js": "warning"}
