"""Looks of the sweeper and undos after the fact, beside the toy workers."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rescind._operations_queue import OPERATIONS_QUEUE
from rescind.recovery import Sweeping, UndoSagaOrder, start_undo
from rescind.recovery._sweep import Swept
from rescind.recovery._sweeping import SWEEP
from tests.rescind.sagas import Handle, Sagas

Undo = Callable[..., Awaitable[Any]]
Look = Callable[..., Awaitable[Swept]]


@pytest.fixture
def undo(sagas: Sagas) -> Undo:
    """Undoes a saga as the command line does: a committed one, too."""

    async def _undo(handle: Handle, *steps: str, **more: Any) -> Any:
        asked: dict[str, Any] = {
            "saga": f"{handle.id}/{handle.first_execution_run_id}",
            "who": "anna",
            "why": "regretted",
            "committed": True,
            "steps": steps or None,
            "task_queue": sagas.task_queue,
        }
        order = UndoSagaOrder.model_validate(asked | more)
        return await start_undo(sagas.client, order, join=True)

    return _undo


@pytest.fixture
def look(sagas: Sagas) -> Look:
    """Lets the sweeper look once at all sagas of the namespace."""

    async def _look(**settings: Any) -> Swept:
        swept: Swept = await sagas.client.execute_workflow(
            SWEEP,
            Sweeping.model_validate({"limit": 5000} | settings),
            id=f"sweep-{sagas.task_queue}",
            task_queue=OPERATIONS_QUEUE,
            result_type=Swept,
        )
        return swept

    return _look
