"""/methodology/ says what the code says of itself, all of it, and what alarms really catch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite import standings
from kbsite.alarms import caught
from kbsite.alarms.kinds import KINDS
from kbsite.build import build
from kbsite.model.alarm import Level
from kbsite.model.audit import Verdict
from kbsite.model.board import Due
from kbsite.model.config import Represents
from kbsite.model.floor import FloorKind
from kbsite.model.grade import Outcome
from kbsite.model.proof import ProofState
from kbsite.model.status import Status
from kbsite.pages import methodology
from kbsite.pages.page import Site
from kbsite.reading import read
from kbsite.rendering import Templates, environment
from kbsite.store.records import InvalidFileError
from tests.conftest import MakeRun, MakeSettings

TABLE: dict[str, Any] = {
    "fixtures": [
        {"id": "one", "title": "keeps its outputs", "group": "static", "expected": ["output-cache"],
         "caught": [{"kind": "output-cache", "level": "alarm"}], "caught_all": True},
        {"id": "two", "title": "reads <the> grader", "expected": ["read-grader"],
         "caught": [], "caught_all": False},
        {"id": "three", "title": "exits early", "group": "static", "expected": ["early-exit"],
         "caught": [{"kind": "early-exit", "level": "warning"}, {"kind": "new", "level": "note"}],
         "caught_all": True},
    ],
    "honest": [
        {"id": "a", "title": "a plain kernel", "highest": None, "kinds": []},
        {"id": "b", "title": "a tuned kernel", "highest": "note", "kinds": ["shape-branch"]},
        {"id": "c", "title": "a kernel that is suspected", "highest": "warning", "kinds": ["x"]},
    ],
}  # fmt: skip


@pytest.fixture(name="site")
def _site(tmp_path: Path, make_settings: MakeSettings) -> Site:
    return read(make_settings(tmp_path, title="The demo", audit_threshold=0.25))


def page(site: Site, table: Path) -> Any:
    values = methodology.values(site, table)
    html = Templates(environment(site)).page("pages/methodology.html", methodology.PATH, values)
    return html5lib.parse(html, namespaceHTMLElements=False)


def tried(site: Site, table: Path) -> Any:
    values = methodology.caught_values(table)
    html = Templates(environment(site)).page("pages/caught.html", methodology.CAUGHT, values)
    return html5lib.parse(html, namespaceHTMLElements=False)


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def section(tree: Any, name: str) -> Any:
    found = tree.find(f".//section[@id='{name}']")
    assert found is not None
    return found


def rows(node: Any, label: str) -> list[list[str]]:
    """The cells of a table, as text."""
    found = node.find(f".//div[@aria-label='{label}']")
    assert found is not None
    lines = found.findall(".//tbody/tr")
    return [[words(cell) for cell in line.findall("td")] for line in lines]


def written(path: Path, table: object) -> Path:
    path.write_text(json.dumps(table))
    return path


@pytest.mark.parametrize(("name", "sentences"), [
    ("figure", [kind.sentence for kind in FloorKind]),
    ("status", [status.sentence for status in Status]),
    ("cell", [rule.sentence for rule in Represents]),
    ("status", [outcome.sentence for outcome in Outcome] + [one.value for one in Outcome]),
    ("verdict", [verdict.sentence for verdict in Verdict]),
    ("proof", [state.sentence for state in ProofState]),
    ("coverage", [due.sentence for due in Due]),
    ("alarms", [level.sentence for level in Level]),
    ("alarms", [kind.title for kind in KINDS] + [kind.look for kind in KINDS]),
])  # fmt: skip
def test_every_word_of_the_code_stands_on_the_page(
    site: Site, tmp_path: Path, name: str, sentences: list[str]
) -> None:
    told = words(section(page(site, tmp_path / "none"), name))

    assert sentences
    assert [sentence for sentence in sentences if sentence not in told] == []


def test_the_figure_is_told_from_raw_times_to_the_whole(site: Site, tmp_path: Path) -> None:
    told = words(section(page(site, tmp_path / "none"), "figure"))

    order = ["Median in the solution's process", "The time: the slowest clock",
             "Time that the hardware's ceiling would take",
             "Ceiling time / measured time, geometric mean over the shapes."]  # fmt: skip
    assert [told.index(text) for text in order] == sorted(told.index(text) for text in order)
    assert "kbsite.model.grade.Metrics.peak_fraction" in told


def test_constants_of_the_ranking_are_those_that_it_is_made_with(
    site: Site, tmp_path: Path
) -> None:
    told = words(section(page(site, tmp_path / "none"), "ranking"))

    for name in ("RESAMPLES", "CONFIDENCE", "FEWEST_DIFFERENCES", "SEED"):
        assert f"{name} = {getattr(standings, name)} kbsite.standings.{name}" in told
    assert "_PARTS" not in told
    assert "A paired bootstrap over problems" in told
    assert "by Wilson's score method" in told
    assert "A contender's figure is its mean score over the deck." in told


def test_what_a_verdict_does_to_the_score_is_told(site: Site, tmp_path: Path) -> None:
    told = rows(page(site, tmp_path / "none"), "verdicts")

    assert {row[0].split()[-1]: row[2] for row in told} == {
        verdict.value: verdict.effect.value.replace("_", " ") for verdict in Verdict
    }
    questions = words(section(page(site, tmp_path / "none"), "verdict"))
    assert "validity valid, invalid, doubtful" in questions
    assert "provenance own, third_party, contaminated" in questions


def test_each_board_has_its_own_rule(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, problems=[], audit_threshold=0.25, represents="best")
    make_run(tmp_path / "runs/demo", model="a", audit={})
    make_run(tmp_path / "runs/demo", model="b")
    tree = page(read(settings), tmp_path / "none")

    assert rows(tree, "the rule of each board") == [["Demo", "25 % up", "1 of 2"]]
    assert "best A cell shows its best attempt" in words(section(tree, "cell"))
    assert words(section(tree, "cell")).endswith("Boards: Demo.")


def test_what_alarms_catch_is_counted_and_shown(site: Site, tmp_path: Path) -> None:
    held = section(page(site, written(tmp_path / "caught.json", TABLE)), "caught")
    told = words(held)
    tree = tried(site, tmp_path / "caught.json")

    assert "2 of 3 caught, 1 of 3 honest ones flagged." in told
    assert "All fixtures (3) and honest solutions (3)" in told
    assert [link.get("href") for link in held.iter("a")] == ["../methodology/alarms/index.html"]
    assert rows(tree, "fixtures") == [
        ["✓ caught keeps its outputs", "one static", "output-cache", "output-cache (alarm)"],
        ["✗ missed reads <the> grader", "two", "read-grader", "nothing"],
        ["✓ caught exits early", "three static", "early-exit", "early-exit (warning), new (note)"],
    ]
    assert rows(tree, "honest solutions") == [
        ["a plain kernel", "nothing", ""],
        ["a tuned kernel", "note", "shape-branch"],
        ["a kernel that is suspected", "warning", "x"],
    ]


def test_without_a_table_the_page_says_so(site: Site, tmp_path: Path) -> None:
    told = words(section(page(site, tmp_path / "none"), "caught"))

    assert "not tried on fixtures yet" in told
    assert "not tried on fixtures yet" in words(tried(site, tmp_path / "none"))


@pytest.mark.parametrize(("key", "value"), [
    ("fixtures", [{"id": "one"}]), ("honest", "none"),
    ("honest", [{**TABLE["honest"][0], "highest": "severe"}]),
])  # fmt: skip
def test_a_table_that_is_none_is_named_and_not_shown(
    tmp_path: Path, key: str, value: object
) -> None:
    path = written(tmp_path / "caught.json", {**TABLE, key: value})

    with pytest.raises(InvalidFileError, match=r"caught\.json"):
        caught.read_caught(path)


def test_the_table_that_is_published_can_be_read_and_names_known_kinds() -> None:
    held = caught.read_caught()
    known = {kind.id for kind in KINDS}

    for fixture in held.fixtures if held else ():
        assert set(fixture.expected) <= known, fixture.id
        assert {raised.kind for raised in fixture.caught} <= known, fixture.id


def test_the_page_is_part_of_every_site_and_light(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    out = build(make_settings(tmp_path)).out

    tree = html5lib.parse((out / methodology.PATH).read_text("utf-8"), namespaceHTMLElements=False)
    assert len(list(tree.iter())) < 1000
    assert (out / methodology.CAUGHT).is_file()
    assert (out / methodology.EXPLOITS).is_file()
    assert f'href="./{methodology.PATH}"' in (out / "index.html").read_text("utf-8")
