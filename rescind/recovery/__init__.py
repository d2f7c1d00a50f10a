"""Takes back what no workflow takes back any more: undo after the fact, and the sweeper."""

from rescind.recovery._memory import remembered
from rescind.recovery._orders import UndoSagaOrder, undo_id
from rescind.recovery._restored import mistrust_what_was_lost
from rescind.recovery._start import start_undo
from rescind.recovery._sweeping import SWEEP_ID, Sweeping, keep_sweeping

__all__ = [
    "SWEEP_ID",
    "Sweeping",
    "UndoSagaOrder",
    "keep_sweeping",
    "mistrust_what_was_lost",
    "remembered",
    "start_undo",
    "undo_id",
]
