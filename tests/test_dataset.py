"""The runs as a dataset: what the hub reads, and what a person finds in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from msgspec import structs

from kbsite import dataset
from kbsite.cli import kbsite
from kbsite.dataset import LINE, MARKER, card, write_dataset
from kbsite.dataset.card import card_at
from kbsite.dataset.kept import STAGE
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.redaction import Span
from kbsite.pages import listing
from kbsite.reading import read
from kbsite.store.settings import Settings
from kbsite.store.swapping import put_in_place
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


def test_names_that_are_no_utf_8_leave_lines_that_every_reader_takes(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    odd = {os.fsdecode(b"a\xff.jsonl"): b"{}\n"}
    folder = make_run(settings.runs / "demo", transcript=odd, audit={})
    folder.rename(folder.with_name(os.fsdecode(b"odd\xff")))
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    text = (out / "runs.jsonl").read_text()
    [run] = [one for one in lines(out) if one["id"].startswith("odd")]

    assert "\\ud" not in text
    assert run["id"] == "odd\\xff"
    assert run["transcripts"] == ["transcripts/odd%FF/a%FF.jsonl"]
    for name in [*run["transcripts"], *run["solutions"], run["annotation"]]:
        assert (out / name).is_file(), name


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
    text = card(site, listing.listed(site)).whole
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
        if kind == "timestamp[us, tz=UTC]":
            return value is None or datetime.fromisoformat(str(value)).tzinfo is not None
        right = isinstance(value, kinds[kind]) and isinstance(value, bool) == (kind == "bool")
        return value is None or right

    assert told["config_name"] == "runs"
    # As text, whole seconds in all lines would make readers drop the zone.
    assert types["started"]["dtype"] == "timestamp[us, tz=UTC]"
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


@pytest.mark.parametrize("folder", ["runs", "problems", "site"])
def test_a_dataset_is_no_part_of_what_it_is_made_of_and_none_of_a_site(
    settings: Settings, folder: str
) -> None:
    """The next build of a site throws away what it did not make."""
    out = settings.path.parent / folder / "dataset"
    with pytest.raises(UsageError, match=f"within the folder of the {folder}"):
        CliRunner().invoke(
            kbsite, ["export", "hf", str(out), "--config", str(settings.path)],
            catch_exceptions=False,
        )  # fmt: skip
    assert not out.exists()


def test_the_same_runs_make_the_same_files_and_replace_them(
    settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    ran = CliRunner().invoke(kbsite, ["export", "hf", str(out), "--config", str(settings.path)])
    first = tree(out)
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


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_written(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    (make_run(settings.runs / "demo", model="three") / "run.json").write_text("{")
    out = tmp_path / "dataset"
    ran = CliRunner().invoke(kbsite, ["export", "hf", str(out), "--config", str(settings.path)])

    assert (ran.exit_code, ran.stdout) == (1, f"{out}\n")
    assert "run.json:1: error: not valid JSON" in ran.stderr
    assert ran.stderr.endswith("2 runs\n")


def test_a_dataset_outlives_runs_that_are_all_gone_at_once(
    settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    stood = tree(out)
    settings.runs.rename(tmp_path / "away")
    with pytest.raises(InputError, match="no run was found, and the dataset that stands has runs"):
        write_dataset(read(settings), out)
    assert tree(out) == stood
    assert write_dataset(read(settings), tmp_path / "another") == 0


@pytest.mark.parametrize("name", ["solution.py", "transcript/stdout.jsonl", "files/k.cu"])
@pytest.mark.parametrize("linked", [False, True], ids=["gone", "a link by now"])
def test_a_file_that_is_gone_since_its_run_was_read_leaves_the_dataset_as_it_was(
    settings: Settings, make_run: MakeRun, tmp_path: Path, name: str, *, linked: bool
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    before = tree(out)
    run = make_run(settings.runs / "demo", model="three", files={name: b"it holds something"})
    site = read(settings)
    (run / name).unlink()
    if linked:
        (run / name).symlink_to(tmp_path / "kbsite.yaml")

    with pytest.raises(MachineError, match=f"{name}: cannot be read any more: .* export it again"):
        write_dataset(site, out)
    assert tree(out) == before


def test_the_history_of_a_dataset_that_is_pushed_outlives_the_next_export(
    settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (out / ".gitattributes").write_text("*.jsonl filter=lfs")
    before = tree(out)
    write_dataset(read(settings), out)
    assert tree(out) == before


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("at", range(1, 7))
def test_an_export_mends_what_one_that_was_killed_left(
    at: int, first: bool, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, wanted = tmp_path / "dataset", tmp_path / "wanted"
    later = replace(read(settings), runs=read(settings).runs[1:])
    (out / ".git").mkdir(parents=True)
    if not first:
        write_dataset(read(settings), out)
        (out / "transcripts" / "why.md").write_text("mine")
        shutil.copytree(out, wanted)
        write_dataset(later, wanted)
    left = iter(range(1, at))

    def killed(new: Path, place: Path) -> None:
        if next(left, 0) == 0:
            raise KeyboardInterrupt
        put_in_place(new, place)

    with monkeypatch.context() as patched:
        patched.setattr(dataset, "put_in_place", killed)
        with contextlib.suppress(KeyboardInterrupt):
            write_dataset(later, out)
    assert (out / ".git").is_dir()
    for _ in range(2):
        write_dataset(later, out)
    if not first:
        assert tree(out) == tree(wanted)
    assert {path.name for path in out.glob(".kb*")} == {MARKER}


def test_half_a_file_that_a_killed_export_left_is_no_part_of_the_next(
    settings: Settings, tmp_path: Path
) -> None:
    out, wanted = tmp_path / "dataset", tmp_path / "wanted"
    for folder in (out, wanted):
        write_dataset(read(settings), folder)
    (out / STAGE).mkdir()
    (out / STAGE / ".0123456789abcdef.partial").write_text("half")
    write_dataset(read(settings), out)

    assert tree(out) == tree(wanted)


def test_exports_into_one_folder_wait_for_each_other(settings: Settings, tmp_path: Path) -> None:
    out, wanted, site = tmp_path / "dataset", tmp_path / "wanted", read(settings)
    write_dataset(site, wanted)
    with ThreadPoolExecutor(3) as pool:
        exports = [pool.submit(write_dataset, site, out) for _ in range(30)]
    for export in exports:
        assert export.result() == 2

    assert tree(out) == tree(wanted)


def test_who_stands_in_the_folder_stays_there(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "dataset"
    out.mkdir()
    monkeypatch.chdir(out)
    for _ in range(2):
        write_dataset(read(settings), Path())
        assert len(lines(Path())) == 2


def test_what_a_person_put_beside_the_dataset_stays(settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    gone = next(path for path in settings.runs.rglob("run.json")).parent
    added = {"LICENSE": "mine", "images/a/b.png": "", f"transcripts/{gone.name}/why.md": "so"}
    for name, text in added.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)
    shutil.rmtree(gone)
    for _ in range(2):
        write_dataset(read(settings), out)
        there = tree(out)
        written = {name for run in lines(out) for name in [*run["transcripts"], *run["solutions"]]}
        annotated = {run["annotation"] for run in lines(out) if run["annotation"]}

        assert len(lines(out)) == 1
        assert set(there) == written | annotated | {*added, "README.md", "runs.jsonl", MARKER}
        assert [(out / name).read_text() for name in added] == [*added.values()]


def test_what_a_person_wrote_into_the_card_stays(settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    made = (out / "README.md").read_text()
    assert "license" not in made
    told = made.replace("---\n", "---\nlicense: mit\n", 1).replace("- benchmark", "- mine")
    (out / "README.md").write_text(f"{told}\n## Thanks\n".replace("\n", "\r\n"), newline="")
    later = replace(read(settings), runs=read(settings).runs[:1])
    for _ in range(2):
        write_dataset(later, out)
        _, head, body = (out / "README.md").read_text().split("---\n", 2)

        assert yaml.safe_load(head)["license"] == "mit"
        assert yaml.safe_load(head)["tags"][-1] == "mine"
        assert body.endswith(f"{LINE}\n\n## Thanks\n")
        assert "1 run of coding agents" in body

    (out / "README.md").write_text(made.replace("coding agents", "agents"))
    before = tree(out)
    with pytest.raises(UsageError, match=r"README\.md: changed by hand, so not replaced"):
        write_dataset(later, out)
    assert tree(out) == before
    assert not (tmp_path / "dataset.partial").exists()


def test_an_empty_repository_of_the_hub_takes_a_dataset(settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    (out / ".git").mkdir(parents=True)
    (out / ".gitattributes").write_text("*.parquet filter=lfs")
    (out / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage:\n- en\n---\n")
    write_dataset(read(settings), out)
    _, head, _ = (out / "README.md").read_text().split("---\n", 2)

    assert yaml.safe_load(head)["license"] == "cc-by-4.0"
    assert yaml.safe_load(head)["language"] == ["en"]
    assert (out / ".git").is_dir()
    assert (out / ".gitattributes").read_text() == "*.parquet filter=lfs"


@pytest.mark.parametrize("head", ["on: 2026-99-99", "a: " + "[" * 5000, f"a: {'1' * 5000}", "{"])
def test_a_card_whose_head_cannot_be_read_is_told_and_kept(head: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\nMine\n")

    with pytest.raises(UsageError, match=r"README\.md: its head is no YAML, so it is not replaced"):
        card_at(tmp_path)


def test_a_file_of_a_person_is_not_replaced_by_one_of_a_run(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    (out / "transcripts" / "new").mkdir()
    (out / "transcripts" / "new" / "stdout.jsonl").write_text("mine")
    before = tree(out)
    make_run(settings.runs / "demo", run_id="new", transcript={"stdout.jsonl": b"{}\n"})
    with pytest.raises(
        UsageError, match=r"transcripts/new: not made by an export, so not replaced"
    ):
        write_dataset(read(settings), out)
    assert tree(out) == before


@pytest.mark.parametrize("told", ["", "{", "[]", '{"cards": 1, "files": 3}'])
def test_a_marker_that_tells_nothing_leaves_what_no_export_writes(
    told: str, settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    write_dataset(read(settings), out)
    before = tree(out)
    (out / MARKER).write_text(told)
    (out / "transcripts" / "old").write_text("of a run that is gone")
    (out / "LICENSE").write_text("mine")
    write_dataset(read(settings), out)

    assert set(tree(out)) == {*before, "LICENSE"}


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
    for place in (tmp_path / "mine", tmp_path / "mine" / "file"):
        with pytest.raises(UsageError, match=r"not replaced|is no folder"):
            write_dataset(read(settings), place)
    assert (tmp_path / "mine" / "file").read_text() == "precious"
