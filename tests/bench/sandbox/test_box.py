"""What a box may be asked to be, and how its end is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.sandbox.box import Box, Claim, Ending, Limits, Proven
from kbsite.errors import UsageError

LOG = Path("log")


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up", "a/../../b", "a//b", "./a", ".", "", "a/", "nul\0", "a/./b"],
)
def test_names_of_files_stay_in_the_folder(name: str) -> None:
    with pytest.raises(UsageError, match=r"Box\.files: .* is not a plain path"):
        Box(log=LOG, files={name: b""})


def test_a_file_cannot_lie_below_a_file() -> None:
    with pytest.raises(UsageError, match=r"Box\.files: 'a/b/c' lies below a file"):
        Box(log=LOG, files={"a": b"", "a/b/c": b""})


@pytest.mark.parametrize("place", ["/", "/tmp", "/proc", "/proc/1", "/dev", "/dev/shm", "/box/x"])
def test_what_every_box_has_cannot_be_covered(place: str) -> None:
    with pytest.raises(UsageError, match="would cover, or lie in, what every box has"):
        Box(log=LOG, readable=(Path(place),))


@pytest.mark.parametrize("place", ["usr", "/usr/../root"])
def test_places_are_absolute(place: str) -> None:
    with pytest.raises(UsageError, match="is not an absolute path"):
        Box(log=LOG, readable=(Path(place),))
    with pytest.raises(UsageError, match="is not an absolute path"):
        Box(log=LOG, devices=(Path(place),))


def test_input_and_output_cannot_be_passed() -> None:
    with pytest.raises(UsageError, match=r"Box\.pass_fds: 2, expected 3 or more"):
        Box(log=LOG, pass_fds=(5, 2))


def test_limits_are_numbers_that_can_be_kept() -> None:
    assert Limits(memory_bytes=None, log_bytes=0).log_bytes == 0
    for name in ("memory_bytes", "processes", "log_bytes", "scratch_bytes"):
        with pytest.raises(UsageError, match=rf"Limits\.{name}: -1, expected"):
            Limits(**{name: -1})


def test_every_ending_is_told_in_a_sentence() -> None:
    assert Ending(exit_code=3).sentence == "it exited with code 3"
    assert Ending(signal=11).sentence == "it was ended by signal SIGSEGV"
    assert Ending(signal=63).sentence == "it was ended by signal 63"
    assert Ending(killed=True).sentence == "it was killed while it ran"
    assert "more memory" in Ending(killed=True, over_memory=True).sentence
    assert Ending(exit_code=0, over_log=5).sentence == (
        "it exited with code 0; 5 bytes of output over the limit were dropped"
    )


def test_what_was_proven_is_written_as_plain_values() -> None:
    claim = Claim(name="user", held=True, how="looked", seen="uid 7")
    proven = Proven(sandbox="namespaces", level="L1", claims=(claim,), facts={"memory": "x"})
    assert proven.as_dict() == {
        "sandbox": "namespaces",
        "level": "L1",
        "claims": [{"name": "user", "held": True, "how": "looked", "seen": "uid 7"}],
        "facts": {"memory": "x"},
    }
