"""The server as a program."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.scripted import SHIPPED, scripted_provider
from tests.bench.scripted.clients import ChatClient

COMMAND = (sys.executable, "-m", "bench.scripted")


def test_it_says_where_it_is_and_serves_until_sigterm(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "quick.yaml").write_text((SHIPPED / "quick.yaml").read_text())
    options = [str(scripts), "--keep", str(tmp_path / "kept")]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:")
            base = scripted_provider(url, "r").bases[ChatClient.dialect]
            assert len(ChatClient(base, streams=True).play("[[script:quick]]")) == 3
            program.send_signal(signal.SIGTERM)
            assert program.wait(60) == 0
        finally:
            program.kill()
    assert len((tmp_path / "kept/requests.jsonl").read_text().splitlines()) == 3


def test_a_script_that_is_wrong_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("about: x\nturns: [{talk: a}]\n")
    done = subprocess.run([*COMMAND, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"{path}:2: turns[0].talk: no such key")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "99999"], "argument --port: expected 0 to 65535, got 99999"),
        (["--keep", __file__], f"{__file__} is no folder"),
    ],
)
def test_what_cannot_be_taken_is_told_at_once(options: list[str], message: str) -> None:
    done = subprocess.run(
        [*COMMAND, *options], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
