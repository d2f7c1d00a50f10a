"""The tool that launches a virtual machine on Amazon EC2, by the call's key as client token and as tag."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from botocore.exceptions import ClientError
from pydantic import Field
from temporalio import activity

from activities._aws import REQUEST_SECONDS, before_writing, code_of, ec2_client, enough_time
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Repeat,
    Request,
    Restoration,
    Result,
    Retries,
    Risk,
    Tool,
    Unknown,
    time_left,
)
from rescind.evidence import Conflict, NothingHappened, Refused
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceTypeDef

KEY_TAG = "rescind-key"
"""The tag that holds the key of the call that launched the instance."""

SHOWN_WITHIN = timedelta(minutes=5)
"""After this long EC2 is taken to show what was launched, as the lookup's "absent" and the undo's "gone" need it.

EC2 promises no such time: its guide ("Eventual consistency in the Amazon EC2 API") says that an instance that was just
launched may not be found although it is there, and to ask again with growing waits of up to five minutes. Who knows the
own region better puts `LAUNCH_INSTANCE.model_copy(update={"late_for": ...})` into the catalogue.
"""

_GONE = ("shutting-down", "terminated")
_POLL_SECONDS = 0.5


class LaunchInstance(Request):
    """Launch one instance.

    Attributes:
        name: Its tag `Name`.
        image: The AMI's id.
        instance_type: Its type.
        subnet: The subnet; None is the default one.
        security_groups: The ids of its security groups; empty is the default one.
        key_pair: The name of the key pair to log in with; None is none.
    """

    name: Annotated[str, Field(min_length=1, max_length=200)]
    image: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")]
    instance_type: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")] = "t3.micro"
    subnet: str | None = None
    security_groups: list[str] = Field(default_factory=list)
    key_pair: str | None = None


class Instance(Result):
    """An instance that runs; the address is the private one.

    Attributes:
        launched_at: When it was launched, as EC2 says; None in results of earlier versions.
    """

    instance: str
    address: str | None
    launched_at: datetime | None = None


class StillStarting(Exception):
    """The instance was launched and does not run yet; the next attempt goes on waiting for it."""


@activity.defn(no_thread_cancel_exception=True)
def launch_instance(call: Call[LaunchInstance]) -> Instance:
    """Launch the instance and wait until it runs; EC2 launches one for each client token, however often it is asked.

    Raises:
        Refused: It was launched and has ended since, by itself or by somebody's hand; EC2 says why. Nothing runs.
        StillStarting: To be called again.
    """
    ec2 = ec2_client()
    enough_time()
    launched = _launch(ec2, call)
    return _running(ec2, launched)


@activity.defn(no_thread_cancel_exception=True)
def terminate_instance(receipt: Receipt[LaunchInstance, Instance]) -> Restoration:
    """Terminate the instance, with its disks, if it is still as it was launched.

    Raises:
        Conflict: It was stopped, retyped, renamed or protected since, or is not ours. Nothing was terminated.
        NothingHappened: EC2 does not show it, and was launched too short a time ago to believe that it is gone.
    """
    ec2, made = ec2_client(), receipt.result.instance
    with before_writing():
        found = _of_id(ec2, made)
        if found is None:
            _require_shown_by_now(receipt.result)
        if found is None or _state(found) in _GONE:
            return Restoration.nothing(f"the instance {made} is gone already")
        _require_as_launched(found, receipt.call)
    enough_time()
    try:
        ec2.terminate_instances(InstanceIds=[made])
    except ClientError as error:
        if code_of(error) == "OperationNotPermitted":
            raise Conflict(
                f"the instance {made} was protected from termination since. Nothing was terminated. Lift the "
                "protection, or keep it"
            ) from error
        raise
    return Restoration.equivalent(f"EC2 lists {made} as terminated for about an hour")


@activity.defn(no_thread_cancel_exception=True)
def find_instance(call: Call[LaunchInstance]) -> Applied[Instance] | Absent | Unknown:
    """Ask EC2 for the instance by its client token, and by its tag; it is asked once what was launched is shown.

    Raises:
        StillStarting: To be asked again.
    """
    ec2 = ec2_client()
    found = _of_call(ec2, call)
    if found is None or _state(found) in _GONE:
        return Absent()
    return Applied(result=_running(ec2, found))


LAUNCH_INSTANCE = Tool(
    name="vm.launch",
    description=(
        "Launch a virtual machine on Amazon EC2 and wait until it runs; the undo terminates it with its disks, unless "
        "it was changed since."
    ),
    forward=launch_instance,
    compensate=terminate_instance,
    lookup=find_instance,
    is_reversible=True,
    risk=Risk.MEDIUM,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=30),
    retries=Retries(tries=8, longest_wait=timedelta(seconds=5)),
    undo_timeout=timedelta(seconds=30),
    # Eleven tries take five minutes, within which an instance that EC2 does not show may still come to be shown.
    undo_retries=Retries(tries=11, first_wait=timedelta(seconds=1), longest_wait=timedelta(seconds=60)),
    late_for=SHOWN_WITHIN,
    proves=proves,
)


def _launch(ec2: EC2Client, call: Call[LaunchInstance]) -> InstanceTypeDef:
    asked = call.request
    optional = {
        "SubnetId": asked.subnet,
        "KeyName": asked.key_pair,
        "SecurityGroupIds": asked.security_groups,
    }
    tags = {"Name": asked.name, KEY_TAG: call.key}
    answer = ec2.run_instances(
        ImageId=asked.image,
        InstanceType=asked.instance_type,  # type: ignore[arg-type]  # the stubs list today's types
        MinCount=1,
        MaxCount=1,
        ClientToken=call.key,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            }
        ],
        **{name: value for name, value in optional.items() if value},  # type: ignore[arg-type]  # each of its type
    )
    return answer["Instances"][0]


def _running(ec2: EC2Client, found: InstanceTypeDef) -> Instance:
    """The instance once it runs, watched for as long as the attempt has time for one more request."""
    name = found.get("InstanceId", "")
    while _state(found) == "pending" and time_left() > REQUEST_SECONDS + _POLL_SECONDS:
        time.sleep(_POLL_SECONDS)
        found = _of_id(ec2, name) or found
    if _state(found) == "pending":
        raise StillStarting(f"the instance {name} was launched and does not run yet")
    if _state(found) in _GONE:
        # A client token is good for a day after the end of its instance, so a repeated call is answered with that.
        why = found.get("StateReason", {}).get("Message") or "EC2 does not say why"
        raise Refused(
            f"the instance {name} was launched and has ended since: {why}. Nothing runs, and EC2 launches no other one "
            "for this step. Begin anew, as another step, once the reason is gone"
        )
    return Instance(instance=name, address=found.get("PrivateIpAddress"), launched_at=found.get("LaunchTime"))


def _of_call(ec2: EC2Client, call: Call[LaunchInstance]) -> InstanceTypeDef | None:
    """The call's instance, a living one first; without the tag the client token finds it."""
    found = [
        instance
        for name, value in (("client-token", call.key), (f"tag:{KEY_TAG}", call.key))
        for each in ec2.describe_instances(Filters=[{"Name": name, "Values": [value]}])["Reservations"]
        for instance in each.get("Instances", [])
    ]
    return min(found, key=lambda each: _state(each) in _GONE, default=None)


def _of_id(ec2: EC2Client, name: str) -> InstanceTypeDef | None:
    try:
        reservations = ec2.describe_instances(InstanceIds=[name])["Reservations"]
    except ClientError as error:
        if code_of(error) == "InvalidInstanceID.NotFound":
            return None
        raise
    return next((instance for each in reservations for instance in each.get("Instances", [])), None)


def _require_shown_by_now(made: Instance) -> None:
    age = datetime.now(UTC) - made.launched_at if made.launched_at else SHOWN_WITHIN
    if age < SHOWN_WITHIN:
        raise NothingHappened(
            f"EC2 does not show the instance {made.instance}, launched {age.total_seconds():.0f} s ago: it may run all "
            "the same. Nothing was terminated. EC2 is asked again"
        )


def _require_as_launched(found: InstanceTypeDef, call: Call[LaunchInstance]) -> None:
    asked = call.request
    tags = {tag.get("Key", ""): tag.get("Value", "") for tag in found.get("Tags", [])}
    left = {"Name": asked.name, KEY_TAG: call.key}  # tags that somebody adds are no change of what it does
    wanted = {
        "its tags": ({name: tags.get(name) for name in left}, left),
        "its type": (str(found.get("InstanceType")), asked.instance_type),
        "its image": (found.get("ImageId"), asked.image),
        "its state": (_state(found) if _state(found) != "pending" else "running", "running"),
    }
    differs = [
        f"{name} {'are' if name.endswith('s') else 'is'} {now}"
        for name, (now, then) in wanted.items()
        if now != then
    ]
    if differs:
        raise Conflict(
            f"the instance {found.get('InstanceId')} is not as this step launched it: {'; '.join(differs)}. Nothing "
            "was terminated. Keep it, or terminate it by hand"
        )


def _state(found: InstanceTypeDef) -> str:
    return str(found.get("State", {}).get("Name", "pending"))
