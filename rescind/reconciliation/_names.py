"""The names of a reconciliation's own activities, and the order of the one that alerts."""

from pydantic import BaseModel, ConfigDict

from rescind.reconciliation._alerts import Alert

LOOK = "rescind.look_what_is_open"
TAKE_WORD = "rescind.take_word"
ALERT = "rescind.alert"
CLOSE = "rescind.close_reconciliation"


class AlertOrder(BaseModel):
    """Asks for one alert on one channel."""

    model_config = ConfigDict(frozen=True)

    channel: str
    alert: Alert
