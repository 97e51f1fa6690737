"""Every page of a site full of hostile text is sound HTML that says all of it, and only says it."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import html5lib
import pytest

from kbsite.build import Built, build
from kbsite.linting.policy import parsed
from kbsite.pages.policy_source import source_of
from kbsite.store.problems import read_problem
from kbsite.text import visible
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings, formal_fields
from tests.in_page import BOOT, STYLE

ATTACKS = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7919*7907}}{% raw %}",
    "' onmouseover='alert(1)", "</title></textarea></style></pre>", "&lt;b&gt;&amp;&#60;",
    "<!--", "]]>", "\u202eevil\u2066", "\ufeff\U000e0041", "`${1}`",
]  # fmt: skip
HOSTILE = " ".join(ATTACKS)
NAME = "<img src=x onerror=alert(1)> #?%25 \"'&.html"
EARLIER = {"verdict": "clean", "summary": HOSTILE, "auditor": HOSTILE, "by": HOSTILE,
           "why": HOSTILE, "replaced": "2026-01-04"}  # fmt: skip
HOSTILE_RUN = "20260102_030400_claude_hostile_softmax"
PROBLEM = "x'><script>alert(1)<"
_ICON_FILE = Path(__file__).parents[2] / "static" / "icon.svg"
ICON = "data:image/svg+xml;base64," + b64encode(_ICON_FILE.read_bytes().strip()).decode()
"""The one address that holds what it leads to."""


def stream(text: str) -> bytes:
    """A Claude Code stream that holds `text` in every field that a page shows."""
    call = {"type": "tool_use", "id": "c", "name": text, "input": {"command": text, text: [text]}}
    change = {"file_path": text, "old_string": text, "new_string": f"{text}\n{text}"}
    edit = {"type": "tool_use", "id": "e", "name": "Edit", "input": change}
    result = {"type": "tool_result", "tool_use_id": "c", "content": text, "is_error": True}
    lost = {"type": "tool_result", "tool_use_id": text, "content": f"\x1b[31m{text}"}
    parts = [{"type": "thinking", "thinking": text}, {"type": "text", "text": f"`` {text} ``"},
             {"type": text}, call, edit]  # fmt: skip
    rows: list[dict[str, object]] = [
        {"type": "system", "subtype": "init", "model": text, "cwd": text, "tools": [text]},
        {"type": "assistant", "message": {"id": "m", "model": text, "content": parts}},
        {"type": "user", "message": {"role": "user", "content": [result, lost]},
         "tool_use_result": {"stdout": text, text: text}},
        {"type": text, text: text},
        {"type": "result", "subtype": text, "result": text, "is_error": True},
    ]  # fmt: skip
    return "\n".join([*map(json.dumps, rows), text, '{"cut": "' + text]).encode()


def audit(verdict: str) -> dict[str, Any]:
    quote = {"file": HOSTILE, "lines": [3, 9], "label": HOSTILE, "text": HOSTILE}
    return {"verdict": verdict, "summary": f"`` {HOSTILE} ``", "quotes": [quote],
            "implication": f"`` {HOSTILE} ``", "auditor": HOSTILE, "origin": HOSTILE,
            "leak": HOSTILE, "history": [EARLIER]}  # fmt: skip


@pytest.fixture(name="site")
def _site(
    tmp_path: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    make_problem: MakeProblem,
    make_floors: MakeFloors,
) -> Built:
    about = {"title": HOSTILE, "tagline": HOSTILE, "about": HOSTILE, "contact": HOSTILE}
    settings = make_settings(tmp_path, site=about, title=HOSTILE, tagline=HOSTILE)
    make_problem(tmp_path / "problems", PROBLEM, title=HOSTILE)
    folder = make_problem(
        tmp_path / "problems", "softmax", title=HOSTILE, summary=HOSTILE, tags=[HOSTILE],
        forbidden=[HOSTILE], bytes=HOSTILE, shapes=[{HOSTILE: HOSTILE}], **formal_fields(HOSTILE),
    )  # fmt: skip
    own: dict[str, Any] = {
        "problem_hash": read_problem(folder).hash,
        "notes": [HOSTILE],
        "origin": HOSTILE,
    }
    board = tmp_path / "runs" / "demo"
    failed = {"status": "crashed", "detail": HOSTILE}
    shown: dict[str, Any] = {
        "effort": HOSTILE, "variant": HOSTILE, "provider": HOSTILE, "base_url_host": HOSTILE,
        "command": [HOSTILE], "environment": [HOSTILE], "usage_source": HOSTILE, "signal": HOSTILE,
        "end_detail": HOSTILE,
        "cost_usd": 1.0, "cost_source": HOSTILE, "harness_version": HOSTILE, "sandbox": HOSTILE,
        "host": {"gpu": HOSTILE, "os": HOSTILE},
    }  # fmt: skip
    make_run(
        board, run_id=HOSTILE_RUN, model=HOSTILE, audit=audit("reward_hack"), **own, **shown,
        metrics={"grader": HOSTILE, "shapes": [{"shape": HOSTILE}]},
        transcript={"stdout.jsonl": stream(HOSTILE), NAME: b"<script>alert(1)</script>"},
        files={"check.log": f"\x1b[1m{HOSTILE}".encode(), "solution.py": f"# {HOSTILE}".encode()},
    )  # fmt: skip
    make_run(board, model="again", metrics=failed, audit=audit("bug"), end_reason="budget", **own)
    make_run(board, model="again", run_id='20270102_030405_x"><b>', **own)
    make_run(board, model="refused", **{**own, "problem_hash": HOSTILE})
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.5,
                        "source": HOSTILE})  # fmt: skip
    (board / f"20260102_030406_{NAME.replace('/', '')}").mkdir()
    (board / f"20260102_030406_{NAME.replace('/', '')}" / "run.json").write_text("{")
    return build(settings)


@pytest.fixture(name="pages")
def _pages(site: Built) -> dict[str, Any]:
    """The tree of every page, by its path."""
    trees = {}
    for path in sorted(site.out.rglob("*.html")):
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        trees[path.relative_to(site.out).as_posix()] = parser.parse(path.read_text("utf-8"))
        assert [code for _, code, _ in parser.errors] == [], path
    return trees


def nodes(tree: Any) -> Iterator[Any]:
    return (node for node in tree.iter() if isinstance(node.tag, str))


def ids(tree: Any) -> list[str]:
    return [node.attrib["id"] for node in nodes(tree) if "id" in node.attrib]


def links(tree: Any) -> Iterator[str]:
    for node in nodes(tree):
        for name in ("href", "src"):
            if name in node.attrib:
                yield node.attrib[name]


def text_of(tree: Any) -> str:
    return "".join(tree.itertext())


def test_the_site_is_made_whole(site: Built, pages: dict[str, Any]) -> None:
    assert len(pages) == site.pages == 21
    assert not [page for page, tree in pages.items() if "could not be made" in text_of(tree)]
    assert [finding.message for finding in site.findings if "page cannot" in finding.message] == []


def test_no_page_holds_code_but_the_site_s_own(pages: dict[str, Any]) -> None:
    own = r"(\./|(\.\./)+)(static/\w+|static/vendor/plotly-basic\.min|explore/data)\.js"
    for page, tree in pages.items():
        scripts = [node for node in nodes(tree) if node.tag == "script"]
        assert len(scripts) in ([0] if page == "404.html" else range(1, 5)), page
        named = [script for script in scripts if "src" in script.attrib]
        assert all(re.fullmatch(own, script.attrib["src"]) for script in named)
        assert not any(script.text for script in named)
        assert [script.text for script in scripts if script not in named] == holds(tree), page
        for node in nodes(tree):
            assert node.tag not in {"iframe", "object", "embed", "form", "base", "svg", "math"}
            names = set(node.attrib)
            assert not [name for name in names if name.startswith("on") or name == "style"], page


def test_a_page_allows_itself_the_script_and_the_style_that_it_holds_and_no_other(
    pages: dict[str, Any],
) -> None:
    assert any(map(holds, pages.values()))
    for page, tree in pages.items():
        (policy,) = (
            parsed(node.attrib["content"])
            for node in nodes(tree)
            if node.attrib.get("http-equiv") == "Content-Security-Policy"
        )
        if page == "404.html":
            assert "script-src" not in policy
            continue
        assert policy["script-src"] == ("'self'", *map(source_of, holds(tree))), page
        styles = [node.text for node in nodes(tree) if node.tag == "style"]
        assert styles == ([STYLE] if holds(tree) else []), page
        assert policy["style-src"] == ("'self'", *map(source_of, styles)), page


def holds(tree: Any) -> list[str]:
    """The scripts that may stand in a page: one where there is a transcript to get around in."""
    return [BOOT] if "tools" in ids(tree) else []


def test_every_id_stands_once_on_its_page(pages: dict[str, Any]) -> None:
    for page, tree in pages.items():
        assert [name for name, times in Counter(ids(tree)).items() if times > 1] == [], page
        for node in nodes(tree):
            for name in node.attrib.get("aria-labelledby", "").split():
                assert name in ids(tree), page


def test_every_link_leads_somewhere(site: Built, pages: dict[str, Any]) -> None:
    base = "https://host.example/"
    for page, tree in pages.items():
        for link in set(links(tree)) - {ICON}:
            parts = urlsplit(urljoin(f"{base}{page}", link))
            assert (parts.scheme, parts.netloc) == ("https", "host.example"), link
            asked = [("/compare/index.html", {"runs"}), ("/runs/index.html", {"model"}),
                     ("/runs/index.html", {"harness"})]  # fmt: skip
            assert not parts.query or (parts.path, set(parse_qs(parts.query))) in asked, link
            path = unquote(parts.path.lstrip("/"), errors="surrogateescape")
            target = site.out / path / ("index.html" if path in ("", ".") else "")
            assert target.is_file(), (page, link)
            if parts.fragment:
                assert unquote(parts.fragment) in ids(pages[path]), (page, link)


def test_of_the_links_of_the_site_the_one_to_this_page_says_so(pages: dict[str, Any]) -> None:
    for page, tree in pages.items():
        held = tree.find(".//nav[@aria-label='site']")
        led_to = {} if held is None else {
            urljoin(f"/{page}", link.attrib["href"]): link.attrib.get("aria-current")
            for link in held.iter("a")
        }  # fmt: skip
        told = {path: said for path, said in led_to.items() if said}
        assert told == ({f"/{page}": "page"} if f"/{page}" in led_to else {}), page

    assert {"index.html", "demo/index.html", "runs/index.html"} < pages.keys()


def test_all_that_was_written_is_read_on_every_page(pages: dict[str, Any]) -> None:
    for attack in map(visible, ATTACKS):
        for page, tree in pages.items():
            assert attack in text_of(tree), (page, attack)

        assert text_of(pages[f"runs/{HOSTILE_RUN}/index.html"]).count(attack) >= 50, attack


def test_nothing_was_worked_out_from_a_template_within_a_text(pages: dict[str, Any]) -> None:
    for page, tree in pages.items():
        assert str(7919 * 7907) not in text_of(tree), page


def test_no_page_holds_what_turns_text_around(site: Built) -> None:
    for path in site.out.rglob("*.html"):
        assert not set(path.read_text("utf-8")) & set("\u202e\u2066\ufeff\U000e0041")


def test_a_raw_file_is_never_a_page(site: Built) -> None:
    raw = [path for path in site.out.glob("runs/*/raw/**/*") if path.is_file()]

    # What stands for a control character is told from what a name says itself.
    assert f"{NAME.replace('%', '%25')}.txt" in {path.name for path in raw}
    assert {path.suffix for path in raw} <= {".json", ".jsonl", ".log", ".py", ".txt", ".yaml"}


@pytest.mark.parametrize("board", ["demo", "index.html", "404.html", "runs"])
def test_no_name_of_a_run_stops_the_build(
    board: str, tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    for run_id in ("index.html", "n" * 247, os.fsdecode(b"r\xff<2>"), "a b%20c#d?e"):
        make_run(tmp_path / "runs" / board, run_id=run_id)
    files = {"files/a": b"1", "files/a.txt/b": b"2", f"files/{'n' * 253}": b"3"}
    make_run(tmp_path / "runs" / board, run_id="r", files=files)
    site = build(settings)

    assert [finding.path for finding in site.findings if "left out" in finding.message] == [
        str(tmp_path / "runs" / board / "index.html")
    ]
    kept = [path.read_bytes() for path in (site.out / "runs/r/raw/files").rglob("*.txt")
            if path.is_file()]  # fmt: skip
    assert sorted(kept) == [b"1", b"2", b"3"]


def long_stream() -> bytes:
    """A stream long enough for parts, with outputs, edits and prose too long for their place."""
    rows: list[dict[str, object]] = []
    for n in range(30):
        text = f"{HOSTILE}\n" * (400 if n == 7 else 1)
        change = {"file_path": HOSTILE, "old_string": "", "new_string": text}
        parts = [{"type": "text", "text": text}, {"type": "thinking", "thinking": text},
                 {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {"command": text}},
                 {"type": "tool_use", "id": f"e{n}", "name": "Edit", "input": change}]  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"\x1b[31m{text}"}
        rows += [
            {"type": "assistant", "message": {"id": f"m{n}", "content": parts}},
            {"type": "user", "message": {"role": "user", "content": [result]}},
        ]
    return "\n".join(map(json.dumps, rows)).encode()


def test_parts_and_long_texts_of_a_run_are_sound_html_too(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo", run_id="r", transcript={"stdout.jsonl": long_stream()})
    folder = build(settings).out / "runs" / "r"
    pages = sorted(folder.glob("*.html"))
    for path in pages:
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        tree = parser.parse(path.read_text("utf-8"))

        assert [code for _, code, _ in parser.errors] == [], path
        assert [name for name, times in Counter(ids(tree)).items() if times > 1] == [], path
        assert not [node for node in nodes(tree) if node.tag in {"iframe", "img", "base"}]
        styles = [node.text for node in nodes(tree) if node.tag == "style"]
        assert styles == ([STYLE] if path.name == "index.html" else []), path
        assert not [n for node in nodes(tree) for n in node.attrib if n.startswith("on")], path

    names = {path.name.split("-")[0] for path in pages}
    assert names == {"index.html", "steps", "text"}
