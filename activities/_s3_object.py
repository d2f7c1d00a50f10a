"""One object of S3 as it is: what can be read of it now, and written back later."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from botocore.exceptions import ClientError
from pydantic import BaseModel, ConfigDict

from activities._aws import code_of

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef

LARGEST = 256 * 1024
"""Bytes of content that a before-image keeps, and that a request may carry."""

KEY_METADATA = "rescind-key"
"""The object metadata (x-amz-meta-rescind-key) that holds the key of the call that wrote it."""

_HEADERS = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "SSEKMSKeyId",
    "ServerSideEncryption",
    "StorageClass",
    "WebsiteRedirectLocation",
)
"""What `get_object` answers and `put_object` takes under the same name."""

ADDED_BY_THE_BUCKET = frozenset({"SSEKMSKeyId", "ServerSideEncryption", "StorageClass"})
"""Headers that an object can have without its writer's doing: default encryption, and lifecycle transitions."""

_NOT_RESTORABLE = ("ObjectLockMode", "ObjectLockLegalHoldStatus", "SSECustomerAlgorithm")
"""Locks and keys that a plain put cannot give back."""


class StoredContent(BaseModel):
    """What an object is, apart from when it was written.

    Attributes:
        content: The bytes; None when there are more than `LARGEST`.
        headers: The system metadata that S3 keeps, by the name that `put_object` gives it.
    """

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    content: bytes | None
    headers: dict[str, str]
    expires: datetime | None = None
    metadata: dict[str, str]
    tags: dict[str, str]

    def arguments(self) -> dict[str, Any]:
        """The arguments by which `put_object` writes the same again."""
        optional = {"Expires": self.expires, "Tagging": urlencode(self.tags) or None}
        return {
            "Body": self.content,
            "Metadata": self.metadata,
            **self.headers,
            **{name: value for name, value in optional.items() if value is not None},
        }


class Seen(BaseModel):
    """An object that was there, and which one it was.

    Attributes:
        etag: Its entity tag, for conditional requests.
        version_id: Its version, in a bucket that has or had versions.
        restorable: Why it could not be written back, or None if it could.
    """

    model_config = ConfigDict(frozen=True)

    etag: str
    version_id: str | None
    stored: StoredContent
    restorable: str | None = None


class Overwritten(BaseModel):
    """The before-image: the object that was there, if there was one.

    Attributes:
        versions: Whether the bucket keeps it as a version by itself; then its content is not kept here.
    """

    model_config = ConfigDict(frozen=True)

    etag: str | None = None
    version_id: str | None = None
    stored: StoredContent | None = None
    versions: bool


def named(bucket: str, key: str) -> str:
    """The object in words, for messages."""
    return f"the object {key!r} in {bucket!r}"


def see(s3: S3Client, bucket: str, key: str) -> Seen | None:
    """The object as it is now, read consistently after every write (S3's data consistency model); None if none."""
    try:
        answer = s3.get_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if code_of(error) in ("NoSuchKey", "404"):
            return None
        raise
    with answer["Body"] as body:
        content = body.read() if answer["ContentLength"] <= LARGEST else None
    stored = StoredContent(
        content=content,
        headers={name: str(answer[name]) for name in _HEADERS if answer.get(name)},  # type: ignore[literal-required]
        expires=answer.get("Expires"),
        metadata=answer["Metadata"],
        tags=_tags(s3, bucket, key) if answer.get("TagCount") else {},
    )
    return Seen(
        etag=answer["ETag"],
        version_id=answer.get("VersionId"),
        stored=stored,
        restorable=_obstacle(answer, content),
    )


def _tags(s3: S3Client, bucket: str, key: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]}


def _obstacle(answer: GetObjectOutputTypeDef, content: bytes | None) -> str | None:
    locks = [name for name in _NOT_RESTORABLE if answer.get(name)]
    if locks:
        return f"it has {', '.join(locks)}"
    if content is None:
        return f"it has {answer['ContentLength']} bytes, and at most {LARGEST} can be kept to put them back"
    if answer.get("ExpiresString") and not answer.get("Expires"):
        return "its Expires header is no date"
    return None
