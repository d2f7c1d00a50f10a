"""The tool that launches machines, at the stand-in of EC2: one for each key, and none afterwards."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from activities.vm import (
    LAUNCH_INSTANCE,
    Instance,
    LaunchInstance,
    find_instance,
    launch_instance,
    terminate_instance,
)
from rescind import Absent, Applied, Call, Grade, Receipt
from rescind.evidence import REFUSED, UNKNOWN, Conflict, NothingHappened, weigh
from tests.activities.attempts import Remembering
from tests.activities.sandbox_world import call_of
from tests.faults import Fault
from tests.faults.http_proxy import Dialect, HttpFaults
from tests.faults.http_wire import Answer

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client

EC2 = Dialect(
    operations={"call": r"^POST /"},
    refused=Answer(
        403,
        b"<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>",
    ),
    unavailable=Answer(
        503,
        b"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow</Message></Error></Errors></Response>",
    ),
    broken=Answer(500, b"<Response><Errors><Error><Code>InternalError</Code></Error></Errors></Response>"),
)


@pytest.fixture
def ec2(stack_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> "EC2Client":
    """The provider's own client; the worker's environment points at the same stand-in."""
    for name, value in stack_environment.items():
        if name.startswith(("AWS_", "RESCIND_")):
            monkeypatch.setenv(name, value)
    endpoint = stack_environment["RESCIND_EC2_ENDPOINT"]
    return boto3.session.Session().client("ec2", endpoint_url=endpoint, config=Config(proxies={}))


@pytest.fixture
def call(ec2: "EC2Client") -> Call[LaunchInstance]:
    image = ec2.describe_images(Owners=["amazon"])["Images"][0].get("ImageId", "")
    return call_of(LaunchInstance(name=f"vm-{uuid.uuid4().hex}", image=image))


def receipt(call: Call[LaunchInstance], made: Instance) -> Receipt[LaunchInstance, Instance]:
    return Receipt(call=call, result=made)


def named(ec2: "EC2Client", call: Call[LaunchInstance]) -> dict[str, str]:
    """The states of the machines of the call's name, those that have ended too."""
    found = ec2.describe_instances(Filters=[{"Name": "tag:Name", "Values": [call.request.name]}])
    return {
        one.get("InstanceId", ""): str(one.get("State", {}).get("Name"))
        for each in found["Reservations"]
        for one in each.get("Instances", [])
    }


async def run(activity: Any, given: Any) -> Any:
    return await Remembering().run(activity, given, seconds=30)


async def test_launch_look_up_terminate(ec2: "EC2Client", call: Call[LaunchInstance]) -> None:
    """One machine for one key; terminated once, and a late call with the key launches none."""
    assert await run(find_instance, call) == Absent()
    made = await run(launch_instance, call)
    assert made.launched_at is not None
    assert await run(launch_instance, call) == made
    assert named(ec2, call) == {made.instance: "running"}
    assert await run(find_instance, call) == Applied(result=made)
    grades = [(await run(terminate_instance, receipt(call, made))).grade for _ in range(2)]
    assert grades == [Grade.EQUIVALENT, Grade.NOTHING]
    assert await run(find_instance, call) == Absent()
    with pytest.raises(Exception, match="has ended since"):
        await run(launch_instance, call)
    assert named(ec2, call) == {made.instance: "terminated"}


@pytest.mark.parametrize("change", ["stopped", "renamed", "protected"])
async def test_somebody_has_changed_it_since(
    ec2: "EC2Client", call: Call[LaunchInstance], change: str
) -> None:
    """Conflict, and the machine stays."""
    made = await run(launch_instance, call)
    if change == "stopped":
        ec2.stop_instances(InstanceIds=[made.instance])
    elif change == "renamed":
        ec2.create_tags(Resources=[made.instance], Tags=[{"Key": "Name", "Value": "theirs"}])
    else:
        ec2.modify_instance_attribute(InstanceId=made.instance, DisableApiTermination={"Value": True})
    with pytest.raises(Conflict, match="Nothing was terminated"):
        await run(terminate_instance, receipt(call, made))
    (found,) = ec2.describe_instances(InstanceIds=[made.instance])["Reservations"][0].get("Instances", [])
    assert found.get("State", {}).get("Name") == ("stopped" if change == "stopped" else "running")


@pytest.mark.parametrize("fault", [Fault.ERROR_AFTER, Fault.DROP_AFTER])
async def test_the_answer_is_lost(
    ec2: "EC2Client", call: Call[LaunchInstance], fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown; the lookup finds the machine, and another attempt launches no other one."""
    async with HttpFaults(ec2.meta.endpoint_url, EC2) as proxy:
        monkeypatch.setenv("RESCIND_EC2_ENDPOINT", proxy.url)
        await proxy.plan("call", [fault])
        with pytest.raises((ClientError, ConnectionClosedError)) as lost:
            await run(launch_instance, call)
        assert weigh(lost.value, LAUNCH_INSTANCE.proves) == UNKNOWN
        found = await run(find_instance, call)
        assert await run(launch_instance, call) == found.result
    assert list(named(ec2, call).values()) == ["running"]


async def test_the_answer_to_the_undo_is_lost(
    ec2: "EC2Client", call: Call[LaunchInstance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try finds it gone, which is no conflict."""
    made = await run(launch_instance, call)
    async with HttpFaults(ec2.meta.endpoint_url, EC2) as proxy:
        monkeypatch.setenv("RESCIND_EC2_ENDPOINT", proxy.url)
        await proxy.plan("call", [None, Fault.DROP_AFTER])
        with pytest.raises(ConnectionClosedError):
            await run(terminate_instance, receipt(call, made))
        assert (await run(terminate_instance, receipt(call, made))).grade is Grade.NOTHING
        await proxy.plan("call", [Fault.DROP_AFTER])
        with pytest.raises(NothingHappened, match="Nothing was written"):
            await run(terminate_instance, receipt(call, made))


@pytest.mark.parametrize("minutes", [1, 6, None])
async def test_ec2_does_not_show_it(
    ec2: "EC2Client", call: Call[LaunchInstance], minutes: int | None
) -> None:
    """Launched just now it may run all the same, so it is asked again; later it is gone."""
    launched_at = datetime.now(UTC) - timedelta(minutes=minutes) if minutes else None
    made = Instance(instance="i-00000000000000000", address=None, launched_at=launched_at)
    if minutes == 1:
        with pytest.raises(NothingHappened, match="may run all the same"):
            await run(terminate_instance, receipt(call, made))
    else:
        assert (await run(terminate_instance, receipt(call, made))).grade is Grade.NOTHING
    assert named(ec2, call) == {}


async def test_an_image_that_is_not_there(ec2: "EC2Client", call: Call[LaunchInstance]) -> None:
    """EC2 refuses it, and no retry will help."""
    wrong = call_of(call.request.model_copy(update={"image": "ami-00000000"}))
    with pytest.raises(ClientError) as refused:
        await run(launch_instance, wrong)
    assert weigh(refused.value, LAUNCH_INSTANCE.proves) == REFUSED
    assert named(ec2, wrong) == {}
