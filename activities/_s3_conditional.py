"""Requests to S3 that act only on the object that was seen, and the versions of an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from activities._aws import code_of
from rescind.evidence import NothingHappened, Refused

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one object, newest first; the latest; and whether the object counts as deleted."""

    versions: tuple[str, ...]
    latest: str | None
    deleted: bool


def versions_of(s3: S3Client, bucket: str, key: str) -> Versions:
    """The newest versions of an object, at most a thousand."""
    listed = s3.list_object_versions(Bucket=bucket, Prefix=key)
    own = [each for each in listed.get("Versions", []) if each.get("Key") == key]
    return Versions(
        versions=tuple(each.get("VersionId", "") for each in own),
        latest=next((each.get("VersionId") for each in own if each.get("IsLatest")), None),
        deleted=any(
            each.get("Key") == key and each.get("IsLatest") for each in listed.get("DeleteMarkers", [])
        ),
    )


def has_versions(s3: S3Client, bucket: str) -> bool:
    """Whether the bucket keeps every version.

    Raises:
        Refused: Its versioning is suspended: a put would overwrite one version for good and keep others.
    """
    status = s3.get_bucket_versioning(Bucket=bucket).get("Status")
    if status == "Suspended":
        raise Refused(
            f"versioning of the bucket {bucket!r} is suspended, and what a put overwrites there could not be put back. "
            "Nothing was written. Enable versioning, or use another bucket"
        )
    return status == "Enabled"


def put_if(s3: S3Client, bucket: str, key: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Write the object; the arguments hold the condition.

    Raises:
        NothingHappened: The object is no longer as the condition says.
    """
    try:
        return {**s3.put_object(Bucket=bucket, Key=key, **arguments)}
    except ClientError as error:
        _raise_if_moved(error, bucket, key)
        raise


def delete_if(s3: S3Client, bucket: str, key: str, etag: str) -> str | None:
    """Delete the object if it still has this entity tag; returns the version of the delete marker, if S3 made one.

    Raises:
        NothingHappened: It has another one now.
    """
    try:
        return s3.delete_object(Bucket=bucket, Key=key, IfMatch=etag).get("VersionId")
    except ClientError as error:
        _raise_if_moved(error, bucket, key)
        raise


def _raise_if_moved(error: ClientError, bucket: str, key: str) -> None:
    if code_of(error) in ("PreconditionFailed", "412", "NoSuchKey"):
        raise NothingHappened(
            f"the object {key!r} in {bucket!r} changed between being read and being written. Nothing was written; "
            "the next attempt looks again"
        ) from error
