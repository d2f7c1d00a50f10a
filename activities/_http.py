"""One JSON request over HTTP in its own connection: bounded in time and size, with the provider's words in errors."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar, cast
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import from_json

from activities.settings import settings
from rescind import time_left
from rescind.evidence import NothingHappened, Proves, weigh

M = TypeVar("M", bound=BaseModel)

_CONNECT_SECONDS = 2.0
_LARGEST = 8 << 20
"""Bytes of an answer that are read; ours are a few hundred, and a large one still says what was done."""

_AS_SENT = {"content-encoding", "content-length", "transfer-encoding"}


class Unreadable(Exception):
    """The provider's answer is not what its interface says. The request may have taken effect."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose status was expected."""

    status: int
    headers: httpx.Headers
    content: bytes
    said_by: str

    def read(self, model: type[M]) -> M:
        """The content as a model.

        Raises:
            Unreadable: It is not one.
        """
        try:
            return model.model_validate_json(self.content)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"])) or "the whole"
            raise Unreadable(
                f"{self.said_by} answered {self.status} with something else than a {model.__name__} "
                f"({where}: {problem['msg']}): {shortened(self.content)}"
            ) from None


async def ask(
    system: str,
    method: str,
    url: str,
    *,
    expected: Sequence[int] = (200, 201),
    json: Mapping[str, JsonValue] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> Answer:
    """Send one request in a connection of its own, without retries and without following redirects.

    A connection is not used twice, since one that was closed meanwhile can't be told from a lost reply.

    Raises:
        httpx.HTTPStatusError: The status is not an expected one; the provider's own words are in it, and the body
            of its response was read.
        httpx.HTTPError: There was no answer.
        Unreadable: The answer is too large.
        TimeoutError: It took longer than the settings allow.
    """
    seconds = min(settings().http_seconds, time_left())
    limits = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
    verify: ssl.SSLContext | bool = _tls() if url.startswith("https:") else False
    async with (
        asyncio.timeout(seconds + _CONNECT_SECONDS),
        httpx.AsyncClient(timeout=limits, verify=verify, trust_env=not is_loopback(url)) as client,
        client.stream(method, url, json=json, headers=headers, params=params) as response,
    ):
        content = await _content(response, system)
    if response.status_code in expected:
        return Answer(response.status_code, response.headers, content, system)
    words = f"{system} answered {response.status_code}: {words_in(content)}"
    raise httpx.HTTPStatusError(words, request=response.request, response=_whole(response, content))


async def read_fresh(
    system: str, url: str, *, expected: Sequence[int] = (200,), params: Mapping[str, str] | None = None
) -> Answer:
    """Read what is true now: no cache may answer (RFC 9111, 5.2.1.4), and one that does is found out by its Age.

    Raises:
        Unreadable: The answer has an age, so it says what was true some time ago; and as `ask` does.
    """
    headers = {"Cache-Control": "no-cache"}
    answer = await ask(system, "GET", url, expected=expected, headers=headers, params=params)
    if answer.headers.get("age", "0").strip() not in ("", "0"):
        raise Unreadable(f"{system} answered with what was true {answer.headers['age']} s ago")
    return answer


@contextmanager
def before_writing(proves: Proves) -> Generator[None, None, None]:
    """While the attempt only reads, no failure of it can have changed anything."""
    try:
        yield
    except Exception as error:
        evidence = weigh(error, proves)
        if evidence.nothing_happened:
            raise
        raise NothingHappened(
            f"{str(error) or type(error).__name__}. Nothing was written",
            retry_after=evidence.retry_after,
        ) from error


def is_loopback(url: str) -> bool:
    """Whether the URL leads to this machine, where no proxy has a place."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def words_in(content: bytes) -> str:
    """What an error's body says: its text under a usual name, else the body, cut short."""
    try:
        body = from_json(content)
    except ValueError:
        return shortened(content)
    said: object = body
    for name in ("error", "detail", "message"):
        if isinstance(said, dict) and name in said:
            said = cast("dict[str, object]", said)[name]
    return shortened(said.encode() if isinstance(said, str) else content)


def shortened(content: bytes) -> str:
    """The first 200 characters in one line."""
    return " ".join(content[:800].decode(errors="replace").split())[:200] or "nothing"


def _whole(response: httpx.Response, content: bytes) -> httpx.Response:
    """The response with its body, which was decoded while it was read."""
    headers = [each for each in response.headers.multi_items() if each[0] not in _AS_SENT]
    return httpx.Response(response.status_code, headers=headers, content=content, request=response.request)


async def _content(response: httpx.Response, system: str) -> bytes:
    content = b""
    async for part in response.aiter_bytes(65_536):
        content += part
        if len(content) > _LARGEST:
            raise Unreadable(
                f"{system} answered {response.status_code} with more than {_LARGEST} bytes; the rest was not read"
            )
    return content


@cache
def _tls() -> ssl.SSLContext:
    """One for the process: reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()
