"""The activity that takes a saga over: ask Temporal, check what can't be undone any more, claim, and list."""

from __future__ import annotations

from collections.abc import Iterable

from temporalio import activity
from temporalio.exceptions import ApplicationError

from rescind._bench import Bench
from rescind._calls import Restoration
from rescind._failures import taken_over
from rescind._listing import REPORTED, counted, worth_listing
from rescind._record import Record, is_clean
from rescind._recorded import in_words
from rescind._reversal import reversal_of
from rescind._states import RecordState, SagaState
from rescind.ledger import EffectOutline, Extent, Refusal, Refused, SagaOutline, TakenOver
from rescind.recovery._agreement import critical_steps, digest
from rescind.recovery._fate import Fate, owner_of
from rescind.recovery._orders import Taken, UndoSagaOrder, undo_id, undo_refused
from rescind.recovery._windows import over


class TakeOver:
    """One attempt to take a saga over."""

    def __init__(self, bench: Bench, order: UndoSagaOrder) -> None:
        self.bench, self.order = bench, order
        self.saga = bench.saga(order.saga)

    async def run(self) -> Taken:
        """Claim the saga, unless an earlier run of this undo has, and list what is to be taken back.

        Where a second person has to agree first, nothing is claimed.

        Raises:
            ApplicationError: Of type `UndoRefused`: nothing was touched. Of type `SagaTakenOver`: somebody else
                has the saga.
        """
        if self.order.epoch is not None:
            return self._listed(await self._outline(), self.order.epoch)
        seen = await self._seen()
        if seen.state is SagaState.CLOSED:
            return self._taken(None, self._records(seen.effects), [], more=False)
        self._refuse_if_too_late(seen)
        critical = self._critical(seen)
        if epoch := await self._claimed(seen, critical):
            return self._listed(await self._outline(), epoch)
        return Taken(epoch=None, records=[], take_back=[], critical=critical, seen=seen.epoch)

    async def _outline(self) -> SagaOutline:
        outline = await self.bench.ledger.outline(self.saga)
        if outline is None:
            raise undo_refused(f"the ledger has no saga {self.order.saga}")
        return outline

    async def _seen(self) -> SagaOutline:
        """The saga as it is once its workflow has closed: until then that goes on, and may commit it."""
        seen = await self._outline()
        if seen.state is SagaState.CLOSED or seen.epoch:
            return seen  # whoever has claimed it before was this undo, which runs once at a time
        await self._ask_owner()
        return await self._outline()

    def _refuse_if_too_late(self, seen: SagaOutline) -> None:
        if closed_windows := over(self.bench.catalogue, seen, self._asked_for(seen)):
            raise undo_refused(f"the time to undo it is over: {'; '.join(closed_windows)}")

    def _critical(self, seen: SagaOutline) -> list[str]:
        """What is committed and critical; what an undo has begun, and what never was committed, asks nobody."""
        if not self.order.committed or seen.state is not SagaState.COMMITTED:
            return []
        new = [effect for effect in self._asked_for(seen) if effect.key not in seen.part]
        return critical_steps(self.bench.catalogue, new)

    async def _claimed(self, seen: SagaOutline, critical: list[str]) -> int | None:
        """The claim's epoch; None where people have to agree first."""
        order = self.order
        agreed = digest(order, critical) if critical else None
        extent = (
            Extent.PART if order.steps is not None else Extent.WHOLE if order.committed else Extent.UNFINISHED
        )
        why, part = f"{order.who}: {order.why}", [f"{order.saga}/{step}" for step in order.steps or ()]
        try:
            claim = await self.bench.ledger.claim(
                self.saga, seen.epoch, undo_id(order.saga), extent, why=why, part=part, agreed=agreed
            )
        except TakenOver as error:
            raise ApplicationError(f"{error}; this undo looks again", type="ClaimedMeanwhile") from error
        if isinstance(claim, Refused):
            if claim.why is Refusal.NOT_APPROVED:
                return None
            raise undo_refused(claim.why.sentence)
        if extent is not Extent.PART:
            await self.bench.ledger.unwind(self.saga, claim.epoch)  # no-ops are done with by this
        return claim.epoch

    async def _ask_owner(self) -> None:
        owner = await owner_of(activity.client(), self.order.saga)
        if owner.fate is Fate.RUNNING:
            raise undo_refused("its workflow is running; cancel that, and it undoes its steps itself")
        if owner.fate is Fate.COMPLETED:
            await self.bench.ledger.promote(self.saga)

    def _asked_for(self, seen: SagaOutline) -> Iterable[EffectOutline]:
        if self.order.steps is None:
            return seen.effects
        by_step = {self._step(effect): effect for effect in seen.effects}
        if missing := [step for step in self.order.steps if step not in by_step]:
            raise undo_refused(f"it has no step {', '.join(missing)}")
        return [by_step[step] for step in self.order.steps]

    def _listed(self, seen: SagaOutline, epoch: int) -> Taken:
        """The newest steps that are to be taken back and were not tried; with the last of them, all the others."""
        if seen.epoch != epoch:
            raise taken_over(TakenOver(self.saga, seen.owner, seen.epoch))
        records = self._records(self._asked_for(seen))
        below = self.order.below
        left = [
            record for record in records if not is_clean(record) and (below is None or record.seq < below)
        ]
        page = left[-(self.order.page or self.bench.page) :]
        return self._taken(epoch, records, page, more=len(left) > len(page))

    def _taken(self, epoch: int | None, records: list[Record], page: list[Record], *, more: bool) -> Taken:
        take_back = [record.step for record in page]
        listed = worth_listing(records, len(page) + REPORTED, first=set(take_back))
        chosen = {record.step for record in listed}
        beyond = counted(record for record in records if record.step not in chosen)
        return Taken(epoch=epoch, records=listed, beyond=beyond, take_back=take_back, more=more)

    def _records(self, effects: Iterable[EffectOutline]) -> list[Record]:
        return [self._record(effect) for effect in effects]

    def _record(self, effect: EffectOutline) -> Record:
        known = effect.tool in self.bench.catalogue
        return Record(
            step=self._step(effect),
            seq=effect.seq,
            tool=effect.tool,
            summary=in_words(effect.tool, effect.request),
            state=effect.state,
            reversal=reversal_of(self.bench.catalogue[effect.tool]) if known else None,
            changed=not effect.no_op if effect.state is RecordState.APPLIED else effect.changed,
            restoration=Restoration.model_validate(effect.restoration) if effect.restoration else None,
            error=effect.error,
        )

    def _step(self, effect: EffectOutline) -> str:
        return effect.key.removeprefix(f"{self.order.saga}/")
