"""The theme's colours can be read: contrast as WCAG 2.2 defines it, on every ground they stand."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from kbsite import assets
from kbsite.model.status import Tone
from kbsite.pages.dense import dense
from kbsite.pages.missing import STYLE
from kbsite.text.terminal import terminal

STATIC = Path(__file__).parents[1] / "static"
CSS = (STATIC / "kbsite.css").read_text("utf-8")
PLAIN = re.sub(r"/\*.*?\*/", "", CSS, flags=re.DOTALL)
TERMINAL = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
TEXTS = ["text", "bright", "dim", "accent", "good", "warn", "bad", "info", *TERMINAL]
THEMES = ["dark", "light"]
LEAST = 4.5
LEAST_OF_LINES = 3.0


def properties(block: str) -> dict[str, str]:
    """The custom properties that a block of declarations sets."""
    return dict(re.findall(r"--([a-z]+):\s*([^;]+);", block))


def theme(name: str) -> dict[str, str]:
    """The colours of a theme: the light one is laid over the dark one."""
    dark = re.search(r":root\s*\{(.*?)\}", PLAIN, re.DOTALL)
    light = re.search(r"prefers-color-scheme: light\)\s*\{\s*:root\s*\{(.*?)\}", PLAIN, re.DOTALL)
    assert dark
    assert light
    laid_over = properties(light[1]) if name == "light" else {}
    return {**properties(dark[1]), **laid_over}


def luminance(colour: str) -> float:
    """The relative luminance of "#rrggbb"."""
    assert re.fullmatch(r"#[0-9a-f]{6}", colour), colour
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def rule(selector: str) -> tuple[int, dict[str, str]]:
    """Where the rule of a class stands in the style sheet, and what it declares."""
    found = re.search(rf"(?:^|[\s,}}]){re.escape(selector)}(?:,[^{{]*)?\s*\{{([^}}]*)\}}", PLAIN)
    assert found, selector
    pairs = (part.split(":", 1) for part in found[1].split(";") if ":" in part)
    return found.start(), {name.strip(): value.strip() for name, value in pairs}


def test_contrast_is_as_wcag_computes_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("ground", ["ground", "raised"])
def test_every_colour_of_text_can_be_read(name: str, text: str, ground: str) -> None:
    colours = theme(name)

    assert contrast(colours[text], colours[ground]) >= LEAST


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("good", "added"), ("bad", "removed"), ("good", "gained"), ("bad", "lost"),
        ("dim", "added"), ("dim", "removed"),
        *itertools.product(TEXTS, ["marked"]),
    ],
)  # fmt: skip
def test_diffs_and_what_a_permalink_points_at_can_be_read(
    name: str, text: str, ground: str
) -> None:
    colours = theme(name)

    assert contrast(colours[text], colours[ground]) >= LEAST


@pytest.mark.parametrize("name", THEMES)
def test_the_sign_of_the_focus_can_be_seen(name: str) -> None:
    colours = theme(name)

    assert contrast(colours["accent"], colours["ground"]) >= LEAST_OF_LINES


@pytest.mark.parametrize("name", THEMES)
def test_scanlines_leave_the_text_readable(name: str) -> None:
    share = re.fullmatch(r"rgb\(0 0 0 / (\d+)%\)", theme(name)["scanline"])
    if share:
        left = 1 - int(share[1]) / 100
        for text in TEXTS:
            dimmed = "#" + "".join(
                f"{round(int(theme(name)[text][at : at + 2], 16) * left):02x}" for at in (1, 3, 5)
            )
            assert contrast(dimmed, theme(name)["ground"]) >= LEAST
    else:
        assert theme(name)["scanline"] == "transparent"


def test_both_themes_set_every_colour() -> None:
    light = re.search(r"prefers-color-scheme: light\)\s*\{\s*:root\s*\{(.*?)\}", PLAIN, re.DOTALL)
    assert light
    assert set(theme("dark")) - set(properties(light[1])) == {"mono"}


def test_every_colour_that_is_used_is_set() -> None:
    used = set(re.findall(r"var\(--([a-z]+)\)", PLAIN)) - {"columns"}

    assert used <= set(theme("dark"))
    rules = PLAIN.split("* { box-sizing", 1)[1].split("@media print")[0]
    assert not re.findall(r":[^;\"]*#[0-9a-f]{3,8}\b", rules)


def shown_colours(classes: list[str], colours: dict[str, str]) -> tuple[str, str]:
    """Text and ground of terminal output with these classes, by the order of the style sheet."""
    text, ground = colours["text"], colours["raised"]
    for _, declared in sorted((rule(f".{name}") for name in classes), key=lambda found: found[0]):
        text = _resolved(declared.get("color", ""), colours) or text
        ground = _resolved(declared.get("background", ""), colours) or ground
    return text, ground


def _resolved(value: str, colours: dict[str, str]) -> str:
    named = re.fullmatch(r"var\(--([a-z]+)\)", value)
    return colours[named[1]] if named else ""


@pytest.mark.parametrize("name", THEMES)
def test_terminal_output_can_be_read_in_every_combination_of_colours(name: str) -> None:
    colours = theme(name)
    weights = ["", "1", "2", "7", "2;7", "1;7"]
    for weight, letter, ground in itertools.product(
        weights, ["", *range(30, 38), *range(90, 98)], ["", *range(40, 48)]
    ):
        codes = ";".join(filter(None, [weight, str(letter), str(ground)]))
        html = terminal(f"\x1b[{codes}mx")
        classes = re.findall(r"\ba\d+", html)

        assert contrast(*shown_colours(classes, colours)) >= LEAST, codes


@pytest.mark.parametrize("tone", Tone)
def test_the_theme_has_a_colour_for_every_tone(tone: Tone) -> None:
    assert rule(f".tone-{tone.value}")[1]["color"] == f"var(--{tone.value})"


def test_the_look_is_phosphor_on_black() -> None:
    colours = theme("dark")

    assert (colours["ground"], colours["text"], colours["bright"]) == (
        "#0a0d0a", "#4ade80", "#86efac"
    )  # fmt: skip
    assert (colours["accent"], colours["warn"], colours["bad"]) == (
        "#fbbf24", "#fb923c", "#f87171"
    )  # fmt: skip


def test_paper_gets_the_colours_for_light_grounds() -> None:
    assert "@media print, (prefers-color-scheme: light)" in PLAIN


def test_motion_stops_for_those_who_ask() -> None:
    assert re.search(r"prefers-reduced-motion: reduce\)\s*\{[^}]*animation: none", PLAIN)


def test_a_page_that_is_not_there_has_the_colours_of_both_themes() -> None:
    parts = STYLE.split("@media(prefers-color-scheme:light)")
    assert len(parts) == len(THEMES)
    for name, part in zip(THEMES, parts, strict=True):
        colours = theme(name)
        found = re.findall(r"#[0-9a-f]{6}", part)
        assert found == [colours[role] for role in ("ground", "text", "bright", "accent")]


@pytest.mark.parametrize("name", sorted(path.name for path in STATIC.glob("*.css")))
def test_a_site_has_all_rules_of_a_sheet_and_no_comment(name: str) -> None:
    told = assets.static(name).decode("utf-8")

    assert "/*" not in told
    assert dense(told) == dense((STATIC / name).read_text("utf-8"))


def test_line_numbers_beside_a_diff_are_not_copied_in_safari_either() -> None:
    [gutter] = re.findall(r"^\.diff \.gutter {(.*)}$", (STATIC / "compare.css").read_text(), re.M)

    # It knows the property by this name alone.
    assert "-webkit-user-select: none; user-select: none;" in gutter


def test_no_step_is_a_grid_on_paper_whose_rows_firefox_would_not_break() -> None:
    on_paper = CSS[CSS.index("@media print {") :]

    assert ".steps > :not(.trace, .opens) { display: block;" in on_paper
