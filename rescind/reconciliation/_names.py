"""The names of a reconciliation's own activities, and how the one that alerts is asked and tried."""

from datetime import timedelta

from pydantic import BaseModel, ConfigDict
from temporalio.common import RetryPolicy

from rescind.reconciliation._alerts import Alert

LOOK = "rescind.look_what_is_open"
TAKE_WORD = "rescind.take_word"
ALERT = "rescind.alert"
CLOSE = "rescind.close_reconciliation"

ALERT_RETRIES = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1))
ALERT_TIMEOUT = timedelta(seconds=30)


class AlertOrder(BaseModel):
    """Asks for one alert on one channel."""

    model_config = ConfigDict(frozen=True)

    channel: str
    alert: Alert
