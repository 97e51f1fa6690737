"""/audits/ tells every verdict, how much of what is due was read, and what was corrected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite import alarms
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.build import build
from kbsite.lookout import Lookout
from kbsite.model.alarm import Alarm, Level
from kbsite.model.proof import Proof, ProofState
from kbsite.output import file_bytes
from kbsite.pages import audits, verdicts
from kbsite.pages.leaks import leaks
from kbsite.pages.page import Site
from kbsite.reading import read
from kbsite.rendering import Templates, environment
from tests.conftest import MakeRun, MakeSettings

HOSTILE = "x'><script>alert(1)</script>&amp;\u202e"
PAGE = "audits/index.html"
QUOTE = {"file": "solution.py", "lines": [1], "label": "the line", "text": "def solve(x):"}
EARLIER = {
    "verdict": "reward_hack", "summary": "It cheats.", "auditor": "A. Reader", "date": "2026-02-01",
    "replaced": "2026-02-03", "by": "B. Reader", "why": "the cache is cleared",
}  # fmt: skip


WRONG = {"status": "wrong"}


def made(site: Site) -> dict[str, str]:
    """The files of the page of audits, by path."""
    (page,) = audits.pages(site)
    return {
        file.path: file_bytes(file).decode() for file in page.files(Templates(environment(site)))
    }


def tree(html: str) -> Any:
    return html5lib.parse(html, namespaceHTMLElements=False)


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def cells(html: str) -> list[list[str]]:
    """The cells of each verdict on a page, as text."""
    lines = tree(html).findall(".//table[@id='runs']/tbody/tr")
    return [[words(cell) for cell in line.findall("td")] for line in lines]


def section(html: str, name: str) -> Any:
    found = tree(html).find(f".//section[@id='{name}']")
    assert found is not None
    return found


def proofs(site: Site, *states: ProofState) -> Mapping[str, tuple[Proof, ...]]:
    """What became of the quotes of the only audit that has any."""
    (run,) = [stored for stored in site.runs if stored.audit and stored.audit.quotes]
    assert run.audit
    pairs = zip(run.audit.quotes, states, strict=True)
    return {run.run.id: tuple(Proof(quote=quote, state=state) for quote, state in pairs)}


@pytest.fixture(name="site")
def _site(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Site:
    """Four verdicts, one that takes its run out of the ranking, one without a date, and a leak."""
    leak = {"id": "cast", "title": "The cast", "meant": "m", "happened": "h"}
    settings = make_settings(tmp_path, problems=[], title="The demo", site={"leaks": [leak]})
    board = tmp_path / "runs" / "demo"
    make_run(board, run_id="a", model="a", audit={"date": "2026-02-01", "quotes": [QUOTE, QUOTE]})
    own = {"summary": "It keeps *answers*.", "implication": "i", "verdict": "reward_hack"}
    make_run(board, run_id="b", model="b", audit={**own, "date": "2026-03-01", "auditor": "B"})
    own = {"verdict": "rubric_leak", "leak": "cast", "implication": "i"}
    make_run(board, run_id="c", model="c", audit={**own, "date": None})
    make_run(
        board, run_id="d", model="d", audit={"date": "2026-02-01"}, metrics={"status": "wrong"}
    )
    make_run(board, run_id="open", model="e")
    return read(settings)


def test_verdicts_stand_in_a_row_the_newest_first(site: Site) -> None:
    rows = cells(made(site)[PAGE])

    assert [row[0] for row in rows] == ["2026-03-01", "2026-02-01", "2026-02-01", "–"]
    assert [row[1] for row in rows] == [
        "☠ reward_hack", "★ clean", "★ clean", "⚑ rubric_leak The cast",
    ]  # fmt: skip
    assert rows[0][2:] == [
        "claude · b [max] softmax · The demo", ".420±.020 does not count", "It keeps answers.",
        "none", "B",
    ]  # fmt: skip
    assert [row[3] for row in rows[1:]] == ["✗ wrong", ".420±.020", ".420±.020"]


def test_a_leak_leads_to_what_its_board_tells_of_it(site: Site) -> None:
    files = made(site)
    (link,) = tree(files[PAGE]).findall(".//td[@data-label='verdict']/a")
    rows = handed_over(files[verdicts.SCRIPT])

    assert (words(link), link.get("href")) == ("The cast", "../demo/index.html#leak-cast")
    assert [row["card"] for row in rows] == ["", "", "", "demo/index.html#leak-cast"]
    (card,) = leaks(site, site.boards[0])
    assert card.anchor == "leak-cast"


def test_a_score_that_does_not_count_is_struck_and_no_other(site: Site) -> None:
    page = tree(made(site)[PAGE])

    assert [words(struck) for struck in page.iter("s")] == [".420±.020"]


@pytest.mark.parametrize(("states", "told", "passages"), [
    ([ProofState.PROVEN, ProofState.PROVEN], "2 of 2 proven", "all quotes proven (1)"),
    ([ProofState.PROVEN, ProofState.DIFFERS], "1 of 2 proven", "some quotes proven (1)"),
    ([ProofState.NO_FILE, ProofState.NO_LINE], "0 of 2 proven", "no quote proven (1)"),
])  # fmt: skip
def test_how_many_quotes_are_proven_is_told(
    site: Site, states: list[ProofState], told: str, passages: str
) -> None:
    html = made(replace(site, proofs=proofs(site, *states)))[PAGE]

    assert sorted(row[5] for row in cells(html)) == [told, "none", "none", "none"]
    assert f"{told[:6]} quotes proven" in words(tree(html).find(".//main"))
    assert options(html)["passages"] == [passages, "without quotes (3)"]


def options(html: str) -> dict[str, list[str]]:
    return {
        select.get("name"): [option.text for option in select.findall("option")][1:]
        for select in tree(html).findall(".//select")
    }


def test_every_filter_counts_the_verdicts_of_each_value(site: Site) -> None:
    told = options(made(site)[PAGE])

    assert tuple(told) == (*verdicts.FILTERS, "sort")
    assert told["board"] == ["The demo (4)"]
    assert told["verdict"] == ["★ clean (2)", "⚑ rubric_leak (1)", "☠ reward_hack (1)"]
    assert told["counts"] == ["counts (3)", "does not count (1)"]
    assert told["leak"] == ["The cast (1)", "no leak (3)"]
    assert told["auditor"] == ["A. Reader (3)", "B (1)"]
    assert told["sort"] == list(verdicts.SORTS)


def handed_over(text: str) -> list[dict[str, Any]]:
    found = re.fullmatch(r"kbsiteRuns\((.*)\);\n", text)
    assert found
    data = json.loads(found[1])
    return [dict(zip(data["fields"], row, strict=True)) for row in data["runs"]]


def test_the_script_hands_over_what_the_page_shows(site: Site) -> None:
    files = made(site)
    rows, shown = handed_over(files[verdicts.SCRIPT]), cells(files[PAGE])

    assert [row["key"] for row in rows] == ["b", "d", "a", "c"]
    assert [row["date"] or "–" for row in rows] == [row[0] for row in shown]
    assert [row["summary"] for row in rows] == [row[4] for row in shown]
    assert [row["quoted"] for row in rows] == [row[5] for row in shown]
    assert [row["auditor"] for row in rows] == [row[6] for row in shown]
    assert [row["counts"] for row in rows] == ["no", "yes", "yes", "yes"]
    assert [row["leak"] for row in rows] == ["none", "none", "none", "The cast"]
    assert [(row["score"], row["told"], row["half"]) for row in rows[:2]] == [
        (0.42, ".420", ".020"), (None, "", ""),
    ]  # fmt: skip


def test_coverage_is_told_of_each_board_by_reason(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, problems=[], audit_threshold=0.5)
    board = tmp_path / "runs" / "demo"
    make_run(board, model="high", metrics={"peak_fraction": 0.9, "interval": None}, audit={})
    make_run(board, model="higher", metrics={"peak_fraction": 0.6, "interval": None})
    low = {"peak_fraction": 0.1, "interval": None}
    make_run(board, model="best", problem="sort", metrics=low, audit={})
    make_run(board, model="low", metrics=low)
    (row,) = section(made(read(settings))[PAGE], "coverage").findall(".//tbody/tr")
    told = [words(cell) for cell in row.findall("td")]

    assert told == [
        "Demo", "2 of 3",
        "1 of 2 because its score is high, 2 of 2 because it is the best of its problem",
        "from 50 % up",
    ]  # fmt: skip


def test_a_board_without_a_run_to_read_says_so(tmp_path: Path, make_settings: MakeSettings) -> None:
    html = made(read(make_settings(tmp_path)))[PAGE]

    assert "none is due" in words(section(html, "coverage"))
    assert "Nobody has audited" in words(section(html, "verdicts"))
    assert "No verdict of this site was replaced" in words(section(html, "corrections"))
    assert "Every run that a board's rule wants audited is." in words(section(html, "queue"))
    assert tree(html).find(".//table[@id='runs']") is None


def corrected(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Site:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    second = {
        **EARLIER, "verdict": "bug", "effect": "counts", "date": None, "replaced": "2026-02-09",
        "by": "C. Reader", "why": "the bench was right",
    }  # fmt: skip
    make_run(board, run_id="twice", audit={"history": [EARLIER, second]})
    make_run(board, run_id="once", model="o", audit={"history": [{**EARLIER, "verdict": "clean"}]})
    return read(settings)


def test_a_verdict_that_was_replaced_is_told_with_what_took_its_place_by_whom_and_why(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    html = made(corrected(tmp_path, make_run, make_settings))[PAGE]
    told = [words(item) for item in section(html, "corrections").findall(".//li")]

    assert [line.split()[0] for line in told] == ["2026-02-09", "2026-02-03", "2026-02-03"]
    assert "⚙ bug → became ★ clean by C. Reader, because the bench was right" in told[0]
    assert "It said, by A. Reader: It cheats." in told[0]
    change = "☠ reward_hack (did not count) → became ⚙ bug (counts)"
    assert f"{change} by B. Reader, because the cache is cleared" in told[1]
    assert "It said, by A. Reader on 2026-02-01: It cheats." in told[1]
    assert "★ clean judged anew by" in told[2]


def test_corrections_that_are_too_many_are_counted(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(audits, "WAITING", 2)
    html = made(corrected(tmp_path, make_run, make_settings))[PAGE]

    assert len(section(html, "corrections").findall(".//li")) == 2
    assert "1 more are told on the pages of their runs." in words(section(html, "corrections"))


class Suspicious:
    """A detector that is alarmed by runs of one name."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        if evidence.stored.run.id == "suspicious":
            saw = f"It falls back, {HOSTILE}"
            yield alarm("fallback", Level.ALARM, saw, "solution.py", (1,))


def test_the_queue_holds_what_is_due_and_not_read_the_most_suspicious_first(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(alarms, "DETECTORS", (Suspicious(),))
    settings = make_settings(tmp_path, problems=[])
    board = tmp_path / "runs" / "demo"
    make_run(board, run_id="best", model="best", metrics={"peak_fraction": 0.9, "interval": None})
    make_run(board, run_id="suspicious", model="suspicious")
    make_run(board, run_id="read", model="read", audit={})
    low = {"peak_fraction": 0.01, "interval": None}
    make_run(board, run_id="low", model="low", metrics=low)
    html = made(read(settings, Lookout()))[PAGE]
    told = [words(item) for item in section(html, "queue").findall(".//li")]

    assert len(told) == 2
    assert told[0].startswith("claude · suspicious [max] softmax · Demo .420±.020 scored")
    assert "alarm It falls back, x'><script>alert(1)</script>&amp;" in told[0]
    assert told[1].startswith("claude · best [max] softmax · Demo .900")
    assert "<script>alert" not in html
    assert "\u202e" not in html


def test_many_verdicts_stand_on_several_pages(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    names = [f"r{number:03}" for number in range(2 * audits.ROWS + 1)]
    for name in names:
        make_run(tmp_path / "runs/demo", run_id=name, model=name, audit={"summary": "Long. " * 60})
    files = made(read(settings))
    held = [cells(files[audits.page_path(number)]) for number in (1, 2, 3)]
    second = files[audits.page_path(2)]

    assert [len(page) for page in held] == [audits.ROWS, audits.ROWS, 1]
    assert [f"r{row[2][10:13]}" for page in held for row in page] == names[::-1]
    assert f'href="../../{PAGE}"' in second
    assert f'href="../../{audits.page_path(3)}"' in second
    assert "<select" not in second
    assert "coverage-title" not in second
    # About as much as an element has to weigh: a page opens at once whatever the number of runs.
    assert len(files[PAGE].encode()) < 1600 * audits.ROWS


def test_what_an_audit_says_can_end_neither_script_nor_page(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    said = {"summary": HOSTILE, "auditor": HOSTILE, "leak": HOSTILE}
    history = [{**EARLIER, "summary": HOSTILE, "auditor": HOSTILE, "by": HOSTILE, "why": HOSTILE}]
    make_run(tmp_path / "runs/demo", model=HOSTILE, audit={**said, "history": history})
    files = made(read(settings))
    (row,) = handed_over(files[verdicts.SCRIPT])

    assert not set("<>&") & set(files[verdicts.SCRIPT])
    assert "<script>alert" not in files[PAGE]
    assert "\u202e" not in files[PAGE]
    # Of Markdown, an entity is the character that it spells.
    assert row["summary"] == "x'><script>alert(1)</script>&\\u202e"


def test_the_page_is_linked_from_every_page_from_home_and_from_each_board(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", audit={})
    out = build(settings).out
    counted = {
        path: (out / path).read_text("utf-8").count('audits/index.html"')
        for path in ("index.html", "demo/index.html", "runs/index.html")
    }

    assert counted["runs/index.html"] == 1
    assert counted["index.html"] >= 2
    assert counted["demo/index.html"] >= 2
    assert (out / PAGE).is_file()
    assert (out / verdicts.SCRIPT).is_file()
