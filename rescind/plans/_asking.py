"""Asks for a plan, or for the rest of one, from within a workflow: what is wrong goes back three times at the most."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from rescind._bench import heartbeat_timeout
from rescind.plans._ask import ANSWERS, ASK_MODEL, Answer, Proposal, Question

TAKEN_UP = timedelta(seconds=20)
"""Until then somebody has to take a question up; whoever has the key polls all the time that it may be asked."""

_RETRIES = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3)
"""For an endpoint that is away or busy for a moment; a person waits for the answer."""

_MORE = 10.0
"""Seconds beside the model's own patience: to load its client, and to check what it wrote."""


async def proposed(question: Question, *, name: str = "answer", queue: str | None = None) -> Proposal:
    """What the model comes to; nothing of it is run.

    Args:
        question: The first question.
        name: How the activities are called, which are numbered.
        queue: Where the worker polls that has the provider's key; None for the workflow's own queue.

    Raises:
        ActivityError: The model could not be asked, or nobody has taken the question up; or it was cancelled.
    """
    answer = Answer()
    for number in range(1, ANSWERS + 1):
        answer = await _answer(question, f"{name}-{number}", number, queue)
        if answer.plan or answer.declined:
            return Proposal(plan=answer.plan, declined=answer.declined, answers=number)
        question = question.model_copy(update={"last": answer.draft, "problems": answer.problems})
    return Proposal(problems=answer.problems, answers=ANSWERS)


async def _answer(question: Question, activity_id: str, number: int, queue: str | None) -> Answer:
    limit = timedelta(seconds=question.ask.patience + _MORE)
    what = "a plan" if question.stand is None else "how to go on"
    answer: Answer = await workflow.execute_activity(
        ASK_MODEL,
        question,
        result_type=Answer,
        activity_id=activity_id,
        task_queue=queue,
        summary=f"ask {question.ask.model} for {what}, question {number} of at most {ANSWERS}",
        start_to_close_timeout=limit,
        schedule_to_start_timeout=TAKEN_UP if queue else None,
        heartbeat_timeout=heartbeat_timeout(limit),
        retry_policy=_RETRIES,
    )
    return answer
