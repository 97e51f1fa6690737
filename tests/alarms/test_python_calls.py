"""Calls that tell by their name are told by any spelling, at their line, by when they run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.kinds import BY_ID
from kbsite.alarms.python.calls import TABLE, find, rule_of
from kbsite.model.alarm import Alarm, Level
from tests.alarms.solutions import evidence, loud, model, read

WORK = "y = torch.empty_like(x)\n_double[(1,)](x, y, x.numel(), BLOCK=1024)\n"
NAMED = sorted(name.replace(".*", ".anything") for name in TABLE if "()" not in name)
"""Names that can be imported; methods of what a call makes are among the snippets."""
NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM


def told(text: str) -> list[Alarm]:
    """What the table tells of a source."""
    return list(find(read(text)))


def spellings(origin: str) -> dict[str, str]:
    """Sources whose third line calls an origin, by how it is spelled."""
    owner, _, name = origin.rpartition(".")
    half = len(name) // 2
    put = f"{name[:half]!r} + {name[half:]!r}"
    return {
        "plain": f"import {owner}\n\n{origin}()\n",
        "as": f"import {owner} as held\n\nheld.{name}()\n",
        "from": f"from {owner} import {name} as held\n\nheld()\n",
        "alias": f"import {owner}\nheld = {origin}\nheld()\n",
        "getattr": f"import {owner}\n\ngetattr({owner}, {put})()\n",
        "vars": f"import {owner}\n\nvars({owner})[{put}]()\n",
        "import": f"import importlib\n\nimportlib.import_module({owner!r}).{name}()\n",
        "modules": f"import sys, {owner}\n\nsys.modules[{owner!r}].{name}()\n",
        "partial": f"import functools, {owner}\n\nfunctools.partial({origin})()\n",
        "pydoc": f"import pydoc\n\npydoc.locate({origin!r})()\n",
        "walrus": f"import {owner}\n\n(held := {origin})()\n",
        "list": f"import {owner}\nheld = [{origin}]\nheld[0]()\n",
    }


@pytest.mark.parametrize("origin", NAMED)
def test_each_name_is_told_by_every_spelling(origin: str) -> None:
    wanted = rule_of(origin)
    assert wanted is not None
    kinds = {wanted.kind} | ({"early-exit"} if origin == "os.kill" else set())
    for spelled, text in spellings(origin).items():
        raised = [a for a in told(text) if a.lines == (3,) and a.kind in kinds]
        assert {alarm.level for alarm in raised} == {wanted.setup}, (spelled, text)


@pytest.mark.parametrize(
    "origin", ["inspect.stack", "gc.get_objects", "os._exit", "torch.manual_seed", "torch.compile"]
)
def test_a_method_of_the_same_name_is_nobody_s(origin: str) -> None:
    name = origin.rpartition(".")[2]
    text = (
        f"class Own:\n    def {name}(self): pass\n\nOwn().{name}()\ndef {name}(): pass\n{name}()\n"
    )

    assert told(text) == []
    assert told(f"unknown.{name}()\n") == []


@pytest.mark.parametrize(
    ("origin", "kind", "call", "setup"),
    [
        ("sys._getframe", "environment-sniffing", ALARM, ALARM),
        ("os.getppid", "environment-sniffing", WARNING, WARNING),
        ("sys.settrace", "monkey-patch", ALARM, ALARM),
        ("torch.set_num_threads", "backend-flags", WARNING, NOTE),
        ("torch.set_default_dtype", "backend-flags", ALARM, ALARM),
        ("os.nice", "environment-change", WARNING, WARNING),
        ("torch.cuda.memory_snapshot", "memory-scan", ALARM, WARNING),
        ("os.abort", "early-exit", ALARM, ALARM),
        ("atexit.register", "early-exit", WARNING, WARNING),
        ("socket.create_connection", "outside-world", ALARM, ALARM),
        ("os.fork", "stream-trick", ALARM, WARNING),
        ("pickle.loads", "obfuscation", ALARM, ALARM),
        ("torch.get_rng_state", "seed-guess", ALARM, WARNING),
        ("torch.manual_seed", "seed-guess", ALARM, WARNING),
        ("numpy.memmap", "disk-replay", ALARM, WARNING),
        ("hashlib.sha256", "output-cache", WARNING, NOTE),
        ("torch.compile", "compiled", WARNING, WARNING),
        ("torch.cuda.set_stream", "stream-trick", ALARM, ALARM),
        ("torch.Tensor.as_subclass", "tensor-subclass", ALARM, ALARM),
    ],
)
def test_it_weighs_by_when_it_runs(origin: str, kind: str, call: Level, setup: Level) -> None:
    owner = origin.rpartition(".")[0]
    line = f"import {owner}; {origin}()"
    for text, level in (
        (model(f"{WORK}{line}\nreturn y"), call),
        (model(f"{WORK}return work(y)", f"def work(y):\n    {line}\n    return y"), call),
        (model(f"{WORK}return y", line), setup),
        (model(f"{WORK}return y", made=line), setup),
        (model(f"{WORK}return y", f"def test_it():\n    {line}"), NOTE),
        (f"{model(f'{WORK}return y')}\nif __name__ == '__main__':\n    {line}\n", NOTE),
    ):
        raised = [alarm for alarm in told(text) if alarm.kind == kind]
        place = next(n for n, row in enumerate(text.splitlines(), 1) if row.endswith(line))
        assert [(a.level, a.lines) for a in raised] == [(level, (place,))], text


@pytest.mark.parametrize(
    ("exit_", "level"),
    [
        ("sys.exit()", ALARM),
        ("sys.exit(0)", ALARM),
        ("sys.exit(1)", WARNING),
        ("sys.exit('no GPU here')", WARNING),
        ("sys.exit(f'no GPU: {1}')", WARNING),
        ("sys.exit(code)", ALARM),
        ("os._exit(0)", ALARM),
        ("os.kill(os.getpid(), 9)", ALARM),
    ],
)
def test_an_exit_that_says_it_failed_weighs_less(exit_: str, level: Level) -> None:
    raised = told(f"import sys, os\n{exit_}\n")

    assert [(a.kind, a.level, a.lines) for a in raised] == [("early-exit", level, (2,))]


def test_to_stop_another_process_is_no_exit() -> None:
    assert [a.kind for a in told("import os\nos.kill(7, 9)\n")] == ["outside-world"]


def test_a_decorator_is_a_call() -> None:
    text = "import torch, atexit\n\n@torch.compile\ndef f(x): return x\n\n"
    text += "@atexit.register\ndef g(): pass\n"

    assert [(a.kind, a.lines) for a in told(text)] == [("compiled", (3,)), ("early-exit", (6,))]
    assert [a.lines for a in told("import torch\n@torch.compile()\ndef f(x): return x\n")] == [(2,)]


def test_code_for_the_device_calls_nothing_of_the_host() -> None:
    body = model(f"{WORK}return y").replace("    i = tl.", "    hashlib.sha256()\n    i = tl.")

    assert told(f"import hashlib\n{body}") == []


def test_every_rule_is_of_a_kind_and_never_lighter_in_a_call() -> None:
    for name, rule in TABLE.items():
        assert rule.kind in BY_ID
        assert rule.call.weight >= rule.setup.weight, name


@settings(deadline=None)
@given(st.sampled_from(NAMED), st.text("abcxyz_", min_size=1, max_size=4))
def test_only_the_whole_name_counts(origin: str, more: str) -> None:
    owner, _, name = origin.rpartition(".")
    below = any(f"{origin[:at]}.*" in TABLE for at in range(len(origin)))
    other = f"{owner}.{name}{more}"

    assert (rule_of(other) is None) == (other not in TABLE and not below)
    assert rule_of(f"local:{origin}") is None
    assert rule_of(f"?.{name}") is None


def test_a_sidecar_that_nobody_imports_is_not_alarming() -> None:
    honest = model(f"{WORK}return y")
    sidecar = {"files/tool.py": "import gc\ndef scan():\n    return gc.get_objects()\n"}

    assert loud(honest, sidecars=sidecar) == set()
    assert loud(f"import tool\n{honest}", sidecars=sidecar) == {"memory-scan"}
    assert len(evidence(honest, sidecars=sidecar).sources) == 2
