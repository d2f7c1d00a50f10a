"""The Temporal server that a command speaks to, and whether anybody works for it."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
)
from temporalio.client import Client, Plugin
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.envconfig import ClientConfigProfile
from temporalio.service import RPCError, RPCStatusCode

from rescind.cli._exit import ExitCode, Stopped

DEFAULT_ADDRESS = "localhost:7233"
CONNECT_LIMIT = 8.0  # seconds, so that a person hears within ten that nobody answers
RPC_LIMIT = timedelta(seconds=8)
# A worker asks again after at most 70 seconds (the SDK's long poll); twice that, and time for the clocks.
SILENCE = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has answered.

    Attributes:
        client: The client.
        where: Its address and namespace, for people.
        web_ui: The address of its Web UI, where that is known.
        ledger: The ledger's connection string, where that is known.
    """

    client: Client
    where: str
    web_ui: str | None = None
    ledger: str | None = None

    def page(self, workflow_id: str) -> str | None:
        """The workflow's page in the Web UI."""
        return self.web_ui and f"{self.web_ui}/namespaces/{self.client.namespace}/workflows/{workflow_id}"


def profile() -> ClientConfigProfile:
    """What the environment and the user's Temporal profile say of the server.

    Raises:
        Stopped: They say something that can't be read.
    """
    try:
        return ClientConfigProfile.load()
    except (RuntimeError, ValueError, OSError) as error:
        raise Stopped(
            f"Temporal's configuration can't be read: {error}. Nothing was contacted. Look at TEMPORAL_CONFIG_FILE, "
            "TEMPORAL_PROFILE and the file that they name.",
            ExitCode.UNREACHABLE,
        ) from None


async def connect(*, plugins: Sequence[Plugin] = ()) -> Client:
    """Connect as `temporalio.envconfig` says: address, namespace, API key, TLS and profile.

    Without plugins the client reads and writes Pydantic models.

    Raises:
        Stopped: No server answers within eight seconds, or it has no such namespace.
    """
    loaded = profile()
    config = loaded.to_client_connect_config()
    config.setdefault("target_host", DEFAULT_ADDRESS)
    converter = DataConverter.default if plugins else pydantic_data_converter
    where = place(loaded)
    try:
        async with asyncio.timeout(CONNECT_LIMIT):
            client = await Client.connect(**config, data_converter=converter, plugins=plugins)
            await _ask_for_namespace(client)
    except TimeoutError:
        raise unreachable(where, f"no answer in {CONNECT_LIMIT:.0f} seconds") from None
    except (RuntimeError, ValueError, OSError) as error:
        raise unreachable(where, _plainly(error)) from None
    except RPCError as error:
        raise unreachable(where, error.message) from None
    return client


def place(loaded: ClientConfigProfile) -> str:
    """Address and namespace of a profile, for people."""
    return f"{loaded.address or DEFAULT_ADDRESS}, namespace {loaded.namespace or 'default'}"


def unreachable(where: str, why: str) -> Stopped:
    """Nobody answers; nothing was started."""
    return Stopped(
        f"The Temporal server at {where} was not reached: {why}\nNothing was started. Start a server, or name "
        "one: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, or TEMPORAL_PROFILE.",
        ExitCode.UNREACHABLE,
    )


def _plainly(error: Exception) -> str:
    """The part of the client's message that is meant for people, if it has one."""
    told = re.findall(r'(?:message|error): "([^"]+)"', str(error))
    return str(told[-1] if told else error)


async def namespace_id(client: Client) -> str:
    """The id by which the ledger knows the client's namespace."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    described = await client.workflow_service.describe_namespace(request, timeout=RPC_LIMIT)
    return described.namespace_info.id


async def idle_queues(client: Client, task_queue: str) -> list[str]:
    """The kinds of tasks that no worker has asked this queue for lately: `workflow`, `activity`, both or none.

    A worker that was killed is believed to be there for up to three minutes more.
    """
    kinds = {
        "workflow": TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        "activity": TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    }
    answers = await asyncio.gather(*(_describe(client, task_queue, kind) for kind in kinds.values()))
    return [name for name, answer in zip(kinds, answers, strict=True) if not _heard_lately(answer)]


async def _describe(
    client: Client, task_queue: str, kind: TaskQueueType.ValueType
) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=task_queue), task_queue_type=kind
    )
    return await client.workflow_service.describe_task_queue(request, timeout=RPC_LIMIT)


def _heard_lately(answer: DescribeTaskQueueResponse) -> bool:
    now = datetime.now(UTC)
    return any(now - poller.last_access_time.ToDatetime(UTC) < SILENCE for poller in answer.pollers)


async def _ask_for_namespace(client: Client) -> None:
    try:
        await namespace_id(client)
    except RPCError as error:
        # Whether a namespace may be described is another right than to work in it.
        if error.status is not RPCStatusCode.PERMISSION_DENIED:
            raise
