"""The task queue on which Rescind's own workflows run, whichever application they work for, and their ids."""

import hashlib

OPERATIONS_QUEUE = "rescind-operations"
"""Polled by a companion of every application's worker, for workflow tasks and for Rescind's own activities.

Its workers may belong to several applications of one namespace, and not all of them know a saga's tools. So a workflow
that runs here schedules a tool's activities, and the ledger's, on the saga's own task queue, which its order names:
`workflow.info().task_queue` of the workflow that had the saga. Only where that is not known any more they run here.
"""

_LONGEST_ID = 900
"""Bytes of a workflow's id; Temporal refuses more than 1,000, and a workflow that starts another would hang."""


def operation_id(kind: str, saga: str) -> str:
    """The id of the one workflow of a kind that works on a saga.

    Args:
        kind: `rescind-undo` or `rescind-reconcile`.
        saga: Workflow id and first run id, joined by '/'; hashed where it is too long.
    """
    whole = f"{kind}/{saga}"
    if len(whole.encode()) <= _LONGEST_ID:
        return whole
    return f"{kind}/{hashlib.sha256(saga.encode()).hexdigest()}"
