"""Each check finds the defect that is planted for it, at its line, and nothing in a sound site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kbsite import beside, linting
from kbsite.errors import InputError
from kbsite.linting import CHECKS, Check, lint, page_facts, reading, tables
from kbsite.linting.site import BuiltSite
from kbsite.model.audit import Audit
from kbsite.model.finding import Finding, Severity
from kbsite.model.grade import Metrics
from kbsite.model.run import Run as OneRun
from kbsite.model.samples import Samples
from kbsite.store.schema import SCHEMAS
from tests.linting.small import (
    ATOM,
    LINKS,
    LISTED,
    PARTS,
    POLICY,
    RUN,
    SITEMAP,
    SOUND,
    STYLED,
    TRANSCRIPT,
    URL,
    found,
    page,
    written,
)

HASH = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
"""Of nothing."""
BIG = "".join(f"<p>{number * 7919 % 999_983}" for number in range(60_000))
HOME = "index.html"


@dataclass(frozen=True)
class Planted:
    """A defect."""

    check: str
    """The module of CHECKS that has to find it."""
    files: dict[str, str]
    path: str
    """Where it is to be found."""
    says: str
    """What the finding says, in parts."""
    line: int | None = None
    warning: bool = False
    more: tuple[str, ...] = field(default=())
    """Other checks that the same defect concerns."""


def home(body: str, **told: str) -> dict[str, str]:
    """The first page with something added to what it links to."""
    return {HOME: page(f"{LINKS}\n{body}", head=STYLED, **told)}


def listing(**told: object) -> str:
    """data/runs.json with other things told of its run."""
    return json.dumps({"format": 1, "runs": [{**LISTED, **told}]})


XHTML_SCRIPT = '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>'
SPACE = "http://www.w3.org/2000/svg"
SVG = f'xmlns="{SPACE}"'


def loads(element: str) -> Planted:
    return Planted("foreign", home(element), HOME, "loaded from elsewhere", 8)


FAR = "https://host.example/a"
NAMING = (
    "for", "headers", "list", "form", "popovertarget", "commandfor", "aria-labelledby",
    "aria-describedby", "aria-controls", "aria-owns", "aria-details", "aria-errormessage",
    "aria-activedescendant", "aria-flowto",
)  # fmt: skip
"""Attributes whose values are ids of the page."""
SENDING = (
    f'<form action="{FAR}"></form>', f'<form><button formaction="{FAR}">x</button></form>',
    f'<input type="submit" formaction="{FAR}">', '<form action="./index.html"></form>',
    '<button formaction="javascript:alert(1)">x</button>',
    f'<a href="./index.html" ping="./index.html {FAR}">x</a>',
    f'<img alt="" src="data:image/png;base64,AA" attributionsrc="{FAR}">',
)  # fmt: skip
DRAWING = (
    f'<image href="{FAR}"/>', f'<image xlink:href="{FAR}"/>', f'<use href="{FAR}#b"/>',
    f'<filter><feImage href="{FAR}"/></filter>', f'<pattern href="{FAR}#b"/>',
    f'<text><textPath href="{FAR}#b">x</textPath></text>', f'<path marker="url({FAR}#b)"/>',
    f'<rect style="fill:url({FAR}#b)"/>', f"<style>rect {{ fill: url({FAR}#b) }}</style>",
    f'<linearGradient xlink:href="{FAR}#b"/>', f'<rect clip-path="url({FAR}#b)"/>',
)  # fmt: skip


PLANTED: dict[str, Planted] = {
    "a link to nothing": Planted("links", home('<a href="./gone.html">x</a>'), HOME, "gone", 8),
    "a link to nothing, quoted": Planted(
        "links", home('<a href="./a%20b.html?x=1&amp;y=2">x</a>'), HOME, "leads to a b.html", 8
    ),
    "a link from the root": Planted("links", home('<a href="/runs/">x</a>'), HOME, "sub-path", 8),
    "a link out of the site": Planted("links", home('<a href="../x.html">x</a>'), HOME, "out", 8),
    "a link that is code": Planted(
        "links", home('<a href="java\tscript:alert(1)">x</a>'), HOME, "expected a link to http", 8
    ),
    "a link with backslashes": Planted(
        "links", home('<a href="\\\\host.example\\x">x</a>'), HOME, "expected a link to", 8
    ),
    "a window that its opener can be led away by": Planted(
        "links", home('<a target="_blank" href="https://host.example/a">x</a>'), HOME, "noopener", 8
    ),
    "a script that is asked for and missing": Planted(
        "links", home('<div data-runs="./data/gone.js"></div>'), HOME, "data/gone.js", 8
    ),
    "an image that is missing": Planted(
        "links", home('<img src="./a.png" alt="">'), HOME, "a.png", 8
    ),
    "a comparison with a run that has nothing": Planted(
        "links", home('<a href="./compare/index.html?runs=r,gone">x</a>'), HOME, "names gone", 8
    ),
    "a home of 404.html elsewhere": Planted(
        "links", {"404.html": page('<a href="/elsewhere/">home</a>')}, "404.html", "/hard/", 6
    ),
    "a place that is not there": Planted(
        "anchors", home('<a href="#gone">x</a>'), HOME, "no such place", 8
    ),
    "a line that no part has": Planted(
        "anchors", {RUN: page(f'{TRANSCRIPT}\n<a href="#L77">x</a>', parts=PARTS)},
        RUN, "no such place", 9,
    ),
    "a line of a file that no part has": Planted(
        "anchors", {RUN: page(f'{TRANSCRIPT}\n<a href="#other-L3">x</a>', parts=PARTS)},
        RUN, "no such place", 9,
    ),
    "lines of a solution that no page has": Planted(
        "anchors", {RUN: page(f'{TRANSCRIPT}\n<a href="#solution-L3-4">x</a>', parts=PARTS)},
        RUN, "no such place", 9,
    ),
    "a part whose page lost its steps": Planted(
        "anchors", {"runs/r/steps-0002.html": page("nothing")}, RUN, "no such place", 6
    ),
    "a listed part whose page lost its steps": Planted(
        "anchors", {"runs/r/steps-0003.html": page("nothing")}, RUN, "no such place", 8
    ),
    "an id that stands twice": Planted(
        "ids", home('<p id="a">x</p>\n<p id="a">y</p>'), HOME, "each id once", 9
    ),
    "a label of nothing": Planted(
        "ids", home('<section aria-labelledby="gone">x</section>'), HOME, "has this id", 8
    ),
    "no policy": Planted("policy", {HOME: page(LINKS, policy=None)}, HOME, "no Content-Security"),
    "a policy that is no longer in the head": Planted(
        "policy",
        {HOME: page(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{LINKS}',
                    policy=None)},
        HOME, "no Content-Security",
    ),
    "a policy after what it is for": Planted(
        "policy",
        {HOME: page(LINKS, policy=None, head=f'{STYLED}<meta http-equiv="content-security-policy"'
                                             f' content="{POLICY}">')},
        HOME, "before its",
    ),
    "a policy that lets another host in": Planted(
        "policy", home("", policy=POLICY.replace("script-src", "script-src https://cdn.example")),
        HOME, "allows https://cdn.example", 3,
    ),
    "a policy that lets code in": Planted(
        "policy", home("", policy=POLICY.replace("script-src", "script-src 'unsafe-inline'")),
        HOME, "allows 'unsafe-inline'", 3,
    ),
    "a policy that leaves a door open": Planted(
        "policy", home("", policy=POLICY.replace("base-uri 'none'; ", "")), HOME, "base-uri", 3
    ),
    "a policy that stops the styles": Planted(
        "policy", home("", policy=POLICY.replace("style-src 'self'", "style-src 'none'")),
        HOME, "style-src lacks 'self'", 3,
    ),
    "a policy that stops what a script fetches": Planted(
        "policy", home("", policy=POLICY.replace("connect-src 'self'", "connect-src 'none'")),
        HOME, "connect-src lacks 'self'", 3,
    ),
    "a policy that stops what a script fetches that comes later": Planted(
        "policy",
        {RUN: page(f'{TRANSCRIPT}<p data-src="../../static/a.js"></p>', parts=PARTS,
                   policy=POLICY.replace("connect-src 'self'", "connect-src 'none'"))},
        RUN, "connect-src lacks 'self'", 3,
    ),
    "a policy that stops a style in the page": Planted(
        "policy", home("<style>p{color:red}</style>"), HOME, "style-src lacks 'sha256-", 3
    ),
    "a policy with a hash of something that is gone": Planted(
        "policy", home("", policy=POLICY.replace("style-src", f"style-src '{HASH}'")),
        HOME, "take it out", 3,
    ),
    "a script in the page": Planted(
        "policy", home("<script>alert(1)</script>"), HOME, "script-src lacks 'sha256-", 3
    ),
    "code in an attribute": Planted("policy", home('<p onclick="x()">x</p>'), HOME, "code in an"),
    "code in an attribute of what a parser could take for text": Planted(
        "policy", home("<svg><style><img src=x onerror=alert(1)></style></svg>"), HOME,
        "code in an", more=("links",),
    ),
    "a page in an attribute": Planted(
        "policy", home('<iframe srcdoc="<p>" title="x"></iframe>'), HOME, "code in an"
    ),
    "a film's first picture of another host": loads('<video poster="//host.example/a"></video>'),
    "an object of another host": loads('<object data="https://host.example/a"></object>'),
    "a place that two sitemaps name": Planted(
        "listed", {"sitemap-1.xml": SITEMAP}, "sitemap-1.xml", "stands there twice"
    ),
    **{
        f"{name} of nothing": Planted("ids", home(f'<p {name}="gone">x</p>'), HOME, "this id", 8)
        for name in NAMING
    },
    "a piece of a drawing that is not there": Planted(
        "ids", home('<svg><use href="#gone"/></svg>'), HOME, "has this id", 8
    ),
    "a fill that is not there": Planted(
        "ids", home('<svg><rect fill="url(#gone)"/></svg>'), HOME, "has this id", 8
    ),
    **{
        f"what sends: {element}": Planted("foreign", home(element), HOME, "is sent what", 8)
        for element in SENDING
    },
    **{
        f"a drawing with {element}": Planted(
            "foreign", home(f"<svg>{element}</svg>"), HOME, "loaded from elsewhere",
            None if "<style" in element else 8, more=("policy",) if "style" in element else (),
        )
        for element in DRAWING
    },
    "a link that a drawing changes": Planted(
        "policy", home('<svg><a><set attributeName="xlink:href" to="javascript:x()"/></a></svg>'),
        HOME, "code in an",
    ),
    "scripts that are told where others stand": Planted(
        "policy", home('<script type="importmap">{}</script>'), HOME, "script-src lacks", 3
    ),
    "a tree in the shadow": Planted(
        "foreign", home('<p><template shadowrootmode="open"><b onclick="x()"></b></template></p>'),
        HOME, "has a template",
    ),
    "a style attribute": Planted("policy", home('<p style="color:red">x</p>'), HOME, "style attr"),
    "an image of another host": loads('<img src="https://host.example/a.png" alt="">'),
    "an image of another host, by its name alone": loads('<img src="//host.example/a.png" alt="">'),
    "a set of images": loads('<img srcset="https://host.example/a.png 2x" alt="">'),
    "a script of another host": loads('<script src="https://host.example/a.js"></script>'),
    "a font that is fetched ahead": loads('<link rel="preload" href="https://host.example/f">'),
    "a host that is looked up ahead": loads('<link rel="dns-prefetch" href="//host.example">'),
    "a frame of data": Planted(
        "foreign", home('<iframe src="data:text/html,x" title="x"></iframe>'), HOME,
        "loaded from elsewhere", 8, more=("policy",),
    ),
    "a base": Planted(
        "foreign", {HOME: page(LINKS, head='<base href="./">')}, HOME, "a base or a refresh"
    ),
    "a refresh": Planted(
        "foreign", {HOME: page(LINKS, head='<meta http-equiv="Refresh" content="0;url=//x">')},
        HOME, "a base or a refresh",
    ),
    "a card that is not there": Planted(
        "foreign",
        {HOME: page(LINKS, head=f'<meta property="og:image" content="{URL}card.png">')},
        HOME, "told to other programs", 4,
    ),
    "a font of a style sheet": Planted(
        "foreign", {"static/b.css": "@font-face { src: url('https://host.example/f') }"},
        "static/b.css", "from elsewhere",
    ),
    "an address with escapes in a style sheet": Planted(
        "foreign", {"static/b.css": r"p { background: u\72l(\2f/host.example/f) }"},
        "static/b.css", "from elsewhere",
    ),
    "a style sheet of a style sheet": Planted(
        "foreign", {"static/b.css": '@import "gone.css";'}, "static/b.css", "static/gone.css"
    ),
    "a script that fetches": Planted(
        "foreign", {"static/a.js": "let a;\nfetch('https://host.example/a')"}, "static/a.js",
        "elsewhere", 2,
    ),
    "a script that imports": Planted(
        "foreign", {"static/a.js": 'const a = await import("//host.example/a.js");'}, "static/a.js",
        "elsewhere", 1,
    ),
    "data of a run that is code": Planted(
        "foreign", {"runs/r/compare.js": 'kbsiteRun({"id":"r"});alert(1)'}, "runs/r/compare.js",
        "data alone",
    ),
    "a picture fetched ahead by its set": loads(
        '<link rel="x" imagesrcset="https://host.example/a.png 1x">'
    ),
    "a drawing that is filled from elsewhere": loads(
        '<svg><rect fill="url(https://host.example/a.svg#b)"/></svg>'
    ),
    **{
        f"a card with {name}": Planted(
            "pictures", {"data/boards/b/card.svg": picture}, "data/boards/b/card.svg", says, line
        )
        for name, picture, says, line in (
            ("a script", f"<svg {SVG}><script>alert(1)</script></svg>", "is or holds code", None),
            ("a prefix", f'<a:svg xmlns:a="{SPACE}"><a:script/></a:svg>', "is or holds code", None),
            ("a page", f"<svg {SVG}><foreignObject/></svg>", "is or holds code", None),
            ("code", f'<svg {SVG} onload="alert(1)"/>', "code in an attribute", None),
            ("a picture", f'<svg {SVG}><image href="//h.example"/></svg>', "leads out", None),
            ("a fill", f'<svg {SVG}><rect fill="url(//h.example#b)"/></svg>', "leads out", None),
            ("a style", f"<svg {SVG}><style>@import '//h'</style></svg>", "leads out", None),
            ("a sheet", f'<?xml-stylesheet href="//h.example/a"?><svg {SVG}/>', "obeyed", None),
            ("entities", f'<!DOCTYPE svg [<!ENTITY a "b">]><svg {SVG}/>', "document type", None),
            ("half of it", f"<svg {SVG}>", "no well-formed XML", 1),
        )
    },
    "a picture with a script that stands among no run's files": Planted(
        "pictures",
        {**home('<a href="./a/raw/b.svg">x</a>'), "a/raw/b.svg": f"<svg {SVG}><script/></svg>"},
        "a/raw/b.svg", "is or holds code",
    ),
    "a list with a script": Planted(
        "pictures", {"data/feed.xml": ATOM.replace("</feed>", f"{XHTML_SCRIPT}</feed>")},
        "data/feed.xml", "a part of a page",
    ),
    "a list that is shown by a style sheet": Planted(
        "pictures",
        {"sitemap.xml": SITEMAP.replace("<urlset", "<?xml-stylesheet href='a'?><urlset")},
        "sitemap.xml", "is loaded or obeyed",
    ),
    "a page that calls itself a list": Planted(
        "pictures", {**home('<a href="./a.xml">x</a>'), "a.xml": XHTML_SCRIPT}, "a.xml",
        "a part of a page",
    ),
    **{
        f"a page in {end}": Planted(
            "policy", {**home(f'<a href="./a{end}">x</a>'), f"a{end}": "<script>x()</script>"},
            f"a{end}", "no Content-Security",
        )
        for end in (".htm", ".HTML", ".xhtml")
    },
    "a raw file that is a page": Planted(
        "raw_files", {"runs/r/raw/a.html": "<script>alert(1)</script>"}, "runs/r/raw/a.html",
        "may take .html", more=("policy", "orphans"),
    ),
    "a page that is too heavy": Planted(
        "weights", home(BIG), HOME, "expected at most 122,880 on a page", warning=True
    ),
    "too many elements on a run's page": Planted(
        "weights", {RUN: page(TRANSCRIPT + "<i></i>" * 3000, parts=PARTS)},
        RUN, " elements; expected at most 3,000 on the page of a run", warning=True,
    ),
    "a run's page that loads more than a style and a script": Planted(
        "weights",
        {RUN: page(TRANSCRIPT, parts=PARTS, head='<link rel="stylesheet" href="../../static/a.css">'
                                    '<link rel="stylesheet" href="../../static/b.css">'
                                    '<script src="../../static/a.js" defer></script>')},
        RUN, "4 files of requests; expected at most 3", warning=True,
    ),
    "heavy scripts that come later": Planted(
        "weights",
        {RUN: page(f'{TRANSCRIPT}<p data-src="../../static/big.js"></p>', parts=PARTS),
         "static/big.js": f"// {BIG}"},
        RUN, "bytes compressed of scripts; expected at most 30,720", warning=True,
    ),
    "a file that no page leads to": Planted(
        "orphans", {"notes.txt": "mine", ".git/HEAD": "ref: refs/heads/pages"}, "notes.txt",
        "no page leads here", warning=True,
    ),
    "a page that only itself leads to": Planted(
        "orphans", {"a/index.html": page('<a href="index.html">x</a>')}, "a/index.html",
        "no page leads here", warning=True,
    ),
    "an entry of the feed that leads nowhere": Planted(
        "listed", {"data/feed.xml": ATOM.replace("runs/r/", "runs/gone/")}, "data/feed.xml",
        "leads to no file",
    ),
    "two entries of the feed with one id": Planted(
        "listed", {"data/feed.xml": ATOM.replace("</feed>", "<entry><id>a</id></entry></feed>")},
        "data/feed.xml", "two entries",
    ),
    "news of another century": Planted(
        "listed",
        {"data/feed.xml": ATOM.replace("<id>", "<updated>2062-01-02T00:00:00Z</updated><id>")},
        "data/feed.xml", "heads the feed until then", warning=True,
    ),
    "a feed that is cut": Planted(
        "listed", {"data/feed.xml": ATOM[:-20]}, "data/feed.xml", "no well-formed XML", 2
    ),
    "a feed with entities": Planted(
        "listed", {"data/feed.xml": f"<!DOCTYPE f [<!ENTITY a 'b'>]>{ATOM[21:]}"}, "data/feed.xml",
        "document type",
    ),
    "a sitemap of another host": Planted(
        "listed", {"sitemap.xml": SITEMAP.replace("bench.example", "other.example")}, "sitemap.xml",
        "an address below https://bench.example/hard/",
    ),
    "a sitemap with a page that is gone": Planted(
        "listed", {"sitemap.xml": SITEMAP.replace("runs/r/", "runs/gone/")}, "sitemap.xml",
        "leads to no file",
    ),
    "a table with a page that is gone": Planted(
        "listed", {"data/runs.json": listing(page="runs/gone/index.html")},
        "data/runs.json", "does not have",
    ),
    "a board's own table with a page that is gone": Planted(
        "listed", {"data/boards/b/leaderboard.json": '{"page": "runs/gone/index.html"}'},
        "data/boards/b/leaderboard.json", "does not have", more=("orphans", "tables"),
    ),
    "a row of the table of runs with a page that is gone": Planted(
        "listed", {"data/runs.csv": f'id,page\r\n"{"a" * 140_000}",runs/gone/\r\nc,runs/r/\r\n'},
        "data/runs.csv", "does not have", more=("orphans",),
    ),
    "data that are no JSON": Planted(
        "tables", {"data/site.json": "{"}, "data/site.json", "not valid JSON", 1,
        more=("links", "listed"),
    ),
    "a status that does not exist": Planted(
        "tables", {"data/runs.json": listing(status="wonderful")}, "data/runs.json",
        "runs[0].status: Invalid enum value 'wonderful'", 1,
    ),
    "a number that is none": Planted(
        "tables", {"data/runs.json": listing(peak_fraction=float("nan"))}, "data/runs.json",
        "NaN is not JSON", 1,
    ),
    "a key that is missing": Planted(
        "tables", {"data/redaction.json": '{\n"format": 1\n}'}, "data/redaction.json",
        "files: missing", more=("orphans",),
    ),
    "a board of its own that says nothing": Planted(
        "tables", {"data/boards/b/leaderboard.json": "[]"}, "data/boards/b/leaderboard.json",
        "expected keys and values", 1, more=("orphans",),
    ),
}  # fmt: skip


def test_nothing_is_wrong_with_a_sound_site(tmp_path: Path) -> None:
    assert found(tmp_path, SOUND) == []


@dataclass(frozen=True, slots=True)
class Heard:
    """A check, and what it found."""

    check: Check
    said: list[Finding]

    def findings(self, site: BuiltSite) -> Iterator[Finding]:
        for one in self.check.findings(site):
            self.said.append(one)
            yield one


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_defect_is_found_and_named_by_the_check_that_is_for_it_alone(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = [Heard(check, []) for check in CHECKS]
    monkeypatch.setattr(linting, "CHECKS", heard)
    told = found(tmp_path, {**SOUND, **planted.files})
    (meant,) = (one for one in heard if name_of(one.check) == planted.check)
    own = [one for one in told if one.path == planted.path and planted.says in one.text]

    assert own, [one.text for one in told]
    assert own[0].line == planted.line
    assert own[0].severity is (Severity.WARNING if planted.warning else Severity.ERROR)
    others = [one for one in told if not any(one is said for said in meant.said)]
    assert len(others) + len(meant.said) == len(told)
    assert not any(one is other for one in own for other in others)
    assert bool(others) == bool(planted.more)


def name_of(check: object) -> str:
    return getattr(check, "__name__", "").rpartition(".")[2]


def test_each_check_has_a_defect() -> None:
    assert {name_of(check) for check in CHECKS} == {one.check for one in PLANTED.values()}


def test_each_check_is_told_to_those_who_publish() -> None:
    text = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text("utf-8")
    told = re.findall(r"^\| `(\w+)` \|", text.partition("| check | finds |")[2], re.M)

    assert set(told) >= {name_of(check) for check in CHECKS}, "docs/deploy.md lacks its row"


def test_each_table_of_which_a_schema_is_published_is_held_against_it() -> None:
    of_runs = {Audit, Metrics, OneRun, Samples}

    assert set(SCHEMAS.values()) - of_runs == set(tables.KINDS.values())


def test_a_defect_is_all_that_is_told(tmp_path: Path) -> None:
    told = found(tmp_path, {**SOUND, **PLANTED["a link to nothing"].files})

    assert [(one.path, one.line) for one in told] == [(HOME, 8)]


def spoiled() -> Iterator[tuple[str, str]]:
    yield "deep", "<div>" * 3000
    yield "formatting that is never closed", "<b><i>" * 300 + "<p>" * 200
    yield "attributes", "<a " + " ".join(f"x{n}=1" for n in range(3000)) + ">"
    yield "controls", '\0<a href="\0\x01">\x1b</a>'
    yield "an address of nothing but noise", '<a href="%zz%ff%00?#%">x</a>'
    yield "a long address", f'<a href="{"../" * 5000}x">x</a>'
    yield "an address with brackets", '<a href="http://[::1">x</a>'
    yield "lines without end", '<html data-parts="a 9-9999999999999999999999 -">'
    yield "a line without end", f'<a href="#L{"9" * 5000}">x</a>'
    yield "ids of nothing", '<p id=""></p><p id=" "></p>'
    yield "a style sheet that never ends", "<style>@import url(url(url('\"" * 50
    yield "a set of no images", '<img srcset=", , ,">'
    yield "a comment that never ends", "<!-- "
    yield "lines of lines", f'<a href="#a{":1" * 5000}">x</a>'


@pytest.mark.parametrize(
    "body", [body for _, body in spoiled()], ids=[name for name, _ in spoiled()]
)
def test_no_page_stops_the_checks(body: str, tmp_path: Path) -> None:
    told = found(tmp_path, {**SOUND, "x.html": page(body), "notes.txt": ""})

    assert ("notes.txt", Severity.WARNING) in [(one.path, one.severity) for one in told]


def test_what_is_no_page_and_no_file_is_named(tmp_path: Path) -> None:
    site = written(tmp_path / "site", SOUND)
    (site / "bytes.html").write_bytes(b"<p>\xff")
    (tmp_path / "secret.txt").write_text("secret")
    (site / "link.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(site / "pipe.html")
    told = [(one.path, one.message) for one in lint(site) if one.severity is Severity.ERROR]

    assert [path for path, _ in told] == ["bytes.html", "link.txt", "pipe.html"]
    assert told[0][1].startswith("no UTF-8 at byte 3")
    assert "symbolic link" in told[1][1]


def test_a_name_of_bytes_that_are_no_text_is_a_name(tmp_path: Path) -> None:
    name = os.fsdecode(b"runs/r/raw/\xff.txt")
    link = '<a href="./runs/r/raw/%FF.txt">x</a>'

    assert found(tmp_path, {**SOUND, **home(link), name: "x"}) == []


def test_data_of_many_runs_are_no_code_of_a_page(tmp_path: Path) -> None:
    told = f"kbsiteRuns({json.dumps(BIG)})"
    body = f'{LINKS}<p data-runs="./data/runs.js"></p>'

    assert found(tmp_path, {**SOUND, HOME: page(body, head=STYLED), "data/runs.js": told}) == []


def test_a_folder_without_a_site_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("no index.html in it")):
        list(lint(tmp_path))


def test_many_pages_are_read_on_two_cores_as_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {f"p/{n}.html": page(f'<a href="./{n - 1}.html">x</a>') for n in range(60)}
    files = {**SOUND, **home('<a href="./p/59.html">x</a>'), **pages}
    there = found(tmp_path, files)
    monkeypatch.setattr(beside, "cores", lambda: 1)

    assert [one.path for one in there] == ["p/0.html"]
    assert list(lint(tmp_path)) == there


def test_progress_is_told_of_each_page(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    list(lint(written(tmp_path, SOUND), lambda *told: seen.append(told)))

    pages = sum(name.endswith(".html") for name in SOUND)
    assert [done for _, done, _ in seen] == [*range(1, pages + 1)]
    assert {count for _, _, count in seen} == {pages}


@pytest.mark.parametrize("at_once", [reading._AT_ONCE, 1_000_000])
def test_a_page_that_takes_too_long_costs_itself_alone(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_AT_ONCE", at_once)
    monkeypatch.setattr(reading, "MOST_SECONDS", 0.1)
    deep = page("<div>" * 20_000)
    told = found(tmp_path, {**SOUND, **home('<a href="./gone.html">x</a>'), "deep.html": deep})

    assert [(one.path, one.line) for one in told if "deep" not in one.path] == [(HOME, 8)]
    assert "takes more than 0.1 s" in next(one.message for one in told if "deep" in one.path)


def test_a_page_that_takes_too_much_memory_costs_itself_alone(tmp_path: Path) -> None:
    """Each paragraph begins anew whatever was left open: 6 KB make 360,000 elements."""
    many = "".join(f"<b x={number}>" for number in range(600))
    body = page(f"<p>{many}</p>{'<p>x' * 600}")
    files = {**SOUND, **home('<a href="./gone.html">x</a>'), "many.html": body}
    # A process that has done much has memory to give away that no bound knows of.
    asked = "\n".join([
        "import sys; from pathlib import Path; from kbsite import linting",
        "linting.reading.MOST_MEMORY = 50_000_000",
        "for one in linting.lint(Path(sys.argv[1])): print(one.path, one.line, one.message)",
    ])  # fmt: skip
    command = [sys.executable, "-c", asked, str(written(tmp_path, files))]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    assert [line.split()[:2] for line in told if not line.startswith("many")] == [[HOME, "8"]]
    assert any(line.startswith("many") and "takes more than 50000000 b" in line for line in told)


def test_a_page_is_gone_through_once_for_all_lines_of_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    text = BuiltSite.text

    def counted(site: BuiltSite, path: str) -> str:
        read.append(path)
        return text(site, path)

    monkeypatch.setattr(BuiltSite, "text", counted)
    links = [f'<a href="./{number}.html" id="twice">x</a>' for number in range(300)]
    told = found(tmp_path, {**SOUND, **home("\n".join(links))})

    assert [one.line for one in told if one.key != "twice"] == [*range(8, 308)]
    assert [one.line for one in told if one.key == "twice"] == [9]
    assert read.count(HOME) == 1


def test_no_more_is_looked_for_within_values_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_facts, "MOST_GUESSES", 2)
    lines = page_facts.Lines('<p style="a b">\n<p style="c" id=d>\n<p id=d>')

    assert [lines.of("b"), lines.of("none"), lines.of("a b"), lines.of("d", 2)] == [1, None, 1, 3]
    assert lines.of("b") is None
