"""A proven quote leads to its lines, highlighted; an unproven one is nowhere without its mark."""

from __future__ import annotations

import dataclasses
import json
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag
from xml.etree.ElementTree import Element

import html5lib
import pytest

from kbsite import single_file
from kbsite.build import build
from kbsite.model.proof import ProofState
from kbsite.pages.quotes import proofs_of
from kbsite.reading import read
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.proofs.test_proofs import COPIES, LOG, SOLUTION

HOSTILE = "<img src=x onerror=alert(1)>\u202e"
OLD, NEW = COPIES
STDOUT = "transcript/stdout.jsonl"
PROVEN: list[tuple[dict[str, Any], str]] = [
    ({"file": "solution.py", "lines": [4, 5], "text": "for i in range(4):\n    if x:"}, "tr"),
    ({"file": "files/k.cu", "lines": [300], "text": "x300 = 300"}, "tr"),
    ({"file": "check.log", "lines": [2, 3], "text": "two\nthree"}, "mark"),
    ({"file": "benchmark.log", "lines": [1], "text": "took 4"}, "mark"),
    ({"file": STDOUT, "lines": [2], "text": "cache the output"}, "mark"),
    ({"file": STDOUT, "event": "L2-1", "text": "ls /x"}, "mark"),
    ({"file": STDOUT, "event": "L3", "text": "check.py key"}, "mark"),
    ({"file": NEW, "lines": [2], "text": "b = 3"}, "tr"),
    ({"file": f"{NEW}.diff", "lines": [5, 6], "text": "-b = 2\n+b = 3"}, "tr"),
]
RAW = [{"file": "samples.jsonl", "lines": [1], "text": "kept"},
       {"file": "transcript/other.txt", "lines": [1], "text": "kept"}]  # fmt: skip
UNPROVEN: list[tuple[dict[str, Any], ProofState, str]] = [
    ({"file": "solution.py", "lines": [5, 6], "text": "for i in range(4):\n    if x:"},
     ProofState.ELSEWHERE, "It stands in lines 4 to 5."),
    ({"file": "solution.py", "lines": [1], "text": HOSTILE}, ProofState.DIFFERS, "import torch"),
    ({"file": "check.log", "lines": [4], "text": "Two"}, ProofState.DIFFERS, "onerror"),
    ({"file": HOSTILE, "lines": [1], "text": "x"}, ProofState.NO_FILE, ""),
    ({"file": STDOUT, "event": "L9", "text": "lost"}, ProofState.NO_LINE, ""),
    ({"file": STDOUT, "event": "L3", "text": "ls /x"}, ProofState.ELSEWHERE, "in event L2-1."),
]  # fmt: skip
QUOTES = [*(quote for quote, _ in PROVEN), *RAW, *(quote for quote, *_ in UNPROVEN)]
EARLIER = {"verdict": "clean", "summary": f"Fine {HOSTILE}", "auditor": "B", "date": "2026-01-01",
           "replaced": "2026-01-02", "by": HOSTILE, "why": "It was *not*."}  # fmt: skip
AUDIT = {
    "verdict": "reward_hack", "implication": "x", "quotes": QUOTES, "leak": "clamp",
    "validity": "doubtful", "provenance": "third_party", "history": [EARLIER],
}  # fmt: skip


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    leak = {"id": "clamp", "title": "The clamp", "meant": "x", "happened": "y"}
    settings = make_settings(tmp_path, problems=(), site={"leaks": [leak]})
    numbered = "".join(f"x{n} = {n}\n" for n in range(1, 600))
    make_run(
        settings.runs / "demo", run_id="r", audit=AUDIT, transcript={
            "stdout.jsonl": LOG, "other.txt": b"kept\n",
        },
        files={**COPIES, "solution.py": SOLUTION.encode(), "files/k.cu": numbered.encode(),
               "check.log": f"one\ntwo\n\x1b[31mthree\n{HOSTILE}\n".encode() + b"\n" * 90,
               "benchmark.log": b"took 4", "samples.jsonl": b'{"kept": 1}\n'},
    )  # fmt: skip
    return settings


def parsed(path: Path) -> Element:
    return html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)  # type: ignore[no-any-return]


def figures(page: Element) -> list[Element]:
    return [one for one in page.iter("figure") if (one.get("class") or "").startswith("quote")]


def links(figure: Element) -> list[str]:
    return [link.get("href") or "" for link in figure.iter("a")]


def words(one: Element) -> str:
    return " ".join("".join(one.itertext()).split())


def test_a_proven_quote_leads_to_its_lines_where_they_are_highlighted(settings: Settings) -> None:
    folder = build(settings).out / "runs" / "r"
    page = parsed(folder / "index.html")
    for number, ((quote, tag), figure) in enumerate(zip(PROVEN, figures(page), strict=False), 1):
        assert figure.get("id") == f"quote-{number}"
        assert figure.get("class") == "quote"
        (link,) = links(figure)
        name, anchor = urldefrag(link)
        target = parsed(folder / (name or "index.html"))
        (place,) = [one for one in target.iter() if one.get("id") == str(anchor)]
        if tag:
            assert place.tag == tag, quote
            assert "quoted" in (place.get("class") or "").split(), quote
        if tag in ("tr", "mark"):
            assert words(place).endswith(quote["text"].split("\n")[0]), quote


def test_every_cited_line_is_highlighted_and_no_other(settings: Settings) -> None:
    folder = build(settings).out / "runs" / "r"

    def marked(name: str) -> Iterator[str]:
        for one in parsed(folder / name).iter():
            if "quoted" in str(one.get("class")).split():
                yield one.get("id") or ""

    assert set(marked("index.html")) == {
        "solution-L4", "solution-L5", "file-1-L300", "log-1-L2", "log-1-L3", "log-2-L1", "L2",
        "L2.q5", "L2-1", "L2-1.q6", "L2-1.q7",
    }  # fmt: skip
    assert list(marked("snapshots.html")) == ["copy-1-L2", "copy-2-L5", "copy-2-L6"]
    assert set(marked("solution.html")) == {"solution-L4", "solution-L5", "file-1-L300"}
    log = next(one for one in parsed(folder / "index.html").iter("details")
               if words(one).startswith("check.log"))  # fmt: skip
    assert log.get("open") is not None


def test_what_no_page_shows_leads_to_the_file(settings: Settings) -> None:
    out = build(settings).out
    page = parsed(out / "runs" / "r" / "index.html")
    for quote, figure in zip(RAW, figures(page)[len(PROVEN) :], strict=False):
        (link,) = links(figure)
        assert (out / unquote(posixpath.normpath(f"runs/r/{link}"))).is_file()
        assert "(raw file)" in words(figure)
        assert str(quote["file"]) in words(figure)


def test_an_unproven_quote_is_marked_says_why_and_leads_nowhere(settings: Settings) -> None:
    page = parsed(build(settings).out / "runs" / "r" / "index.html")
    shown = figures(page)
    assert len(shown) == len(QUOTES)
    for (quote, state, told), figure in zip(UNPROVEN, shown[-len(UNPROVEN) :], strict=True):
        assert "unproven" in (figure.get("class") or "").split()
        assert f"unproven: {state.sentence}" in words(figure), quote
        assert told in words(figure), quote
        assert links(figure) == []
    assert not list(page.iter("img"))


def test_the_verdict_is_shown_with_all_that_goes_with_it(settings: Settings) -> None:
    page = parsed(build(settings).out / "runs" / "r" / "index.html")
    section = next(one for one in page.iter("section") if one.get("aria-labelledby") == "verdict")
    told = words(section)
    for text in ("does not count in the ranking", "validity doubtful", "provenance third party",
                 "leak The clamp", "1 earlier verdict", "★ clean by B, 2026-01-01",
                 "replaced on 2026-01-02 by <img", "It was not."):  # fmt: skip
        assert text in told, text
    assert "measurement" not in told
    leak = next(one for one in section.iter("a") if words(one) == "The clamp")
    assert leak.get("href") == "../../demo/index.html#leaks"
    board = parsed(settings.out / "demo" / "index.html")
    assert "leaks" in [one.get("id") for one in board.iter()]


def test_the_other_pages_and_exports_show_no_unproven_quote_unmarked(settings: Settings) -> None:
    out = build(settings).out
    lost = "ls /x"
    assert "unproven" in (out / "runs" / "r" / "index.html").read_text()
    text = next((out / "runs" / "r").glob("*.md")).read_text("utf-8")
    assert text.count("Unproven quote, said to be from") == len(UNPROVEN)
    assert text.count("\nQuote from") == len(PROVEN) + len(RAW)
    for path in (out / "runs" / "r").rglob("*.json"):
        assert '"text": "for i in range' not in path.read_text("utf-8")
    data = json.loads((out / "data" / "runs.json").read_text())
    assert lost not in json.dumps(data)


def test_the_single_file_says_the_same(settings: Settings, tmp_path: Path) -> None:
    path = single_file.write(settings, "r", tmp_path / "r.html").path
    shown = figures(parsed(path))
    assert [one.get("class") for one in shown] == (
        ["quote"] * (len(PROVEN) + len(RAW)) + ["quote unproven"] * len(UNPROVEN)
    )
    told = [links(figure) for figure in shown]
    assert all(len(held) == 1 and held[0].startswith("#") for held in told[: len(PROVEN)])
    assert not any(told[len(PROVEN) :])
    assert any(held[0].startswith("#snapshots.html:copy-") for held in told[: len(PROVEN)])


def test_a_quote_whose_proof_breaks_changes_the_page(settings: Settings) -> None:
    out = build(settings).out
    path = out / "runs" / "r" / "index.html"
    before = path.read_text("utf-8").count("unproven: ")
    audit = settings.runs / "demo" / "r" / "audit.yaml"
    audit.write_text(audit.read_text().replace("took 4", "took 5"))
    build(settings)
    assert path.read_text("utf-8").count("unproven: ") == before + 1
    build(settings, fresh=True)
    assert path.read_text("utf-8").count("unproven: ") == before + 1


def test_a_page_made_without_a_lookout_proves_the_quotes_itself(settings: Settings) -> None:
    site = read(read_settings(settings.path))
    (stored,) = site.runs
    assert site.proofs == {}
    states = [proof.proven for proof in proofs_of(site, stored)]
    assert states == [True] * (len(PROVEN) + len(RAW)) + [False] * len(UNPROVEN)
    held = dataclasses.replace(site, proofs={"r": proofs_of(site, stored)})
    assert proofs_of(held, stored) is held.proofs["r"]
