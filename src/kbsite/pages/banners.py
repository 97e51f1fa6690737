"""The titles of a site in big letters, drawn anew only where they changed."""

from __future__ import annotations

import json

from kbsite.pages.page import Site
from kbsite.standing import digest
from kbsite.text import Banner, banner


def kept_banner(site: Site, page: str, title: str) -> Banner:
    """A title as a page shows it; loading what draws it takes as long as all else of some pages."""

    def made() -> str:
        return json.dumps(banner(title).lines)

    told = site.kept.text(f"banner-{page}", "title", digest(title), made)
    return Banner(title, tuple(json.loads(told)))
