"""Templates hold no code and no foreign address."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from secrets import token_hex

import html5lib
import jinja2
import pytest
from jinja2 import nodes
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from kbsite.assets import folder, static
from kbsite.reading import read
from kbsite.rendering import compiled, environment
from tests.conftest import MakeSettings

TEMPLATES = folder("templates")
STATIC = folder("static")
RUN_PAGE = (TEMPLATES / "pages" / "run.html").read_text("utf-8")
PATHS = sorted(TEMPLATES.rglob("*.html"))
NAMES = [path.relative_to(TEMPLATES).as_posix() for path in PATHS]
UNESCAPED = {("pages/missing.html", "style")}
"""What may stand in a page as it is: the name of the template, and of the value."""
DRAWN = {"parts/minimap.html"}
"""Templates that are a drawing of ours."""
FOREIGN = re.compile(r"(?:https?:)?//[\w.-]+\.\w|(?:url\(|@import|href=|src=)\s*[\"']?(?:\w+:)?//")
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'


def parsed(name: str) -> nodes.Template:
    env = jinja2.Environment(autoescape=True)
    return env.parse((TEMPLATES / name).read_text("utf-8"), name)


def without_code(name: str) -> str:
    """A template's HTML, with a plain word for each value and nothing for the rest of its code."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "", (TEMPLATES / name).read_text("utf-8"), flags=re.S)
    return re.sub(r"\{\{.*?\}\}", "value", text, flags=re.S)


@pytest.mark.parametrize("name", NAMES)
def test_every_template_compiles_and_finds_what_it_names(name: str) -> None:
    env = jinja2.Environment(loader=jinja2.FileSystemLoader([TEMPLATES, STATIC]), autoescape=True)
    known = ["visible", "markdown", "in_short", "terminal", "json", "picture", "score", "percent",
             "threshold", "count", "duration", "elapsed", "moment", "money", "size", "digits",
             "with_code", "short_place", "content", "dense", "diff", "rendered",
             "source_of"]  # fmt: skip
    env.filters.update(dict.fromkeys(known, str))
    env.get_template(name)

    for node in parsed(name).find_all((nodes.Extends, nodes.Include, nodes.FromImport)):
        assert isinstance(node, nodes.Extends | nodes.Include | nodes.FromImport)
        if isinstance(node.template, nodes.Const):
            assert node.template.value in [*NAMES, "kbsite.css", "map.css"]


WRITTEN = """{% macro twice(x) %}{{ x }}<i>{{ x }}</i>{% endmacro %}
{% set held %}<b>{{ it }}</b>{% endset %}
{{ it }}|{{ held }}|{{ twice(it) }}|{{ it ~ "<" ~ held }}
{{ it | string | upper }}|{{ [it, "&"] | join("<") }}
"""


class Shown(str):
    """Text that is escaped as any other."""


class Drawn:
    """What says itself how it is written."""

    def __html__(self) -> str:
        return "<svg>"


@pytest.mark.parametrize(
    "value", ["plain", "<a href='x'>&amp;\"", Shown("<b>"), Markup("<b>&"), Drawn(), 7, None, 1.5],
    ids=type,
)  # fmt: skip
def test_what_is_escaped_without_a_mark_is_escaped_as_with_it(
    value: object, tmp_path: Path, make_settings: MakeSettings
) -> None:
    own, plain = environment(read(make_settings(tmp_path))), jinja2.Environment(autoescape=True)
    usual = plain.from_string(WRITTEN).render(it=value)

    assert own.from_string(WRITTEN).render(it=value).split() == usual.split()
    assert own.from_string("{{ it }}").render(it=value) == escape(value)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_turns_the_escaping_off(name: str) -> None:
    tree = parsed(name)
    unescaped = {
        (name, node.node.name if isinstance(node.node, nodes.Name) else "?")
        for node in tree.find_all(nodes.Filter)
        if node.name in ("safe", "xmlattr", "tojson", "urlize")
    }

    assert unescaped <= UNESCAPED
    assert not list(tree.find_all((nodes.MarkSafe, nodes.ScopedEvalContextModifier)))
    assert not re.search(r"autoescape|Markup", (TEMPLATES / name).read_text("utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_no_template_holds_code_or_style_of_its_own(name: str) -> None:
    html = without_code(name)
    if name in DRAWN:
        html = html.replace("<svg", "<span")

    assert not re.search(r"\s(?:style|srcdoc|formaction|action|ping)\s*=", html, re.I)
    assert not re.search(r"\son\w+\s*=", html, re.I)
    assert not re.search(r"<(?:iframe|object|embed|form|base|template|svg|math)\b", html, re.I)
    assert not re.search(r"javascript:|http-equiv=\"?refresh", html, re.I)
    scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", html, re.S | re.I)
    assert len(scripts) == html.lower().count("<script")
    named = [bool(re.search(r'(^|\s)src="', attributes)) for attributes, _ in scripts]
    held = ["value"] if name == "pages/run.html" else []
    assert [body for (_, body), src in zip(scripts, named, strict=True) if not src] == held
    assert not any(body for (_, body), src in zip(scripts, named, strict=True) if src)
    styles = re.findall(r"<style\b[^>]*>(.*?)</style>", html, re.S | re.I)
    assert len(styles) == html.lower().count("<style")
    assert styles == (["value"] if name in ("pages/missing.html", "pages/run.html") else [])


@pytest.mark.parametrize("name", NAMES)
def test_every_value_in_an_attribute_stands_in_double_quotes(name: str) -> None:
    tags = re.findall(r"<[a-z][^<>]*>", without_code(name))

    assert not [tag for tag in tags if re.search(r"=\s*(?:value|')", tag)]


@pytest.mark.parametrize("path", [*PATHS, *sorted(STATIC.glob("*.*"))], ids=lambda path: path.name)
def test_nothing_of_the_site_comes_from_another_host(path: Path) -> None:
    text = path.read_text("utf-8").replace(NAMESPACE, "")

    assert not re.search(r"https?:", text)
    assert not FOREIGN.search(text)


def test_the_policy_allows_nothing_but_the_site_s_own_files() -> None:
    for name in ("base.html", "pages/missing.html"):
        tree = html5lib.parse(without_code(name), namespaceHTMLElements=False)
        [policy] = [
            node.attrib["content"]
            for node in tree.iter("meta")
            if node.attrib.get("http-equiv") == "Content-Security-Policy"
        ]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

        assert rules["default-src"] == "'none'"
        assert rules["base-uri"] == rules["form-action"] == "'none'"
        assert rules.get("script-src", "'none'") in ("'none'", "'self'")
        assert "unsafe" not in policy
        head = tree.find("head")
        first = [node.tag for node in head if node.tag != "meta"]
        assert [node.tag for node in head].index(first[0]) >= 2


@pytest.mark.parametrize("name", ["kbsite.js", "lines.js"])
def test_the_script_makes_no_html_of_text(name: str) -> None:
    code = static(name).decode("utf-8")

    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\("
        r"|XMLHttp|import\(|setTimeout\([\"']|WebSocket|sendBeacon|createContextualFragment",
        code,
    )


def test_a_process_that_builds_again_unpacks_a_template_once_and_sees_one_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked, load = list[str](), jinja2.FileSystemBytecodeCache.load_bytecode

    def counted(cache: jinja2.FileSystemBytecodeCache, bucket: Bucket) -> None:
        unpacked.append(bucket.checksum)
        load(cache, bucket)

    def said() -> str:
        loader = jinja2.FileSystemLoader(tmp_path)
        env = jinja2.Environment(loader=loader, bytecode_cache=compiled(), autoescape=True)
        return env.get_template("page.html").render()

    monkeypatch.setattr(jinja2.FileSystemBytecodeCache, "load_bytecode", counted)
    # No earlier process has compiled these.
    one, two = token_hex(), token_hex()
    (tmp_path / "page.html").write_text(one)
    assert [said() for _ in range(3)] == [one] * 3
    before = len(unpacked)
    (tmp_path / "page.html").write_text(two)

    assert [said() for _ in range(3)] == [two] * 3
    # It is compiled at first, then unpacked.
    assert (before, len(set(unpacked))) == (2, 2)


def test_the_script_that_a_run_s_page_holds_has_no_value_in_it() -> None:
    assert '{% set boot %}{% include "parts/boot.html" %}{% endset %}' in RUN_PAGE
    assert RUN_PAGE.count(">{{ boot }}</script>") == 1
    code = (TEMPLATES / "parts" / "boot.html").read_text("utf-8")
    assert not re.search(r"\{[{%]|<|innerHTML|eval\(|new Function", code)


def test_the_style_that_a_run_s_page_holds_is_that_of_the_site() -> None:
    included = '{% include "kbsite.css" %}{% include "map.css" %}'
    assert f"{{% set sheet %}}{included}{{% endset %}}" in RUN_PAGE
    assert "{% set style = sheet | dense %}" in RUN_PAGE
    assert RUN_PAGE.count("<style>{{ style }}</style>") == 1
    for name in ("kbsite.css", "map.css"):
        assert not re.search(r"\{[{%#]|<", (STATIC / name).read_text("utf-8"))


def test_the_icon_that_a_run_s_page_holds_is_that_of_the_site() -> None:
    held = re.search(r'rel="icon" href="data:image/svg\+xml;base64,([^"]*)"', RUN_PAGE)

    assert held
    assert b64decode(held[1]) == (STATIC / "icon.svg").read_bytes().strip()
