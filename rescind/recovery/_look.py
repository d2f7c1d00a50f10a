"""One look of the sweeper at a page of unfinished sagas: who owns each, and what is to be done about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus

from rescind._bench import Bench
from rescind._recorded import inner
from rescind._states import SagaState
from rescind.ledger import Claimed, LedgerBehind, TakenOver, Unfinished
from rescind.reconciliation._alerts import Question
from rescind.reconciliation._open import ensure_reconciliation, reconciliation_id
from rescind.recovery._ask import AskOrder
from rescind.recovery._fate import Fate, Owner, described, owner_of
from rescind.recovery._orders import UndoSagaOrder, undo_id
from rescind.recovery._questions import (
    ledger_behind,
    many_gone,
    not_committed,
    sealed_and_gone,
    stalled,
    unattended,
)
from rescind.recovery._start import start_undo
from rescind.recovery._sweep import PageOrder, Swept

T = TypeVar("T")

_AT_ONCE = 10
"""Questions to Temporal that are open at a time."""

_NAMED = 50
_UNATTENDED = timedelta(hours=1)
"""After this long without a look the unfinished sagas of another namespace are asked about."""

_SWEEPER = "the sweeper"


@dataclass(slots=True)
class _Found:
    running: int = 0
    promoted: int = 0
    closed: int = 0
    undoing: list[str] = field(default_factory=list[str])
    reconciling: list[str] = field(default_factory=list[str])
    stalled: list[str] = field(default_factory=list[str])
    questions: list[Question] = field(default_factory=list[Question])


class Look:
    """One look at one page."""

    def __init__(self, bench: Bench, client: Client, order: PageOrder) -> None:
        self.bench, self.client, self.order = bench, client, order
        self.found = _Found()
        self.looks = 0
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> Swept:
        """Look at the page, and do what is to be done about each of its sagas; an older ledger is not touched."""
        limit, order = self.order.sweeping.limit, self.order
        try:
            self.looks = await self.bench.ledger.compare(self.bench.namespace_id, order.looks, is_look=True)
        except LedgerBehind as error:
            behind = Swept(looks=order.looks or 0, next_after=order.after)  # Temporal keeps what it remembers
            self.found.questions.append(ledger_behind(error))
            return self._asked(behind, round_over=False)
        page = await self.bench.ledger.sweep(self.bench.namespace_id, limit, after=self.order.after)
        owners = dict(
            zip(page, await asyncio.gather(*(self._limited(self._owner, saga) for saga in page)), strict=True)
        )
        gone = [saga for saga, owner in owners.items() if owner.fate is Fate.GONE]
        many = self._too_many(len(gone), len(page))
        if many:
            self.found.questions.append(many_gone([inner(saga.saga) for saga in gone], len(page)))
        await self._do(owners, gone if many else [])
        self.found.questions += unattended(
            await self.bench.ledger.unattended(self.bench.namespace_id, _UNATTENDED)
        )
        swept = self._told(page, limit)
        return self._asked(swept, round_over=not swept.next_after)

    def _too_many(self, gone: int, asked: int) -> bool:
        return gone > self.order.sweeping.many_gone and gone > asked / 2

    async def _do(self, owners: Mapping[Unfinished, Owner], left_alone: Sequence[Unfinished]) -> None:
        """Act on each saga as the ledger has it now: until it closed, its workflow went on after the page was read."""
        closed: dict[str, tuple[Unfinished, Owner]] = {}
        for saga, owner in owners.items():
            if owner.fate is Fate.RUNNING:
                self._running(saga, owner)
            elif saga not in left_alone:
                closed[saga.saga] = saga, owner

        async def act(now: Unfinished) -> None:
            saga, owner = closed[now.saga]
            if now.epoch == saga.epoch:  # else somebody has claimed it, and the next look asks who
                await self._act(now, owner)

        if closed:
            now = await self.bench.ledger.look_again(closed)
            await asyncio.gather(*(self._limited(act, saga) for saga in now))

    async def _limited(self, work: Callable[[Unfinished], Awaitable[T]], saga: Unfinished) -> T:
        async with self._at_once:
            return await work(saga)

    async def _owner(self, saga: Unfinished) -> Owner:
        """Who works on a saga: the workflow that had it, or from the first claim on the undo."""
        if not saga.epoch:
            return await owner_of(self.client, inner(saga.saga))
        undo = await described(self.client, undo_id(inner(saga.saga)))
        running = undo is not None and undo.status is WorkflowExecutionStatus.RUNNING
        if running:
            return Owner(Fate.RUNNING, "being undone")
        before = await owner_of(self.client, inner(saga.saga))
        return Owner(Fate.CLOSED, "closed, and its undo has ended half-way", before.task_queue)

    async def _act(self, saga: Unfinished, owner: Owner) -> None:
        match owner.fate:
            case Fate.COMPLETED:
                await self._completed(saga, owner)
            case Fate.GONE:
                await self._gone(saga, owner)
            case _:
                await self._take_back(saga, owner)

    def _running(self, saga: Unfinished, owner: Owner) -> None:
        self.found.running += 1
        if owner.stalled >= self.order.sweeping.stalled_after:
            self.found.stalled.append(inner(saga.saga))
            self.found.questions.append(stalled(inner(saga.saga), owner.stalled))

    async def _completed(self, saga: Unfinished, owner: Owner) -> None:
        if saga.state is SagaState.SEALED:
            await self.bench.ledger.promote(saga.saga)
            self.found.promoted += 1
        elif saga.state is SagaState.OPEN and saga.undoable:
            self.found.questions.append(not_committed(inner(saga.saga), saga.undoable))
        else:
            await self._take_back(saga, owner)

    async def _gone(self, saga: Unfinished, owner: Owner) -> None:
        if saga.quiet < self.order.sweeping.grace.total_seconds():
            return
        if saga.state is SagaState.SEALED:
            self.found.questions.append(sealed_and_gone(inner(saga.saga)))
            return
        await self._take_back(saga, owner)

    async def _take_back(self, saga: Unfinished, owner: Owner) -> None:
        """Undo what can be undone; what can't is a reconciliation's; a saga of which nothing stands is closed."""
        if saga.undoable:
            await self._undo(saga, owner)
        elif saga.needs_person:
            await self._reconcile(saga)
        else:
            await self._close(saga, owner)

    async def _undo(self, saga: Unfinished, owner: Owner) -> None:
        name = inner(saga.saga)
        why = f"its workflow is {owner.words}"
        part = tuple(key.removeprefix(f"{name}/") for key in saga.part)
        steps = part if saga.state is SagaState.COMMITTED else None
        order = UndoSagaOrder(saga=name, who=_SWEEPER, why=why, steps=steps, task_queue=owner.task_queue)
        await start_undo(self.client, order, join=True)
        self.found.undoing.append(name)
        activity.logger.warning("the saga %s is undone: %s", name, why)

    async def _reconcile(self, saga: Unfinished) -> None:
        name = inner(saga.saga)
        there = await described(self.client, reconciliation_id(name))
        if there is None or there.status is not WorkflowExecutionStatus.RUNNING:
            await ensure_reconciliation(self.client, name)
            self.found.reconciling.append(name)

    async def _close(self, saga: Unfinished, owner: Owner) -> None:
        try:
            why = f"{_SWEEPER}: its workflow is {owner.words}, and nothing of it stands"
            claim = await self.bench.ledger.claim(saga.saga, saga.epoch, undo_id(inner(saga.saga)), why=why)
            if isinstance(claim, Claimed):
                await self.bench.ledger.unwind(saga.saga, claim.epoch)
                self.found.closed += 1
        except TakenOver:
            return  # somebody else has it since the page was read

    def _told(self, page: Sequence[Unfinished], limit: int) -> Swept:
        found = self.found
        return Swept(
            looks=self.looks,
            next_after=page[-1].saga if len(page) == limit else "",
            looked_at=len(page),
            running=found.running,
            promoted=found.promoted,
            closed=found.closed,
            undoing=found.undoing[:_NAMED],
            reconciling=found.reconciling[:_NAMED],
            stalled=found.stalled[:_NAMED],
        )

    def _asked(self, swept: Swept, *, round_over: bool) -> Swept:
        """What people are asked after this look, and told now; it is always in the log, too."""
        pace, before, questions = self.bench.pace, self.order.asking, self.found.questions
        sweeper = f"the sweeper of the namespace {self.client.namespace}"
        asking, alert = before.after(questions, round_over=round_over).told(before, sweeper, pace)
        if alert is not None:
            activity.logger.log(logging.ERROR if alert.number else logging.WARNING, "%s", alert.text)
        channels = [channel.name for channel in self.bench.alerts]
        return swept.model_copy(
            update={
                "questions": [question.text for question in questions[:_NAMED]],
                "asking": asking,
                "ask": alert and AskOrder(alert=alert, channels=channels, limit=pace.alert_for),
            }
        )
