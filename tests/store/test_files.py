from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.model.finding import Severity
from kbsite.store import writing
from kbsite.store.files import Refused, contents, digest, folder_digest
from kbsite.store.writing import json_text, write_bytes, write_text

ODD_NAMES = [
    "a\nb",
    "<script>alert(1)<svg onload=x>",
    os.fsdecode(b"caf\xe9"),
    "-rf",
    "a b\t",
    "..x",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_of_any_name_is_listed(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_bytes(b"abc")
    ((file,), refused) = contents(tmp_path)
    assert (file.name, file.size) == (f"sub/{name}", 3)
    assert file.path.read_bytes() == b"abc"
    assert refused == []
    folder_digest(tmp_path)


def test_nothing_outside_the_folder_is_reached(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    run = tmp_path / "run"
    run.mkdir()
    (run / "to-file").symlink_to(outside / "secret")
    (run / "to-folder").symlink_to(outside)
    (run / "up").symlink_to("..")
    (run / "self").symlink_to("self")
    (run / "loop").symlink_to(run)
    (run / "dangling").symlink_to("/nowhere")
    os.mkfifo(run / "pipe")
    (run / "kept").write_text("kept")
    files, refused = contents(run)
    assert [file.name for file in files] == ["kept"]
    expected = "expected a file or a folder"
    assert refused == [
        Refused("dangling", "a symbolic link (to /nowhere)", expected),
        Refused("loop", f"a symbolic link (to {run})", expected),
        Refused("pipe", "a pipe, a socket or a device", expected),
        Refused("self", "a symbolic link (to self)", expected),
        Refused("to-file", f"a symbolic link (to {outside / 'secret'})", expected),
        Refused("to-folder", f"a symbolic link (to {outside})", expected),
        Refused("up", "a symbolic link (to ..)", expected),
    ]


def test_a_folder_as_deep_as_can_be_is_listed(deep_folder: Path) -> None:
    (deep_folder / "f").write_text("x")
    top = next(folder for folder in deep_folder.parents if folder.name != "d")
    files, refused = contents(top)
    assert [file.name for file in files] == [f"{deep_folder.relative_to(top)}/f"]
    assert refused == []


def test_a_folder_that_is_too_deep_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(20):
        Path("d" * 250).mkdir()
        monkeypatch.chdir("d" * 250)
    monkeypatch.chdir(tmp_path)
    files, (refused,) = contents(tmp_path)
    assert files == []
    assert "cannot be" in refused.reason


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    why = "cannot be listed: No such file or directory"
    assert contents(tmp_path / "no") == ([], [Refused(".", why, severity=Severity.ERROR)])


def test_the_order_is_that_of_the_names(tmp_path: Path) -> None:
    for name in ("b", "a/z", "a.x", "B"):
        write_text(tmp_path / name, name)
    assert [file.name for file in contents(tmp_path)[0]] == ["B", "a.x", "a/z", "b"]


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    write_bytes(tmp_path / "f", b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest(tmp_path / "f") == expected


CHANGES: list[tuple[str, Callable[[Path], object]]] = [
    ("content", lambda folder: (folder / "a").write_text("2")),
    ("name", lambda folder: (folder / "a").rename(folder / "b")),
    ("folder", lambda folder: write_text(folder / "sub" / "x", "")),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[n for n, _ in CHANGES])
def test_the_digest_of_a_folder_changes_with(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    write_text(tmp_path / "a", "1")
    before = folder_digest(tmp_path)
    assert folder_digest(tmp_path) == before
    change(tmp_path)
    assert folder_digest(tmp_path) != before


def test_caches_and_hidden_files_do_not_count(tmp_path: Path) -> None:
    write_text(tmp_path / "reference.py", "x = 1\n")
    before = folder_digest(tmp_path)
    write_text(tmp_path / "__pycache__" / "reference.cpython-311.pyc", "x")
    write_text(tmp_path / ".reference.py.swp", "x")
    write_text(tmp_path / ".git" / "HEAD", "x")
    assert folder_digest(tmp_path) == before


def test_names_cannot_pass_for_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_text(one / "a", "1")
    write_text(one / "b", "2")
    write_text(two / f"a\n{digest(one / 'b')}  b", "1")
    assert folder_digest(one) != folder_digest(two)


@pytest.mark.parametrize("name", [*ODD_NAMES, "x" * 255, "é" * 127])
def test_a_file_is_written_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    write_bytes(path, b"one")
    write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    write_text(path, "old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text() == "old"


def test_a_neighbour_that_is_called_partial_is_left_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "f.partial", "mine")
    write_text(tmp_path / "f", "x")
    assert (tmp_path / "f.partial").read_text() == "mine"


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    write_text(tmp_path / "f", "a\r\nb\n")
    assert (tmp_path / "f").read_bytes() == b"a\r\nb\n"


def test_json_text() -> None:
    assert json_text({"ä": [1, None]}) == '{\n  "ä": [\n    1,\n    null\n  ]\n}\n'
    assert json_text({os.fsdecode(b"\xff"): 1}) == '{\n  "\\udcff": 1\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": float("nan")})
    assert writing.json_text(("a",)) == '[\n  "a"\n]\n'
