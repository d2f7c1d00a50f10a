"""ECS as the deployment tool sees it: a service, its deployments, and the task definition that carries a key."""

import time
from itertools import islice
from typing import TYPE_CHECKING

from activities._deployment import Unhealthy
from rescind import time_left
from rescind.evidence import NothingHappened, Refused

if TYPE_CHECKING:
    from mypy_boto3_ecs.client import ECSClient
    from mypy_boto3_ecs.type_defs import ServiceTypeDef

KEY = "rescind:key"
_NEWEST = 20
"""Task definitions of a family that are searched for a key; others may register some in the meantime."""
_POLL_SECONDS = 0.5
_MARGIN_SECONDS = 7.0
"""One request, which may take six seconds, is still answered within the attempt."""


class StillRollingOut(Exception):
    """A deployment that is under way when the attempt's time is over; the next attempt goes on watching it."""


def living(client: "ECSClient", cluster: str, service: str) -> "ServiceTypeDef | None":
    """The service with its tags, or None; a deleted one stays in ECS's answers for a while and counts as None."""
    found = client.describe_services(cluster=cluster, services=[service], include=["TAGS"])["services"]
    return found[0] if found and found[0].get("status") != "INACTIVE" else None


def current(client: "ECSClient", cluster: str, service: str) -> "ServiceTypeDef | None":
    """The service if it can be deployed to now, or None if it is to be made.

    Raises:
        NothingHappened: It is being deleted, or another deployment is under way.
        Refused: It is deployed by something other than ECS.
    """
    found = living(client, cluster, service)
    if found is None:
        return None
    shown = f"the service {service!r} of the cluster {cluster!r}"
    if found.get("status") == "DRAINING":
        raise NothingHappened(f"{shown} is being deleted. Nothing was done", retry_after=5)
    if found.get("deploymentController", {"type": "ECS"})["type"] != "ECS":
        raise Refused(f"{shown} is not deployed by ECS itself. Nothing was done")
    if len(found.get("deployments", [])) > 1:
        raise NothingHappened(f"another deployment of {shown} is under way. Nothing was done", retry_after=5)
    return found


def registered(client: "ECSClient", family: str, key: str) -> list[str]:
    """The active task definitions among the newest of the family that carry this key as a tag."""
    pages = client.get_paginator("list_task_definitions").paginate(familyPrefix=family, status="ACTIVE")
    arns = [arn for page in pages for arn in page["taskDefinitionArns"] if family_of(arn) == family]
    newest = islice(sorted(arns, key=lambda arn: int(arn.rpartition(":")[2]), reverse=True), _NEWEST)
    return [arn for arn in newest if key_of_definition(client, arn) == key]


def key_of_definition(client: "ECSClient", arn: str) -> str | None:
    """The key that a task definition carries, or None."""
    answer = client.describe_task_definition(taskDefinition=arn, include=["TAGS"])
    return next((tag.get("value") for tag in answer.get("tags", []) if tag.get("key") == KEY), None)


def key_of_service(found: "ServiceTypeDef") -> str | None:
    """The key that a service carries, or None."""
    return next((tag.get("value") for tag in found.get("tags", []) if tag.get("key") == KEY), None)


def is_active(client: "ECSClient", arn: str) -> bool:
    """Whether a task definition can be deployed."""
    return client.describe_task_definition(taskDefinition=arn)["taskDefinition"].get("status") == "ACTIVE"


def family_of(arn: str) -> str:
    """The family in a task definition's ARN."""
    return arn.rpartition("/")[2].rpartition(":")[0]


def wait_until_deployed(
    client: "ECSClient", cluster: str, service: str, definition: str, within: float
) -> "ServiceTypeDef":
    """Return the service once it runs as many tasks of the definition as it should, and no others.

    Args:
        client: The client.
        cluster: The cluster.
        service: The service.
        definition: The task definition's ARN.
        within: Seconds from the moment at which ECS began with the deployment.

    Raises:
        Unhealthy: The deployment failed, ECS rolled it back, or the limit is over.
        StillRollingOut: The attempt's time is over, the limit is not.
    """
    while True:
        found = living(client, cluster, service)
        if found is None or found.get("taskDefinition") != definition:
            raise Unhealthy(f"the service {service!r} does not run {definition} any more")
        if _is_complete(found):
            return found
        if (age := _age(found)) > within:
            raise Unhealthy(
                f"the service {service!r} was not healthy after {age:.0f} s; the limit is {within:g} s"
            )
        if time_left() < _MARGIN_SECONDS:
            raise StillRollingOut(f"the deployment of {service!r} is {age:.0f} s old and not complete yet")
        time.sleep(_POLL_SECONDS)


def wait_until_gone(client: "ECSClient", cluster: str, service: str) -> None:
    """Return once a deleted service has no tasks any more; raises StillRollingOut at the attempt's end."""
    while living(client, cluster, service) is not None:
        if time_left() < _MARGIN_SECONDS:
            raise StillRollingOut(f"the service {service!r} is being deleted and still has tasks")
        time.sleep(_POLL_SECONDS)


def _is_complete(found: "ServiceTypeDef") -> bool:
    """By the service's one deployment: ECS's answers name others as long as tasks of theirs run."""
    deployments = found.get("deployments", [])
    states = [each.get("rolloutState") for each in deployments]
    if "FAILED" in states[:1]:
        raise Unhealthy(f"ECS says that the deployment failed: {deployments[0].get('rolloutStateReason')}")
    return states == ["COMPLETED"] and found.get("runningCount", 0) >= found.get("desiredCount", 0)


def _age(found: "ServiceTypeDef") -> float:
    """Seconds since ECS began with the newest deployment."""
    began = [each["createdAt"] for each in found.get("deployments", []) if "createdAt" in each]
    return time.time() - max(began).timestamp() if began else 0.0
