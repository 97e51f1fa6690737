"""The board's page tells where contenders stand, and shows its charts with their tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from msgspec import structs

from kbsite.build import build
from kbsite.model.run import Contender
from kbsite.model.standing import Proportion, Standing
from kbsite.pages import board
from kbsite.pages.board_figures import mean, ranks, share
from kbsite.store.problems import read_problem
from kbsite.store.settings import CONFIG, read_settings
from tests.conftest import MakeFloors, MakeRun, MakeSettings

SVG = "{http://www.w3.org/2000/svg}"
PROBLEMS = [f"p{number}" for number in range(8)]


@pytest.fixture(name="out")
def _out(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, make_floors: MakeFloors
) -> Path:
    settings = make_settings(tmp_path, problems=PROBLEMS)
    runs = tmp_path / "runs" / "demo"
    hashes = {problem: read_problem(tmp_path / "problems" / problem).hash for problem in PROBLEMS}
    for model, fraction in (("good", 0.8), ("fair", 0.4), ("even", 0.4)):
        for problem in PROBLEMS:
            grade: dict[str, Any] = {"peak_fraction": fraction, "interval": None, "shapes": []}
            make_run(
                runs, model=model, problem=problem, metrics=grade, problem_hash=hashes[problem]
            )
    make_floors(runs, {"kind": "eager", "problem": "p0", "peak_fraction": 0.1})
    built = build(settings)
    assert built.findings == ()
    return built.out


def parsed(path: Path) -> Any:
    return html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)


def said(node: Element) -> str:
    return " ".join("".join(node.itertext()).split())


@pytest.fixture(name="page")
def _page(out: Path) -> Any:
    return parsed(out / "demo/index.html")


def test_each_row_has_its_group_with_what_it_means(page: Any) -> None:
    rows = [body.find("tr") for body in page.iter("tbody") if body.get("class") == "contenders"]
    found = {}
    for row in rows:
        [letters] = [node for node in row.iter("span") if node.get("class") == "letters"]
        model = next(node for node in row.iter("span") if node.get("class") == "model")
        found[said(model)] = (said(letters), letters.get("title"))

    assert {model: letters for model, (letters, _) in found.items()} == {
        "good": "a", "fair": "b", "even": "b"
    }  # fmt: skip
    assert found["good"][1] == (
        "rank 1; mean score .800 ± .000 (standard error), 8 of 8 problems attempted"
    )
    assert found["even"][1].startswith("rank 2 to 3; ")


def test_every_line_of_the_grid_is_as_wide_as_its_head(page: Any) -> None:
    grid = next(node for node in page.iter("table") if node.get("class") == "grid")
    widths = {
        sum(int(cell.get("colspan", "1")) for cell in row if cell.tag in ("td", "th"))
        for row in grid.iter("tr")
    }

    assert widths == {len(PROBLEMS) + 5}


def test_the_table_of_standings_has_all_that_titles_say(page: Any) -> None:
    table = next(node for node in page.iter("table") if node.get("class") == "bc-standings")
    rows = [[said(cell) for cell in row.iter("td")] for row in table.iter("tr")][1:]

    assert [row[1:] for row in rows] == [
        ["a", "1", ".800 ± .000", "8", "8 of 8, 95 % interval 68 % to 100 %", "0"],
        ["b", "2 to 3", ".400 ± .000", "8", "8 of 8, 95 % interval 68 % to 100 %", "0"],
        ["b", "2 to 3", ".400 ± .000", "8", "8 of 8, 95 % interval 68 % to 100 %", "0"],
    ]


def test_every_drawing_has_a_name_and_a_table_that_points_share(page: Any) -> None:
    figures = list(page.iter("figure"))
    names = [said(figure.find(".//h3")) for figure in figures]
    assert names == [
        "Scores between floor and ceiling", "Score against time",
        "Score against output tokens", "How the sessions ended", "What runs took",
        "Score against cost",
    ]  # fmt: skip
    for figure, name in zip(figures, names, strict=True):
        drawings = list(figure.iter(f"{SVG}svg"))
        if name == "Score against cost":
            assert drawings == []
            assert "No run has both a score and its cost on record." in said(figure)
            continue
        if name != "What runs took":
            [drawing] = drawings
            assert drawing.get("role") == "img"
            assert said(drawing.find(f"{SVG}title")) == name
        if "against" in name:
            assert figure.find("details") is None
            continue
        rows = list(figure.find("details").iter("tr"))
        assert len(rows) > 1
        assert {len(row) for row in rows} == {len(rows[0])}


def test_tables_lead_to_the_runs(out: Path, page: Any) -> None:
    links = [link.get("href") for figure in page.iter("figure") for link in figure.iter("a")]

    assert len(links) == 8 + 24
    assert all((out / "demo" / link).is_file() for link in links)


def test_charts_of_very_many_runs_stand_on_a_page_of_their_own_as_they_would_on_the_boards(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_settings(out.parent / CONFIG)
    whole = (out / "demo/index.html").read_text("utf-8")
    assert not (out / "demo/charts.html").exists()
    charts = re.findall(r"<figure class=.bc-.*?</figure>", whole, re.DOTALL)
    assert len(charts) == 6

    monkeypatch.setattr(board, "DRAWN", 23)
    config = structs.replace(settings.config, url="https://bench.example/")
    apart = build(structs.replace(settings, config=config), fresh=True).out / "demo"
    page, drawn = ((apart / name).read_text("utf-8") for name in ("index.html", "charts.html"))
    links = [link.get("href") for link in parsed(apart / "index.html").iter("a")]
    assert "<figure" not in page
    assert "charts of all 24 runs" in page
    assert "../demo/charts.html" in links
    assert re.findall(r"<figure class=.bc-.*?</figure>", drawn, re.DOTALL) == charts
    back = {str(link.get("href")) for link in parsed(apart / "charts.html").iter("a")}
    assert all((apart / link.partition("#")[0]).exists() for link in back)
    assert "https://bench.example/demo/charts.html" in (apart.parent / "sitemap.xml").read_text(
        "utf-8"
    )

    monkeypatch.setattr(board, "DRAWN", 24)
    again = build(settings, fresh=True).out / "demo"
    assert (again / "index.html").read_text("utf-8") == whole
    assert not (again / "charts.html").exists()


def test_no_drawing_has_a_style_or_a_script(page: Any) -> None:
    for drawing in page.iter(f"{SVG}svg"):
        for node in drawing.iter():
            assert node.tag.removeprefix(SVG) in {"svg", "title", "text", "rect", "path"}
            assert not [name for name in node.attrib if name == "style" or name.startswith("on")]


def test_only_boards_link_the_charts_style_sheet(out: Path) -> None:
    linking = {
        path.relative_to(out).as_posix()
        for path in out.rglob("*.html")
        if "board.css" in path.read_text("utf-8")
    }

    assert linking == {"demo/index.html"}
    assert (out / "static/board.css").is_file()


def test_the_page_says_what_letters_mean_in_one_sentence(page: Any) -> None:
    told = [said(node) for node in page.iter("p") if "share a letter" in said(node)]

    assert len(told) == 1
    assert re.search(r"95 %.*paired bootstrap.*counts 0\.$", told[0])


def test_an_empty_board_says_so_and_draws_nothing_of_runs(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    built = build(make_settings(tmp_path))
    page = parsed(built.out / "demo/index.html")

    assert built.findings == ()
    assert "No run is on this board yet." in said(page)
    assert "No session is on this board." in said(page)
    assert "Each bar is a contender" not in said(page)
    assert len(list(page.iter(f"{SVG}svg"))) == 1


def test_the_figures_of_a_board_lead_to_the_runs_that_it_refuses(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, hardware="gpu-a")
    run = make_run(tmp_path / "runs" / "demo", hardware="gpu-b")
    page = parsed(build(settings).out / "demo/index.html")
    [figures] = [node for node in page.iter("p") if "1 problem " in said(node)]
    [link] = figures.iter("a")

    assert (said(link), link.get("href")) == ("1 refused", "#refused")
    [after] = [node for node in page.iter() if node.get("id") == "refused"]
    assert said(after) == "runs that this board refuses to mix with the others"
    assert f"{run.name}: " in said(page)


@pytest.mark.parametrize("count", [3, 12])
def test_a_board_says_once_why_it_refuses_runs(
    count: int, tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, hardware="gpu-a")
    runs = [make_run(tmp_path / "runs" / "demo", hardware="gpu-b") for _ in range(count)]
    other = make_run(tmp_path / "runs" / "demo", hardware="gpu-c")
    page = parsed(build(settings).out / "demo/index.html")
    [told] = [node for node in page.iter("ul") if "the board's is" in said(node)]
    many, alone = list(told)

    reason = "its hardware is gpu-b, the board's is gpu-a"
    assert said(many).count(reason) == 1
    assert f"{reason}: " in said(many).partition(runs[0].name)[0]
    assert [link.get("href") for link in many.iter("a")] == [
        f"../runs/{run.name}/index.html" for run in runs
    ]
    assert len(list(many.iter("details"))) == (count > 5)
    assert said(alone).startswith(f"{other.name}: ")
    assert said(alone).endswith("its hardware is gpu-c, the board's is gpu-a")


def standing(**changed: Any) -> Standing:
    held: dict[str, Any] = {
        "contender": Contender("h", "m"), "attempted": 3, "unscored": 0, "mean": 0.25,
        "error": 0.125, "ranks": (1, 3), "groups": (0,),
        "passed": Proportion(count=1, of=3, interval=(0.06, 0.79)), **changed,
    }  # fmt: skip
    return Standing(**held)


def test_figures_are_written_as_the_site_does() -> None:
    assert mean(standing()) == ".250 ± .125"
    assert mean(standing(error=None)) == ".250"
    assert mean(standing(mean=None, error=None)) == "unknown"
    assert ranks(standing()) == "1 to 3"
    assert ranks(standing(ranks=(2, 2))) == "2"
    assert share(standing().passed) == "1 of 3, 95 % interval 6 % to 79 %"
    assert share(Proportion(count=0, of=0, interval=None)) == "0 of 0"
