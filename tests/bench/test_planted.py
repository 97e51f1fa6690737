"""The search for a planted secret finds it in each form, anywhere: else none says nothing."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest

from tests.bench import planted as searching
from tests.bench.planted import Found, forms, planted

SECRET = "sk-planted/Key+0123456789=~?>"


@pytest.mark.parametrize("form", list(forms(SECRET)))
def test_each_form_is_found(form: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "run.json").write_bytes(b"before " + forms(SECRET)[form] + b" behind")
    assert Found("deep/run.json", form, "content") in planted(tmp_path, SECRET)


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "Bearer "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_found_wherever_the_secret_begins_in_it(
    before: str, encode: object, tmp_path: Path
) -> None:
    assert callable(encode)
    (tmp_path / "file").write_bytes(encode(f"{before}{SECRET} and so on".encode()))
    assert any("base64" in one.form for one in planted(tmp_path, SECRET))


def test_a_secret_across_two_pieces_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "PIECE", 40)
    for at in range(30, 45):
        (tmp_path / f"{at}").write_bytes(b"-" * at + SECRET.encode() + b"-" * 50)
    found = [one.path for one in planted(tmp_path, SECRET) if one.form == "plain"]
    assert sorted(found) == [str(at) for at in range(30, 45)]


def test_names_links_and_packed_files_are_searched(tmp_path: Path) -> None:
    plain = "sk-planted-0123456789"
    (tmp_path / plain).mkdir()
    (tmp_path / "link").symlink_to(f"/nowhere/{plain}")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(plain.encode()))
    found = {(one.path, one.where) for one in planted(tmp_path, plain) if one.form == "plain"}
    assert found == {(plain, "name"), ("link", "link"), ("packed.gz", "unpacked")}


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("sk-kept-by-the-proxy")
    assert planted(tmp_path, SECRET) == []


def test_a_search_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing was searched"):
        planted(tmp_path, SECRET)


def test_a_secret_that_stands_anywhere_by_chance_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="by chance"):
        planted(tmp_path, "key")
