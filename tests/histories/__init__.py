"""Histories of real runs of the toy and the SDK's own workflows, which every later version of the SDK has to replay."""

import json
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

FOLDER = Path(__file__).parent
NAMES = ("success", "undone", "cancelled_in_mid_unwind", "waiting", "in_doubt")
"""Of the toy workflow MakeThings."""

OTHERS = ("reconciled", "taken_back", "plan_undone", "plan_went_on", "approved")
"""Of the workflows Reconcile, UndoSaga and (two) ExecutePlan, and of one with a point of no return."""


def recorded(name: str) -> WorkflowHistory:
    """The history of this name, under the workflow's own id: a reconciliation's is made of it."""
    history: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    started = history["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(started.get("workflowId", name), history)
