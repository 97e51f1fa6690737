"""Web servers with the recipes of deploy/ serve a site as kbsite does: asked with real requests."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from kbsite.build import build
from kbsite.reading import MARKER
from tests.conftest import MakeRun, MakeSettings

RECIPES = Path(__file__).parents[2] / "deploy"
DEPLOY = Path(__file__).parents[2] / "docs" / "deploy.md"
LOG = b'{"a": "\xc3\xa9"}\n' * 3000
FILES = {
    "index.html": b"<!doctype html><title>home</title>" + b"<p>x</p>" * 400,
    "404.html": b"<!doctype html><title>not found</title>",
    "runs/r/index.html": b"<!doctype html><title>run</title>",
    "runs/r/raw/out.jsonl": LOG,
    "runs/r/raw/out.jsonl.gz": gzip.compress(LOG, mtime=0),
    "runs/r/raw/evil.html.txt": b"<script>alert(1)</script>",
    "runs/r/raw/solution.py": b"print()\n",
    "search/index/en_1a2b.pf_index": b"\x1f\x8bx",
    "search/pagefind-worker.js": b"x",
    "static/kbsite.css": b"p { color: red }",
    "static/kbsite.js": b"'use strict';",
    "data/leaderboard.json": b"{}",
    "data/feed.xml": b"<feed/>",
    ".kbsite": b"1",
}
KEPT = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True)
class Server:
    port: int

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        asked = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=asked)
        got = connection.getresponse()
        body = got.read()
        connection.close()
        return Answer(got.status, body, {name.lower(): value for name, value in got.getheaders()})


def nginx(home: Path, port: int) -> list[str]:
    text = (RECIPES / "nginx.conf").read_text()
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
    (home / "site.conf").write_text(text.replace("/srv/bench/current", str(home / "site")))
    user = "user root;" if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(
        f"{user} pid {home}/pid; error_log {home}/log; daemon off; worker_processes 1;\n"
        "events {}\n"
        f"http {{ access_log off; include {home}/site.conf; }}\n"
    )
    return ["nginx", "-e", f"{home}/log", "-c", f"{home}/nginx.conf"]


def caddy(home: Path, port: int) -> list[str]:
    text = (RECIPES / "Caddyfile").read_text().replace("/srv/bench/current", str(home / "site"))
    text = text.replace(":80 {", f"http://:{port} {{\n\tbind 127.0.0.1", 1)
    (home / "Caddyfile").write_text("{\n\tadmin off\n}\n" + text)
    return ["caddy", "run", "--config", f"{home}/Caddyfile", "--adapter", "caddyfile"]


def nginx_below_a_path(home: Path, port: int) -> list[str]:
    command = nginx(home, port)
    path = home / "site.conf"
    text = path.read_text().replace(f"root {home}/site;", f"root {home};")
    text = text.replace("error_page 404 /404.html;", "error_page 404 /bench/404.html;")
    text = text.replace("# location", "location")
    path.write_text(re.sub("\n    location / .*", "", text))
    return command


def caddy_below_a_path(home: Path, port: int) -> list[str]:
    command = caddy(home, port)
    path = home / "Caddyfile"
    (told,) = re.findall(r"beside it `(redir [^`]*)`", DEPLOY.read_text("utf-8"))
    head, bind, rest = path.read_text().partition("\tbind 127.0.0.1")
    within, errors, last = rest.partition("\thandle_errors {")
    below = f"{bind}\n\t{told}\n\thandle_path /bench/* {{{within}\t}}\n"
    path.write_text(f"{head}{below}{errors}{last}")
    return command


SERVERS = {"nginx": nginx, "caddy": caddy}
BELOW = {"nginx": nginx_below_a_path, "caddy": caddy_below_a_path}


@pytest.fixture(name="server", scope="module", params=SERVERS)
def _server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(request.param, SERVERS[request.param], tmp_path_factory.mktemp("served")) as port:
        yield Server(port)


@contextlib.contextmanager
def serving(
    program: str, configured: Callable[[Path, int], list[str]], home: Path
) -> Iterator[int]:
    """The port at which a program serves the site in `home`, made of the files where there is none.

    The test is skipped where there is no such program.
    """
    if shutil.which(program) is None:
        pytest.skip(f"no {program} on this machine")
    for name, data in FILES.items() if not (home / "site").exists() else ():
        path = home / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = configured(home, port)
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            _await(port)
            yield port
        finally:
            process.terminate()


def _await(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the server does not listen")


def test_a_page_comes_with_its_headers(server: Server) -> None:
    for path in ("/", "/runs/r/", "/runs/r/index.html"):
        answer = server.get(path)
        assert answer.status == 200
        assert answer.headers["content-type"].lower() == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-cache"


def test_the_worker_that_reads_the_search_index_may_and_no_page_may(server: Server) -> None:
    policies = [
        server.get(path).headers["content-security-policy"]
        for path in ("/search/pagefind-worker.js", "/index.html", "/static/kbsite.js", "/gone")
    ]

    assert ["'wasm-unsafe-eval'" in policy for policy in policies] == [True, False, False, False]
    assert all(policy.count("default-src") == 1 for policy in policies)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/runs/r/raw/out.jsonl", "text/plain; charset=utf-8"),
     ("/runs/r/raw/evil.html.txt", "text/plain; charset=utf-8"),
     ("/runs/r/raw/solution.py", "text/plain; charset=utf-8"),
     ("/static/kbsite.css", "text/css; charset=utf-8"),
     ("/static/kbsite.js", "text/javascript; charset=utf-8"),
     ("/data/leaderboard.json", "application/json")],
)  # fmt: skip
def test_files_have_the_types_that_browsers_need(path: str, kind: str, server: Server) -> None:
    assert server.get(path).headers["content-type"].lower() == kind


def test_a_page_that_is_not_there_is_told_by_the_site_itself(server: Server) -> None:
    for path in ("/gone", "/runs/gone/deep/page.html", "/.kbsite", "/runs/../../etc/passwd"):
        answer = server.get(path)
        assert answer.status in (404, 400)
        if answer.status == 404:
            assert answer.body == FILES["404.html"], path
            assert answer.headers["content-type"].lower() == "text/html; charset=utf-8"
            assert "'sha256-" in answer.headers["content-security-policy"]
    assert server.get("/gone").status == 404


def test_the_page_for_what_is_not_there_can_be_had_as_any_other(server: Server) -> None:
    """`kbsite verify` holds it against what follows from the raw data."""
    answer = server.get("/404.html")

    assert (answer.status, answer.body) == (200, FILES["404.html"])


def test_a_folder_without_its_slash_leads_to_it(server: Server) -> None:
    answer = server.get("/runs/r", Host="bench.example:8080")

    assert answer.status in (301, 308)
    assert answer.headers["location"].endswith("/runs/r/")


def test_no_folder_is_listed(server: Server) -> None:
    assert server.get("/static/").status in (403, 404)


def test_what_is_named_by_what_it_holds_is_kept(server: Server) -> None:
    assert server.get("/search/index/en_1a2b.pf_index").headers["cache-control"] == KEPT
    assert server.get("/static/kbsite.css").headers["cache-control"] == "no-cache"
    missing = server.get("/search/index/en_gone.pf_index")
    assert (missing.status, missing.headers.get("cache-control") == KEPT) == (404, False)


def test_what_a_browser_has_is_not_sent_again(server: Server) -> None:
    tag = server.get("/static/kbsite.css").headers["etag"]
    answer = server.get("/static/kbsite.css", If_None_Match=tag)

    assert (answer.status, answer.body) == (304, b"")


def test_a_large_file_goes_as_it_lies_compressed(server: Server) -> None:
    answer = server.get("/runs/r/raw/out.jsonl", Accept_Encoding="gzip")

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].lower() == "text/plain; charset=utf-8"
    assert answer.body == FILES["runs/r/raw/out.jsonl.gz"]
    assert "accept-encoding" in answer.headers["vary"].lower()
    assert server.get("/runs/r/raw/out.jsonl").body == LOG


def test_pages_are_compressed_on_their_way(server: Server) -> None:
    answer = server.get("/", Accept_Encoding="gzip")

    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == FILES["index.html"]


def test_a_part_of_a_file_can_be_asked_for(server: Server) -> None:
    answer = server.get("/runs/r/raw/out.jsonl", Range="bytes=2-5")

    assert (answer.status, answer.body) == (206, LOG[2:6])
    assert answer.headers["content-range"] == f"bytes 2-5/{len(LOG)}"


def test_nothing_can_be_changed(server: Server) -> None:
    assert server.get("/index.html", method="DELETE").status in (405, 404)
    assert server.get("/index.html", method="HEAD").body == b""


@pytest.mark.parametrize("program", BELOW)
def test_a_site_is_served_below_a_path_as_well(program: str, tmp_path: Path) -> None:
    with serving(program, BELOW[program], tmp_path) as port:
        server = Server(port)
        # Who types the address leaves out the last slash: Caddy sent an empty page, nginx a 404.
        typed = server.get("/bench")
        page, gone = server.get("/bench/"), server.get("/bench/runs/gone/")
        worker = server.get("/bench/search/pagefind-worker.js")
        kept = server.get("/bench/search/index/en_1a2b.pf_index")

    assert typed.status in (301, 302, 308)
    assert typed.headers["location"] == "/bench/"
    assert (page.status, page.body) == (200, FILES["index.html"])
    assert (gone.status, gone.body) == (404, FILES["404.html"])
    assert "'wasm-unsafe-eval'" in worker.headers["content-security-policy"]
    assert "'wasm-unsafe-eval'" not in page.headers["content-security-policy"]
    assert kept.headers["cache-control"] == KEPT


@pytest.mark.parametrize("program", SERVERS)
def test_every_file_of_a_site_is_served_whatever_it_is_called_in_its_run(
    program: str, tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    log = "home/.claude/projects/-w/s.jsonl"
    odd = [
        ".hidden",
        "..a.py",
        "a b%2e.py",
        "a?b#c.py",
        "é\n.py",
        "x.html",
        "x.php",
        "index.html/x.py",
    ]
    make_run(
        settings.runs / "demo", transcript={"stdout.jsonl": b"{}\n", log: b"{}\n"},
        files={f"files/{name}": name.encode() for name in odd},
    )  # fmt: skip
    site = build(settings).out
    held = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    del held[MARKER]

    with serving(program, SERVERS[program], tmp_path) as port:
        answers = {name: Server(port).get(f"/{quote(name)}") for name in held}

    assert len([name for name in held if "/raw/files/" in name]) == len(odd)
    assert {name: (one.status, one.body) for name, one in answers.items()} == {
        name: (200, path.read_bytes()) for name, path in held.items()
    }
    raw = {one.headers["content-type"].lower() for name, one in answers.items() if "/raw/" in name}
    assert raw <= {"text/plain; charset=utf-8", "application/json"}
