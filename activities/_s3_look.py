"""What S3 tells about a bucket."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from activities._aws import code_of

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def tags_of(s3: S3Client, name: str) -> dict[str, str]:
    try:
        return {tag["Key"]: tag["Value"] for tag in s3.get_bucket_tagging(Bucket=name)["TagSet"]}
    except ClientError as error:
        if code_of(error) == "NoSuchTagSet":
            return {}
        raise


def created_at(s3: S3Client, name: str) -> datetime | None:
    """When a bucket of this account was created; None if it is not this account's."""
    for page in s3.get_paginator("list_buckets").paginate(Prefix=name):
        for bucket in page.get("Buckets", []):
            if bucket.get("Name") == name:
                return bucket.get("CreationDate")
    return None


def first_content_of(s3: S3Client, name: str) -> str | None:
    """The first thing in the bucket: an object, an older version, a delete marker, or an upload under way."""
    versions = s3.list_object_versions(Bucket=name, MaxKeys=1)
    for kind, found in (
        ("the object", versions.get("Versions")),
        ("the delete marker of", versions.get("DeleteMarkers")),
    ):
        for each in found or []:
            return f"{kind} {each.get('Key')!r}"
    for upload in s3.list_multipart_uploads(Bucket=name, MaxUploads=1).get("Uploads", []):
        return f"an unfinished upload of {upload.get('Key')!r}"
    return None
