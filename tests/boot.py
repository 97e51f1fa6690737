"""The one script that stands in pages themselves: that of runs' pages."""

from __future__ import annotations

import jinja2

from kbsite.assets import folder

_LOADER = jinja2.FileSystemLoader(folder("templates"))
_TEMPLATES = jinja2.Environment(loader=_LOADER, trim_blocks=True, lstrip_blocks=True)
BOOT = _TEMPLATES.get_template("parts/boot.html").render()
