"""What search engines and messages show of a page: its description, and its one address."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from kbsite.build import build
from tests.conftest import MakeRun, MakeSettings

URL = "https://bench.example/hard/"
SOUGHT = {
    "description": r'<meta name="description" content="([^"]*)">',
    "told": r'<meta property="og:description" content="([^"]*)">',
    "canonical": r'<link rel="canonical" href="([^"]*)">',
}


@pytest.fixture(name="made")
def _made(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    settings = make_settings(tmp_path, site={"url": URL, "tagline": 'Kernels & "more"'})
    make_run(settings.runs / "demo", run_id="r1", audit={})
    make_run(settings.runs / "demo", run_id="r2", harness="floor", model="library")
    make_run(settings.runs / "demo", run_id="r3", problem="unheard_of")
    build(settings)
    return settings.out


def head(page: Path) -> dict[str, list[str]]:
    text = page.read_text()
    return {name: [*map(html.unescape, re.findall(held, text))] for name, held in SOUGHT.items()}


def test_each_page_of_the_sitemap_says_what_it_is_and_names_its_address(made: Path) -> None:
    """Search engines make up what a page does not say, and took `x/` and `x/index.html` for two."""
    addresses = re.findall("<loc>(.*?)</loc>", (made / "sitemap.xml").read_text())

    assert len(addresses) > 10
    for address in addresses:
        held = head(made / address.removeprefix(URL) / "index.html")
        assert held["canonical"] == [address]
        assert len(held["description"]) == 1, address
        assert held["description"] == held["told"]


def test_each_page_with_an_address_of_its_own_is_in_the_sitemap(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    """The list of all hardware was not: nothing tells who forgets a page that is new."""
    folder = Path(__file__).parents[2] / "bench" / "hardware"
    settings = make_settings(tmp_path, site={"url": URL, "hardware": str(folder)})
    make_run(settings.runs / "demo", audit={})
    out = build(settings).out
    listed = set(re.findall("<loc>(.*?)</loc>", (out / "sitemap.xml").read_text()))
    made = {f"{URL}{page.parent.relative_to(out)}/" for page in out.rglob("*/index.html")}

    assert len(made) > 20
    assert made - listed == set(), "name it in _own_pages of pages/data.py"


def test_a_run_is_told_by_what_came_of_it(made: Path) -> None:
    """It was told by its id alone, which stands in its address already."""
    held = head(made / "runs/r1/index.html")
    floor = head(made / "runs/r2/index.html")

    assert held["description"] == ["passed, .420 · audit: clean · 30:00 · gpu-a"]
    assert floor["description"] == ["passed, .420 · 30:00 · gpu-a"]
    assert head(made / "index.html")["description"] == ['Kernels & "more"']


def test_who_links_to_the_first_page_shows_the_card_of_its_first_board(made: Path) -> None:
    """The address of a site is the one that is sent most, and had no picture."""
    held = re.findall(
        r'<meta property="og:image" content="([^"]*)">', (made / "index.html").read_text()
    )

    assert held == [f"{URL}data/boards/demo/card.png"]


def test_without_an_address_pages_say_what_they_are_and_no_more(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", run_id="r1")
    build(settings)
    held = head(settings.out / "runs/r1/index.html")

    assert held["description"] == ["passed, .420 · not audited · 30:00 · gpu-a"]
    assert (held["canonical"], held["told"]) == ([], [])


def test_a_score_that_a_verdict_takes_out_is_told_so_wherever_it_is_linked_to(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site={"url": URL})
    make_run(settings.runs / "demo", run_id="r1", audit={"verdict": "reward_hack"})
    out = build(settings).out
    told = "audit: reward_hack (does not count)"

    assert head(out / "runs/r1/index.html")["description"] == [
        f"passed, .420 · {told} · 30:00 · gpu-a"
    ]
    assert f">{told}, A. Reader</text>" in (out / "runs/r1/card.svg").read_text()


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({"status": "build_failed"}, "build failed · not audited · gpu-a"),
        ({"status": "no_solution"}, "no solution · not audited · gpu-a"),
        ({"peak_fraction": None, "interval": None, "shapes": [], "ms": 0.14215},
         "passed, 0.142 ms · not audited · gpu-a"),
    ],
)  # fmt: skip
def test_where_no_legend_stands_a_status_is_told_in_words(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    metrics: dict[str, object],
    told: str,
) -> None:
    """It was the word of a cell: of a build that failed the feed said "build"."""
    settings = make_settings(tmp_path, site={"url": URL})
    make_run(settings.runs / "demo", run_id="r1", metrics=metrics, ended=None)
    out = build(settings).out
    words = told.partition(" · ")[0]

    assert head(out / "runs/r1/index.html")["description"] == [told]
    assert f"Softmax: {words}</summary>" in (out / "data/feed.xml").read_text()
    card = (out / "runs/r1/card.svg").read_text()
    assert f" {words}</text>" in card
    assert ">gpu-a</text>" in card
