"""A run as one file: whole, the same every time, and with no way out of it but to the web."""

from __future__ import annotations

import hashlib
import html
import os
import re
from base64 import b64encode
from pathlib import Path

import html5lib
import pytest
from click.testing import CliRunner

from kbsite import assets
from kbsite.build import build, override
from kbsite.cli import kbsite
from kbsite.errors import KbsiteError, UsageError
from kbsite.pages import part_lists
from kbsite.reading import read
from kbsite.single_file import text, write
from kbsite.store.settings import Settings
from tests.browser.long_session import LONG, ROUNDS, line_of, session
from tests.conftest import MakeRun, MakeSettings
from tests.unpacking import carried

LOG = "home/.claude/projects/-w/s.jsonl"
HREF = re.compile(r'\bhref="([^"]*)"')
TAG = re.compile(r"<[^>]*>")


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    """A board with two runs; `long` has the long session and an audit that quotes it."""
    settings = make_settings(tmp_path, problems=[])
    board = tmp_path / "runs" / "demo"
    at = line_of(ROUNDS - 3)
    quote = {"file": f"transcript/{LOG}", "lines": [at, at], "label": "it", "text": "Round"}
    summary = "It is [told elsewhere](https://host.example/) in full."
    audit = {"quotes": [quote], "summary": summary}
    files = {"check.log": b"all is well\n"}
    make_run(board, run_id="long", transcript={LOG: session()}, audit=audit, files=files)
    make_run(board, run_id="other", model="other", metrics={"peak_fraction": 0.1})
    return settings


@pytest.fixture(name="whole")
def _whole(settings: Settings) -> str:
    return write(settings, "long", settings.runs.parent / "f.html").path.read_text("utf-8")


def words_of(markup: str) -> str:
    return " ".join(html.unescape(TAG.sub("", markup)).split())


def test_parts_that_lists_tell_of_on_the_site_are_told_of_in_the_file_itself(
    settings: Settings, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_lists, "HERE", 1)
    monkeypatch.setattr(part_lists, "IN_LIST", 2)
    again = write(settings, "long", settings.runs.parent / "f.html").path.read_text("utf-8")
    lines = re.compile(r'(?<= data-parts=")[^"]*')
    told = [page for page in lines.search(again)[0].split("|") if "parts-" not in page]  # type: ignore[index]

    assert "|".join(told) == lines.search(whole)[0]  # type: ignore[index]
    assert lines.sub("", again) == lines.sub("", whole)


def test_every_step_and_every_long_text_of_the_site_is_in_the_file(
    settings: Settings, whole: str
) -> None:
    site = build(settings).out / "runs" / "long"
    inside = carried(whole)
    pages = sorted([*site.glob("steps-*.html"), *site.glob("text-*.html")])

    assert len(pages) > 4
    for page in pages:
        body = page.read_text("utf-8").partition("<main")[2].partition("</main>")[0]
        held = re.sub(r'<nav class="crumbs".*?</nav>', "", f"<main{body}", flags=re.DOTALL)
        if page.name.startswith("steps-"):
            held = re.sub(r"<h1.*?</h1>", "", held, flags=re.DOTALL)
        assert words_of(inside[page.name]) == words_of(held), page.name
    assert LONG in html.unescape(re.sub("</?span>", "", "".join(inside.values())))


def test_the_run_page_is_plain_html_in_the_file(whole: str) -> None:
    for said in ("Round <strong>0</strong> begins.", "x.softmax", "all is well", "opus-x"):
        assert said in html.unescape(re.sub(r"</?(span|code)[^>]*>", "", whole)), said


def test_the_file_and_all_that_it_carries_are_sound_html(whole: str) -> None:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(whole)
    ids = [node.get("id") for node in tree.iter() if node.get("id")]

    assert [code for _, code, _ in parser.errors] == []
    assert len(ids) == len(set(ids))
    for name, page in carried(whole).items():
        parser.parse(f"<!doctype html><title>x</title><ol>{page}</ol>")
        assert [code for _, code, _ in parser.errors] == [], name


def test_no_link_leads_to_a_page_that_is_not_there(whole: str) -> None:
    inside = carried(whole)
    page = re.sub("<script.*?</script>", "", whole, flags=re.DOTALL)
    markup = "".join([page, *inside.values()])
    found = HREF.findall(markup)
    ids = set(re.findall(r'\bid="?([^"\s>]*)', markup))
    inner = {html.unescape(href)[1:] for href in found if href.startswith("#")}

    assert {href for href in found if not href.startswith(("#", "data:image/svg+xml;"))} == {
        "https://host.example/"
    }
    pages = {re.sub(r"(?<=\.html):.*", "", name) for name in inner - ids}
    assert pages <= set(inside)
    assert any(name.startswith("text-") for name in inner)
    assert f"L{line_of(ROUNDS - 3)}.q1" in inner


def test_neighbours_and_exports_are_not_offered(settings: Settings, whole: str) -> None:
    page = (build(settings).out / "runs" / "long" / "index.html").read_text("utf-8")

    for offered in (">compare</a>", "trajectory.json", "run.md"):
        assert offered in page
        assert offered not in whole


def test_who_has_no_pointer_can_skip_to_the_content(whole: str) -> None:
    assert '<a class="skip" href="#main">skip to the content</a>' in whole


def test_only_its_own_styles_and_scripts_are_allowed_by_their_hashes(whole: str) -> None:
    policy = html.unescape(re.findall(r'Security-Policy" content="([^"]*)"', whole)[0])
    sources = dict(part.split(" ", 1) for part in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", whole, re.DOTALL)

    def hashes(texts: list[str]) -> set[str]:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        return {f"'sha256-{b64encode(digest).decode()}'" for digest in digests}

    assert len(scripts) >= 3
    assert set(sources["script-src"].split()) == hashes(scripts)
    assert set(sources["style-src"].split()) == hashes(styles)
    assert sources["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert not re.search(r'<(script|link|img)[^>]* (src|href)="(?!data:)', whole)


def test_no_script_or_style_can_end_where_it_stands() -> None:
    for name, _ in assets.static_files():
        if re.fullmatch(r"[^/]*\.(js|css)", name):
            text = assets.static(name).decode("utf-8")
            assert not re.search("</(script|style)|<!--", text, re.IGNORECASE)


def test_the_file_is_the_same_every_time(settings: Settings) -> None:
    first, again = (write(settings, "long", settings.runs / name).path for name in ("a", "b"))

    assert first.read_bytes() == again.read_bytes()


def test_a_run_without_a_transcript_is_a_file_too(settings: Settings) -> None:
    whole = write(settings, "other", settings.runs / "o.html").path.read_text("utf-8")

    assert "There is no transcript of this run." in whole
    assert "<noscript" not in whole
    assert carried(whole) == {}


def test_a_folder_names_a_run_as_its_id_does(settings: Settings, whole: str) -> None:
    out = settings.runs / "by-folder.html"

    assert write(settings, str(settings.runs / "demo" / "long"), out).path == out
    assert out.read_text("utf-8") == whole


def test_a_folder_elsewhere_is_a_run_too(
    settings: Settings, tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "elsewhere", run_id="alone", transcript={LOG: session()})
    whole = write(settings, str(folder), tmp_path / "alone.html").path.read_text("utf-8")

    assert "attempt 1 of 1" in whole
    assert f"steps-{2:04}.html" in carried(whole)


@pytest.mark.parametrize("named", ["nobody", "runs"])
def test_what_is_no_run_is_named(settings: Settings, named: str) -> None:
    with pytest.raises(KbsiteError, match=named):
        write(settings, named)


def test_it_stands_in_a_folder_under_the_id_of_the_run(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    assert write(settings, "other", tmp_path / "out").path == tmp_path / "out" / "other.html"


@pytest.mark.parametrize("name", ["runs/demo/other/run.json", "pipe", "/dev/nowhere-at-all"])
def test_nothing_but_such_a_file_is_replaced(settings: Settings, name: str) -> None:
    home = settings.runs.parent
    (home / "pipe").unlink(missing_ok=True)
    os.mkfifo(home / "pipe")
    before = (home / "runs/demo/other/run.json").read_bytes()
    with pytest.raises(UsageError, match=r"name one, as|name another"):
        write(settings, "other", home / name)

    assert (home / "runs/demo/other/run.json").read_bytes() == before
    assert (home / "pipe").is_fifo()
    (home / "page.html").touch()
    first = write(settings, "other", home / "page.html").path
    assert write(settings, "other", first).path.stat().st_size > 1000


def test_no_page_of_a_site_and_no_other_page_is_replaced(settings: Settings) -> None:
    made = build(settings)
    mine = settings.runs.parent / "mine.html"
    mine.write_text("<!doctype html>\n<title>Mine</title>")
    for path in (made.out / "index.html", made.out / "runs/other/index.html", mine):
        before = path.read_bytes()
        with pytest.raises(UsageError, match="name another"):
            write(settings, "other", path)
        assert path.read_bytes() == before


def test_a_run_stays_whole_where_somebody_stands_in_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = settings.runs / "demo/other"
    monkeypatch.chdir(run)
    for named, out in ((".", None), ("other", run / "files"), ("other", run / "new/x.html")):
        with pytest.raises(UsageError, match=r"is a run.*--out"):
            write(settings, named, out)

    assert not [*run.rglob("*.html")]


@pytest.mark.parametrize("option", ["--search", "--fresh", "--jobs=2", "--engine=local"])
def test_what_says_how_a_site_is_made_is_refused(settings: Settings, option: str) -> None:
    home = settings.runs.parent
    words = ["build", "--config", str(home / "kbsite.yaml"), "--single-file", "other", option]
    done = CliRunner().invoke(kbsite, [*words, "--out", str(home / "one.html")])

    assert isinstance(done.exception, UsageError)
    assert f"{option.partition('=')[0]} is for a whole site" in str(done.exception)
    assert not (home / "one.html").exists()


def test_pages_of_hostile_names_are_carried_under_them(
    settings: Settings, tmp_path: Path, make_run: MakeRun
) -> None:
    odd = "a b%20\"'<x>&amp;é"
    log = f"home/.claude/projects/-w/{odd}.jsonl"
    folder = make_run(tmp_path / "runs" / "demo", run_id=odd.replace("/", ""), transcript={
        LOG: session(), log: session().replace(b'"sessionId": "s"', b'"sessionId": "t"'),
    })  # fmt: skip
    site = read(settings)
    stored = next(stored for stored in site.runs if stored.folder == folder)

    assert len(carried(text(site, stored))) > 4


def test_the_command_writes_the_file_and_prints_its_path(settings: Settings) -> None:
    out = settings.runs / "one.html"
    words = ["build", "--config", str(settings.path), "--single-file", "long", "--out", str(out)]
    done = CliRunner().invoke(kbsite, words)

    assert done.exit_code == 0, done.output
    assert done.stdout == f"{out}\n"
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert not settings.out.exists()


def test_the_command_refuses_a_file_as_the_folder_of_a_site(settings: Settings) -> None:
    out = settings.runs / "one.html"
    out.write_text("precious")
    done = CliRunner().invoke(kbsite, ["build", "--config", str(settings.path), "--out", str(out)])

    assert done.exit_code == 2
    assert out.read_text() == "precious"


def test_the_exit_code_says_that_the_run_has_an_error(settings: Settings) -> None:
    (settings.runs / "demo" / "other" / "manifest.json").unlink()
    out = settings.runs / "one.html"
    words = ["build", "--config", str(settings.path), "--single-file", "other", "--out", str(out)]

    assert CliRunner().invoke(kbsite, words).exit_code == 11
    assert out.is_file()


def test_the_site_is_left_alone(settings: Settings) -> None:
    site = build(override(settings, None, None, None)).out
    before = sorted(path.relative_to(site) for path in site.rglob("*"))
    write(settings, "long", settings.runs / "one.html")

    assert sorted(path.relative_to(site) for path in site.rglob("*")) == before
