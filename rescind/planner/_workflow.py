"""The workflow that gets a plan from a model; it has no effect but the questions."""

from __future__ import annotations

from datetime import timedelta

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy

from rescind.planner._order import ANSWERS, ASK_MODEL, PROPOSE, Answer, Ask, Proposal, Question

_RETRIES = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3)
"""For an endpoint that is away or busy for a moment; a person waits for the answer."""

_MORE = 10.0
"""Seconds beside the model's own patience: to load its client, and to check what it wrote."""


@workflow.defn(name=PROPOSE, failure_exception_types=[ValidationError])
class ProposePlan:
    """A plan for a goal: proposed by a model, checked, and sent back with what is wrong three times at the most."""

    @workflow.run
    async def run(self, ask: Ask) -> Proposal:
        """Get a plan; nothing of it is run.

        Raises:
            ActivityError: The model could not be asked; its cause is of type `ModelNotReady` or `ModelFailed`.
        """
        question, answer = Question(ask=ask), Answer()
        for number in range(1, ANSWERS + 1):
            answer = await _answer(question, number)
            if answer.plan or answer.declined:
                return Proposal(plan=answer.plan, declined=answer.declined, answers=number)
            question = Question(ask=ask, last=answer.draft, problems=answer.problems)
        return Proposal(problems=answer.problems, answers=ANSWERS)


async def _answer(question: Question, number: int) -> Answer:
    answer: Answer = await workflow.execute_activity(
        ASK_MODEL,
        question,
        result_type=Answer,
        activity_id=f"answer-{number}",
        summary=f"ask {question.ask.model} for a plan, question {number} of at most {ANSWERS}",
        start_to_close_timeout=timedelta(seconds=question.ask.patience + _MORE),
        retry_policy=_RETRIES,
    )
    return answer
