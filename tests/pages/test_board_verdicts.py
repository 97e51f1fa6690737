"""What a board says of its audits: coverage, marks, verdicts, struck cells and leaks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from msgspec import structs

from kbsite.boards import board
from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Audit, Quote, Verdict
from kbsite.model.board import Attempt, Board
from kbsite.model.config import Config, Leak
from kbsite.model.proof import Proof, ProofState
from kbsite.model.status import Status
from kbsite.pages import board as board_page
from kbsite.pages import home
from kbsite.pages.board import coverage
from kbsite.pages.cited import LONGEST, SHOWN, cited, unproven
from kbsite.pages.leaks import QUOTED, leaks
from kbsite.pages.page import Site
from kbsite.proofs import proofs
from kbsite.rendering import Templates, environment
from kbsite.store.runs import read_run
from tests.conftest import MakeRun
from tests.test_boards import CLEAN, attempt, config, later

HOSTILE = "<script>alert(1)</script>\u202e\"'&{{7*7}}"
CLAMP = Leak(
    id="clamp", title="Clamped inputs", problem="p", meant="To **sum** exactly.",
    happened="A sum of *nothing*.",
)  # fmt: skip


def audit(verdict: Verdict, **fields: Any) -> Audit:
    held: dict[str, Any] = {
        "summary": f"It is {verdict.value}.", "implication": "Nothing follows.", "auditor": "A.",
    }  # fmt: skip
    return Audit(verdict=verdict, **{**held, **fields})


def flagged(run: Attempt, level: Level = Level.ALARM, saw: str = "It catches all.") -> Attempt:
    alarm = Alarm(kind="fallback", level=level, saw=saw, look="Look.")
    return structs.replace(run, alarms=(alarm,))


def site_of(
    *attempts: Attempt,
    known: Sequence[Leak] = (),
    proofs: Mapping[str, tuple[Proof, ...]] | None = None,
    boards: Sequence[Board] | None = None,
) -> Site:
    made = tuple(boards) if boards is not None else (board(config(), attempts),)
    return Site(Config(leaks=tuple(known)), (), {}, made, (), proofs=proofs or {})


def page_of(site: Site) -> Any:
    [page] = board_page.pages(site)
    [file] = page.files(Templates(environment(site)))
    return html5lib.parse(file.text, namespaceHTMLElements=False)


def said(node: Element) -> str:
    return " ".join("".join(node.itertext()).split())


def having(page: Any, tag: str, name: str) -> list[Element]:
    return [node for node in page.iter(tag) if name in (node.get("class") or "").split()]


def cell_of(page: Any, run_id: str) -> Element:
    cells: list[Element] = [
        cell
        for cell in page.iter("td")
        if cell.get("data-problem")
        and any(f"/{run_id}/" in (link.get("href") or "") for link in cell.iter("a"))
    ]
    return cells[0]


def marks(cell: Element) -> list[tuple[str, str]]:
    return [(said(mark), mark.get("title") or "") for mark in having(cell, "span", "mark")]


# Coverage.


def test_coverage_is_one_line_that_counts_by_reason() -> None:
    made = board(
        config(threshold=0.25),
        [
            attempt("a", score=0.5, audit=CLEAN),
            flagged(attempt("b", model="n", score=0.4)),
            flagged(attempt("c", model="o", status=Status.WRONG)),
        ],
    )

    assert coverage(made) == (
        "Audited 1 of 3 due: 1 of 2 from 25 % up, 1 of 1 best of their problem,"
        " 0 of 2 flagged by an alarm"
    )


def test_a_board_where_nothing_is_due_says_so() -> None:
    assert coverage(board(config(), [attempt("a", status=Status.WRONG)])) == (
        "No run is due for an audit"
    )


def test_the_line_stands_on_the_board_and_leads_to_all_verdicts() -> None:
    page = page_of(site_of(attempt("a", score=0.5)))
    [line] = having(page, "p", "coverage")

    assert "Audited 0 of 1 due: 0 of 1 from 10 % up" in said(line)
    assert [link.get("href") for link in line.iter("a")] == ["../audits/index.html"]


# Marks.


def test_a_due_cell_that_nobody_audited_says_why_it_is_due() -> None:
    page = page_of(site_of(attempt("a", score=0.5), attempt("b", model="n", score=0.01)))

    assert marks(cell_of(page, "a")) == [
        (
            "? not audited",
            "due for an audit, not audited yet: its score is from 10 % up;"
            " it is the best of its problem",
        )
    ]
    assert marks(cell_of(page, "b")) == []


@pytest.mark.parametrize(("level", "tone"), [(Level.WARNING, "warn"), (Level.ALARM, "bad")])
def test_a_flagged_cell_says_what_the_alarm_saw(level: Level, tone: str) -> None:
    page = page_of(site_of(flagged(attempt("a", status=Status.WRONG), level, HOSTILE)))
    [mark] = having(cell_of(page, "a"), "span", "mark")

    assert said(mark) == "! flagged by an alarm, not audited"
    assert f"tone-{tone}" in (mark.get("class") or "")
    title = mark.get("title") or ""
    assert title.startswith("due for an audit, not audited yet: an alarm flags it: <script>")
    assert "\u202e" not in title


def test_a_note_is_no_mark_and_an_audited_cell_has_its_verdict_s() -> None:
    page = page_of(
        site_of(
            flagged(attempt("a", status=Status.WRONG), Level.NOTE),
            flagged(attempt("b", model="n", score=0.5, audit=CLEAN)),
        )
    )

    assert marks(cell_of(page, "a")) == []
    assert [text for text, _ in marks(cell_of(page, "b"))] == ["★ clean"]


# What a verdict takes out.


def test_a_struck_cell_stays_visible_and_says_that_it_does_not_count() -> None:
    page = page_of(
        site_of(
            attempt("a", score=0.5, audit=audit(Verdict.REWARD_HACK)),
            attempt("b", model="n", score=0.2, audit=CLEAN),
        )
    )
    struck, kept = cell_of(page, "a"), cell_of(page, "b")
    [line] = struck.iter("s")

    assert said(line) == ".500"
    assert "reward_hack" in (line.get("title") or "")
    assert ".500 does not count" in said(struck)
    assert (struck.get("class"), list(kept.iter("s"))) == ("struck", [])


def test_totals_the_row_and_the_legend_tell_what_was_taken_out() -> None:
    struck = attempt("a", score=0.5, audit=audit(Verdict.BUG))
    page = page_of(site_of(struck, attempt("b", model="n", score=0.2)))
    totals = {said(row.find("th")): row for row in page.iter("tr") if row.find("th") is not None}
    texts = [said(node) for node in page.iter("li")]

    assert said(totals["taken out"].find("td")) == "1/2"
    assert said(totals["passed"].find("td")) == "1/2"
    assert said(totals["best"].find("td")).startswith(".200")
    assert any(text.startswith("struck Taken out of the ranking") for text in texts)
    assert any("It is bug. does not count" in text for text in texts)
    assert "1 taken out by its verdict" in said(page.find(".//main"))


def test_a_board_without_struck_cells_has_no_line_of_them() -> None:
    page = page_of(site_of(attempt("a", score=0.5, audit=CLEAN)))

    assert "taken out" not in [said(head) for head in page.iter("th")]


# Verdicts below the row.


def quoted(count: int, length: int = 5) -> tuple[Quote, ...]:
    return tuple(
        Quote(file="solution.py", lines=(n, n + 1), label=f"label {n}", text="x" * length)
        for n in range(1, count + 1)
    )


def proven(quotes: Sequence[Quote], *states: ProofState) -> tuple[Proof, ...]:
    return tuple(Proof(quote=q, state=s) for q, s in zip(quotes, states, strict=False))


def test_a_proven_quote_is_a_link_and_any_other_is_marked() -> None:
    quotes = quoted(3)
    held = attempt("a", score=0.5, audit=audit(Verdict.CLEAN, quotes=quotes))
    states = (ProofState.PROVEN, ProofState.DIFFERS)
    page = page_of(site_of(held, proofs={"a": proven(quotes, *states)}))
    sure, differs, unchecked = having(page, "figure", "quote")

    assert [link.get("href") for link in sure.iter("a")] == ["../runs/a/index.html#quote-1"]
    assert "solution.py lines 1 to 2" in said(sure)
    assert "unproven" not in said(sure)
    assert f"✗ unproven: {ProofState.DIFFERS.sentence}" in said(differs)
    assert "✗ unproven: Nobody could hold it against the file." in said(unchecked)
    assert not [*differs.iter("a"), *unchecked.iter("a")]
    assert [figure.get("class") for figure in (sure, differs)] == ["quote", "quote unproven"]


def test_many_and_long_quotes_are_cut_and_counted() -> None:
    held = attempt("a", audit=audit(Verdict.CLEAN, quotes=quoted(SHOWN + 2, LONGEST + 1)))
    page = page_of(site_of(held))
    shown = having(page, "figure", "quote")

    assert len(shown) == SHOWN
    assert all(said(figure).endswith("x … goes on") for figure in shown)
    assert "2 more on the run's page." in said(page.find(".//main"))


@pytest.mark.parametrize(
    ("passage", "shown"),
    [
        ("word " * LONGEST, "word " * (LONGEST // 5)),
        ("a\n" + "b" * LONGEST, "a\n"),
        ("ab" * LONGEST, "ab" * (LONGEST // 2)),
        ("x\ny", "x\ny"),
        ("x" * LONGEST, "x" * LONGEST),
    ],
)
def test_a_long_quote_ends_with_a_whole_line_or_word(passage: str, shown: str) -> None:
    quotes = (Quote(file="solution.py", text=passage),)
    [one] = cited(site_of(), attempt("a", audit=audit(Verdict.CLEAN, quotes=quotes)))

    assert one.text == shown.rstrip()
    assert one.shortened == (shown != passage)


def test_quotes_of_a_file_of_one_line_and_of_an_event_name_their_place() -> None:
    quotes = (
        Quote(file="check.log", text="a"),
        Quote(file="check.log", lines=(3, 3), text="b"),
        Quote(file="transcript/s.jsonl", event="L7", text="c"),
    )
    held = attempt("a", audit=audit(Verdict.CLEAN, quotes=quotes))

    assert [one.where for one in cited(site_of(), held)] == [
        "check.log", "check.log line 3", "transcript/s.jsonl event L7",
    ]  # fmt: skip


def test_the_summary_stands_on_the_board_and_what_is_hostile_is_text() -> None:
    hostile = audit(
        Verdict.INTERESTING, summary=HOSTILE, implication=HOSTILE, leak=HOSTILE,
        quotes=(Quote(file=HOSTILE, label=HOSTILE, text=HOSTILE),),
    )  # fmt: skip
    page = page_of(site_of(attempt("a", audit=hostile)))
    [row] = having(page, "tr", "audits")

    assert "<script>alert(1)</script>" in said(row)
    assert not [script for script in page.iter("script") if not script.get("src")]
    assert not re.search("49", said(page.find(".//main")))


def test_a_summary_is_plain_text_in_its_row_and_over_its_glyph() -> None:
    told = audit(Verdict.CLEAN, summary="It calls `tl.dot`\nand *nothing* else.")
    page = page_of(site_of(attempt("a", audit=told)))
    [row] = having(page, "tr", "audits")

    assert "It calls tl.dot and nothing else." in said(row)
    assert marks(cell_of(page, "a")) == [
        ("★ clean", "clean: It calls tl.dot and nothing else."),
    ]


# Leaks.


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ((ProofState.PROVEN, ProofState.PROVEN), "2 quotes"),
        ((ProofState.PROVEN, ProofState.DIFFERS), "2 quotes ✗ 1 unproven"),
        ((ProofState.NO_FILE, ProofState.DIFFERS), "2 quotes ✗ unproven"),
        ((), "2 quotes ✗ unproven"),
    ],
)
def test_what_is_not_proven_is_told_where_the_quotes_are_still_folded(
    states: tuple[ProofState, ...], told: str
) -> None:
    leaky = audit(Verdict.RUBRIC_LEAK, leak="clamp", quotes=quoted(2))
    page = page_of(
        site_of(
            attempt("a", score=0.2, audit=leaky),
            known=[CLAMP],
            proofs={"a": proven(leaky.quotes, *states)},
        )
    )
    [card], [row] = having(page, "section", "leak"), having(page, "tr", "audits")
    [folded] = [said(summary) for summary in card.iter("summary")]
    [below] = [said(summary) for summary in row.iter("summary")]

    assert folded.startswith(told)
    assert below.startswith(f"{told}, implication")
    assert ("unproven" in folded) == (states != (ProofState.PROVEN,) * 2)


def test_the_label_of_a_folded_quote_is_plain_text_too() -> None:
    quote = Quote(file="a.py", lines=(1,), label="no `c = y - t` step", text="x")
    leaky = audit(Verdict.RUBRIC_LEAK, leak="clamp", quotes=(quote,))
    [card] = having(page_of(site_of(attempt("a", audit=leaky))), "section", "leak")
    [folded], [figure] = list(card.iter("summary")), having(card, "figure", "quote")

    assert said(folded) == "1 quote ✗ unproven: no c = y - t step"
    assert said(figure).startswith("no c = y - t step a.py line 1")


def test_quotes_that_nobody_held_against_files_count_as_unproven() -> None:
    quotes = quoted(SHOWN + 3)
    held = attempt("a", audit=audit(Verdict.CLEAN, quotes=quotes))
    whole = {"a": proven(quotes, *[ProofState.PROVEN] * len(quotes))}
    short = {"a": proven(quoted(2), ProofState.PROVEN, ProofState.PROVEN)}

    assert unproven(site_of(), held) == len(quotes)
    assert unproven(site_of(proofs=short), held) == len(quotes) - 2
    assert unproven(site_of(proofs=whole), held) == 0
    assert unproven(site_of(proofs=whole), attempt("a", audit=audit(Verdict.CLEAN))) == 0
    assert unproven(site_of(), attempt("a")) == 0


def test_a_leak_s_card_says_what_was_meant_and_what_its_audits_tell() -> None:
    first = audit(Verdict.RUBRIC_LEAK, leak="clamp", implication="Forbid it.", quotes=quoted(1))
    page = page_of(
        site_of(
            attempt("a", score=0.2, audit=first),
            attempt("b", model="n", score=0.4, audit=replace(first, quotes=())),
            known=[CLAMP],
            proofs={"a": proven(first.quotes, ProofState.PROVEN)},
        )
    )
    [card] = having(page, "section", "leak")
    text = said(card)

    assert card.get("id") == "leak-clamp"
    assert text.startswith("Clamped inputs a leak of p")
    assert "what was meant To sum exactly." in text
    assert "what happened A sum of nothing. 2 runs" in text
    assert text.index("n on p .400") < text.index("m on p .200")
    assert text.count("Forbid it.") == 1
    assert "../runs/a/index.html#quote-1" in [link.get("href") for link in card.iter("a")]
    assert "leak: Clamped inputs" in said(having(page, "tr", "audits")[0])


def test_every_attempt_that_went_through_a_leak_is_told_also_one_that_no_cell_shows() -> None:
    leaky = audit(Verdict.RUBRIC_LEAK, leak="clamp")
    site = site_of(
        attempt("a", score=0.2), attempt("b", started=later(1), score=0.4, audit=leaky),
        known=[CLAMP],
    )  # fmt: skip
    [card] = leaks(site, site.boards[0])

    assert [instance.attempt.run.id for instance in card.instances] == ["b"]


def test_leaks_stand_in_the_order_of_the_settings_then_unknown_ones_then_unnamed_ones() -> None:
    other = structs.replace(CLAMP, id="other", title="Other")
    names = ["", "stray", "clamp", "other", ""]
    verdicts = [audit(Verdict.RUBRIC_LEAK, leak=name) for name in names]
    runs = [
        attempt(str(n), model=str(n), problem="q" if n else "p", audit=held)
        for n, held in enumerate(verdicts)
    ]
    site = site_of(*runs, known=[other, CLAMP, structs.replace(CLAMP, id="unused")])
    cards = leaks(site, site.boards[0])

    assert [card.anchor for card in cards] == [
        "leak-other", "leak-clamp", "leak-stray", "shortcut-p", "shortcut-q",
    ]  # fmt: skip
    assert [card.title for card in cards][2:] == ["stray", "a shortcut in p", "a shortcut in q"]


def test_a_card_names_all_runs_and_quotes_the_best_of_them() -> None:
    leaky = audit(Verdict.RUBRIC_LEAK, leak="clamp", quotes=quoted(1))
    runs = [
        attempt(f"r{n}", model=f"m{n}", score=0.1 + n / 100, audit=leaky) for n in range(QUOTED + 2)
    ]
    [card] = having(page_of(site_of(*runs, known=[CLAMP])), "section", "leak")
    items = [item for item in card.iter("li") if having(item, "figure", "quote")]

    assert len(list(card.iter("li"))) == QUOTED + 2
    assert len(items) == QUOTED
    assert "m0 " not in " ".join(said(item) for item in items)


def test_each_board_shows_its_own_runs_of_a_leak() -> None:
    leaky = audit(Verdict.RUBRIC_LEAK, leak="clamp")
    boards = [
        board(structs.replace(config(), id=name), [attempt(name, audit=leaky)])
        for name in ("x", "y")
    ]
    site = site_of(known=[CLAMP], boards=boards)
    found = [[one.attempt.run.id for one in leaks(site, made)[0].instances] for made in boards]

    assert found == [["x"], ["y"]]


def test_a_leak_named_by_another_verdict_is_told_and_a_clean_board_has_no_section() -> None:
    hack = audit(Verdict.REWARD_HACK, leak="clamp")
    site = site_of(attempt("a", score=0.4, audit=hack), known=[CLAMP])
    clean = page_of(site_of(attempt("a", audit=CLEAN), known=[CLAMP]))

    assert [card.anchor for card in leaks(site, site.boards[0])] == ["leak-clamp"]
    assert not [node for node in clean.iter("h2") if node.get("id") == "leaks"]


def test_the_name_of_an_unknown_leak_is_never_part_of_a_place() -> None:
    site = site_of(attempt("a", audit=audit(Verdict.RUBRIC_LEAK, leak='x" onclick="alert(1)')))
    [card] = having(page_of(site), "section", "leak")

    assert (card.get("id"), card.get("onclick")) == ("leak-1", None)


# The home page.


def test_a_board_s_card_counts_high_audits_leaks_and_hacks() -> None:
    site = site_of(
        attempt("a", score=0.5, audit=audit(Verdict.RUBRIC_LEAK)),
        attempt("b", model="n", score=0.4, audit=audit(Verdict.REWARD_HACK)),
        attempt("c", model="o", score=0.4, audit=audit(Verdict.REWARD_HACK)),
        attempt("d", model="q", score=0.4),
    )

    assert home.audited_in_short(site, site.boards[0]) == (
        "audited 3 of 4 from 10 % up · 1 leak · 2 hacks"
    )


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (attempt("a", score=0.01), "audited 0 of 1 due"),
        (attempt("a", status=Status.WRONG), "no run is due for an audit"),
    ],
)
def test_a_board_s_card_without_high_runs(held: Attempt, told: str) -> None:
    site = site_of(held)

    assert home.audited_in_short(site, site.boards[0]) == told


def test_principles_tell_how_many_runs_were_read_and_how_many_quotes_are_proven(
    tmp_path: Path, make_run: MakeRun
) -> None:
    quotes = [
        {"file": "solution.py", "lines": [1, 1], "text": "def solve(x):"},
        {"file": "solution.py", "lines": [1, 1], "text": "not there"},
    ]
    stored = read_run(make_run(tmp_path / "demo", run_id="a", audit={"quotes": quotes}))
    held = attempt("a", score=0.5, audit=stored.audit)
    site = replace(
        site_of(held, attempt("b", model="n", score=0.4), proofs={"a": proofs(stored)}),
        runs=(stored,),
    )
    told = {principle.text: (principle.ok, principle.state) for principle in home.principles(site)}

    assert told["High runs are read by a person."] == (
        False, "1 of 2 runs that are due are audited",
    )  # fmt: skip
    assert told["What an audit quotes can be looked up."] == (
        False, "1 of 2 quotes stand verbatim where they say",
    )  # fmt: skip
