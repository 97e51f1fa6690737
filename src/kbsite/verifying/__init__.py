"""Whether everything that a site publishes follows from the raw data that it publishes.

The runs' own files are taken from the site, held against their manifests and checked by the rules
of `kbsite check`; then all pages and tables are made anew of them, and compared with those of the
site. Nothing of a site is trusted but that its raw files are what they are.
"""

from __future__ import annotations

from kbsite.verifying.whole import verify

__all__ = ["verify"]
