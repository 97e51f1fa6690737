from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.model.problem import Bound, Dtype, Role, Tensor
from kbsite.model.problem_files import LONGEST
from kbsite.store.problems import folders_and_links, problem_folders, read_problem
from kbsite.store.records import InvalidFileError
from tests.conftest import MakeProblem


def test_a_problem_is_read_whole(tmp_path: Path, make_problem: MakeProblem) -> None:
    stored = read_problem(make_problem(tmp_path, "01_gemm", tags=["a"], forbidden=["torch.mm"]))
    assert stored.id == "01_gemm"
    assert stored.problem.shapes == ({"id": "long", "n": 1024},)
    assert list(stored.problem.tensors) == ["x", "y"]
    assert stored.problem.outputs == {
        "y": Tensor(role=Role.OUT, dtype=Dtype.FP32, shape=("n",), bound=Bound(rms=1e-5))
    }
    assert stored.problem.forbidden == ("torch.mm",)
    assert stored.problem.flops == {"fp32": "5 * n"}
    assert stored.prompt.startswith("# Softmax")
    assert stored.reference.startswith("def reference")
    assert len(stored.hash) == 64


def test_the_hash_changes_with_every_file(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_problem(tmp_path)
    seen = {read_problem(folder).hash}
    for name in ("prompt.md", "reference.py", "problem.yaml"):
        with (folder / name).open("a") as stream:
            stream.write("# more\n")
        seen.add(read_problem(folder).hash)
    assert len(seen) == 4
    elsewhere = make_problem(tmp_path / "copy")
    assert read_problem(elsewhere).hash in seen


def test_files_that_are_not_there_are_empty(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_problem(tmp_path)
    (folder / "prompt.md").unlink()
    (folder / "reference.py").unlink()
    (folder / "reference.py").symlink_to("/etc/hostname")
    stored = read_problem(folder)
    assert (stored.prompt, stored.reference) == ("", "")


def test_a_statement_that_is_no_utf8(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_problem(tmp_path)
    (folder / "prompt.md").write_bytes(b"caf\xe9\n")
    assert read_problem(folder).prompt == "caf\ufffd\n"


def test_a_statement_starts_with_its_first_letter_and_ends_its_lines_as_all_do(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    folder = make_problem(tmp_path)
    (folder / "prompt.md").write_bytes(b"\xef\xbb\xbf# Title\r\n\r\ntext\r")
    assert read_problem(folder).prompt == "# Title\n\ntext\n"


@pytest.mark.parametrize("name", ["prompt.md", "reference.py"])
def test_a_text_that_is_too_long_to_show_is_told_and_not_read(
    tmp_path: Path, make_problem: MakeProblem, name: str
) -> None:
    folder = make_problem(tmp_path)
    with (folder / name).open("wb") as stream:
        stream.truncate(LONGEST + 1)
    with pytest.raises(InvalidFileError, match=rf"{name}: too large; expected at most"):
        read_problem(folder)


def test_a_folder_without_problem_yaml(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(InvalidFileError, match=r"problem\.yaml: no such file"):
        read_problem(tmp_path / "x")


def test_folders_of_problems(tmp_path: Path, make_problem: MakeProblem) -> None:
    expected = [make_problem(tmp_path, name) for name in ("01_a", "02_b", "10_c")]
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "link").symlink_to(expected[0])
    (tmp_path / "lost").symlink_to("nowhere")
    assert problem_folders(tmp_path) == expected
    assert problem_folders(tmp_path / "none") == []
    assert [one.text for one in folders_and_links(tmp_path)[1]] == [
        f"{tmp_path}/link: warning: not read: a symbolic link; move or copy the folder here"
    ]
    assert folders_and_links(tmp_path / "none") == ([], [])


def test_a_file_that_nobody_has_the_time_to_read_is_told_at_once(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    folder = make_problem(tmp_path)
    with (folder / "data.bin").open("wb") as stream:
        stream.truncate(1 << 43)

    with pytest.raises(InvalidFileError, match=r"data\.bin: 8796093022208 bytes; expected"):
        read_problem(folder)
