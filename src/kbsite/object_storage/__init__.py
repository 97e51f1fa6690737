"""Runs that come from a bucket, and a site that goes to one.

`mirror` brings the copy of a bucket's runs up to date, `publish` lets a bucket hold what a site
holds. What they need of a service is a `Provider`; `PROVIDERS` lists all that there are.
"""

from __future__ import annotations

from kbsite.object_storage.bucket import Bucket, open_bucket
from kbsite.object_storage.mirroring import Mirrored, mirror
from kbsite.object_storage.providers import PROVIDERS
from kbsite.object_storage.publishing import Published, publish, refuse_no_site

__all__ = [
    "PROVIDERS",
    "Bucket",
    "Mirrored",
    "Published",
    "mirror",
    "open_bucket",
    "publish",
    "refuse_no_site",
]
