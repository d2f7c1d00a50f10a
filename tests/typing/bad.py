"""What type checkers have to refuse: a line marked `E:` is an error for the checkers named there, and no other is.

Pyright does not know that a subclass of a frozen Pydantic model is frozen too; all else both of them refuse.
"""
# fmt: off
# ruff: noqa: E501, B018  (a mistake is one line, so that the errors can be compared by their lines)

from rescind import Restoration, Retries, Risk, Saga, Tool
from tests.typing import things as t
from tests.typing.things import DRILL, HANG, Drill, Hang, Hole

Tool(name="wall.hang", description="Reversible, no undo.", forward=t.hang, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Not reversible, with an undo.", forward=t.hang, compensate=t.take_down, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.hang", description="Said to be irreversible, with an undo.", forward=t.hang, compensate=t.take_down, is_reversible=False, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.drill", description="Irreversible, no risk given.", forward=t.drill)  # E: mypy,pyright

Tool(name="wall.drill", description="Irreversible, low risk.", forward=t.drill, risk=Risk.LOW)  # E: mypy,pyright

Tool(name="wall.drill", description="Irreversible, medium risk.", forward=t.drill, risk=Risk.MEDIUM)  # E: mypy,pyright

Tool(name="wall.look", description="Read-only and reversible.", forward=t.hang, compensate=t.take_down, is_reversible=True, read_only=True)  # E: mypy,pyright

Tool(name="wall.look", description="Read-only with a lookup.", forward=t.hang, lookup=t.find_picture, read_only=True)  # E: mypy,pyright

Tool(name="wall.look", description="Read-only and retriable.", forward=t.hang, read_only=True, retriable=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Undone with another tool's receipt.", forward=t.hang, compensate=t.fill, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Undone by a lookup.", forward=t.hang, compensate=t.find_picture, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Undone without a word.", forward=t.hang, compensate=t.silent_undo, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.drill", description="Looked up by another tool's request.", forward=t.drill, lookup=t.find_picture, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.hang", description="Looked up by another tool's request.", forward=t.hang, compensate=t.take_down, lookup=t.find_hole, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Looked up with another tool's result.", forward=t.hang, compensate=t.take_down, lookup=t.find_hole_for_picture, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.hang", description="Looked up by its forward.", forward=t.hang, compensate=t.take_down, lookup=t.hang, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.drill", description="Checked for another tool's request.", forward=t.drill, check=t.wall_is_free, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.hang", description="Checked with an answer.", forward=t.hang, compensate=t.take_down, check=t.is_wall_free, is_reversible=True)  # E: mypy,pyright

Tool(name="wall.look", description="Read-only with a check.", forward=t.hang, check=t.wall_is_free, read_only=True)  # E: mypy,pyright

Tool(name="wall.hang", description="A forward without a key.", forward=t.request_without_key, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.hang", description="A forward with two parameters.", forward=t.two_parameters, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.hang", description="A forward without a result.", forward=t.dictionary_result, risk=Risk.HIGH)  # E: mypy,pyright

Tool(description="No name.", forward=t.drill, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.drill", forward=t.drill, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.drill", description="No forward.", risk=Risk.HIGH)  # E: mypy,pyright

Tool("wall.drill", "By position.", t.drill, risk=Risk.HIGH)  # E: mypy,pyright

Tool(name="wall.drill", description="A part misspelt.", forward=t.drill, risk=Risk.HIGH, retriabel=True)  # E: mypy,pyright

Tool(name="wall.drill", description="A risk that is a word.", forward=t.drill, risk="high")  # E: mypy,pyright

Tool(name="wall.drill", description="A time-out in seconds.", forward=t.drill, risk=Risk.HIGH, timeout=5)  # E: mypy,pyright

HANG.is_reversible = False  # E: mypy,pyright

Retries(first_wait=5)  # E: mypy,pyright


async def steps() -> None:
    """Steps of a saga."""
    async with Saga() as saga:
        await saga.step(HANG, Drill(depth=1))  # E: mypy,pyright
        await saga.step(DRILL, Hang(wall="north"))  # E: mypy,pyright
        await saga.step(HANG, {"wall": "north"})  # E: mypy,pyright
        await saga.step("wall.hang", Hang(wall="north"))  # E: mypy,pyright
        await saga.step(t.hang, Hang(wall="north"))  # E: mypy,pyright
        await saga.step(HANG)  # E: mypy,pyright
        picture = await saga.step(HANG, Hang(wall="north"))
        picture.depth  # E: mypy,pyright
        hole: Hole = await saga.step(HANG, Hang(wall="north"))  # E: mypy,pyright
        picture.height = hole.depth  # E: mypy
        saga.step(HANG, Hang(wall="north")).height  # E: mypy,pyright
        Hang(hall="north")  # E: mypy,pyright
        Restoration.residue()  # E: mypy,pyright
        await saga.commit(HANG)  # E: mypy,pyright
    with Saga():  # E: mypy,pyright
        pass
