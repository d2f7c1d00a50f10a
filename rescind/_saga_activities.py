"""The activities of a saga as a whole: open its unwinding, give a step up, seal it, keep its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from temporalio import activity

from rescind._bench import Bench
from rescind._carried import SurveyOrder
from rescind._failures import seal_refused, taken_over
from rescind._reversal import reversal_of
from rescind._wire import Orphan, PartOrder, ReportOrder, SagaOrder, SealOrder, Survey, UndoOrder
from rescind.ledger import IllegalTransition, Refused, Standing, TakenOver

OPEN_UNWIND = "rescind.open_unwind"
OPEN_PART = "rescind.open_part"
GIVE_UP = "rescind.give_up"
SEAL = "rescind.seal"
REPORT = "rescind.report"


def saga_activities(bench: Bench) -> Sequence[Any]:
    """The activities that a worker registers for the sagas themselves."""

    @activity.defn(name=OPEN_UNWIND)
    async def open_unwind(order: SurveyOrder) -> Survey:
        with _taken_over_is_final():
            saga = bench.saga(order.saga)
            standing = await bench.ledger.unwind(saga, order.epoch, limit=bench.page + 1)
        lost = await bench.ledger.missing(f"{order.saga}/{step}" for step in order.expected.changes())
        return Survey(
            standing=[_orphan(bench, order, effect) for effect in standing[: bench.page]],
            more=len(standing) > bench.page,
            lost=[_step(order, key) for key in lost],
        )

    @activity.defn(name=OPEN_PART)
    async def open_part(order: PartOrder) -> Survey:
        with _taken_over_is_final():
            standing = await bench.ledger.part(bench.saga(order.saga), order.epoch, order.place)
        return Survey(standing=[_orphan(bench, order, effect) for effect in standing])

    @activity.defn(name=GIVE_UP)
    async def give_up(order: UndoOrder) -> None:
        with _taken_over_is_final():
            await bench.ledger.give_up(bench.address(order), _why_given_up(bench, order.tool))

    @activity.defn(name=SEAL)
    async def seal(order: SealOrder) -> list[str]:
        with _taken_over_is_final():
            sealed = await bench.ledger.seal(bench.saga(order.saga), order.epoch, order.digest)
        if isinstance(sealed, Refused):
            raise seal_refused(sealed)
        return order.table

    @activity.defn(name=REPORT)
    async def report(order: ReportOrder) -> list[str]:
        with _taken_over_is_final():
            await bench.ledger.report(bench.saga(order.saga), order.epoch, order.report)
        return order.table

    return (open_unwind, open_part, give_up, seal, report)


class _taken_over_is_final:  # noqa: N801  (used as a statement)
    """Turns the ledger's word that the saga is not this run's into a failure that Temporal does not try again."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, TakenOver | IllegalTransition):
            raise taken_over(error) from error


def _why_given_up(bench: Bench, tool: str) -> str:
    if tool in bench.catalogue:
        return f"{tool} can't be undone: a person has to decide"
    return (
        f"no tool {tool!r} is known to the worker that was asked to undo this: it may have been renamed or taken away. "
        "Nothing was touched. Start a worker that knows it and have it retried, or undo it by hand"
    )


def _step(order: SagaOrder, key: str) -> str:
    return key.removeprefix(f"{order.saga}/")


def _orphan(bench: Bench, order: SagaOrder, effect: Standing) -> Orphan:
    known = effect.tool in bench.catalogue
    return Orphan(
        step=_step(order, effect.key),
        seq=effect.seq,
        tool=effect.tool,
        state=effect.state,
        changed=effect.changed,
        reversal=reversal_of(bench.catalogue[effect.tool]) if known else None,
    )
