"""What people are asked by the sweeper, from look to look: told once, told again at the pace of the reminders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict

from rescind._keys import provider_key
from rescind.reconciliation._alerts import MOST, Alert, Question, Severity
from rescind.reconciliation._pace import Pace

_MOST = 100
"""Questions that are open at most; further ones follow when some of them are answered."""


class Asking(BaseModel):
    """What people are asked, as the schedule carries it from look to look.

    Attributes:
        open: The questions that no whole round of looks has answered, oldest first.
        seen: The keys of those that this round has found.
        alerts: Alerts since the last new question.
        next_alert: When the next is due; None is at the next look.
    """

    model_config = ConfigDict(frozen=True)

    open: list[Question] = []
    seen: list[str] = []
    alerts: int = 0
    next_alert: datetime | None = None

    def after(self, found: Sequence[Question], *, round_over: bool) -> Asking:
        """What is open after one more look; with a new question the schedule of the alerts begins anew."""
        known = {question.key for question in self.open}
        latest = {question.key: question for question in found}
        new = [question for key, question in latest.items() if key not in known]
        seen = {*self.seen, *latest}
        open_ = [latest.get(question.key, question) for question in self.open] + new
        if round_over:
            open_ = [question for question in open_ if question.key in seen]
        open_ = open_[:_MOST]
        is_new = any(question.key not in known for question in open_)
        return Asking(
            open=open_,
            seen=[] if round_over else [question.key for question in open_ if question.key in seen],
            alerts=0 if is_new else self.alerts,
            next_alert=None if is_new else self.next_alert,
        )

    def told(self, before: Asking, sweeper: str, pace: Pace) -> tuple[Asking, Alert | None]:
        """What is open once people are told what is due now, and what they are told.

        Args:
            before: What was open before this look.
            sweeper: Who asks.
            pace: The schedule of the alerts.
        """
        now = datetime.now(UTC)
        if not self.open:
            return Asking(), self._alert(sweeper, now, 0) if before.open else None
        if self.next_alert is not None and now < self.next_alert:
            return self, None
        number = self.alerts + 1
        told = self.model_copy(update={"alerts": number, "next_alert": now + pace.before_alert(number)})
        return told, self._alert(sweeper, now, number)

    def untold(self, before: Asking) -> Asking:
        """What is open where people could not be told of it: they are told at the next look."""
        return (self if self.open else before).model_copy(update={"next_alert": None})

    def _alert(self, sweeper: str, now: datetime, number: int) -> Alert:
        return Alert(
            key=provider_key(f"{sweeper}/alert/{now.isoformat()}"),
            number=number,
            severity=Severity.HIGH,
            reference=sweeper,
            total=len(self.open),
            questions=self.open[:MOST],
        )
