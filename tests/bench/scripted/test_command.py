"""The server as a program."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

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
