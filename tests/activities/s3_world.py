"""Everything that S3 shows of a bucket, taken with its own client."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def snapshot(s3: "S3Client", bucket: str) -> Any:
    """None without the bucket; else its tags and each version of each object with content, headers and tags."""
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError:
        return None
    listed = s3.list_object_versions(Bucket=bucket)
    uploads = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return {
        "tags": _tags(s3, bucket),
        "versions": [_version(s3, bucket, each) for each in listed.get("Versions", [])],
        "deleted": [(each.get("Key"), each.get("VersionId")) for each in listed.get("DeleteMarkers", [])],
        "uploads": [each.get("Key") for each in uploads],
    }


def _tags(s3: "S3Client", bucket: str) -> Any:
    try:
        return s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    except ClientError:
        return []


def _version(s3: "S3Client", bucket: str, each: Any) -> dict[str, Any]:
    which: dict[str, Any] = {"Bucket": bucket, "Key": each["Key"], "VersionId": each["VersionId"]}
    answer: dict[str, Any] = {**s3.get_object(**which)}
    content = answer.pop("Body").read()
    tags = s3.get_object_tagging(**which)["TagSet"]
    left_out = {"ResponseMetadata", "LastModified", "ChecksumCRC32", "ChecksumType"}
    headers = {name: value for name, value in answer.items() if name not in left_out}
    return {
        "key": each["Key"],
        "latest": each["IsLatest"],
        "content": content,
        "tags": tags,
        "headers": headers,
    }
