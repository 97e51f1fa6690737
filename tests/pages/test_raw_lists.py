"""What a run's page says of its raw files, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from kbsite.build import build
from kbsite.pages.raw_files import AT_ONCE, HERE
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings


@pytest.fixture(name="settings")
def _settings(make_settings: MakeSettings, tmp_path: Path) -> Settings:
    return make_settings(tmp_path)


def page(folder: Path, name: str) -> LexborHTMLParser:
    return LexborHTMLParser((folder / name).read_text("utf-8"))


def named(page: LexborHTMLParser, within: str) -> list[str]:
    """The raw files that a page leads to, below the folder that holds them."""
    found = page.css(f"{within} ul.plain a:not(.packed)")
    return [str(one.attributes["href"]).partition("/raw/")[2] for one in found]


def raw(folder: Path) -> set[str]:
    held = folder / "raw"
    found = (path.relative_to(held).as_posix() for path in held.rglob("*") if path.is_file())
    return {name for name in found if not name.endswith(".gz")}


def test_a_run_of_thousands_of_files_has_a_page_of_the_usual_size_and_lists_them_on_others(
    settings: Settings, make_run: MakeRun
) -> None:
    many = {f"snapshots/{number:04}/notes.txt": b"x" for number in range(2 * AT_ONCE)}
    run = make_run(settings.runs / "demo", files={**many, "solution.py": b"import torch\n"})
    folder = build(settings).out / "runs" / run.name
    own = page(folder, "index.html")
    listed = page(folder, "files.html")

    assert len(own.css("*")) <= 3000
    assert len(named(own, "#raw")) == HERE
    assert {"run.json", "solution.py"} <= set(named(own, "#raw"))
    assert own.css_first('#raw a[href="files.html"]') is not None
    others = [str(one.attributes["href"]) for one in listed.css("nav.pages a")]
    every = named(listed, "main")
    for other in others:
        every += named(page(folder, other), "main")
    assert len(others) == len(every) // AT_ONCE
    assert sorted(every) == sorted(raw(folder))


def test_a_run_of_few_files_names_them_all_on_its_page(
    settings: Settings, make_run: MakeRun
) -> None:
    few = {f"files/{number}.txt": b"x" for number in range(HERE // 2)}
    run = make_run(settings.runs / "demo", files=few)
    folder = build(settings).out / "runs" / run.name

    assert sorted(named(page(folder, "index.html"), "#raw")) == sorted(raw(folder))
    assert not list(folder.glob("files*.html"))
