"""Every falsification of a published site is found, and named at its place."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.verifying.published import Runs, copy_of, errors, in_json, replace_in, seal

BOARD = "demo/index.html"
BOARDS = "data/leaderboard.json"
LISTED = "data/runs.json"
SITE = "data/site.json"
FIRST, LEAKY = f"runs/{Runs.first}", f"runs/{Runs.leaky}"


def test_an_untouched_site_follows_from_its_raw_data(site: Path) -> None:
    assert errors(site) == []


@dataclass(frozen=True)
class Planted:
    """A falsification: what is done, and the file, key and words that name it."""

    name: str
    spoil: Callable[[Path], None]
    path: str
    key: str = ""
    says: str = ""


def words(path: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda site: replace_in(site, path, old, new)


def data(path: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    def spoil(site: Path) -> None:
        in_json(site, path, change)  # type: ignore[arg-type]

    return spoil


def sealed(path: str, old: str, new: str) -> Callable[[Path], None]:
    """The same in a raw file, whose manifest then says that it was always so."""

    def spoil(site: Path) -> None:
        replace_in(site, path, old, new)
        run_id, name = path.removeprefix("runs/").split("/raw/")
        seal(site, run_id, name)

    return spoil


def row(board: Any, number: int = 0) -> Any:
    return board["boards"][0]["rows"][number]


def _hide_run(site: Path) -> None:
    in_json(site, SITE, lambda held: held["runs"].remove(Runs.again))
    in_json(site, SITE, lambda held: held["boards"][0]["runs"].remove(Runs.again))


def _call_floor(held: Any) -> None:
    held["runs"].remove(Runs.failed)
    held["floor_runs"].append(Runs.failed)


def _faster(site: Path) -> None:
    for times in ("[0.88,0.98,1.08]", "[1.0,1.1,1.2]", "[0.97,0.98]") * 3:
        replace_in(site, f"{FIRST}/raw/samples.jsonl", times, "[0.3,0.3,0.3]")
    seal(site, Runs.first, "samples.jsonl")


def _add_file(site: Path) -> None:
    (site / f"{FIRST}/raw/files").mkdir()
    (site / f"{FIRST}/raw/files/more.py").write_text("pass\n")


def _packed(path: str) -> Callable[[Path], None]:
    """A compressed copy that says something else: who takes gzip is sent that one."""

    def spoil(site: Path) -> None:
        (site / path).write_bytes(gzip.compress(b"<p>false"))

    return spoil


def _no_table(site: Path) -> None:
    lines = (site / "data/runs.csv").read_bytes().split(b"\r\n")
    (site / "data/runs.csv").unlink()
    (site / "data/runs.csv").write_bytes(b"\r\n".join([*lines[:2], *lines[3:]]))


PLANTED = [
    Planted("a score in the raw grade", words(f"{FIRST}/raw/metrics.json", "0.42", "0.52"),
            f"{FIRST}/raw/metrics.json", says="changed after the run was completed"),
    Planted("a score in the raw grade, sealed anew",
            sealed(f"{FIRST}/raw/metrics.json", '"peak_fraction": 0.42', '"peak_fraction": 0.44'),
            f"{FIRST}/raw/metrics.json", "peak_fraction", "the geometric mean over the shapes"),
    Planted("an interval in the raw grade, sealed anew",
            sealed(f"{FIRST}/raw/metrics.json", "0.4307", "0.4207"),
            f"{FIRST}/raw/metrics.json", "interval", "got 0.381818 to 0.420769"),
    Planted("an interval of a shape, sealed anew",
            sealed(f"{FIRST}/raw/metrics.json", "1.099999", "1.009999"),
            f"{FIRST}/raw/metrics.json", "shapes[0].interval_ms", "bootstrap_seed"),
    Planted("what no kernel beats, sealed anew",
            sealed(f"{FIRST}/raw/metrics.json", '"floor_ms": 0.21', '"floor_ms": 0.11'),
            f"{FIRST}/raw/metrics.json", "shapes[0].floor_ms", "the problem's formulas"),
    Planted("a grade of another solution, sealed anew",
            sealed(f"{FIRST}/raw/solution.py", "softmax", "mine"),
            f"{FIRST}/raw/metrics.json", "solution_hash", "the run's solution"),
    Planted("a grader that tells no outcome, sealed anew",
            sealed(f"{FIRST}/raw/metrics.json", '"outcome": "PASS"', '"outcome": null'),
            f"{FIRST}/raw/metrics.json", "outcome", "missing"),
    Planted("samples, sealed anew", _faster, f"{FIRST}/raw/metrics.json", "shapes[0].ms",
            "the median of the times of the rounds"),
    Planted("a hash in a manifest", words(f"{FIRST}/raw/manifest.json", '": "', '": "0'),
            f"{FIRST}/raw/metrics.json", says="changed after the run"),
    Planted("a verdict in the raw audit",
            words(f"{LEAKY}/raw/audit.yaml", "verdict: rubric_leak", "verdict: interesting"),
            LISTED, f"runs[{Runs.leaky}].verdict", '"interesting"'),
    Planted("a quote in the raw audit",
            words(f"{LEAKY}/raw/audit.yaml", "return x.softmax(-1)", "return mine(x)"),
            f"{LEAKY}/raw/audit.yaml", "quotes[0].text", "return mine(x)"),
    Planted("the lines of a quote",
            words(f"{LEAKY}/raw/audit.yaml", "- 2\n", "- 1\n"),
            f"{LEAKY}/raw/audit.yaml", "quotes[0].lines", "line 2"),
    Planted("the solution", words(f"{LEAKY}/raw/solution.py", "softmax", "mine"),
            f"{LEAKY}/raw/solution.py", says="changed after"),
    Planted("a file added to a run", _add_file, f"{FIRST}/raw/files/more.py", says="manifest"),
    Planted("a file of a run taken away", lambda site: (site / f"{FIRST}/raw/solution.py").unlink(),
            f"{FIRST}/raw/solution.py", says="missing"),
    Planted("a cell of the board", words(BOARD, ".420", ".920"), BOARD, says=".920"),
    Planted("a floor on the board", words(BOARD, ".100", ".900"), BOARD, says=".900"),
    Planted("a count on the board", words(BOARD, "4 runs", "9 runs"), BOARD, "#main", "9 runs"),
    Planted("how much is audited", words(BOARD, ">Audited 2 of", ">Audited 3 of"), BOARD, "#main",
            "Audited 3 of"),
    Planted("a rank on the board", words(BOARD, "rank 1 to 3", "rank 1"), BOARD, says="rank 1;"),
    Planted("a leak's card", words(BOARD, "A library does it", "Nothing at all"), BOARD,
            says="Nothing at all"),
    Planted("a verdict in the data", data(BOARDS, lambda b: [
                cell.update(verdict="clean") for cell in row(b)["cells"]]),
            BOARDS, "boards[demo].rows[claude · leaky [max]].cells", '"rubric_leak"'),
    Planted("a rank in the data", data(BOARDS, lambda b: row(b).update(ranks=[1, 1])),
            BOARDS, "boards[demo].rows[claude · leaky [max]].ranks[1]"),
    Planted("the order of rows", data(BOARDS, lambda b: b["boards"][0]["rows"].reverse()),
            BOARDS, "boards[demo].rows", "the order that follows"),
    Planted("an attempt hidden from its cell", data(BOARDS, lambda b: [
                cell["attempts"].remove(Runs.again) for one in b["boards"][0]["rows"]
                for cell in one["cells"] if Runs.again in cell["attempts"]]),
            BOARDS, "boards[demo].rows[claude · opus-x [max]].cells[softmax].attempts",
            "2 items"),
    Planted("a floor in the data", data(BOARDS, lambda b: b["boards"][0]["floors"][0][
                "floors"][0].update(peak_fraction=0.3)),
            BOARDS, "boards[demo].floors[library].floors", "0.7"),
    Planted("coverage in the data", data(BOARDS, lambda b: b["boards"][0]["coverage"][0].update(
                done=9)), BOARDS, "boards[demo].coverage", "not 9"),
    Planted("a status in the data", data(LISTED, lambda b: [
                one.update(status="passed") for one in b["runs"]]),
            LISTED, f"runs[{Runs.failed}].status", '"wrong"'),
    Planted("an interval in the data", data(LISTED, lambda b: [
                one.update(interval=[0.41, 0.43]) for one in b["runs"] if one["interval"]]),
            LISTED, f"runs[{Runs.first}].interval[0]"),
    Planted("a cut session", data(LISTED, lambda b: [one.update(cut=False) for one in b["runs"]]),
            LISTED, f"runs[{Runs.failed}].cut", "true"),
    Planted("a run left out of the list", data(LISTED, lambda b: b["runs"].pop(0)), LISTED,
            "runs[", "missing"),
    Planted("a run hidden everywhere", _hide_run, f"runs/{Runs.again}", says="hidden"),
    Planted("a run of a contender called a floor", data(SITE, _call_floor), SITE,
            f"floor_runs[{Runs.failed}]", "is no floor"),
    Planted("a floor called a contender's run", data(SITE, lambda held: held["runs"].append(
                held["floor_runs"].pop())), SITE, f"runs[{Runs.floor}]", "is a floor"),
    Planted("an attempt counted twice", data(SITE, lambda held: held["runs"].append(Runs.first)),
            SITE, f"runs[{Runs.first}]", "2 times"),
    Planted("a run that is a floor as well", data(SITE, lambda held: held["floor_runs"].append(
                Runs.first)), SITE, f"runs[{Runs.first}]", "2 times"),
    Planted("a board shown twice", data(SITE, lambda held: held["boards"].append(
                held["boards"][0])), SITE, "boards[demo]", "2 times"),
    Planted("a figure in the table", words("data/runs.csv", "0.42", "0.99"), "data/runs.csv",
            f"{Runs.first}.peak_fraction", "'0.42'"),
    Planted("a row of the table", _no_table, "data/runs.csv"),
    Planted("the feed", words("data/feed.xml", "rubric_leak:", "clean:"), "data/feed.xml",
            says="rubric_leak:"),
    Planted("a card", words("data/boards/demo/card.svg", ".610", ".990"),
            "data/boards/demo/card.svg", says=".990"),
    Planted("a figure on a run's page", words(f"{FIRST}/index.html", ".420", ".720"),
            f"{FIRST}/index.html", says=".720"),
    Planted("a quote on a run's page",
            words(f"{LEAKY}/index.html", "return x.softmax(-1)", "return x.mine(-1)"),
            f"{LEAKY}/index.html", says="mine"),
    Planted("the home page", words("index.html", "of 1 quote ", "of 9 quote "), "index.html",
            says="of 9 quote "),
    Planted("a script that could show something else",
            words("static/runs.js", "function", "function  "), "static/runs.js"),
    Planted("a page of its own", lambda site: (site / "demo/better.html").write_text("<p>"),  # type: ignore[arg-type]
            "demo/better.html", says="no page that follows"),
    Planted("what kbsite.yaml says of a board", data(SITE, lambda held: held["config"][
                "boards"][0].update(audit_threshold=0.9)),
            SITE, "config.boards[demo]"),
    Planted("the parquet", lambda site: (site / "data/runs.parquet").write_bytes(b"PAR1"),  # type: ignore[arg-type]
            "data/runs.parquet"),
    Planted("a page in place of a page", _packed("demo/index.html.gz"), "demo/index.html.gz",
            says="a server may show it"),
    Planted("a script in place of a script", _packed("static/runs.js.gz"), "static/runs.js.gz",
            says="a server may show it"),
    Planted("a solution in place of a solution", _packed(f"{FIRST}/raw/solution.py.gz"),
            f"{FIRST}/raw/solution.py.gz", says="manifest"),
    Planted("an audit in place of an audit", _packed(f"{LEAKY}/raw/audit.yaml.gz"),
            f"{LEAKY}/raw/audit.yaml.gz", says="manifest"),
    Planted("rules that lead elsewhere", lambda site: (site / "_redirects").write_text("/ /b"),  # type: ignore[arg-type]
            "_redirects", says="no file that follows"),
    Planted("what is hidden taken away", lambda site: (site / "data/redaction.json").unlink(),
            "data/redaction.json", says="missing"),
    Planted("a page taken away", lambda site: (site / "audits/index.html").unlink(),
            "audits/index.html", says="missing"),
]  # fmt: skip


@pytest.mark.parametrize("path", [SITE, "data/redaction.json"])
def test_a_broken_record_of_the_site_hides_no_other_falsehood(
    path: str, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    (spoilt / path).unlink()
    (spoilt / path).write_text('{"format": 1}')
    replace_in(spoilt, f"{LEAKY}/raw/solution.py", "softmax", "mine")
    found = errors(spoilt)
    told = {one.path for one in found}

    assert (found[0].path, found[0].key) == (path, "kbsite" if path == SITE else "files")
    assert told >= {path, f"{LEAKY}/raw/solution.py", f"{LEAKY}/raw/audit.yaml"}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_falsification_is_found_and_named(planted: Planted, site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    planted.spoil(spoilt)
    found = errors(spoilt)
    there = [one for one in found if one.path == planted.path]

    assert any(
        (one.key or "").startswith(planted.key) and planted.says in one.message for one in there
    ), "\n".join(one.text for one in found)
