"""What axe finds wrong with a page: the rules of WCAG 2.2 A and AA that it can look for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

Asked = Mapping[str, Any]

EVERY: Asked = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
OF_COLOURS: Asked = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""The rules that look at colours: those that a theme can break while another one does not."""

# Scanlines lie over everything, and below tables the colour of an edge that there is more beyond:
# axe would call every contrast of text there unknown.
PLAIN = """
  body::after { display: none !important }
  .scroll, .chart-frame, .md table, .steps table { background: none !important }
"""
# Nine tenths of axe's time go into the contrast of one text after another. What looks alike, from
# the root down and in what lies over it, has one contrast: the first and the last are asked about.
MARK = """() => {
    const shown = [...document.querySelectorAll("body *")].filter((held) => held.checkVisibility());
    const places = new Map(shown.map((held) => [held, held.getBoundingClientRect()]));
    const lifted = shown.filter((held) =>
        ["absolute", "fixed", "sticky"].includes(getComputedStyle(held).position));
    const looks = new Map([[null, ""]]);
    const look = (held) => {
        if (!looks.has(held)) {
            const style = getComputedStyle(held);
            const drawn = ["::before", "::after"].map((part) => {
                const own = getComputedStyle(held, part);
                return own.content === "none" ? "" : [own.background, own.position, own.opacity];
            });
            const said = [held.tagName, style.color, style.background, style.opacity,
                style.fontSize, style.fontWeight, style.position, style.textShadow, style.filter,
                style.mixBlendMode, ...drawn];
            looks.set(held, `${look(held.parentElement)}\\n${said}`);
        }
        return looks.get(held);
    };
    const over = (held) => lifted.filter((other) => {
        const [one, two] = [places.get(held), places.get(other)];
        return one.left < two.right && two.left < one.right && one.top < two.bottom
            && two.top < one.bottom && !held.contains(other) && !other.contains(held);
    }).map(look);
    const alike = new Map();
    for (const held of shown) {
        const text = [...held.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
            .map((node) => node.data.trim()).join("");
        if (!text && !held.matches("input, select, textarea")) continue;
        // Of one character, or of signs alone, axe does not say what its contrast is.
        const key = [look(held), text.length > 1, /\\w/.test(text), ...over(held)].join("\\n\\n");
        alike.set(key, [alike.get(key)?.[0] ?? held, held]);
    }
    document.querySelectorAll("[data-asked]").forEach((held) => held.removeAttribute("data-asked"));
    [...alike.values()].flat().forEach((held) => held.setAttribute("data-asked", ""));
}"""
FOUND = """async ({ asked, where }) => {
    axe.configure({ rules: [{ id: "color-contrast", selector: where }] });
    return (await axe.run({ runOnly: asked, resultTypes: ["violations"] })).violations;
}"""


def bring(page: Page) -> None:
    """Have axe in all that a page opens from now on: to be sent to each costs twice the opening."""
    page.add_init_script(AXE_SCRIPT)


def violations(page: Page, asked: Asked = EVERY, *, everywhere: bool = False) -> list[Any]:
    """Each of the rules that the page breaks, as axe tells it.

    `everywhere`: the contrast of every text is looked at, not once of all that look alike.
    """
    page.add_style_tag(content=PLAIN)
    if page.evaluate("!window.axe"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate(MARK)
    where = "*" if everywhere else "[data-asked]"
    found: list[Any] = page.evaluate(FOUND, {"asked": asked, "where": where})
    return found


def broken(page: Page, asked: Asked = EVERY) -> list[str]:
    """Each of the rules that the page breaks, with where and why."""
    return [
        f"{page.url}: {rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in violations(page, asked)
        for node in rule["nodes"][:3]
    ]


def open_all(page: Page) -> None:
    """Open everything that a reader can open."""
    page.evaluate("document.querySelectorAll('details').forEach((held) => { held.open = true })")
