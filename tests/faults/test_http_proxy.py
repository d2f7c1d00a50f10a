"""The proxy passes on what HTTP/1.1 clients and servers say, and refuses connections when it is down."""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import docker
import httpx
import pytest

from tests.faults import Fault
from tests.faults.http_proxy import HttpFaults
from tests.faults.providers import CHAT, DOCKER

_REQUEST = b"POST /hook/ops HTTP/1.1\r\nHost: x\r\n"


@asynccontextmanager
async def raw(faults: HttpFaults) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection to the proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(faults.url.rsplit(":", 1)[1]))
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_waits_for_100_continue(servers: dict[str, Any]) -> None:
    """It is told to go on before it has sent its body, and its body arrives."""
    async with HttpFaults(servers["chat"].address, CHAT) as faults, raw(faults) as (reader, writer):
        writer.write(_REQUEST + b"Expect: 100-continue\r\nContent-Length: 16\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b'{"text":"100-c"}')
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(2) == b"ok"
    assert servers["chat"].texts.count("100-c") == 1


async def test_a_chunked_body_and_a_second_request_on_the_same_connection(servers: dict[str, Any]) -> None:
    """Both arrive whole, and a fault on the first leaves the connection fit for the second."""
    async with HttpFaults(servers["chat"].address, CHAT) as faults, raw(faults) as (reader, writer):
        await faults.plan("post", [Fault.ERROR_AFTER])
        chunked = b'8\r\n{"text":\r\n9\r\n"chunked"\r\n1\r\n}\r\n0\r\n\r\n'
        writer.write(_REQUEST + b"Transfer-Encoding: chunked\r\n\r\n" + chunked)
        assert (await reader.readuntil(b"service_unavailable")).startswith(b"HTTP/1.1 503")
        writer.write(_REQUEST + b'Content-Length: 17\r\n\r\n{"text":"second"}')
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
    assert [servers["chat"].texts.count(text) for text in ("chunked", "second")] == [1, 1]


async def test_a_provider_that_is_down_and_comes_back(servers: dict[str, Any]) -> None:
    """While it is down connections are refused; afterwards it answers at the same address."""
    async with (
        HttpFaults(servers["chat"].address, CHAT) as faults,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        async with faults.down():
            with pytest.raises(httpx.ConnectError):
                await client.post(f"{faults.url}/hook/ops", json={"text": "down"})
        assert (await client.post(f"{faults.url}/hook/ops", json={"text": "up"})).text == "ok"
        assert [servers["chat"].texts.count(text) for text in ("down", "up")] == [0, 1]


async def test_a_true_provider_that_is_not_there() -> None:
    """Its client is cut off, and the log says that no answer came."""
    async with (
        HttpFaults("http://127.0.0.1:1", CHAT) as faults,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        with pytest.raises(httpx.TransportError):
            await client.post(f"{faults.url}/hook/ops", json={"text": "lost"})
        assert [(seen.answer, seen.acted, seen.under_way) for seen in faults.calls()] == [("", False, False)]


async def test_a_client_that_gives_up(servers: dict[str, Any]) -> None:
    """A time-out of the client ends HOLD without an effect, HANG_BEFORE and HANG_AFTER with one."""
    gated = [Fault.HOLD, Fault.HANG_BEFORE, Fault.HANG_AFTER]
    async with (
        HttpFaults(servers["chat"].address, CHAT) as faults,
        httpx.AsyncClient(trust_env=False, timeout=0.3) as client,
    ):
        await faults.plan("post", gated)
        for fault in gated:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(f"{faults.url}/hook/ops", json={"text": f"given up: {fault}"})
        await faults.clear()
    assert [servers["chat"].texts.count(f"given up: {fault}") for fault in gated] == [0, 1, 1]


@pytest.mark.docker
async def test_a_unix_socket_on_both_sides(servers: dict[str, Any]) -> None:
    """The proxy can stand where a Docker engine's socket stands, and the stream of an answer passes."""
    with tempfile.TemporaryDirectory() as folder:
        async with HttpFaults(servers["docker"], DOCKER, listen=Path(folder) / "docker.sock") as faults:
            assert await asyncio.to_thread(_events, faults.url) == []
        assert os.listdir(folder) == []  # noqa: PTH208 - a Path's own method may not be called here


def _events(address: str) -> list[object]:
    """The events of one second of 1970, as the engine streams them."""
    client = docker.DockerClient(base_url=address)
    try:
        return list(client.events(since=1, until=2, decode=True))
    finally:
        client.close()
