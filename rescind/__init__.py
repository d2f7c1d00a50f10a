"""Rescind: durable sagas on Temporal, for agents and programs that write to several outside systems."""

from rescind._attempt import remember, remember_blocking, remembered, time_left
from rescind._calls import (
    Absent,
    Applied,
    Call,
    Grade,
    Receipt,
    Request,
    Restoration,
    Result,
    Unknown,
)
from rescind._catalogue import Catalogue
from rescind._errors import (
    RescindError,
    RollbackIncomplete,
    SagaRefused,
    SagaTakenOver,
    SagaUndone,
    StepFailed,
    ToolRefused,
    UndoIncomplete,
)
from rescind._notice import FailureNotice
from rescind._plugin import CannotCompose, RescindPlugin
from rescind._record import Compensation, Outcome, Record, SagaReport, StepReport
from rescind._savepoint import Savepoint
from rescind._states import RecordState, Repeat, SagaState
from rescind._tool import Retries, Risk, Tool
from rescind.saga import Saga

__all__ = [
    "Absent",
    "Applied",
    "Call",
    "CannotCompose",
    "Catalogue",
    "Compensation",
    "FailureNotice",
    "Grade",
    "Outcome",
    "Receipt",
    "Record",
    "RecordState",
    "Repeat",
    "Request",
    "RescindError",
    "RescindPlugin",
    "Restoration",
    "Result",
    "Retries",
    "Risk",
    "RollbackIncomplete",
    "Saga",
    "SagaRefused",
    "SagaReport",
    "SagaState",
    "SagaTakenOver",
    "SagaUndone",
    "Savepoint",
    "StepFailed",
    "StepReport",
    "Tool",
    "ToolRefused",
    "UndoIncomplete",
    "Unknown",
    "remember",
    "remember_blocking",
    "remembered",
    "time_left",
]
