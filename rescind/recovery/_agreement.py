"""What a critical tool has done is taken back after the fact only when a second person agrees (DESIGN 9)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pydantic import JsonValue
from temporalio import workflow

from rescind._catalogue import Catalogue
from rescind._errors import StepFailed
from rescind._keys import approval_digest
from rescind._persons_word import NOTE
from rescind._record import Record
from rescind._recorded import in_words
from rescind._stack import Stack
from rescind._states import STANDING
from rescind._tool import Risk
from rescind.approvals._gates import Gates
from rescind.approvals._words import Opinion
from rescind.ledger import EffectOutline
from rescind.recovery._orders import UndoSagaOrder, undo_refused

_STEP = "undo"
"""The ledger's functions know a question about an undo by it."""

_TOOL = "rescind.undo"
_PEOPLE = 2
_WITHIN = timedelta(days=1)
_NAMED = 30
"""Critical steps that the question names; more are counted."""


def critical_steps(catalogue: Catalogue, effects: Iterable[EffectOutline]) -> list[str]:
    """The steps, in words, that stand, can be undone, and whose tool is critical; the newest first."""
    found = [
        f"{effect.key.rpartition('/')[2]}: {in_words(effect.tool, effect.request)}"
        for effect in effects
        if effect.state in STANDING and not effect.no_op and _is_critical(catalogue, effect.tool)
    ]
    found.reverse()
    more = len(found) - _NAMED
    return [*found[:_NAMED], f"and {more} more"] if more > 0 else found


def _is_critical(catalogue: Catalogue, name: str) -> bool:
    tool = catalogue.get(name)
    return tool is not None and tool.risk is Risk.CRITICAL and tool.compensate is not None


def digest(order: UndoSagaOrder, critical: list[str]) -> str:
    """Of what people agree to; the claim uses up an approval of exactly this."""
    return approval_digest(_TOOL, _request(order, critical), f"{order.saga}/{_STEP}")


def _request(order: UndoSagaOrder, critical: list[str]) -> dict[str, JsonValue]:
    return {
        "saga": order.saga,
        "who": order.who,
        "why": order.why,
        "critical": "\n".join(critical),
        "steps": ", ".join(order.steps) if order.steps else "all of it",
    }


async def agree(stack: Stack, order: UndoSagaOrder, critical: list[str]) -> None:
    """Return when somebody else than who has ordered the undo agrees to it, by the Update `approve`.

    Raises:
        ApplicationError: Of type `UndoRefused`: it was rejected, or nobody has agreed in a day. Nothing was touched.
        SagaTakenOver: Somebody else has the saga by now.
        asyncio.CancelledError: The undo was cancelled. Nothing was touched.
    """
    gates = Gates(stack, _WITHIN)
    gates.listen()
    record = Record(
        step=_STEP,
        seq=(),
        tool=_TOOL,
        summary=f"undo {order.saga}",
        request=_request(order, critical),
        started=workflow.now(),
    )
    stack.records.append(record)
    asked_by = Opinion(step=_STEP, who=order.who, note=order.why[:NOTE].strip() or None)
    try:
        await gates.wait(record, risk=Risk.CRITICAL, people=_PEOPLE, asked_by=asked_by)
    except StepFailed as failed:
        stack.show(f"not undone: {record.error}")
        raise undo_refused(str(record.error)) from failed
