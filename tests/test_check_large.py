"""Files among problems that are larger than anybody can read are told, and not read."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from kbsite.cli import kbsite
from tests.conftest import MakeProblem


def test_a_sparse_file_of_many_terabytes_is_told_at_once(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    folder = make_problem(tmp_path / "problems")
    (tmp_path / "kbsite.yaml").write_text("title: a\n")
    with (folder / "data.bin").open("wb") as stream:
        stream.truncate(1 << 43)
    done = CliRunner().invoke(kbsite, ["check", "--config", str(tmp_path / "kbsite.yaml")])

    assert done.exit_code == 1
    assert "expected at most 1000000000 in a file of a problem" in done.output
