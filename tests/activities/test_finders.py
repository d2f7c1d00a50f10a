"""The tools that only read: what is there, a refusal where nothing is, and nothing changed either way."""

import json
import uuid
from typing import Any

import boto3
import httpx
import pytest

from activities.crm_find import FIND_ORDER, FindOrder, read_order
from activities.git_find import FIND_BRANCH, FindBranch, read_branch
from activities.s3_find import FIND_BUCKET, FindBucket, read_bucket
from embedded.world import snapshot
from rescind.evidence import NothingHappened, Refused
from tests.activities.attempts import Remembering
from tests.activities.sandbox_world import Sandbox, call_of


@pytest.fixture(autouse=True)
def reached(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's environment reaches the stand-ins."""
    for name, value in sandbox.environment.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)


async def run(activity: Any, request: Any) -> Any:
    return await Remembering().run(activity, call_of(request), seconds=15)


async def test_an_order(sandbox: Sandbox) -> None:
    """It is as the CRM has it; what is not there is refused, and an answer that is lost is only asked for again."""
    order = await sandbox.new_order("confirmed")
    found = await read_order(call_of(FindOrder(order=order)))
    assert found.model_dump(exclude={"changed"}) == {
        "order": order,
        "status": "confirmed",
        "customer": "Ada",
        "email": "ada@example.com",
        "total": 4200,
        "currency": "eur",
    }
    with pytest.raises(Refused, match="no order"):
        await read_order(call_of(FindOrder(order="nobody")))
    await sandbox.misbehave("crm.get", "unavailable")
    with pytest.raises(httpx.HTTPStatusError):
        await read_order(call_of(FindOrder(order=order)))


async def test_a_branch(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit is that of the remote; no such branch, remote or repository is refused."""
    found = await run(read_branch, FindBranch(remote="app", branch="main"))
    assert found.commit == snapshot(sandbox.environment).git["app"]["refs/heads/main"]
    with pytest.raises(Refused, match="no branch 'nobody'"):
        await run(read_branch, FindBranch(remote="app", branch="nobody"))
    with pytest.raises(Refused, match="knows no git remote"):
        await run(read_branch, FindBranch(remote="other", branch="main"))
    monkeypatch.setenv(
        "RESCIND_GIT_REMOTES", json.dumps({"gone": "/nowhere.git", "down": "git://127.0.0.1:1/x"})
    )
    with pytest.raises(Refused, match="remote is unchanged"):
        await run(read_branch, FindBranch(remote="gone", branch="main"))
    with pytest.raises(NothingHappened):
        await run(read_branch, FindBranch(remote="down", branch="main"))


async def test_a_bucket(sandbox: Sandbox) -> None:
    """Region and tags are those of the bucket; one that is not there is refused."""
    s3 = boto3.Session().client("s3", endpoint_url=sandbox.environment["RESCIND_S3_ENDPOINT"])
    name = f"b-{uuid.uuid4().hex}"
    s3.create_bucket(Bucket=name)
    assert (await run(read_bucket, FindBucket(bucket=name))).tags == {}
    s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": [{"Key": "team", "Value": "blue"}]})
    found = await run(read_bucket, FindBucket(bucket=name))
    assert (found.bucket, found.region, found.tags) == (name, "us-east-1", {"team": "blue"})
    with pytest.raises(Refused, match="there is no bucket"):
        await run(read_bucket, FindBucket(bucket=f"b-{uuid.uuid4().hex}"))


def test_they_are_read_only() -> None:
    """None of them enters the stack."""
    assert all(tool.read_only for tool in (FIND_ORDER, FIND_BRANCH, FIND_BUCKET))
