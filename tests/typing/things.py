"""The activities that the good and the bad declarations are made of."""

from temporalio import activity

from rescind import Absent, Applied, Call, Receipt, Request, Restoration, Result, Risk, Tool, Unknown


class Hang(Request):
    """Hang a picture."""

    wall: str


class Picture(Result):
    """A picture that hangs."""

    height: int


class Drill(Request):
    """Drill a hole."""

    depth: int


class Hole(Result):
    """A hole."""

    depth: int


@activity.defn
async def hang(call: Call[Hang]) -> Picture:
    """Hang it."""
    return Picture(height=len(call.request.wall))


@activity.defn
async def take_down(receipt: Receipt[Hang, Picture]) -> Restoration:
    """Take it down."""
    return Restoration.nothing(receipt.call.request.wall)


@activity.defn
async def find_picture(call: Call[Hang]) -> Applied[Picture] | Absent | Unknown:
    """Look for it."""
    return Unknown(why=call.request.wall)


@activity.defn
async def wall_is_free(_call: Call[Hang]) -> None:
    """Look whether there is room."""


@activity.defn(no_thread_cancel_exception=True)
def wall_is_free_in_thread(_call: Call[Hang]) -> None:
    """Look whether there is room with a blocking client."""


@activity.defn
async def is_wall_free(call: Call[Hang]) -> bool:
    """Answer with what nobody would look at."""
    return bool(call.request.wall)


@activity.defn
async def find_picture_or_absent(_call: Call[Hang]) -> Applied[Picture] | Absent:
    """Look for it, and always know."""
    return Absent()


@activity.defn(no_thread_cancel_exception=True)
def hang_in_thread(call: Call[Hang]) -> Picture:
    """Hang it with a blocking client."""
    return Picture(height=len(call.request.wall))


@activity.defn(no_thread_cancel_exception=True)
def take_down_in_thread(receipt: Receipt[Hang, Picture]) -> Restoration:
    """Take it down with a blocking client."""
    return Restoration.nothing(receipt.call.request.wall)


@activity.defn(no_thread_cancel_exception=True)
def find_picture_in_thread(call: Call[Hang]) -> Applied[Picture] | Absent | Unknown:
    """Look for it with a blocking client."""
    return Unknown(why=call.request.wall)


@activity.defn
async def drill(call: Call[Drill]) -> Hole:
    """Drill it."""
    return Hole(depth=call.request.depth)


@activity.defn
async def fill(receipt: Receipt[Drill, Hole]) -> Restoration:
    """Fill it."""
    return Restoration.residue(f"{receipt.result.depth} mm of filler")


@activity.defn
async def find_hole(_call: Call[Drill]) -> Applied[Hole] | Absent | Unknown:
    """Look for it."""
    return Absent()


@activity.defn
async def find_hole_for_picture(_call: Call[Hang]) -> Applied[Hole] | Absent | Unknown:
    """Look for another tool's result."""
    return Absent()


@activity.defn
async def request_without_key(request: Hang) -> Picture:
    """A forward activity that takes no Call."""
    return Picture(height=len(request.wall))


@activity.defn
async def two_parameters(call: Call[Hang], height: int) -> Picture:
    """A forward activity that takes two."""
    return Picture(height=height + len(call.request.wall))


@activity.defn
async def dictionary_result(call: Call[Hang]) -> dict[str, int]:
    """A forward activity that returns no Result."""
    return {"height": len(call.request.wall)}


@activity.defn
async def silent_undo(receipt: Receipt[Hang, Picture]) -> None:
    """A compensation that does not say how well it restored."""
    await take_down(receipt)


HANG = Tool(
    name="wall.hang",
    description="Hang a picture; it is taken down again.",
    forward=hang,
    compensate=take_down,
    lookup=find_picture,
    is_reversible=True,
)

DRILL = Tool(name="wall.drill", description="Drill a hole; for ever.", forward=drill, risk=Risk.HIGH)
