"""The tool that deploys a service on Amazon ECS."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from temporalio import activity

from activities._aws import before_writing, ecs_client, enough_time
from activities._deployment import Before, Unhealthy, failed
from activities._ecs_look import (
    StillRollingOut,
    current,
    is_active,
    key_of_service,
    living,
    registered,
    wait_until_deployed,
    wait_until_gone,
)
from activities._ecs_write import create, register, update
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    Restoration,
    Result,
    Retries,
    Risk,
    Tool,
    Unknown,
    remember_blocking,
    remembered,
)
from rescind.evidence import Conflict
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_ecs.client import ECSClient
    from mypy_boto3_ecs.type_defs import ServiceTypeDef


class DeployService(Request):
    """Run a service from an image; an existing service keeps its number of tasks and its network.

    Attributes:
        cluster: A cluster that is there.
        service: The name of the service, and of its family of task definitions.
        image: The image.
        command: The command, or None for the image's own.
        environment: Variables for the container; no secrets, since requests are kept.
        cpu: CPU units of a task.
        memory: MiB of a task.
        tasks: How many tasks a service that is made anew runs.
        launch_type: What they run on.
        subnets: Subnets for a service that is made anew; needed by FARGATE on AWS.
        security_groups: The same for security groups.
        execution_role: The ARN of the role that pulls the image, where one is needed.
        healthy_within: Seconds in which the deployment has to be complete.
    """

    cluster: str = Field(min_length=1)
    service: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
    image: str = Field(min_length=1)
    command: list[str] = Field(default_factory=list)
    environment: dict[str, str] = Field(default_factory=dict)
    cpu: int = Field(default=256, gt=0)
    memory: int = Field(default=512, gt=0)
    tasks: int = Field(default=1, gt=0)
    launch_type: Literal["FARGATE", "EC2"] = "FARGATE"
    subnets: list[str] = Field(default_factory=list)
    security_groups: list[str] = Field(default_factory=list)
    execution_role: str | None = None
    healthy_within: float = Field(default=240.0, gt=0, le=600)


class DeployedService(Result):
    """A deployed revision: its task definition, and the one that the service ran before, if it was there."""

    service: str
    task_definition: str
    previous: str | None


@activity.defn(no_thread_cancel_exception=True)
def deploy_service(call: Call[DeployService]) -> DeployedService:
    """Register a revision, deploy it, and wait until it is complete; or put everything back."""
    asked, client = call.request, ecs_client()
    with before_writing():
        found = current(client, asked.cluster, asked.service)
        ours = registered(client, asked.service, call.key)
    runs = found.get("taskDefinition") if found else None
    mine = runs in ours
    before = (
        (remembered(Before) or Before(previous=None)) if mine else remember_blocking(Before(previous=runs))
    )
    try:
        definition = str(runs) if mine else ours[0] if ours else register(client, asked, call.key)
        if not mine:
            update(client, asked, definition) if before.previous else create(
                client, asked, call.key, definition
            )
        wait_until_deployed(client, asked.cluster, asked.service, definition, asked.healthy_within)
    except StillRollingOut:
        raise
    except Exception as error:
        raise _after(client, call, before, error) from error
    return DeployedService(service=asked.service, task_definition=definition, previous=before.previous)


@activity.defn(no_thread_cancel_exception=True)
def restore_service(receipt: Receipt[DeployService, DeployedService]) -> Restoration:
    """Deploy the previous revision again, or delete the service that was made, unless somebody changed it since."""
    call, made, client = receipt.call, receipt.result, ecs_client()
    asked = call.request
    with before_writing():
        found = living(client, asked.cluster, asked.service)
        ours = registered(client, asked.service, call.key)
    if not ours and (found is None or found.get("taskDefinition") != made.task_definition):
        return Restoration.nothing("the task definition of this step is retired, and no service runs it")
    if found is not None:
        _refuse_if_changed(client, found, call, made)
    _take_back(client, call, made.previous)
    return Restoration.equivalent(f"{made.task_definition.rpartition('/')[2]} stays listed as INACTIVE")


@activity.defn(no_thread_cancel_exception=True)
def find_service(call: Call[DeployService]) -> Applied[DeployedService] | Absent | Unknown:
    """Tell by the task definition that carries the call's key, and wait for a deployment that is under way.

    What an attempt left unfinished is taken back, since it is neither a deployment nor nothing: this is only
    asked when no attempt works on it any more.

    Raises:
        StillRollingOut: To be asked again.
        Refused: The deployment failed; it was taken back.
    """
    asked, client, before = call.request, ecs_client(), remembered(Before)
    found, ours = living(client, asked.cluster, asked.service), registered(client, asked.service, call.key)
    runs = found.get("taskDefinition", "") if found else ""
    if found and runs not in ours and key_of_service(found) == call.key:
        return Unknown(
            why=f"the service {asked.service!r} was made by this call and deployed by somebody since"
        )
    if before is None or not ours:
        return Absent()
    if runs not in ours:
        _take_back(client, call, before.previous)
        return Absent()
    try:
        wait_until_deployed(client, asked.cluster, asked.service, runs, asked.healthy_within)
    except Unhealthy as error:
        raise _after(client, call, before, error) from error
    return Applied(
        result=DeployedService(service=asked.service, task_definition=runs, previous=before.previous)
    )


DEPLOY_SERVICE = Tool(
    name="ecs.deploy",
    description=(
        "Deploy an image as a service on Amazon ECS and wait until it is healthy; the undo deploys what ran before, "
        "or deletes the service if there was none."
    ),
    forward=deploy_service,
    compensate=restore_service,
    lookup=find_service,
    is_reversible=True,
    acts_on=("ecs/{cluster}/{service}",),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=30),
    retries=Retries(tries=30, longest_wait=timedelta(seconds=5)),
    undo_timeout=timedelta(seconds=30),
    undo_retries=Retries(tries=30, longest_wait=timedelta(seconds=10)),
    late_for=timedelta(seconds=2),
    proves=proves,
)


def _after(client: "ECSClient", call: Call[DeployService], before: Before, error: Exception) -> Exception:
    shown = f"the deployment of {call.request.service!r}"
    now = "What ran before runs again"
    return failed(shown, error, proves, lambda: _take_back(client, call, before.previous), now=now)


def _take_back(client: "ECSClient", call: Call[DeployService], previous: str | None) -> None:
    """Let the service be as it was, then retire our task definitions.

    Raises:
        StillRollingOut: What was asked for is not complete yet; to be called again.
    """
    asked = call.request
    found, ours = living(client, asked.cluster, asked.service), registered(client, asked.service, call.key)
    runs = found.get("taskDefinition") if found else None
    if previous and (runs in ours or runs == previous):
        if runs != previous:
            update(client, asked, previous)
        wait_until_deployed(client, asked.cluster, asked.service, previous, asked.healthy_within)
    elif found and key_of_service(found) == call.key:
        if found.get("status") == "ACTIVE":
            enough_time()
            client.delete_service(cluster=asked.cluster, service=asked.service, force=True)
        wait_until_gone(client, asked.cluster, asked.service)
    for definition in ours:
        enough_time()
        client.deregister_task_definition(taskDefinition=definition)


def _refuse_if_changed(
    client: "ECSClient", found: "ServiceTypeDef", call: Call[DeployService], made: DeployedService
) -> None:
    runs, shown = found.get("taskDefinition"), f"the service {made.service!r}"
    if runs not in (made.task_definition, made.previous):
        raise Conflict(f"{shown} was deployed by somebody since and runs {runs}; it was left running")
    if made.previous and not is_active(client, made.previous):
        raise Conflict(
            f"{made.previous}, which {shown} ran before, was retired since; the new one was left running"
        )
    if made.previous is None and key_of_service(found) != call.key:
        raise Conflict(f"{shown} is not the one that this step made; it was left running")
    if made.previous is None and found.get("desiredCount") not in (call.request.tasks, 0):
        raise Conflict(f"{shown} was scaled to {found.get('desiredCount')} tasks since; it was left running")
