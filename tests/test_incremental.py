"""A build makes what changed, and what comes out is what a build from nothing makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from msgspec.structs import replace

from kbsite import alarms, assets, reading, transcripts
from kbsite.alarms import Fingerprint
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.build import build
from kbsite.build.page_making import PageMaking
from kbsite.build.tasks import Prepared
from kbsite.charts.board import said_of
from kbsite.feeds import table
from kbsite.feeds.leaderboard import listed_board
from kbsite.model.alarm import Alarm, Level
from kbsite.model.board import Attempt, Board, Row
from kbsite.model.config import Leak
from kbsite.model.leaderboard import ListedBoard
from kbsite.model.standing import Standing
from kbsite.model.work import Work
from kbsite.pages.board_rows import Draw, GridRows
from kbsite.pages.file_names import raw_path
from kbsite.pages.page import Page
from kbsite.reading import MARKER
from kbsite.record import rows_path
from kbsite.standing import read_standing, record_path, write_standing
from kbsite.standings import Ahead, Scored, told_apart
from kbsite.store import run_folders
from kbsite.store.problems import StoredProblem, read_problem
from kbsite.store.settings import Settings
from kbsite.text import CodeLine, code_lines
from kbsite.transcripts import LARGE
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings
from tests.trees import tree

Change = Callable[[Path], None]
ROUNDS = 150


def row(number: int) -> str:
    text = f"Round {number} begins."
    message = {"id": f"m{number}", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "message": message})


def session(rounds: int = ROUNDS) -> bytes:
    """A session of one message a line."""
    return "".join(f"{row(number)}\n" for number in range(1, rounds + 1)).encode()


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The files that two sites do not have alike."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def from_nothing(settings: Settings) -> dict[str, str]:
    """What a build that knows of none before makes of the same input."""
    out = settings.out.with_name("from_nothing")
    shutil.rmtree(out, ignore_errors=True)
    record_path(out).unlink(missing_ok=True)
    return tree(build(replace(settings, out=out)).out)


@pytest.fixture(name="settings")
def _settings(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    make_floors: MakeFloors,
    make_problem: MakeProblem,
) -> Settings:
    board = tmp_path / "runs" / "demo"
    make_problem(tmp_path / "problems", "softmax")
    make_run(board, model="long", transcript={"stdout.jsonl": session()}, audit={})
    make_run(board, model="short", transcript={"stdout.jsonl": session(3)})
    make_run(board, model="other", problem="matmul", transcript={"stdout.jsonl": session(2)})
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    return make_settings(tmp_path)


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Page]:
    """Pages that were asked what they depend on; those that were not would say what they said."""
    skips, key, pages = PageMaking._shows_the_same, Prepared.key, list[Page]()

    def skipped(making: PageMaking, page: Page) -> bool:
        same = skips(making, page)
        if same and page.depends:
            assert key(making.prepared, page) == making.prepared.earlier.pages[page.path].key
        return same

    def told(prepared: Prepared, page: Page) -> str:
        pages.append(page)
        return key(prepared, page)

    monkeypatch.setattr(PageMaking, "_shows_the_same", skipped)
    monkeypatch.setattr(Prepared, "key", told)
    return pages


def folder_of(settings: Settings, model: str) -> Path:
    return next(settings.runs.glob(f"demo/*_{model}_*"))


def transcript_of(settings: Settings, model: str) -> Path:
    return folder_of(settings, model) / "transcript" / "stdout.jsonl"


def test_nothing_to_do_is_no_parse_no_rendering_and_no_write(settings: Settings) -> None:
    first = build(settings)
    site, stamp = tree(first.out), (first.out / MARKER).stat().st_mtime_ns
    again = build(settings)

    assert first.work.parsed == 3
    assert first.work.kept == 0
    assert again.work == Work(parsed=0, rendered=0, written=0, kept=0)
    assert (again.pages, again.findings) == (first.pages, first.findings)
    assert (tree(again.out), (again.out / MARKER).stat().st_mtime_ns) == (site, stamp)


def test_files_that_were_touched_and_not_changed_are_nothing_to_do(settings: Settings) -> None:
    build(settings)
    for path in settings.runs.rglob("*"):
        os.utime(path, ns=(1, 1))

    assert build(settings).work == Work(parsed=0, rendered=0, written=0, kept=0)


@pytest.mark.parametrize(("large", "grown"), [(LARGE, LARGE), (0, 0), (LARGE, 0)])
def test_an_appended_line_rewrites_the_last_part_and_the_run_s_page_and_makes_no_other(
    settings: Settings, asked: list[Page], monkeypatch: pytest.MonkeyPatch, large: int, grown: int
) -> None:
    """So it does where a transcript is, or becomes, so large that its steps lie in a file."""
    monkeypatch.setattr(transcripts, "LARGE", large)
    before = tree(build(settings).out)
    name = folder_of(settings, "long").name
    parts = sorted(path for path in before if path.startswith(f"runs/{name}/steps-"))
    with transcript_of(settings, "long").open("a") as stream:
        stream.write(f"{row(ROUNDS + 1)}\n")
    asked.clear()
    monkeypatch.setattr(transcripts, "LARGE", grown)
    built = build(settings)
    monkeypatch.setattr(transcripts, "LARGE", LARGE)
    after = tree(built.out)
    own = {path for path in changed(before, after) if path.startswith(f"runs/{name}/")}

    assert [page.path for page in asked] == [f"runs/{name}/index.html"]
    assert len(parts) > 2
    assert own == {
        parts[-1],
        f"runs/{name}/index.html",
        # These hold all of the run, each in one file.
        f"runs/{name}/run.md",
        f"runs/{name}/trajectory.json",
        f"runs/{name}/raw/transcript/stdout.jsonl",
    }
    assert built.work.parsed == 1
    # The last part, and the run's page: no other page shows what a transcript says.
    assert built.work.rendered == 2
    assert built.work.written == len(changed(before, after))
    assert after == from_nothing(settings)


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    held = json.loads(path.read_text())
    change(held)
    path.write_text(json.dumps(held))


def _score(runs: Path) -> None:
    path = next(runs.glob("demo/*_short_*")) / "metrics.json"
    edit(path, lambda held: held.update(peak_fraction=0.9))


def _problem_of_another(runs: Path) -> None:
    path = next(runs.glob("demo/*_other_*")) / "run.json"
    edit(path, lambda held: held.update(problem="softmax"))


def _another_verdict(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "audit.yaml"
    path.write_text("verdict: bug\nsummary: s\nimplication: i\nauditor: a\n")


def _no_audit(runs: Path) -> None:
    (next(runs.glob("demo/*_long_*")) / "audit.yaml").unlink()


def _cited(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "audit.yaml"
    quote = "quotes: [{file: transcript/stdout.jsonl, lines: [60], text: x}]\n"
    path.write_text(f"verdict: clean\nsummary: s\nauditor: a\n{quote}")


def _cut_short(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "transcript" / "stdout.jsonl"
    path.write_bytes(session(ROUNDS - 1))


def _row_within(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "transcript" / "stdout.jsonl"
    path.write_bytes(session().replace(b"Round 75 begins.", b"Round 75 begins again."))


def _grown_at_once(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "transcript" / "stdout.jsonl"
    path.write_bytes(session(ROUNDS * 2))


def _long_text(runs: Path) -> None:
    path = next(runs.glob("demo/*_long_*")) / "transcript" / "stdout.jsonl"
    path.write_bytes(session().replace(b"Round 75 begins.", b"Round 75 begins. " * 2_000))


def _gone(runs: Path) -> None:
    shutil.rmtree(next(runs.glob("demo/*_short_*")))


def _broken(runs: Path) -> None:
    (next(runs.glob("demo/*_short_*")) / "run.json").write_text("{")


def _no_run_any_more(runs: Path) -> None:
    folder = next(runs.glob("demo/*_short_*"))
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()


def _called_otherwise(runs: Path) -> None:
    # What run.json says stays as it was: the folder's name is what counts.
    folder = next(runs.glob("demo/*_long_*"))
    folder.rename(folder.with_name(f"{folder.name}-x"))


def _called_as_before(runs: Path) -> None:
    folder = next(runs.glob("demo/*_long_*-x"))
    folder.rename(folder.with_name(folder.name.removesuffix("-x")))


def _alone(runs: Path) -> None:
    for run in sorted(runs.glob("demo/*/"))[1:]:
        shutil.rmtree(run)


def _floors(runs: Path) -> None:
    path = runs / "demo" / "floors.json"
    path.write_text(path.read_text().replace("0.1", "0.2"))


def _title(runs: Path) -> None:
    path = next((runs.parent / "problems").glob("softmax/problem.yaml"))
    path.write_text(path.read_text().replace("title:", "title: New"))


CHANGES: list[Change] = [
    _score, _problem_of_another, _cited, _another_verdict, _no_audit, _cut_short, _row_within,
    _grown_at_once, _long_text, _called_otherwise, _called_as_before, _broken, _no_run_any_more,
    _gone, _floors, _title, _alone,
]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [one for one in CHANGES if one is not _called_as_before],
    ids=lambda change: change.__name__.strip("_"),
)
def test_whatever_changes_the_site_is_the_one_that_a_build_from_nothing_makes(
    settings: Settings, change: Change
) -> None:
    before = tree(build(settings).out)
    change(settings.runs)
    after = tree(build(settings).out)

    assert after == from_nothing(settings)
    assert changed(before, after)


def test_all_changes_one_after_the_other_come_to_the_same(settings: Settings) -> None:
    build(settings)
    for change in CHANGES:
        change(settings.runs)
        assert tree(build(settings).out) == from_nothing(settings), change.__name__


def test_a_change_of_one_run_parses_no_other(settings: Settings, make_run: MakeRun) -> None:
    build(settings)
    with transcript_of(settings, "other").open("a") as stream:
        stream.write(f"{row(9)}\n")

    assert build(settings).work.parsed == 1

    make_run(settings.runs / "demo", model="new", problem="sort", transcript={})
    assert build(settings).work.parsed == 1


def test_a_change_is_seen_where_runs_and_site_are_told_from_where_the_build_is_started(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(settings.runs.parent)
    told = replace(
        settings, runs=Path(settings.runs.name), problems=Path(settings.problems.name),
        out=Path("told"),
    )  # fmt: skip
    build(told)
    _score(settings.runs)
    built = build(told)
    assert built.work.rendered
    assert tree(built.out) == from_nothing(settings)


def test_a_problem_that_did_not_change_is_not_read_again(
    settings: Settings, make_problem: MakeProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_problem(settings.problems, "other")
    build(settings)
    read: list[str] = []

    def counted(folder: Path) -> StoredProblem:
        read.append(folder.name)
        return read_problem(folder)

    monkeypatch.setattr(reading, "read_problem", counted)
    _score(settings.runs)
    build(settings)
    assert read == []
    (other / "prompt.md").write_text("Another statement.\n")
    after = tree(build(settings).out)
    assert read == ["other"]
    monkeypatch.undo()
    assert after == from_nothing(settings)


def test_one_run_more_looks_into_no_folder_of_another(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    looked: list[str] = []
    names = run_folders._names

    def counted(folder: Path) -> Mapping[str, bool]:
        looked.append(folder.name)
        return names(folder)

    monkeypatch.setattr(run_folders, "_names", counted)
    more = make_run(settings.runs / "demo", model="more", transcript={"stdout.jsonl": session(2)})
    gone = folder_of(settings, "other")
    gone.rename(gone.with_name("no-run"))
    (settings.runs / "demo" / "no-run" / "run.json").unlink()
    after = tree(build(settings).out)
    monkeypatch.undo()
    # A folder that has become another is looked into.
    assert sorted(looked) == sorted(["runs", "demo", "no-run", more.name])
    assert after == from_nothing(settings)


def test_one_run_more_asks_no_page_of_a_run_of_another_problem_what_it_depends_on(
    settings: Settings, make_run: MakeRun, asked: list[Page]
) -> None:
    build(settings)
    asked.clear()
    make_run(settings.runs / "demo", model="short", transcript={})
    built = build(settings)
    own = {page.run.run.model for page in asked if page.run}

    assert own == {"long", "short"}
    assert tree(built.out) == from_nothing(settings)


def test_settings_count_as_well(settings: Settings) -> None:
    before = tree(build(settings).out)
    renamed = replace(settings, config=replace(settings.config, title="Renamed"))
    after = tree(build(renamed).out)

    assert after == from_nothing(renamed)
    assert {"index.html", "runs/index.html"} <= changed(before, after)


def test_a_fresh_build_makes_everything_and_changes_nothing(settings: Settings) -> None:
    first = build(settings)
    site = tree(first.out)
    again = build(settings, fresh=True)

    assert again.work.parsed == 3
    assert again.work.rendered == first.work.rendered
    assert tree(again.out) == site


@pytest.mark.parametrize("damage", ["gone", "cut", "other", "marker"])
def test_without_a_record_that_fits_everything_is_made(settings: Settings, damage: str) -> None:
    first = build(settings)
    site, record = tree(first.out), record_path(settings.out)
    match damage:
        case "gone":
            record.unlink()
        case "cut":
            record.write_text(record.read_text()[:-40])
        case "other":
            record.write_text('{"frame": 3}')
        case _:
            os.utime(first.out / MARKER, ns=(1, 1))
    again = build(settings)

    assert again.work.parsed == 3
    assert tree(again.out) == site


def test_a_file_of_the_site_that_is_gone_is_made_again(settings: Settings) -> None:
    first = build(settings)
    site = tree(first.out)
    lost = next(first.out.glob("runs/*_long_*/steps-0002.html"))
    lost.unlink()
    with transcript_of(settings, "short").open("a") as stream:
        stream.write(f"{row(4)}\n")
    again = build(settings)

    assert lost.is_file()
    assert site.keys() == tree(again.out).keys()
    assert tree(again.out) == from_nothing(settings)


@pytest.mark.parametrize("lost", ["index.html", "static/kbsite.css", "runs/index.html"])
def test_a_file_that_is_gone_is_made_again_though_nothing_changed(
    settings: Settings, lost: str
) -> None:
    first = build(settings)
    site = tree(first.out)
    assert build(settings).work.written == 0
    (first.out / lost).unlink()
    again = build(settings)

    assert tree(again.out) == site
    assert again.work.written > 0
    assert build(settings).work.written == 0


def test_the_record_does_not_stand_in_the_site(settings: Settings) -> None:
    built = build(settings)

    assert record_path(settings.out).parent == built.out.parent
    assert not [path for path in tree(built.out) if path.endswith("build.json")]


# What is found in runs, and what is said of leaks.


class Twins:
    """Raises an alarm for each run whose source another one has too."""

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        return {"source": (evidence.sources[0].text,)}

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        for one, held in runs.items():
            for other in (other for other, its in runs.items() if other != one and its == held):
                yield one, alarm("near-identical-source", Level.ALARM, "The same.", other=other)


@pytest.fixture(name="leaky")
def _leaky(settings: Settings) -> Settings:
    """The site with a leak, whose runs all have sources of their own and stand on the board."""
    shutil.rmtree(settings.problems / "softmax")
    for number, run in enumerate(sorted(settings.runs.glob("demo/*/"))):
        (run / "solution.py").write_text(f"solve = {number}\n")
    audit = folder_of(settings, "long") / "audit.yaml"
    audit.write_text("verdict: rubric_leak\nsummary: s\nimplication: i\nauditor: a\nleak: l\n")
    return leaking(settings, "Nothing is summed.")


def leaking(settings: Settings, happened: str) -> Settings:
    leak = Leak(id="l", title="The leak", meant="A sum.", happened=happened)
    return replace(settings, config=replace(settings.config, leaks=(leak,)))


def own_pages(settings: Settings, *models: str) -> set[str]:
    return {f"runs/{folder_of(settings, model).name}/index.html" for model in models}


def test_an_alarm_about_a_run_that_did_not_change_remakes_what_shows_it_and_no_other_run(
    leaky: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "COMPARISONS", (Twins(),))
    before = tree(build(leaky).out)
    twin = folder_of(leaky, "long") / "solution.py"
    (folder_of(leaky, "short") / "solution.py").write_text(twin.read_text())
    built = build(leaky)
    after = tree(built.out)
    runs = {path for path in changed(before, after) if path.startswith("runs/2")}

    assert built.work.parsed == 2
    assert not [path for path in runs if "_other_" in path]
    assert own_pages(leaky, "long") <= runs
    assert {"demo/index.html", "audits/index.html"} <= changed(before, after)
    assert after == from_nothing(leaky)


def test_a_changed_audit_remakes_its_run_and_what_tells_of_verdicts(
    leaky: Settings, asked: list[Page]
) -> None:
    before = tree(build(leaky).out)
    audit = folder_of(leaky, "long") / "audit.yaml"
    audit.write_text(audit.read_text().replace("rubric_leak", "interesting"))
    asked.clear()
    built = build(leaky)
    own = {page.run.run.id for page in asked if page.run}
    after = tree(built.out)
    runs = {path.split("/")[1] for path in changed(before, after) if path.startswith("runs/2")}

    assert built.work.parsed == 1
    assert runs == own == {folder_of(leaky, "long").name}
    told = {"index.html", "demo/index.html", "runs/index.html", "audits/index.html"}
    assert told | {"problems/softmax/index.html"} <= changed(before, after)
    assert after == from_nothing(leaky)


def test_a_file_more_of_a_run_lets_no_other_be_looked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looking(_: Path) -> Iterator[Path]:
        raise AssertionError("every folder of the runs is gone through")

    build(settings)
    monkeypatch.setattr("kbsite.hiding.run_folders", looking)
    (folder_of(settings, "short") / "audit.yaml").write_text("verdict: clean\nsummary: s\n")

    assert build(settings).work.rendered


def test_what_is_said_of_a_leak_remakes_the_board_and_parses_no_run_without_it(
    leaky: Settings,
) -> None:
    before = tree(build(leaky).out)
    told = leaking(leaky, "Nothing at all is summed.")
    built = build(told)
    after = tree(built.out)

    assert built.work.parsed <= 1
    assert "demo/index.html" in changed(before, after)
    assert not [p for p in changed(before, after) if p.startswith("problems/") or "_other_" in p]
    assert after == from_nothing(told)


def test_of_runs_that_did_not_change_no_row_is_made_but_where_those_kept_are_damaged(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    line, made, counts = table.csv_line, Counter[str](), []

    def counted(row: table.Row) -> str:
        made.update(["line"])
        return line(row)

    monkeypatch.setattr(table, "csv_line", counted)
    for auditor in ("B. Reader", "C. Reader"):
        audit = folder_of(settings, "long") / "audit.yaml"
        audit.write_text(f"verdict: clean\nsummary: Fine.\nauditor: {auditor}\n")
        after = tree(build(settings).out)
        counts.append(made.total())
        for path in rows_path(settings.out).iterdir():
            path.write_bytes(path.read_bytes().replace(b"long", b"lung"))

    assert counts == [1, 4]
    assert after == from_nothing(settings)


def test_what_is_listed_of_a_board_is_made_anew_for_a_verdict_and_not_for_the_words_of_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    listed, made, counts = listed_board, Counter[str](), []

    def counted(board: Board, *told: Any) -> ListedBoard:
        made.update([board.config.id])
        return listed(board, *told)

    monkeypatch.setattr("kbsite.pages.data.listed_board", counted)
    audit = folder_of(settings, "short") / "audit.yaml"
    judged = [("clean", "counts"), ("clean", "does_not_count"), ("bug", "does_not_count")]
    for verdict, effect in judged:
        for words in ("Some.", "Other."):
            told = f"verdict: {verdict}\neffect: {effect}\nsummary: {words}\nimplication: i\n"
            audit.write_text(f"{told}auditor: a\n")
            after = tree(build(settings).out)
            counts.append(made.total())
            made.clear()
        assert after == from_nothing(settings)
        made.clear()

    assert counts == [1, 0] * 3


def test_of_charts_the_points_and_rows_of_the_run_are_made_that_changed_and_all_on_another_scale(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The board refuses runs of another problem than it knows.
    shutil.rmtree(settings.problems / "softmax")
    build(settings)
    drawn, counts = Counter[str](), []

    def counted(attempt: Attempt, told: str) -> str:
        drawn.update([attempt.run.model])
        return said_of(attempt, told)

    monkeypatch.setattr("kbsite.charts.board.said_of", counted)
    audit = folder_of(settings, "long") / "audit.yaml"
    for verdict in ("interesting", "bug"):
        drawn.clear()
        audit.write_text(f"verdict: {verdict}\nsummary: s\nimplication: i\nauditor: a\n")
        after = tree(build(settings).out)
        counts.append((drawn["long"], drawn.total() - drawn["long"]))

    assert counts[0] == (0, 0)
    assert counts[1][0] == 0
    assert counts[1][1]
    assert after == from_nothing(settings)


def test_of_a_board_the_row_that_changed_is_made_anew_and_scores_are_compared_where_they_changed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The board refuses runs of another problem than it knows.
    shutil.rmtree(settings.problems / "softmax")
    build(settings)
    drawn, compared, counts = list[str](), list[Scored](), []
    row_html = GridRows.__call__

    def counted(rows: GridRows, row: Row, standing: Standing, draw: Draw) -> Markup:
        def drawing(row: Row, standing: Standing) -> str:
            drawn.append(row.contender.model)
            return draw(row, standing)

        return row_html(rows, row, standing, drawing)

    def apart(scores: Scored) -> Ahead:
        compared.append(scores)
        return told_apart(scores)

    monkeypatch.setattr(GridRows, "__call__", counted)
    monkeypatch.setattr("kbsite.pages.board_figures.told_apart_once", apart)
    audit = folder_of(settings, "long") / "audit.yaml"
    for verdict in ("interesting", "bug"):
        audit.write_text(f"verdict: {verdict}\nsummary: s\nimplication: i\nauditor: a\n")
        after = tree(build(settings).out)
        counts.append((drawn.count("long"), "short" in drawn, bool(compared)))

    assert counts[0] == (1, False, False)
    assert counts[1][0] == 2
    assert counts[1][2]
    assert after == from_nothing(settings)


def test_the_reference_of_a_problem_is_coloured_where_it_changed_and_for_no_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    coloured = list[str]()

    def counted(source: str) -> list[CodeLine]:
        coloured.append(source)
        return code_lines(source)

    monkeypatch.setattr("kbsite.pages.problem.code_lines", counted)
    (folder_of(settings, "long") / "audit.yaml").write_text("verdict: clean\nsummary: Fine.\n")
    build(settings)
    told = list(coloured)
    (settings.problems / "softmax" / "reference.py").write_text("x = '<a>'\n")
    after = tree(build(settings).out)

    assert told == []
    assert coloured == ["x = '<a>'\n"]
    assert after == from_nothing(settings)


# What a build that has nothing to do does not wait for, and what a template is on.


def test_a_build_with_nothing_to_do_imports_nothing_that_makes_pages(settings: Settings) -> None:
    built = build(settings)
    code = (
        "import sys; from pathlib import Path; from kbsite.build import build;"
        "from kbsite.store.settings import read_settings; from kbsite.model.work import Work;"
        "assert build(read_settings(Path(sys.argv[1]))).work == Work();"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, settings.path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())

    assert built.pages
    assert {"kbsite.build", "msgspec"} <= loaded
    assert not loaded & {"pandas", "plotly", "jinja2", "pygments", "markdown_it", "kbsite.pages"}


IDLE = {
    "bz2", "ctypes", "gzip", "html", "json", "lzma", "pickle", "random", "selectors", "shutil",
    "signal", "tarfile", "tempfile", "traceback", "zipfile", "kbsite.engines.crew",
    "kbsite.hiding", "kbsite.model.event", "kbsite.model.hardware", "kbsite.model.redaction",
    "kbsite.model.run", "kbsite.model.transcript", "kbsite.output", "kbsite.reading",
    "kbsite.record", "kbsite.store.files", "kbsite.store.hardware", "kbsite.store.runs",
}  # fmt: skip
"""What a build loads that has something to do."""


def test_a_build_with_nothing_to_do_loads_what_it_needs_to_know_that(settings: Settings) -> None:
    settings.path.write_text("title: Bench\n")
    command = [sys.executable, "-X", "importtime", "-m", "kbsite", "build"]

    def loaded() -> set[str]:
        done = subprocess.run(
            [*command, "--jobs", "1", "--config", settings.path],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        times = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in times}

    assert {"kbsite.hiding", "json", "shutil"} <= loaded()
    nothing = loaded()

    assert {"kbsite.build", "msgspec", "yaml"} <= nothing
    assert not nothing & IDLE


def test_a_line_more_loads_no_parser_of_markdown_and_nothing_that_colours_code(
    settings: Settings,
) -> None:
    (folder_of(settings, "short") / "solution.py").write_text("x = 1\n")
    build(settings)
    with transcript_of(settings, "short").open("a") as stream:
        stream.write(row(4))
    code = (
        "import sys; from pathlib import Path; from kbsite.build import build;"
        "from kbsite.store.settings import read_settings;"
        "assert build(read_settings(Path(sys.argv[1]))).work.parsed == 1;"
        "assert 'jinja2' in sys.modules; print({'markdown_it', 'pygments'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, settings.path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.fixture(name="templates")
def _templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The templates, to be changed."""
    for name in ("templates", "static"):
        shutil.copytree(assets.folder(name), tmp_path / "checkout" / name)
    monkeypatch.setattr(assets, "CHECKOUT", tmp_path / "checkout")
    return tmp_path / "checkout" / "templates"


@pytest.mark.parametrize(
    ("template", "parsed"),
    [
        ("pages/home.html", 0),
        ("pages/part.html", 1),
        ("pages/run.html", 3),
        ("parts/grade.html", 3),
    ],
)
def test_a_line_of_a_template_remakes_the_pages_that_it_is_on_and_no_other(
    settings: Settings, templates: Path, template: str, parsed: int
) -> None:
    before = tree(build(settings).out)
    path = templates / template
    text = path.read_text()
    anchor = "{% block main %}" if "{% block main %}" in text else text.splitlines()[0]
    path.write_text(text.replace(anchor, f"{anchor}<!-- a line more -->", 1))
    built = build(settings)
    after = tree(built.out)

    assert built.work.parsed == parsed
    assert changed(before, after)
    assert changed(before, after) == {
        path for path in after if b"<!-- a line more -->" in (built.out / path).read_bytes()
    }
    assert after == from_nothing(settings)


def test_a_page_that_stood_while_another_template_changed_is_known_by_its_own(
    settings: Settings, templates: Path
) -> None:
    build(settings)
    parsed = []
    for name in ("pages/home.html", "pages/part.html"):
        with (templates / name).open("a") as stream:
            stream.write("<!-- a line more -->\n")
        parsed.append(build(settings).work.parsed)

    assert parsed == [0, 1]
    assert tree(settings.out) == from_nothing(settings)


def test_a_line_of_a_style_sheet_remakes_no_page(settings: Settings, templates: Path) -> None:
    before = tree(build(settings).out)
    with (templates.parent / "static" / "runs.css").open("a") as stream:
        stream.write(".line-more { color: red; }\n")
    built = build(settings)

    assert built.work.parsed == 0
    assert changed(before, tree(built.out)) == {"static/runs.css"}
    assert tree(built.out) == from_nothing(settings)


def test_a_line_of_a_file_that_a_script_is_joined_of_remakes_that_script_alone(
    settings: Settings, templates: Path
) -> None:
    before = tree(build(settings).out)
    with (templates.parent / "static" / "run" / "hands.js").open("a") as stream:
        stream.write('"a line more";\n')
    built = build(settings)

    assert built.work.parsed == 0
    assert changed(before, tree(built.out)) == {"static/run.js"}
    assert (built.out / "static" / "run.js").read_text().count("a line more") == 1
    assert tree(built.out) == from_nothing(settings)


def test_a_line_of_the_style_remakes_the_pages_that_hold_it(
    settings: Settings, templates: Path
) -> None:
    before = tree(build(settings).out)
    with (templates.parent / "static" / "kbsite.css").open("a") as stream:
        stream.write(".line-more { color: red; }\n")
    built = build(settings)
    after = tree(built.out)
    held = {path for path in after if b".line-more" in (built.out / path).read_bytes()}

    assert built.work.parsed == 3
    assert changed(before, after) == held
    assert {Path(path).name for path in held} == {"kbsite.css", "index.html"}
    assert len(held) == 4
    assert after == from_nothing(settings)


def test_links_and_empty_folders_count_where_a_build_tells_of_them(settings: Settings) -> None:
    build(settings)
    (folder_of(settings, "long") / "link").symlink_to("/nowhere")
    (settings.runs / "demo" / "20260102_030405_x_y_z.partial").mkdir()
    built = build(settings)

    assert {"link", "20260102_030405_x_y_z.partial"} == {
        Path(finding.path).name for finding in built.findings
    }
    assert tree(built.out) == from_nothing(settings)


@pytest.mark.parametrize("away", ["deleted", "called otherwise", "moved to another board"])
def test_a_run_that_takes_the_place_of_one_of_its_id_is_published_with_its_own_files(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, away: str
) -> None:
    settings = make_settings(tmp_path)
    folders = [
        make_run(settings.runs / board, run_id="same", model=board, transcript=held)
        for board, held in (
            ("demo", {"stdout.jsonl": session(3)}),
            ("other", {"stdout.jsonl": session(4)}),
        )
    ]
    build(settings)
    if away == "deleted":
        shutil.rmtree(folders[0])
    else:
        to = "demo/x" if away == "called otherwise" else "z/same"
        (settings.runs / to).parent.mkdir(exist_ok=True)
        folders[0].rename(settings.runs / to)
    after = tree(build(settings).out)
    raw = settings.out / "runs" / "same" / "raw"

    for name in ("run.json", "transcript/stdout.jsonl"):
        assert (raw / name).read_bytes() == (folders[1] / name).read_bytes()
    assert after == from_nothing(settings)


def test_a_run_that_is_called_otherwise_is_called_so_in_what_is_listed_of_its_board(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    own = read_problem(settings.problems / "softmax").hash
    folder = make_run(settings.runs / "demo", problem_hash=own)
    build(settings)
    folder.rename(folder.with_name(f"{folder.name}-x"))
    after = tree(build(settings).out)
    board = json.loads((settings.out / "data" / "leaderboard.json").read_text("utf-8"))["boards"][0]

    assert board["rows"][0]["cells"][0]["run"] == f"{folder.name}-x"
    assert after == from_nothing(settings)


@pytest.mark.parametrize("swapped", [True, False])
def test_other_code_that_calls_raw_files_otherwise_publishes_all_of_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, swapped: bool
) -> None:
    for name, text in (("a.py", "a"), ("b.py", "b")):
        path = folder_of(settings, "short") / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    build(settings)

    def otherwise(run_id: str, name: str) -> str:
        other = {"files/a.py": "files/b.py", "files/b.py": "files/a.py"} if swapped else {}
        return raw_path(run_id, other.get(name, name if swapped else f"x{name}"))

    monkeypatch.setattr("kbsite.build.page_making.raw_path", otherwise)
    stood = read_standing(settings.out)
    older = {path: file for path, file in stood.program.items() if "/pages/page.py" not in path}
    write_standing(settings.out, replace(stood, program=older))

    assert tree(build(settings).out) == from_nothing(settings)
