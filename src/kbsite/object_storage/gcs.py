"""Google Cloud Storage, by gcsfs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kbsite.object_storage.provider import Entry


class Gcs:
    """Google Cloud Storage."""

    scheme = "gs"
    extra = "gcs"
    credentials = "GOOGLE_APPLICATION_CREDENTIALS, or a login of gcloud"

    def filesystem(self, endpoint: str) -> Any:  # noqa: ARG002 - it is that of an S3 server
        """A file system of gcsfs of its own; STORAGE_EMULATOR_HOST leads it elsewhere."""
        from gcsfs import GCSFileSystem

        return GCSFileSystem(use_listings_cache=False, skip_instance_cache=True)

    def entries(self, filesystem: Any, bucket: str, prefix: str) -> Iterator[Entry]:
        """All objects; gcsfs holds the whole listing meanwhile."""
        place = f"{bucket}/{prefix}".rstrip("/")
        found = filesystem.find(place, detail=True, withdirs=False, update_cache=False)
        for name, held in found.items():
            key = name.partition("/")[2]
            if key.startswith(prefix):
                yield Entry(
                    key, int(held["size"]), _version(held),
                    _seconds(held.get("mtime") or held.get("updated")), _md5(held.get("md5Hash")),
                )  # fmt: skip

    def version(self, filesystem: Any, path: str) -> str:
        """The generation that an object has now."""
        return _version(filesystem.info(path))

    def sent_as(self, content_type: str, cache_control: str) -> Mapping[str, Any]:
        """Arguments of gcsfs's put_file."""
        fixed = {"cache_control": cache_control}
        return {"content_type": content_type, "fixed_key_metadata": fixed}

    def ambiguous(self, key: str) -> bool:
        """Whether gcsfs would read a generation, a query or a fragment out of it."""
        return "#" in key or "?" in key


def _version(held: Mapping[str, Any]) -> str:
    return str(held.get("generation") or held.get("etag", ""))


def _seconds(moment: object) -> float:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.timestamp() if isinstance(moment, datetime) else 0.0


def _md5(text: object) -> str:
    try:
        return base64.b64decode(text, validate=True).hex() if isinstance(text, str) else ""
    except binascii.Error:
        return ""
