"""What is told to those who bring runs and settings of their own is true, and whole."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from msgspec import Struct

from kbsite.check import check
from kbsite.cli import kbsite
from kbsite.model.config import Allowed, BoardConfig, Config, Leak, Redact, Storage
from kbsite.model.run import Run
from kbsite.store.settings import read_settings
from tests.conftest import MakeSettings

DOCS = Path(__file__).parents[1] / "docs"
SETTINGS = (DOCS / "settings.md").read_text("utf-8")
RUNS = (DOCS / "runs.md").read_text("utf-8")


def named(table: str) -> set[str]:
    """What stands in the first column of a table."""
    return {name for row in re.findall(r"^\|(.*?)\|", table, re.M) for name in quoted(row)}


def quoted(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def test_every_key_of_kbsite_yaml_is_told() -> None:
    _, whole, board = SETTINGS.split("|---|---|---|\n")

    assert named(whole.partition("\n\n")[0]) == set(Config.__struct_fields__)
    assert named(board) == set(BoardConfig.__struct_fields__)


@pytest.mark.parametrize(
    ("key", "kinds"), [("leaks", [Leak]), ("redact", [Redact, Allowed]), ("storage", [Storage])]
)
def test_every_key_within_a_key_is_told(key: str, kinds: list[type[Struct]]) -> None:
    (row,) = re.findall(rf"^\| `{key}` \|.*$", SETTINGS, re.M)

    assert set(quoted(row)) == {key, *(name for kind in kinds for name in kind.__struct_fields__)}


def test_the_examples_of_kbsite_yaml_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", SETTINGS, re.S)
    path = tmp_path / "kbsite.yaml"
    for block in blocks:
        path.write_text(block)
        assert set(yaml.safe_load(block)) <= set(Config.__struct_fields__)
        assert read_settings(path).config.title
    assert len(blocks) == 3


def test_the_least_run_that_is_told_is_a_whole_run(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    shown = re.findall(r"```json\n(.*?)```", RUNS, re.S)
    told, manifest = map(json.loads, shown)
    digest, _ = manifest["files"]["run.json"].split("…")
    assert sha256(shown[0].encode()).hexdigest().startswith(digest)
    settings = make_settings(tmp_path, problems=[], site={"title": "Mine"})
    folder = settings.runs / "rows" / told["id"]
    folder.mkdir(parents=True)
    data = json.dumps(told).encode()
    (folder / "run.json").write_bytes(data)
    assert set(manifest["files"]) == {"run.json", "transcript/stdout.jsonl"}
    manifest["files"] = {"run.json": sha256(data).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))

    assert [one.text for one in check([], settings) if "problem" not in str(one.key)] == []
    for key in told:
        (folder / "run.json").write_text(json.dumps({k: v for k, v in told.items() if k != key}))
        missing = [one.key for one in check([folder], settings) if "missing" in one.message]
        assert missing == [key], f"{key} could be left out"
    assert set(told) <= set(Run.__dataclass_fields__)


def test_the_options_of_an_import_are_those_that_are_told() -> None:
    command = kbsite.get_command(None, "import").get_command(None, "transcript")  # type: ignore[arg-type, union-attr]
    options = {one for held in command.params for one in held.opts if one.startswith("--")}
    table = RUNS.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()]

    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) | {"--out"} == options - {"--help"}
