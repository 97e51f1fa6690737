"""A site is verified where it stands: in a folder, by file://, or below any path of a server."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from kbsite.cli import kbsite
from kbsite.errors import InputError, KbsiteError, MachineError, UsageError
from kbsite.model.finding import Severity
from kbsite.store.swapping import put_in_place
from kbsite.verifying import mirror, remote, verify
from kbsite.verifying.mirror import Mirror
from kbsite.verifying.places import FolderPlace
from kbsite.verifying.remote import UrlPlace
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.shut import shut
from tests.verifying.published import Runs, copy_of, errors, in_json, make_site, replace_in


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory,
    make_settings: MakeSettings,
    make_run: MakeRun,
    make_floors: MakeFloors,
) -> Path:
    home = tmp_path_factory.mktemp("home") / "deep" / "below"
    home.mkdir(parents=True)
    return make_site(home, make_settings, make_run, make_floors)


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run(*words: str) -> Result:
    return CliRunner().invoke(kbsite, ["verify", *words])


def test_a_site_below_a_path_of_a_server_follows_and_a_falsified_one_does_not(
    site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    replace_in(spoilt, "demo/index.html", ".420", ".920")
    with served(partial(Quiet, directory=str(site.parents[1]))) as url:
        whole = run(f"{url}/below/site/index.html")
    with served(partial(Quiet, directory=str(tmp_path))) as url:
        false = run(f"{url}/spoilt", "--json")
    told = [json.loads(line) for line in false.stdout.splitlines()]

    assert (whole.exit_code, whole.stderr) == (0, "0 errors, 0 warnings\n")
    assert false.exit_code == 1
    assert [(one["path"], one["severity"]) for one in told] == [("demo/index.html", "error")]


def test_a_folder_and_its_address_as_a_file_are_the_same(site: Path) -> None:
    assert run(f"{site.as_uri()}/index.html").exit_code == 0
    assert run(site.as_uri().replace("file:", "FILE:")).exit_code == 0
    elsewhere = run(site.as_uri().replace("file://", "file://other.example"))
    assert isinstance(elsewhere.exception, UsageError)


def test_an_address_with_a_password_is_refused_and_not_repeated() -> None:
    refused = run("HTTPS://me:secret@a.example/site/").exception
    assert isinstance(refused, UsageError)
    assert "secret" not in str(refused)


def test_what_is_no_site_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a site that kbsite made"):
        errors(tmp_path)
    assert isinstance(run(str(tmp_path / "nowhere")).exception, UsageError)
    with pytest.raises(UsageError, match="expected http"):
        UrlPlace("gopher://a.example/")


@pytest.mark.parametrize("host", ["", "[", "[::1", f"{'a' * 70}.example", "a.example:99999"])
def test_an_address_without_a_host_is_wrong_use(host: str) -> None:
    assert isinstance(run(f"http://{host}/").exception, UsageError)


class Rude(Quiet):
    """Answers with what acts on a terminal."""

    def do_GET(self) -> None:
        self.wfile.write(b"\x1b[2J\x1b]0;owned\x07 no answer\r\n\r\n")


def test_what_a_server_says_does_not_act_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAITS", ())
    with served(Rude) as url, pytest.raises(MachineError, match="no answer") as caught:
        UrlPlace(url).read("data/site.json")

    assert str(caught.value).isprintable()


def test_a_record_beyond_all_measure_is_not_read(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kbsite.verifying.whole.MOST_BYTES", 10)
    found = errors(site)
    assert (found[0].path, found[0].message[:20]) == ("data/site.json", "larger than 10 bytes")
    broken = tmp_path / "data"
    broken.mkdir()
    (broken / "site.json").write_text("[]")
    monkeypatch.undo()
    assert "expected keys and values" in errors(tmp_path)[0].message


@pytest.mark.parametrize("problem", ["../up", "a/b", "", "x\0y", "p" * 5000])
def test_no_id_of_a_problem_leads_out_of_the_mirror(
    problem: str, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    in_json(spoilt, "data/site.json", lambda held: held["problems"][0].update(id=problem))

    assert any("softmax" in one.path for one in errors(spoilt))


def test_a_server_that_is_not_there_is_the_machines_fault() -> None:
    with served(Quiet) as url:
        pass
    with pytest.raises(MachineError, match="cannot be fetched"):
        UrlPlace(url).read("data/site.json")


class Elsewhere(Quiet):
    """Sends whoever asks to another server, or fails."""

    def do_GET(self) -> None:
        code = 500 if "broken" in self.path else 302
        self.send_response(code)
        self.send_header("Location", "http://127.0.0.1:1/secret")
        self.end_headers()


def test_nobody_is_sent_to_another_server_and_a_failure_is_none_of_a_missing_file() -> None:
    with served(Elsewhere) as url:
        sent = "302: it sends its readers to http://127.0.0.1:1/secret; verify that"
        for path, code in (("data/site.json", sent), ("broken", "500")):
            with pytest.raises(InputError, match=f"the server says {code}"):
                UrlPlace(url).read(path)


class Hostile(Quiet):
    """Sends a byte now and then, less than it said, or on to an address that is none."""

    def do_GET(self) -> None:
        self.send_response(302 if "nowhere" in self.path or "on" in self.path else 200)
        self.send_header("Location", "http://[::1" if "nowhere" in self.path else "/short")
        self.send_header("Content-Length", "1000")
        if "head" in self.path:
            self.flush_headers()
            self._drop(b"X-Slow: ")
        self.end_headers()
        self._drop(b"x" if "slow" in self.path or "on" in self.path else b"")

    def _drop(self, first: bytes) -> None:
        with contextlib.suppress(OSError):
            for part in [first, *[b"x"] * 1000] if first else [b"x"]:
                self.wfile.write(part)
                self.wfile.flush()
                time.sleep(0.01)


@pytest.mark.parametrize(
    ("path", "said"),
    [("slow", "not sent within 0 s"), ("short", "IncompleteRead"), ("nowhere", "says 302"),
     ("head", "not sent within 0 s"), ("on", "IncompleteRead")],
)  # fmt: skip
def test_a_server_that_is_nobodys_friend_holds_nobody_up(
    path: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_SECONDS", 0.2)
    with served(Hostile) as url:
        begun = time.monotonic()
        with pytest.raises((MachineError, InputError), match=said):
            UrlPlace(url).read(path)
        assert time.monotonic() - begun < 5


class Endless(Quiet):
    """Says of many files that they are elsewhere, at more length than a machine has memory."""

    def do_GET(self) -> None:
        self.send_response(302 if "long" in self.path else 404)
        self.send_header("Location", "/short")
        self.send_header("Content-Length", str(1 << 40) if "long" in self.path else "0")
        self.end_headers()
        with contextlib.suppress(OSError):
            while "long" in self.path:
                self.wfile.write(b"x" * (1 << 20))


def test_of_a_file_that_is_elsewhere_nothing_else_is_read() -> None:
    with served(Endless) as url:
        begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert UrlPlace(url).read("long") is None
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun < 50_000


class Odd(Quiet):
    """Sends files as few servers do, which the first part of their path says."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        how, _, path = self.path[1:].partition("/")
        file = Path(self.directory, path)
        data = file.read_bytes() if file.is_file() else b""
        self.asked.append(self.path)
        busy = how == "busy" or (how == "restarts" and self.asked.count(self.path) < 2)
        if how == "any" and not data:
            data = b"a start page"
        self.send_response(503 if busy else 200 if data else 404)
        packed = {"gzip": gzip.compress(data), "broken": gzip.compress(data)[:-9]}.get(how, data)
        if how in ("gzip", "broken", "br"):
            self.send_header("Content-Encoding", how.replace("broken", "gzip"))
        self.send_header("Content-Length", str(0 if busy else len(packed)))
        self.end_headers()
        if not busy:
            self.wfile.write(packed)


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [("gzip", 0, "0 errors, 0 warnings"), ("restarts", 0, "0 errors, 0 warnings"),
     ("busy", 3, "data/site.json: the server says 503; try again later"),
     ("broken", 1, "data/site.json: sent as gzip, and ends before its end, or after it"),
     ("br", 1, "data/site.json: sent as 'br', which nobody asked for; have the server send it"),
     ("any", 1, "the server sends something for a file that no site has; have it answer 404")],
)  # fmt: skip
def test_servers_that_pack_that_are_busy_and_that_have_everything(
    how: str, code: int, said: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "WAITS", (0.0, 0.0))
    monkeypatch.setattr(remote, "MOST_WAITS", 10_000)
    Odd.asked.clear()
    with served(partial(Odd, directory=str(site))) as url:
        done = run(f"{url}/{how}")
    told = done.stderr if done.exception is None or code == 0 else str(done.exception)

    assert said in told
    if isinstance(done.exception, KbsiteError):
        assert done.exception.exit_code == code
    else:
        assert done.exit_code == code


def test_no_more_is_unpacked_than_a_file_of_a_site_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 1_000)
    (tmp_path / "bomb").write_bytes(b"\0" * 100_000)
    with (
        served(partial(Odd, directory=str(tmp_path))) as url,
        pytest.raises(InputError, match="more than 1000 bytes"),
    ):
        UrlPlace(f"{url}/gzip").read("bomb")


def test_no_more_is_taken_than_a_site_can_hold(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 10)
    monkeypatch.setattr(remote, "MOST_FILES", 1)
    with served(partial(Quiet, directory=str(site))) as url:
        place = UrlPlace(url)
        with pytest.raises(InputError, match="more than 10 bytes"):
            place.read("index.html")
        with pytest.raises(InputError, match="larger than any"):
            place.read("index.html")


def test_a_full_disk_here_makes_no_site_false(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(mirror, "write_bytes", full)
    with pytest.raises(MachineError, match=r"No space left on device; set TMPDIR to a folder"):
        list(verify(FolderPlace(site)))


@pytest.mark.parametrize("folder", [".", "runs", "static"])
def test_a_folder_that_cannot_be_listed_makes_no_site_false(folder: str, site: Path) -> None:
    with shut(site / folder), pytest.raises(MachineError, match="cannot be listed: Permission"):
        FolderPlace(site)


@pytest.mark.parametrize("far", [False, True])
def test_a_site_that_is_built_anew_while_it_is_verified_is_not_called_false(
    site: Path, tmp_path: Path, *, far: bool
) -> None:
    own, other = copy_of(site, tmp_path / "own"), copy_of(site, tmp_path / "other")
    replace_in(other, "data/site.json", "Demo", "Another")
    replace_in(other, "index.html", "Demo", "Another")
    swaps = iter([put_in_place])

    def tick(*_: object) -> None:
        for swap in swaps:
            swap(other, own)

    with (
        served(partial(Quiet, directory=str(own))) as url,
        pytest.raises(MachineError, match="another site took the place of this one"),
    ):
        list(verify(UrlPlace(url) if far else FolderPlace(own), tick))


@pytest.mark.parametrize(
    ("name", "old"),
    [("index.html", b"<p>Of the build before.</p>"), ("raw/audit.yaml", b"# of the build before")],
)
def test_a_build_that_no_list_tells_of_is_found_where_something_is_wrong(
    site: Path, tmp_path: Path, name: str, old: bytes
) -> None:
    own = copy_of(site, tmp_path / "own")
    path = f"runs/{Runs.first}/{name}"
    new = (own / path).read_bytes()
    (own / path).write_bytes(old)

    class Meanwhile(UrlPlace):
        def read(self, asked: str) -> bytes | None:
            data = super().read(asked)
            if asked == path:
                (own / path).write_bytes(new)
            return data

    with served(partial(Quiet, directory=str(own))) as url:
        with pytest.raises(MachineError, match="another site took the place of this one"):
            list(verify(Meanwhile(url)))
        assert not [one for one in verify(UrlPlace(url)) if one.severity is Severity.ERROR]


def test_links_in_a_folder_are_not_followed(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    raw = spoilt / f"runs/{Runs.first}/raw"
    (raw / "solution.py").unlink()
    (raw / "solution.py").symlink_to("/etc/passwd")

    assert (f"runs/{Runs.first}/raw/solution.py", "missing; the manifest lists it") in {
        (one.path, one.message) for one in errors(spoilt)
    }


@pytest.mark.parametrize("name", ["../../../escaped", "/tmp/escaped", "a/../../../x", "a\0b"])
def test_a_manifest_cannot_name_what_lies_outside_its_run(
    name: str, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    path = f"runs/{Runs.first}/raw/manifest.json"
    in_json(spoilt, path, lambda held: held["files"].update({name: "0" * 64}))
    mirror = tmp_path / "a" / "b" / "mirror"
    found = _mirrored(spoilt, mirror)

    assert any("names nothing within a run" in message for message in found)
    inside = set(tmp_path.rglob("*escaped*")) | {*Path("/tmp").glob("escaped")}
    assert not inside


@pytest.mark.parametrize("packed", [gzip.compress(b"x" * 2_000_000), b"\x1f\x8bnonsense", b""])
def test_a_compressed_copy_that_holds_something_else_is_named(
    packed: bytes, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    raw = spoilt / f"runs/{Runs.first}/raw"
    (raw / "long.log").write_bytes(b"y" * 1_500_000)
    (raw / "long.log.gz").write_bytes(gzip.compress(b"y" * 1_500_000))
    in_json(spoilt, f"runs/{Runs.first}/raw/manifest.json", _listing("long.log"))
    sound = _mirrored(spoilt, tmp_path / "one")
    (raw / "long.log.gz").write_bytes(packed)

    assert sound == []
    assert _mirrored(spoilt, tmp_path / "two") == [
        f"does not hold what runs/{Runs.first}/raw/long.log holds"
    ]


def _listing(name: str) -> Callable[[Any], None]:
    return lambda held: held["files"].update({name: "0" * 64})


def _mirrored(site: Path, folder: Path) -> list[str]:
    from kbsite.model.redacted import Redactions

    mirror = Mirror(FolderPlace(site), folder, Redactions(format=1, files=()))
    mirror.take(Runs.first)
    return [one.message for one in mirror.findings]


@pytest.mark.parametrize("run_id", ["../x", "", ".hidden", "a/b", "x" * 300])
def test_no_id_of_a_run_leads_out_of_the_mirror(run_id: str, site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    in_json(spoilt, "data/site.json", lambda held: held["runs"].append(run_id))

    assert any("the site lists a run of this id" in one.message for one in errors(spoilt))


def _redacted(site: Path, after: str | None = None) -> None:
    """Publish a transcript with a word covered, and a report that says so."""
    path = f"runs/{Runs.failed}/raw/transcript/stdout.jsonl"
    before = sha256((site / path).read_bytes()).hexdigest()
    replace_in(site, path, "Done.", "xxxxx")
    told: dict[str, Any] = {
        "run": Runs.failed, "file": "transcript/stdout.jsonl", "before": before,
        "after": after or sha256((site / path).read_bytes()).hexdigest(), "hits": {"word": 1},
    }  # fmt: skip
    (site / "data/redaction.json").write_text(json.dumps({"format": 1, "files": [told]}))


def test_a_redacted_file_is_none_that_was_falsified(site: Path, tmp_path: Path) -> None:
    covered, false = copy_of(site, tmp_path / "covered"), copy_of(site, tmp_path / "false")
    _redacted(covered)
    _redacted(false, after="0" * 64)
    raw = f"runs/{Runs.failed}/raw/"

    assert not [one for one in errors(covered) if one.path.startswith(raw)]
    assert [one.path for one in errors(false) if one.path.startswith(raw)] == [
        f"{raw}transcript/stdout.jsonl"
    ]


def test_a_site_of_another_version_is_not_taken_for_a_false_one(site: Path, tmp_path: Path) -> None:
    other = copy_of(site, tmp_path / "site")
    in_json(other, "data/site.json", lambda held: held.update(kbsite="0.0.0"))
    replace_in(other, "demo/index.html", ".420", ".920")
    found = list(verify(FolderPlace(other)))

    assert [(one.severity, one.path, one.key) for one in found] == [
        (Severity.ERROR, "data/site.json", "kbsite"),
        (Severity.ERROR, "data/site.json", "kbsite"),
    ]
    assert "install that version" in found[0].message
