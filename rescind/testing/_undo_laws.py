"""The laws about undoing: what it restores, and what it must not touch."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from temporalio.exceptions import ApplicationError

from rescind._calls import Grade, Restoration
from rescind._states import RecordState, Repeat
from rescind._wire import StepAnswer
from rescind.testing._laws import Broken, NotApplicable
from rescind.testing._step import Step
from rescind.testing._stopping import Point
from rescind.testing._trial import Trial, differing
from rescind.testing._world import Disturbed, Prepared, Removable

_GONE = frozenset({RecordState.UNDONE, RecordState.ABSENT})


async def restored(trial: Trial) -> str:
    """Do and undo; what the undo claims has to be seen."""
    _require_undo(trial)
    step, before = trial.step(), await trial.look()
    answer = await trial.done(step)
    if await trial.look() == before:
        raise Broken(
            "the call says that it changed something, and the snapshot is the same: the tool is wrong about it, or "
            "the snapshot does not hold what the tool changes"
        )
    restoration = await trial.undone(step)
    trial.grade = trial.verify(before, await trial.look(), restoration)
    trial.left = _in_general(restoration, step, answer)
    return f"It says {restoration.grade.value!r}, and that is what was seen."


async def undone_twice(trial: Trial) -> str:
    """Undo, die before that is reported, and undo again."""
    _require_undo(trial)
    step, before = trial.step(), await trial.look()
    await trial.done(step)
    await step.dies(Point.UNDONE, step.undo)
    once = await trial.look()
    await step.land()
    restoration = await trial.undone(step)
    trial.require_same(once, await trial.look(), "the second undo changed something more")
    if restoration.grade is not Grade.NOTHING:
        trial.require_restored(before, once, restoration)
    return "The second undo succeeded, and the world stayed as the first one had left it."


async def nothing_to_undo(trial: Trial) -> str:
    """Undo a call that was never made, and one whose effect somebody has taken away."""
    _require_undo(trial)
    before = await trial.look()
    restoration = await trial.undone(trial.step())
    if restoration.grade is not Grade.NOTHING:
        raise Broken(f"the undo of a call that was never made says {restoration.grade.value!r}")
    trial.require_same(before, await trial.look(), "the undo of a call that was never made changed something")
    if not isinstance(trial.world, Removable):
        return "A call that was never made; nobody takes an effect away by hand in this world."
    return await _taken_away(trial, trial.world, before)


async def _taken_away(trial: Trial, world: Removable, before: Any) -> str:
    step = trial.step()
    await trial.done(step)
    await world.take_away()
    gone = await trial.look()
    restoration = await trial.undone(step)
    after = await trial.look()
    if not trial.same(before, after):
        trial.require_same(gone, after, "what it had made was gone, and its undo changed something else")
    if restoration.grade is not Grade.NOTHING:
        trial.require_restored(before, after, restoration)
    return (
        f"A call that was never made; and one whose effect somebody took away: {restoration.grade.value!r}."
    )


async def late_call(trial: Trial) -> str:
    """Undo, and then let an attempt come that is new, and one that had begun before."""
    _require_undo(trial)
    step = trial.step()
    await trial.done(step)
    await trial.undone(step)
    left = await trial.look()
    await _expect_refusal(trial, step)
    trial.require_same(left, await trial.look(), "a new attempt after the undo changed something")
    if trial.tool.repeats is Repeat.NEVER:
        return "A new attempt was refused; no second one is ever made beside an unproven one."
    await _expect_harmless(trial)
    return "A new attempt was refused; one that had begun before the undo left nothing behind."


async def _expect_refusal(trial: Trial, step: Step) -> None:
    try:
        await step.attempt()
    except ApplicationError as error:
        if error.type in ("RefusedByLedger", "SagaTakenOver"):
            return
        raise Broken(f"a new attempt after the undo was not refused: {error.message}") from error
    raise Broken("a new attempt after the undo was not refused")


async def _expect_harmless(trial: Trial) -> None:
    """Stop an attempt before its call, let another one do it, undo that, and wake the first one."""
    step = trial.step()
    pause, running = await step.paused()
    try:
        await step.land()
        await trial.done(step)
        await step.land()
        await trial.undone(step)
        left = await trial.look()
    finally:
        pause.go_on.set()
        await asyncio.wait({running})
    running.exception()  # whatever it says, the world and the ledger are looked at
    if await step.state() is RecordState.APPLIED:
        await step.land()
        await trial.undone(step)
    trial.require_same(left, await trial.look(), "a call that came after its undo took effect, unseen")


async def conflict(trial: Trial) -> str:
    """Let somebody else change what was made, and undo."""
    _require_undo(trial)
    if not isinstance(trial.world, Disturbed):
        raise NotApplicable("Nobody else changes what was made in this world.")
    step = trial.step()
    await trial.done(step)
    await trial.world.disturb()
    theirs = await trial.look()
    try:
        restoration = await step.undo()
    except ApplicationError as error:
        if error.type != "Conflict":
            raise Broken(f"it is no conflict: {error.message}") from error
    else:
        raise Broken(
            f"somebody had changed what was made, and it was undone all the same: {restoration.grade}"
        )
    if (after := await trial.look()) != theirs:
        raise Broken(f"it was a conflict, and something was changed all the same: {differing(theirs, after)}")
    return "It was a conflict, and the world stayed as somebody else had left it."


async def no_op(trial: Trial) -> str:
    """Let the world be as wanted already, do, and undo."""
    _require_undo(trial)
    if not isinstance(trial.world, Prepared):
        raise NotApplicable("This world is never as wanted before the call.")
    step = trial.step()
    await trial.world.already()
    before = await trial.look()
    answer = await step.do()
    between = await trial.look()
    _require_honest(answer, changed=between != before)
    restoration = await trial.undone(step)
    trial.require_same(before, await trial.look(), "what was there before the call did not survive its undo")
    if between == before and restoration.grade is not Grade.NOTHING:
        raise Broken(f"nothing had been changed, and the undo says {restoration.grade.value!r}")
    if answer.state is RecordState.ABSENT:
        return "The call was refused, and its undo left what was there."
    return (
        "The call said so, and its undo did nothing." if not answer.changed else "It was put back as it was."
    )


def _require_honest(answer: StepAnswer, *, changed: bool) -> None:
    if answer.state is RecordState.ABSENT and changed:
        raise Broken("the call was refused, and it changed something")
    if answer.state is RecordState.APPLIED and answer.changed and not changed:
        raise Broken("the call changed nothing and did not say so")
    if answer.state is RecordState.APPLIED and changed and not answer.changed:
        raise Broken("the call says that it changed nothing, and it did")


def _require_undo(trial: Trial) -> None:
    if trial.tool.compensate is None:
        raise NotApplicable("It has no undo.")


def _in_general(restoration: Restoration, step: Step, answer: StepAnswer) -> str | None:
    """What is left, with names instead of what differs from run to run: the keys, and what the provider chose."""
    if restoration.detail is None:
        return None
    asked = step.order.request if isinstance(step.order.request, dict) else {}
    answered = answer.result if isinstance(answer.result, dict) else {}
    telling = ((name, value) for name, value in (*answered.items(), *asked.items()) if _is_telling(value))
    names = {str(value): name.upper() for name, value in telling}
    names |= {step.call.undo_key: "UNDO_KEY", step.call.key: "KEY"}
    longest_first = sorted(names, key=len, reverse=True)
    known = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return known.sub(lambda found: names[found.group()], restoration.detail)


def _is_telling(value: object) -> bool:
    return isinstance(value, str) and len(value) > 3
