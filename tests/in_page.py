"""The one script and the one style that stand in pages themselves: in those of runs."""

from __future__ import annotations

import jinja2

from kbsite.assets import INCLUDED, folder
from kbsite.pages.dense import dense

_LOADER = jinja2.FileSystemLoader(list(map(folder, INCLUDED)))
_TEMPLATES = jinja2.Environment(loader=_LOADER, trim_blocks=True, lstrip_blocks=True)
BOOT = _TEMPLATES.get_template("parts/boot.html").render()
"""What asks for run.js."""
STYLE = str(dense(_TEMPLATES.get_template("kbsite.css").render()))
"""The style of all pages."""
