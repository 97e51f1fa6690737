"""Alarms stand beside the verdict of a run, each with a way to what it is about."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import html5lib
import pytest

from kbsite import alarms
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import BY_ID, alarm
from kbsite.build import build
from kbsite.model.alarm import Alarm, Level
from kbsite.pages import noticed
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.pages.changing import LOG, changing, version

HOSTILE = "x'><script>alert(1)</script>\u202e"
LONG = "".join(f"x = {number}\n" for number in range(500))
FILES = {
    "solution.py": LONG.encode(),
    "files/kernel.cu": b"one\ntwo\n",
    "check.log": b"PASS\n",
}


class Seen:
    """A detector that raises what it is told, on the run that is told."""

    def __init__(self, run: str, *found: Alarm) -> None:
        self.run, self.found = run, found

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        if evidence.stored.run.id == self.run:
            yield from self.found


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    settings = make_settings(tmp_path, problems=[])
    log = changing([version(number) for number in range(1, 60)])
    make_run(tmp_path / "runs/demo", run_id="one", transcript={LOG: log}, files=FILES)
    make_run(tmp_path / "runs/demo", run_id="two", model="other")
    return settings


def section(out: Path, run: str = "one") -> Any:
    """What a run's page shows of its alarms; None where it shows nothing."""
    html = (out / "runs" / run / "index.html").read_text("utf-8")
    page = html5lib.parse(html, namespaceHTMLElements=False)
    return page.find(".//section[@class='alarms']")


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def shown(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *found: Alarm
) -> tuple[Path, list[Any]]:
    """The site, and the items that the run's page has for its alarms."""
    monkeypatch.setattr(alarms, "DETECTORS", (Seen("one", *found),))
    out = build(settings).out
    return out, section(out).findall(".//li")


def one(file: str = "", lines: tuple[int, ...] = (), other: str = "") -> Alarm:
    return alarm("fallback", Level.WARNING, "It falls back.", file, lines, other)


def test_an_alarm_says_what_it_saw_where_and_what_to_look_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, (item,) = shown(settings, monkeypatch, one("files/kernel.cu", (1, 2)))

    look = BY_ID["fallback"].look
    assert words(item) == f"warning It falls back. files/kernel.cu lines 1 to 2 → {look}"
    assert item.find("span").get("title") == BY_ID["fallback"].title
    held = section(out)
    assert words(held.find("h2")) == "1 alarm"
    assert "evidence for an auditor, never a verdict" in words(held)


@pytest.mark.parametrize(("file", "lines", "href"), [
    ("solution.py", (2,), "#solution-L2"),
    ("solution.py", (250, 260), "solution.html#solution-L250"),
    ("solution.py", (), "../../runs/one/raw/solution.py"),
    ("solution.py", (9999,), "../../runs/one/raw/solution.py"),
    ("files/kernel.cu", (2,), "#file-1-L2"),
    (f"transcript/{LOG}", (1,), "#L1"),
    ("check.log", (1,), "../../runs/one/raw/check.log"),
    ("files/gone.cu", (1,), None),
])  # fmt: skip
def test_an_alarm_leads_to_the_lines_that_it_is_about(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, file: str, lines: tuple[int, ...],
    href: str | None,
) -> None:  # fmt: skip
    out, (item,) = shown(settings, monkeypatch, one(file, lines))
    link = item.find("span[@class='where']/a")

    assert (link.get("href") if link is not None else None) == href
    assert file in (words(item) if link is None else link.get("title"))
    assert file.rpartition("/")[2] in words(item)
    if href:
        path, _, anchor = href.partition("#")
        text = (out / "runs/one" / (unquote(path) or "index.html")).read_text("utf-8")
        assert not anchor or re.search(rf'id="?{anchor}\b', text)


def test_an_alarm_leads_to_a_later_part_of_the_transcript(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, (item,) = shown(settings, monkeypatch, one(f"transcript/{LOG}", (90, 91)))
    page, _, anchor = item.find("span[@class='where']/a").get("href").partition("#")

    assert page.startswith("steps-")
    assert re.search(rf'id="?{anchor}\b', (out / "runs/one" / page).read_text("utf-8"))


@pytest.mark.parametrize(("other", "href"), [
    ("two", "../../runs/two/index.html"), ("three", None),
])  # fmt: skip
def test_the_other_run_is_a_link_if_the_site_has_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, other: str, href: str | None
) -> None:
    _, (item,) = shown(settings, monkeypatch, one(other=other))
    links = [link.get("href") for link in item.iter("a")]

    assert links == ([href] if href else [])
    assert "the other run" in words(item)


def test_notes_are_folded_below_what_weighs_more(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        alarm("fallback", level, f"It is a {level.value}.")
        for level in (Level.NOTE, Level.WARNING, Level.ALARM, Level.NOTE)
    ]
    out, items = shown(settings, monkeypatch, *found)
    held = section(out)

    assert [words(item).split()[0] for item in items] == ["alarm", "warning", "note", "note"]
    assert words(held.find("h2")) == "2 alarms"
    assert words(held.find("details/summary")) == "2 notes"
    assert [words(item).split()[0] for item in held.findall("details//li")] == ["note", "note"]


def test_a_run_without_alarms_shows_nothing_of_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = shown(settings, monkeypatch, one())

    assert section(out, "two") is None


def test_alarms_that_are_too_many_are_counted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [one("solution.py", (number,)) for number in range(1, noticed.MOST + 8)]
    out, items = shown(settings, monkeypatch, *found)

    assert len(items) == noticed.MOST
    assert "7 more are not shown." in words(section(out))


@pytest.mark.parametrize(("many", "folded"), [(5, 0), (6, 0), (7, 2), (30, 25)])
def test_all_but_the_first_alarms_are_folded_for_the_transcript_stands_below(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, many: int, folded: int
) -> None:
    levels = [Level.ALARM] * 2 + [Level.WARNING] * (many - 2)
    out, items = shown(settings, monkeypatch, *(alarm("fallback", one, "Seen.") for one in levels))
    held = section(out)
    told = [words(one) for one in held.findall("details/summary")]

    assert len(items) == many
    assert words(held.find("h2")) == f"{many} alarms"
    assert told == [f"{folded} more"] * bool(folded)
    assert len(held.findall("details//li")) == folded
    assert [words(one).split()[0] for one in held.findall("ul/li")][:3] == [
        "alarm",
        "alarm",
        "warning",
    ]


def test_what_an_alarm_quotes_of_a_run_is_text(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = alarm("fallback", Level.ALARM, f"It says {HOSTILE}.", f"files/{HOSTILE}", (1,), HOSTILE)
    out, (item,) = shown(settings, monkeypatch, found)
    html = (out / "runs/one/index.html").read_text("utf-8")

    assert "It says x'><script>alert(1)</script>" in words(item)
    assert "<script>alert" not in html
    assert "\u202e" not in html


def test_what_an_alarm_names_between_backticks_is_code(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = f"`os.environ` is set, `{HOSTILE}` too; a ` alone stays."
    out, (item,) = shown(settings, monkeypatch, alarm("fallback", Level.ALARM, seen))
    queue = html5lib.parse(
        (out / "audits/index.html").read_text("utf-8"), namespaceHTMLElements=False
    ).find(".//ol[@class='queue']")

    for place in (item, queue):
        named, hostile = (words(code) for code in place.iter("code"))
        assert named == "os.environ", words(place)
        assert "<script>alert(1)</script>" in hostile
        assert "a ` alone stays." in words(place)


def test_a_page_is_made_anew_where_only_its_alarms_changed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(settings, monkeypatch, one(other="two"))
    shutil.rmtree(settings.runs / "demo" / "two")
    out, (item,) = shown(settings, monkeypatch, one(other="two"))

    assert not list(item.iter("a"))
    kept = (out / "runs/one/index.html").read_bytes()
    assert (build(settings, fresh=True).out / "runs/one/index.html").read_bytes() == kept
