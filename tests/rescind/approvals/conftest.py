"""Workers over the toy world whose sagas wait for people."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.worker import Worker

from rescind import SagaReport
from rescind._record import Waiting
from rescind._workflow import deepest
from rescind.saga import QUERY
from tests.rescind.approvals.gated_workflows import AskDeafly, AskPeople
from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Handle, Sagas


@pytest.fixture
async def worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """One worker of these workflows."""
    async with new_worker(workflows=[AskPeople, AskDeafly]) as running:
        yield running


@dataclass
class People:
    """What people see of a saga that waits, and say of it."""

    handle: Handle

    async def asked(self, step: str) -> Waiting:
        """Wait until a step waits for people; answer with what they see."""
        async with asyncio.timeout(30):
            while True:
                try:
                    report = await self.handle.query(QUERY)
                except WorkflowQueryFailedError:  # it has not come to its saga yet
                    report = {"saga": "", "outcome": "running"}
                waits = {each.step: each.waits for each in SagaReport.model_validate(report).steps}
                if found := waits.get(step):
                    return found
                await asyncio.sleep(0.05)

    async def say(self, verdict: str, **word: Any) -> str:
        """Say it, and answer with what is answered."""
        answer: str = await self.handle.execute_update(verdict, word)
        return answer

    async def refused(self, verdict: str, word: Any) -> str:
        """Say it, and answer with why it was not taken."""
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await self.handle.execute_update(verdict, word)
        return deepest(failed.value)


async def lines(sagas: Sagas, handle: Handle) -> list[str]:
    """The events of a saga's journal that are about approvals."""
    view = await sagas.view(handle)
    return [line.event for line in view.journal if line.event in ("ask", "approve", "reject", "expire")]
