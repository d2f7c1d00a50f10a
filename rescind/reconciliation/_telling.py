"""How people are told: every channel by itself, beside everything else, and always the log."""

from __future__ import annotations

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from rescind._keys import provider_key
from rescind._workflow import deepest
from rescind.reconciliation._alerts import MOST, Alert, OpenLine, Severity
from rescind.reconciliation._case import Case, OpenStep, Progress, ReconcileOrder
from rescind.reconciliation._words import in_words, to_do
from rescind.reconciliation._work import Work


class Telling:
    """The alerts of one reconciliation.

    Attributes:
        untold: The channels that could not tell the last alert, and why.
    """

    def __init__(self, order: ReconcileOrder, work: Work, progress: Progress) -> None:
        self.untold: dict[str, str] = {}
        self._order, self._work, self._progress = order, work, progress
        self._running: asyncio.Task[None] | None = None

    def start(self, case: Case, number: int) -> None:
        """Tell everybody, and do not wait for it; while an earlier alert is still being told, this one is left out."""
        alert = self._alert(case, number)
        log = workflow.logger.critical if alert.severity is Severity.CRITICAL else workflow.logger.error
        log("%s", alert.text)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._tell(case, case.channels, alert))

    async def hush(self) -> None:
        """End what is still being told."""
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await workflow.wait([self._running])

    async def end(self, case: Case) -> None:
        """Tell those who were alerted that nothing is open any more."""
        channels = [name for name in case.channels if name in self._progress.told]
        await self._tell(case, channels, self._alert(case, 0))

    async def _tell(self, case: Case, channels: list[str], alert: Alert) -> None:
        await asyncio.gather(*(self._by(channel, case, alert) for channel in channels))

    async def _by(self, channel: str, case: Case, alert: Alert) -> None:
        try:
            await self._work.alert(channel, alert, case.pace.alert_for)
        except ActivityError as error:
            if is_cancelled_exception(error):  # nothing is open any more
                return
            self.untold[channel] = deepest(error)
            workflow.logger.error("alert %s was not told by %s: %s", alert.key, channel, deepest(error))
        else:
            self.untold.pop(channel, None)
            if channel not in self._progress.told:
                self._progress.told.append(channel)

    def _alert(self, case: Case, number: int) -> Alert:
        order = self._order
        return Alert(
            key=provider_key(f"{order.saga}/alert/{workflow.info().first_execution_run_id}/{number}"),
            number=number,
            severity=severity(case),
            reference=order.reference or order.saga.rpartition("/")[0],
            saga=order.saga,
            error=case.error,
            failed_at=case.failed_at,
            total=case.total,
            effects=[_line(step) for step in case.steps[:MOST]],
            closed=[f"{step}: {words}" for step, words in self._progress.closed.items()],
        )


def severity(case: Case) -> Severity:
    """CRITICAL where an effect stands that has no undo."""
    return Severity.CRITICAL if any(step.is_irreversible for step in case.steps) else Severity.HIGH


def _line(step: OpenStep) -> OpenLine:
    return OpenLine(
        step=step.step,
        summary=step.summary,
        how=in_words(step.how),
        since=step.since,
        known=step.known,
        to_do=to_do(step.how),
    )
