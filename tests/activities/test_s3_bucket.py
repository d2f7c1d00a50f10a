"""s3.create_bucket against a real S3 server."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import JsonValue, ValidationError

from activities._aws import s3_client
from activities.s3 import CREATE_BUCKET, Bucket, CreateBucket
from activities.s3_bucket import create_bucket, delete_bucket, find_bucket
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import NOTHING, REFUSED, UNKNOWN, Conflict, Evidence, Refused, weigh
from tests.activities.attempts import Remembering
from tests.activities.s3_world import snapshot
from tests.faults import Fault
from tests.faults.http_proxy import HttpFaults
from tests.faults.providers import S3

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

pytestmark = pytest.mark.usefixtures("aws")


def asked(bucket: str, key: str = "key-1") -> Call[CreateBucket]:
    return Call[CreateBucket](request=CreateBucket(bucket=bucket), key=key, undo_key=f"undo-{key}")


def receipt(call: Call[CreateBucket], before: JsonValue = None) -> Receipt[CreateBucket, Bucket]:
    made = Bucket(bucket=call.request.bucket, region="us-east-1")
    return Receipt[CreateBucket, Bucket](call=call, before=before, result=made)


def test_a_bucket_is_created_tagged_found_and_undone(outside: "S3Client", bucket_name: str) -> None:
    """It carries the call's key, the lookup agrees with the result, and the undo leaves no bucket."""
    call = asked(bucket_name)
    assert find_bucket(call) == Absent()
    made = create_bucket(call)
    assert snapshot(outside, bucket_name)["tags"] == [{"Key": "rescind-key", "Value": "key-1"}]
    assert find_bucket(call) == Applied(result=made)
    assert create_bucket(call) == made
    assert delete_bucket(receipt(call)).grade is Grade.EXACT
    assert snapshot(outside, bucket_name) is None
    assert delete_bucket(receipt(call)).grade is Grade.NOTHING
    assert find_bucket(call) == Absent()


def test_a_bucket_in_another_region(
    outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is created in the worker's region, which outside us-east-1 has to be said."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert create_bucket(asked(bucket_name)).region == "eu-west-1"
    assert outside.get_bucket_location(Bucket=bucket_name)["LocationConstraint"] == "eu-west-1"
    assert delete_bucket(receipt(asked(bucket_name))).grade is Grade.EXACT


@pytest.mark.parametrize("key", [None, "another"])
async def test_a_bucket_that_was_there(outside: "S3Client", bucket_name: str, key: str | None) -> None:
    """It is refused although creating it again would succeed, remembered nothing of, and never deleted."""
    if key:
        create_bucket(asked(bucket_name, key))
    else:
        outside.create_bucket(Bucket=bucket_name)
    before, ledger = snapshot(outside, bucket_name), Remembering()
    with pytest.raises(Refused, match="exists already"):
        await ledger.run(create_bucket, asked(bucket_name))
    assert ledger.image is None
    assert await ledger.run(find_bucket, asked(bucket_name)) == Absent()
    with pytest.raises(Conflict, match="not proven"):
        delete_bucket(receipt(asked(bucket_name)))
    assert snapshot(outside, bucket_name) == before


def _object(s3: "S3Client", bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="theirs", Body=b"work")


def _older_version(s3: "S3Client", bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    _object(s3, bucket)
    s3.delete_object(Bucket=bucket, Key="theirs")


def _delete_marker(s3: "S3Client", bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    version = s3.put_object(Bucket=bucket, Key="theirs", Body=b"work")["VersionId"]
    s3.delete_object(Bucket=bucket, Key="theirs")
    s3.delete_object(Bucket=bucket, Key="theirs", VersionId=version)


def _upload(s3: "S3Client", bucket: str) -> None:
    s3.create_multipart_upload(Bucket=bucket, Key="theirs")


def _tag(s3: "S3Client", bucket: str) -> None:
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "owner", "Value": "them"}]})


@pytest.mark.parametrize("theirs", [_object, _older_version, _delete_marker, _upload, _tag])
def test_somebody_uses_the_bucket(outside: "S3Client", bucket_name: str, theirs: Any) -> None:
    """Whatever they put into it, or their tags in place of ours, is a conflict and survives."""
    create_bucket(asked(bucket_name))
    theirs(outside, bucket_name)
    used = snapshot(outside, bucket_name)
    with pytest.raises(Conflict, match="Nothing was deleted"):
        delete_bucket(receipt(asked(bucket_name)))
    assert snapshot(outside, bucket_name) == used


KILLED = """
import asyncio, json, pathlib, sys
from activities.s3_bucket import *
from tests.activities.attempts import Remembering

class OnDisk(Remembering):
    async def store(self, image):
        pathlib.Path(sys.argv[1]).write_text(json.dumps(image))
        return image

call = Call[CreateBucket](request=CreateBucket(bucket=sys.argv[2]), key="key-1", undo_key="undo")
asyncio.run(OnDisk().run(create_bucket, call))
"""


async def test_killed_between_create_and_tag(
    moto_url: str, outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The untagged bucket is told by what was remembered and when it was created; it is tagged then, and undone."""
    remembered = tmp_path / "image.json"
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        await proxy.plan("tag bucket", [Fault.HOLD])
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, remembered, bucket_name)
        await proxy.held()
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
    monkeypatch.setenv("RESCIND_S3_ENDPOINT", moto_url)
    assert snapshot(outside, bucket_name)["tags"] == []
    assert find_bucket(asked(bucket_name)) == Absent()  # with nothing remembered this call never came to it
    ledger = Remembering()
    ledger.image = json.loads(remembered.read_text())
    with pytest.raises(Refused, match="exists already"):
        await ledger.run(create_bucket, asked(bucket_name))
    found = await ledger.run(find_bucket, asked(bucket_name))
    assert isinstance(found, Applied)
    assert snapshot(outside, bucket_name)["tags"] == [{"Key": "rescind-key", "Value": asked(bucket_name).key}]
    assert await ledger.run(create_bucket, asked(bucket_name)) == found.result
    assert delete_bucket(receipt(asked(bucket_name), ledger.image)).grade is Grade.EXACT
    assert snapshot(outside, bucket_name) is None


@pytest.mark.parametrize("at", ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", None])
async def test_an_untagged_bucket_of_another_time(
    outside: "S3Client", bucket_name: str, at: str | None
) -> None:
    """When its time of creation does not fit the attempt, nobody guesses, and nothing is deleted."""
    outside.create_bucket(Bucket=bucket_name)
    ledger = Remembering()
    ledger.image = {"at": at}
    assert isinstance(await ledger.run(find_bucket, asked(bucket_name)), Unknown)
    with pytest.raises(Conflict, match="not proven"):
        delete_bucket(receipt(asked(bucket_name), ledger.image))
    assert snapshot(outside, bucket_name) is not None


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Tue, 01 Dec 2026 14:50:59 GMT, Tue, 01 Dec 2026 14:50:59 GMT"]
)
async def test_a_clock_that_cannot_be_read(
    moto_url: str, outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    """It is as if S3 had told no time: the bucket is made all the same, and one without our tag is in doubt."""

    def spoil(response_dict: dict[str, Any], **_: Any) -> None:
        response_dict["headers"]["date"] = date

    client = s3_client()
    client.meta.events.register_first("before-parse.s3.HeadBucket", spoil)
    try:
        ledger = Remembering()
        made = await ledger.run(create_bucket, asked(bucket_name))
        assert (made.bucket, ledger.image) == (bucket_name, {"at": None})
        outside.delete_bucket_tagging(Bucket=bucket_name)
        assert isinstance(await ledger.run(find_bucket, asked(bucket_name)), Unknown)
    finally:
        client.meta.events.unregister("before-parse.s3.HeadBucket", spoil)


OUTCOMES: dict[Fault, Evidence] = {
    Fault.REFUSE: REFUSED,
    Fault.UNAVAILABLE: NOTHING.after(1.0),
    Fault.ERROR_AFTER: UNKNOWN,
    Fault.DROP_AFTER: UNKNOWN,
    Fault.HANG_AFTER: UNKNOWN,
    Fault.GARBAGE: UNKNOWN,
}


@pytest.mark.parametrize("fault", OUTCOMES)
async def test_what_a_failing_create_proves(
    moto_url: str, outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Refused and throttled calls did nothing; after every other the lookup tells, and the undo restores."""
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        await proxy.plan("create bucket", [fault])
        ledger = Remembering()
        with pytest.raises(Exception, match=r".") as caught:
            await ledger.run(create_bucket, asked(bucket_name))
        assert weigh(caught.value, CREATE_BUCKET.proves) == OUTCOMES[fault]
        assert (snapshot(outside, bucket_name) is not None) is fault.acts
        found = await ledger.run(find_bucket, asked(bucket_name))
        assert isinstance(found, Applied if fault.acts else Absent)
        undone = await ledger.run(delete_bucket, receipt(asked(bucket_name), ledger.image))
        assert undone.grade is (Grade.EXACT if fault.acts else Grade.NOTHING)
    assert snapshot(outside, bucket_name) is None


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.UNAVAILABLE, Fault.ERROR_AFTER])
async def test_a_tag_that_fails_never_proves_that_nothing_happened(
    moto_url: str, outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """The bucket stands already, so the error of the second request proves nothing; the lookup finds it."""
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        await proxy.plan("tag bucket", [fault])
        ledger = Remembering()
        with pytest.raises(Exception, match="was created and perhaps not tagged") as caught:
            await ledger.run(create_bucket, asked(bucket_name))
        assert weigh(caught.value, CREATE_BUCKET.proves) == UNKNOWN
        assert isinstance(await ledger.run(find_bucket, asked(bucket_name)), Applied)
        undone = await ledger.run(delete_bucket, receipt(asked(bucket_name), ledger.image))
        assert undone.grade is Grade.EXACT
    assert snapshot(outside, bucket_name) is None


async def test_the_reply_to_the_undo_is_lost(
    moto_url: str, outside: "S3Client", bucket_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second undo finds no bucket, and that is success."""
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        ledger = Remembering()
        await ledger.run(create_bucket, asked(bucket_name))
        await proxy.plan("delete bucket", [Fault.DROP_AFTER])
        with pytest.raises(Exception, match=r"[Cc]onnection"):
            await ledger.run(delete_bucket, receipt(asked(bucket_name)))
        undone = await ledger.run(delete_bucket, receipt(asked(bucket_name)))
        assert undone.grade is Grade.NOTHING
    assert snapshot(outside, bucket_name) is None


async def test_an_attempt_without_time_creates_nothing(outside: "S3Client", bucket_name: str) -> None:
    """A request that could not be answered within the attempt is not sent."""
    with pytest.raises(Exception, match="Nothing was sent") as caught:
        await Remembering().run(create_bucket, asked(bucket_name), seconds=3)
    assert weigh(caught.value, CREATE_BUCKET.proves) == NOTHING
    assert snapshot(outside, bucket_name) is None


@pytest.mark.parametrize("name", ["UPPER", "ab", "-abc", "a/b", "a b", "a" * 64])
def test_an_impossible_name(name: str) -> None:
    """The request itself does not come into being."""
    with pytest.raises(ValidationError):
        CreateBucket(bucket=name)
