"""The runs as a dataset: what the hub reads, and what a person finds in it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from msgspec import structs

from kbsite import dataset
from kbsite.cli import kbsite
from kbsite.dataset import MARKER, card, write_dataset
from kbsite.errors import UsageError
from kbsite.model.redaction import Span
from kbsite.pages import listing
from kbsite.reading import read
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

HOSTILE = "<script>`[x](javascript:1)` --- \n# no: {yaml}"


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    board = tmp_path / "runs" / "demo"
    held: dict[str, Any] = {"transcript": {"stdout.jsonl": b"{}\n", "deep/agent.jsonl": b"[]\n"}}
    make_run(board, model="one", audit={}, files={"files/k.cu": b"// k\n"}, **held)
    make_run(board, model="two", metrics={"status": "wrong"}, **held)
    return make_settings(tmp_path, site={"title": HOSTILE, "tagline": HOSTILE})


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]


def test_runs_of_the_longest_names_have_annotations_of_their_own(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    for end in ("é", "è"):
        folder = make_run(settings.runs / "demo", run_id="r" * 100, audit={"summary": end})
        folder.rename(folder.with_name("é" * 126 + end))
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    long = [one for one in lines(out) if one["id"].startswith("é")]

    assert len({one["annotation"] for one in long}) == 2
    for one in long:
        assert f"summary: {one['id'][-1]}" in (out / one["annotation"]).read_text()


def test_every_run_is_a_line_that_leads_to_its_files(settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "dataset"

    assert write_dataset(read(settings), out) == 2
    one, two = lines(out)
    assert (one["model"], one["peak_fraction"], one["verdict"]) == ("one", 0.42, "clean")
    assert (two["status"], two["peak_fraction"], two["annotation"]) == ("wrong", None, None)
    assert one["annotation"] == f"annotations/{one['id']}.yaml"
    for run in (one, two):
        for name in [*run["transcripts"], *run["solutions"]]:
            assert (out / name).is_file(), name
    assert [Path(name).name for name in one["solutions"]] == ["k.cu", "solution.py"]
    assert len(one["transcripts"]) == 2
    audit = yaml.safe_load((out / one["annotation"]).read_text())
    assert audit["verdict"] == "clean"
    named = {name for run in (one, two) for name in [*run["transcripts"], *run["solutions"]]}
    there = set(tree(out)) - {"README.md", "runs.jsonl", MARKER, one["annotation"]}
    assert there == named


def test_the_card_is_sound_whatever_the_site_is_called(settings: Settings) -> None:
    site = read(settings)
    text = card(site, listing.listed(site))
    _, head, body = text.split("---\n", 2)
    held = yaml.safe_load(head)

    assert held["configs"] == [{"config_name": "runs", "data_files": "runs.jsonl"}]
    assert held["size_categories"] == ["n<1K"]
    assert held["pretty_name"].startswith("<script>")
    assert "<script>" not in body
    assert "\n# no:" not in body
    assert "2 runs of coding agents on kernel problems, 1 of them audited." in body


def test_the_card_names_the_type_of_every_key_of_a_line(settings: Settings, tmp_path: Path) -> None:
    """A reader that guesses types from the first lines fails where one of them comes later."""
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    lines = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]
    _, head, _ = (out / "README.md").read_text().split("---\n", 2)
    (told,) = yaml.safe_load(head)["dataset_info"]
    types = {one["name"]: one for one in told["features"]}
    kinds: dict[str, Any] = {"string": str, "float64": (int, float), "int64": int, "bool": bool}

    def fits(value: object, kind: str) -> bool:
        right = isinstance(value, kinds[kind]) and isinstance(value, bool) == (kind == "bool")
        return value is None or right

    assert told["config_name"] == "runs"
    for line in lines:
        assert list(line) == list(types)
        for key, value in line.items():
            if "list" in types[key]:
                assert all(fits(one, types[key]["list"]) for one in value or ()), key
            elif "struct" in types[key]:
                assert list(value) == [one["name"] for one in types[key]["struct"]]
                assert all(fits(value[one["name"]], one["dtype"]) for one in types[key]["struct"])
            else:
                assert fits(value, types[key]["dtype"]), key


def test_what_is_covered_on_the_site_is_covered_here(settings: Settings, tmp_path: Path) -> None:
    site = read(settings)
    first = site.runs[0]
    files = tuple(
        replace(one, hidden=(Span(4, 9, "a rule"),)) if one.name == "solution.py" else one
        for one in first.files
    )
    covered = structs.replace(first, files=files)
    write_dataset(replace(site, runs=(covered, *site.runs[1:])), tmp_path / "dataset")
    text = (tmp_path / "dataset" / "solutions" / first.run.id / "solution.py").read_text()

    assert "solve" not in text
    assert len(text) == (first.folder / "solution.py").stat().st_size


def test_the_same_runs_make_the_same_files_and_replace_them(
    settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    ran = CliRunner().invoke(kbsite, ["export", "hf", str(out), "--config", str(settings.path)])
    first = tree(out)
    (out / "stray").write_text("left from before")
    write_dataset(read(settings), out)

    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, f"{out}\n", "2 runs\n")
    assert tree(out) == first


def test_the_command_covers_what_the_site_covers(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    token = "ghp_" + "A1b2C3d4E5" * 3 + "x9Y8z7"
    said = f"export GITHUB_TOKEN={token}".encode()
    make_run(
        settings.runs / "demo", model="three", transcript={"stdout.jsonl": said},
        files={"solution.py": said, f"files/{token}.py": b""}, notes=[said.decode()],
        audit={"summary": said.decode()},
    )  # fmt: skip
    out = tmp_path / "dataset"
    ran = CliRunner().invoke(kbsite, ["export", "hf", str(out), "--config", str(settings.path)])
    held = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())

    assert ran.exit_code == 0
    assert token.encode() not in held
    assert not list(out.rglob(f"*{token}*"))
    assert b"export GITHUB_TOKEN=" in held


def test_the_history_of_a_dataset_that_is_pushed_outlives_the_next_export(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (out / ".gitattributes").write_text("*.jsonl filter=lfs")
    before = tree(out)
    write_dataset(read(settings), out)
    assert tree(out) == before

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dataset, "_put_aside", lambda old, _: killed() if old.exists() else None)
        with pytest.raises(KeyboardInterrupt):
            write_dataset(read(settings), out)
    assert not (out / ".git").exists()
    write_dataset(read(settings), out)
    assert tree(out) == before
    assert not (tmp_path / "dataset.partial").exists()


def test_what_a_link_leads_to_is_replaced_with_all_that_is_gone(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    out = tmp_path / "dataset"
    out.symlink_to(tmp_path / "disk")
    write_dataset(read(settings), out)
    gone = next(path for path in settings.runs.rglob("run.json")).parent
    for _ in range(2):
        shutil.rmtree(gone, ignore_errors=True)
        write_dataset(read(settings), out)

    assert out.is_symlink()
    assert not [path for path in out.rglob("*") if gone.name in str(path)]
    assert sorted(path.name for path in tmp_path.glob("dataset*")) == ["dataset"]


def test_nothing_that_an_export_did_not_make_is_replaced(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    (tmp_path / "mine").rename(tmp_path / "other.partial")
    with pytest.raises(UsageError, match=r"other\.partial: .*not replaced"):
        write_dataset(read(settings), tmp_path / "other")
    (tmp_path / "other.partial").rename(tmp_path / "mine")
    for place in (tmp_path / "mine", tmp_path / "mine" / "file"):
        with pytest.raises(UsageError, match=r"not replaced|a file"):
            write_dataset(read(settings), place)
    assert (tmp_path / "mine" / "file").read_text() == "precious"
