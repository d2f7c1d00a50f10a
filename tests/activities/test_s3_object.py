"""s3.put_object against a real S3 server."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import JsonValue, ValidationError

from activities.s3 import PUT_OBJECT, PutObject, StoredObject
from activities.s3_object import find_object, put_object, restore_object
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import NOTHING, REFUSED, UNKNOWN, Conflict, Evidence, NothingHappened, Refused, weigh
from tests.activities.attempts import Remembering
from tests.activities.s3_world import snapshot
from tests.faults import Fault
from tests.faults.http_proxy import HttpFaults
from tests.faults.providers import S3

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

KEY = "conf/app settings.json"
OLD: dict[str, Any] = {
    "Body": b"\x00old\xff",
    "ContentType": "application/x-old",
    "CacheControl": "no-cache",
    "ContentLanguage": "en",
    "ContentDisposition": "inline",
    "Metadata": {"owner": "them", "rescind-key": "an-earlier-call"},
    "Tagging": "team=a%20b&x=1",
    "StorageClass": "STANDARD_IA",
}


@pytest.fixture
def bucket(aws: None, outside: "S3Client", bucket_name: str) -> str:
    outside.create_bucket(Bucket=bucket_name)
    return bucket_name


def asked(bucket: str, key: str = "key-1", body: str = "new") -> Call[PutObject]:
    request = PutObject(bucket=bucket, key=KEY, body=body, metadata={"owner": "us"})
    return Call[PutObject](request=request, key=key, undo_key=f"undo-{key}")


def receipt(call: Call[PutObject], made: StoredObject, image: JsonValue) -> Receipt[PutObject, StoredObject]:
    return Receipt[PutObject, StoredObject](call=call, before=image, result=made)


def _nothing(s3: "S3Client", bucket: str) -> None:
    pass


def _old(s3: "S3Client", bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key=KEY, **OLD)


def _versions(s3: "S3Client", bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def _versions_and_old(s3: "S3Client", bucket: str) -> None:
    _versions(s3, bucket)
    _old(s3, bucket)


def _old_then_versions(s3: "S3Client", bucket: str) -> None:
    _old(s3, bucket)
    _versions(s3, bucket)


WORLDS = [_nothing, _old, _versions, _versions_and_old, _old_then_versions]
World = Callable[["S3Client", str], None]


@pytest.mark.parametrize("world", WORLDS)
async def test_what_was_there_comes_back(outside: "S3Client", bucket: str, world: World) -> None:
    """Written once however often, found as answered, and undone to the same content, headers, tags and versions."""
    world(outside, bucket)
    before, ledger, call = snapshot(outside, bucket), Remembering(), asked(bucket)
    assert await ledger.run(find_object, call) == Absent()
    made = await ledger.run(put_object, call)
    assert outside.get_object(Bucket=bucket, Key=KEY)["Body"].read() == b"new"
    after = snapshot(outside, bucket)
    assert await ledger.run(put_object, call) == made
    assert await ledger.run(find_object, call) == Applied(result=made)
    assert snapshot(outside, bucket) == after
    undone = restore_object(receipt(call, made, ledger.image))
    assert undone.grade is (Grade.EQUIVALENT if world is _old else Grade.EXACT)
    assert snapshot(outside, bucket) == before
    assert restore_object(receipt(call, made, ledger.image)).grade is Grade.NOTHING
    assert await ledger.run(find_object, call) == Absent()
    assert snapshot(outside, bucket) == before


@pytest.mark.parametrize("world", [_nothing, _old, _versions_and_old])
async def test_an_undo_of_a_call_that_never_happened(outside: "S3Client", bucket: str, world: World) -> None:
    """It changes nothing."""
    world(outside, bucket)
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket))
    restore_object(receipt(asked(bucket), made, ledger.image))
    before = snapshot(outside, bucket)
    assert restore_object(receipt(asked(bucket, "never"), made, ledger.image)).grade is Grade.NOTHING
    assert snapshot(outside, bucket) == before


def _overwritten(s3: "S3Client", bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key=KEY, Body=b"theirs")


def _same_content(s3: "S3Client", bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key=KEY, Body=b"new")


def _tagged(s3: "S3Client", bucket: str) -> None:
    s3.put_object_tagging(Bucket=bucket, Key=KEY, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})


def _header_changed(s3: "S3Client", bucket: str) -> None:
    metadata = s3.head_object(Bucket=bucket, Key=KEY)["Metadata"]
    s3.put_object(Bucket=bucket, Key=KEY, Body=b"new", Metadata=metadata, CacheControl="no-store")


def _deleted(s3: "S3Client", bucket: str) -> None:
    s3.delete_object(Bucket=bucket, Key=KEY)


@pytest.mark.parametrize("theirs", [_overwritten, _same_content, _tagged, _header_changed, _deleted])
async def test_somebody_changed_the_object(outside: "S3Client", bucket: str, theirs: World) -> None:
    """Whatever they did to an object that had overwritten one is a conflict and survives."""
    _old(outside, bucket)
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket))
    theirs(outside, bucket)
    used = snapshot(outside, bucket)
    with pytest.raises(Conflict, match="Nothing was changed"):
        restore_object(receipt(asked(bucket), made, ledger.image))
    assert snapshot(outside, bucket) == used
    found = await ledger.run(find_object, asked(bucket))
    assert isinstance(found, Applied if theirs in (_tagged, _header_changed) else Unknown)


@pytest.mark.parametrize("theirs", [_overwritten, _deleted])
async def test_somebody_wrote_a_newer_version(outside: "S3Client", bucket: str, theirs: World) -> None:
    """It is a conflict and survives; the lookup finds ours beneath it."""
    _versions_and_old(outside, bucket)
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket))
    theirs(outside, bucket)
    used = snapshot(outside, bucket)
    with pytest.raises(Conflict, match="Nothing was changed"):
        restore_object(receipt(asked(bucket), made, ledger.image))
    assert snapshot(outside, bucket) == used
    assert await ledger.run(find_object, asked(bucket)) == Applied(result=made)


async def test_an_object_that_was_deleted_by_hand(outside: "S3Client", bucket: str) -> None:
    """When there was none before, nothing is left to undo; with versions, ours is removed from beneath."""
    before, ledger = snapshot(outside, bucket), Remembering()
    made = await ledger.run(put_object, asked(bucket))
    _deleted(outside, bucket)
    assert restore_object(receipt(asked(bucket), made, ledger.image)).grade is Grade.NOTHING
    assert snapshot(outside, bucket) == before
    _versions(outside, bucket)
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket, "key-2"))
    _deleted(outside, bucket)
    undone = restore_object(receipt(asked(bucket, "key-2"), made, ledger.image))
    assert undone.grade is Grade.RESIDUE
    left = snapshot(outside, bucket)
    assert left["versions"] == []
    assert len(left["deleted"]) == 1


async def test_an_object_that_is_as_wanted(outside: "S3Client", bucket: str) -> None:
    """Nothing is written, the result says so, and its undo changes nothing."""
    outside.put_object(
        Bucket=bucket, Key=KEY, Body=b"new", ContentType="text/plain; charset=utf-8", Metadata={"owner": "us"}
    )
    before, ledger = snapshot(outside, bucket), Remembering()
    made = await ledger.run(put_object, asked(bucket))
    assert made.changed is False
    assert ledger.image is None
    assert restore_object(receipt(asked(bucket), made, None)).grade is Grade.NOTHING
    assert snapshot(outside, bucket) == before


async def test_versioning_that_is_enabled_after_the_step(outside: "S3Client", bucket: str) -> None:
    """The object is as before, and the undo says what it could not take away."""
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket))
    _versions(outside, bucket)
    undone = restore_object(receipt(asked(bucket), made, ledger.image))
    assert undone.grade is Grade.RESIDUE
    assert "older version" in (undone.detail or "")


async def test_what_could_not_be_put_back(outside: "S3Client", bucket: str) -> None:
    """An object too large to keep is refused, except where the bucket keeps it; so is suspended versioning."""
    outside.put_object(Bucket=bucket, Key=KEY, Body=b"x" * (256 * 1024 + 1))
    before = snapshot(outside, bucket)
    with pytest.raises(Refused, match="could not be put back"):
        await Remembering().run(put_object, asked(bucket))
    assert snapshot(outside, bucket) == before
    _versions(outside, bucket)
    assert (await Remembering().run(put_object, asked(bucket))).changed
    outside.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    with pytest.raises(Refused, match="suspended"):
        await Remembering().run(put_object, asked(bucket, "key-2", "newer"))


async def test_somebody_writes_between_the_look_and_the_put(outside: "S3Client", bucket: str) -> None:
    """The put is conditional: theirs survives, and the attempt proves that it did nothing."""
    ledger = Remembering()
    store = ledger.store

    async def slow(image: JsonValue) -> JsonValue:
        _overwritten(outside, bucket)
        return await store(image)

    ledger.store = slow  # type: ignore[method-assign]  # this ledger is slow once
    with pytest.raises(NothingHappened, match="Nothing was written"):
        await ledger.run(put_object, asked(bucket))
    assert outside.get_object(Bucket=bucket, Key=KEY)["Body"].read() == b"theirs"


async def test_the_first_before_image_counts(outside: "S3Client", bucket: str) -> None:
    """A later attempt writes only over what the first one saw, while that one is unproven."""
    _old(outside, bucket)
    ledger = Remembering()
    made = await ledger.run(put_object, asked(bucket))
    restore_object(receipt(asked(bucket), made, ledger.image))
    _overwritten(outside, bucket)
    with pytest.raises(NothingHappened):
        await ledger.run(put_object, asked(bucket))
    assert outside.get_object(Bucket=bucket, Key=KEY)["Body"].read() == b"theirs"


OUTCOMES: dict[Fault, Evidence] = {
    Fault.REFUSE: REFUSED,
    Fault.UNAVAILABLE: NOTHING.after(1.0),
    Fault.ERROR_AFTER: UNKNOWN,
    Fault.DROP_AFTER: UNKNOWN,
    Fault.HANG_AFTER: UNKNOWN,
}


@pytest.mark.parametrize("fault", OUTCOMES)
async def test_what_a_failing_put_proves(
    moto_url: str, outside: "S3Client", bucket: str, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Refused and throttled puts did nothing; after every other the lookup tells, and the undo restores."""
    _old(outside, bucket)
    before = snapshot(outside, bucket)
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        await proxy.plan("put object", [fault])
        ledger = Remembering()
        with pytest.raises(Exception, match=r".") as caught:
            await ledger.run(put_object, asked(bucket))
        assert weigh(caught.value, PUT_OBJECT.proves) == OUTCOMES[fault]
        found = await ledger.run(find_object, asked(bucket))
        assert isinstance(found, Applied if fault.acts else Absent)
        if isinstance(found, Applied):
            undone = await ledger.run(restore_object, receipt(asked(bucket), found.result, ledger.image))
            assert undone.grade is Grade.EQUIVALENT
    assert snapshot(outside, bucket) == before


@pytest.mark.parametrize("world", [_nothing, _old])
async def test_the_reply_to_the_undo_is_lost(
    moto_url: str, outside: "S3Client", bucket: str, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    """The second undo finds what was there before, and that is success."""
    world(outside, bucket)
    before = snapshot(outside, bucket)
    async with HttpFaults(moto_url, S3) as proxy:
        monkeypatch.setenv("RESCIND_S3_ENDPOINT", proxy.url)
        ledger = Remembering()
        made = await ledger.run(put_object, asked(bucket))
        for operation in ("put object", "delete object"):
            await proxy.plan(operation, [Fault.DROP_AFTER])
        with pytest.raises(Exception, match=r"[Cc]onnection"):
            await ledger.run(restore_object, receipt(asked(bucket), made, ledger.image))
        undone = await ledger.run(restore_object, receipt(asked(bucket), made, ledger.image))
        assert undone.grade is Grade.NOTHING
    assert snapshot(outside, bucket) == before


def test_a_bucket_that_is_not_there(aws: None, bucket_name: str) -> None:
    """The put is refused by what S3 answers, and another attempt is of no use."""
    with pytest.raises(Exception, match="NoSuchBucket") as caught:
        put_object(asked(bucket_name))
    assert weigh(caught.value, PUT_OBJECT.proves) == REFUSED


@pytest.mark.parametrize(
    "wrong",
    [
        {"body": "x" * (256 * 1024 + 1)},
        {"metadata": {"rescind-key": "x"}},
        {"metadata": {"Upper": "x"}},
        {"key": ""},
    ],
)
def test_an_impossible_request(wrong: dict[str, Any]) -> None:
    """The request itself does not come into being."""
    with pytest.raises(ValidationError):
        PutObject.model_validate({"bucket": "b", "key": "k", "body": "x"} | wrong)
