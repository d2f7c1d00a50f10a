"""Tells Docker by its exit code whether Temporal has lately heard from the worker of this container."""

import asyncio
import os
import socket
import sys
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig

# A worker asks again after at most 70 seconds (the SDK's long poll); two of them, and time for the clocks.
SILENCE = timedelta(minutes=3)


async def last_heard(task_queue: str) -> datetime | None:
    """When the server last heard from a worker of this host on the task queue; None if it knows of none.

    A worker that leaves `identity` alone is known as `<pid>@<host name>`.
    """
    client = await Client.connect(**ClientConfig.load_client_connect_config())
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(request)
    ours = [poller for poller in answer.pollers if poller.identity.endswith("@" + socket.gethostname())]
    return max((poller.last_access_time.ToDatetime(UTC) for poller in ours), default=None)


def main(task_queue: str) -> int:
    """Prints one line on what was found and returns the exit code: 0 heard from it, 1 not."""
    try:
        heard = asyncio.run(asyncio.wait_for(last_heard(task_queue), timeout=20))
    except (RuntimeError, OSError) as error:  # RuntimeError: the SDK's own when no server answers
        print(f"Temporal did not answer: {error}")  # noqa: T201 - Docker keeps what a health check prints
        return 1
    healthy = heard is not None and datetime.now(UTC) - heard < SILENCE
    print(f"last heard on {task_queue}: {heard.isoformat() if heard else 'never'}")  # noqa: T201 - as above
    return 0 if healthy else 1


if __name__ == "__main__":
    code = main(sys.argv[1] if len(sys.argv) > 1 else "rescind")
    sys.stdout.flush()
    # The SDK's threads sometimes crash a short-lived process at interpreter exit (sdk-python 300).
    os._exit(code)
