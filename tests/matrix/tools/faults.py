"""Plans a cell's fault where it is met: at the sandbox, or at what stands in front of a database or a disk."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pydantic import JsonValue

from embedded.sandbox.faults import Fault
from tests import faults
from tests.activities.sandbox_world import Sandbox
from tests.matrix.tools.cells import Cell
from tests.matrix.tools.places import Places, Scripted, statement
from tests.matrix.tools.providers import Case, Keys, plan
from tests.matrix.tools.subjects import Side, Subject

Over: TypeAlias = Callable[[], Awaitable[bool]]
"""Takes a plan away; whether it was met."""

SAME = {
    Fault.REFUSE: faults.Fault.REFUSE,
    Fault.UNAVAILABLE: faults.Fault.UNAVAILABLE,
    Fault.HANG: faults.Fault.HOLD,
    Fault.ERROR_AFTER: faults.Fault.ERROR_AFTER,
    Fault.DROP_AFTER: faults.Fault.DROP_AFTER,
    Fault.HANG_AFTER: faults.Fault.HANG_AFTER,
    Fault.LATE: faults.Fault.HANG_BEFORE,
    Fault.GARBAGE: faults.Fault.GARBAGE,
}
"""The sandbox's faults in the words of the others."""

_EVER = 100
"""Calls that meet a lasting fault; no step makes as many."""


class Faults:
    """All that can misbehave.

    Args:
        sandbox: What serves most tools.
        places: What stands in front of the others' providers.
    """

    def __init__(self, sandbox: Sandbox, places: Places) -> None:
        self._sandbox, self._places = sandbox, places

    async def begin(self, case: Case, side: Side, keys: Keys, result: JsonValue) -> Over | None:
        """From now on the cell's calls meet its fault of this side; None where nothing goes wrong."""
        if case.cell.trouble(side).fault is None:
            return None
        if provider := self._places.scripted_of(case.cell):
            return await _script(provider, case, side, keys)
        number = await self._sandbox.misbehave(**plan(case, side, keys.call, result))

        async def over() -> bool:
            plans = await self._sandbox.get("/admin/faults")
            await self._sandbox.behave(number)
            return any(each["number"] == number and each["used"] for each in plans)

        return over


async def _script(provider: Scripted, case: Case, side: Side, keys: Keys) -> Over:
    trouble = case.cell.trouble(side)
    assert trouble.fault
    operation = _operation(case.cell, side, keys)
    await provider.plan(operation, [SAME[trouble.fault]] * (_EVER if trouble.lasting else 1))

    async def over() -> bool:
        await provider.plan(operation, [])
        return any(seen.fault and seen.operation == operation for seen in provider.calls())

    return over


def _operation(cell: Cell, side: Side, keys: Keys) -> str:
    """What the provider itself calls the requests of this side."""
    match cell.tool:
        case Subject.FILE:
            return keys.call if side is Side.CALL else keys.undo
        case Subject.BRANCH:
            return "create" if side is Side.CALL else "delete"
        case Subject.READ_BRANCH:
            return "fetch"
        case _:
            return statement(side, cell)
