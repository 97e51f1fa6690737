"""Scripts of the site: each is a file that can be read at once, some are joined for the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbsite import assets
from tests.in_page import BOOT

STATIC = Path(__file__).parents[1] / "static"
SCRIPTS = [path for path in sorted(STATIC.rglob("*.js")) if path.parent.name != "vendor"]
MOST_LINES = 400
"""As of modules in Python."""

each = pytest.mark.parametrize(
    "path", SCRIPTS, ids=[path.relative_to(STATIC).as_posix() for path in SCRIPTS]
)
joined = pytest.mark.parametrize("name", assets.JOINED)


def parts(name: str) -> list[Path]:
    """The files that a joined script is made of, in their order."""
    held = [path for path in SCRIPTS if path.parent.name in (name.removesuffix(".js"), assets.EACH)]
    named = {path.stem: path for path in held}
    return [named[part] for part in assets.JOINED[name]]


@each
def test_a_script_can_be_read_at_once(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@each
def test_a_script_says_first_what_it_is_for(path: Path) -> None:
    assert re.match(r"// [A-Z].*\n(//.*\n)*\"use strict\";\n\n", path.read_text("utf-8"))


def test_each_script_comes_to_the_site_once_by_itself_or_within_another() -> None:
    held = [path for _, made_of in assets.static_files() for path in made_of]
    again = {path for path in held if held.count(path) > 1}

    assert again == set((STATIC / assets.EACH).iterdir())
    assert set(held) == {path for path in STATIC.rglob("*") if path.is_file()}
    for name in assets.JOINED:
        assert not (STATIC / name).exists()


@joined
def test_a_joined_script_holds_all_lines_of_its_files_but_comments(name: str) -> None:
    lines = [line for path in parts(name) for line in path.read_text("utf-8").splitlines()]
    told = assets.static(name).decode("utf-8").splitlines()

    assert told == [line for line in lines if not line.strip().startswith("//")]


@joined
def test_no_text_in_a_joined_script_has_a_second_line_that_could_look_like_a_comment(
    name: str,
) -> None:
    for path in parts(name):
        assert all(line.count("`") % 2 == 0 for line in path.read_text("utf-8").splitlines())


def test_steps_that_are_not_there_have_the_room_that_they_had_before_the_script_came() -> None:
    """Else a page would jump under whoever scrolled it meanwhile."""
    heights = re.findall(r"STEP_HEIGHT = (\d+);", (STATIC / "run" / "parts.js").read_text("utf-8"))

    assert heights == re.findall(r"reserve\(([1-9]\d*)\)", BOOT)


def test_a_click_waits_for_the_script_where_that_copies_the_address_of_the_link() -> None:
    """The first script stands in the page itself, and shares no file with the one that copies."""
    (links,) = re.findall(r'PERMALINKS = ("[^"]+");', (STATIC / "each/copying.js").read_text())

    assert BOOT.count(f"place.matches({links})") == 1
