"""The tool that looks for an S3 bucket; it changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from botocore.exceptions import ClientError
from pydantic import Field
from temporalio import activity

from activities._aws import code_of, headers_of, s3_client
from activities._s3_look import tags_of
from rescind import Call, Request, Result, Tool
from rescind.evidence import Refused
from rescind.evidence.aws import proves


class FindBucket(Request):
    """Look for a bucket that the worker's credentials may see."""

    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class FoundBucket(Result):
    """A bucket with its region and its tags."""

    bucket: str
    region: str
    tags: dict[str, str]


@activity.defn(no_thread_cancel_exception=True)
def read_bucket(call: Call[FindBucket]) -> FoundBucket:
    """Ask S3 for the bucket.

    Raises:
        Refused: There is no such bucket, or these credentials may not see it.
    """
    s3, name = s3_client(), call.request.bucket
    try:
        found = s3.head_bucket(Bucket=name)
    except ClientError as error:
        if code_of(error) in ("404", "NoSuchBucket"):
            raise Refused(f"there is no bucket {name!r}. Name one that is there") from error
        if code_of(error) in ("301", "PermanentRedirect"):
            where = headers_of(error).get("x-amz-bucket-region", "another one")
            raise Refused(
                f"the bucket {name!r} is in the region {where}, which this worker does not use"
            ) from error
        raise
    return FoundBucket(
        changed=False,
        bucket=name,
        region=found.get("BucketRegion") or s3.meta.region_name,
        tags=tags_of(s3, name),
    )


FIND_BUCKET: Tool[FindBucket, FoundBucket] = Tool(
    name="s3.find_bucket",
    description="Look for an S3 bucket: its region and tags. It fails if there is none, or none that may be seen.",
    forward=read_bucket,
    read_only=True,
    timeout=timedelta(seconds=15),
    proves=proves,
)
