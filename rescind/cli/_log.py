"""A worker's log for people: one line for each thing, with the saga's workflow before it."""

import logging
import sys
from typing import Any

from temporalio import activity, workflow


def log_for_people() -> None:
    """Log warnings and errors to standard error; tracebacks only for what no tool has raised."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(_Lines("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[stream])
    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


class _Lines(logging.Formatter):
    """Adds where it was, and a failed activity's first cause instead of its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        where: dict[str, Any] = getattr(record, "temporal_activity", None) or getattr(
            record, "temporal_workflow", {}
        )
        words = [str(where[name]) for name in ("workflow_id", "activity_id") if name in where]
        line = logging.makeLogRecord(record.__dict__)
        line.msg, line.args = ": ".join([*words, record.getMessage()]), ()
        if record.exc_info and hasattr(record, "temporal_activity"):
            line.msg += f": {_first(record.exc_info[1])}"
            line.exc_info, line.exc_text = None, None
        return super().format(line)


def _first(error: BaseException | None) -> str:
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
