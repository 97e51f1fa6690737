"""A served site follows what it is made from; what is wrong is told, and the old site stays."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kbsite.model.finding import Severity
from kbsite.serving import served
from kbsite.serving.builder import Builder, Outcome, Source, build_once
from kbsite.serving.live import Live
from kbsite.standing import Standing, read_standing
from kbsite.store.settings import Settings
from kbsite.store.writing import write_text
from kbsite.verifying import verify
from kbsite.verifying.remote import UrlPlace
from tests.conftest import MakeRun, MakeSettings
from tests.serving.running import PATIENCE, Running, run_apart, running, until
from tests.trees import tree

AUDIT_ANEW = "verdict: clean\nsummary: Said anew.\nauditor: A. Reader\n"
ROW = b'{"type": "user", "message": {"content": "%s"}}\n'


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", audit={}, transcript={"stdout.jsonl": ROW % b"begin"})
    return settings


@pytest.fixture(name="run")
def _run(settings: Settings) -> Path:
    (run,) = (settings.runs / "demo").iterdir()
    return run


@pytest.fixture(name="server")
def _server(settings: Settings) -> Iterator[Running]:
    with running(settings.out, Source(settings.path)) as server:
        yield server


def news(server: Running) -> Iterator[dict[str, object]]:
    """What an open page is told."""
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        connection.sendall(b"GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with connection.makefile("rb") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))


def test_the_site_follows_audits_runs_settings_and_templates_stay_apart(
    settings: Settings, run: Path, server: Running, make_run: MakeRun
) -> None:
    first = server.built()
    assert (first.failed, first.errors) == (None, ())
    page = f"/runs/{run.name}/"
    heard = news(server)
    start = next(heard)
    assert start == {"serial": (serial := start["serial"]), "failed": None, "errors": []}
    assert isinstance(serial, int)

    write_text(run / "audit.yaml", (run / "audit.yaml").read_text().replace("computes", "adds"))
    assert server.built().written
    assert b"It adds the softmax" in server.get(page).body
    assert next(heard)["serial"] == serial + 1

    with (run / "transcript" / "stdout.jsonl").open("ab") as stream:
        stream.write(ROW % b"and a line more")
    server.built()
    assert b"and a line more" in server.get(page).body
    assert next(heard)["serial"] == serial + 2

    other = make_run(settings.runs / "demo", model="another")
    until(lambda: server.get(f"/runs/{other.name}/").status == 200)

    write_text(settings.path, settings.path.read_text().replace("A site", "Another site"))
    until(lambda: b"Another site" in server.get("/").body)
    assert b"/-/live.js" not in b"".join(p.read_bytes() for p in settings.out.rglob("*.html"))


def test_what_nobody_tells_of_is_found_once_there_is_peace(
    settings: Settings, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_LOOK_AGAIN", 0.05)
    with running(settings.out, Source(settings.path)) as server:
        server.built()
        (run / "transcript" / "notes~").write_text("An editor's copy is a file of the run too.")
        write_text(run / "audit.yaml", (run / "audit.yaml").read_text().replace("adds", "sums"))

        until(lambda: server.get(f"/runs/{run.name}/raw/transcript/notes~.txt").status == 200)


def at_peace(server: Running, seconds: float) -> bool:
    """Whether nothing is told of within many looks, where a build takes so many seconds."""
    time.sleep(0.5 + 5 * seconds)
    told = not server.outcomes.empty()
    server.outcomes.queue.clear()
    return not told


def test_what_nobody_tells_of_is_found_though_nothing_else_ever_changes(
    settings: Settings, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of what another machine writes to a network file system, no system tells.
    monkeypatch.setattr(served, "_LOOK_AGAIN", 0.05)
    monkeypatch.setattr(served, "_SHARE", 0.5)
    with running(settings.out, Source(settings.path)) as server:
        server.built()
        for number in range(2):
            (run / "transcript" / f"{number}~").write_text("An editor's copy is told by nobody.")
            built = server.built()
            assert built.written
            assert server.get(f"/runs/{run.name}/raw/transcript/{number}~.txt").status == 200
            # What changes while a build begins is copied once more; then nothing is told any more.
            until(partial(at_peace, server, built.seconds))


def test_a_broken_audit_is_told_and_mended(run: Path, server: Running) -> None:
    server.built()
    heard = news(server)
    next(heard)
    whole = (run / "audit.yaml").read_text()
    write_text(run / "audit.yaml", whole.replace("verdict: clean", "verdict: nonsense"))
    broken = server.built()

    assert any("audit.yaml" in text and "verdict" in text for text in broken.errors)
    assert next(heard)["errors"] == list(broken.errors)
    assert server.get(f"/runs/{run.name}/").status == 200
    write_text(run / "audit.yaml", whole)
    assert server.built().errors == ()
    assert next(heard)["errors"] == []


def test_a_broken_kbsite_yaml_leaves_the_old_site(settings: Settings, server: Running) -> None:
    server.built()
    whole, site = settings.path.read_text(), tree(settings.out)
    write_text(settings.path, "title: [")
    failed = server.built()
    # Where it says nothing, only itself is watched.
    while failed.failed is None:
        failed = server.built()

    assert "kbsite.yaml" in failed.failed
    assert tree(settings.out) == site
    assert server.get("/").status == 200
    write_text(settings.path, whole)
    until(lambda: server.built().failed is None)


@pytest.mark.parametrize("every", [False, True], ids=["runs", "all"])
def test_runs_that_were_away_are_followed_again(
    settings: Settings, run: Path, server: Running, *, every: bool
) -> None:
    server.built()
    home = settings.runs.parent
    away = home.with_name(f"{home.name}-away")
    if every:
        home.rename(away)
    else:
        # What comes back is another folder.
        shutil.copytree(settings.runs, away)
        shutil.rmtree(settings.runs)
    until(lambda: "no such f" in str(server.built()))
    if every:
        away.rename(home)
    else:
        shutil.copytree(away, settings.runs)
    until(lambda: not (one := server.built()).errors and not one.failed)
    write_text(run / "audit.yaml", AUDIT_ANEW)
    until(lambda: bool(server.built().rendered))

    assert b"Said anew." in (settings.out / "runs" / run.name / "index.html").read_bytes()


def test_a_page_that_goes_away_at_once_is_no_failure(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """As of a reader who reloads while the page before is still asking."""
    at_once = b"\1\0\0\0\0\0\0\0"  # struct linger: a reset, and not what ends in good order
    for _ in range(200):
        with socket.create_connection(server.address, timeout=PATIENCE) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            connection.sendall(b"GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    server.get()

    assert caplog.records == []


def test_pages_are_given_a_script_that_the_policy_allows(server: Running) -> None:
    server.built()
    page, script = server.get("/"), server.get("/-/live.js")

    assert page.body.index(b'<script src="/-/live.js"') < page.body.index(b"</head>")
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert "connect-src 'self'" in page["Content-Security-Policy"]
    assert (script.status, script["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert script["Cache-Control"] == "no-store"
    assert server.get("/-/live.css")["Content-Type"] == "text/css; charset=utf-8"
    assert server.get("/-/builder.py").status == 404
    assert b"live.js" not in server.get("/nothing").body
    assert 0 < int(page["X-Written"]) <= time.time_ns() // 1_000_000


def test_a_site_that_follows_its_runs_is_verified_as_it_stands(server: Running) -> None:
    server.built()

    assert not [one for one in verify(UrlPlace(server.url)) if one.severity is Severity.ERROR]


def test_a_server_without_watch_adds_nothing(settings: Settings) -> None:
    build_once(Source(settings.path))
    with running(settings.out) as server:
        assert b"/-/" not in server.get("/").body
        assert server.get("/-/events").status == 404


def test_before_the_first_build_a_page_waits_for_the_site() -> None:
    assert b"/-/live.js" in Live().injected(b"<p>There is no site here yet.")


def since(page: bytes) -> int:
    return int(page.partition(b'data-since="')[2].partition(b'"')[0])


def test_a_page_that_is_sent_while_a_build_writes_knows_that_it_may_be_older() -> None:
    live = Live()
    live.building()
    began = since(live.injected(b"<head></head>"))
    until(lambda: time.time_ns() // 1_000_000 > began + 100)

    assert since(live.injected(b"<head></head>")) == began

    async def ends() -> None:
        live.built(Outcome())

    run_apart(ends())
    assert since(live.injected(b"<head></head>")) > began


def test_pages_show_some_errors_and_say_that_there_are_more() -> None:
    live = Live(serial=7)

    async def told() -> None:
        live.built(Outcome(errors=tuple(map(str, range(25)))))

    run_apart(told())
    held = json.loads(live._state())

    assert held["errors"] == [*map(str, range(20)), "and 5 more: see the terminal"]
    assert held["serial"] == 7


def test_a_builder_that_is_killed_is_told_and_another_one_builds(settings: Settings) -> None:
    async def builds() -> list[Outcome]:
        builder = Builder(Source(settings.path))
        found = [await builder.build()]
        process = builder._process
        assert process
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        found.append(await builder.build())
        await builder.stop()
        await builder.stop()
        return found

    first, second = run_apart(builds())

    assert first.pages == second.pages > 0
    assert (first.failed, second.failed) == (None, None)
    assert second.written == 0


def test_a_builder_that_was_killed_a_moment_ago_is_told_without_a_trace(settings: Settings) -> None:
    traces = []

    async def builds() -> list[Outcome]:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: traces.append(told))
        builder = Builder(Source(settings.path))
        await builder.build()
        assert builder._process
        os.kill(builder._process.pid, signal.SIGKILL)
        until(partial(_has_ended, builder._process.pid))  # before the loop hears of it
        found = [await builder.build(), await builder.build()]
        await builder.stop()
        return found

    first, second = run_apart(builds())
    gc.collect()

    assert first.failed == "the process that builds has ended; the next change starts another"
    assert second.failed is None
    assert traces == []


def _has_ended(process: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("last", ["printf '{\"failed\": nul'; kill -9 $$", "printf '%1000s' ''"])
def test_a_builder_that_ends_within_its_answer_is_told(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nread line\n{last}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr("kbsite.serving.builder._LONGEST", 100)

    found = run_apart(Builder(Source(settings.path)).build())

    assert found.failed == "the process that builds has ended; the next change starts another"


def test_a_builder_that_cannot_be_started_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(settings.path.parent / "no-such-python"))

    found = run_apart(Builder(Source(settings.path)).build())

    assert found.failed == "no process can be started that builds: No such file or directory"


def test_a_builder_that_is_ended_writes_down_what_it_has_told(
    settings: Settings, run: Path
) -> None:
    async def builds() -> Outcome:
        builder = Builder(Source(settings.path))
        await builder.build()
        (run / "solution.py").write_text("x = 2\n")
        told = await builder.build([str(run / "solution.py")])
        await builder.stop()
        return told

    assert run_apart(builds()).written
    assert read_standing(settings.out) != Standing()


def test_a_failure_of_the_program_is_an_outcome(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(_: object, **_asked: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("kbsite.build.build", failing)

    assert build_once(Source(settings.path)).failed == "ZeroDivisionError: by zero"
    assert "Traceback" in capsys.readouterr().err


def test_the_command_line_counts_more_than_kbsite_yaml(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = Source(settings.path, runs=tmp_path / "other", out=tmp_path / "there").settings()
    alone = Source(None, runs=tmp_path / "other").settings()

    assert (given.runs, given.out, given.problems) == (
        tmp_path / "other", tmp_path / "there", settings.problems,
    )  # fmt: skip
    assert (alone.runs, alone.out) == (tmp_path / "other", tmp_path / "site")
