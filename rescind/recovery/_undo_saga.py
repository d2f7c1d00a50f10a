"""The workflow that undoes a saga after the fact, from the ledger: the whole of it, or a part."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from rescind import _schedule
from rescind._errors import SagaTakenOver, UndoIncomplete
from rescind._failures import TAKEN_OVER
from rescind._record import Outcome, Record, SagaReport, is_clean
from rescind._stack import Stack
from rescind._unwind import conclude, raise_outcome, take_back
from rescind._workflow import deepest, type_of_failure, undisturbed
from rescind.reconciliation._open import open_reconciliation
from rescind.recovery._agreement import agree
from rescind.recovery._orders import TAKE_OVER, UNDO_SAGA, Taken, UndoSagaOrder
from rescind.saga import QUERY


@workflow.defn(name=UNDO_SAGA)
class UndoSaga:
    """Claims a saga and takes it back with the same unwinding as the saga's own workflow.

    It completes with the report when nothing of what was asked for stands any more, also when it was undone before.
    It fails with `UndoIncomplete` where anything is left, with `UndoRefused` where nothing was touched, and with
    `SagaTakenOver` where somebody else has the saga. A cancellation does not stop it half-way; while it waits for a
    second person, it ends it.
    """

    def __init__(self) -> None:
        self._stack: Stack | None = None

    @workflow.run
    async def run(self, order: UndoSagaOrder) -> SagaReport:
        """Undo one saga."""
        taken = await undisturbed(_taken(order))
        while taken.critical:
            await self._agreed(order, taken)
            taken = await undisturbed(_taken(order))
        done = await undisturbed(self._undo(order, taken))
        if isinstance(done, UndoSagaOrder):
            workflow.continue_as_new(done)
        return done

    @workflow.query(name=QUERY)
    def report(self) -> SagaReport:
        """What was taken back so far."""
        if self._stack is None:
            return SagaReport(saga="", outcome=Outcome.RUNNING)
        return self._stack.report(Outcome.RUNNING)

    async def _agreed(self, order: UndoSagaOrder, taken: Taken) -> None:
        self._stack = Stack.taken_over(order.saga, taken.seen, [], whole=False, queue=order.task_queue)
        await agree(self._stack, order, taken.critical)

    async def _undo(self, order: UndoSagaOrder, taken: Taken) -> SagaReport | UndoSagaOrder:
        whole = order.steps is None
        stack = Stack.taken_over(
            order.saga, taken.epoch or 0, taken.records, whole=whole, queue=order.task_queue
        )
        stack.beyond = taken.beyond
        self._stack = stack
        stack.show("being undone")
        mine = [record for record in stack.newest_first() if record.step in taken.take_back]
        await take_back(stack, mine)
        if taken.more:
            return order.model_copy(update={"epoch": taken.epoch, "below": mine[-1].seq})
        return await _concluded(stack, order, claimed=taken.epoch is not None)


async def _taken(order: UndoSagaOrder) -> Taken:
    words = f"take over {order.saga}"
    try:
        taken: Taken = await _schedule.to_ledger(
            TAKE_OVER, order, Taken, "take-over", words, queue=order.task_queue
        )
    except ActivityError as error:
        if type_of_failure(error) == TAKEN_OVER:
            raise SagaTakenOver(deepest(error)) from error
        raise _as_it_is(error) from error
    return taken


def _as_it_is(error: ActivityError) -> ApplicationError:
    """The activity's refusal as the workflow's own."""
    return ApplicationError(deepest(error), type=type_of_failure(error), non_retryable=True)


async def _concluded(stack: Stack, order: UndoSagaOrder, *, claimed: bool) -> SagaReport:
    why = ApplicationError(f"undone after the fact, {order.who}: {order.why}", non_retryable=True)
    if claimed and stack.whole:
        report = await conclude(stack, why)
        if report.outcome is Outcome.INCOMPLETE:
            raise_outcome(report, why, why)
        return report
    left = [record for record in stack.records if not is_clean(record)]
    report = stack.report(Outcome.INCOMPLETE if left else Outcome.UNDONE, error=why.message, unwound=True)
    stack.show("NOT clean: a person is needed" if left else "undone")
    if left:
        await open_reconciliation(stack.saga, task_queue=stack.task_queue, reference=None)
        raise UndoIncomplete(_left_in_words(left), report)
    return report


def _left_in_words(left: list[Record]) -> str:
    words = "; ".join(
        f"{each.summary} is {each.state.value}: {each.error or 'no reason known'}" for each in left
    )
    return f"The undo of a part is NOT complete, a person is needed for: {words}. The rest of the saga stands"
