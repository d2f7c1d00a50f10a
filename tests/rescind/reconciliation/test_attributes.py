"""The search attributes: registered where they are missing, refused with the command where that is not possible."""

import asyncio

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client

from rescind.reconciliation import SearchAttributesMissing, ensure_search_attributes
from tests.rescind.namespaces import new_namespace


async def fresh_namespace(address: str) -> Client:
    """A client of a namespace that was made just now."""
    return await Client.connect(address, namespace=await new_namespace(address, "fresh"))


async def names(client: Client) -> set[str]:
    """The custom search attributes of a client's namespace."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    return set((await client.operator_service.list_search_attributes(request)).custom_attributes)


async def test_a_fresh_namespace(stack_environment: dict[str, str]) -> None:
    """They are registered, also when two workers start at once."""
    fresh = await fresh_namespace(stack_environment["TEMPORAL_ADDRESS"])
    await asyncio.gather(*(ensure_search_attributes(fresh) for _ in range(3)))
    assert {"RescindSaga", "RescindSeverity"} <= await names(fresh)


async def test_where_they_can_not_be_registered(stack_environment: dict[str, str]) -> None:
    """The start is refused with the command that registers them: this server has no keyword left."""
    fresh = await fresh_namespace(stack_environment["TEMPORAL_ADDRESS"])
    keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    request = AddSearchAttributesRequest(
        namespace=fresh.namespace, search_attributes={f"Taken{number}": keyword for number in range(10)}
    )
    await fresh.operator_service.add_search_attributes(request)
    with pytest.raises(SearchAttributesMissing) as refused:
        await ensure_search_attributes(fresh)
    assert (
        f"temporal operator search-attribute create --namespace {fresh.namespace} "
        "--name RescindSaga --type Keyword --name RescindSeverity --type Keyword"
    ) in str(refused.value)
    assert "No worker was started" in str(refused.value)
