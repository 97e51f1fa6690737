"""A site is served as a careful web server does, and nothing but the site."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbsite.serving.answers import CSP, SEARCHING
from kbsite.store.swapping import put_in_place
from kbsite.store.writing import write_text
from tests.serving.running import Running, running

PAGE = b"<!doctype html><html><head><title>x</title></head><body>home</body></html>"
OWN = "default-src 'none'; style-src 'sha256-abc='"
MISSING = f'<meta http-equiv="Content-Security-Policy" content="{OWN}"><p>no such page'.encode()
LOG = b"0123456789" * 10


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    site = home / "site"
    raw = site / "runs" / "a b" / "raw"
    raw.mkdir(parents=True)
    (home / "secret.txt").write_text("hidden words")
    (home / "sitemap").mkdir()
    (site / "search").mkdir()
    (site / "search" / "pagefind-worker.js").write_text("run()")
    (site / "a.js").write_text("run()")
    (site / "index.html").write_bytes(PAGE)
    (site / "404.html").write_bytes(MISSING)
    (site / "runs" / "a b" / "index.html").write_bytes(PAGE)
    (raw / "log.jsonl").write_bytes(LOG)
    (raw / "log.jsonl.gz").write_bytes(gzip.compress(LOG))
    (raw / "é%2f.txt").write_bytes(b"odd")
    (raw / "two\nlines.txt").write_bytes(b"odd")
    (raw / "empty.log").write_bytes(b"")
    (site / "link.txt").symlink_to(home / "secret.txt")
    (site / "linked").symlink_to(home)
    os.mkfifo(site / "pipe.txt")
    return site


@pytest.fixture(scope="module", name="server")
def _server(site: Path) -> Iterator[Running]:
    with running(site) as server:
        yield server


def test_a_page_comes_with_all_that_a_browser_has_to_know(server: Running) -> None:
    answer = server.get("/")

    assert (answer.status, answer.body) == (200, PAGE)
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert answer["Content-Security-Policy"] == CSP
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "no-cache"
    assert answer["Vary"] == "Accept-Encoding"


def test_the_policy_is_that_of_the_site_s_pages_and_no_other() -> None:
    base = (Path(__file__).parents[2] / "templates" / "base.html").read_text()
    (own,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', base)
    own = re.sub(r"\{%.*?%\}", "", own)  # the script that a page may hold

    assert f"{own}; frame-ancestors 'self'" == CSP


def test_the_worker_that_searches_may_run_web_assembly_and_no_other_script_may(
    server: Running,
) -> None:
    worker, other = server.get("/search/pagefind-worker.js"), server.get("/a.js")

    assert worker["Content-Security-Policy"] == SEARCHING
    assert "script-src 'self' 'wasm-unsafe-eval';" in SEARCHING
    assert other["Content-Security-Policy"] == CSP


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.html", "text/html; charset=utf-8"), ("a.css", "text/css; charset=utf-8"),
     ("a.js", "text/javascript; charset=utf-8"), ("a.JSON", "application/json"),
     ("a.svg", "image/svg+xml"), ("a.png", "image/png"), ("a.wasm", "application/wasm"),
     ("a.py", "text/plain; charset=utf-8"), ("a.jsonl", "text/plain; charset=utf-8"),
     ("feed.xml", "application/xml"), ("a.gz", "application/gzip"), ("a.woff2", "font/woff2"),
     ("a.pf_meta", "application/octet-stream"), ("a.exe", "application/octet-stream"),
     ("a.xhtml", "application/octet-stream"), ("a", "application/octet-stream")],
)  # fmt: skip
def test_files_are_what_their_names_say(site: Path, server: Running, name: str, kind: str) -> None:
    (site / name).write_bytes(b"x")
    answer = server.get(f"/{name}")

    assert (answer.status, answer["Content-Type"], answer.body) == (200, kind, b"x")


def test_a_head_is_the_answer_without_its_body(server: Running) -> None:
    whole, head = server.get("/"), server.get("/", "HEAD")

    assert (head.status, head.body) == (200, b"")
    for name in ("Content-Type", "Content-Length", "ETag", "Last-Modified"):
        assert head[name] == whole[name]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_done_but_read(server: Running, method: str) -> None:
    answer = server.get("/", method)

    assert answer.status == 405
    assert answer["Allow"] == "GET,HEAD"


def test_what_a_client_holds_is_not_sent_again(site: Path, server: Running) -> None:
    first = server.get("/runs/a%20b/raw/log.jsonl")
    again = server.get("/runs/a%20b/raw/log.jsonl", If_None_Match=first["ETag"])
    other = server.get("/runs/a%20b/raw/log.jsonl", If_None_Match='"other"')
    os.utime(site / "runs" / "a b" / "raw" / "empty.log", ns=(10**18, 10**18))
    dated = server.get("/runs/a%20b/raw/empty.log")
    known = server.get("/runs/a%20b/raw/empty.log", If_Modified_Since=dated["Last-Modified"])

    assert (again.status, again.body) == (304, b"")
    assert (other.status, other.body) == (200, LOG)
    assert known.status == 304


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [("bytes=0-9", 206, LOG[:10]), ("bytes=95-", 206, LOG[95:]), ("bytes=-3", 206, LOG[-3:]),
     ("bytes=90-900", 206, LOG[90:]), ("bytes=0-1,5-6", 200, LOG), ("bytes=100-", 416, None),
     ("bytes=-0", 416, None), ("bytes=-00", 416, None), ("bytes=-900", 206, LOG),
     ("bytes=x", 200, LOG), ("lines=1-2", 200, LOG)],
)  # fmt: skip
def test_parts_of_files(server: Running, asked: str, status: int, part: bytes | None) -> None:
    answer = server.get("/runs/a%20b/raw/log.jsonl", Range=asked, Accept_Encoding="gzip")

    assert answer.status == status
    assert part is None or answer.body == part
    assert ("content-range" in answer.headers) == (status in (206, 416))
    assert "content-encoding" not in answer.headers or status == 200


def test_the_rest_of_a_file_is_sent_only_if_it_is_the_same_file(server: Running) -> None:
    path = "/runs/a%20b/raw/log.jsonl"
    held = server.get(path)
    tag, date = held["ETag"], held["Last-Modified"]
    of_date = server.get(path, Range="bytes=50-", If_Range=date)
    later = server.get(path, Range="bytes=50-", If_Range="Mon, 01 Jan 2091 00:00:00 GMT")
    same = server.get(path, Range="bytes=50-", If_Range=tag)
    other = server.get(path, Range="bytes=50-", If_Range='"other"')
    weak = server.get(path, Range="bytes=50-", If_Range=f"W/{tag}")

    assert (of_date.status, later.status, later.body) == (206, 200, LOG)
    assert (same.status, same.body) == (206, LOG[50:])
    assert (other.status, other.body) == (200, LOG)
    assert (weak.status, weak.body) == (200, LOG)


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("gzip;q=0", False),
     ("identity", False), ("br", False), ("", False), ("gzip;q=0.000, *", False),
     ("*;q=0, gzip", True), ("*, gzip;q=0", False)],
)  # fmt: skip
def test_who_takes_it_gets_the_file_that_was_compressed_before(
    server: Running, accepted: str, packed: bool
) -> None:
    answer = server.get("/runs/a%20b/raw/log.jsonl", Accept_Encoding=accepted)

    assert (answer.headers.get("content-encoding") == "gzip") == packed
    assert (gzip.decompress(answer.body) if packed else answer.body) == LOG
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Vary"] == "Accept-Encoding"


def test_a_compressed_file_that_is_asked_for_is_a_file(server: Running) -> None:
    answer = server.get("/runs/a%20b/raw/log.jsonl.gz", Accept_Encoding="gzip")

    assert "content-encoding" not in answer.headers
    assert gzip.decompress(answer.body) == LOG


def test_odd_names_are_found_and_an_empty_file_is_empty(server: Running) -> None:
    assert server.get("/runs/a%20b/raw/%C3%A9%252f.txt").body == b"odd"
    assert server.get("/runs/a%20b/raw/two%0Alines.txt").body == b"odd"
    empty = server.get("/runs/a%20b/raw/empty.log")

    assert (empty.status, empty["Content-Length"], empty.body) == (200, "0", b"")


def test_a_folder_without_its_slash_leads_to_its_page(server: Running) -> None:
    answer = server.get("/runs/a%20b?x=%2f")

    assert (answer.status, answer["Location"]) == (301, "/runs/a%20b/?x=%2f")
    assert server.get("/runs/a%20b/").body == PAGE


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/runs/", "/runs/a%20b/raw/", "/../secret.txt", "/..%2fsecret.txt",
     "/%2e%2e/secret.txt", "/%2E%2E%2Fsecret.txt", "/runs/../../secret.txt", "/./index.html",
     "//index.html", "//example.org/..", "/runs//a%20b/", "/index.html/", "/index.html/x",
     "/index.html%00", "/%00", "/link.txt", "/linked/secret.txt", "/linked/", "/linked",
     "/pipe.txt", "/..\\secret.txt", "/..%5csecret.txt", "/runs%2fa%20b%2findex.html",
     "/%ff%fe", "/" + "x" * 3000, "/../site/index.html", "/../sitemap/"],
)  # fmt: skip
def test_nothing_else_is_found_and_the_site_says_so(server: Running, path: str) -> None:
    answer = server.get(path)

    assert (answer.status, answer.body) == (404, MISSING)
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert answer["Content-Security-Policy"] == f"{OWN}; frame-ancestors 'self'"
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "target", [b"../secret.txt", b"/etc/passwd", b"file:///etc/passwd", b"*", b"/a\0b"]
)
def test_bytes_that_are_no_path_get_no_file(server: Running, target: bytes) -> None:
    request = b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = server.raw(request)

    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400", b"HTTP/1.0 400"))
    assert b"hidden words" not in answer.partition(b"\r\n\r\n")[2]
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "line",
    [b"Cookie: \xff\xfe", b"If-None-Match: \xff", b"If-Modified-Since: \xff", b"Range: \xff",
     b"If-Unmodified-Since: Mon, 01 Jan 99999999999 00:00:00 GMT", b"If-Range: \xe9",
     b"Range: bytes=0-1\r\nIf-Range: Mon, 01 Jan 99999999999 00:00:00 GMT"],
)  # fmt: skip
def test_a_header_that_nobody_can_read_does_not_count(
    server: Running, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    start = b"GET /runs/a%20b/raw/log.jsonl HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    answer = server.raw(start + line + b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(LOG)
    assert not caplog.records


@pytest.mark.parametrize(
    "request_line",
    [b"GET /%s HTTP/1.1" % (b"a" * 70_000), b"GET / HTTP/9.9", b"GET http://[::1 HTTP/1.1"],
    ids=["long", "version", "address"],
)
def test_what_a_client_does_wrong_it_is_told_and_the_terminal_is_not(
    server: Running, caplog: pytest.LogCaptureFixture, request_line: bytes
) -> None:
    answer = server.raw(request_line + b"\r\nHost: localhost\r\n\r\n")

    assert answer.startswith(b"HTTP/1.0 400")
    assert not caplog.records


def ask(server: Running, path: str, header: bytes = b"X: x") -> bytes:
    lines = [f"GET {path} HTTP/1.1".encode(), b"Host: localhost", b"Connection: close", header]
    return server.raw(b"\r\n".join([*lines, b"", b""]))


def test_long_addresses_and_headers_are_read(server: Running) -> None:
    long = "a" * 20_000

    assert ask(server, f"/?{long}").startswith(b"HTTP/1.1 200")
    assert ask(server, f"/{long}").startswith(b"HTTP/1.1 404")
    assert ask(server, "/a.js", b"Cookie: " + long.encode()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "header", [b"X: " + b"a" * 70_000, b"Host: other", b"Bad\0: x", b"Transfer-Encoding: x"]
)
def test_a_request_that_is_none_is_refused_and_told_to_nobody_else(
    server: Running, header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert b" 400 " in ask(server, "/", header).partition(b"\r\n")[0]
    assert caplog.text == ""


def test_a_page_of_another_host_that_leads_here_gets_nothing(server: Running) -> None:
    port = server.address[1]

    assert server.get("/", Host=f"evil.example:{port}").status == 421
    assert server.get("/", Host="localhost.evil.example").status == 421
    assert server.get("/", Host=f"LOCALHOST:{port}").status == 200
    assert server.get("/", Host=f"[::1]:{port}").status == 200
    assert server.get("/", Host="127.0.0.1.evil.example").status == 421
    assert server.get("/", Host="10.0.0.1").status == 421


def test_versions_that_somebody_keeps_of_a_site_are_not_served(tmp_path: Path) -> None:
    for name in (".git/config", ".hg/hgrc", "runs/.git/config"):
        write_text(tmp_path / name, "secret")
    with running(tmp_path) as server:
        for path in ("/.git/config", "/.git", "/%2egit/config", "/.hg/hgrc"):
            assert server.get(path).status == 404
        # What a run has of that kind is a file of the site, as others of a run are.
        assert server.get("/runs/.git/config").body == b"secret"


def test_every_loopback_address_that_is_listened_on_answers(tmp_path: Path) -> None:
    with running(tmp_path, host="127.0.0.2") as server:
        assert server.url.startswith("http://127.0.0.2:")
        assert server.get("/").status == 404


def test_a_connection_is_used_again(server: Running) -> None:
    connection = http.client.HTTPConnection(*server.address)
    sockets = set()
    for path in ("/", "/nothing", "/runs/a%20b", "/runs/a%20b/raw/log.jsonl"):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        sockets.add(id(connection.sock))
        assert connection.sock is not None
    connection.close()

    assert len(sockets) == 1


def test_the_newest_whole_site_is_served_while_it_is_swapped(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "site.partial"
    for folder, text in ((site, "old"), (other, "new")):
        folder.mkdir()
        (folder / "page.txt").write_text(text)
    with running(site) as server:
        seen = []
        for number in range(100):
            put_in_place(other, site)
            answer = server.get("/page.txt")
            seen.append((answer.status, answer.body.decode()))
            assert seen[-1] == (200, "old" if number % 2 else "new")
        shutil.rmtree(other)
        (site / "page.txt").unlink()

        assert server.get("/page.txt").status == 404
        assert set(seen) == {(200, "old"), (200, "new")}


def test_where_there_is_no_site_it_says_so(tmp_path: Path) -> None:
    with running(tmp_path / "site") as server:
        answer = server.get("/")

    assert answer.status == 404
    assert b"no site here yet" in answer.body
    assert b"script" not in answer.body
