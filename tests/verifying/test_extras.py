"""A site is verified alike whether the extras that it was made with are installed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.feeds import cards, parquet
from kbsite.model.finding import Severity
from kbsite.verifying import verify
from kbsite.verifying.drawn import MOST, Drawn
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import URL, copy_of, errors, replace_in

EXTRAS = (parquet, cards)


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory, make_settings: MakeSettings, make_run: MakeRun
) -> Path:
    home = tmp_path_factory.mktemp("site")
    settings = make_settings(home, site={"url": URL, "bundles": True})
    make_run(settings.runs / "demo", metrics={"status": "wrong"})
    return build(settings).out


def _without(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in EXTRAS:
        monkeypatch.setattr(extra, "available", lambda: False)


def test_whoever_lacks_the_extras_is_told_what_was_not_compared(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(monkeypatch)
    found = list(verify(FolderPlace(site)))

    assert [one.severity for one in found] == [Severity.WARNING] * 2, found
    lacking = {Path(one.path).suffix: one.message for one in found}
    assert "kbsite[parquet]" in lacking[".parquet"]
    assert "kbsite[cards]" in lacking[".png"]


def test_whoever_lacks_the_extras_finds_what_was_falsified(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    replace_in(spoilt, "demo/index.html", "card.png", "card.jpg")
    _without(monkeypatch)

    assert [one.path for one in errors(spoilt)] == ["demo/index.html"]


def test_a_site_made_without_the_extras_follows_where_they_are_installed(
    make_settings: MakeSettings, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(tmp_path, site={"url": URL})
    make_run(settings.runs / "demo", metrics={"status": "wrong"})
    with monkeypatch.context() as patched:
        _without(patched)
        out = build(settings).out

    assert not {path.suffix for path in out.rglob("*")} & {".png", ".parquet", ".zst"}
    assert errors(out) == []


def test_a_table_that_was_taken_away_is_missed(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    (spoilt / "data/runs.parquet").unlink()

    assert [one.path for one in errors(spoilt)] == ["data/index.html"]


def test_a_picture_that_shows_something_else_is_told(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "spoilt")
    first, *others = sorted(path.relative_to(spoilt) for path in spoilt.rglob("card.png"))
    drawn = (spoilt / first).with_suffix(".svg").read_text("utf-8")
    (spoilt / first).write_bytes(cards.png(drawn.replace("</text>", ", 0.99</text>", 1)))

    assert others
    assert not list(verify(FolderPlace(site)))
    (told,) = verify(FolderPlace(spoilt))
    assert (told.path, told.severity) == (str(first), Severity.WARNING)
    assert f"not what is drawn here of its figures, as {len(others)} pictures are" in told.message


def test_a_site_whose_pictures_another_machine_drew_is_told_once(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cards.png
    monkeypatch.setattr(cards, "png", lambda drawn: own(drawn.replace('fill="#', 'fill="#1')))
    (told,) = verify(FolderPlace(site))

    assert told.severity is Severity.WARNING
    assert "drawn otherwise than here, like all" in told.message
    assert "held against nothing" in told.message


@pytest.mark.parametrize("others", [MOST, MOST + 1, MOST + 7])
def test_of_many_pictures_that_differ_some_are_named(others: int) -> None:
    drawn = Drawn()
    drawn.take("same", b"1", b"1")
    for number in range(others):
        drawn.take(f"{number}", b"1", b"2")
    found = list(drawn.findings())

    assert len(found) == min(others, MOST + 1)
    if others > MOST:
        assert found[-1].message == f"nor is this, nor {others - MOST - 1} more"
