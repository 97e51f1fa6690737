"""The one script and the one style that stand in pages themselves: in those of runs."""

from __future__ import annotations

import jinja2

from kbsite.assets import INCLUDED, folder
from kbsite.pages.dense import dense

_LOADER = jinja2.FileSystemLoader(list(map(folder, INCLUDED)))
_TEMPLATES = jinja2.Environment(loader=_LOADER, trim_blocks=True, lstrip_blocks=True)
BOOT = _TEMPLATES.get_template("parts/boot.html").render()
"""What asks for run.js."""
STYLE = str(
    dense("".join(_TEMPLATES.get_template(name).render() for name in ("kbsite.css", "map.css")))
)
"""The style of all pages, and that of the map."""
