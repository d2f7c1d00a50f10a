"""The activity that foresees an undo: windows, what can't be undone, and what the lookups find."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from pydantic import JsonValue
from pydantic_core import to_jsonable_python
from temporalio import activity
from temporalio.exceptions import ApplicationError

from rescind._attempt import Attempt
from rescind._bench import Bench, deadline
from rescind._calls import Absent, Applied, Unknown
from rescind._catalogue import AnyTool
from rescind._forward import call_of
from rescind._recorded import in_words, report_of
from rescind._settle import refuse_to_store
from rescind._states import STANDING, RecordState, SagaState
from rescind.ledger import EffectOutline, SagaOutline
from rescind.recovery._fate import Fate, owner_of
from rescind.recovery._orders import SHOWN
from rescind.recovery._parts import with_dependents
from rescind.recovery._preview import Preview, PreviewOrder, StepPreview
from rescind.recovery._windows import over, window_left

_ASKED = 100
"""Lookups asked at most, of the newest steps; the others are shown without."""

_AT_ONCE = 5
_PATIENCE = timedelta(seconds=10)
"""For one lookup at most; what does not answer by then is shown as such."""


class Foresight:
    """One look at what an undo would do."""

    def __init__(self, bench: Bench, order: PreviewOrder) -> None:
        self.bench, self.order = bench, order
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> Preview:
        """Foresee it; nothing is written."""
        saga = await self.bench.ledger.outline(self.bench.saga(self.order.saga))
        if saga is None:
            raise ApplicationError(
                f"the ledger has no saga {self.order.saga}", type="NoSuchSaga", non_retryable=True
            )
        asked_for = self._asked_for(saga)
        todo = [effect for effect in asked_for if effect.state in STANDING and not effect.no_op]
        if not todo:
            return await self._already(saga)
        refused = await self._refused(saga, todo)
        steps = await asyncio.gather(
            *(
                self._step(saga, effect, ask=number < _ASKED and refused is None)
                for number, effect in enumerate(reversed(todo[-SHOWN:]))
            )
        )
        others = [
            self._name(effect) for effect in saga.effects if effect.state in STANDING and effect not in todo
        ]
        return Preview(state=saga.state, refused=refused, steps=steps, untouched=others[-SHOWN:])

    def _asked_for(self, saga: SagaOutline) -> Sequence[EffectOutline]:
        if self.order.step is None:
            return saga.effects
        key = f"{self.order.saga}/{self.order.step}"
        if all(effect.key != key for effect in saga.effects):
            names = ", ".join(self._name(effect) for effect in saga.effects[:50])
            raise ApplicationError(
                f"the saga has no step {self.order.step}; it has {names or 'none'}",
                type="NoSuchStep",
                non_retryable=True,
            )
        chosen = set(with_dependents(saga.effects, key))
        return [effect for effect in saga.effects if effect.key in chosen]

    async def _already(self, saga: SagaOutline) -> Preview:
        view = await self.bench.ledger.show(self.bench.saga(self.order.saga))
        assert view is not None  # noqa: S101  (a saga's row is never removed)
        return Preview(state=saga.state, already=report_of(view))

    async def _refused(self, saga: SagaOutline, todo: Sequence[EffectOutline]) -> str | None:
        if late := over(self.bench.catalogue, saga, todo):
            return f"the time to undo it is over: {'; '.join(late)}"
        if not saga.epoch:
            owner = await owner_of(activity.client(), self.order.saga)
            if owner.fate is Fate.RUNNING:
                return "its workflow is running; cancel that, and it undoes its steps itself"
            completed = saga.state is SagaState.SEALED and owner.fate is Fate.COMPLETED
        else:
            completed = False
        if self.order.step is not None and saga.state is not SagaState.COMMITTED and not completed:
            return f"only a committed saga can be undone in part, and it is {saga.state.value}"
        return None

    async def _step(self, saga: SagaOutline, effect: EffectOutline, *, ask: bool) -> StepPreview:
        tool = self.bench.catalogue.get(effect.tool)
        preview = StepPreview(
            step=self._name(effect),
            tool=effect.tool,
            summary=in_words(effect.tool, effect.request),
            state=effect.state,
            risk=tool.risk.value if tool else None,
            undo=tool.description if tool and tool.compensate else "",
            window_left=window_left(self.bench.catalogue, saga, effect),
            left=_left(effect, tool),
        )
        if tool is None or tool.lookup is None or effect.request is None or not ask:
            return preview
        async with self._at_once:
            found, conflict = await self._found(effect, tool)
        return preview.model_copy(update={"found": found, "conflict": conflict})

    async def _found(self, effect: EffectOutline, tool: AnyTool) -> tuple[str, bool]:
        """What the lookup says, and whether the undo has to expect a conflict."""
        limit = min(tool.undo_timeout, _PATIENCE)
        attempt = Attempt(effect.before, refuse_to_store, deadline(limit), asyncio.get_running_loop())
        try:
            call = call_of(tool, effect.key, effect.request)
            async with asyncio.timeout(limit.total_seconds()):
                answer = await self.bench.look_up(tool, call, attempt, limit=limit)
        except Exception as error:  # noqa: BLE001  (whatever a lookup raises is no answer, and is shown)
            return f"its lookup did not answer: {type(error).__name__}: {error}"[:300], False
        match answer:
            case Absent():
                return "nothing of it is found any more, or it is somebody else's by now", False
            case Unknown(why=why):
                return f"its lookup can't tell: {why}"[:300], False
            case Applied(result=result):
                changed = _differences(effect.result, to_jsonable_python(result))
                if changed and effect.state is RecordState.APPLIED:
                    return f"it is there, and was changed since: {', '.join(changed)}", True
                return "it is there", False

    def _name(self, effect: EffectOutline) -> str:
        return effect.key.removeprefix(f"{self.order.saga}/")


def _left(effect: EffectOutline, tool: AnyTool | None) -> str | None:
    if tool is None:
        return f"the worker knows no tool {effect.tool!r}; a person has to undo it"
    if tool.compensate is None:
        return "it is a point of no return and stays"
    if effect.state is RecordState.IN_DOUBT:
        return f"nobody can tell whether it took effect: {effect.error or 'no reason known'}; a person has to decide"
    if effect.version > tool.version:
        return f"it was written by version {effect.version} of the tool, and the worker has {tool.version}"
    return None


def _differences(before: JsonValue, now: JsonValue) -> list[str]:
    """The fields of a result that are not as they were, apart from whether the call changed anything."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return []
    return [name for name in before if name != "changed" and name in now and before[name] != now[name]]
