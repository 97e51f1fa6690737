"""The feed: what feed readers need of it, and what they must never get."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from kbsite.feeds import atom, sitemap
from kbsite.feeds.atom import MOST, Entry, Told
from kbsite.feeds.sitemap import robots, sitemaps

NS = {"a": "http://www.w3.org/2005/Atom", "s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
TOLD = Told(
    title="a run", href="../runs/r1/index.html", summary="passed", author="claude", kind="run"
)
NEWS = Entry("run:r1", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda: TOLD)


def feed(title: str, home: str, entries: Sequence[Entry]) -> str:
    return atom.feed(title, "https://a.example/", home, f"{home}data/feed.xml", entries)


def texts(xml: str, path: str) -> list[str]:
    return [found.text or "" for found in ElementTree.fromstring(xml).findall(path, NS)]


def test_the_latest_news_comes_first_and_dates_the_feed() -> None:
    told = replace(TOLD, kind="verdict")
    later = Entry("verdict:r1", date(2026, 1, 3), lambda: told)
    xml = feed("A site", "../", [NEWS, later])

    assert texts(xml, "a:updated") == ["2026-01-03T00:00:00Z"]
    assert texts(xml, "a:entry/a:updated") == ["2026-01-03T00:00:00Z", "2026-01-02T03:04:05Z"]
    assert len(set(texts(xml, "a:entry/a:id"))) == 2


def test_a_change_of_words_or_place_keeps_the_id() -> None:
    one = texts(feed("A site", "../", [NEWS]), "a:entry/a:id")
    moved = replace(TOLD, title="renamed", href="https://a.example/r1", summary="else")
    there = replace(NEWS, told=lambda: moved)

    assert texts(feed("A site", "../", [there]), "a:entry/a:id") == one


def test_a_feed_says_where_it_stands_and_keeps_its_id_under_another_title() -> None:
    one, other = (feed(title, "https://a.example/", [NEWS]) for title in ("A site", "Renamed"))
    (own, home) = ElementTree.fromstring(one).findall("a:link", NS)

    assert own.attrib["rel"] == "self"
    assert own.attrib["href"] == "https://a.example/data/feed.xml"
    assert home.attrib["rel"] == "alternate"
    assert texts(one, "a:id") == texts(other, "a:id")


def test_what_is_dated_in_another_century_does_not_head_the_feed_for_ever() -> None:
    slips = [date(9999, 12, 31), datetime(2100, 1, 1, tzinfo=UTC)]
    late = [replace(NEWS, key=f"verdict:{when}", when=when) for when in slips]

    assert feed("s", "../", [*late, NEWS]) == feed("s", "../", [NEWS])


def test_what_has_no_date_is_no_news_and_a_site_without_news_has_a_feed() -> None:
    xml = feed("A site", "../", [replace(NEWS, when=None)])

    assert texts(xml, "a:entry/a:id") == []
    assert texts(xml, "a:updated") == ["1970-01-01T00:00:00Z"]


def test_hostile_names_stay_text() -> None:
    hostile = "<script>&\"' ]]> \x00\x1b\u202e\udcff"
    told = replace(TOLD, title=hostile, href='"/><x/>', author=hostile, kind='"<')
    xml = feed(hostile, '"><x/>', [replace(NEWS, key=hostile, told=lambda: told)])

    assert ElementTree.fromstring(xml).findall(".//a:x", NS) == []
    assert texts(xml, "a:entry/a:title")[0].startswith("<script>&\"' ]]>")
    assert "\x00" not in xml


def test_only_so_many_entries_are_told_and_extreme_times_do_not_break_it() -> None:
    many = [replace(NEWS, key=f"run:{n}") for n in range(MOST + 5)]
    edge = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))

    assert len(texts(feed("s", "../", many), "a:entry/a:id")) == MOST
    assert texts(feed("s", "../", [replace(NEWS, when=edge)]), "a:entry/a:updated")


def test_a_sitemap_lists_addresses_and_a_large_one_lists_others() -> None:
    held = [f"https://a.example/{n}?a&b" for n in range(50_001)]
    few = sitemaps(held[:2], "https://a.example/")
    many = sitemaps(held, "https://a.example/")

    assert texts(few["sitemap.xml"], "s:url/s:loc") == held[:2]
    assert texts(many["sitemap.xml"], "s:sitemap/s:loc") == [
        "https://a.example/sitemap-1.xml", "https://a.example/sitemap-2.xml"
    ]  # fmt: skip
    assert texts(many["sitemap-2.xml"], "s:url/s:loc") == held[-1:]


def test_a_sitemap_of_long_addresses_is_cut_before_it_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sitemap, "MOST_BYTES", 3_000)
    held = [f"https://a.example/{number}/{'&' * 100}" for number in range(9)]
    files = sitemaps(held, "https://a.example/")
    index = texts(files.pop("sitemap.xml"), "s:sitemap/s:loc")

    assert index == [f"https://a.example/{name}" for name in files]
    assert [place for text in files.values() for place in texts(text, "s:url/s:loc")] == held
    assert all(len(text.encode()) <= 3_000 for text in files.values())


@pytest.mark.parametrize("at", ["/", "/repo/", "/a%20b/c/"])
def test_robots_are_told_of_raw_files_from_the_root_of_the_host_on(at: str) -> None:
    told = robots(f"https://a.example{at}").splitlines()

    assert f"Disallow: {at}runs/*/raw/" in told
    assert f"Sitemap: https://a.example{at}sitemap.xml" in told
