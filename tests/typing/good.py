"""What type checkers have to accept, with the types that they have to infer."""

from datetime import timedelta
from typing import assert_type

from pydantic import BaseModel

from rescind import Repeat, Retries, Risk, Saga, Tool, remember
from tests.typing import things as t
from tests.typing.things import Drill, Hang, Hole, Picture

ASYNC = Tool(
    name="wall.hang",
    description="All are `async def`.",
    forward=t.hang,
    compensate=t.take_down,
    lookup=t.find_picture,
    check=t.wall_is_free,
    is_reversible=True,
    risk=Risk.LOW,
    version=2,
    repeat=Repeat.LOOKED_UP,
    late_for=timedelta(seconds=1),
    timeout=timedelta(seconds=1),
    retries=Retries(tries=2),
    undo_timeout=timedelta(seconds=1),
    undo_retries=Retries(tries=2),
    undo_within=None,
)
assert_type(ASYNC, Tool[Hang, Picture])

BLOCKING = Tool(
    name="wall.hang",
    description="All three are `def`.",
    forward=t.hang_in_thread,
    compensate=t.take_down_in_thread,
    lookup=t.find_picture_in_thread,
    is_reversible=True,
)
assert_type(BLOCKING, Tool[Hang, Picture])

MIXED = Tool(
    name="wall.hang",
    description="A `def` that is undone and looked up by `async def`.",
    forward=t.hang_in_thread,
    compensate=t.take_down,
    lookup=t.find_picture_or_absent,
    is_reversible=True,
)
assert_type(MIXED, Tool[Hang, Picture])

FOR_EVER = Tool(name="wall.drill", description="`async def` only.", forward=t.drill, risk=Risk.HIGH)
assert_type(FOR_EVER, Tool[Drill, Hole])

FOR_EVER_IN_THREAD = Tool(
    name="wall.hang", description="`def` only.", forward=t.hang_in_thread, risk=Risk.CRITICAL, retriable=True
)
assert_type(FOR_EVER_IN_THREAD, Tool[Hang, Picture])

FOR_EVER_LOOKED_UP = Tool(
    name="wall.hang",
    description="Irreversible, and it can be looked up.",
    forward=t.hang,
    lookup=t.find_picture,
    check=t.wall_is_free_in_thread,
    is_reversible=False,
    risk=Risk.HIGH,
)
assert_type(FOR_EVER_LOOKED_UP, Tool[Hang, Picture])

READ = Tool(name="wall.look", description="It only looks.", forward=t.hang, read_only=True)
assert_type(READ, Tool[Hang, Picture])

READ_IN_THREAD = Tool(
    name="wall.look", description="It only looks.", forward=t.hang_in_thread, read_only=True, risk=Risk.LOW
)
assert_type(READ_IN_THREAD, Tool[Hang, Picture])


class Height(BaseModel):
    """A before-image."""

    height: int


async def steps() -> None:
    """Steps give the results of their tools."""
    async with Saga(approved=["wall.drill"]) as saga:
        picture = await saga.step(ASYNC, Hang(wall="north"))
        assert_type(picture, Picture)
        assert_type(picture.height, int)
        assert_type(picture.changed, bool)
        hole = await saga.step(t.DRILL, Drill(depth=picture.height), name="peephole")
        assert_type(hole, Hole)
        await saga.commit()
    assert_type(await remember(Height(height=1)), Height)
