"""The style that stands in pages says what the one says that lies beside them."""

from __future__ import annotations

import functools

import pytest
from playwright.sync_api import BrowserContext

from kbsite.assets import folder
from kbsite.pages.dense import dense

pytestmark = pytest.mark.browser

RULES = r"""(style) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  return [...sheet.cssRules].map((rule) => rule.cssText.replace(/,\s+/g, ","));
}"""
"""What is read of it; of custom properties a browser keeps the blanks."""


@pytest.mark.parametrize("name", sorted(path.name for path in folder("static").glob("*.css")))
def test_a_browser_reads_the_same_rules_of_it(
    name: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    style = (folder("static") / name).read_text("utf-8")
    rules = page.evaluate(RULES, style)

    assert len(rules) > 3
    assert page.evaluate(RULES, str(dense(style))) == rules
    assert len(dense(style)) < len(style)
