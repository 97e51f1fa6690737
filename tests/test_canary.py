"""The GUID by which texts of a site are found in what models were trained on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.dataset.card import card
from kbsite.pages.listing import listed
from kbsite.reading import read
from kbsite.single_file import write
from kbsite.store.settings import Settings
from kbsite.verifying import verify
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

GUID, OTHER = "0d6f3c1e-7a55-4c0b-9d0e-2f7b1f0c9a11", "0d6f3c1e-7a55-4c0b-9d0e-2f7b1f0c9a12"


def _row(number: int, text: str) -> str:
    message = {"id": f"m{number}", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "message": message})


def _with(settings: Settings, canary: str) -> Settings:
    return replace(settings, config=replace(settings.config, canary=canary))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    """A board with a run whose transcript takes several pages, one of them for a long text."""
    texts = [*(f"Round {number}." for number in range(120)), "A long one. " * 2_000]
    rows = "\n".join(_row(number, text) for number, text in enumerate(texts)).encode()
    make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": rows}, audit={})
    return _with(make_settings(tmp_path, site={"url": "https://a.example/"}), GUID)


def _pages(out: Path) -> dict[str, str]:
    kinds = (".html", ".md", "trajectory.json")
    files = [path for path in out.rglob("*") if path.is_file() and "static" not in path.parts]
    # It says of no run anything.
    files.remove(out / "404.html")
    return {str(f.relative_to(out)): f.read_text("utf-8") for f in files if f.name.endswith(kinds)}


def test_each_page_and_export_names_it_once(settings: Settings) -> None:
    told = _pages(build(settings).out)

    kinds = {re.sub(r"-[^/]*(?=\.html)", "", path.rpartition("/")[2]) for path in told}
    assert {"index.html", "steps.html", "text.html", "run.md", "trajectory.json"} <= kinds
    assert not [path for path, text in told.items() if text.count(f"canary GUID {GUID}") != 1]


def test_a_site_without_one_says_nothing_of_it(settings: Settings) -> None:
    told = _pages(build(_with(settings, "")).out)

    assert not [path for path, text in told.items() if "canary" in text]


def test_where_it_changes_all_that_name_it_are_made_again(settings: Settings) -> None:
    build(settings)
    again = tree(build(_with(settings, OTHER)).out)
    fresh = replace(settings, out=settings.out.with_name("fresh"))

    assert again == tree(build(_with(fresh, OTHER)).out)


def test_a_site_that_has_one_is_verified(settings: Settings) -> None:
    assert not list(verify(FolderPlace(build(settings).out)))


def test_a_run_in_one_file_and_the_card_of_a_new_dataset_name_it(settings: Settings) -> None:
    (run,) = settings.runs.glob("demo/*")
    site = read(settings)

    whole = write(settings, run.name, settings.runs.parent / "f.html").path.read_text("utf-8")
    assert whole.count(f"canary GUID {GUID}") == 1
    assert f"canary GUID {GUID}\n" in card(site, listed(site)).whole
