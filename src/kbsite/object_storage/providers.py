"""All services that there are."""

from __future__ import annotations

from kbsite.object_storage.gcs import Gcs
from kbsite.object_storage.provider import Provider
from kbsite.object_storage.s3 import S3

PROVIDERS: tuple[Provider, ...] = (S3(), Gcs())
"""Every service; a URL's scheme chooses."""
