"""Each fault at each provider, met by its real client: what the client sees, and what the world is after."""

import asyncio
import os
import re
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from tests.faults import Fault, Seen
from tests.faults.one_call import CALLS
from tests.faults.process import Process
from tests.faults.worlds import World

_ROOT = Path(__file__).parents[2]
_numbers = count(1)

# What the real client says, by provider and fault; HANG_* and HOLD end well once the gate is open.
SAID = {
    ("git", Fault.REFUSE): r"remote rejected.*pre-receive hook declined",
    ("git", Fault.UNAVAILABLE): r"remote: 429 too many requests",
    ("git", Fault.ERROR_AFTER): r"remote: 503 service unavailable",
    ("git", Fault.DROP_AFTER): r"the remote end hung up unexpectedly",
    ("git", Fault.GARBAGE): r"protocol error: bad line length",
    ("postgres", Fault.REFUSE): r"InsufficientPrivilege.*permission denied by an event trigger",
    ("postgres", Fault.UNAVAILABLE): r"AdminShutdown",
    ("postgres", Fault.ERROR_AFTER): r"AdminShutdown",
    ("postgres", Fault.DROP_AFTER): r"OperationalError.*server closed the connection unexpectedly",
    ("postgres", Fault.GARBAGE): r"(Internal|Database|Operational)Error",
    ("s3", Fault.REFUSE): r"\(AccessDenied\) when calling the CreateBucket",
    ("s3", Fault.UNAVAILABLE): r"\(TooManyRequests\)",
    ("s3", Fault.ERROR_AFTER): r"\(ServiceUnavailable\)",
    ("s3", Fault.DROP_AFTER): r"ConnectionClosedError",
    ("s3", Fault.GARBAGE): r"ConnectionClosedError",
    ("ecs", Fault.REFUSE): r"\(AccessDeniedException\) when calling the RegisterTaskDefinition",
    ("ecs", Fault.UNAVAILABLE): r"\(ThrottlingException\)",
    ("ecs", Fault.ERROR_AFTER): r"\(ServerException\)",
    ("ecs", Fault.DROP_AFTER): r"ConnectionClosedError",
    ("ecs", Fault.GARBAGE): r"ConnectionClosedError",
    ("docker", Fault.REFUSE): r"403 Client Error.*authorization denied",
    ("docker", Fault.UNAVAILABLE): r"429 Client Error",
    ("docker", Fault.ERROR_AFTER): r"503 Server Error",
    ("docker", Fault.DROP_AFTER): r"Connection aborted|RemoteDisconnected",
    ("docker", Fault.GARBAGE): r"BadStatusLine",
    ("chat", Fault.REFUSE): r"403 Forbidden",
    ("chat", Fault.UNAVAILABLE): r"429 Too Many Requests",
    ("chat", Fault.ERROR_AFTER): r"503 Service Unavailable",
    ("chat", Fault.DROP_AFTER): r"RemoteProtocolError|ReadError",
    ("chat", Fault.GARBAGE): r"RemoteProtocolError.*illegal status line",
}


def fresh_name() -> str:
    """A name that no other test has used; every provider takes it."""
    return f"thing-{next(_numbers)}"


async def call(world: World, name: str, seconds: float = 20.0) -> str:
    """What the real client says to one call: empty when it is content."""
    try:
        await asyncio.to_thread(CALLS[world.name], world.address, name, seconds)
    except Exception as error:  # noqa: BLE001 - whatever the client raises is what is asked for
        return f"{type(error).__name__}: {error}"
    return ""


async def effects(world: World, name: str) -> int:
    """How often the effect of this name is in the world."""
    return await asyncio.to_thread(world.effects, name)


async def ended(world: World) -> Seen:
    """The last call once nothing can come of it any more."""
    async with asyncio.timeout(10):
        while world.provider.calls()[-1].under_way:  # noqa: ASYNC110 - the log has no event
            await asyncio.sleep(0.01)
    return world.provider.calls()[-1]


async def test_a_call_without_a_plan_is_served_and_logged(world: World) -> None:
    """Without a fault the client is content, the effect is there once, and the log says so."""
    name = fresh_name()
    assert await call(world, name) == ""
    assert await effects(world, name) == 1
    seen = await ended(world)
    assert (seen.operation, seen.fault, seen.acted) == (world.operation, None, True)
    assert seen.call
    assert seen.answer


@pytest.mark.parametrize("fault", [fault for fault in Fault if not fault.gated])
async def test_a_fault_is_seen_by_the_client_and_the_next_call_is_served(world: World, fault: Fault) -> None:
    """The client gets its provider's own error; the effect is there exactly if the fault acts."""
    await world.provider.plan(world.operation, [fault])
    name, next_name = fresh_name(), fresh_name()
    said = await call(world, name)
    assert re.search(SAID[world.name, fault], said, re.DOTALL), said
    assert await effects(world, name) == fault.acts
    assert await call(world, next_name) == ""
    assert [(seen.fault, seen.acted) for seen in world.provider.calls()] == [
        (fault, fault.acts),
        (None, True),
    ]


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault.gated])
async def test_a_call_at_the_gate_goes_on_when_it_is_released(world: World, fault: Fault) -> None:
    """At the gate the effect is there only under HANG_AFTER; after the release the client is content."""
    await world.provider.plan(world.operation, [fault])
    name = fresh_name()
    calling = asyncio.ensure_future(call(world, name))
    await world.provider.held()
    at_the_gate = await effects(world, name)
    await world.provider.release()
    assert at_the_gate == (fault is Fault.HANG_AFTER)
    assert await calling == ""
    assert await effects(world, name) == 1


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault.gated])
async def test_a_client_is_killed_at_the_gate(world: World, fault: Fault, tmp_path: Path) -> None:
    """SIGKILL before, during and after the call: HOLD never acts, HANG_BEFORE acts late, HANG_AFTER has acted."""
    await world.provider.plan(world.operation, [fault])
    name = fresh_name()
    command = [sys.executable, "-m", "tests.faults.one_call", world.name, world.address, name, "20"]
    async with Process(command, os.environ, tmp_path / "log", cwd=_ROOT) as client:
        await world.provider.held()
        await client.kill()
    seen = await ended(world)
    assert (seen.fault, seen.acted) == (fault, fault is not Fault.HOLD)
    assert await effects(world, name) == (fault is not Fault.HOLD)


async def test_a_client_is_stopped_at_the_gate_and_woken(world: World, tmp_path: Path) -> None:
    """A stopped client has not gone: the call acts when released, and the woken client is content."""
    await world.provider.plan(world.operation, [Fault.HOLD])
    name = fresh_name()
    command = [sys.executable, "-m", "tests.faults.one_call", world.name, world.address, name, "20"]
    async with Process(command, os.environ, tmp_path / "log", cwd=_ROOT) as client:
        await world.provider.held()
        client.stop()
        await asyncio.sleep(0.3)
        assert await effects(world, name) == 0
        await world.provider.release()
        client.resume()
        assert await client.ended() == 0, client.log
    assert await effects(world, name) == 1


async def test_a_late_call_acts_when_its_client_has_long_gone(world: World, tmp_path: Path) -> None:
    """`late` seconds lie between the going of the client and the effect."""
    world.provider.late = 0.5
    await world.provider.plan(world.operation, [Fault.HANG_BEFORE])
    name = fresh_name()
    command = [sys.executable, "-m", "tests.faults.one_call", world.name, world.address, name, "20"]
    async with Process(command, os.environ, tmp_path / "log", cwd=_ROOT) as client:
        await world.provider.held()
        went_at = time.monotonic()
        await client.kill()
    assert (await ended(world)).acted
    assert time.monotonic() - went_at >= 0.5
    assert await effects(world, name) == 1


async def test_a_lost_reply_and_then_a_refusal(world: World) -> None:
    """A plan is met call by call, None being served."""
    await world.provider.plan(world.operation, [None, Fault.DROP_AFTER, Fault.REFUSE])
    names = [fresh_name() for _ in range(4)]
    said = [await call(world, name) for name in names]
    assert [bool(each) for each in said] == [False, True, True, False]
    assert [await effects(world, name) for name in names] == [1, 1, 0, 1]


async def test_clearing_opens_the_gate_and_drops_the_plan(world: World) -> None:
    """After `clear` held calls have ended, calls are served, and the log is empty."""
    await world.provider.plan(world.operation, [Fault.HANG_BEFORE, Fault.REFUSE])
    name = fresh_name()
    calling = asyncio.ensure_future(call(world, name))
    await world.provider.held()
    await world.provider.clear()
    assert await calling == ""
    assert world.provider.calls() == []
    assert await call(world, fresh_name()) == ""


async def test_an_operation_that_the_provider_does_not_have(world: World) -> None:
    """It is refused with the names that there are, so that a plan can't be waited for in vain."""
    with pytest.raises(ValueError, match=world.operation):
        await world.provider.plan("no such thing", [Fault.REFUSE])


async def test_nothing_comes_to_the_gate(world: World) -> None:
    """`held` ends with what was seen instead."""
    with pytest.raises(TimeoutError, match=r"no call came to the gate within 0.05 s; seen: \[\]"):
        await world.provider.held(within=0.05)
