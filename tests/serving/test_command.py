"""`kbsite serve`, as a person calls it."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from kbsite.build import build
from kbsite.cli import serve
from kbsite.errors import MachineError, UsageError
from kbsite.serving.answers import is_loopback
from kbsite.serving.builder import Outcome
from kbsite.serving.served import Serving, Told
from kbsite.standing import Standing, read_standing
from kbsite.store.files import folder_digest
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.serving.running import PATIENCE, run_apart, running, until


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    present = folder_digest(settings.problems / "softmax")
    wrong, audit = {"status": "wrong"}, {"verdict": "nonsense"}
    make_run(settings.runs / "demo", audit=audit, metrics=wrong, problem_hash=present)
    return settings


@contextmanager
def started(home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kbsite", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_tells_the_address_what_it_built_and_what_is_wrong_and_ends_with_a_key(
    settings: Settings,
) -> None:
    with started(settings.path.parent, "--watch") as process:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        told = ""
        while "built in" not in told:
            told += process.stderr.readline()
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert b"A site" in answer.read()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=PATIENCE)

    assert address.startswith("http://127.0.0.1:")
    assert "audit.yaml" in told
    assert "1 error, 0 warnings" in told
    assert "Traceback" not in rest[1]
    assert process.returncode == 0
    assert not _builders(settings.path.parent)


@contextmanager
def _hanging_up(how: signal.Handlers) -> Iterator[None]:
    """Programs that are started meanwhile heed SIGHUP so, however the tests were started."""
    before = signal.signal(signal.SIGHUP, how)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_nothing_goes_on_once_it_is_ended_within_a_build(
    settings: Settings, number: signal.Signals
) -> None:
    """SIGHUP comes of a terminal that is closed, or of a connection to it."""
    with _hanging_up(signal.SIG_DFL), started(settings.path.parent, "--watch") as process:
        assert process.stdout
        process.stdout.readline()
        until(lambda: bool(_builders(settings.path.parent)))
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert not _builders(settings.path.parent)
    assert "Traceback" not in told


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has limits of others' processes")
def test_that_too_many_are_connected_is_told_in_a_line_and_who_comes_later_is_answered(
    settings: Settings,
) -> None:
    build(settings)
    with started(settings.path.parent) as process, ExitStack() as open_ones:
        address = _crowded(process, open_ones)
        # It tries again after a second.
        time.sleep(2.5)
        open_ones.close()
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)

    assert told.splitlines()[-1:] == [line for line in told.splitlines() if "connections" in line]
    assert "Too many open files" in told
    assert "Traceback" not in told


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has limits of others' processes")
def test_who_ends_it_while_too_many_are_connected_is_told_nothing_of_them(
    settings: Settings,
) -> None:
    """Whoever could not be taken in was a trace of his own, while an answer was still under way."""
    build(settings)
    with (settings.out / "large.bin").open("wb") as stream:
        stream.truncate(64 << 20)
    with started(settings.path.parent) as process, ExitStack() as open_ones:
        _crowded(process, open_ones, b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.5)  # it tries again a second after it could not
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert len(told.splitlines()) == 2
    assert "Too many open files" in told


def _crowded(process: subprocess.Popen[str], open_ones: ExitStack, first: bytes = b"") -> str:
    """The address of a server to which more connect than it may take in; the first asks for
    something, and reads no more than the beginning.
    """
    assert process.stdout
    address = process.stdout.readline().strip()
    place = urlsplit(address).hostname, urlsplit(address).port
    asking = open_ones.enter_context(socket.create_connection(place, timeout=PATIENCE))
    if first:
        asking.sendall(first)
        asking.recv(1)
    held = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (held + 8, held + 8))
    for _ in range(40):
        open_ones.enter_context(socket.create_connection(place, timeout=PATIENCE))
    return address


def test_nohup_keeps_it_when_the_terminal_is_closed(settings: Settings) -> None:
    with _hanging_up(signal.SIG_IGN), started(settings.path.parent, "--watch") as process:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        process.send_signal(signal.SIGHUP)
        while "built in" not in process.stderr.readline():
            assert process.poll() is None
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert b"A site" in answer.read()


def test_a_builder_whose_server_was_killed_ends_with_the_site_and_without_a_trace(
    settings: Settings,
) -> None:
    told = json.dumps({"config": str(settings.path), "runs": None, "problems": None, "out": None})
    with subprocess.Popen(
        [sys.executable, "-m", "kbsite.serving.builder", told],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"null\n")
        process.stdin.close()
        process.stdout.close()
        said = process.stderr.read()

    assert said == b""
    assert process.returncode == 0
    assert (settings.out / "index.html").is_file()
    assert read_standing(settings.out) != Standing()


def _builders(home: Path) -> list[str]:
    """Processes that still build the site of a folder."""
    held = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"kbsite.serving.builder" in line and os.fsencode(home) in line:
            held.append(entry.name)
    return held


def test_without_a_site_it_says_what_makes_one(settings: Settings) -> None:
    told = CliRunner().invoke(serve.serve, ["--config", str(settings.path)])

    assert isinstance(told.exception, UsageError)
    assert "kbsite build" in str(told.exception)
    assert "--watch" in str(told.exception)


def test_without_kbsite_yaml_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(serve.serve, [])

    assert isinstance(told.exception, UsageError)
    assert "kbsite.yaml" in str(told.exception)


@pytest.mark.parametrize("option", ["--runs", "--problems"])
def test_what_only_a_build_reads_is_refused_without_one(tmp_path: Path, option: str) -> None:
    """It was passed over, and a site of other runs stood there."""
    told = CliRunner().invoke(serve.serve, ["--out", str(tmp_path), option, str(tmp_path)])

    assert isinstance(told.exception, UsageError)
    assert option in str(told.exception)
    assert "--watch" in str(told.exception)


def test_a_site_that_is_named_needs_no_kbsite_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def served(self: Serving, told: Told) -> None:
        told.ready(str(self.site))

    monkeypatch.setattr(Serving, "serve", served)
    monkeypatch.setattr("asyncio.run", run_apart)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    told = CliRunner().invoke(serve.serve, ["--out", "site"])

    assert told.exit_code == 0, told.output
    assert "site" in told.stdout
    watched = CliRunner().invoke(serve.serve, ["--out", "site", "--watch"])
    assert "kbsite.yaml" in str(watched.exception)


@pytest.mark.parametrize(
    ("host", "loud"), [("127.0.0.1", False), ("0.0.0.0", True), ("::1", False)]
)
def test_another_address_than_this_machine_s_is_told_loudly(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, host: str, loud: bool
) -> None:
    async def served(self: Serving, told: Told) -> None:
        told.ready(f"http://{self.host}/")
        told.built(Outcome(failed="for a reason"))
        told.built(Outcome(warnings=("look",), seconds=0.25, written=3))

    monkeypatch.setattr(Serving, "serve", served)
    monkeypatch.setattr("asyncio.run", run_apart)
    options = ["--config", str(settings.path), "--watch", "--host", host]
    told = CliRunner().invoke(serve.serve, options)

    assert told.exit_code == 0, told.output
    assert told.stdout == f"http://{host}/\n"
    assert ("Everyone who reaches" in told.stderr) == loud
    assert "not built: for a reason" in told.stderr
    assert "built in 250 ms: 0 pages rendered, 3 files written, 0 errors, 1 warning" in told.stderr


def test_the_terminal_tells_a_fault_once_and_when_it_is_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = serve.Terminal()

    def told(outcome: Outcome) -> list[str]:
        terminal.built(outcome)
        return capsys.readouterr().err.splitlines()

    first = told(Outcome(errors=("a: error: bad",), warnings=("b: warning: odd",) * 2))
    assert first[:-1] == ["a: error: bad", "b: warning: odd"]
    assert first[-1].endswith("1 error, 2 warnings")
    # What could not be built says nothing of what is wrong otherwise.
    assert told(Outcome(failed="for a reason")) == ["not built: for a reason"]
    second = told(Outcome(errors=("c: error: new",), warnings=("b: warning: odd",) * 2))
    assert second[:-1] == ["c: error: new", "gone: a: error: bad"]
    assert second[-1].endswith("1 error, 2 warnings")
    assert told(Outcome())[:-1] == ["gone: c: error: new", "gone: b: warning: odd"]
    assert told(Outcome(errors=("a: error: bad",)))[:-1] == ["a: error: bad"]


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("example.org", False),
     ("localhost.example.org", False)],
)  # fmt: skip
def test_only_loopback_is_this_machine_s_own(host: str, own: bool) -> None:
    assert is_loopback(host) == own


def test_a_port_that_is_taken_is_told_with_what_to_do(tmp_path: Path) -> None:
    with running(tmp_path) as server, pytest.raises(MachineError, match="--port"):
        run_apart(Serving(tmp_path, port=server.address[1]).serve(Told(ready=lambda _: None)))


@pytest.mark.parametrize("host", ["", "a" * 300])
def test_a_host_that_no_machine_has_is_wrong_use(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("asyncio.run", run_apart)
    options = ["--config", str(settings.path), "--watch", "--host", host, "--port", "0"]
    done = CliRunner().invoke(serve.serve, options)

    assert isinstance(done.exception, UsageError), done.output


@pytest.mark.parametrize("port", ["65536", "-1"])
def test_a_port_that_no_system_has_is_wrong_use(port: str) -> None:
    done = CliRunner().invoke(serve.serve, ["--port", port])

    assert (done.exit_code, "0<=x<=65535" in done.stderr) == (2, True)


def test_who_is_let_in_from_elsewhere_may_use_any_name(tmp_path: Path) -> None:
    with running(tmp_path, host="0.0.0.0") as server:
        assert server.get("/", Host="my-machine.example").status == 404


def test_it_needs_no_more_than_its_extra_and_says_which(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("kbsite.serving.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    told = CliRunner().invoke(serve.serve, ["--config", str(settings.path), "--watch"])

    assert isinstance(told.exception, MachineError)
    assert "kbsite[serve]" in str(told.exception)
