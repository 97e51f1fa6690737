"""/data/: tables, feed and cards that say what the pages say, and fit the published schemas."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

import html5lib
import jsonschema
import pytest
import yaml
import zstandard
from arro3.io import read_parquet
from msgspec.structs import replace

from kbsite.build import build
from kbsite.feeds import cards, parquet
from kbsite.linting import lint
from kbsite.model.config import published_base
from kbsite.model.finding import Severity
from kbsite.store.problems import read_problem
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.trees import tree
from tests.verifying.published import EARLIER, LEAK, QUOTE, TRANSCRIPT, URL

ALLOWED = "sk-what-nobody-else-shall-know"
ROBOTS = '<meta name="robots" content="noindex, noai">'
HOSTILE = "<script>alert(1)</script>\"'&=cmd"


@pytest.fixture(name="settings", scope="module")
def _settings(
    tmp_path_factory: pytest.TempPathFactory,
    make_settings: MakeSettings,
    make_run: MakeRun,
    make_floors: MakeFloors,
) -> Settings:
    home = tmp_path_factory.mktemp("home")
    board = home / "runs" / "demo"
    audit = {"verdict": "rubric_leak", "quotes": [QUOTE], "implication": "It counts.",
             "leak": "library", "date": "2026-01-05", "history": [EARLIER],
             "summary": HOSTILE, "auditor": HOSTILE}  # fmt: skip
    told = {
        "url": URL, "leaks": [LEAK], "bundles": True, "title": HOSTILE,
        "redact": {"allow": [{"text": ALLOWED, "why": "made up"}]},
    }  # fmt: skip
    settings = make_settings(home, site=told)
    held: dict[str, Any] = {
        "problem_hash": read_problem(settings.problems / "softmax").hash,
        "transcript": TRANSCRIPT,
    }
    make_run(board, audit=audit, **held)
    make_run(board, **held)
    make_run(board, model=HOSTILE, metrics={"status": "wrong"}, started=None, ended=None, **held)
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.5})
    return settings


@pytest.fixture(name="out", scope="module")
def _out(settings: Settings) -> Path:
    return build(settings).out


def read(out: Path, name: str) -> Any:
    return json.loads((out / name).read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "schema"),
    [("leaderboard.json", "leaderboard"), ("boards/demo/leaderboard.json", "leaderboard"),
     ("runs.json", "runs"), ("site.json", "site"), ("redaction.json", "redaction")],
)  # fmt: skip
def test_what_is_published_fits_its_published_schema(out: Path, name: str, schema: str) -> None:
    kind = jsonschema.Draft202012Validator(read(out, f"data/schema/{schema}.schema.json"))

    assert [error.message for error in kind.iter_errors(read(out, f"data/{name}"))] == []


def test_a_board_says_when_it_was_run_whose_score_is_the_best_and_what_was_audited(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    made = partial(
        make_run, settings.runs / "demo",
        problem_hash=read_problem(settings.problems / "softmax").hash,
    )  # fmt: skip
    best = made(model="a", audit={"date": "2026-01-05"}).name
    scored = {"peak_fraction": 0.1, "interval": [0.09, 0.11]}
    made(model="b", started="2026-03-04T00:00:00Z", ended=None, metrics=scored)
    # What has no score has no interval of one, whatever its grader says.
    made(model="c", metrics={"status": "wrong", "interval": [0.4, 0.44]})
    made(model="d", started=None, ended=None, metrics={"status": "wrong"})
    told = read(build(settings).out, "data/leaderboard.json")
    (board,) = told["boards"]
    cells = {row["model"]: row["cells"][0] for row in board["rows"]}

    assert told["latest"] == "2026-03-04T00:00:00Z"
    assert [problem["best"] for problem in board["problems"]] == [best]
    assert {model: cell["audited"] for model, cell in cells.items()} == {
        "a": "2026-01-05", "b": None, "c": None, "d": None
    }  # fmt: skip
    assert {model: cell["interval"] for model, cell in cells.items()} == {
        "a": [0.40, 0.44], "b": [0.09, 0.11], "c": None, "d": None
    }  # fmt: skip


def test_a_board_says_what_its_page_shows(out: Path) -> None:
    (board,) = read(out, "data/leaderboard.json")["boards"]
    cells = {row["model"]: row["cells"][0] for row in board["rows"]}

    assert board["id"] == "demo"
    assert board["runs"] == 3
    assert (cells["opus-x"]["peak_fraction"], cells["opus-x"]["verdict"]) == (0.42, "rubric_leak")
    assert cells["opus-x"]["below_floor"] is True
    assert len(cells["opus-x"]["attempts"]) == 2
    assert cells[HOSTILE]["status"] == "wrong"
    assert [(one["title"], len(one["runs"])) for one in board["leaks"]] == [(LEAK["title"], 1)]
    assert board["coverage"][0] == {"reason": None, "done": 1, "due": 1}
    assert (out / cells["opus-x"]["page"]).is_file()
    assert read(out, "data/boards/demo/leaderboard.json")["boards"] == [board]


def test_a_boards_first_screen_leads_to_its_data_and_to_how_they_are_made(out: Path) -> None:
    page = (out / "demo/index.html").read_text("utf-8")
    tree = html5lib.parse(page.partition('id="grid"')[0], namespaceHTMLElements=False)
    links = {"".join(link.itertext()): link.get("href") for link in tree.find(".//main").iter("a")}

    assert links["[json]"] == "../data/boards/demo/leaderboard.json"
    assert links["[csv]"] == "../data/runs.csv"
    assert links["[methodology]"] == "../methodology/index.html"
    assert all((out / "demo" / links[name]).is_file() for name in ("[json]", "[csv]"))


def test_tables_list_the_runs_of_runs_json(out: Path) -> None:
    runs = read(out, "data/runs.json")["runs"]
    text = (out / "data/runs.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    columns = read_parquet(io.BytesIO((out / "data/runs.parquet").read_bytes())).read_all()

    assert [row["id"] for row in rows] == [run["id"] for run in runs]
    assert [row["started"] for row in rows] == [run["started"] or "" for run in runs]
    assert [row["peak_fraction"] for row in rows] == [
        "" if run["peak_fraction"] is None else repr(run["peak_fraction"]) for run in runs
    ]
    assert columns["id"].to_pylist() == [run["id"] for run in runs]
    assert columns["attempts"].to_pylist() == [run["attempts"] for run in runs]


def test_tables_tell_times_and_which_runs_a_verdict_took_out(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    """Of a board on which nothing has a score they told no outcome; a mean had hacks in it."""
    settings = make_settings(tmp_path)
    figures: dict[str, Any] = {"peak_fraction": None, "interval": None, "shapes": []}
    hack = {"verdict": "reward_hack", "implication": "It counts for nothing."}
    make_run(settings.runs / "demo", run_id="r1", metrics={**figures, "ms": 1.5})
    make_run(settings.runs / "demo", run_id="r2", audit=hack)
    out = build(settings).out
    told = [(run["ms"], run["counts"]) for run in read(out, "data/runs.json")["runs"]]
    text = (out / "data/runs.csv").read_bytes().decode()
    rows = csv.DictReader(io.StringIO(text, newline=""))

    assert told == [(1.5, True), (None, False)]
    assert [(row["ms"], row["counts"]) for row in rows] == [("1.5", "true"), ("", "false")]


def test_the_feed_tells_runs_verdicts_and_corrections(out: Path) -> None:
    ns = {"a": "http://www.w3.org/2005/Atom"}
    root = ElementTree.parse(out / "data/feed.xml").getroot()
    told = [
        (one.findtext("a:updated", "", ns)[:10], one.find("a:category", ns).attrib["term"])  # type: ignore[union-attr]
        for one in root.findall("a:entry", ns)
    ]
    links = [one.attrib["href"] for one in root.findall("a:entry/a:link", ns)]

    assert told[:2] == [("2026-01-05", "verdict"), ("2026-01-04", "correction")]
    # The hostile run has no times: its id tells when it began.
    assert sorted(told[2:]) == [("2026-01-02", "run")] * 3
    assert all((out / link.removeprefix(URL) / "index.html").is_file() for link in links)
    # The one address that the page names itself.
    assert all(link.endswith("/") for link in links)


def test_a_verdict_of_the_day_of_its_run_is_told_after_the_run(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    """An audit has a day and no hour: as if of midnight, it stood below the run that it judges."""
    settings = make_settings(tmp_path)
    earlier = {**EARLIER, "replaced": "2026-01-02"}
    make_run(settings.runs / "demo", audit={"date": "2026-01-02", "history": [earlier]})
    root = ElementTree.parse(build(settings).out / "data/feed.xml").getroot()
    entries = root.findall("{http://www.w3.org/2005/Atom}entry")
    told = [
        [one.findtext(f"{{http://www.w3.org/2005/Atom}}{name}") for name in ("updated", "title")]
        for one in entries
    ]

    assert told == [
        ["2026-01-02T03:34:05Z", "clean: claude · opus-x [max] on softmax"],
        ["2026-01-02T03:34:05Z", "clean judged anew: claude · opus-x [max] on softmax"],
        ["2026-01-02T03:34:05Z", "run: claude · opus-x [max] on softmax"],
    ]


def test_names_that_are_no_utf_8_leave_files_that_every_reader_takes(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(settings.runs / "demo")
    folder.rename(folder.with_name(os.fsdecode(b"odd\xff")))
    out = build(settings).out

    for name in ("data/runs.json", "data/leaderboard.json", "data/boards/demo/leaderboard.json"):
        held = (out / name).read_text("utf-8")
        assert '"odd\\\\xff"' in held
        assert "\\ud" not in held


def test_corrections_of_one_day_are_news_each(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    other = {**EARLIER, "verdict": "bug", "why": "It was no fault."}
    back = {**EARLIER, "why": "It was one."}
    told = {"verdict": "rubric_leak", "implication": "It counts.", "date": "2026-01-04"}
    make_run(settings.runs / "demo", audit={**told, "history": [EARLIER, other, back]})
    out = build(settings).out
    root = ElementTree.parse(out / "data/feed.xml").getroot()
    ids = [one.text for one in root.iter("{http://www.w3.org/2005/Atom}id")]
    page = (out / "audits/index.html").read_text("utf-8")
    whys = [page.index(one["why"]) for one in (back, other, EARLIER)]

    assert len(ids) == len(set(ids)) == 1 + 1 + 1 + 3
    assert whys == sorted(whys)


def test_the_sitemap_names_pages_that_are_there(out: Path) -> None:
    ns = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
    root = ElementTree.parse(out / "sitemap.xml").getroot()
    named = [one.text or "" for one in root.findall("s:url/s:loc", ns)]

    assert URL in named
    assert len(named) == len(set(named))
    for address in named:
        assert (out / address.removeprefix(URL) / "index.html").is_file(), address
    assert f"Sitemap: {URL}sitemap.xml" in (out / "robots.txt").read_text()


def test_a_site_that_asks_not_to_be_listed_does_so_on_each_page(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site={"url": URL, "robots": "noindex, noai"})
    make_run(settings.runs / "demo", transcript=TRANSCRIPT)
    out = build(settings).out
    pages = [page for page in out.rglob("*.html") if page.name != "404.html"]
    asked = [page for page in pages if ROBOTS in page.read_text("utf-8")]

    assert len(pages) > 10
    assert asked == pages
    assert "Sitemap" not in (out / "robots.txt").read_text()
    assert not list(out.glob("sitemap*"))
    assert [one for one in lint(out) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(("robots", "there"), [("noai", True), ("index, None", False)])
def test_a_sitemap_is_made_of_what_may_be_listed(
    robots: str, there: bool, tmp_path: Path, make_settings: MakeSettings
) -> None:
    out = build(make_settings(tmp_path, site={"url": URL, "robots": robots})).out

    assert (out / "sitemap.xml").exists() == there
    assert ("Sitemap: " in (out / "robots.txt").read_text()) == there


def test_a_site_that_asks_crawlers_for_nothing_says_nothing(out: Path) -> None:
    assert 'name="robots"' not in (out / "index.html").read_text("utf-8")


def test_the_sitemap_tells_the_day_on_which_a_run_was_made_or_judged_last(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    """Search engines come back for what changed, and have nothing else to tell it by."""
    settings = make_settings(tmp_path, site={"url": URL})
    board, slip = settings.runs / "demo", datetime(2199, 1, 1, tzinfo=UTC)
    make_run(board, run_id="made")
    make_run(board, run_id="judged", audit={"date": "2026-01-05"})
    make_run(board, run_id="anew", audit={"history": [{**EARLIER, "replaced": "2026-02-01"}]})
    make_run(board, run_id="slip", started=None, ended=slip, end_reason="unknown")
    root = ElementTree.parse(build(settings).out / "sitemap.xml").getroot()
    held = {one[0].text or "": [more.text for more in one[1:]] for one in root}
    told = {name: held[f"{URL}runs/{name}/"] for name in ("made", "judged", "anew", "slip")}

    assert told == {
        "made": ["2026-01-02"], "judged": ["2026-01-05"], "anew": ["2026-02-01"], "slip": []
    }  # fmt: skip
    assert held[URL] == []


def test_an_address_of_other_letters_is_told_as_a_browser_sends_it(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    """Sitemaps may name no other, and what robots.txt has is taken to the letter."""
    settings = make_settings(tmp_path, site={"url": "https://bücher.example:8000/übung/a%20b"})
    make_run(settings.runs / "demo")
    out = build(settings).out
    at = "/%C3%BCbung/a%20b/"
    base = f"https://xn--bcher-kva.example:8000{at}"

    assert f"<loc>{base}demo/</loc>" in (out / "sitemap.xml").read_text("ascii")
    assert f"Disallow: {at}runs/*/raw/" in (out / "robots.txt").read_text("ascii")
    assert f'<link rel="canonical" href="{base}demo/">' in (out / "demo/index.html").read_text()
    assert [one for one in lint(out) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("", ""), ("ftp://a.example", ""), ("http://a.example", "http://a.example/"),
        ("https://a..é/x", "https://a..%C3%A9/x/"),
        ("https://a.example/\ud800", "https://a.example/%3F/"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_no_fault_of_who_reads_it(url: str, base: str) -> None:
    assert published_base(url) == base


def test_pages_name_cards_that_are_there(out: Path) -> None:
    named = (out / "sitemap.xml").read_text()
    for page in [out / "index.html", out / "demo/index.html", *out.glob("runs/2*/index.html")]:
        tree = html5lib.parse(page.read_text("utf-8"), namespaceHTMLElements=False)
        told = {
            node.attrib["property"]: node.attrib["content"]
            for node in tree.iter("meta") if "property" in node.attrib
        }  # fmt: skip
        [canonical] = [one for one in tree.iter("link") if one.attrib["rel"] == "canonical"]
        # The one address that the sitemap tells of it, too.
        assert told["og:url"] == canonical.attrib["href"] == f"{URL}{page.relative_to(out)}"[:-10]
        assert f"<loc>{told['og:url']}</loc>" in named
        assert told["og:site_name"] == HOSTILE
        assert all(told.values())
        if page.parent == out:
            continue
        assert (out / told["og:image"].removeprefix(URL)).is_file()
        assert (out / told["og:image"].removeprefix(URL)).suffix == ".png"
    for card in out.rglob("card.svg"):
        ElementTree.parse(card)
        assert "<script" not in card.read_text("utf-8")


def test_a_boards_card_names_nobody_before_others_who_are_as_good(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, site={"url": URL}, problems=[])
    board = tmp_path / "runs" / "demo"

    def told() -> str:
        return (build(settings).out / "data/boards/demo/card.svg").read_text("utf-8")

    assert "no run has a score yet" in told()
    make_run(board, model="a", metrics={"peak_fraction": 0.5})
    make_run(board, model="worse", metrics={"peak_fraction": 0.25})
    assert "best .500: claude · a [max]" in told()
    make_run(board, model="b", metrics={"peak_fraction": 0.5})
    make_run(board, model="c", metrics={"peak_fraction": 0.5}, audit={"verdict": "reward_hack"})
    assert "best .500: 2 contenders<" in told()


def test_of_a_board_of_times_its_card_and_the_first_page_tell_who_passed_the_most(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, site={"url": URL}, problems=[])
    board = tmp_path / "runs" / "demo"

    def told(first: str) -> None:
        out = build(settings).out
        assert first in (out / "data/boards/demo/card.svg").read_text("utf-8")
        assert first.partition(":")[0] in (out / "index.html").read_text("utf-8")

    timed: dict[str, Any] = {"ms": 1.5, "peak_fraction": None, "interval": None, "shapes": []}

    def passed(model: str, *names: str) -> None:
        for name in names:
            make_run(board, model=model, problem=name, metrics=timed)

    for name in ("two", "three"):
        make_run(board, model="a", problem=name, metrics={"status": "wrong"})
    out = build(settings).out
    assert "no run has a score yet" in (out / "data/boards/demo/card.svg").read_text("utf-8")
    assert "most passed" not in (out / "index.html").read_text("utf-8")
    passed("a", "one")
    told("most passed 1 of 3: claude · a [max]<")
    passed("b", "one", "two")
    told("most passed 2 of 3: claude · b [max]<")
    passed("c", "two", "three")
    told("most passed 2 of 3: 2 contenders<")


def test_a_bundle_holds_the_runs_own_files(out: Path, settings: Settings) -> None:
    folder = min((settings.runs / "demo").glob("2*"))
    packed = (out / f"runs/{folder.name}/bundle.tar.zst").read_bytes()
    stream = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed))
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        held = {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]

    assert held == {
        f"{folder.name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def test_what_says_what_is_hidden_is_not_published(out: Path) -> None:
    assert ALLOWED not in (out / "data/site.json").read_text("utf-8")
    kept = read(out, "data/site.json")["config"]
    assert kept["title"] == HOSTILE
    assert (kept["runs"], kept["out"]) == ("runs", "site")


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_a_verdict_changes_its_own_card_and_bundle_alone_and_comes_out_as_from_nothing(
    settings: Settings, out: Path, tmp_path: Path
) -> None:
    before = tree(out)
    folder = max((settings.runs / "demo").glob("*opus-x*"))
    audit = {"verdict": "clean", "summary": "Fine.", "auditor": "A. Reader", "date": "2026-02-01"}
    (folder / "audit.yaml").write_text(yaml.safe_dump(audit))
    after = tree(build(settings).out)
    per_run = {p for p in changed(before, after) if "card" in p or "bundle" in p}

    assert {p for p in per_run if p.startswith("runs/")} == {
        f"runs/{folder.name}/{name}" for name in ("card.svg", "card.png", "bundle.tar.zst")
    }
    assert after == tree(build(replace(settings, out=tmp_path / "anew")).out)


def without(monkeypatch: pytest.MonkeyPatch, modules: Sequence[Any]) -> None:
    for module in modules:
        monkeypatch.setattr(module, "available", lambda: False)


def test_an_extra_that_is_installed_later_is_used_by_the_next_build(
    tmp_path: Path, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(tmp_path)
    with monkeypatch.context() as lacking:
        without(lacking, [parquet])
        assert not (build(settings).out / "data/runs.parquet").exists()

    assert (build(settings).out / "data/runs.parquet").is_file()
    assert build(settings).work.written == 0


def test_what_an_extra_is_missing_for_is_left_out_and_said(
    tmp_path: Path, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, [parquet, cards])
    settings = make_settings(tmp_path, site={"url": URL})
    out = build(settings).out
    text = (out / "data/index.html").read_text("utf-8")

    assert "left out: kbsite[parquet] was not installed" in text
    assert not (out / "data/runs.parquet").exists()
    assert list(out.rglob("*.png")) == []
    assert "card.svg" in (out / "demo/index.html").read_text("utf-8")


def test_a_site_that_does_not_say_where_it_stands_names_no_address(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    out = build(make_settings(tmp_path)).out

    assert read_settings(tmp_path / "kbsite.yaml").config.url == ""
    assert not (out / "sitemap.xml").exists()
    assert list(out.rglob("card.*")) == []
    assert "og:image" not in (out / "demo/index.html").read_text("utf-8")
    assert (out / "data/feed.xml").is_file()


def test_each_file_that_is_offered_is_told_in_the_docs(out: Path) -> None:
    """`<id>` stands there for a board or a run."""
    text = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8")
    told = {name.replace("<id>", "*") for name in re.findall(r"`([^`]+)`", text)}
    page = (out / "data" / "index.html").read_text("utf-8")
    offered = {urljoin("data/", href) for href in re.findall(r'href="([^"#]+)"', page)}
    files = {path for path in offered if path.startswith("data/") and not path.endswith("/")}

    assert len(files) > 7
    for path in files:
        assert any(fnmatchcase(path, name) for name in told), f"docs/exports.md lacks {path}"
