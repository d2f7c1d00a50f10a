"""A small world with a log, and tools that write to it; what a test plans, they do."""

import asyncio
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from pydantic import BaseModel
from temporalio import activity

from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Repeat,
    Request,
    Restoration,
    Result,
    Retries,
    Risk,
    Tool,
    Unknown,
    remember,
)
from rescind._tool import SLACK
from rescind.evidence import Conflict, NothingHappened, Refused

Behaviour = Literal[
    "ok",
    "refuse",
    "refuse_at_length",
    "not_now",
    "later",
    "lose_reply",
    "crash",
    "hang",
    "deaf",
    "late",
    "garbage",
    "huge",
    "large",
    "slow",
    "conflict",
    "fail",
]
"""What the next call does: `lose_reply` acts and raises, `late` acts a second after the client has gone.

`not_now` and `later` refuse for a tenth of a second and for ten seconds. `deaf` does not act and outlives its attempt.
"""


@dataclass
class World:
    """Things by name, with the key of the call that made them; and every call that reached it.

    The tools use its methods alone, so that it may live in another process than they do.
    """

    things: dict[str, str] = field(default_factory=dict[str, str])
    log: list[str] = field(default_factory=list[str])
    plan: defaultdict[str, list[Behaviour]] = field(default_factory=lambda: defaultdict(list))
    makes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    keys: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    name: str = ""

    def next(self, call: str) -> Behaviour:
        """What this call is to do; it is taken from the plan."""
        self.log.append(call)
        planned = self.plan[call]
        return planned.pop(0) if planned else "ok"

    def plans(self, call: str) -> bool:
        """Whether something is planned for this call."""
        return bool(self.plan.get(call))

    def make(self, name: str, key: str, after: float = 0) -> None:
        """Make a thing, and count it; now or after so many seconds, whatever has become of the client."""
        if after:
            threading.Timer(after, self.make, (name, key)).start()
            return
        self.things[name] = key
        self.makes[name] += 1

    def used(self, name: str, key: str) -> None:
        """Keep the key of a call."""
        self.keys[name].add(key)

    def owner(self, name: str) -> str | None:
        """The key of the call that made a thing, or who else has it; None where there is none."""
        return self.things.get(name)

    def take_away(self, name: str) -> None:
        """Take a thing away, if it is there."""
        self.things.pop(name, None)

    def count(self) -> int:
        """How many things there are."""
        return len(self.things)


WORLDS: dict[str, World] = defaultdict(World)


class MakeThing(Request):
    """Make a thing in a world."""

    world: str
    name: str
    padding: str = ""


class Thing(Result):
    """The thing that was made."""

    name: str
    note: str = ""


class Seen(BaseModel):
    """Whether the thing was there before."""

    existed: bool


@activity.defn
async def make_thing(call: Call[MakeThing]) -> Thing:
    """Make it, unless somebody else has."""
    request, world = call.request, WORLDS[call.request.world]
    behaviour = world.next(f"make {request.name}")
    world.used(request.name, call.key)
    before = await remember(Seen(existed=world.owner(request.name) is not None))
    if before.existed:
        if world.owner(request.name) != "wanted":
            raise Conflict(f"{request.name} was there before")
        return Thing(name=request.name, changed=False)
    return await _make(world, request, call.key, behaviour)


async def _make(world: World, request: MakeThing, key: str, behaviour: Behaviour) -> Thing:
    if behaviour in ("refuse", "refuse_at_length"):
        raise Refused(f"{request.name} is not allowed{'!' * (0 if behaviour == 'refuse' else 6_000_000)}")
    if behaviour in ("not_now", "later"):
        raise NothingHappened("come back later", retry_after=0.1 if behaviour == "not_now" else 10)
    if behaviour == "fail":
        raise ConnectionResetError("the provider is away")
    if behaviour == "late":
        world.make(request.name, key, 1)
        await asyncio.sleep(60)
    if behaviour == "slow":
        await asyncio.sleep(2)
    if behaviour == "deaf":
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(SLACK.total_seconds() + 0.5)
        raise ConnectionResetError("nobody hears of it")
    world.make(request.name, key)
    if behaviour == "lose_reply":
        raise ConnectionResetError("the reply was lost")
    if behaviour == "hang":
        await asyncio.sleep(60)
    if behaviour == "garbage":
        return {"nonsense": 1}  # type: ignore[return-value]
    return Thing(name=request.name, note="x" * {"huge": 3_000_000, "large": 1_400_000}.get(behaviour, 0))


@activity.defn
async def unmake_thing(receipt: Receipt[MakeThing, Thing]) -> Restoration:
    """Take it away if it is still ours."""
    request, world = receipt.call.request, WORLDS[receipt.call.request.world]
    behaviour = world.next(f"unmake {request.name}")
    world.used(f"undo {request.name}", receipt.call.undo_key)
    if behaviour == "slow":
        await asyncio.sleep(1)
    if behaviour == "fail":
        raise ConnectionResetError("the provider is away")
    owner = world.owner(request.name)
    if owner is None:
        return Restoration.nothing("it was gone already")
    if owner != receipt.call.key or behaviour == "conflict":
        raise Conflict(f"{request.name} is somebody else's now")
    world.take_away(request.name)
    if behaviour == "lose_reply":
        raise ConnectionResetError("the reply was lost")
    return Restoration.exact()


@activity.defn
async def find_thing(call: Call[MakeThing]) -> Applied[Thing] | Absent | Unknown:
    """Look whether this call made it."""
    request, world = call.request, WORLDS[call.request.world]
    behaviour = world.next(f"find {request.name}")
    if behaviour == "fail":
        return Unknown(why="the register is closed")
    if behaviour == "lose_reply":
        raise ConnectionResetError("the register's reply was lost")
    if world.owner(request.name) == call.key:
        return Applied(result=Thing(name=request.name))
    return Absent()


@activity.defn
async def may_be_made(call: Call[MakeThing]) -> None:
    """Look whether the world would have it; it says what is planned, and only then is it in the log."""
    request, world = call.request, WORLDS[call.request.world]
    if not world.plans(look := f"check {request.name}"):
        return
    match world.next(look):
        case "refuse":
            raise Refused(f"nobody wants {request.name} any more")
        case "hang":
            await asyncio.sleep(60)
        case "lose_reply":
            raise ConnectionResetError("the look was not answered")
        case _:
            pass


MAKE_THING = Tool(
    name="toy.make_thing",
    description="Make a thing; it is taken away again when the saga is undone.",
    forward=make_thing,
    compensate=unmake_thing,
    lookup=find_thing,
    check=may_be_made,
    is_reversible=True,
    timeout=timedelta(seconds=4),
    undo_timeout=timedelta(seconds=4),
    retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
    undo_retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
)


@activity.defn(name="make_thing_blind")
async def make_blind(call: Call[MakeThing]) -> Thing:
    """Make it at a provider that can't be asked."""
    return await make_thing(call)


@activity.defn(name="unmake_thing_blind")
async def unmake_blind(receipt: Receipt[MakeThing, Thing]) -> Restoration:
    """Take it away if it is still ours."""
    return await unmake_thing(receipt)


MAKE_BLIND = Tool(
    name="toy.make_blind",
    description="Make a thing at a provider that can't be asked what happened.",
    forward=make_blind,
    compensate=unmake_blind,
    is_reversible=True,
    repeat=Repeat.NEVER,
    timeout=timedelta(seconds=4),
    undo_timeout=timedelta(seconds=4),
    retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
)


@activity.defn(name="make_thing_deduplicated")
async def make_deduplicated(call: Call[MakeThing]) -> Thing:
    """Make it at a provider that knows the key again, and says so by `changed`."""
    request, world = call.request, WORLDS[call.request.world]
    behaviour = world.next(f"make {request.name}")
    if world.owner(request.name) == call.key:
        return Thing(name=request.name, changed=False)
    return await _make(world, request, call.key, behaviour)


@activity.defn(name="unmake_thing_deduplicated")
async def unmake_deduplicated(receipt: Receipt[MakeThing, Thing]) -> Restoration:
    """Take it away if it is still ours."""
    return await unmake_thing(receipt)


MAKE_DEDUPLICATED = Tool(
    name="toy.make_deduplicated",
    description="Make a thing at a provider that honours the key.",
    forward=make_deduplicated,
    compensate=unmake_deduplicated,
    check=may_be_made,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=4),
    undo_timeout=timedelta(seconds=4),
    retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
)


@activity.defn(no_thread_cancel_exception=True)
def make_thing_in_thread(call: Call[MakeThing]) -> Thing:
    """Make it with a blocking client."""
    world = WORLDS[call.request.world]
    if world.next(f"make {call.request.name}") == "slow":
        time.sleep(2)
    world.make(call.request.name, call.key)
    return Thing(name=call.request.name)


@activity.defn(no_thread_cancel_exception=True)
def unmake_thing_in_thread(receipt: Receipt[MakeThing, Thing]) -> Restoration:
    """Take it away with a blocking client."""
    WORLDS[receipt.call.request.world].take_away(receipt.call.request.name)
    return Restoration.exact()


MAKE_IN_THREAD = Tool(
    name="toy.make_in_thread",
    description="Make a thing with a blocking client.",
    forward=make_thing_in_thread,
    compensate=unmake_thing_in_thread,
    is_reversible=True,
    timeout=timedelta(seconds=4),
)


@activity.defn(name="make_thing_dear")
async def make_dear(call: Call[MakeThing]) -> Thing:
    """Make a thing that much depends on."""
    return await make_thing(call)


@activity.defn(name="unmake_thing_dear")
async def unmake_dear(receipt: Receipt[MakeThing, Thing]) -> Restoration:
    """Take it away if it is still ours."""
    return await unmake_thing(receipt)


@activity.defn(name="find_thing_dear")
async def find_dear(call: Call[MakeThing]) -> Applied[Thing] | Absent | Unknown:
    """Look whether this call made it."""
    return await find_thing(call)


MAKE_DEAR = Tool(
    name="toy.make_dear",
    description="Make a thing that much depends on; it can be taken away again.",
    forward=make_dear,
    compensate=unmake_dear,
    lookup=find_dear,
    is_reversible=True,
    risk=Risk.CRITICAL,
    timeout=timedelta(seconds=4),
    undo_timeout=timedelta(seconds=4),
)


@activity.defn
async def tell_world(call: Call[MakeThing]) -> Thing:
    """Say something that can't be unsaid."""
    world = WORLDS[call.request.world]
    return await _make(world, call.request, call.key, world.next(f"tell {call.request.name}"))


TELL_WORLD = Tool(
    name="toy.tell_world",
    description="Say something; it can't be unsaid.",
    forward=tell_world,
    check=may_be_made,
    risk=Risk.HIGH,
)


@activity.defn
async def shout(call: Call[MakeThing]) -> Thing:
    """Say something to everybody."""
    return await tell_world(call)


SHOUT = Tool(
    name="toy.shout",
    description="Say something to everybody; it can't be unsaid.",
    forward=shout,
    risk=Risk.CRITICAL,
)


@activity.defn
async def count_things(call: Call[MakeThing]) -> Thing:
    """Only look."""
    return Thing(name=str(WORLDS[call.request.world].count()), changed=False)


COUNT_THINGS = Tool(
    name="toy.count_things", description="Count the things.", forward=count_things, read_only=True
)

TOOLS = [
    MAKE_THING,
    MAKE_BLIND,
    MAKE_DEDUPLICATED,
    MAKE_IN_THREAD,
    MAKE_DEAR,
    TELL_WORLD,
    SHOUT,
    COUNT_THINGS,
]
