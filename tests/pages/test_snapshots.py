"""Any state of solution.py can be made from the page that shows it, to the last character."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.snapshot import Snapshot, Snapshots
from kbsite.pages import snapshots
from kbsite.pages.snapshots import PAGE_CHANGES, _pages, _shown, state_address
from tests.conftest import MakeRun, MakeSettings
from tests.pages.changing import LOG, changing, version

Tree = Any
MakeSite = Callable[..., Path]


@pytest.fixture(name="make_site")
def _make_site(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> MakeSite:
    """Builds a site with one run, "r", and returns the folder of its pages."""

    def make(texts: list[str], scored: tuple[int, ...] = (), **files: bytes) -> Path:
        settings = make_settings(tmp_path)
        named = {name.replace("__", "/") + ".py": data for name, data in files.items()}
        named.setdefault("solution.py", texts[-1].encode("utf-8", "surrogatepass"))
        make_run(tmp_path / "runs" / "demo", run_id="r", transcript={LOG: changing(texts, scored)},
                 files=named)  # fmt: skip
        built = build(settings)
        assert [finding for finding in built.findings if "runs/" in finding.path] == []
        return built.out / "runs" / "r"

    return make


def parsed(path: Path) -> Tree:
    return html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)


def text_of(element: Tree) -> str:
    return "".join(element.itertext())


def patched(text: str, diff: str) -> str:
    lines, made, at = text.split("\n"), [], 0
    for line in diff.split("\n")[:-1]:
        jump = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
        if jump:
            start = int(jump[1]) - (jump[2] != "0")
            made += lines[at:start]
            at = start
            continue
        made += [line[1:]] if line[0] != "-" else []
        at += line[0] != "+"
    return "\n".join(made + lines[at:])


def rebuilt(folder: Path) -> dict[int, str]:
    """Every state, each from its own page alone."""
    found: dict[int, str] = {}
    for path in sorted(folder.glob("snapshots*.html")):
        tree = parsed(path)
        texts = {int(e.get("data-whole")): text_of(e) for e in tree.iter() if e.get("data-whole")}
        assert texts
        for section in tree.iter("section"):
            if section.get("data-number") is None:
                continue
            number, base = int(section.get("data-number")), section.get("data-base")
            pre = section.find(".//figure/pre")
            if base is not None:
                texts[number] = patched(texts[int(base)], text_of(pre) if pre is not None else "")
            elif section.get("data-same") is not None and number not in texts:
                texts[number] = found[int(section.get("data-same"))]
            found[number] = texts[number]
    return found


def test_every_state_can_be_made_from_its_page(make_site: MakeSite) -> None:
    texts = [version(number) for number in range(1, 8)]
    anew = "".join(f"row {n}\n" for n in range(30))
    texts += [anew, anew.replace("9", "nine"), "".join(f"line {n}\n" for n in range(30))]
    folder = make_site(texts)
    tree = parsed(folder / "snapshots.html")

    assert list(rebuilt(folder).values()) == texts
    # What was written anew is shown without what it replaced, unless both are short.
    assert [e.get("data-whole") for e in tree.iter() if e.get("data-whole")] == ["1", "10"]
    assert "row 0" not in text_of(next(e for e in tree.iter() if e.get("id") == "state-10"))


@pytest.mark.parametrize("seed", range(6))
def test_every_state_of_a_wild_session_can_be_made(seed: int, make_site: MakeSite) -> None:
    random = Random(seed)
    pool = ["", "x", " x", "+", "-x", "@@ -1,2 +1,2 @@", "\t", "<b>&amp;", "\u202e", "\0", "é\r",
            "</pre>", "\ud800", "\x0c", "\u2028"]  # fmt: skip
    texts: list[str] = []
    for _ in range(40):
        text = "\n".join(random.choices(pool, k=random.randrange(0, 9)))
        if not texts or texts[-1] != text:
            texts.append(text)
    # What an empty text is rewritten from is a file that is there: the fold takes it for that.
    folder = make_site([f"{text}\n#" if text == "" else text for text in texts])
    wanted = [_shown(f"{text}\n#" if text == "" else text) for text in texts]

    assert list(rebuilt(folder).values())[: len(wanted)] == wanted


def test_long_rows_of_changes_go_on_on_further_pages(make_site: MakeSite) -> None:
    texts = [version(number) for number in range(1, 2 * PAGE_CHANGES + 9)]
    folder = make_site(texts, scored=(150,))
    names = sorted(path.name for path in folder.glob("snapshots*.html"))
    found = rebuilt(folder)

    assert names == ["snapshots-2.html", "snapshots-3.html", "snapshots.html"]
    assert [found[number] for number in sorted(found)] == texts
    first = parsed(folder / "snapshots.html")
    ids = [e.get("id") for e in first.iter() if (e.get("id") or "").startswith("state-")]
    assert {f"state-{number}" for number in range(1, len(texts) + 1)} <= set(ids)
    assert len(ids) == len(set(ids))
    far = next(e for e in first.iter("li") if e.get("id") == "state-150")
    assert far.get("data-page") == "snapshots-2.html"
    assert far.find("a").get("href") == "snapshots-2.html#state-150"
    assert ".015" in text_of(far)


def test_a_text_that_comes_back_is_not_shown_twice(make_site: MakeSite) -> None:
    folder = make_site(["a = 1\n", "b = 2\n", "a = 1\n", "c = 3\n"])
    page = (folder / "snapshots.html").read_text("utf-8")

    assert 'data-same="1"' in page
    assert list(rebuilt(folder).values()) == ["a = 1\n", "b = 2\n", "a = 1\n", "c = 3\n"]


def test_a_state_names_its_time_its_step_its_score_and_what_it_is_worth(
    make_site: MakeSite,
) -> None:
    copy = version(2).encode()
    folder = make_site(
        [version(1), version(2), version(3)], scored=(2,),
        snapshots__20260102T030416Z=copy, snapshots__20260102T030417Z=b"by hand\n",
    )  # fmt: skip
    tree = parsed(folder / "snapshots.html")
    states = [e for e in tree.iter("section") if e.get("class") == "state"]
    first, second, third, fourth = (" ".join(text_of(e).split()) for e in states)

    assert "state 1 00:00 step L1-1 · Write: +14 −0 · a guess: edits replayed" in first
    assert "exact: snapshots/20260102T030416Z.py" in second
    assert "as the agent saw it: check ✓ passed, peak_fraction .000" in second
    assert "no step" in third
    assert "the edits replayed until then give another text" in third
    assert "exact: solution.py" in fourth
    assert "1 recorded text differs" in text_of(tree)
    links = [e.get("href") for e in states[1].iter("a")]
    assert links[:2] == ["index.html#L3", "../../runs/r/raw/snapshots/20260102T030416Z.py"]


def test_the_chart_leads_to_the_step_and_to_the_solution_as_it_stood(make_site: MakeSite) -> None:
    folder = make_site([version(1), version(2)], scored=(1, 2))
    page = parsed(folder / "index.html")
    rows = [e for e in page.iter("tr") if [text_of(c) for c in e][2:3] == ["benchmark"]]

    assert [[a.get("href") for a in row.iter("a")] for row in rows] == [
        ["#L3", "snapshots.html#state-1"], ["#L7", "snapshots.html#state-2"]
    ]  # fmt: skip
    assert any(a.get("href") == "snapshots.html" for a in page.iter("a"))


def test_a_run_that_never_wrote_a_solution_has_no_such_page(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo", run_id="r")
    folder = build(settings).out / "runs" / "r"

    assert not list(folder.glob("snapshots*"))
    assert "snapshots.html" not in (folder / "index.html").read_text("utf-8")


def state(content: str | None) -> Snapshot:
    return Snapshot(anchor="L1", at=None, elapsed=None, content=content, text="")


def row(*contents: str | None) -> Snapshots:
    return Snapshots(tuple(map(state, contents)), tuple(range(len(contents))))


def test_what_cannot_be_shown_says_why_and_later_states_start_from_what_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "LONGEST", 20)
    (page,) = _pages(row(None, "a\n", None, "b" * 21, "a\nb\n"))
    told = [(c.number, c.base, bool(c.missing)) for c in page.changes]

    assert told == [(1, None, True), (2, None, False), (3, None, True), (4, None, True),
                    (5, 2, False)]  # fmt: skip
    assert page.whole == 2
    assert "21 characters" in page.changes[3].missing


def test_the_changes_of_a_run_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "ALL_CHARACTERS", 3000)
    found = row(*(f"{n}\n" * 50 for n in range(100)))
    changes = [change for page in _pages(found) for change in page.changes]

    assert sum(len(change.html) for change in changes) < 9000
    missing = [bool(change.missing) for change in changes]
    assert not any(missing[:6])
    assert all(missing[10:])


def test_the_address_of_a_state_counts_from_one() -> None:
    found = Snapshots(row("a", "b").held, (0, 1, 1))

    assert state_address(found, None) is None
    assert [state_address(found, n) for n in range(3)] == [
        "snapshots.html#state-1", "snapshots.html#state-2", "snapshots.html#state-2"
    ]  # fmt: skip
