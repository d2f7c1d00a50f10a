"""A Stripe client for one attempt: without retries of its own, in time, with no proxy on loopback."""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import stripe

from activities._http import is_loopback
from activities.settings import settings
from rescind import time_left

KEY = "rescind_key"
"""The metadata field that holds the key of the call that made an object."""

_LIVE = "https://api.stripe.com"
_CONNECT_SECONDS = 2.0


@asynccontextmanager
async def stripe_client() -> AsyncGenerator[stripe.StripeClient]:
    """The client for the settings' account, in connections of its own."""
    known = settings()
    base = (known.stripe_api_base or _LIVE).rstrip("/")
    seconds = min(known.http_seconds, time_left())
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
        verify=_certificates() if base.startswith("https:") else False,
        trust_env=not is_loopback(base),
        follow_redirects=False,
    ) as connections:
        yield stripe.StripeClient(
            known.required("stripe_api_key"),
            base_addresses={"api": base},
            max_network_retries=0,
            http_client=_Transport(connections),
        )


class _Transport(stripe.HTTPClient):
    """Hands Stripe's requests to httpx; Stripe's own one reads its certificates anew for each client."""

    name = "httpx"

    def __init__(self, connections: httpx.AsyncClient) -> None:
        super().__init__()
        self._connections = connections

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        """Send one request, once.

        Raises:
            stripe.APIConnectionError: There was no answer; its cause says how far the request came.
        """
        try:
            answer = await self._connections.request(method, url, headers=headers, content=post_data or None)
        except httpx.HTTPError as error:
            words = f"Stripe did not answer: {str(error) or type(error).__name__}"
            raise stripe.APIConnectionError(words) from error  # type: ignore[no-untyped-call]  # Stripe's own lacks them
        return answer.content, answer.status_code, answer.headers


@functools.cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=stripe.ca_bundle_path)
