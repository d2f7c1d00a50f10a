"""The workflow that gets a plan from a model; it has no effect but the questions."""

from __future__ import annotations

from pydantic import ValidationError
from temporalio import workflow

from rescind.planner._order import PROPOSE
from rescind.plans import Ask, Proposal, Question
from rescind.plans._asking import proposed


@workflow.defn(name=PROPOSE, failure_exception_types=[ValidationError])
class ProposePlan:
    """A plan for a goal: proposed by a model, checked, and sent back with what is wrong three times at the most."""

    @workflow.run
    async def run(self, ask: Ask) -> Proposal:
        """Get a plan; nothing of it is run.

        Raises:
            ActivityError: The model could not be asked; its cause is of type `ModelNotReady` or `ModelFailed`.
        """
        return await proposed(Question(ask=ask))
