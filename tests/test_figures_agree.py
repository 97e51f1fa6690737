"""What is published of a run is what its raw files say, everywhere: computed here by other means.

Nothing of kbsite computes here: raw JSON, decimal arithmetic, an equation solved by halving.
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.dataset import write_dataset
from kbsite.reading import read
from kbsite.store.settings import read_settings

ROOT = Path(__file__).parents[1]
KERNELS = "kernels"


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = read_settings(ROOT / "kbsite.yaml")
    out = tmp_path_factory.mktemp("published")
    write_dataset(read(settings), out / "dataset")
    return build(replace(settings, out=out / "site")).out


def raw(site: Path, run_id: str, name: str) -> Any:
    """What a raw file of a run says."""
    path = site / "runs" / run_id / "raw" / name
    return json.loads(path.read_bytes()) if path.is_file() else {}


def data(site: Path, name: str) -> Any:
    return json.loads((site / "data" / name).read_bytes())


def rounded(value: float, places: int) -> str:
    """A share as pages write it, without the 0 before the point."""
    exact = Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    return f"{exact}".removeprefix("0")


def apart(ends: Sequence[float], told: Callable[[float], str]) -> list[str]:
    """Both ends of an interval as pages write them: with more places where they would be alike."""
    shown = [told(end) for end in ends]
    places = len(shown[0].partition(".")[2])
    while shown[0] == shown[1] and ends[0] != ends[1]:
        places += 1
        shown = [rounded(end, places) for end in ends]
        if told(ends[0]).startswith("0."):
            shown = [f"0{end}" for end in shown]
    return shown


def words(text: str) -> str:
    """A page as it is read."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_each_list_of_runs_says_what_their_raw_files_say(site: Path) -> None:
    table = (site / "data/runs.csv").read_text("utf-8")
    rows = {one["id"]: one for one in csv.DictReader(table.splitlines())}
    listed = {one["id"]: one for one in data(site, "runs.json")["runs"]}
    lines = (site.parent / "dataset" / "runs.jsonl").read_text().splitlines()
    exported = {one["id"]: one for one in map(json.loads, lines)}
    assert rows.keys() == listed.keys() == exported.keys() != set()

    for run_id, one in listed.items():
        run, grade = raw(site, run_id, "run.json"), raw(site, run_id, "metrics.json")
        row = rows[run_id]
        for name in ("peak_fraction", "ms"):
            wanted = grade.get(name) if grade.get("status") == "passed" else None
            assert one[name] == exported[run_id][name] == wanted
            assert (float(row[name]) if row[name] else None) == wanted
        assert one["interval"] == grade.get("interval")
        ends = [float(row[f"interval_{end}"]) for end in ("low", "high") if row[f"interval_{end}"]]
        assert ends == (grade.get("interval") or [])
        began, over = (datetime.fromisoformat(run[name]) for name in ("started", "ended"))
        assert one["seconds"] == pytest.approx((over - began).total_seconds(), abs=1e-6)
        assert float(row["seconds"]) == one["seconds"]
        for kind, value in one["usage"].items():
            assert value == run["usage"].get(kind)
            assert row[f"{kind}_tokens"] == ("" if value is None else str(value))
        same = ("status", "harness", "model", "problem", "end_reason", "started", "attempts")
        assert [str(one[name]) for name in same] == [row[name] for name in same]


def test_each_cell_of_a_board_shows_the_score_of_the_run_that_it_leads_to(site: Path) -> None:
    page = (site / KERNELS / "index.html").read_text()
    found = re.findall(r'href="\.\./runs/([^/"]+)/index\.html"><span class="score"[^>]*>([^<]+)<',
                       page)  # fmt: skip
    assert found
    for run_id, shown in found:
        assert shown == rounded(raw(site, run_id, "metrics.json")["peak_fraction"], 3)
    cells = re.findall(
        r'runs/([^/"]+)/index\.html"><span class="score">[^<]+</span>'
        r'<span class="interval" title="confidence interval (\S+) to (\S+)">±([^<]+)<', page,
    )  # fmt: skip
    assert cells
    for run_id, *shown in cells:
        low, high = raw(site, run_id, "metrics.json")["interval"]
        half = rounded((high - low) / 2, 3)
        margin = half if half != ".000" else "&lt;.001"
        assert shown == [*apart((low, high), lambda end: rounded(end, 3)), margin]


def test_a_board_is_what_its_runs_come_to(site: Path) -> None:
    (board,) = [one for one in data(site, "leaderboard.json")["boards"] if one["id"] == KERNELS]
    deck = len(board["problems"])
    for row in board["rows"]:
        scores = []
        for cell in row["cells"]:
            tried = {one: raw(site, one, "metrics.json") for one in cell["attempts"]}
            best = max((one.get("peak_fraction") or 0.0 for one in tried.values()), default=0.0)
            assert (cell["peak_fraction"] or 0.0) == best
            assert cell["run"] in tried
            scores.append(best)
        # By the rule of the board what was not tried counts 0.
        scores += [0.0] * (deck - len(scores))
        assert row["mean"] == pytest.approx(fmean(scores), abs=1e-8)
        assert row["error"] == pytest.approx(stdev(scores) / sqrt(deck), abs=1e-8)
        told = row["passed"]
        assert told["count"] == row["tally"]["passed"] == sum(score > 0 for score in scores)
        assert told["of"] == row["tally"]["attempted"] == len(row["cells"])
        assert told["interval"] == pytest.approx([*likely(told["count"], told["of"])], abs=1e-6)
    means = [row["mean"] for row in board["rows"]]
    assert means == sorted(means, reverse=True)


def likely(count: int, of: int) -> Iterator[float]:
    """The shares that a count is 1.96 standard errors from, which Wilson's interval ends at."""

    def off(share: float) -> float:
        return abs(count / of - share) - 1.959963984540054 * sqrt(share * (1 - share) / of)

    yield 0.0 if count == 0 else halved(off, count / of, 0.0)
    yield 1.0 if count == of else halved(off, count / of, 1.0)


def halved(off: Callable[[float], float], inside: float, outside: float) -> float:
    """Where a figure that is below 0 inside comes to 0; at an end inside it may be 0 itself."""
    inside += (outside - inside) * 1e-12
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if off(middle) <= 0 else (inside, middle)
    return inside


@pytest.mark.parametrize(("count", "of"), [(0, 3), (2, 2), (8, 9), (1, 40), (39, 40), (50, 100)])
def test_the_interval_of_a_share_is_wilsons(count: int, of: int) -> None:
    from kbsite.standings import wilson

    assert wilson(count, of) == pytest.approx((*likely(count, of),), abs=1e-9)


def graded(site: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in sorted((site / "runs").iterdir()):
        grade = raw(site, one.name, "metrics.json")
        if grade.get("status") == "passed":
            yield one.name, grade


def test_a_runs_page_and_its_texts_tell_its_grade(site: Path) -> None:
    found = dict(graded(site))
    assert found
    for run_id, grade in found.items():
        own = site / "runs" / run_id
        page = words((own / "index.html").read_text())
        score = rounded(grade["peak_fraction"], 3)
        assert f"{score} ±" in page
        for shape in grade["shapes"]:
            # Its time and interval, its ceiling, what binds it, its share of the ceiling.
            times = [
                figure(shape["ms"]),
                " to ".join(apart(shape["interval_ms"], figure)),
            ]
            share = rounded(shape["peak_fraction"], 3)
            cells = [shape["shape"], *times, figure(shape["ceiling_ms"]), shape["bound_by"], share]
            assert " ".join(" ".join(cells).split()) in page, run_id
        text = (own / "run.md").read_text()
        assert f"- peak_fraction: `{digits(grade['peak_fraction'])}`" in text
        assert (
            f"- interval: `{digits(grade['interval'][0])} to {digits(grade['interval'][1])}`"
            in text
        )
        if (own / "trajectory.json").is_file():  # a floor has no session
            told = json.loads((own / "trajectory.json").read_bytes())["extra"]
            assert (told["peak_fraction"], told["status"]) == (grade["peak_fraction"], "passed")


def figure(value: float) -> str:
    """A time in four digits, zeros at its end too."""
    return digits(value, zeros=True)


def digits(value: float, *, zeros: bool = False) -> str:
    exact = Decimal(value)
    places = 3 - exact.adjusted()
    told = f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN):f}"
    return told if zeros or "." not in told else told.rstrip("0").rstrip(".")


def test_scores_are_means_of_ceilings_over_times(site: Path) -> None:
    for run_id, grade in graded(site):
        logs = [log(one["ceiling_ms"]) - log(one["ms"]) for one in grade["shapes"]]
        assert log(grade["peak_fraction"]) == pytest.approx(fmean(logs), abs=1e-9), run_id
