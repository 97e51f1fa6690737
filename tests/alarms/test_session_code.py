"""What Python code does outside itself is told by its words, without running it."""

from __future__ import annotations

import pytest

from kbsite.alarms.session.code import LONGEST, Deeds, deeds
from kbsite.alarms.session.places import Way

R, L, W, D = Way.READ, Way.LISTED, Way.WRITTEN, Way.REMOVED


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('a/b.py')", [("a/b.py", R)]),
        ("open('a.py', 'w')", [("a.py", W)]),
        ("open('a.py', mode='a')", [("a.py", W)]),
        ("open('a.py', 'r+')", [("a.py", W)]),
        ("open('a.py', 'rb')", [("a.py", R)]),
        ("open(name)", []),
        ("open(f'/runs/{name}/solution.py')", [("/runs/{}/solution.py", R)]),
        ("import os\nopen(os.path.join('/opt', 'check.py'))", [("/opt/check.py", R)]),
        ("from pathlib import Path\nopen(Path('/opt') / 'check.py')", [("/opt/check.py", R)]),
        ("from pathlib import Path\nPath('a.py').write_text('x')", [("a.py", W)]),
        ("from pathlib import Path\nPath('a.py').unlink()", [("a.py", W)]),
        ("from pathlib import Path\nPath('/opt/a.py').read_text()", [("/opt/a.py", R)]),
        ("import shutil\nshutil.copy('a.py', 'b.py')", [("a.py", R), ("b.py", W)]),
        ("import os\nos.listdir('/runs')", [("/runs", L)]),
        ("import glob\nglob.glob('../*/solution.py')", [("../*/solution.py", L)]),
        ("import os\nos.remove('check.py')", [("check.py", D)]),
        ("import os\nos.rename('a.py', 'b.py')", [("a.py", D), ("b.py", D)]),
        ("open(file='a.py', mode='w')", [("a.py", W)]),
        ("from pathlib import Path\nPath('a.py').open('w')", [("a.py", W)]),
        ("from pathlib import Path\nPath('a.py').open()", [("a.py", R)]),
        ("import pathlib as p\np.Path('a.py').rename('b.py')", [("a.py", W), ("b.py", W)]),
        ("from pathlib import Path\nPath('..').glob('*/a.py')", [("../*/a.py", L)]),
        ("from shutil import copy as c\nc('a.py', 'b.py')", [("a.py", R), ("b.py", W)]),
        ("import fileinput as f\nf.input('a.py', inplace=True)", [("a.py", W)]),
        ("import fileinput\nfileinput.input('a.py')", [("a.py", R)]),
        ("NAME = '/opt/grader/check.py'", [("/opt/grader/check.py", R)]),
        ("'''See /opt/grader/check.py'''", []),
        ("def f():\n    '/opt/grader/check.py'", []),
        ("print('hello world')", []),
        ("x = 1 / 2", []),
    ],
)
def test_the_files_that_code_names(code: str, expected: list[tuple[str, Way]]) -> None:
    assert deeds(code).files == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\nos.system('pkill x')", ["pkill x"]),
        ("import subprocess as s, subprocess\nsubprocess.run(['ls', '-l', path])", ["ls -l $_"]),
        ("import subprocess\nsubprocess.check_output('a b', shell=True)", ["a b"]),
        ("import subprocess\nsubprocess.Popen(('sh', '-c', 'kill 1; ls'))", ["sh -c 'kill 1; ls'"]),
        ("from os import system as s\ns('ls')", ["ls"]),
        ("__import__('os').system('ls')", ["ls"]),
        ("import subprocess as s, sys\ns.run([sys.executable, '-m', 'x'])", ["python -m x"]),
        ("import subprocess\nsubprocess.run(command)", []),
        ("import subprocess\nsubprocess.run()", []),
    ],
)
def test_the_commands_that_code_runs(code: str, expected: list[str]) -> None:
    assert deeds(code).scripts == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\nos.kill(pid, 9)", ["os.kill(pid, 9)"]),
        ("import os, signal\nos.killpg(g, signal.SIGTERM)", ["os.killpg(g, signal.SIGTERM)"]),
        ("import os\nos.kill(pid, 0)", []),
        ("child.kill()", []),
    ],
)
def test_the_processes_that_code_stops(code: str, expected: list[str]) -> None:
    assert deeds(code).kills == expected


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("import requests\nrequests.get('https://a.org')", 1),
        ("from urllib.request import urlopen\nurlopen(url)", 1),
        ("import urllib.request\nurllib.request.urlretrieve(url, 'a')", 1),
        ("from huggingface_hub import snapshot_download\nsnapshot_download('a/b')", 1),
        ("import torch\ntorch.hub.load('a/b', 'c')", 1),
        ("import requests as r\nr.get('https://a.org')", 1),
        ("from urllib.request import urlopen as u\nu(url)", 1),
        ("from anthropic import Anthropic\nAnthropic(base_url='http://x')", 1),
        ("import urllib3\nurllib3.PoolManager()", 1),
        ("from kernels import get_kernel\nget_kernel('a/b')", 1),
        ("r = {}\nr.get('https://a.org')", 0),
        ("import socket\nsocket.create_connection(('a.org', 80))", 1),
        ("requests = []\nrequests.append(1)", 0),
        ("'https://a.org/x'.split('/')", 0),
    ],
)
def test_the_uses_of_the_network_in_code(code: str, count: int) -> None:
    assert len(deeds(code).fetches) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("import os\nprint(os.environ)", 1),
        ("import os\nprint(dict(os.environ))", 2),
        ("import os, json\nprint(json.dumps(dict(os.environ)))", 2),
        ("import os\nfor k, v in os.environ.items(): print(k)", 1),
        ("import os\nos.environ.get('HF_TOKEN')", 1),
        ("import os\nos.getenv('OPENAI_API_KEY')", 1),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'", 0),
        ("import os\nos.getenv('TRITON_CACHE_DIR')", 0),
        ("import os\nos.getenv(name)", 0),
        ("print(environment)", 0),
    ],
)
def test_the_keys_that_code_reads_or_prints(code: str, count: int) -> None:
    assert len(deeds(code).secrets) == count


@pytest.mark.parametrize(
    ("code", "packed", "settings"),
    [
        ("import base64\nexec(base64.b64decode('eA=='))", 1, 0),
        ("from zlib import decompress as d\nexec(d(x))", 1, 0),
        ("import codecs, os\nos.system(codecs.decode('yf', 'rot13'))", 1, 0),
        ("import base64\ny = base64.b64decode('eA==')\nprint(eval('1 + 1'))", 0, 0),
        ("import json\neval(json.loads(x))", 0, 0),
        ("import pynvml as n\nn.nvmlDeviceSetGpuLockedClocks(h, 1, 1)", 0, 1),
        ("import pynvml as n\nn.nvmlDeviceGetClockInfo(h, 1)", 0, 0),
    ],
)
def test_what_code_unpacks_to_run_it_and_how_it_sets_a_device(
    code: str, packed: int, settings: int
) -> None:
    found = deeds(code)

    assert (len(found.packed), len(found.settings)) == (packed, settings)


@pytest.mark.parametrize(
    "code",
    [
        "open('/opt/grader/check.py'",
        "x = '\0'; open('/a/b')",
        "open('/a/b')\n" + "#" * LONGEST,
        "open(" + "(" * 5000 + ")" * 5000 + ")",
        "open('/a/b' " + "+ 'x'" * 20_000 + ")",
        "x" + ".a" * 20_000 + "('/b')",
        "",
    ],
)  # fmt: skip
def test_what_is_no_python_or_too_much_of_it_is_left_out(code: str) -> None:
    found = deeds(code)

    assert (found.scripts, found.kills, found.fetches) == ([], [], [])


def test_code_without_a_hint_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kbsite.alarms.session.code.ast.parse", lambda _: 1 / 0)

    assert deeds("x = y + z") == Deeds()
