"""The laws about doing: one effect for a call, and what is known of it after a crash."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from rescind._calls import Applied, Grade
from rescind._read import read_activity
from rescind._states import RecordState, Repeat
from rescind.testing._laws import Broken, NotApplicable
from rescind.testing._step import Step
from rescind.testing._stopping import Point
from rescind.testing._trial import Trial, differing

_NEVER_TWICE = "it is never called twice"


async def found(trial: Trial) -> str:
    """Ask for a call that was not made yet, make it, and ask again."""
    if trial.tool.lookup is None:
        raise NotApplicable("It has no lookup: a call whose answer is lost is in doubt.")
    step = trial.step()
    if isinstance(await step.look_up(), Applied):
        raise Broken("the lookup finds a call that was never made")
    done = await trial.done(step)
    match await step.look_up():
        case Applied(result=result, partial=False):
            seen = result.model_dump(mode="json")
        case answer:
            raise Broken(f"the call was made, and the lookup says: {answer!r}")
    if seen != done.result:
        raise Broken(f"the lookup's result is not that of the call: {differing(done.result, seen)}")
    await _tidy(trial, step)
    return "It was found, with the same result; before the call it was not."


async def one_effect(trial: Trial) -> str:
    """Act, die before that is reported, and let another attempt come."""
    step, before = trial.step(), await trial.look()
    await trial.acted(step)
    once = await trial.look()
    if once == before:
        raise Broken("the call took no effect that the snapshot shows")
    answer = await step.do()
    trial.require_same(once, await trial.look(), "the second attempt took effect too")
    if trial.tool.repeats is Repeat.NEVER:
        return f"The second attempt was refused: {_NEVER_TWICE}."
    if answer.state is not RecordState.APPLIED:
        raise Broken(
            f"the effect is there, and the second attempt ended as {answer.state.value}: {answer.why}"
        )
    await _tidy(trial, step)
    if trial.tool.repeats is Repeat.DEDUPLICATED:
        return "The second attempt was made, and the provider knew its key."
    return "The lookup was asked before the second attempt, and nothing was sent."


async def crash_before(trial: Trial) -> str:
    """Die after the call is on record, and after the before-image is; then try again, or settle."""
    for point in (Point.BEGUN, Point.REMEMBERED):
        for settled in (False, True):
            before, step = await trial.look(), trial.step()
            if not await step.dies(point, step.attempt):
                await _tidy(trial, step)
                break  # it remembers nothing
            if await trial.look() != before:
                raise Broken("the worker died before the call, and something is changed")
            await (_settled_unmade(trial, step, before) if settled else _tried_again(trial, step, before))
    if trial.tool.repeats is Repeat.NEVER:
        return f"It was in doubt both times, since {_NEVER_TWICE}; nothing was changed."
    return "Tried again it took effect once and was undone; given up it was settled, and nothing was changed."


async def _tried_again(trial: Trial, step: Step, before: object) -> None:
    answer = await step.do()
    if trial.tool.repeats is Repeat.NEVER:
        _require_no_effect(answer.state, trial)
        trial.require_same(before, await trial.look(), "it is never called twice, and it was")
        return
    if answer.state is not RecordState.APPLIED or await trial.look() == before:
        raise Broken(f"the next attempt ended as {answer.state.value} without an effect: {answer.why}")
    if trial.tool.compensate:
        restoration = await trial.undone(step)
        trial.require_restored(before, await trial.look(), restoration)


async def _settled_unmade(trial: Trial, step: Step, before: object) -> None:
    answer = await step.settle()
    _require_no_effect(answer.state, trial)
    if answer.state is RecordState.ABSENT and trial.tool.compensate:
        restoration = await trial.undone(step)
        if restoration.grade is not Grade.NOTHING:
            raise Broken(f"nothing was called, and the undo says {restoration.grade.value!r}")
    trial.require_same(before, await trial.look(), "nothing was called, and something is changed")


def _require_no_effect(state: RecordState, trial: Trial) -> None:
    if state is RecordState.APPLIED:
        raise Broken("nothing was called, and it is taken for an effect")
    if state is RecordState.IN_DOUBT and trial.tool.lookup and trial.tool.repeats is not Repeat.NEVER:
        raise Broken("nothing was called, and the lookup can't tell")


async def crash_after(trial: Trial) -> str:
    """Die between the effect and its report, settle, and undo."""
    step, before = trial.step(), await trial.look()
    await trial.acted(step)
    if (after := await trial.look()) == before:
        raise Broken("the call took no effect that the snapshot shows")
    answer = await step.settle()
    match answer.state:
        case RecordState.APPLIED:
            return await _found_and_undone(trial, step, before)
        case RecordState.IN_DOUBT:
            trial.require_same(after, await trial.look(), "it is in doubt, and something more is changed")
            why = "it has no lookup" if trial.tool.lookup is None else "the lookup can't tell"
            return f"It is in doubt, since {why}: a person is asked, and nothing was touched."
        case state:
            raise Broken(f"the effect is there, and it was settled as {state.value}")


async def _found_and_undone(trial: Trial, step: Step, before: object) -> str:
    if trial.tool.compensate is None:
        return "It was found."
    restoration = await trial.undone(step)
    if restoration.grade is Grade.NOTHING:
        raise Broken("the effect was found, and the undo says that there was nothing")
    trial.require_restored(before, await trial.look(), restoration)
    return "It was found by the lookup and undone, as an effect that was reported."


async def read_only(trial: Trial) -> str:
    """Read, and look whether anything is changed."""
    if not trial.tool.read_only:
        raise NotApplicable("It writes.")
    before = await trial.look()
    try:
        await ActivityEnvironment().run(read_activity(trial.tool, trial.bench), trial.step().order)
    except ApplicationError as error:
        raise Broken(f"it failed: {error}") from error
    if (after := await trial.look()) != before:
        raise Broken(f"it only reads, and something is changed: {differing(before, after)}")
    return "Nothing was changed."


async def _tidy(trial: Trial, step: Step) -> None:
    """Take back what a law has made and does not judge, for worlds that are not put back to their beginning."""
    if trial.tool.compensate is None:
        return
    await step.land()
    try:
        await step.undo()
    except ApplicationError:
        return  # the laws about undoing say what is wrong with it
