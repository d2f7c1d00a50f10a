"""S3 buckets that carry the key of the call that created them."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Annotated

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._aws import before_writing, code_of, enough_time, headers_of, s3_client
from activities._s3_look import created_at, first_content_of, tags_of
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    Restoration,
    Result,
    Risk,
    Tool,
    Unknown,
    remember_blocking,
    remembered,
)
from rescind.evidence import Conflict, NothingHappened, Refused
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

KEY_TAG = "rescind-key"
"""The tag that holds the key of the call that created the bucket."""

_TIMEOUT = timedelta(seconds=15)
_CLOCK = timedelta(seconds=2)
"""How exact S3's times are taken to be; its Date header has whole seconds."""

_TRAP = "us-east-1"
"""The region in which creating a bucket that one owns already succeeds (S3's API reference, CreateBucket)."""


class CreateBucket(Request):
    """Create a bucket in the worker's region; one that exists is never taken over.

    Attributes:
        bucket: The name; the rules are those of S3's "general purpose bucket naming rules".
    """

    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class Bucket(Result):
    """A bucket that was created."""

    bucket: str
    region: str


class NoBucket(BaseModel):
    """The before-image: there was no such bucket at this time of S3's clock, if S3 told its time."""

    model_config = ConfigDict(frozen=True)

    at: datetime | None


class BucketUntagged(Exception):
    """The bucket was created, and it is not known whether it carries our key."""


class _Whose(Enum):
    OURS = auto()
    ANOTHERS = auto()
    UNCLEAR = auto()


@activity.defn(no_thread_cancel_exception=True)
def create_bucket(call: Call[CreateBucket]) -> Bucket:
    """Create the bucket and tag it with the call's key, which are two requests.

    Raises:
        Refused: There is such a bucket, of whoever it may be.
        BucketUntagged: It was created and perhaps not tagged; the lookup tells it by when it was created.
    """
    s3, name = s3_client(), call.request.bucket
    made = Bucket(bucket=name, region=s3.meta.region_name)
    with before_writing():
        missing = _missing(s3, name)
        if missing is None:
            if tags_of(s3, name).get(KEY_TAG) == call.key:
                return made
            raise Refused(
                f"the bucket {name!r} exists already, so it is not ours to create or to delete later. Nothing was "
                "changed. Choose another name"
            )
    remember_blocking(missing)
    enough_time()
    _create(s3, made)
    _tag(s3, made, call.key)
    return made


@activity.defn(no_thread_cancel_exception=True)
def delete_bucket(receipt: Receipt[CreateBucket, Bucket]) -> Restoration:
    """Delete the bucket if it is proven to be ours and nothing was put into it; its own settings go with it.

    Raises:
        Conflict: It is not proven to be ours, or holds something. Nothing was deleted.
    """
    s3, name = s3_client(), receipt.call.request.bucket
    if _missing(s3, name):
        return Restoration.nothing(f"the bucket {name!r} is gone already")
    if _whose(s3, receipt.call, receipt.before_as(NoBucket)) is not _Whose.OURS:
        raise Conflict(
            f"the bucket {name!r} is not proven to be the one that this step created: it does not carry the tag "
            f"{KEY_TAG}={receipt.call.key}. Nothing was deleted. Delete it by hand if it is yours"
        )
    content = first_content_of(s3, name)
    if content:
        raise Conflict(
            f"the bucket {name!r} holds {content}, which this step did not put there. Nothing was deleted"
        )
    enough_time()
    try:
        s3.delete_bucket(Bucket=name)
    except ClientError as error:
        if code_of(error) == "BucketNotEmpty":
            raise Conflict(
                f"something was put into the bucket {name!r} just now. Nothing was deleted"
            ) from error
        if code_of(error) != "NoSuchBucket":
            raise
    return Restoration.exact()


@activity.defn(no_thread_cancel_exception=True)
def find_bucket(call: Call[CreateBucket]) -> Applied[Bucket] | Absent | Unknown:
    """Ask S3 whether this call created the bucket: by its tag, else by when it was created; it is tagged then.

    Raises:
        BucketUntagged: It was created by this call, and can't be tagged now.
    """
    s3, before, name = s3_client(), remembered(NoBucket), call.request.bucket
    if _missing(s3, name):
        return Absent()
    whose = _whose(s3, call, before)
    if whose is _Whose.OURS:
        made = Bucket(bucket=name, region=s3.meta.region_name)
        if KEY_TAG not in tags_of(s3, name):
            _tag(s3, made, call.key)
        return Applied(result=made)
    if whose is _Whose.ANOTHERS or before is None:
        return Absent()
    return Unknown(
        why=f"the bucket {name!r} came into being during this step without the tag {KEY_TAG}, and S3 does not show "
        "that it was created by this step"
    )


CREATE_BUCKET = Tool(
    name="s3.create_bucket",
    description="Create an S3 bucket; the undo deletes it unless something was put into it.",
    forward=create_bucket,
    compensate=delete_bucket,
    lookup=find_bucket,
    is_reversible=True,
    acts_on=("s3/{bucket}",),
    risk=Risk.LOW,
    timeout=_TIMEOUT,
    undo_timeout=timedelta(seconds=25),
    # S3 tells that bucket configurations are eventually consistent ("data consistency model"), without a bound.
    late_for=timedelta(seconds=3),
    proves=proves,
)


def _missing(s3: S3Client, name: str) -> NoBucket | None:
    """Since when, by S3's clock, there is no such bucket; None when there is one, of ours or not."""
    try:
        s3.head_bucket(Bucket=name)
    except ClientError as error:
        if code_of(error) in ("404", "NoSuchBucket"):
            return NoBucket(at=_time_of(error))
        if code_of(error) in ("403", "AccessDenied", "301", "PermanentRedirect"):
            raise Refused(
                f"the bucket {name!r} exists and belongs to another account, or these credentials may not see it. "
                "Nothing was changed. Choose another name, or allow s3:ListBucket"
            ) from error
        raise
    return None


def _time_of(error: ClientError) -> datetime | None:
    """S3's clock when it answered; None where the header Date is missing, unreadable, or without a zone."""
    try:
        at = parsedate_to_datetime(headers_of(error).get("date", ""))
    except ValueError:
        return None
    return at if at.tzinfo else None


def _create(s3: S3Client, wanted: Bucket) -> None:
    try:
        if wanted.region == _TRAP:
            s3.create_bucket(Bucket=wanted.bucket)
        else:
            where = {"LocationConstraint": wanted.region}
            s3.create_bucket(Bucket=wanted.bucket, CreateBucketConfiguration=where)  # type: ignore[arg-type]
    except ClientError as error:
        if code_of(error) in ("BucketAlreadyExists", "BucketAlreadyOwnedByYou"):
            raise Refused(
                f"the bucket {wanted.bucket!r} was created by someone else meanwhile. Nothing of ours is left"
            ) from error
        raise


def _tag(s3: S3Client, made: Bucket, key: str) -> None:
    """Tag the bucket; an error of this request says nothing about the one that created it."""
    try:
        if made.region == _TRAP and tags_of(s3, made.bucket):
            raise Refused(
                f"the bucket {made.bucket!r} was created and tagged by someone else meanwhile. Nothing of ours is left"
            )
        enough_time()
        s3.put_bucket_tagging(Bucket=made.bucket, Tagging={"TagSet": [{"Key": KEY_TAG, "Value": key}]})
    except (BotoCoreError, ClientError, NothingHappened) as error:
        raise BucketUntagged(
            f"the bucket {made.bucket!r} was created and perhaps not tagged with {KEY_TAG}: {error}"
        ) from error


def _whose(s3: S3Client, call: Call[CreateBucket], before: NoBucket | None) -> _Whose:
    """By its tag; an untagged one is ours if it was created while an attempt that had found none could create it.

    Nobody else can have created it then but someone of the same account, within those seconds, without tags.
    """
    tags = tags_of(s3, call.request.bucket)
    if KEY_TAG in tags:
        return _Whose.OURS if tags[KEY_TAG] == call.key else _Whose.ANOTHERS
    if tags or before is None or before.at is None:
        return _Whose.UNCLEAR
    created = created_at(s3, call.request.bucket)
    if created and before.at - _CLOCK <= created <= before.at + _TIMEOUT + _CLOCK:
        return _Whose.OURS
    return _Whose.UNCLEAR
