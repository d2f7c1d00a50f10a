"""A message to an URL that is itself the secret: sent once, and without the URL in any error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx
from pydantic import JsonValue

from activities._http import is_loopback
from rescind import time_left
from rescind.evidence import Evidence, NothingHappened, Refused, Unproven
from rescind.evidence.http import proves, proves_status

_ANSWER_LIMIT = 4096
"""Bytes of the answer that are read; a webhook's own answers are a word."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where a message goes.

    Attributes:
        url: The secret.
        named: What it is called in errors.
        setting: The variable that holds its URL.
        look: What to do where it is not known whether the message was taken.
    """

    url: str
    named: str
    setting: str
    look: str

    async def post(
        self,
        body: Mapping[str, JsonValue],
        headers: Mapping[str, str],
        is_success: Callable[[int, str], bool],
    ) -> int:
        """Post the body as JSON once; a redirect is not followed. Returns the status.

        Raises:
            Refused: It was not taken, and never will be.
            NothingHappened: It was not taken this time.
            Unproven: It may have been taken.
        """
        try:
            status, answered, answer = await self._send(body, headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Without the cause, which may show the URL.
            raise self._failure(proves(error), f"{self.named}: {self._said(error)}") from None
        if is_success(status, answer):
            return status
        evidence = None if status < 300 else proves_status(status, answered)
        raise self._failure(evidence, f"{self.named} answered {status}: {answer[:200]!r}")

    async def _send(
        self, body: Mapping[str, JsonValue], headers: Mapping[str, str]
    ) -> tuple[int, httpx.Headers, str]:
        """The status, headers and first bytes of the answer."""
        proxied = not is_loopback(self.url)
        async with (
            httpx.AsyncClient(timeout=time_left(), follow_redirects=False, trust_env=proxied) as client,
            client.stream("POST", self.url, json=body, headers=headers) as response,
        ):
            content = b""
            async for part in response.aiter_raw(_ANSWER_LIMIT):
                content += part
                if len(content) >= _ANSWER_LIMIT:
                    break
            return response.status_code, response.headers, content.decode(errors="replace").strip()

    def _said(self, error: Exception) -> str:
        """The error without what may be a part of the URL."""
        if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
            return f"its address is not usable; mend it in {self.setting} and restart the worker"
        return f"{type(error).__name__}: {error}"

    def _failure(self, evidence: Evidence | None, message: str) -> Exception:
        if evidence is None or not evidence.nothing_happened:
            return Unproven(f"{message}. The message may have been posted: {self.look}")
        if evidence.try_again:
            return NothingHappened(f"{message}. Nothing was posted", retry_after=evidence.retry_after)
        return Refused(f"{message}. Nothing was posted")
