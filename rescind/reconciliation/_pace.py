"""How often a reconciliation alerts and tries again by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Wait: TypeAlias = Annotated[timedelta, Field(ge=timedelta(milliseconds=100))]


class Pace(BaseModel):
    """The schedule of a reconciliation; the first alert goes out at once.

    With the defaults people are told at once, after 15 minutes, after another hour and then daily; a failed undo is
    tried again after 1, 5, 15 and 60 minutes and then every 6 hours, so at most 8 times on the first day and 4 times
    on each further one.

    Attributes:
        alerts: The waits before the second alert, the third, and so on.
        alert_every: The wait before each further one.
        retries: The waits before the first try by itself, the second, and so on.
        retry_every: The wait before each further one.
        alert_for: How long a channel that fails is tried for one alert.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    alerts: tuple[Wait, ...] = (timedelta(minutes=15), timedelta(hours=1))
    alert_every: Wait = timedelta(days=1)
    retries: tuple[Wait, ...] = (
        timedelta(minutes=1),
        timedelta(minutes=5),
        timedelta(minutes=15),
        timedelta(hours=1),
    )
    retry_every: Wait = timedelta(hours=6)
    alert_for: Wait = timedelta(minutes=10)

    def before_alert(self, number: int) -> timedelta:
        """The wait after the alert of this number, from 1."""
        return self.alerts[number - 1] if number <= len(self.alerts) else self.alert_every

    def before_retry(self, number: int) -> timedelta:
        """The wait before the try of this number, from 1."""
        return self.retries[number - 1] if number <= len(self.retries) else self.retry_every
