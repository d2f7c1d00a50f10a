"""What the unwinding could not finish by itself: a durable workflow for each saga that needs a person."""

from rescind.reconciliation._alerts import Alert, AlertChannel, OpenLine, Question, Severity
from rescind.reconciliation._attributes import SearchAttributesMissing, ensure_search_attributes
from rescind.reconciliation._case import Answer, Reconciled, Verb, Word
from rescind.reconciliation._open import ensure_reconciliation, open_reconciliation, reconciliation_id
from rescind.reconciliation._pace import Pace

__all__ = [
    "Alert",
    "AlertChannel",
    "Answer",
    "OpenLine",
    "Pace",
    "Question",
    "Reconciled",
    "SearchAttributesMissing",
    "Severity",
    "Verb",
    "Word",
    "ensure_reconciliation",
    "ensure_search_attributes",
    "open_reconciliation",
    "reconciliation_id",
]
