"""Large raw files can be had compressed, too."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest

from kbsite.build import build, override
from kbsite.pages.file_names import LARGE, gzip_path, raw_path
from kbsite.single_file import write
from kbsite.store.files import Stored, gzipped
from tests.conftest import MakeRun, MakeSettings

LOG = "home/.claude/projects/-w/s.jsonl"
SHOWN = "home/dot.claude/projects/-w/s.jsonl"
LINE = b'{"type": "queue-operation"}\n'


def test_a_large_file_is_there_compressed_and_linked_and_a_small_one_is_not(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    large = LINE * (LARGE // len(LINE) + 1)
    files = {LOG: large, "stdout.jsonl": LINE}
    run = make_run(tmp_path / "runs" / "demo", run_id="one", transcript=files)
    site = build(settings).out
    packed = list(site.rglob("*.gz"))
    page = (site / "runs" / run.name / "index.html").read_text("utf-8")

    assert [path.relative_to(site).as_posix() for path in packed] == [
        f"runs/one/raw/transcript/{SHOWN}.gz"
    ]
    assert gzip.decompress(packed[0].read_bytes()) == large
    assert re.findall(r'href="([^"]*\.gz)">([^<]*)<', page) == [
        (f"../../runs/one/raw/transcript/{SHOWN}.gz", "compressed")
    ]
    again = build(override(settings, None, None, tmp_path / "again")).out
    assert next(again.rglob("*.gz")).read_bytes() == packed[0].read_bytes()


def test_a_single_file_does_not_offer_it(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    large = LINE * (LARGE // len(LINE) + 1)
    make_run(tmp_path / "runs" / "demo", run_id="one", transcript={LOG: large})
    whole = write(settings, "one", tmp_path / "one.html").path.read_text("utf-8")

    assert f"transcript/{LOG}" in whole
    assert "compressed</" not in whole
    assert "> compressed" not in whole.partition("<main")[2].partition("<noscript><p")[0]


def test_the_bytes_know_nothing_of_name_and_age(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(LINE * 1000)
    shutil.copyfile(one, other)

    size = len(LINE) * 1000
    packed = b"".join(gzipped(Stored("one", str(one), size)))

    assert packed == b"".join(gzipped(Stored("other", str(other), size)))
    assert gzip.decompress(packed) == LINE * 1000


@pytest.mark.parametrize("name", ["stdout.jsonl", "x.html", "x" * 255, "a.txt/b", "s.jsonl.gz"])
def test_no_compressed_file_stands_where_another_one_does(name: str) -> None:
    packed = gzip_path("r", Stored(name, name, LARGE))

    assert packed is not None
    assert packed.endswith(".gz")
    assert len(packed.rpartition("/")[2].encode()) <= 255
    assert packed != raw_path("r", f"{name}.gz")
    assert gzip_path("r", Stored(name, name, LARGE - 1)) is None
