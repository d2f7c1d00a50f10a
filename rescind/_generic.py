"""What a worker of the operations queue runs beside the tools: Rescind's own workflows and their activities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rescind._bench import Bench
from rescind.approvals._activities import approval_activities
from rescind.plans._activity import plan_activities
from rescind.reconciliation._activities import reconciliation_activities
from rescind.reconciliation._workflow import Reconcile
from rescind.recovery._activities import recovery_activities
from rescind.recovery._ask import Ask
from rescind.recovery._preview import PreviewUndo
from rescind.recovery._sweep import Sweep
from rescind.recovery._undo_saga import UndoSaga

GENERIC_WORKFLOWS: tuple[type, ...] = (Reconcile, UndoSaga, PreviewUndo, Sweep, Ask)
"""Rescind's own workflows, which know no tool and no workflow of the application."""


def generic_activities(bench: Bench) -> list[Callable[..., Any]]:
    """Their activities; every worker of the plugin registers them, on the application's queue too."""
    return [
        *approval_activities(bench),
        *reconciliation_activities(bench),
        *recovery_activities(bench),
        *plan_activities(bench),
    ]
