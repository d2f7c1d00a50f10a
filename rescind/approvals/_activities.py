"""The activities that keep approvals in the ledger: ask, look, and take a person's word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from temporalio import activity

from rescind._bench import Bench
from rescind._failures import refused_by_ledger, taken_over
from rescind._keys import approval_digest
from rescind.approvals._orders import ASK, DECIDE, LOOK, AskOrder, DecideOrder, Standing
from rescind.ledger import GateAnswer, GateState, Refused, Said, TakenOver


def approval_activities(bench: Bench) -> list[Callable[..., Any]]:
    """What a worker registers for approvals."""

    @activity.defn(name=ASK)
    async def ask(order: AskOrder) -> Standing:
        info = activity.info()
        shown = {
            "step": order.step,
            "workflow": info.workflow_id,
            "tool": order.tool,
            "request": order.request,
        }
        asked = bench.ledger.ask(
            bench.address(order),
            run=info.workflow_run_id or "",
            digest=approval_digest(order.tool, order.request, order.key),
            people=order.people,
            seconds=order.seconds,
            shown=shown,
        )
        return await _answered(asked, order)

    @activity.defn(name=LOOK)
    async def look(order: AskOrder) -> Standing:
        return await _answered(bench.ledger.look_at_gate(bench.address(order)), order)

    @activity.defn(name=DECIDE)
    async def decide(order: DecideOrder) -> Standing:
        try:
            answer = await bench.ledger.decide(
                bench.address(order),
                digest=order.digest,
                verdict=order.verdict.value,
                who=order.who,
                note=order.note,
                word=order.word,
            )
        except TakenOver as error:
            return Standing(state=GateState.WAITING, refused=str(error))
        if isinstance(answer, Refused):
            return Standing(state=GateState.WAITING, refused=f"{order.step}: {answer.why.sentence}")
        return _standing(answer)

    return [ask, look, decide]


async def _answered(asked: Awaitable[GateAnswer | Refused], order: AskOrder) -> Standing:
    try:
        answer = await asked
    except TakenOver as error:
        raise taken_over(error) from error
    if isinstance(answer, Refused):
        raise refused_by_ledger(answer, order.step)
    return _standing(answer)


def _standing(answer: GateAnswer) -> Standing:
    why = {
        GateState.REJECTED: answer.refused and f"rejected by {_in_words(answer.refused)}",
        GateState.EXPIRED: "nobody approved it in time; its approval has expired",
    }.get(answer.state)
    return Standing(
        state=answer.state, given=[_in_words(each) for each in answer.given], why=why, left=answer.left
    )


def _in_words(said: Said) -> str:
    return f"{said.who}: {said.note}" if said.note else said.who
