"""S3 objects, written on condition that nobody else has, and put back on condition that nobody else has since."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field
from temporalio import activity

from activities._aws import before_writing, enough_time, s3_client
from activities._s3_conditional import has_versions, put_if, versions_of
from activities._s3_object import (
    ADDED_BY_THE_BUCKET,
    KEY_METADATA,
    LARGEST,
    Overwritten,
    Seen,
    StoredContent,
    named,
    see,
)
from activities._s3_undo import put_back, remove_version
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
from rescind.evidence import Conflict, Refused
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def _small(body: str) -> str:
    size = len(body.encode())
    if size > LARGEST:
        raise ValueError(f"the body has {size} bytes and may have {LARGEST}")
    return body


def _not_ours(metadata: dict[str, str]) -> dict[str, str]:
    if KEY_METADATA in metadata:
        raise ValueError(f"{KEY_METADATA} is how the undo recognises its object; it can't be set")
    return metadata


MetadataName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
MetadataValue = Annotated[str, Field(pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")]


class PutObject(Request):
    """Write an object; what it overwrites is kept, so that the undo can put it back.

    Attributes:
        bucket: The bucket; its versioning may be on or was never on, and is not suspended.
        key: The object's key.
        body: The content, at most 256 KiB in UTF-8.
        content_type: Its media type.
        metadata: User metadata; names in lower case, printable ASCII values.
    """

    bucket: str
    key: Annotated[str, Field(min_length=1, max_length=1024)]
    body: Annotated[str, AfterValidator(_small)]
    content_type: str = "text/plain; charset=utf-8"
    metadata: Annotated[dict[MetadataName, MetadataValue], AfterValidator(_not_ours)] = Field(
        default_factory=dict
    )


class StoredObject(Result):
    """An object that was written, or was there already.

    Attributes:
        version_id: The version that was written, in a bucket that keeps versions.
    """

    bucket: str
    key: str
    etag: str
    version_id: str | None = None


@activity.defn(no_thread_cancel_exception=True)
def put_object(call: Call[PutObject]) -> StoredObject:
    """Write the object with the call's key in its metadata, if it is still as it was just seen and remembered.

    Raises:
        Refused: What is there could not be put back.
        NothingHappened: The object changed meanwhile.
    """
    s3, wanted = s3_client(), call.request
    with before_writing():
        now = see(s3, wanted.bucket, wanted.key)
        if now and now.stored.metadata.get(KEY_METADATA) == call.key:
            return _stored(wanted, now.etag, now.version_id)
        if now and _is_as_wanted(wanted, now.stored):
            return _stored(wanted, now.etag, now.version_id, changed=False)
        seen = _to_remember(s3, wanted, now)
    before = remember_blocking(seen)
    enough_time()
    condition = {"IfMatch": before.etag} if before.etag else {"IfNoneMatch": "*"}
    answer = put_if(s3, wanted.bucket, wanted.key, _arguments(call) | condition)
    return _stored(wanted, answer["ETag"], answer.get("VersionId"))


@activity.defn(no_thread_cancel_exception=True)
def restore_object(receipt: Receipt[PutObject, StoredObject]) -> Restoration:
    """Put back what was there, or remove what was not, if the object is still exactly as the step wrote it.

    Raises:
        Conflict: It is not; nothing was written or deleted.
    """
    s3, before, written = s3_client(), receipt.before_as(Overwritten), receipt.result
    if not written.changed:
        return Restoration.nothing("the object was as wanted before the step")
    if before is None:
        raise Conflict(
            "nothing is known of what was there before the step, so nothing was written or deleted"
        )
    if before.versions:
        return remove_version(s3, written.bucket, written.key, written.version_id, before)
    now = see(s3, written.bucket, written.key)
    if (now.stored if now else None) == before.stored:
        return Restoration.nothing("the object is as it was before the step")
    if now is None or now.stored != _as_left(receipt.call, now.stored):
        raise Conflict(
            f"{named(written.bucket, written.key)} is no longer as this step wrote it: "
            f"{'it was deleted' if now is None else 'someone has written to it or tagged it'}. Nothing was changed"
        )
    return put_back(s3, written.bucket, written.key, now, before)


@activity.defn(no_thread_cancel_exception=True)
def find_object(call: Call[PutObject]) -> Applied[StoredObject] | Absent | Unknown:
    """Ask S3, by the key in the object's metadata, whether this call wrote it."""
    s3, wanted, before = s3_client(), call.request, remembered(Overwritten)
    now = see(s3, wanted.bucket, wanted.key)
    if now and now.stored.metadata.get(KEY_METADATA) == call.key:
        return Applied(result=_stored(wanted, now.etag, now.version_id))
    if before and before.versions:
        found = _written_version(s3, call, before)
        return Applied(result=found) if found else Absent()
    if before is None or (now.etag if now else None) == before.etag:
        return Absent()
    return Unknown(
        why=f"{named(wanted.bucket, wanted.key)} was written or deleted by someone else during this step; "
        "whether this step had written it before cannot be told"
    )


PUT_OBJECT = Tool(
    name="s3.put_object",
    description="Write an object to S3; the undo puts back what was there unless someone has written since.",
    forward=put_object,
    compensate=restore_object,
    lookup=find_object,
    is_reversible=True,
    acts_on=("s3/{bucket}/{key}",),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=15),
    undo_timeout=timedelta(seconds=20),
    proves=proves,
)


def _stored(wanted: PutObject, etag: str, version: str | None, *, changed: bool = True) -> StoredObject:
    return StoredObject(bucket=wanted.bucket, key=wanted.key, etag=etag, version_id=version, changed=changed)


def _is_as_wanted(wanted: PutObject, stored: StoredContent) -> bool:
    metadata = {name: value for name, value in stored.metadata.items() if name != KEY_METADATA}
    same_type = stored.headers.get("ContentType") == wanted.content_type
    return same_type and stored.content == wanted.body.encode() and metadata == wanted.metadata


def _arguments(call: Call[PutObject]) -> dict[str, Any]:
    return {
        "Body": call.request.body.encode(),
        "ContentType": call.request.content_type,
        "Metadata": {**call.request.metadata, KEY_METADATA: call.key},
    }


def _as_left(call: Call[PutObject], now: StoredContent) -> StoredContent:
    """What the object is if nobody wrote to it since; what a bucket adds by itself is taken as it is."""
    asked = _arguments(call)
    added = {name: value for name, value in now.headers.items() if name in ADDED_BY_THE_BUCKET}
    return StoredContent(
        content=asked["Body"],
        headers=added | {"ContentType": asked["ContentType"]},
        metadata=asked["Metadata"],
        tags={},
    )


def _to_remember(s3: S3Client, wanted: PutObject, now: Seen | None) -> Overwritten:
    versions = has_versions(s3, wanted.bucket)
    if now is None:
        return Overwritten(versions=versions)
    if versions:
        return Overwritten(etag=now.etag, version_id=now.version_id, versions=True)
    if now.restorable:
        raise Refused(
            f"{named(wanted.bucket, wanted.key)} could not be put back: {now.restorable}. Nothing was "
            "written. Enable the bucket's versioning, or choose another key"
        )
    return Overwritten(etag=now.etag, stored=now.stored, versions=False)


def _written_version(s3: S3Client, call: Call[PutObject], before: Overwritten) -> StoredObject | None:
    """The version that this call wrote, among those that are newer than what was there before it."""
    wanted = call.request
    for version in versions_of(s3, wanted.bucket, wanted.key).versions:
        if version == before.version_id:
            return None
        head = s3.head_object(Bucket=wanted.bucket, Key=wanted.key, VersionId=version)
        if head["Metadata"].get(KEY_METADATA) == call.key:
            return _stored(wanted, head["ETag"], version)
    return None
