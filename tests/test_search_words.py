"""The index of words: every word of a run leads to all runs that hold it, after any change too."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import normalize

import pytest
from msgspec.structs import replace

from kbsite import search
from kbsite.build import build, override
from kbsite.engines import Here
from kbsite.model.work import Work
from kbsite.output import Output
from kbsite.search import blocks, index, words
from kbsite.search.index import Text, write_index
from kbsite.search.words import LONGEST, words_of
from kbsite.store.settings import Settings
from tests.browser.long_session import session
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

LOG = "home/.claude/projects/-w/s.jsonl"
SAID = (
    r"cp.async.wait_all foo_bar::baz a->b Straße ΑΣ ＡＢ İx cafe\u0301 矩阵乘法 it's x[-1] \\nzeile"
    r" C:\\new <b>bold</b> &amp;amp; http://h:80/p?q=1 \ud835\udd38"
)


def said(text: str) -> dict[str, bytes]:
    """A transcript of an agent that says something."""
    row = '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"%s"}]}}\n'
    return {"stdout.jsonl": (row % text).encode()}


@pytest.fixture(name="_small", autouse=True)
def _in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each site has an index of words, cut into many blocks and sorted in many lists."""
    monkeypatch.setattr(search, "MOST_BYTES", -1)
    monkeypatch.setattr(blocks, "_BYTES", 600)
    monkeypatch.setattr(index, "_AT_ONCE", 200_000)


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    make_run(board, run_id="r1", transcript={LOG: session()}, audit={"verdict": "bug"})
    make_run(board, run_id="r2", transcript=said(SAID))
    make_run(board, run_id="r3", transcript=said("second"))
    return replace(settings, config=replace(settings.config, search=True))


def index_of(site: Path) -> dict[str, dict[str, int]]:
    """Of each word the texts that hold it, with its weight there."""
    listed = blocks.read_list((site / blocks.LIST).read_bytes())
    assert listed
    found: dict[str, dict[str, int]] = {}
    for first in listed.blocks:
        entries = blocks.read_block((site / blocks.block_path(first)).read_bytes())
        assert all(listed.block_of(word) == first for word, _ in entries)
        for word, places in entries:
            held = blocks.read_places(places)
            found[word] = {str(listed.texts[number]): weight for number, weight in held.items()}
    assert list(found) == sorted(found)
    return found


class _Reader(HTMLParser):
    """What a page shows between its navigation, its drawings and its tools."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.hidden = 1
        self.tools = 0
        self.tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self.tools and not {("id", "tools"), ("id", "minimap")}.isdisjoint(attrs):
            self.tag = tag
            self.tools = 1
        elif self.tools and tag == self.tag:
            self.tools += 1
        self.hidden += {"main": -1, "nav": 1, "svg": 1}.get(tag, 0)
        self.text += "" if tag == "span" else " "

    def handle_endtag(self, tag: str) -> None:
        self.tools -= tag == self.tag and self.tools > 0
        self.hidden -= {"main": -1, "nav": 1, "svg": 1}.get(tag, 0)
        self.text += "" if tag == "span" else " "

    def handle_data(self, data: str) -> None:
        self.text += "" if self.hidden or self.tools else data


def shown(page: Path) -> str:
    reader = _Reader()
    reader.feed(page.read_text("utf-8"))
    return normalize("NFC", reader.text).lower().replace("ς", "σ")


def spelled(text: str) -> Iterator[str]:
    """The words of a text, sign by sign."""
    word = ""
    for sign in f"{text} ":
        own = "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff"
        if (sign.isalnum() or sign == "_") and not own:
            word += sign
            continue
        yield from (one for one in (word, sign if own else "") if one)
        word = ""


def test_every_word_of_a_run_leads_to_it_and_no_other_does(settings: Settings) -> None:
    out = build(settings).out
    held = index_of(out)
    for run in ("r1", "r2", "r3"):
        names = ("index.html", "solution.html", "steps-*.html", "text-*.html")
        pages = [page for name in names for page in (out / "runs" / run).glob(name)]
        text = " ".join(map(shown, pages))
        assert {word for word in spelled(text) if run not in held.get(word[:LONGEST], ())} == set()
        own = {word for word, places in held.items() if run in places}
        assert {word for word in own if word not in text} == set()
    for word in (
        "cp.async",
        "async.wait_all",
        "wait",
        "foo_bar::baz",
        "baz",
        "a->b",
        "矩阵",
        "zeile",
    ):
        assert list(held[word]) == ["r2"], word
    assert {"regex", "web"}.isdisjoint(held)
    assert held["needle"]["r1"] == blocks.WEIGHTS - 1
    assert {"r1", "r2", "r3"} < set(held["softmax"])


def test_what_changed_is_patched_to_what_a_fresh_build_makes(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = build(settings).out
    kept = {path: path.stat().st_ino for path in (out / search.FOLDER / "words").iterdir()}
    board = settings.runs / "demo"
    make_run(board, run_id="r4", transcript=said("a later run with torch.nn.functional"))
    (board / "r3" / "audit.yaml").write_text(
        "verdict: clean\nsummary: Auditor wrote zebra.\nauditor: A\ndate: 2026-01-03\n"
    )
    with monkeypatch.context() as only:
        only.delattr(index, "_whole")
        only.setattr(index, "_AT_ONCE", 10_000_000)
        build(settings)
    again = build(override(settings, None, None, settings.out.with_name("again"))).out

    assert tree(out) == tree(again)
    assert set(index_of(out)["zebra"]) == {"r3"}
    stayed = [path for path, inode in kept.items() if path.exists() and path.stat().st_ino == inode]
    assert len(stayed) > len(kept) / 2


def put(out: Path, texts: Mapping[str, str], stood: Mapping[str, str]) -> dict[str, bytes]:
    """The index of a site whose pages hold these texts, after one whose pages held others."""
    output = Output(out, Work())
    made = {f"runs/{name}/index.html": text for name, text in texts.items()}
    for page, text in made.items():
        output.write_bytes(page, f"<main >{text}</main>".encode())
    files = {page: [page] for page in made}
    old = {page: [page] for page in (f"runs/{name}/index.html" for name in stood)}
    write_index([Text(page, page.split("/")[1]) for page in made], output, Here(), files, old)
    output.drop()
    output.replace()
    output.tidy()
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("search/**/*.js")}


def test_any_row_of_changes_leads_where_one_build_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_BYTES", 200)
    chance = random.Random(7)
    many = [f"{chance.randrange(16**6):x}" for _ in range(900)]
    texts: dict[str, str] = {}
    stood: dict[str, str] = {}
    for step in range(12):
        for _ in range(chance.choice((0, 1, 3))):
            texts[f"r{chance.randrange(step + 2):02}"] = " ".join(chance.sample(many, 150))
        if step % 4 == 3:
            texts.pop(chance.choice(sorted(texts)), None)
        texts = dict(sorted(texts.items()))
        patched = put(tmp_path / "site", texts, stood)
        assert patched == put(tmp_path / f"fresh{step}", texts, {}), step
        stood = dict(texts)
    assert len(patched) > 10, len(patched)


def test_noise_of_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MOST", 1000)
    chance = random.Random(1)
    blob = b64encode(chance.randbytes(300_000)).decode()
    found = words_of([f"<main >said first {'x' * 10**6} {blob}</main>", "<main >later</main>"])

    assert {"said", "first", "x" * LONGEST} <= set(found)
    assert len(found) == 1000
    assert max(map(len, found)) <= 2 * LONGEST + 3
    assert found == words_of([f"<main >said first {'x' * 10**6} {blob}</main>"])
