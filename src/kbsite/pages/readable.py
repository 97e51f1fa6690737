"""Pages that a script of the site can read, also from disk, where no browser lets it fetch any.

Such a page is a script as well. To a browser that opens it, the script's own words are comments; to
one that runs it, the page is a comment in a function, which is handed to the function `kbsite`: a
function's text is what was written, comments included. Nothing is said twice.
"""

from __future__ import annotations

_BEFORE = "<!-- Also a script:\nkbsite(function(){/*\n-->"
_AFTER = "<!--\n*/})\n-->\n"


def readable(html: str) -> str:
    """A page as a script too; it shows the same.

    The sign that could end the comment stands as a reference of HTML, in texts and in attributes.
    """
    return f"{_BEFORE}{html.replace('*/', '*&#47;')}{_AFTER}"
