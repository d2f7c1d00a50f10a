"""Namespaces of a test's own: no other test's worker polls its queues, and no other saga is looked at with its own."""

import uuid

from google.protobuf.duration_pb2 import Duration
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.rescind.sagas import until


async def new_namespace(address: str, kind: str) -> str:
    """Make a namespace, and wait until every part of the server knows it, which takes some seconds."""
    name = f"{kind}-{uuid.uuid4()}"
    client = await Client.connect(address, namespace=name)
    request = RegisterNamespaceRequest(
        namespace=name, workflow_execution_retention_period=Duration(seconds=86400)
    )
    await client.workflow_service.register_namespace(request)

    async def is_there() -> bool:
        try:
            await client.operator_service.list_search_attributes(ListSearchAttributesRequest(namespace=name))
            return [_ async for _ in client.list_workflows("", limit=1)] == []
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False

    await until(is_there)
    return name
