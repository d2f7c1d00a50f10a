"""How a tool's step is settled and undone, as data."""

from rescind._catalogue import AnyTool, activity_names
from rescind._settle import GENERIC_SETTLE
from rescind._wire import Reversal

NOBODYS = Reversal(compensate=None, settle=GENERIC_SETTLE, start_to_close=18, first_wait=0.5, longest_wait=30)
"""How a step of a tool is settled that no worker knows: as one whose tool has no lookup, in a tool's default times."""


def reversal_of(tool: AnyTool) -> Reversal:
    """What a record keeps of its tool, so that it can be undone where only the record is at hand."""
    names = activity_names(tool)
    return Reversal(
        compensate=names.get("compensate"),
        settle=names.get("lookup", GENERIC_SETTLE),
        start_to_close=tool.undo_start_to_close.total_seconds(),
        first_wait=tool.undo_retries.first_wait.total_seconds(),
        longest_wait=tool.undo_retries.longest_wait.total_seconds(),
    )
