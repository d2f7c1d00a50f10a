"""The search attributes by which open reconciliations are found."""

from __future__ import annotations

import asyncio
import logging

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from rescind._errors import RescindError
from rescind.approvals._attribute import WAITS_FOR

SAGA = SearchAttributeKey.for_keyword("RescindSaga")
SEVERITY = SearchAttributeKey.for_keyword("RescindSeverity")
NAMES = (SAGA.name, SEVERITY.name, WAITS_FOR.name)
LONGEST = 255
"""Bytes of a keyword's value, which some stores refuse to exceed."""

_LOG = logging.getLogger(__name__)
_VISIBLE_WITHIN = 20
"""Looks, half a second apart, until what was registered can be used."""


class SearchAttributesMissing(RescindError):
    """The namespace has not the search attributes that Rescind needs, and they could not be registered."""


async def ensure_search_attributes(client: Client) -> None:
    """Register the search attributes that are missing in the client's namespace; several may do so at once.

    Where a server does not say which there are, a warning is logged and they are taken to be there.

    Raises:
        SearchAttributesMissing: They are missing and may not be registered. The message has the command.
        temporalio.service.RPCError: The server does not answer.
    """
    try:
        missing = await _missing(client)
    except RPCError as error:
        if error.status not in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED):
            raise
        _LOG.warning(
            "whether the namespace has the search attributes %s can't be told (%s); where it has not, reconciliations "
            "wait: %s",
            ", ".join(NAMES),
            error.message,
            _command(client, list(NAMES)),
        )
        return
    if missing:
        await _register(client, missing)


async def _missing(client: Client) -> list[str]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = await client.operator_service.list_search_attributes(request)
    return [name for name in NAMES if name not in known.custom_attributes]


async def _register(client: Client, missing: list[str]) -> None:
    keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    request = AddSearchAttributesRequest(
        namespace=client.namespace, search_attributes=dict.fromkeys(missing, keyword)
    )
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise SearchAttributesMissing(
                f"the namespace {client.namespace!r} has no search attribute {' and no '.join(missing)}, by which open "
                f"reconciliations are found, and they could not be registered: {error.message}. No worker was started. "
                f"Have somebody who may do it run: {_command(client, missing)}"
            ) from error
    for _ in range(_VISIBLE_WITHIN):
        if not await _missing(client):
            return
        await asyncio.sleep(0.5)


def _command(client: Client, missing: list[str]) -> str:
    names = " ".join(f"--name {name} --type Keyword" for name in missing)
    return f"temporal operator search-attribute create --namespace {client.namespace} {names}"
