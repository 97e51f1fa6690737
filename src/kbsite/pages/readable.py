"""Pages that a script of the site can read, also from disk, where no browser lets it fetch any.

Such a page is a script as well: to a browser that opens it, the script's own words are comments; to
one that runs it, the page is a text that is handed to the function `kbsite`. Nothing is said twice.
"""

from __future__ import annotations

_BEFORE = "<!-- Also a script, which hands this page to the run's page:\nkbsite(String.raw`\n-->"
_AFTER = "<!--\n`)\n-->\n"


def readable(html: str) -> str:
    """A page as a script too; it shows the same.

    The two signs that could end the text within the script, or run a part of it, stand as
    references of HTML, in texts and in attributes.
    """
    held = html.replace("`", "&#96;").replace("${", "&#36;{")
    return f"{_BEFORE}{held}{_AFTER}"
