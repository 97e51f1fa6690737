"""The lock file says which CLI, in which version, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.installing import read_lock
from bench.installing.lock import LOCK, NODE, RIPGREP, TOOLS
from kbsite.errors import InputError, UsageError
from kbsite.harnesses import BY_ID

ENTRY = """
[clis.node]
source = "npm"
package = "node"
version = "1.0.0"
prints = "v1.0.0"
integrity = "sha512-x"
command = ["./node"]
"""


def test_the_shipped_file_holds_the_clis_of_the_bench() -> None:
    lock = read_lock()

    assert set(lock.clis) == {
        *TOOLS, "claude", "codex", "kimi-cli", "kimi-code", "opencode", "gemini", "qwen",
    }  # fmt: skip
    assert set(lock.clis) - set(TOOLS) <= set(BY_ID)


def test_the_shipped_versions_are_exact_and_printed() -> None:
    for one in read_lock().clis.values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", one.version)
        assert one.version in one.prints or one.id == RIPGREP
        assert (one.integrity is None) == (one.source == "pypi")
        assert all("==" in pin for pin in one.pins)


def test_the_shipped_file_names_no_host() -> None:
    assert "://" not in LOCK.read_text("utf-8")


def test_what_runs_on_node_is_installed_with_it() -> None:
    lock = read_lock()

    assert [one.id for one in lock.chosen(("gemini", "codex", "gemini"))] == [
        NODE, "gemini", "codex", RIPGREP,
    ]  # fmt: skip
    assert [one.id for one in lock.chosen(("ripgrep", "kimi-cli"))] == [NODE, "kimi-cli", RIPGREP]
    assert [one.id for one in lock.chosen((NODE,))] == [NODE]
    assert {one.id for one in lock.chosen(())} == set(lock.clis)
    assert lock.chosen(())[0].id == NODE


def test_tools_can_be_installed_alone() -> None:
    lock = read_lock()

    assert [one.id for one in lock.chosen((NODE,))] == [NODE]
    assert [one.id for one in lock.chosen(("ripgrep",))] == [NODE, "ripgrep"]


def test_an_unknown_cli_is_refused() -> None:
    with pytest.raises(UsageError, match="claud: no CLI of that name; known are"):
        read_lock().chosen(("claud",))


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("[[[", None, "cannot be read as TOML"),
        ("clis = 3", "before", "expected a day"),
        ("before = 2026-01-01", "clis", "an entry for each CLI"),
        ("before = 2026-01-01\n[clis.claude]", "clis", "clis.node"),
        (f"before = 2026-01-01\n{ENTRY}extra = 1", "clis.node", "extra"),
        (f"before = 2026-01-01\n{ENTRY}[clis]\nb = 3".replace("[clis]\n", "[clis.b]\n"),
         "clis.b", "expected only"),
        (f"before = 2026-01-01\n{ENTRY}".replace('"npm"', '"apt"'), "clis.node", "apt"),
        (f"before = 2026-01-01\n{ENTRY}".replace('"1.0.0"', "1"), "clis.node", "version"),
        (f"before = 2026-01-01\n{ENTRY}".replace('"1.0.0"', '"../x"'), "clis.node", "../x"),
        (f"before = 2026-01-01\n{ENTRY}".replace('"1.0.0"', '"-rf"'), "clis.node", "-rf"),
        (f"before = 2026-01-01\n{ENTRY}".replace('= "node"', '= "a b"'), "clis.node", "a b"),
        (f"before = 2026-01-01\n{ENTRY}".replace("sha512-x", "md5-x"), "clis.node", "sha512"),
        (f"before = 2026-01-01\n{ENTRY}".replace('["./node"]', "[]"), "clis.node", "command"),
        (f"before = 2026-01-01\n{ENTRY}".replace('"npm"', '"pypi"'), "clis.node", "python"),
        (f'before = 2026-01-01\n{ENTRY}imports = ["os"]', "clis.node", "imports: npm"),
        (f'before = 2026-01-01\n{ENTRY}imports = ["os;x"]', "clis.node", "['os;x']"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path: Path, text: str, key: str | None, said: str) -> None:
    path = tmp_path / "clis.lock.toml"
    path.write_text(text)

    with pytest.raises(InputError) as error:
        read_lock(path)
    assert error.value.key == key
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_lock(tmp_path / "none.toml")
