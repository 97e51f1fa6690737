"""/models/ and /harnesses/: every cell of each on all boards, and how its sessions went."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import html5lib
import pytest
import yaml

from kbsite.build import build
from kbsite.pages import contenders
from kbsite.pages.page import harness_path, model_path
from kbsite.reading import read
from kbsite.store.problems import read_problem
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeRun, MakeSettings

HOSTILE = "../x'><img src=x onerror=alert(1)>/\u202e/Opus"
NAMES = [HOSTILE, "Opus", "opus", "a" * 300, "…", "", "..", "con.", "-x"]


@pytest.fixture(scope="module", name="out")
def _out(
    tmp_path_factory: pytest.TempPathFactory, make_settings: MakeSettings, make_run: MakeRun
) -> Path:
    """A site that tests only read."""
    return build(made(tmp_path_factory.mktemp("contenders"), make_settings, make_run)).out


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    return made(tmp_path, make_settings, make_run)


def made(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    """Two boards; `m` by two harnesses on the first, and by one on the second."""
    make_settings(tmp_path, problems=("softmax", "sort"), title="The demo")
    path = tmp_path / "kbsite.yaml"
    held = yaml.safe_load(path.read_text("utf-8"))
    held["boards"].append({"id": "late", "title": "Later", "deck": ["softmax"]})
    path.write_text(yaml.safe_dump(held), "utf-8")
    runs = tmp_path / "runs"
    (runs / "late").mkdir()
    softmax: dict[str, Any] = {"problem_hash": read_problem(tmp_path / "problems/softmax").hash}
    make_run(runs / "demo", run_id="a", model="m", **softmax, audit={"summary": "It is **fine**."})
    make_run(runs / "demo", run_id="b", model="m", harness="codex", **softmax, cost_usd=1.5,
             metrics={"peak_fraction": 0.5, "interval": None}, end_reason="budget",
             usage={"input": 300, "output": 60, "reasoning": 7},
             audit={"verdict": "reward_hack", "summary": "No."})  # fmt: skip
    make_run(runs / "demo", run_id="c", model="other", **softmax, metrics={"status": "wrong"})
    make_run(runs / "late", run_id="d", model="m", **softmax, seconds=None)
    make_run(runs / "floors", run_id="f", model="library", harness="floor", **softmax)
    return read_settings(path)


def parsed(path: Path) -> Any:
    return html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False).find(".//main")


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def rows(main: Any) -> list[list[str]]:
    """The cells of each row of tables of cells; a contender's name alone."""
    tables = [held for held in main.iter("table") if "list" in held.get("class", "")]
    lines = [line for held in tables for line in held.iter("tr")]
    return [[words(cell) for cell in line if cell.tag in ("td", "th")] for line in lines]


def facts(main: Any) -> dict[str, str]:
    table = next(held for held in main.iter("table") if held.get("class") == "facts")
    return {words(line[0]): words(line[1]) for line in table.iter("tr")}


def test_a_model_has_its_cells_by_every_harness_on_every_board(out: Path) -> None:
    main = parsed(out / model_path("m"))
    head = ["problem", "result", "best", "verdict", "time", "tokens", "cost"]

    assert words(main.find("h1")) == "m"
    assert [words(held) for held in main.iter("h2")] == [
        "The demo", "Later", "how its sessions went",
    ]  # fmt: skip
    assert rows(main) == [
        head,
        ["claude · m [max]: 1 of 1 attempted cell passed, no run on sort"],
        ["softmax", ".420±.020", "this one", "★ clean It is fine.", "30:00",
         "100 in 20 out", "unknown"],
        [
            "codex · m [max]: 0 of 1 attempted cell passed, 1 taken out by its verdict, "
            "no run on sort"
        ],
        ["softmax", ".500 does not count", ".420±.020", "☠ reward_hack No.",
         "30:00 ✂ cut by the budget", "300 in 60 out", "$1.50"],
        head,
        ["claude · m [max]: 1 of 1 attempted cell passed"],
        ["softmax", ".420±.020", "this one", "due, not audited yet", "30:00",
         "100 in 20 out", "unknown"],
    ]  # fmt: skip


def test_how_sessions_went_is_counted_over_all_runs(out: Path) -> None:
    model, harness = (
        facts(parsed(out / path)) for path in (model_path("m"), harness_path("codex"))
    )

    assert model["harnesses"] == "claude (2), codex (1)"
    assert model["results"] == "passed (3)"
    assert model["verdicts"] == "clean (1), reward_hack (1), not audited (1)"
    assert model["how sessions ended"] == "finished (2), budget (1)"
    assert model["tokens sent"] == "median 100"
    assert model["tokens generated"] == "median 20"
    assert model["cost"] == "median $1.50, known of 1 of 3 runs"
    assert "tells what it cost" not in model
    assert harness["models"] == "m (1)"
    assert harness["tells of tokens sent"] == "1 of 1 run"
    assert harness["tells of tokens from its cache"] == "0 of 1 run"
    assert harness["tells of tokens of reasoning"] == "1 of 1 run"
    assert harness["tells what it cost"] == "1 of 1 run"


def test_boards_runs_and_pages_of_the_other_half_lead_there(out: Path) -> None:
    targets = {model_path("m"), harness_path("codex")}
    for page in ("demo/index.html", "runs/b/index.html", *targets):
        links = {urljoin(page, link.get("href")) for link in parsed(out / page).iter("a")}
        assert targets - {page} <= links
    filtered = [
        link.get("href") for link in parsed(out / model_path("m")).iter("a")
        if words(link) == "filter them"
    ]  # fmt: skip

    assert all((out / path).is_file() for path in targets)
    assert filtered == ["../../runs/index.html?model=m"]


def test_floors_are_no_contenders(out: Path) -> None:
    crumbs = next(parsed(out / "runs/f/index.html").iter("nav"))

    assert not (out / model_path("library")).exists()
    assert not (out / "harnesses/floor").exists()
    assert not [link for link in crumbs.iter("a") if "models" in link.get("href")]


def test_a_page_of_very_many_cells_shows_some_and_counts_the_rest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders, "CELLS", 1)
    main = parsed(build(settings).out / model_path("m"))

    assert [row[0] for row in rows(main) if row[0] == "softmax"] == ["softmax"]
    assert words(main).count("1 further cell stands on the board.") == 2


def test_one_run_changes_the_pages_of_its_own_two_halves_alone(
    settings: Settings, make_run: MakeRun
) -> None:
    out = build(settings).out
    before = written(out)
    shutil.rmtree(settings.runs / "late" / "d")
    softmax: dict[str, Any] = {"problem_hash": read_problem(settings.problems / "softmax").hash}
    wrong = {"status": "wrong"}
    make_run(settings.runs / "late", run_id="d", model="m", **softmax, metrics=wrong)
    build(settings)
    after = written(out)

    assert {path for path in after if after[path] != before.get(path)} == {
        model_path("m"), harness_path("claude"),
    }  # fmt: skip
    assert rows(parsed(out / model_path("m")))[-1][1] == "✗ wrong"


def test_a_note_on_the_best_run_makes_no_page_anew_that_shows_its_figure_alone(
    settings: Settings,
) -> None:
    before = depends(settings)
    audit = settings.runs / "demo" / "a" / "audit.yaml"
    audit.write_text(audit.read_text("utf-8").replace("fine", "right"), "utf-8")
    noted = depends(settings)
    grade = settings.runs / "demo" / "a" / "metrics.json"
    grade.write_text(grade.read_text("utf-8").replace("0.42", "0.43"), "utf-8")
    better = depends(settings)
    own = {model_path("m"), harness_path("claude")}

    assert {path for path in before if noted[path] != before[path]} == own
    # It stands beside those of the others.
    assert {path for path in before if better[path] != noted[path]} == {
        *own, model_path("other"), harness_path("codex"),
    }  # fmt: skip


def depends(settings: Settings) -> dict[str, object]:
    """What each page of a model or a harness hangs on."""
    pages = list(contenders.pages(read(settings)))
    return {page.path: page.depends and page.depends({}) for page in pages}


def written(out: Path) -> dict[str, int]:
    """When each page of a model or a harness was written."""
    pages = [*out.glob("models/*/*"), *out.glob("harnesses/*/*")]
    return {path.relative_to(out).as_posix(): path.stat().st_mtime_ns for path in pages}


def test_a_model_may_be_called_anything(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    softmax: dict[str, Any] = {"problem_hash": read_problem(tmp_path / "problems/softmax").hash}
    for number, name in enumerate(NAMES):
        make_run(tmp_path / "runs/demo", run_id=str(number), model=name, **softmax)
    out = build(settings).out
    made = {path.relative_to(out).as_posix() for path in out.glob("models/**/index.html")}

    assert made == {model_path(name) for name in NAMES}
    assert len(made) == len(NAMES)
    assert {path.count("/") for path in made} == {2}
    assert "<img" not in (out / model_path(HOSTILE)).read_text("utf-8").partition("<main")[2]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("m", "median $0.1400, 2 of them are estimates"),
        ("bare", "median $0.0120, 1 of them is an estimate, 1 a lower bound"),
    ],
)
def test_a_median_of_costs_says_how_many_of_them_nobody_told(
    tmp_path: Path, settings: Settings, make_run: MakeRun, model: str, told: str
) -> None:
    usage = {"input": 10, "cache_read": 5, "output": 1}
    make_run(tmp_path / "runs" / "demo", run_id="e", model="bare", usage=usage)
    (tmp_path / "prices.yaml").write_text(
        "prices:\n  - models: [m, bare]\n    input: 1000\n    output: 2000\n"
        "    source: https://prices.example/m\n    looked_up: 2026-01-01\n"
    )
    out = build(read_settings(settings.path)).out

    assert facts(parsed(out / model_path(model)))["cost"] == told
