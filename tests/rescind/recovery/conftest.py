"""Looks of the sweeper and undos after the fact, beside the toy workers, in a namespace of their own."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.client import Client

from rescind import RescindPlugin
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind.recovery import Sweeping, UndoSagaOrder, start_undo
from rescind.recovery._sweep import Swept
from rescind.recovery._sweeping import SWEEP
from tests.rescind.namespaces import new_namespace
from tests.rescind.sagas import Handle, Sagas
from tests.rescind.toy_world import TOOLS

Undo = Callable[..., Awaitable[Any]]
Look = Callable[..., Awaitable[Swept]]


@pytest.fixture(scope="session")
async def client(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client whose namespace has no other workers on the operations queue, and no sagas of other tests."""
    address = stack_environment["TEMPORAL_ADDRESS"]
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, sweeping=None)
    return await Client.connect(address, namespace=await new_namespace(address, "recovery"), plugins=[plugin])


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
        sweeping = Sweeping.model_validate({"limit": 5000} | settings)
        return await look_once(sagas.client, sagas.task_queue, sweeping)

    return _look


async def look_once(client: Client, name: str, sweeping: Sweeping) -> Swept:
    """Let the sweeper of a client's namespace look once."""
    swept: Swept = await client.execute_workflow(
        SWEEP, sweeping, id=f"sweep-{name}", task_queue=OPERATIONS_QUEUE, result_type=Swept
    )
    return swept
