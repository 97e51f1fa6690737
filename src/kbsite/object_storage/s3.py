"""S3, and what speaks its language, by s3fs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kbsite.object_storage.provider import Entry

_MD5 = re.compile("[0-9a-f]{32}")


class S3:
    """S3."""

    scheme = "s3"
    extra = "s3"
    credentials = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile of AWS"

    def filesystem(self, endpoint: str) -> Any:
        """A file system of s3fs of its own, that remembers no listing."""
        from aiobotocore.session import AioSession
        from s3fs import S3FileSystem

        session = AioSession()
        session.register("needs-retry.s3", _give_up)
        chosen = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return S3FileSystem(
            endpoint_url=chosen or endpoint or None,
            use_listings_cache=False,
            skip_instance_cache=True,
            session=session,
            # Of one object: several parts at once would all be held in memory.
            max_concurrency=1,
        )

    def entries(self, filesystem: Any, bucket: str, prefix: str) -> Iterator[Entry]:
        """All objects, a page of the listing in memory at a time; keys just as they are.

        s3fs's own `find` holds all of them, makes folders of them, and takes the square of their
        number for it.
        """
        more: dict[str, str] = {}
        while True:
            page = filesystem.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, **more)
            for held in page.get("Contents", ()):
                tag = _version(held)
                yield Entry(
                    held["Key"], held["Size"], tag, held["LastModified"].timestamp(),
                    tag if _MD5.fullmatch(tag) else "",
                )  # fmt: skip
            if "IsTruncated" not in page:
                # An answer of nothing is none of S3: what was not listed yet would have vanished.
                raise ConnectionError("no page of a listing")
            if not page["IsTruncated"]:
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def version(self, filesystem: Any, path: str) -> str:
        """The ETag that an object has now."""
        bucket, _, key = path.partition("/")
        return _version(filesystem.call_s3("head_object", Bucket=bucket, Key=key))

    def sent_as(self, content_type: str, cache_control: str) -> Mapping[str, Any]:
        """Arguments of put_object."""
        return {"ContentType": content_type, "CacheControl": cache_control}

    def ambiguous(self, key: str) -> bool:
        """Whether s3fs would read a version out of it."""
        return "?versionId=" in key


def _give_up(caught_exception: Exception | None = None, **_: object) -> None:
    """Let botocore ask no service again that was silent, but s3fs alone, which does as well.

    Five times five waits would be minutes; what a service answers is retried by both as ever.
    """
    if type(caught_exception).__name__ == "ReadTimeoutError":
        assert caught_exception
        raise caught_exception


def _version(held: Mapping[str, Any]) -> str:
    """The ETag of an object; where its service tells none, when it was written.

    Of what is written anew within a second, with as many bytes, nobody knows then.
    """
    tag = str(held.get("ETag", "")).strip('"')
    return tag or f"{int(held['LastModified'].timestamp())} s"
