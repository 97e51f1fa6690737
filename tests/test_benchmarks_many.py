"""The benchmark of many runs builds the same site each time, and tells what its builds did."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.many import costs, counts, write_many
from kbsite.model.counts import number_of
from kbsite.reading import read
from kbsite.store.manifests import manifest_findings
from kbsite.store.settings import read_settings
from tests.trees import tree


def test_the_runs_are_sound_and_the_same_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for home in (one, other):
        home.mkdir()
        write_many(home, 12)
    site = read(read_settings(one / "kbsite.yaml"))

    assert tree(one) == tree(other)
    assert site.findings == ()
    assert [finding for stored in site.runs for finding in manifest_findings(stored)] == []
    assert len(site.runs) == 12
    # Most of a cell's runs are attempts of one contender.
    assert max(len(held) for held in site.attempts.values()) == 4


def test_each_change_is_told_with_what_it_made_a_build_do(tmp_path: Path) -> None:
    write_many(tmp_path, 5)
    held = costs(tmp_path, 5, times=1)

    assert list(held) == ["all", "nothing", "an audit", "a run more", "a line more"]
    assert held["all"].parsed == 5
    assert (held["nothing"].parsed, held["nothing"].rendered, held["nothing"].written) == (0, 0, 0)
    assert (held["an audit"].parsed, held["a line more"].parsed) == (1, 1)
    assert 1 <= held["a run more"].parsed <= 2
    assert all(one.processor > 0 < one.memory for one in held.values())


@pytest.mark.parametrize(("read", "rendered", "written"), [(1, 0, 1), (2_000, 4_826, 35_358)])
def test_what_a_build_says_is_read_as_it_writes_numbers(
    read: int, rendered: int, written: int
) -> None:
    told = ", ".join(
        (f"{number_of(read, 'transcript')} read", f"{number_of(rendered, 'page')} rendered",
         f"{number_of(written, 'file')} written", "1,234 kept")
    )  # fmt: skip

    assert counts(f"no errors\n{told}\n") == (read, rendered, written)
    with pytest.raises(ValueError, match="no errors"):
        counts("no errors")
