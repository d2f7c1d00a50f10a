"""The two ways of undoing a put: put back what was there, or remove the version that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from activities._aws import enough_time
from activities._s3_conditional import delete_if, put_if, versions_of
from activities._s3_object import Overwritten, Seen, named
from rescind import Restoration
from rescind.evidence import Conflict

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def put_back(s3: S3Client, bucket: str, key: str, now: Seen, before: Overwritten) -> Restoration:
    """Undo in one conditional request; a server that ignores If-Match on DELETE leaves a gap of milliseconds.

    Raises:
        NothingHappened: The object changed meanwhile; nothing was written.
    """
    enough_time()
    if before.stored is None:
        made = delete_if(s3, bucket, key, now.etag)
        restoration = Restoration.exact()
    else:
        again = before.stored.arguments() | {"IfMatch": now.etag}
        made = put_if(s3, bucket, key, again).get("VersionId")
        restoration = Restoration.equivalent(
            "content, headers, metadata and tags are as before; the time of the last change is that of the undo"
        )
    if made not in (None, "null"):
        return Restoration.residue(
            f"versioning was enabled since the step: {named(bucket, key)} is as before, and what the step wrote is "
            "left as an older version"
        )
    return restoration


def remove_version(
    s3: S3Client, bucket: str, key: str, version: str | None, before: Overwritten
) -> Restoration:
    """Delete the one version that the step wrote, so that the one before is the current one again.

    Raises:
        Conflict: Somebody wrote or deleted the object after the step; nothing was changed.
    """
    beneath = versions_of(s3, bucket, key)
    if version is None:
        raise Conflict(f"S3 gave no version of {named(bucket, key)} to remove. Nothing was changed")
    if version not in beneath.versions:
        return Restoration.nothing(f"the version {version} of {named(bucket, key)} is gone already")
    if version != beneath.latest and not (beneath.deleted and before.etag is None):
        raise Conflict(
            f"{named(bucket, key)} was {'deleted' if beneath.deleted else 'written to'} after this step, which leaves "
            f"the version {version} beneath. Nothing was changed"
        )
    enough_time()
    s3.delete_object(Bucket=bucket, Key=key, VersionId=version)
    if beneath.deleted:
        return Restoration.residue(
            f"{named(bucket, key)} had been deleted already, which leaves a delete marker"
        )
    return Restoration.exact()
